#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The command of the initramfs, below a root that has not booted yet. The cases play requests of the kernel command
# line, and commands of a person in the emergency shell.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

RD=--cmdline=rd.greenboot-etcd.restore
FAULT=

# The initramfs runs before any service of the root, and so before prerun.
early() { # ARGUMENT...
	local bin=$BUILD/hooks/initramfs
	[[ ! $FAULT ]] || bin=$BUILD_FAULTS/hooks/initramfs
	GREENBOOT_ETCD_FAULT=$FAULT "$bin" --root="$ROOT" "$@"
}
INITRAMFS=yes
before_prerun() {
	EARLY=
	EARLY_LOG=$GBE_MEM/early.log
	: >"$EARLY_LOG"
	[[ $INITRAMFS ]] || return 0
	EARLY=0
	early --verbose boot >"$EARLY_LOG" 2>&1 || EARLY=$?
	cat "$EARLY_LOG" >&2
}

# a_with_backup KIND: A is green; `snap` is a manual backup with SNAP_STATE; A has written since.
a_with_backup() {
	a_green "$1"
	SNAP_STATE=$(etcd_state)
	stop_etcd
	gbe backup snap
	start_etcd
	put since "the backup"
	judge green
	A_STATE=$(etcd_state)
	assert_ne "A's data" "$A_STATE" "$SNAP_STATE"
}

said() { assert_match "the initramfs" "$(<"$EARLY_LOG")" "*$1*"; }
early_silent() { [[ $(<"$EARLY_LOG") != *Restored* ]] || fail "it restored again: $(<"$EARLY_LOG")"; }

# The initramfs runs the request; prerun does not, and no later boot repeats it.
initramfs_once() {
	a_with_backup "$1"
	reboot "$RD=snap"
	said "Restored"
	[[ $(<"$PRERUN_LOG") != *Restored* ]] || fail "prerun restored as well: $(<"$PRERUN_LOG")"
	started
	holds "restored" "$SNAP_STATE"
	assert_eq "what it displaced is kept" "$(backups '.method == "rename"')" 1
	put after restore
	A_STATE=$(etcd_state)
	judge green
	reboot "$RD=snap"
	early_silent
	a_is_back
	reboot
	a_is_back
	reboot "$RD=undo"
	said "Restored"
	started
	assert_json .last_operation.operation restore status
	reboot "$RD=snap"
	started
	holds "due again after a boot without it" "$SNAP_STATE"
}

initramfs_last_good() {
	a_with_backup "$1"
	config backup at-boot=always
	# The next start backs up A's green run, which is then the newest good backup.
	reboot
	a_is_back
	put worse "than before"
	reboot "$RD=last-good"
	said "Restored"
	started
	holds "the newest good one" "$A_STATE"
}

initramfs_skip() {
	a_with_backup "$1"
	reboot "$RD=snap rd.greenboot-etcd.skip"
	said "asks for nothing"
	a_is_back
}

# If the initramfs lacks the module, prerun does it.
initramfs_absent() {
	a_with_backup "$1"
	INITRAMFS=
	reboot "$RD=snap"
	started
	holds "restored" "$SNAP_STATE"
	put after restore
	A_STATE=$(etcd_state)
	judge green
	reboot "$RD=snap"
	a_is_back
	INITRAMFS=yes
	reboot "$RD=snap"
	early_silent
	a_is_back
}

# An impossible request is reported once, and the boot continues.
initramfs_impossible() {
	a_with_backup "$1"
	reboot "$RD=no-such-backup"
	assert_eq "the boot" "$EARLY" 0
	said "requested restore cannot be done"
	a_is_back
	assert_eq "nothing is set aside" "$(backups .set_aside)" 0
}

# A power cut in the middle: the next boot has the old or the new data. If the word is still on the command line, it has
# the requested data.
initramfs_cut() {
	local point n

	a_with_backup "$1"
	judge green
	for point in restore-{intended,cloned,staged} exchange-exchanged restore-{exchanged,tidied}; do
		shutdown
		FAULT=$point=kill MASKED=yes
		machine_on "$RD=snap"
		FAULT='' MASKED=''
		[[ $EARLY != 0 ]] || fail "it never came to $point"
		powercut
		power_on "$RD=snap"
		started
		holds "after a cut at $point" "$SNAP_STATE"
		put "after/$point" cut
		judge green
		reboot
		started
	done
}

# ---- in the emergency shell ----
initramfs_by_hand() {
	a_with_backup "$1"
	shutdown
	MASKED=yes
	machine_on
	MASKED=
	early list | grep -q '^snap' || fail "list: $(early list)"
	assert_exit 0 early verify snap
	assert_exit 0 early restore snap
	assert_exit 2 early backup more
	start_etcd
	holds "restored" "$SNAP_STATE"
	stop_etcd
	assert_exit 0 early undo
	start_etcd
	holds "and taken back" "$A_STATE"
}

suite_begin "$@"
play initramfs once last_good skip absent impossible cut by_hand
suite_end
