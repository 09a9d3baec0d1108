#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Sequences with data that is gone, elsewhere, large, torn, or of another version. The numbers are those of the
# design's list of sequences.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# 39: factory reset: `rm -rf member`, reboot on A
seq_39() {
	a_green "$1"
	config backup at-boot=always
	reboot
	judge green
	stop_etcd
	rm -rf "$DATA/member"
	hook finalize || true
	power_on
	booted A
	started
	assert_eq "a reset device stays reset" "$(key_count)" 0
	assert_some "what could come back" "$(backups '.grade=="good"')"
	put after reset
	judge green
	A_STATE=$(etcd_state)
	reboot
	a_is_back
}

# 41: the data's mount is missing at boot
seq_41() {
	device "$1"
	fs_at "$(extra_kind "$1")" "$DATA"
	chmod 0700 "$DATA"
	power_on
	put_many base 10
	judge green
	put last word
	A_STATE=$(etcd_state)
	shutdown
	mount --bind "$DATA" "$GBE_MEM/aside" 2>/dev/null ||
		{ mkdir -p "$GBE_MEM/aside" && mount --bind "$DATA" "$GBE_MEM/aside"; }
	umount "$DATA"
	machine_on
	booted A
	held
	assert_eq "below the mount point" "$(ls -A "$DATA")" ""
	shutdown
	mount --move "$GBE_MEM/aside" "$DATA"
	power_on
	a_is_back
}

extra_kind() { [[ $1 != btrfs-subvol ]] && echo "$1" || echo btrfs; }

# MicroShift's layout: the tree has a version file and other files, and etcd is one level down.
microshift() {
	device "$1"
	DATA=$ROOT/var/lib/microshift/etcd
	mkdir -p "$ROOT/var/lib/microshift"
	config etcd data-dir=/var/lib/microshift member-dir=etcd version-file=version
	echo "certificates" >"$ROOT/var/lib/microshift/certs"
}
microshift_version() {
	printf '{"version":"%s","deployment_id":"x","boot_id":"y"}' "$1" \
		>"$ROOT/var/lib/microshift/version"
}

# 48: 3.4 -> 3.5 green, back to 3.4, by the boot menu: its etcd cannot read that data
seq_48() {
	etcd_next_of B
	a_green "$1"
	into_b
	b_writes
	judge green
	put more "of B"
	from_menu A
	a_is_back
	judge green
}

# 50: MicroShift 4.20 -> 4.19 (etcd equal): chosen in the menu, but 4.19 cannot use the data of 4.20
seq_50() {
	microshift "$1"
	power_on
	microshift_version 4.19.3
	put_many base 10
	judge green
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	reboot
	booted B
	microshift_version 4.20.1
	put owner B
	judge green
	put more "of B"
	from_menu A
	started
	holds "the newest that 4.19 can use" "$A_STATE"
	assert_match "version" "$(<"$ROOT/var/lib/microshift/version")" '*4.19.3*'
}

# 51: ext4, a large database, upgrade
seq_51() {
	local size=300
	[[ ${LEVEL:-ci} != nightly ]] || size=2000
	b_with_ballast "$1" "$size"
	assert_eq "ballast" "$(stat -c %s "$DATA/ballast")" $((size * 1024 * 1024))
	b_writes
	judge green
}

b_with_ballast() {
	a_green "$1"
	dd if=/dev/urandom of="$DATA/ballast" bs=1M count="$2" 2>/dev/null
	into_b
}

# With clones each attempt has a fresh start. Without clones and without room for a copy, P is kept for its base: the
# attempt continues with the existing data.
b_goes_on() {
	if fs_clones "$KIND" || [[ $(etcd_state) == "$A_STATE" ]]; then
		b_again
	fi
}

# 52: rollback without room for a staged copy: the backup itself replaces the data when its owner is back
seq_52() {
	local KIND=$1
	local digest

	device "$1" shell 800M
	power_on
	put_many base 10
	judge green
	dd if=/dev/urandom of="$DATA/ballast" bs=1M count=100 2>/dev/null
	digest=$(sha256sum <"$DATA/ballast")
	into_b
	b_writes
	fill_but 150
	fail_until_rollback b_goes_on
	a_is_back
	assert_eq "ballast" "$(sha256sum <"$DATA/ballast")" "$digest"
	disk_free
	judge green
	reboot
	a_is_back
}

# fill_but MIB: fills the disk except for that much.
fill_but() {
	local free
	sync -f "$ROOT"
	free=$(stat -f -c '%a * %S' "$ROOT")
	free=$(((free) / 1024 / 1024 - $1))
	((free <= 0)) || fallocate -l "${free}M" "$ROOT/var/filler.most"
}

