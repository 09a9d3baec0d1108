#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sequences of boots and power cuts under one deployment, or before another one runs. The numbers are those of the
# design's list of sequences. In all of them, A's data stays.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

SCENES=anew

a_writes() {
	put more "$RANDOM"
	A_STATE=$(etcd_state)
}

# after a boot: expects A with its data, and no unfinished file.
a_goes_on() {
	booted A
	started
	holds "A's data" "$A_STATE"
	nothing_half_made
}

nothing_half_made() {
	local left
	left=$(find "$ROOT/var/lib" "$ROOT/.greenboot-etcd" -maxdepth 3 \
		\( -name '.partial-*' -o -name '.pending-*' -o -name '.restore-*' \) 2>/dev/null || true)
	assert_eq "half made" "$left" ""
}

# A plain reboot makes a good backup if that costs nothing.
one_good_if_cheap() {
	local want=0
	fs_clones "$1" && want=1
	assert_eq "good backups of A" \
		"$(backups ".grade==\"good\" and .deployment==\"${DEPLOYMENT[A]}\"")" "$want"
}

# 1: A green, reboot
seq_01() {
	a_green "$1"
	a_writes
	reboot
	a_goes_on
	one_good_if_cheap "$1"
	# The data is unchanged: no other backup is made.
	judge green
	reboot
	a_goes_on
	judge green
}

# 2: A green, power cut, boot
seq_02() {
	a_green "$1"
	a_writes
	powercut
	power_on
	a_goes_on
	one_good_if_cheap "$1"
}

# 3: B staged, cut before shutdown
seq_03() {
	a_green "$1"
	update B
	a_writes
	powercut
	power_on
	a_goes_on
	judge green
	assert_eq "what greenboot counts" "$(grubenv_get boot_counter)" ""
	# The same update is staged again and goes as if nothing had happened.
	into_b
	b_writes
	fails_back
}

