#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Systems with something missing or unusual: `preflight` and `status` say so, and a start continues. (A failing
# configuration, a missing store, no greenboot: cli.sh, cli-status.sh, seq-deployments.sh.)

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# ready STATUS: expects this status of preflight, and leaves its text in OUT.
ready() { assert_exit "$1" gbe preflight; }
says() { assert_match "status" "$(gbe status)" "$1"; }
says_not() { ! grep -q -e "$1" <<<"$(gbe status)" || fail "status: $1"; }
# goes_on: expects that the next boot of the booted deployment has its data.
goes_on() {
	local state
	state=$(etcd_state)
	reboot
	started
	holds "the data" "$state"
}

no_unit() {
	a_green xfs
	config etcd service=nonsense.service
	ready 5
	assert_match "preflight" "$OUT" "*bad *prerun *there is no nonsense.service*"
	says "Not protected: there is no nonsense.service*"
	# A unit that podman generates counts as a service.
	mkdir -p "$ROOT/etc/containers/systemd"
	touch "$ROOT/etc/containers/systemd/nonsense.container"
	ready 0
	says_not "no nonsense.service"
	rm "$ROOT/etc/containers/systemd/nonsense.container"
	ready 5
	# A unit of another generator counts also.
	mkdir -p "$ROOT/run/systemd/generator"
	touch "$ROOT/run/systemd/generator/nonsense.service"
	ready 0
	goes_on
}

read_only() {
	a_green xfs
	mount --bind "$ROOT/var" "$ROOT/var"
	mount -o remount,bind,ro "$ROOT/var"
	ready 5
	assert_match "preflight" "$OUT" "*bad *store *read-only*"
	says "Not protected: the store of backups */backups is read-only: nothing is backed up*"
	# The same deployment, and the data is not open: a start of the service is what helps.
	start_prerun
	started
	assert_match "prerun" "$(cat "$PRERUN_LOG")" "*Read-only file system*"
	umount "$ROOT/var"
	ready 0
	goes_on
}

# The last two: a grub.cfg from before greenboot was installed, and the one that bootupd makes.
not_counted() {
	a_green xfs
	says_not "not counted"
	mv "$ROOT/boot/grub2/grubenv" "$ROOT/boot/grub2/away"
	ready 5
	assert_match "preflight" "$OUT" "*bad *greenboot *boots are not counted*grubenv*missing*"
	says "*boots are not counted*grubenv*missing*"
	mv "$ROOT/boot/grub2/away" "$ROOT/boot/grub2/grubenv"
	ready 0
	printf 'set default=0\nblscfg\n' >"$ROOT/boot/grub2/grub.cfg"
	ready 5
	assert_match "preflight" "$OUT" "*bad *greenboot *again and again*snippet*"
	says "*boots are not counted*grub.cfg does not have greenboot's snippet*"
	assert_json .greenboot.can_count false status
	goes_on
	# shellcheck disable=SC2016 # GRUB's
	printf 'if [ "${boot_counter}" -a "${boot_success}" = "0" ]; then\nfi\n' \
		>"$ROOT/boot/grub2/custom.cfg"
	ready 0
	says_not "not counted"
	assert_json .greenboot.can_count true status
}

# The old system was booted once more: GRUB has counted, and the default entry is the update.
uncounted() {
	a_green xfs
	update B
	ready 0
	shutdown
	grubenv_edit boot_counter
	boot A
	start_etcd
	ready 5
	assert_match "preflight" "$OUT" "*bad *greenboot *the next boot is an update and nothing counts it*"
	says "*the next boot is an update and nothing counts it*"
	grubenv_edit boot_counter=3
	ready 0
}

units_off() {
	local unit

	for unit in greenboot-grub2-set-counter redboot-auto-reboot; do
		a_green xfs
		rm "$ROOT"/etc/systemd/system/*/"$unit".service
		ready 5
		assert_match "preflight" "$OUT" "*bad *greenboot *$unit.service is not enabled*"
		root_free
	done
}

unlocked() {
	a_green xfs
	assert_json .unlocked null status
	sed -i 's/^\[origin\]/&\nunlocked=hotfix/' "$(deployment_dir A).origin"
	ready 0
	assert_match "preflight" "$OUT" "*note *system *unlocked (hotfix)*"
	says "*System *unlocked (hotfix)*"
	assert_json .unlocked hotfix status
	goes_on
}

stateroots() {
	a_green xfs
	assert_json .other_stateroot null status
	ostree admin --sysroot="$ROOT" os-init other >/dev/null
	ostree admin --sysroot="$ROOT" deploy --os=other os/A >/dev/null 2>&1
	cmdline_follows
	ready 0
	assert_match "preflight" "$OUT" "*note *system *stateroot other *its own*"
	says "*System *the stateroot other has data of its own*"
	assert_json .other_stateroot other status
	BOOTED=A from_menu A
	started
	assert_json .booted "${DEPLOYMENT[A]}" status
}

# In a container, or with bootc on composefs without ostree, the data has no owner.
no_ostree() {
	a_green xfs
	mv "$ROOT/run/ostree-booted" "$ROOT/run/away"
	ready 5
	assert_match "preflight" "$OUT" "*bad *system *not an ostree system*composefs*"
	says "*System *not an ostree system*"
	assert_json .ostree false status
	stop_etcd
	start_prerun
	started
	assert_match "prerun" "$(cat "$PRERUN_LOG")" "*rule 1*"
	# Commands by hand work.
	assert_exit 0 gbe backup one
	start_etcd
	assert_eq "backups" "$(backups 'true')" 1
}

no_var() {
	local state
	a_green xfs
	state=$(etcd_state)
	crash
	mv "$ROOT/var" "$ROOT/away"
	ready 0
	assert_match "preflight" "$OUT" "*note *data *no etcd data*"
	says "*Data */var/lib/etcd, missing*"
	start_prerun
	started
	rm -rf "${ROOT:?}/var"
	mv "$ROOT/away" "$ROOT/var"
	start_prerun
	started
	start_etcd
	holds "the data" "$state"
}

