#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sequences in which an update is on trial: cut, hung, red, stuck, out of space. The numbers are those of the design's
# list of sequences.

# shellcheck disable=SC2317,SC2119 # cases are called by name
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

b_has_a_data() {
	power_on
	booted B
	started
	holds "B's data" "$A_STATE"
}

# 7: B boots, cut in prerun before the stamp (and at every other point of it)
seq_07() {
	b_is_next "$1"
	every_cut B b_has_a_data
	b_has_a_data
	b_writes
	fails_back
}

# 8: cut after the stamp, before etcd
seq_08() {
	b_is_next "$1"
	grub_choose
	boot B
	started
	powercut
	b_has_a_data
	b_writes
	fails_back
}

# 9: B writes, cut, B again
seq_09() {
	a_green "$1"
	into_b
	b_writes
	hook health
	put while "being judged"
	powercut
	power_on
	booted B
	started
	holds "an attempt cut short, tried again" "$A_STATE"
	b_writes
	fails_back
}

# 9, before any health check began: without a verdict, B has not failed
seq_09_unjudged() {
	a_green "$1"
	into_b
	b_writes
	B_STATE=$(etcd_state)
	powercut
	power_on
	booted B
	started
	holds "B has no verdict" "$B_STATE"
	judge red
	reboot
	booted B
	holds "now it is judged" "$A_STATE"
}

# 10: 9, cut anywhere in the restore, also between exchange and stamp
seq_10() {
	a_green "$1"
	into_b
	b_writes
	hook health
	powercut
	every_cut B b_has_a_data
	b_has_a_data
	b_writes
	fails_back
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
	b_has_a_data
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

# 12 on a device without a clock of its own: in B's first run the network gives the date
seq_12_clock() {
	a_green "$1" shell
	clock_set 1970
	into_b
	b_writes
	clock_set 0
	judge red
	reboot
	booted B
	holds "tried again, whatever the clock says" "$A_STATE"
	b_writes
	fails_back
}

# 13: B red x4, Rust -> A
seq_13() {
	a_green "$1" rust
	into_b
	b_writes
	fails_back
	judge green
	reboot
	a_is_back
}

a_has_its_data() {
	power_on
	a_is_back
}

# 14: 12 and 13, cut before or after A's exchange
seq_14() {
	local flavour

	for flavour in shell rust; do
		a_green "$1" "$flavour"
		into_b
		b_writes
		judge red
		while true; do
			shutdown
			grub_next
			[[ $NEXT == B ]] || break
			power_on
			b_again
			judge red
		done
		assert_eq "next" "$NEXT" A
		# LEVEL=ci: the cut is independent of the flavour.
		if [[ $flavour == shell || ${LEVEL:-ci} != ci ]]; then
			every_cut A a_has_its_data
		fi
		a_has_its_data
		kill_etcd
		root_free
	done
}

# Sets NEXT to the entry that GRUB would boot, without booting it.
grub_next() {
	cp "$ROOT/boot/grub2/grubenv" "$GBE_MEM/grubenv"
	grub_choose
	NEXT=$(deployment_name "$(sysroot_list | sed -n "$((GRUB_INDEX + 1))p")")
	cp "$GBE_MEM/grubenv" "$ROOT/boot/grub2/grubenv"
}

# 15: B hangs -> A -> B.0 again
seq_15() {
	a_green "$1"
	into_b
	while true; do
		b_writes
		hook health # hangs there until a person cuts the power
		powercut
		power_on
		[[ $BOOTED == B ]] || break
		holds "the next attempt" "$A_STATE"
	done
	a_is_back
	judge green
	put owner "A again"
	A_STATE=$(etcd_state)
	from_menu B
	booted B
	started
	holds "never green, booted again: an upgrade again" "$A_STATE"
	b_writes
	judge red
	shutdown
	boot A
	start_etcd
	a_is_back
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

# B is red and stays up, and nothing counts the boots.
b_red_for_weeks() {
	a_green "$1"
	into_b
	grubenv_edit boot_counter
	b_writes
	judge red
	assert_eq "after red" "$AFTER" stay
	weeks_pass
	put weeks "of work"
	B_STATE=$(etcd_state)
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

# The countdown ended, and a person boots the update once more.
seq_uncounted_by_hand() {
	a_green "$1"
	into_b
	b_writes
	fail_until_rollback b_again
	a_is_back
	judge green
	from_menu B
	started
	put again "of B"
	B_STATE=$(etcd_state)
	judge red
	reboot
	assert_eq "booted" "$BOOTED" A
	holds "A's data" "$A_STATE"
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

# 17: B up red three weeks, reboot
seq_17() {
	b_red_for_weeks "$1"
	reboot
	booted B
	started
	holds "weeks of use are not undone" "$B_STATE"
}

# 18: B up red three weeks, C staged
seq_18() {
	b_red_for_weeks "$1"
	update C
	reboot
	booted C
	started
	holds "C keeps B's data" "$B_STATE"
	put owner C
	judge red
	reboot
	booted C
	holds "C's next attempt" "$B_STATE"
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

# 40: B deletes the data and fails -> A
seq_40() {
	a_green "$1"
	into_b
	b_writes
	judge red
	stop_etcd
	rm -rf "$DATA/member"
	hook finalize || true
	make_default A
	power_on
	a_is_back
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

# 54: the same with an inert greenboot: no program would bring A back
seq_54() {
	a_green "$1" none
	update B
	A_STATE=$(etcd_state)
	shutdown
	disk_fill
	machine_on
	booted B
	started
	disk_free
	start_etcd
	holds "B runs, without a backup" "$A_STATE"
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
FS=$(kinds "xfs ext4" "$OTHER_FS") play seq 15 16 17 37 40
play seq 08 09 09_unjudged 11 12_clock 13 18 53 54 55 40_cut leftovers all_damaged uncounted uncounted_by_hand counted
FS=${FS:-ext4} play seq 07
FS=${FS:-xfs} play seq 10 14
suite_end