# 4: cut while finalize copies
seq_04() {
	local point points

	a_green "$1"
	config backup at-shutdown=always
	a_writes
	stop_etcd
	device_save
	same_boot
	mapfile -t points < <(fault_points finalize)
	((${#points[@]} > 0)) || fail "finalize passes no fault point"
	for point in "${points[@]}"; do
		device_load
		same_boot
		cut_in finalize "$point" || fail "finalize did not come to $point again"
		power_on
		a_goes_on
		kill_etcd
	done
}

# 5: cut after finalize, before ostree finalized
seq_05() {
	a_green "$1"
	update B
	a_writes
	stop_etcd
	hook finalize
	powercut
	power_on
	a_goes_on
	judge green
	into_b
	b_writes
	fails_back
}

# 6: ostree's finalization fails, A again
seq_06() {
	a_green "$1"
	update B
	a_writes
	stop_etcd
	hook finalize
	greenboot_at_shutdown
	unstage
	power_on
	a_goes_on
	judge green
	into_b
	b_writes
	fails_back
}

# 6, and prerun cannot identify the deployment when A comes back: A's own writes do not count as foreign.
seq_06_unknown() {
	a_green "$1"
	config backup at-shutdown=always
	update B
	a_writes
	stop_etcd
	hook finalize
	greenboot_at_shutdown
	unstage
	MASKED=yes machine_on
	sed -i 's/ostree=[^ ]*//' "$ROOT/proc/cmdline"
	start_prerun
	started
	start_etcd
	a_writes
	reboot
	a_goes_on
}

# 19: no greenboot: A, reboot
seq_19() {
	device "$1" none
	power_on
	started
	put_many base 10
	for _ in 1 2 3; do
		a_writes
		reboot
		a_goes_on
	done
	assert_eq "good without a judge" "$(backups '.grade=="good"')" 0
}

# 22: green, cut before boot_success (shell, Rust)
seq_22() {
	local flavour
	for flavour in shell rust; do
		a_green "$1" "$flavour"
		into_b
		b_writes
		hook health
		hook green
		B_STATE=$(etcd_state)
		powercut
		power_on
		booted B
		started
		holds "B was green: its data" "$B_STATE"
		kill_etcd
		root_free
	done
}

# 23: the green hook cannot write (disk full), reboot
seq_23() {
	a_green "$1"
	a_writes
	reboot
	a_goes_on
	disk_fill
	hook health || true
	hook green || true
	greenboot_green
	stop_etcd
	hook finalize || true
	disk_free
	power_on
	a_goes_on
	judge green
}

# 29: mature red, plain reboot
seq_29() {
	a_green "$1"
	reboot
	a_writes
	judge red
	a_writes
	reboot
	a_goes_on
	judge red
	a_writes
	reboot
	a_goes_on
}

# 30: mature, three power cuts in a row
seq_30() {
	a_green "$1"
	for _ in 1 2 3; do
		a_writes
		powercut
		power_on
		a_goes_on
	done
	judge green
	reboot
	a_goes_on
}

# 59: mature A, V none, verify of the copy fails
seq_59() {
	a_green "$1"
	config backup at-boot=always
	a_writes
	powercut
	MASKED=yes
	machine_on
	MASKED=
	GREENBOOT_ETCD_FAULT=backup-verified=EIO BUILD=$BUILD_FAULTS start_prerun
	started
	start_etcd
	a_goes_on
	assert_eq "no false copy" "$(backups true)" 0
}

# 67: prerun masked for one run
seq_67() {
	a_green "$1"
	a_writes
	shutdown
	MASKED=yes
	power_on
	a_writes
	shutdown
	MASKED=
	power_on
	a_goes_on
	judge green
	a_writes
	reboot
	a_goes_on
}

# 68: a drop-in with a typo, reboot
seq_68() {
	a_green "$1"
	config backup keep-good=3
	reboot
	judge green
	a_writes
	echo "keep-good = many [" >"$ROOT/etc/greenboot-etcd/greenboot-etcd.conf.d/90-typo.conf"
	assert_exit 2 gbe config --check
	assert_match "config --check names the file" "$ERR" "*90-typo.conf*"
	reboot
	a_goes_on
	assert_match "prerun says so" "$(<"$PRERUN_LOG")" "*90-typo.conf*"
	judge green
}

# 69: green recorded, cut before the next boot's backup
after_cut() {
	power_on
	a_goes_on
}
seq_69() {
	a_green "$1"
	config backup at-boot=always
	a_writes
	powercut
	every_cut A after_cut
	power_on
	a_goes_on
	assert_eq "good backups of A" "$(backups '.grade=="good"')" 1
}

# 70: two boots in 1970, nothing changed?
seq_70() {
	a_green "$1"
	a_writes
	shutdown
	clock_set 1970
	power_on
	a_goes_on
	judge green
	put written-in 1970
	A_STATE=$(etcd_state)
	shutdown
	clock_set 1970
	power_on
	a_goes_on
	judge green
	into_b
	b_writes
	fails_back
}

# 75: isolate rescue, back, reboot
seq_75() {
	local before

	a_green "$1"
	a_writes
	before=$(backups true)
	stop_etcd
	start_prerun
	start_etcd
	a_goes_on
	assert_eq "backups in the same run" "$(backups true)" "$before"
	a_writes
	reboot
	a_goes_on
}

# 79: FICLONE panics the kernel in prerun: the third start does without it
seq_79() {
	local point points

	a_green "$1"
	config backup at-boot=always
	a_writes
	powercut
	device_save
	MASKED=yes boot A
	mapfile -t points < <(fault_points prerun)
	device_load
	point=$(printf '%s\n' "${points[@]}" | grep -m1 -E '^(clone|tree|copy|backup)-') ||
		fail "no fault point in the copy: ${points[*]}"
	boot_cut A "$point" || fail "no start came to $point"
	boot_cut A "$point" || fail "the second start did not come to $point"
	! boot_cut A "$point" || fail "the third start tries it again"
	power_on
	a_goes_on
}

# The etcd of a container belongs to no deployment. It may be newer after a restart of its service.
seq_container() {
	a_green "$1"
	a_writes
	stop_etcd
	# Its program is in the image: nothing was replaced.
	assert_exit 0 hook prerun
	assert_eq "backups of a restart" "$(backups true)" 0
	rm "$ROOT/usr/bin/etcd"
	assert_exit 0 hook prerun
	one_good_if_cheap "$1"
	# No data was written: no other backup is made.
	assert_exit 0 hook prerun
	one_good_if_cheap "$1"
	etcd_program "$ETCD"
	start_etcd
	a_goes_on
}

suite_begin "$@"
# Every file system plays its promise. The rest is played once with clones and once without.
FS=${FS:-$EVERY_FS} play seq 01
FS=$(kinds "xfs ext4" "$OTHER_FS") play seq 70
play seq container 02 03 05 06 19 22 23 29 30 59 67 68 75 79 06_unknown
FS=${FS:-ext4} play seq 04 69
suite_end
