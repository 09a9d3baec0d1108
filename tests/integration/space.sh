#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Full disks: real file systems without a free byte, or with the free space that the case names. A plain reboot never
# fails for lack of space, and is recorded. Real writes measure the needed space. Backups that retention would drop
# are removed first. A restore finds a way. An upgrade without a way says how much is missing.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

SIZE=700M # of the disks
state() { echo "$ROOT/var/lib/greenboot-etcd/$1"; }
# take_over KEY: prints a field of the newest take-over in the ledger.
take_over() { ledger "[.[] | select(.kind == \"take-over\")][-1]$1"; }
base() { take_over '.chain[0].backup.name'; }
# not_closed: expects no valid closing record.
not_closed() {
	assert_ne "closing record" \
		"$(ledger '[.[].kind | select(. == "closing" or . == "take-over" or . == "opened")][-1]')" closing
}

ballast() { head -c "$(($1 << 20))" /dev/urandom >"$DATA/ballast"; }

# A is green on a small disk that has MIB more than etcd needs.
small_a() {
	device "$1" shell "$SIZE"
	power_on
	put_many base 10
	put owner A
	judge green
	[[ ! ${2-} ]] || ballast "$2"
}

# ---- reboots ----

# The disk has the run, its owner and its verdict. The closing record is removed before etcd starts.
space_reboot() {
	local digest run

	small_a "$1"
	A_STATE=$(etcd_state)
	shutdown
	digest=$(tree_digest "$DATA")
	disk_fill
	machine_on
	booted A
	started
	assert_eq "the data" "$(tree_digest "$DATA")" "$digest"
	run=$(tr -d - <"$ROOT/proc/sys/kernel/random/boot_id")
	assert_eq "take-over" "$(take_over .run)" "$run"
	not_closed
	assert_exit 0 gbe status
	# No program checks etcd here, so a person marks the backup as good.
	assert_exit 0 gbe mark good
	assert_eq "verdict" "$(ledger '[.[] | select(.kind == "verdict")][-1].verdict')" green
	disk_free
	power_on
	a_is_back
}

# The reserve was also deleted: nothing can be recorded, but etcd starts.
space_reboot_without_reserve() {
	local digest

	small_a "$1"
	A_STATE=$(etcd_state)
	shutdown
	digest=$(tree_digest "$DATA")
	rm "$(state reserve)"
	disk_fill
	machine_on
	booted A
	assert_eq "prerun" "$PRERUN" 0
	assert_eq "the data" "$(tree_digest "$DATA")" "$digest"
	assert_exit 0 hook prerun
	assert_exit 0 gbe status
	disk_free
	power_on
	a_is_back
	assert_eq "the reserve" "$(stat -c %s "$(state reserve)")" $((1 << 20))
}

# The data has a disk of its own, which is full, and the nonce is written there.
space_reboot_mounted() {
	local digest filler

	device "$1" shell
	fs_at "$1" "$DATA" "$SIZE"
	power_on
	put_many base 10
	judge green
	A_STATE=$(etcd_state)
	shutdown
	digest=$(tree_digest "$DATA/member")
	mkdir "$DATA/var"
	ROOT=$DATA disk_fill
	machine_on
	booted A
	started
	assert_eq "the data" "$(tree_digest "$DATA/member")" "$digest"
	not_closed
	ROOT=$DATA disk_free
	rmdir "$DATA/var"
	power_on
	a_is_back
}

# B's second attempt runs on a full disk and is green: a later boot does not take its writes back.
space_trial() {
	small_a "$1"
	into_b
	b_writes
	judge red
	shutdown
	disk_fill
	machine_on
	booted B
	started
	disk_free
	start_etcd
	put second "attempt of B"
	B_STATE=$(etcd_state)
	judge green
	reboot
	booted B
	started
	holds "B's data" "$B_STATE"
}

# ---- restores ----

