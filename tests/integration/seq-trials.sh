#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# An update is on trial, and an event hits that tests/histories cannot play. Examples are a lost intent, a missing counter,
# a panic, damaged backups and a disk without any room. The numbers are those of the design's list of sequences. The
# others are in tests/histories/known/sequences.history.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# Stages B and shuts A down. The next boot is B's first.
b_is_next() {
	a_green "$@"
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	shutdown
}

# 11: 9, cut between exchange and rename, intent lost
seq_11() {
	local point

	a_green "$1"
	into_b
	b_writes
	hook health
	powercut
	device_save
	MASKED=yes boot B
	mapfile -t POINTS < <(fault_points prerun)
	point=$(printf '%s\n' "${POINTS[@]}" | grep -m1 exchanged) ||
		fail "no fault point after the exchange: ${POINTS[*]}"
	device_load
	boot_cut B "$point"
	sed -i '/"kind":"intent"/d' "$ROOT/var/lib/greenboot-etcd/ledger"
	power_on
	booted B
	started
	holds "B's data" "$A_STATE"
	# On ext4 the exchange was not on the disk yet.
	[[ $1 == ext4* ]] || assert_eq "the displaced tree got a name" \
		"$(backups '(.name | startswith("adopted-")) and .method=="rename"')" 1
	assert_eq "staging trees" "$(find "$ROOT/var/lib" -maxdepth 1 -name '.restore-*')" ""
	b_writes
	fails_back
}

# 12: B red x3, shell -> A
seq_12() {
	a_green "$1" shell
	into_b
	b_writes
	fails_back
	judge green
	assert_eq "bad backups" "$(backups '.grade=="bad"')" 1
	reboot
	a_is_back
}

# Sets NEXT to the entry that GRUB would boot, without booting it.
grub_next() {
	cp "$ROOT/boot/grub2/grubenv" "$GBE_MEM/grubenv"
	grub_choose
	NEXT=$(deployment_name "$(sysroot_list | sed -n "$((GRUB_INDEX + 1))p")")
	cp "$GBE_MEM/grubenv" "$ROOT/boot/grub2/grubenv"
}

# 16: B panics before user space -> A
seq_16() {
	local boots=0

	a_green "$1"
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	shutdown
	grub_next
	while [[ $NEXT == B ]]; do
		grub_choose
		boots=$((boots + 1))
		grub_next
	done
	assert_eq "boots that got nowhere" "$boots" 3
	power_on
	a_is_back
	judge green
}

# The update's boots are not counted: a failed update keeps its data over reboots, and does not count as protected.
seq_uncounted() {
	a_green "$1"
	into_b
	grubenv_edit boot_counter
	for day in 1 2 3; do
		put "day $day" "of B"
		B_STATE=$(etcd_state)
		judge red
		assert_eq "after red" "$AFTER" stay
		assert_match "status" "$(gbe status)" "*nothing counts its boots down*"
		reboot
		booted B
		started
		holds "day $day" "$B_STATE"
	done
	make_default A
	reboot
	a_is_back
}

# During the countdown, and if another system boots next, status says what the next boot puts back.
seq_counted() {
	a_green "$1"
	into_b
	b_writes
	judge red
	assert_match "status" "$(gbe status)" "*Needs you*"
	assert_exit 6 gbe status --check
	reboot
	holds "the next attempt" "$A_STATE"
}

# 37: C staged on trial B, C fails -> B
seq_37() {
	a_green "$1"
	into_b
	b_writes
	judge red
	update C
	reboot
	booted C
	started
	holds "an update on top of a failed one starts from the last good data" "$A_STATE"
	put owner C
	judge red
	from_menu B
	started
	holds "so does B, after it" "$A_STATE"
}

# 40, and two starts are cut in the restore: the third must not report it as done.
seq_40_cut() {
	a_green "$1"
	into_b
	b_writes
	judge red
	stop_etcd
	rm -rf "$DATA/member"
	hook finalize || true
	make_default A
	boot_cut A restore-cloned || fail "no start came to the restore"
	boot_cut A restore-cloned || fail "the second start did not come to the restore"
	machine_on
	booted A
	held
	assert_missing "$DATA/member"
	start_prerun
	start_etcd
	a_is_back
}

# The leftovers of a backup and of a restore cannot be removed, which does no harm.
seq_leftovers() {
	local dir

	a_green "$1"
	into_b
	b_writes
	for dir in "$ROOT/var/lib/greenboot-etcd/backups/.partial-x" "$(dirname "$DATA")/.staging-99999"; do
		mkdir -p "$dir/m"
		mount -t tmpfs tmpfs "$dir/m"
	done
	fails_back
}

# All backups of A are damaged: after three the search ends, and A has B's data, which is recorded.
seq_all_damaged() {
	local n

	a_green "$1"
	stop_etcd
	for n in 1 2 3 4 5 6; do
		gbe backup "own-$n"
	done
	start_etcd
	into_b
	b_writes
	B_STATE=$(etcd_state)
	judge red
	make_default A
	shutdown
	find "$ROOT/var/lib/greenboot-etcd/backups" "$ROOT/var/lib/.greenboot-etcd" -path '*/snap/db' -exec truncate -s 8192 {} + 2>/dev/null || true
	power_on
	booted A
	started
	holds "what B left" "$B_STATE"
	assert_eq "who has it" "$(json .owner.deployment status)" "${DEPLOYMENT[A]}"
}

# The reserve for records is also gone. (With it, a clone and its take-over have room.)
no_room_at_all() {
	rm "$ROOT/var/lib/greenboot-etcd/reserve"
	disk_fill
}

# 53: disk full at the upgrade, greenboot works
seq_53() {
	b_is_next "$1"
	no_room_at_all
	while true; do
		machine_on
		[[ $BOOTED == B ]] || break
		held
		judge red
		shutdown
	done
	disk_free
	start_etcd
	a_is_back
	judge green
}

# 55: disk full: the stamp fails on B, then A
seq_55() {
	b_is_next "$1"
	config backup on-upgrade-failure=refuse
	no_room_at_all
	machine_on
	booted B
	held
	shutdown
	grub_choose
	boot A # from the menu
	disk_free
	start_etcd
	a_is_back
}

suite_begin "$@"
# Every file system plays its promise. The rest is played once with clones and once without.
FS=$(kinds "xfs ext4 btrfs-subvol" "xfs-noreflink btrfs") play seq 12
FS=$(kinds "xfs ext4" "$OTHER_FS") play seq 16
play seq 40_cut leftovers all_damaged uncounted counted 37
FS=${FS:-ext4} play seq 11 53 55
suite_end
