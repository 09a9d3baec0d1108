#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sequences of boots that need a real etcd, a real ostree or another program. Examples are a failed finalization, a typo,
# a soft reboot, a container and another flavour of greenboot. The numbers are those of the design's list of sequences.
# The others are in tests/histories/known/sequences.history.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

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

# 25, and A's first start cannot get the data. At the second start greenboot has made A the default entry, which is
# still not a person's wish.
seq_25_later() {
	a_b_green "$1" shell
	update C
	for _ in 1 2 3; do
		unstage # locked: never finalized
		reboot
		judge red
	done
	shutdown
	mv "$DATA/member" "$ROOT/var/lib/member"
	ln -s "$ROOT/var/lib/member" "$DATA/member"
	power_on
	booted A
	held
	rm "$DATA/member"
	mv "$ROOT/var/lib/member" "$DATA/member"
	start_prerun
	started
	start_etcd
	holds "not meant as a rollback: nothing is rewound" "$B_STATE"
}

# 26: green B, `bootc rollback` -> A
seq_26() {
	a_b_green "$1"
	put later "under B"
	B_STATE=$(etcd_state)
	assert_json .verdict green status
	roll_back_to A
	a_is_back
	judge green
	assert_some "B's data is kept, valid" \
		"$(backups ".deployment==\"${DEPLOYMENT[B]}\" and .grade!=\"bad\"")"
}

# 34: kargs change (same commit, .1)
seq_34() {
	a_green "$1"
	update A1 A
	put last word
	A_STATE=$(etcd_state)
	reboot
	booted A1
	started
	holds "A.1's data" "$A_STATE"
	judge green
	put owner A1
	A_STATE=$(etcd_state)
	roll_back_to A
	started
	holds "the same system keeps its data" "$A_STATE"
}

# 82: a config drop-in on-rollback=... written on B, rolled back: /etc belongs to its deployment
seq_82() {
	a_b_green "$1"
	config restore on-rollback=never
	shutdown
	unconfig restore on-rollback
	make_default A
	power_on
	a_is_back
	shutdown
	make_default B
	config restore on-rollback=never
	power_on
	booted B
	started
	holds "B's own /etc says never" "$A_STATE"
}

# a_with_backup KIND: A is green; `snap` is a manual backup with SNAP_STATE; A has written since.
a_with_backup() {
	a_green "$1"
	SNAP_STATE=$(etcd_state)
	stop_etcd
	gbe backup snap -d "before the experiment"
	start_etcd
	put since "the backup"
	A_STATE=$(etcd_state)
	assert_ne "A's data" "$A_STATE" "$SNAP_STATE"
}

# 64: --next-boot, then B staged, B fails
snap_again() {
	holds "the next attempt starts from what was asked for" "$SNAP_STATE"
	b_writes
}

seq_64() {
	a_with_backup "$1"
	gbe restore snap --next-boot
	update B
	A_STATE=$(etcd_state)
	reboot
	booted B
	started
	holds "asked for, and B's own act" "$SNAP_STATE"
	b_writes
	fail_until_rollback snap_again
	a_is_back
	judge green
	put again "A"
	A_STATE=$(etcd_state)
	reboot
	a_is_back # once is enough
}

# 71: A (shell) -> B (Rust): counter 3, no trigger; B gives up at 0, next reboot -> A
seq_71() {
	a_green "$1" shell
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	shutdown
	machine_on
	greenboot_install rust
	start_etcd
	booted B
	while true; do
		b_again
		judge red
		[[ $AFTER == reboot ]] || break
		reboot
		booted B
	done
	shutdown
	greenboot_install shell
	power_on
	a_is_back
}

# 72: A (Rust) -> B (shell): nothing counts, B stays up red; a person chooses A
seq_72() {
	a_green "$1" rust
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	shutdown
	greenboot_install shell
	power_on
	booted B
	b_writes
	judge red
	assert_eq "after red" "$AFTER" stay
	shutdown
	greenboot_install rust
	grub_choose
	boot A
	start_etcd
	a_is_back
}

# 73: soft reboot A -> B
seq_73() {
	a_green "$1"
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	shutdown
	boot B --soft
	started
	start_etcd
	holds "B's data" "$A_STATE"
	b_writes
	judge red
	shutdown
	boot B --soft
	started
	start_etcd
	holds "another run of the same boot id" "$A_STATE"
	b_writes
	judge red
	stop_etcd
	hook finalize
	make_default A
	power_on
	a_is_back
}