# Blocks are shared: the fresh start of an attempt, then the rollback, of 150 MiB with 4 MiB left. (etcd itself
# allocates a WAL segment at each start and would not come up.)
space_restore_cloned() {
	local digest

	small_a "$1" 150
	into_b
	digest=$(sha256sum <"$DATA/ballast")
	b_writes
	ballast 150
	judge red
	shutdown
	disk_room 4
	machine_on
	booted B
	started
	assert_eq "ballast" "$(sha256sum <"$DATA/ballast")" "$digest"
	touch "$DATA/of-b"
	make_default A
	machine_on
	booted A
	started
	assert_eq "ballast" "$(sha256sum <"$DATA/ballast")" "$digest"
	assert_missing "$DATA/of-b"
	assert_json '[.[] | select(.consumed)] | length' 0 list
	disk_free
	start_etcd
	a_is_back
}

# The data has a disk of its own, and the failed update has filled it to the last block: the reserve there is enough.
space_restore_filled() {
	device "$1" shell
	fs_at "$1" "$DATA" "$SIZE"
	power_on
	put_many base 10
	judge green
	into_b
	assert_exists "$DATA/.greenboot-etcd/backups/.reserve"
	b_writes
	judge red
	shutdown
	mkdir "$DATA/var"
	ROOT=$DATA disk_fill
	make_default A
	machine_on
	booted A
	started
	# The displaced data uses these blocks.
	find "$DATA" -name 'filler.*' -delete
	start_etcd
	holds "A's data" "$A_STATE"
}

# Without clones and without room for a copy, the backup itself replaces the data.
space_restore_renamed() {
	local inode digest

	small_a "$1" 150
	into_b
	digest=$(sha256sum <"$DATA/ballast")
	inode=$(stat -c %i "$(state backups)"/*"$(base)"/data/ballast)
	b_writes
	ballast 150
	judge red
	shutdown
	disk_room 4
	make_default A
	machine_on
	booted A
	started
	assert_eq "ballast" "$(sha256sum <"$DATA/ballast")" "$digest"
	assert_eq "inode" "$(stat -c %i "$DATA/ballast")" "$inode"
	assert_json '[.[] | select(.consumed)] | length' 1 list
	disk_free
	start_etcd
	a_is_back
}

# ---- backups ----

# ext4 has no clones: a backup counts its allocated size, not its apparent size.
space_sparse() {
	small_a "$1"
	stop_etcd
	truncate -s 1G "$DATA/sparse"
	printf X | dd of="$DATA/sparse" bs=1 seek=900000000 conv=notrunc 2>/dev/null
	disk_room 150
	assert_exit 0 gbe backup small
	cmp "$(state backups)/small/data/sparse" "$DATA/sparse"
	assert_eq "blocks" "$(stat -c %b "$(state backups)/small/data/sparse")" \
		"$(stat -c %b "$DATA/sparse")"
	disk_free
}

# Only backups that retention would drop anyway make room for the backup of an upgrade.
space_retention_first() {
	local names

	small_a "$1" 60
	config backup at-boot=always keep-good=3
	for _ in 1 2 3; do
		reboot
		put more words
		judge green
	done
	assert_eq "backups" "$(backups '.grade == "good"')" 3
	names=$(json 'map(.name) | join(" ")' list)
	config backup keep-good=1
	put last "word of A"
	A_STATE=$(etcd_state)
	update B
	shutdown
	# Two backups of 61 + 60 MiB go; the third is the last good one.
	disk_room 20
	machine_on
	booted B
	started
	start_etcd
	holds "B's data" "$A_STATE"
	assert_eq "P" "$(backups ".name == \"$(base)\"")" 1
	assert_eq "the last good one before it, or its better" "$(backups '.grade == "good"')" 1
	assert_eq "the oldest" "$(backups ".name == \"${names##* }\"")" 0
	assert_eq "its removal is recorded" \
		"$(ledger "map(select(.kind == \"removed\" and .backup == \"${names##* }\")) | length")" 1
	disk_free
	b_writes
	fails_back
}

# The disk has less space than it reports, as a thin volume may. An incomplete copy is not a backup, even if the error
# comes late.
space_thin() {
	local digest

	GBE_IMAGES=$GBE_MEM/thin-$1
	mkdir "$GBE_IMAGES"
	mount -t tmpfs -o size=700M thin "$GBE_IMAGES"
	small_a "$1" 200
	stop_etcd
	digest=$(tree_digest "$DATA")
	sync -f "$ROOT"
	fallocate -l "$(($(df --output=avail -B 1M "$GBE_IMAGES" | tail -n 1) - 120))M" "$GBE_IMAGES/others"
	assert_exit 1 gbe backup thin
	# The kernel may notice it first, and make the file system read-only.
	assert_match "why" "$ERR" "*cannot @(bring*to the disk: |move*into place: |*: Read-only file system)*"
	rm "$GBE_IMAGES/others"
	# A file system with a failed write has to be mounted again.
	umount -R "$ROOT"
	loop_mount "$IMAGE" "$ROOT"
	root_mounts
	assert_eq "the data" "$(tree_digest "$DATA")" "$digest"
	assert_eq "backups" "$(backups '.name == "thin"')" 0
	assert_exit 0 gbe backup thin
	assert_exit 0 gbe verify --full thin
}

# With clones, an upgrade gets its backup with only the margin left.
space_upgrade_cloned() {
	small_a "$1"
	put last "word of A"
	A_STATE=$(etcd_state)
	update B
	config backup at-shutdown=never
	shutdown
	disk_room 6
	machine_on
	booted B
	started
	assert_eq "P" "$(backups ".name == \"$(base)\"")" 1
	disk_free
	start_etcd
	holds "B's data" "$A_STATE"
	b_writes
	fails_back
}

# No backup can be removed: etcd is held back, and the message says how much is missing. With that much more room it
# starts.
space_upgrade_held() {
	local missing

	small_a "$1" 100
	put last "word of A"
	A_STATE=$(etcd_state)
	update B
	assert_exit 0 gbe preflight
	shutdown
	disk_room 40
	machine_on
	booted B
	held
	assert_match "what it says" "$(<"$PRERUN_LOG")" "*no room*MiB more are needed*"
	assert_match "motd" "$(<"$ROOT/run/motd.d/greenboot-etcd")" "*no room for the backup*"
	assert_exit 5 gbe preflight
	missing=$(sed -n 's/.*: \([0-9]*\)\.[0-9] MiB more are needed.*/\1/p' "$PRERUN_LOG" | head -n 1)
	# 61 MiB of WAL, 100 of ballast and the margin, minus the free space.
	((missing >= 110 && missing <= 150)) || fail "$missing MiB more are needed?"
	disk_free
	disk_room $((40 + missing - 4))
	start_prerun
	held
	disk_free
	disk_room $((40 + missing + 4))
	start_prerun
	started
	assert_eq "P" "$(backups ".name == \"$(base)\"")" 1
	disk_free
	start_etcd
	holds "B's data" "$A_STATE"
	b_writes
	fails_back
}

