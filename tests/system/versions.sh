#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Another etcd on the same data: with an update, with a system that is older than the last one, and in the running
# system. The numbers are those of the design's list of sequences.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"

etcd_version() { json .etcd.version status; }

# 3.4 -> 3.5 -> 3.4: etcd 3.4 cannot open data of 3.5.
version_red() {
	local copy=$GBE_SCRATCH/copy.$BASHPID bad rc=0

	os_is B next writes bad
	a_green "$1"
	assert_match "A's etcd" "$(etcd_version)" "3.4*"
	into_b
	booted_in_turn B B B A
	found_each B "$A_STATE"
	a_is_back
	bad=$(json ".[] | select(.deployment==\"${DEPLOYMENT[B]}\") | .name" list)
	assert_json ".[] | select(.name==\"$bad\") | .etcd_version[0:3]" 3.5 list
	cp -a "$VAR/lib/greenboot-etcd/backups/$bad/data/default" "$copy"
	timeout 10 "$ETCD" --data-dir="$copy" --listen-client-urls=http://127.0.0.1:0 \
		--advertise-client-urls=http://127.0.0.1:0 --listen-peer-urls=http://127.0.0.1:0 \
		>"$copy.log" 2>&1 || rc=$?
	[[ $rc != 0 && $rc != 124 ]] || fail "etcd 3.4 runs on 3.5's data"
	grep -q 'cannot be downgraded' "$copy.log" || fail "$(tail -n 1 "$copy.log")"
	rm -rf -- "$copy" "$copy.log"
}

# 49: a new deployment has an old etcd and no data of its own. etcd is held back, and greenboot brings back the system
# that can read the data.
version_49() {
	os_is B next writes
	os_is C
	a_green "$1"
	into_b
	booted_in_turn B
	judged green
	assert_match "B's etcd" "$(etcd_version)" "3.5*"
	stage C
	B_STATE=$(etcd_state)
	BOOTS=()
	reboot
	booted_in_turn C C C B
	[[ ! $(found C) ]] || fail "C's etcd was started"
	assert_match "C's prerun" "$(journal prerun --boot=-1)" "*(etcd 3.4, the data is of 3.5)*greenboot-etcd restore*"
	assert_eq "B's data" "$(found B | tail -n 1)" "$B_STATE"
	judged green
}

# 81: `rpm-ostree apply-live` brings the staged, newer etcd into the running system. A backup comes first, and the
# next boot has that etcd anyway.
version_81() {
	os_is B next
	a_green "$1"
	stage B
	last_words
	assert_eq "backups" "$(backups true)" 0
	install -m 0755 "$ETCD_NEXT" "$ROOT/etcd-next"
	inside ostree admin unlock
	assert_json .unlocked development status
	inside cp /sysroot/etcd-next /usr/bin/etcd
	inside systemctl restart etcd.service
	assert_match "the running etcd" "$(inside etcd --version)" "etcd Version: 3.5*"
	assert_eq "rule" "$(rule)" 5
	assert_eq "backups" "$(backups true)" 1
	assert_json ".[0].etcd_version[0:3]" 3.4 list
	holds "under the new etcd" "$A_STATE"
	put more "under the new etcd"
	A_STATE=$(etcd_state)
	BOOTS=()
	reboot
	booted_in_turn B
	found_each B "$A_STATE"
	judged green
}

suite_begin "$@"
machine_begin
FS=${FS:-xfs} play version red 49 81
machine_end
suite_end
