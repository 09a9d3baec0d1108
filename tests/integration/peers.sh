#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# How the nearest peer loses data or gets stuck, by number (PEERS.md has the whole table, and the cases of other
# suites). Each case plays the sequence that fails there.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

store() { echo "$ROOT/var/lib/greenboot-etcd/backups"; }
state() { echo "$ROOT/var/lib/greenboot-etcd/$1"; }
leftovers() {
	find "$ROOT/var/lib" \( -name '.partial-*' -o -name '.pending-*' -o -name '.restore-*' \
		-o -name '.gbe-tmp.*' -o -name intent \) -print
}
previous() { ledger '[.[] | select(.kind == "take-over")][-1].chain[0].backup.name'; }

# M1: cp, rename, prune, no fsync. A cut leaves a backup with its name and files of 0 bytes.
peers_M1() {
	local digest

	a_green "$1"
	put last "word of A"
	A_STATE=$(etcd_state)
	update B
	shutdown
	digest=$(tree_digest "$DATA")
	MASKED=yes machine_on
	hook prerun
	disk_cut
	assert_eq "the backup after the cut" "$(tree_digest "$(store)/$(previous)/data")" "$digest"
	power_on
	b_writes
	fails_back
}

# M2, M13, M16: the restore moves the data away, then copies. A cut leaves no data, and every later start fails on the
# leftovers. RemoveAll and rename of the copy: the same.
M2_check() {
	boot B
	started
	assert_exists "$DATA/member/snap/db"
	start_etcd
	holds "after a cut at $1" "$A_STATE"
	kill_etcd
	assert_eq "left over after $1" "$(leftovers)" ""
}
peers_M2() {
	a_green "$1"
	into_b
	b_writes
	judge red
	shutdown
	MASKED=yes machine_on
	booted B
	every_cut B M2_check
}

# M3: the failed system's data has to be backed up before the good backup may be restored, and the disk has no room
# for it.
peers_M3() {
	local digest

	device "$1" shell 700M
	power_on
	put_many base 10
	judge green
	into_b
	head -c 250000000 /dev/urandom >"$DATA/of-b"
	b_writes
	judge red
	shutdown
	make_default A
	machine_on
	booted A
	started
	assert_missing "$DATA/of-b"
	start_etcd
	holds "A's data" "$A_STATE"
}

# M5: boot n is good and backed up; the data becomes bad in boot n+1. Boot n+2 backs up the bad data and removes the
# good backup. (Damage to the files while a run is green: suite "inside".)
peers_M5() {
	local good

	a_green "$1"
	config backup at-boot=always keep-good=1
	reboot
	judge green
	reboot
	good=$(backup_name '.grade == "good"')
	put bad things
	del --prefix base
	for _ in 1 2 3; do
		judge red
		reboot
		started
	done
	stop_etcd
	assert_eq "the good one" "$(backups ".name == \"$good\" and .grade == \"good\"")" 1
	assert_exit 0 gbe restore "$good"
	start_etcd
	assert_eq "key" "$(get owner)" A
}

# M11: the record of the data's owner is overwritten in place. An empty record means "before 4.14", and the older
# program runs on the newer data.
peers_M11() {
	a_green "$1"
	into_b
	b_writes
	judge red
	stop_etcd
	: >"$DATA/.greenboot-etcd-owner"
	make_default A
	power_on
	a_is_back
}

# M14: names have the clock's time, and the device starts in 1970: the older backup is "the newest".
peers_M14() {
	local old new

	a_green "$1"
	config backup at-boot=always keep-good=3
	reboot
	put since "the first"
	judge green
	old=$(backup_name '.grade == "good"')
	shutdown
	clock_set 1970
	power_on
	judge green
	new=$(backup_name '.grade == "good"')
	assert_ne "a newer one" "$new" "$old"
	stop_etcd
	assert_exit 0 gbe restore --last-good
	start_etcd
	assert_eq "key" "$(get since)" "the first"
	# An empty record of the state does not make every start fail.
	: >"$(state ledger)"
	reboot
	started
}

# M17: a restore renames the existing data, and fails if the data is missing.
peers_M17() {
	a_green "$1"
	A_STATE=$(etcd_state)
	stop_etcd
	gbe backup golden
	if [[ $1 == btrfs-subvol ]]; then btrfs -q subvolume delete "$DATA"; else rm -rf "$DATA"; fi
	assert_exit 0 gbe restore golden
	start_etcd
	holds "restored" "$A_STATE"
}

# M18: a backup with the name of the marker file stops every start.
peers_M18() {
	local name

	a_green "$1"
	A_STATE=$(etcd_state)
	stop_etcd
	for name in restore backups lock request reserve data owner intent; do
		assert_exit 0 gbe backup "$name"
	done
	for name in undo last-good .x -x adopted-3 a/b ..; do
		assert_exit 2 gbe backup -- "$name"
	done
	power_on
	a_is_back
}

# M19: of two backups of one deployment, the first in the directory's order is restored.
peers_M19() {
	a_green "$1"
	config backup at-boot=always keep-good=5
	for _ in 1 2 3 4; do
		put count "$_"
		reboot
		judge green
	done
	A_STATE=$(etcd_state)
	put count 5
	stop_etcd
	assert_exit 0 gbe restore --last-good
	start_etcd
	holds "the newest" "$A_STATE"
}

# M20: five names make a valid backup, whatever the files contain.
peers_M20() {
	local digest

	a_green "$1"
	A_STATE=$(etcd_state)
	stop_etcd
	gbe backup broken
	[[ $1 != btrfs-subvol ]] || btrfs property set -ts "$(store)/broken/data" ro false
	: >"$(store)/broken/data/member/snap/db"
	digest=$(tree_digest "$DATA")
	assert_exit 6 gbe restore broken
	assert_eq "the data" "$(tree_digest "$DATA")" "$digest"
	power_on
	a_is_back
}

# M28: a full copy at each boot, even if nothing has changed.
peers_M28() {
	local before

	a_green "$1"
	reboot
	judge green
	shutdown
	before=$(json 'map(.name) | tostring' list)
	for _ in 1 2 3; do
		machine_on
		started
		shutdown
	done
	assert_eq "backups" "$(json 'map(.name) | tostring' list)" "$before"
}

suite_begin "$@"
FS=$(kinds "xfs ext4" btrfs) play peers M1
FS=${FS:-xfs} play peers M2
play peers M3 M5 M11
FS=${FS:-xfs} play peers M14 M18 M19 M28
FS=${FS:-"xfs btrfs-subvol"} play peers M17 M20
suite_end
