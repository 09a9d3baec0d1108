#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Scenes that the sequences do not have: the first start, names and serials, foreign entries in the store. `status`
# and `explain` are checked before and after.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

scene_first_start() {
	device "$1"
	power_on
	booted A
	started
	put_many base 10
	judge green
	assert_json .booted "${DEPLOYMENT[A]}" status
	assert_json .owner.deployment "${DEPLOYMENT[A]}" status
	assert_json .verdict green status
	assert_json .health healthy status
	assert_json .greenboot.flavour shell status
	assert_exists "$DATA/.greenboot-etcd-owner"
	assert_eq "mode of the nonce" "$(stat -c %a "$DATA/.greenboot-etcd-owner")" 600
	assert_eq "mode of the state" "$(stat -c %a "$ROOT/var/lib/greenboot-etcd")" 700
	assert_missing "$ROOT/run/motd.d/greenboot-etcd"
	A_STATE=$(etcd_state)
	reboot
	a_is_back
}

# greenboot is installed and not enabled: no verdict
scene_not_enabled() {
	local failing

	device "$1"
	greenboot_disable
	power_on
	put_many base 10
	assert_json .greenboot.enabled false status
	for failing in getdents64:error=EIO newfstatat:error=EIO:when=1; do
		TRACER=(strace -f -qq -o /dev/null -P "$ROOT/usr/lib/systemd/system" -e "trace=${failing%%:*}"
			-e "inject=$failing")
		assert_json .greenboot.enabled null status
	done
	TRACER=()
	into_b
	b_writes
	B_STATE=$(etcd_state)
	reboot
	booted B
	started
	holds "without a verdict B's data stays" "$B_STATE"
}

# A red system is left on purpose, and no other verdict has been given. The data that the user rolled back for is
# gone, and A has its own.
scene_stateroot() {
	DEVICE_STATEROOT=my_os-x.y_2
	a_green "$1"
	assert_match "booted" "$(json .booted status)" "my_os-x.y_2-*.0"
	into_b
	b_writes
	fails_back
	judge green
	roll_forward_and_back
}

roll_forward_and_back() {
	update C
	reboot
	booted C
	put owner C
	judge green
	roll_back_to A
	booted A
	started
}

# Serial 1 does not match serial 10.
scene_serials() {
	local n

	device "$1"
	deploy A1 A
	power_on
	booted A1
	put_many base 10
	judge green
	for n in 2 3 4 5 6 7 8 9; do
		deploy "A$n" A
	done
	make_default A1
	put last "word of A1"
	A_STATE=$(etcd_state)
	shutdown
	deploy A10 A
	assert_match "serial" "${DEPLOYMENT[A10]}" "*.10"
	power_on
	booted A10
	started
	holds "A.10's data" "$A_STATE"
	judge green
	put owner A10
	judge green
	assert_json "[.[] | select(.deployment == \"${DEPLOYMENT[A1]}\")] | length > 0" true list
	assert_json .booted "${DEPLOYMENT[A10]}" status
}

store() { echo "$ROOT/var/lib/greenboot-etcd/backups"; }

# The store has foreign entries.
scene_store_neighbours() {
	local before names=(lost+found .hidden last-good undo adopted-x "a b" manual-by-hand
		"${DEPLOYMENT[A]-x}" data "$(printf 'n%.0s' {1..200})")

	a_green "$1"
	reboot
	judge green
	mkdir -p "$(store)"
	for name in "${names[@]}"; do
		mkdir -p "$(store)/$name/data/member"
		echo "none of yours" >"$(store)/$name/data/file"
	done
	echo "a file" >"$(store)/${DEPLOYMENT[A]}_00000000000000000000000000000000"
	ln -s /etc "$(store)/link"
	before=$(neighbours)
	into_b
	b_writes
	fails_back
	judge green
	gbe prune
	gbe list >/dev/null
	assert_eq "the neighbours" "$(neighbours)" "$before"
}

neighbours() {
	(
		cd "$(store)" || exit 1
		find "${names[@]}" link "${DEPLOYMENT[A]}_00000000000000000000000000000000" \
			-printf '%p %y %s\n' | sort | sha256sum
	)
}