# ---- a pending restore on a disk without a free inode or byte ----

# b_fails KIND [MIB]: the update B wrote and failed. It is off, and A boots next.
b_fails() {
	small_a "$@"
	into_b
	b_writes
	judge red
	shutdown
	make_default A
}

# a_starts: expects that A has its data, and that etcd starts on it without help from a person.
a_starts() {
	booted A
	started
	start_etcd
	holds "A's data" "$A_STATE"
	assert_exit 0 gbe status
}

# Files outside the data use all inodes: only the reserve is left.
space_inodes() {
	FEW_INODES=yes b_fails "$1"
	inodes_fill
	machine_on
	a_starts
	inodes_free
	stop_etcd
	assert_exit 0 hook prerun
	assert_exists "$(state reserve-inodes)"
}

# The update's etcd user has used them all within the data: that tree is a bad backup, and leaves the disk.
space_inodes_in_data() {
	FEW_INODES=yes b_fails "$1"
	inodes_fill "$DATA/many"
	machine_on
	a_starts
	assert_eq "bad backups" "$(backups '.grade == "bad"')" 0
	touch "$ROOT/var/room"
}

# The reserve is also gone: it was used up before.
space_inodes_without_reserve() {
	FEW_INODES=yes b_fails "$1"
	rm -rf "$(state reserve-inodes)" "$(state reserve)"
	inodes_fill "$DATA/many"
	machine_on
	a_starts
	assert_json '[.[] | select(.consumed)] | length' 1 list
}

