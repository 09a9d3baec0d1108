#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sequences that return to an earlier deployment, change from one to the next, or have no verdict. The numbers are
# those of the design's list of sequences.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# 20: no greenboot: A -> B, reboot after months
seq_20() {
	device "$1" none
	power_on
	put_many base 10
	into_b
	b_writes
	B_STATE=$(etcd_state)
	reboot
	booted B
	holds "without a verdict a reboot keeps the data" "$B_STATE"
	weeks_pass
	put months later
	B_STATE=$(etcd_state)
	reboot
	booted B
	started
	holds "after months" "$B_STATE"
}

# 21: no greenboot: A -> B -> C
seq_21() {
	device "$1" none
	power_on
	put_many base 10
	into_b
	b_writes
	weeks_pass
	update C
	B_STATE=$(etcd_state)
	reboot
	booted C
	started
	holds "C's data" "$B_STATE"
	assert_some "backups at hand" "$(backups true)"
}

# 24: Rust "gave up" at 0 on mature B, later reboot -> Z
seq_24() {
	device "$1" rust
	os_commit Z --without-program
	deploy Z
	make_default A
	power_on
	put_many base 10
	judge green
	put owner A
	for _ in 1 2 3; do
		judge red
		assert_eq "after red" "$AFTER" reboot
		A_STATE=$(etcd_state)
		reboot
		booted A
		holds "mature: red takes nothing" "$A_STATE"
	done
	judge red
	assert_eq "it gives up" "$AFTER" stay
	put after "giving up"
	A_STATE=$(etcd_state)
	reboot
	booted Z
	holds "Z finds it" "$A_STATE"
	put by Z
	A_STATE=$(etcd_state)
	from_menu A
	booted A
	started
	holds "what Z wrote is kept" "$A_STATE"
	assert_some "and backed up, not as A's" "$(backups '.name | startswith("adopted-")')"
}

# 25: shell, download-only staging, three boots without network -> A
seq_25() {
	a_b_green "$1" shell
	update C
	for _ in 1 2 3; do
		unstage # locked: never finalized
		reboot
		booted B
		holds "B's data" "$B_STATE"
		judge red
		assert_eq "after red" "$AFTER" reboot
	done
	reboot
	booted A
	started
	holds "not meant as a rollback: nothing is rewound" "$B_STATE"
	judge green
	assert_some "B's data is backed up" \
		"$(backups ".deployment==\"${DEPLOYMENT[B]}\" and .grade!=\"bad\"")"
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

# 27: 26, forward to B again, V(B) red
seq_27() {
	a_b_green "$1"
	reboot
	booted B
	put red "all the same"
	judge red
	B_STATE=$(etcd_state)
	roll_back_to A
	a_is_back
	judge green
	put owner "A again"
	A_STATE=$(etcd_state)
	roll_back_to B
	started
	holds "B has its own data again" "$B_STATE"
	judge green
	roll_back_to A
	a_is_back
}

# 28: A's last run red, B staged, fails -> A
seq_28() {
	a_green "$1"
	reboot
	judge red
	into_b
	b_writes
	fails_back
}

# 31: daily ping-pong B.1, B.2, ...
seq_31() {
	local day

	a_green "$1"
	for day in 1 2 3; do
		update "B$day" B
		put day "$day"
		A_STATE=$(etcd_state)
		reboot
		booted "B$day"
		holds "B's data" "$A_STATE"
		b_writes
		fails_back
		judge green
	done
	assert_match "the serial counts on" "${DEPLOYMENT[B3]}" "*.[12]"
	assert_eq "bad backups" "$(backups '.grade=="bad"')" 1
	reboot
	a_is_back
}

# 32: ping-pong with `cleanup -r` between: B.0, B.0
seq_32() {
	local day

	a_green "$1"
	for day in 1 2; do
		update B
		assert_match "the serial" "${DEPLOYMENT[B]}" "*.0"
		put day "$day"
		A_STATE=$(etcd_state)
		reboot
		booted B
		started
		holds "B's data" "$A_STATE"
		b_writes
		fails_back
		judge green
		undeploy B
		reboot
		a_is_back
	done
}

# 33: A.0 -> B -> C -> A's commit: A.0 again, pinned backup of A.0
seq_33() {
	local name c_state

	a_green "$1"
	stop_etcd
	gbe backup keep-me --pin
	start_etcd
	into_b
	b_writes
	judge green
	update C
	reboot
	booted C
	judge green
	assert_exit 1 deployment_index A # ostree has removed it meanwhile
	put owner C
	c_state=$(etcd_state)
	name=${DEPLOYMENT[A]}
	update A
	assert_eq "the same id again" "${DEPLOYMENT[A]}" "$name"
	reboot
	booted A
	started
	holds "another deployment, one without a past" "$c_state"
	assert_eq "the pinned backup" "$(backups '.name=="keep-me" and .pinned')" 1
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

# 35: C booted, B, A pinned; A from the GRUB menu "for a look"
seq_35() {
	local state

	a_b_green "$1"
	pin A
	update C
	reboot
	booted C
	put owner C
	judge green
	state=$(etcd_state)
	from_menu A
	started
	holds "a look rewinds nothing" "$state"
	judge green
	put seen "by A"
	state=$(etcd_state)
	from_menu C
	started
	holds "nor does the way back" "$state"
}

# 36: C on trial fails, GRUB entry A chosen, not B
seq_36() {
	a_b_green "$1"
	pin A
	update C
	put last "word of B"
	B_STATE=$(etcd_state)
	reboot
	booted C
	put owner C
	judge red
	from_menu A
	started
	holds "C's failed trial is undone, B's work is not" "$B_STATE"
}

# 38: `rollback` while C is staged
seq_38() {
	a_b_green "$1"
	update C
	unstage
	grubenv_edit boot_counter
	roll_back_to A
	a_is_back
}

# 63: rollback, `undo`, reboot
seq_63() {
	a_b_green "$1"
	roll_back_to A
	a_is_back
	judge green
	stop_etcd
	gbe undo
	start_etcd
	holds "undo brings B's data back" "$B_STATE"
	reboot
	booted A
	started
	holds "and it stays" "$B_STATE"
	stop_etcd
	gbe undo
	start_etcd
	holds "a second undo returns" "$A_STATE"
}

# 80: ostree early-prunes A at finalize, B fails
seq_80() {
	a_green "$1"
	into_b
	undeploy A
	b_writes
	for _ in 1 2; do
		judge red
		reboot
		booted B
		b_again
	done
	judge green
	B_STATE=$(etcd_state)
	reboot
	booted B
	holds "green at last" "$B_STATE"
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

suite_begin "$@"
# Every file system plays its promise. The rest is played once with clones and once without.
FS=$(kinds "xfs ext4" "$OTHER_FS") play seq 20 27 28 31 32
play seq 21 24 25 26 33 34 35 36 38 63 80 82 25_later
suite_end