# An update is staged and unstaged while etcd is started again and again.
staged_meanwhile() {
	local state stager
	a_green xfs
	os_commit B
	state=$(etcd_state)
	crash
	(for _ in 1 2 3 4 5 6; do
		stage B
		unstage
	done) >&2 &
	stager=$!
	while kill -0 "$stager" 2>/dev/null; do
		start_prerun
		started
		assert_match "prerun" "$(cat "$PRERUN_LOG")" "*rule [0-9]*"
	done
	wait "$stager"
	start_etcd
	holds "the data" "$state"
	stage B
	reboot
	booted B
	started
	holds "the data" "$state"
	assert_eq "backups" "$(backups true)" 1
}

# A power cut during the test whether the data can be renamed leaves files (--keep-existing).
probe_left() {
	local parent name
	a_green xfs
	parent=${DATA%/*}
	mkdir "$parent"/.gbe-tmp.rename-{a,b}
	goes_on
	for name in a b; do
		assert_missing "$parent/.gbe-tmp.rename-$name"
	done
}

# The file system for backups cannot store an attribute of the data.
unfit() {
	local spare=/var/spare

	a_green btrfs
	fs_at xfs "$ROOT$spare"
	setfattr -n btrfs.compression -v zstd "$DATA"
	ready 0
	config backup directory="$spare"
	ready 5
	assert_match "preflight" "$OUT" "*bad *store *no backup of */var/lib/etcd can be kept in */var/spare: *btrfs.compression*"
	setfattr -x btrfs.compression "$DATA"
	ready 0
	# A user who can write there could replace a backup by another tree.
	chown etcd "$ROOT$spare"
	ready 5
	assert_match "preflight" "$OUT" "*bad *store *\"spare\" on the way to /var/spare/* belongs to user *"
	chown root "$ROOT$spare"
	chmod 0777 "$ROOT$spare"
	ready 5
	assert_match "preflight" "$OUT" "*bad *store *\"spare\" on the way to /var/spare/* can be written by others*"
	chmod 0700 "$ROOT$spare"
	ready 0
	assert_eq "left there" "$(find "$ROOT$spare" -name '.gbe-tmp*')" ""
	goes_on
}

# overlayfs does not rename a directory that a lower layer has.
overlay() {
	a_green xfs
	stop_etcd
	mkdir -p "$GBE_MEM"/{low,up,work}
	cp -a "$ROOT/var/." "$GBE_MEM/low/"
	mount -t overlay overlay -o "lowerdir=$GBE_MEM/low,upperdir=$GBE_MEM/up,workdir=$GBE_MEM/work" "$ROOT/var"
	start_prerun
	started
	assert_exit 0 gbe backup b
	start_etcd
	ready 5
	assert_match "preflight" "$OUT" "*bad *exchange */var/lib/etcd*cannot exchange directories*redirect_dir=on*"
	says "Not protected: */var/lib/etcd*cannot exchange directories*"
	stop_etcd
	assert_exit 1 gbe restore b
	assert_match "stderr" "$ERR" "*lower layer of an overlay*"
	umount "$ROOT/var"
	mount -t overlay overlay -o "redirect_dir=on,lowerdir=$GBE_MEM/low,upperdir=$GBE_MEM/up,workdir=$GBE_MEM/work" "$ROOT/var"
	start_etcd
	ready 0
	stop_etcd
	assert_exit 0 gbe restore b
	umount "$ROOT/var"
}

# etcd uses another directory than this program: its data is there, unprotected.
elsewhere() {
	device xfs
	machine_on
	DATA=$ROOT/srv/etcd
	mkdir -p "$ROOT/srv"
	mkdir -m 0700 "$DATA"
	start_etcd
	put k v
	judge green
	ready 5
	assert_match "preflight" "$OUT" "*note *data *no etcd data in /var/lib/etcd*bad *etcd *the etcd that answers does not have /var/lib/etcd open*data-dir=*"
	assert_exit 6 gbe status --check
	says "Not protected: the etcd that answers does not have /var/lib/etcd open*To do: set data-dir=*"
}

suite_begin "$@"
run_case odd-unit no_unit
run_case odd-read-only read_only
run_case odd-not-counted not_counted
run_case odd-unlocked unlocked
run_case odd-stateroots stateroots
run_case odd-uncounted uncounted
run_case odd-units-off units_off
run_case odd-no-ostree no_ostree
run_case odd-no-var no_var
run_case odd-staged-meanwhile staged_meanwhile
run_case odd-probe-left probe_left
run_case odd-unfit unfit
run_case odd-overlay overlay
run_case odd-elsewhere elsewhere
suite_end