# 74: soft reboot, count unreadable
seq_74() {
	a_green "$1"
	into_b
	b_writes
	judge red
	B_STATE=$(etcd_state)
	shutdown
	mkdir -p "$ROOT/run/greenboot-etcd"
	echo "not a number" >"$ROOT/run/greenboot-etcd/soft-reboots"
	start_prerun
	started
	start_etcd
	holds "an unknown run undoes nothing" "$B_STATE"
}

# 76: etcd restored by hand with etcdctl on trial B
seq_76() {
	local hand

	a_green "$1"
	into_b
	ctl snapshot save "$GBE_MEM/by-hand.db" >/dev/null
	b_writes
	judge red
	stop_etcd
	rm -rf "$DATA.restored"
	ctl snapshot restore "$GBE_MEM/by-hand.db" --name=default --data-dir="$DATA.restored" \
		--initial-cluster="default=http://127.0.0.1:$((ETCD_PORT + 1))" \
		--initial-advertise-peer-urls="http://127.0.0.1:$((ETCD_PORT + 1))" >/dev/null
	rm -rf "$DATA/member"
	mv "$DATA" "$DATA.old"
	mv "$DATA.restored" "$DATA"
	rm -rf "$DATA.old"
	start_etcd
	put by hand
	hand=$(etcd_state)
	reboot
	booted B
	started
	holds "what a person restored is not undone" "$hand"
}

# 77: state directory deleted, B on trial
seq_77() {
	a_green "$1"
	into_b
	b_writes
	judge red
	B_STATE=$(etcd_state)
	shutdown
	rm -rf "$ROOT/var/lib/greenboot-etcd"
	power_on
	booted B
	started
	holds "nothing to restore, nothing lost" "$B_STATE"
	judge green
	reboot
	booted B
	holds "B's data" "$B_STATE"
}

# 78: B has a newer greenboot-etcd, fails
seq_78() {
	local nonce

	a_green "$1"
	into_b
	b_writes
	judge red
	nonce=$DATA/.greenboot-etcd-owner
	jq '.format = 7 | .written_by = "99.0" | .from_the_future = {"a": [1, 2]}' "$nonce" \
		>"$GBE_MEM/nonce"
	cat "$GBE_MEM/nonce" >"$nonce"
	stop_etcd
	make_default A
	power_on
	a_is_back
	judge green
	reboot
	a_is_back
}

b_without_fails() {
	a_green "$1"
	os_commit B --without-program
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	reboot
	booted B
	b_writes
	B_STATE=$(etcd_state)
	fail_until_rollback true
	booted A
	started
}

seq_46_always() {
	a_green "$1"
	config backup at-shutdown=always
	os_commit B --without-program
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	reboot
	b_writes
	fail_until_rollback true
	a_is_back
}

# 46: B without the program fails -> A, where A could take its closing backup
seq_46() {
	if ! fs_clones "$1"; then
		seq_46_always "$1"
		return
	fi
	b_without_fails "$1"
	holds "A's data" "$A_STATE"
}

# greenboot-etcd.skip: this boot without it
seq_66_skip() {
	a_green "$1"
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	reboot --cmdline=greenboot-etcd.skip
	booted B
	started
	holds "B's data" "$A_STATE"
	b_writes
	B_STATE=$(etcd_state)
	reboot
	booted B
	started
	holds "the next boot takes it over as it is" "$B_STATE"
	assert_eq "adopted" "$(backups '.name | startswith("adopted-")')" 0
	# The skipped boot left no base of its own. The state that A left is known anyway.
	fail_until_rollback b_writes
	a_is_back
}

suite_begin "$@"
# Every file system plays its promise. The rest is played once with clones and once without.
FS=${FS:-$EVERY_FS} play seq 01
FS=$(kinds "xfs ext4" "$OTHER_FS") play seq 26 46 64 73 76
play seq 06 06_unknown 23 25_later 34 68 71 72 74 77 78 79 82 container
# Only a device that clones has a backup of what A left.
FS=${FS:-xfs} play seq 66_skip
suite_end
