#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sequences in which people restore, request a restore, mix versions of greenboot or of the program, or work on the
# data themselves. The numbers are those of the design's list of sequences.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

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

# 61: manual restore after green, reboot
seq_61() {
	a_with_backup "$1"
	assert_exit 4 gbe restore snap
	stop_etcd
	gbe restore snap
	start_etcd
	holds "restored" "$SNAP_STATE"
	assert_eq "what it displaced is kept, set aside" "$(backups .set_aside)" 1
	put after restore
	SNAP_STATE=$(etcd_state)
	reboot
	booted A
	started
	holds "and it stays" "$SNAP_STATE"
}

# 62: manual restore, then B fails
seq_62() {
	a_with_backup "$1"
	stop_etcd
	gbe restore snap
	start_etcd
	into_b
	b_writes
	fails_back
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

# 65: --next-boot, etcd crashes
seq_65() {
	a_with_backup "$1"
	gbe restore snap --next-boot
	kill_etcd
	start_prerun
	started
	start_etcd
	holds "the same boot: not yet" "$A_STATE"
	reboot
	booted A
	started
	holds "the next boot" "$SNAP_STATE"
}

# 65, cancelled, and a request for a missing backup
seq_65_cancelled() {
	a_with_backup "$1"
	gbe restore snap --next-boot
	gbe restore --cancel
	reboot
	a_is_back
	gbe restore snap --next-boot
	gbe delete snap --force
	reboot
	a_is_back
	assert_exit 1 gbe restore no-such-backup --next-boot
}

# 66: restore karg left in place
seq_66() {
	local karg=--cmdline=greenboot-etcd.restore=snap

	a_with_backup "$1"
	judge green
	reboot "$karg"
	started
	holds "restored" "$SNAP_STATE"
	put after restore
	A_STATE=$(etcd_state)
	judge green
	reboot "$karg"
	a_is_back # the request was done once
	reboot
	a_is_back
	reboot "$karg"
	started
	holds "due again after a boot without it" "$SNAP_STATE"
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

suite_begin "$@"
# Every file system plays its promise. The rest is played once with clones and once without.
FS=$(kinds "xfs ext4" "$OTHER_FS") play seq 64 65 66 73 76
play seq 61 62 65_cancelled 66_skip 71 72 74 77 78
suite_end