# The data has a file system without a free inode, and the store another file system.
space_inodes_mounted() {
	device "$1" shell
	FEW_INODES=yes fs_at "$1" "$DATA" "$SIZE"
	mkdir -p "$ROOT/var/backups"
	config backup directory=/var/backups
	power_on
	put_many base 10
	judge green
	into_b
	config backup directory=/var/backups
	b_writes
	judge red
	shutdown
	make_default A
	inodes_fill "$DATA/many"
	machine_on
	a_starts
}

# The power fails at each step of such a restore, with full inodes or full bytes, as the case says.
space_cuts() {
	local point points

	FEW_INODES=$2 b_fails "$1"
	if [[ $2 ]]; then
		inodes_fill "$DATA/many"
	else
		disk_fill
	fi
	device_save
	MASKED=yes machine_on
	points=$(fault_points prerun)
	assert_match "points" "$points" "*restore-exchanged*"
	for point in $points; do
		device_load
		boot_cut A "$point" || continue
		machine_on
		[[ $2 ]] || disk_free
		a_starts
		kill_etcd
	done
}
space_cuts_inodes() { space_cuts "$1" yes; }
space_cuts_bytes() { space_cuts "$1" ''; }

# A single ENOSPC, at any step, does not end a restore, which gives up only the reserve for it.
space_once() {
	local point

	b_fails "$1"
	device_save
	for point in restore-staged restore-named restore-intended restore-cloned recover-displaced-moved restore-placed \
		restore-tidied; do
		device_load
		BUILD=$BUILD_FAULTS GREENBOOT_ETCD_FAULT=$point=ENOSPC machine_on
		booted A
		started
		start_etcd
		holds "A's data after ENOSPC at $point" "$A_STATE"
		assert_eq "what B wrote, after ENOSPC at $point" "$(backups '.grade == "bad"')" 1
		assert_json '[.[] | select(.consumed)] | length' 0 list
		kill_etcd
	done
}

# A file system fails once to report its free space: at most this start is held back, and the data stays with its
# owner.
space_unknown() {
	local when

	b_fails "$1"
	device_save
	for when in 3 7 11 15 20 30 40; do
		device_load
		TRACER=(strace -f -qq -o /dev/null -e trace=fstatfs -e "inject=fstatfs:error=EIO:when=$when")
		machine_on
		TRACER=()
		[[ $PRERUN == 0 ]] || start_prerun
		a_starts
		kill_etcd
	done
}

# The update's data keeps the disk full: the old system's etcd would not start next to it.
space_bad_backup() {
	b_fails "$1"
	mkdir "$DATA/var"
	ROOT=$DATA disk_fill
	machine_on
	a_starts
	assert_eq "bad backups" "$(backups '.grade == "bad"')" 0
	assert_match "log" "$(gbe log)" "*etcd has no room to start*"
}

# The backup is not a bad one: a person decides, and status names the command.
space_good_backup() {
	local command round

	small_a "$1"
	into_b
	b_writes
	judge green
	mkdir "$DATA/var"
	ROOT=$DATA disk_fill
	shutdown
	make_default A
	machine_on
	booted A
	started
	assert_match "status" "$(gbe status)" "*Needs you*"
	# If backups are clones, a deletion may free little. The message then names the next backup.
	for round in 1 2 3 4; do
		# shellcheck disable=SC2016 # the quotes of a message
		command=$(gbe status | sed -n 's/.*`greenboot-etcd \(delete [^`]*\)`.*/\1/p' | head -n 1)
		[[ $command ]] || break
		# shellcheck disable=SC2086 # the words of a command
		assert_exit 0 gbe $command
		sync -f "$DATA"
	done
	assert_ne "rounds" "$round" 1
	start_etcd
	holds "A's data" "$A_STATE"
}

suite_begin "$@"
FS=${FS:-$EVERY_FS} play space reboot
play space reboot_without_reserve reboot_mounted trial
FS=$(kinds "xfs btrfs-subvol" btrfs) play space restore_cloned restore_filled upgrade_cloned
FS=$(kinds ext4 xfs-noreflink) play space restore_renamed thin
FS=$(kinds "ext4 xfs" xfs-noreflink) play space inodes inodes_in_data inodes_without_reserve inodes_mounted cuts_inodes
FS=$(kinds "ext4 xfs btrfs") play space once unknown bad_backup good_backup cuts_bytes
FS=${FS:-ext4} play space sparse retention_first upgrade_held
suite_end
