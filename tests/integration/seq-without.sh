#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sequences with a system that lacks greenboot-etcd before, after or in between. The numbers are those of the design's
# list of sequences.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# z_device KIND [FLAVOUR]: Z, without the program, has data and is about to shut down.
z_device() {
	root_new "$1"
	sysroot_init
	etcd_ports
	config_write
	greenboot_install "${2:-shell}"
	os_commit Z --without-program
	deploy Z
	power_on
	put_many base 10
	judge green
	put owner Z
	Z_STATE=$(etcd_state)
}

z_has_its_data() {
	booted Z
	holds "Z's data" "$Z_STATE"
}

# 42: first install in the same update, A fails, retry
seq_42() {
	z_device "$1"
	update A
	reboot
	booted A
	started
	holds "A's data" "$Z_STATE"
	assert_eq "adopted" "$(backups '.name | startswith("adopted-")')" 1
	put owner A
	judge red
	reboot
	booted A
	started
	holds "the next attempt" "$Z_STATE"
}

# 43: 42, rollback to Z, which cannot restore anything itself
seq_43_of() { # FLAVOUR KIND
	z_device "$2" "$1"
	update A
	reboot
	booted A
	put owner A
	fail_until_rollback put owner A
	z_has_its_data
}
seq_43_shell() { seq_43_of shell "$1"; }
seq_43_rust() { seq_43_of rust "$1"; }

# 44: 43, Z weeks, A'
seq_44() {
	z_device "$1"
	update A
	reboot
	put owner A
	fail_until_rollback put owner A
	z_has_its_data
	judge green
	put weeks "of Z"
	Z_STATE=$(etcd_state)
	os_commit A
	update A2 A
	reboot
	booted A2
	started
	holds "A' keeps Z's data" "$Z_STATE"
	put owner A2
	judge red
	reboot
	booted A2
	holds "its next attempt" "$Z_STATE"
}

# 45: package removed in B, re-added in C
seq_45() {
	a_green "$1"
	os_commit B --without-program
	update B
	reboot
	booted B
	put owner B
	judge green
	weeks_pass
	update C
	B_STATE=$(etcd_state)
	reboot
	booted C
	started
	holds "what B wrote" "$B_STATE"
	assert_eq "and a backup of it, adopted" \
		"$(backups '.name | startswith("adopted-")')" 1
	put owner C
	judge red
	reboot
	booted C
	holds "C's next attempt" "$B_STATE"
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

# 46: B without the program fails -> A, where A could take its closing backup
seq_46() {
	if ! fs_clones "$1"; then
		seq_46_always "$1"
		return
	fi
	b_without_fails "$1"
	holds "A's data" "$A_STATE"
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

# 47: the same, and a closing backup would cost a copy: the known limit, nothing is lost or guessed
seq_47() {
	a_green "$1"
	config backup at-shutdown=never
	os_commit B --without-program
	update B
	put last "word of A"
	reboot
	b_writes
	B_STATE=$(etcd_state)
	fail_until_rollback true
	booted A
	started
	holds "the data as it was found" "$B_STATE"
	assert_eq "backed up as adopted" "$(backups '.name | startswith("adopted-")')" 1
}

suite_begin "$@"
# Every file system plays its promise. The rest is played once with clones and once without.
FS=$(kinds "xfs ext4" "$OTHER_FS") play seq 46
play seq 42 43_shell 43_rust 44 45 47
suite_end