# A restore of A's current data is requested, and A keeps running until it is off.
asks_to_go_back() {
	A_STATE=$(etcd_state)
	stop_etcd
	assert_exit 0 gbe backup snap
	start_etcd
	put last word
	assert_exit 0 gbe restore snap --next-boot
	shutdown
}

# 41 with a requested restore: the request also waits for the mount.
seq_41_asked() {
	device "$1"
	fs_at "$(extra_kind "$1")" "$DATA"
	chmod 0700 "$DATA"
	mkdir "$ROOT/var/backups"
	config backup directory=/var/backups
	power_on
	put_many base 10
	judge green
	asks_to_go_back
	goes_away "$DATA"
	machine_on
	held
	assert_missing "$DATA/member"
	shutdown
	comes_back "$DATA"
	power_on
	a_is_back
}

# store_on_disk KIND: A is green, and its backups are on DISK.
store_on_disk() {
	device "$1"
	DISK=$ROOT/var/backups
	fs_at ext4 "$DISK"
	config backup directory=/var/backups/etcd
	power_on
	put_many base 10
	judge green
}

# 56: store on another file system, rollback
seq_56() {
	store_on_disk "$1"
	into_b
	assert_ne "in the store" "$(find "$ROOT/var/backups/etcd" -name manifest.json)" ""
	b_writes
	fails_back
	judge green
}

# 56, and the disk is missing already when A reboots. It stays the store, the update waits for it, and nothing is made
# below the bare mount point.
seq_56_away() {
	store_on_disk "$1"
	shutdown
	goes_away "$DISK"
	power_on
	booted A
	started
	judge green
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	reboot
	booted B
	held
	assert_eq "below the mount point" "$(ls -A "$DISK")" ""
	comes_back "$DISK"
	start_prerun
	started
	start_etcd
	holds "B's data" "$A_STATE"
	b_writes
	fails_back
}

# 56, and an empty disk replaces it, or a person removes the whole store: the store is made again.
seq_56_new() {
	store_on_disk "$1"
	shutdown
	umount "$DISK"
	fs_at ext4 "$DISK"
	power_on
	judge green
	reboot
	judge green
	into_b
	shutdown
	rm -rf "$DISK/etcd"
	make_default A
	power_on
	booted A
	started
	judge green
	assert_exists "$DISK/etcd"
}

# 56, and the disk comes late when A is back: the start waits for it, and restores no older state meanwhile.
seq_56_late() {
	local late

	store_on_disk "$1"
	into_b
	b_writes
	judge red
	make_default A
	shutdown
	goes_away "$DISK"
	{
		nap 4
		comes_back "$DISK"
	} &
	late=$!
	power_on
	wait "$late"
	a_is_back
}

# 56 with a requested restore: the request waits for a start that finds the disk.
seq_56_asked() {
	store_on_disk "$1"
	asks_to_go_back
	goes_away "$DISK"
	power_on
	started
	assert_ne "without the disk" "$(etcd_state)" "$A_STATE"
	comes_back "$DISK"
	reboot
	a_is_back
}

# 56, and another device's disk replaces it, with backups of the same deployments. This device ignores those backups.
seq_56_others() {
	local theirs b_state

	store_on_disk "$1"
	into_b
	shutdown
	goes_away "$DISK"
	root_free
	store_on_disk "$1"
	into_b
	b_writes
	b_state=$(etcd_state)
	judge red
	make_default A
	shutdown
	umount "$DISK"
	comes_back "$DISK"
	theirs=$(find "$DISK" | sort)
	power_on
	booted A
	started
	holds "what B left" "$b_state"
	assert_eq "the other device's disk" "$(find "$DISK" | sort)" "$theirs"
}

# 57: the data directory is a mount point, MicroShift's tree, cut between the exchanges
mounted_microshift() {
	microshift "$1"
	fs_at "$(extra_kind "$1")" "$ROOT/var/lib/microshift"
	echo "certificates" >"$ROOT/var/lib/microshift/certs"
	power_on
	put_many base 10
	judge green
	into_b
	echo "certificates of B" >"$ROOT/var/lib/microshift/certs"
	b_writes
}
seq_57() {
	mounted_microshift "$1"
	judge red
	reboot
	booted B
	b_again
	assert_eq "certs" "$(<"$ROOT/var/lib/microshift/certs")" "certificates"
	echo "certificates of B" >"$ROOT/var/lib/microshift/certs"
	fails_back
	assert_eq "certs" "$(<"$ROOT/var/lib/microshift/certs")" "certificates"
}