# State and store are deleted: the next start makes them again. An update at that moment is held back, because a
# missing store may be a missing mount. greenboot brings A back.
scene_no_store() {
	a_green "$1"
	reboot
	judge green
	put last word
	A_STATE=$(etcd_state)
	wipe "$ROOT/var/lib/greenboot-etcd"
	update B
	shutdown
	machine_on
	booted B
	started
	start_etcd
	holds "without ledger and store the data has no owner, and is backed up" "$A_STATE"
	b_writes
	fails_back
	judge green
	into_b
	b_writes
	fails_back
}

# wipe DIR: removes it with the read-only snapshots in it.
wipe() {
	local tree
	while read -r tree; do
		[[ $(stat -c %i "$tree") != 256 ]] || btrfs -q subvolume delete "$tree"
	done < <(find "$1" -name data -type d)
	rm -rf -- "$1"
}

# Impossible requests are recorded and dropped, and the table continues.
scene_impossible_requests() {
	a_green "$1"
	A_STATE=$(etcd_state)
	reboot --cmdline=greenboot-etcd.restore=no-such-backup
	a_is_back
	assert_json '.last_operation | .operation + " of " + .backup + " " + .result' \
		"restore of no-such-backup failed" status
	judge green
	reboot --cmdline=greenboot-etcd.restore=../../etc
	a_is_back
	judge green
	reboot --cmdline=greenboot-etcd.restore=undo
	a_is_back
	judge green
	into_b
	b_writes
	fails_back
}

# A manual backup equals the data, to the last attribute, and restored data equals the backup.
scene_faithful() {
	local digest

	a_green "$1"
	stop_etcd
	echo "not etcd's" >"$DATA/extra"
	setfattr -n user.note -v kept "$DATA/extra"
	chown 1234:4321 "$DATA/extra"
	chmod 0640 "$DATA/extra"
	touch -d '2001-02-03 04:05:06.789' "$DATA/extra"
	ln -s /nowhere "$DATA/link"
	ln "$DATA/extra" "$DATA/hard"
	truncate -s 10M "$DATA/hole"
	digest=$(tree_digest "$DATA")
	assert_json '.name' copy backup copy
	assert_eq "the backup" "$(tree_digest "$(store)/copy/data")" "$digest"
	assert_eq "the data" "$(tree_digest "$DATA")" "$digest"
	echo "changed" >"$DATA/extra"
	rm "$DATA/link"
	gbe restore copy
	assert_eq "restored" "$(tree_digest "$DATA")" "$digest"
	assert_eq "the backup, still" "$(tree_digest "$(store)/copy/data")" "$digest"
	assert_eq "one inode" "$(stat -c %h "$DATA/extra")" 2
	assert_eq "holes" "$(stat -c %b "$DATA/hole")" 0
	case $1 in
	btrfs-subvol) assert_eq "a subvolume again" "$(stat -c %i "$DATA")" 256 ;;
	esac
}

# Without /boot, ostree's list is empty, and no deployment counts as removed.
scene_boot_unmounted() {
	local all

	a_b_green "$1"
	reboot
	judge green
	stop_etcd
	all=$(json '[.[].name] | sort | join(" ")' list)
	assert_match "backups of both" "$all" "* *"
	umount "$ROOT/boot"
	hook prerun
	assert_eq "backups" "$(json '[.[].name] | sort | join(" ")' list)" "$all"
	assert_eq "gone" "$(json '[.[] | select(.present == "gone")] | length' list)" 0
	assert_exit 7 gbe prune
	assert_match "why" "$ERR" "*/boot*"
	mount --bind "$BOOT/boot" "$ROOT/boot"
	roll_back_to A
	started
}

suite_begin "$@"
FS=$(kinds "xfs ext4" "$OTHER_FS") play scene first_start not_enabled stateroot no_store
FS=$(kinds "xfs ext4 btrfs-subvol" "xfs-noreflink btrfs") play scene faithful
play scene serials store_neighbours impossible_requests
FS=${FS:-xfs} play scene boot_unmounted
suite_end
