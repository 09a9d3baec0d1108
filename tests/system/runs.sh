#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Events within one run, and the reasons that hold etcd back.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"

# The service is started again in the same run: prerun only looks.
run_restart() {
	local before

	a_green "$1"
	last_words
	before=$(backups true)
	inside systemctl restart etcd.service
	holds "after a restart" "$A_STATE"
	assert_eq "rule" "$(rule)" 5
	inside systemctl kill --signal=KILL etcd.service
	inside systemctl reset-failed etcd.service
	inside systemctl restart etcd.service
	holds "after a crash" "$A_STATE"
	assert_eq "rule" "$(rule)" 5
	assert_eq "backups" "$(backups true)" "$before"
	judged green
	reboot
	a_is_back
}

# A rescue shell and back: the run continues.
run_isolate() {
	local run n

	a_green "$1"
	last_words
	run=$(json .run status)
	# There is no console for its shell. A shell without input is enough.
	inside mkdir -p /run/systemd/system/rescue.service.d
	inside tee /run/systemd/system/rescue.service.d/shell.conf >/dev/null <<-EOF
		[Service]
		ExecStartPre=
		ExecStart=
		ExecStart=/bin/sleep infinity
		ExecStopPost=
		StandardInput=null
	EOF
	inside systemctl daemon-reload
	inside systemctl isolate rescue.target
	for ((n = 0; n < 500; n++)); do
		[[ $(inside systemctl is-active etcd.service || true) == active ]] || break
		nap 0.1
	done
	assert_eq "etcd" "$(inside systemctl is-active etcd.service || true)" inactive
	assert_eq "finalize waits for the end" "$(inside systemctl is-active greenboot-etcd-finalize.service)" active
	inside systemctl isolate multi-user.target
	settle
	holds "after the rescue shell" "$A_STATE"
	assert_eq "rule" "$(rule)" 5
	assert_json .run "$run" status
	put more "words"
	A_STATE=$(etcd_state)
	reboot
	a_is_back
}

# prerun is masked: etcd starts on the existing data.
run_masked() {
	a_green "$1"
	last_words
	inside systemctl mask greenboot-etcd-prerun.service
	reboot
	holds "masked" "$A_STATE"
	inside systemctl unmask greenboot-etcd-prerun.service
	put without "prerun"
	A_STATE=$(etcd_state)
	reboot
	a_is_back
}

# No room for the backup before an update: etcd is held back, greenboot brings A back, and the data is unchanged.
run_held() {
	local free

	os_is B writes
	a_green mount-ext4
	put_many large 1500 "$(printf 'x%.0s' {1..4000})"
	stage B
	last_words
	free=$(stat -f -c '%a * %S' "$DATA")
	fallocate -l $(((free) - (3 << 20))) "$DATA/filler"
	sync -f "$DATA"
	BOOTS=()
	reboot
	booted_in_turn B B B A
	[[ ! $(found B) ]] || fail "B's etcd was started"
	a_is_back
}

soft_reboot() { # NAME: staged or deployed
	local dir part count n

	count=$(inside systemctl show -P SoftRebootsCount)
	dir=/sysroot/ostree/deploy/$STATEROOT/deploy/${DEPLOYMENT[$1]#"$STATEROOT-"}
	# A newer ostree's ostree-prepare-root does this.
	inside mkdir -p /run/nextroot
	inside mount --bind --make-private "$dir" /run/nextroot
	for part in sysroot boot var; do
		inside mount --bind --make-private "/$part" "/run/nextroot/$part"
	done
	BOOTED=$1
	BOOTS+=("$1")
	inside systemctl soft-reboot
	for ((n = 0; n < 300; n++)); do
		[[ $(inside_soon systemctl show -P SoftRebootsCount) != $((count + 1)) ]] || break
		nap 0.1
	done
	settle
}

# Same kernel and boot id, another run: the same system again, then an update.
run_soft_reboot() {
	local run

	os_is A next
	os_is B next writes
	a_green "$1"
	last_words
	run=$(json .run status)
	soft_reboot A
	a_is_back
	assert_json .run "$run+1" status
	stage B
	last_words
	soft_reboot B
	found_each B "$A_STATE"
	assert_json .booted "${DEPLOYMENT[B]}" status
	assert_json .run "$run+2" status
	assert_eq "rule" "$(rule)" 11
	assert_some "A's closing backup" "$(backups ".deployment==\"${DEPLOYMENT[A]}\"")"
}

suite_begin "$@"
machine_begin
FS=${FS:-xfs} play run restart isolate masked soft_reboot
FS=ext4 play run held
machine_end
suite_end