# A call fails between two exchanges, and again during the repair: etcd must not start on half of each tree.
seq_57_half() {
	local point=entries-one-exchanged

	mounted_microshift "$1"
	judge red
	shutdown
	MASKED=yes machine_on
	booted B
	GREENBOOT_ETCD_FAULT="$point@1=EIO,$point@2=EIO" BUILD=$BUILD_FAULTS start_prerun
	held
	assert_match "what it says" "$(<"$PRERUN_LOG")" "*a restore is half done*"
	start_prerun
	started
	start_etcd
	holds "after the second start" "$A_STATE"
	assert_eq "certs" "$(<"$ROOT/var/lib/microshift/certs")" "certificates"
}

# Cut between two exchanges. Then the disk is missing: etcd may not start on the bare directory. A boot without this
# program has written one of the entries again: this entry stays, and the rest is unchanged.
seq_57_between() {
	local dir

	mounted_microshift "$1"
	dir=$ROOT/var/lib/microshift
	echo "of B" >"$dir/aaa"
	judge red
	shutdown
	MASKED=yes machine_on
	booted B
	GREENBOOT_ETCD_FAULT=entries-one-exchanged@2=kill BUILD=$BUILD_FAULTS hook prerun || true
	assert_eq "certs after the cut" "$(<"$dir/certs")" "certificates"
	goes_away "$dir"
	start_prerun
	held
	assert_match "what it says" "$(<"$PRERUN_LOG")" "*half done*mount it*"
	comes_back "$dir"
	rm "$dir/certs"
	echo "renewed" >"$dir/certs"
	start_prerun
	started
	start_etcd
	holds "B's data again" "$A_STATE"
	assert_eq "certs" "$(<"$dir/certs")" "renewed"
	assert_missing "$dir/aaa"
}

# Cut in every step. (The disk keeps all writes here: the data has a file system of its own.)
seq_57_cut() {
	local point points b_files

	mounted_microshift "$1"
	judge red
	shutdown
	MASKED=yes machine_on
	booted B
	save_tree
	b_files=$(files "$ROOT/var/lib/microshift")
	mapfile -t points < <(fault_points prerun)
	((${#points[@]} > 0)) || fail "prerun passes no fault point"
	for point in "${points[@]}"; do
		load_tree
		MASKED=yes boot B
		IMAGE='' cut_in prerun "$point" || fail "prerun did not come to $point again"
		boot B
		started
		start_etcd
		holds "after a cut at $point" "$A_STATE"
		assert_eq "certs" "$(<"$ROOT/var/lib/microshift/certs")" "certificates"
		kill_etcd
		in_store "$b_files" || fail "after a cut at $point: what B had is not whole any more"
	done
}

# files DIR: prints its files. (A mount point also has lost+found and the store.)
files() { (cd "$1" && find . -type f ! -path './.greenboot-etcd*' -exec sha256sum {} + | sort); }

# in_store FILES: expects exactly these files in a backup.
in_store() {
	local dir
	while read -r dir; do
		[[ $(files "$dir") != "$1" ]] || return 0
	done < <(find "$ROOT/var/lib" -type d -path '*/backups/*/data')
	return 1
}

save_tree() {
	mkdir -p "$GBE_SCRATCH/saved"
	cp -a --sparse=always "$ROOT/var/lib/." "$GBE_SCRATCH/saved/"
}
load_tree() {
	find "$ROOT/var/lib" -mindepth 1 -delete 2>/dev/null || true # but for the mount point
	cp -a --sparse=always "$GBE_SCRATCH/saved/." "$ROOT/var/lib/"
}

# 60: a power cut tears the WAL, Rust
seq_60() {
	local wal

	a_green "$1" rust
	reboot
	judge green
	put more data
	A_STATE=$(etcd_state)
	powercut
	wal=$(find "$DATA/member/wal" -name '*.wal' | sort | tail -n 1)
	tear_wal "$wal"
	power_on
	booted A
	started
	holds "etcd repairs its WAL itself" "$A_STATE"
	judge green
}

# A frame header after the last record without data, as a cut in the middle of an append leaves it.
tear_wal() {
	local end length at=0

	while true; do
		length=$(od -An -t d8 -j "$at" -N 8 "$1" | tr -d ' ')
		((length != 0)) || break
		# low 56 bits: the record's length; the top byte: how it is padded to 8
		end=$((length & 0xffffffffffffff))
		((length >= 0)) || end=$((end + (length >> 56 & 7)))
		at=$((at + 8 + end))
	done
	((at > 0))
	printf '\x00\x10\x00\x00\x00\x00\x00\x00\x08' |
		dd of="$1" bs=1 seek="$at" conv=notrunc 2>/dev/null
}

suite_begin "$@"
# Every file system plays its promise. The rest is played once with clones and once without.
FS=$(kinds "xfs ext4" "$OTHER_FS") play seq 39 41
play seq 50 52 56 57 60
FS=${FS:-xfs} play seq 57_cut
play seq 48 41_asked 56_away 56_late 57_half 57_between 56_new 56_asked 56_others
FS=${FS:-ext4} play seq 51
suite_end
