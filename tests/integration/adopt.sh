#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# import of a directory: foreign copies, above all MicroShift's own backups, whose names give the data's deployment.
# After a restore MicroShift finds the data of the booted deployment.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

TREE=/var/lib/microshift
COPIES=/var/lib/microshift-backups
BOOT_ID=0123456789abcdef0123456789abcdef

# MicroShift's directory: its version file names the deployment that wrote the data.
microshift() {
	device "$1"
	DATA=$ROOT$TREE/etcd
	mkdir -p "$ROOT$TREE" "$ROOT$COPIES"
	config etcd "data-dir=$TREE" member-dir=etcd version-file=version
	power_on
	echo certificates >"$ROOT$TREE/certs"
	microshift_version 4.19.3 A
	put_many base 10
}
microshift_version() { # VERSION DEPLOYMENT
	printf '{"version":"%s","deployment_id":"%s","boot_id":"%s"}' "$1" "${DEPLOYMENT[$2]}" "$BOOT_ID" \
		>"$ROOT$TREE/version"
}
# Stands for MicroShift's work while its etcd is stopped.
microshift_backup() { # NAME
	stop_etcd
	cp -a "$ROOT$TREE" "$ROOT$COPIES/$1"
	start_etcd
}
store_is_clean() {
	assert_eq "the store" "$(find "$ROOT/var/lib/greenboot-etcd/backups" -mindepth 1 2>/dev/null)" ""
}

adopt_microshift() {
	local state name=imported-${DEPLOYMENT[A]-}
	microshift "$1"
	state=$(etcd_state)
	microshift_backup "${DEPLOYMENT[A]}_$BOOT_ID"
	put more "than MicroShift saved"
	echo others >"$ROOT$TREE/certs"
	judge green
	assert_exit 0 gbe --json import "$COPIES/${DEPLOYMENT[A]}_$BOOT_ID"
	name=$(jq -r .name <<<"$OUT")
	assert_eq "its name" "$name" "imported-${DEPLOYMENT[A]}-$BOOT_ID"
	assert_json .manifest.deployment.id "${DEPLOYMENT[A]}" show "$name"
	assert_json .manifest.run "$BOOT_ID" show "$name"
	assert_json .manifest.data_version 4.19 show "$name"
	assert_json .manifest.origin manual show "$name"
	assert_json .manifest.verified full show "$name"
	assert_json '.[] | select(.name == "'"$name"'") | .grade' unproven list
	assert_exit 0 gbe verify --full "$name"
	# MicroShift's own copy is unchanged.
	assert_eq "certificates of it" "$(<"$ROOT$COPIES/${DEPLOYMENT[A]}_$BOOT_ID/certs")" certificates
	into_b
	microshift_version 4.20.1 B
	stop_etcd
	assert_exit 0 gbe restore "$name" --force
	start_etcd
	holds "MicroShift's backup" "$state"
	# MicroShift's rule: the version file names the booted deployment, or MicroShift restores. No marker asks for
	# a restore.
	assert_match "version" "$(<"$ROOT$TREE/version")" "*4.19.3*${DEPLOYMENT[A]}*"
	assert_eq "certificates" "$(<"$ROOT$TREE/certs")" certificates
	assert_missing "$ROOT$COPIES/restore"
}

# After our rollback, MicroShift sees its own deployment and has nothing to do.
adopt_rolled_back() {
	microshift "$1"
	judge green
	update B
	A_STATE=$(etcd_state)
	reboot
	booted B
	microshift_version 4.20.1 B
	put owner B
	fails_back
	a_is_back
	assert_match "version" "$(<"$ROOT$TREE/version")" "*4.19.3*${DEPLOYMENT[A]}*"
	assert_eq "the deployment" "$(jq -r .deployment_id "$ROOT$TREE/version")" "$(json .booted status)"
	assert_eq "MicroShift's own backups" "$(ls "$ROOT$COPIES")" ""
}

# A new machine has only the copy and the configuration. The copy shows the place of member/.
adopt_new_machine() {
	local state
	microshift "$1"
	state=$(etcd_state)
	microshift_backup copy
	crash
	config etcd member-dir=auto
	rm -rf "${ROOT:?}$TREE"
	mkdir -m 0700 "$ROOT$TREE"
	assert_exit 0 gbe import "$COPIES/copy/" new
	assert_exit 0 gbe restore new
	start_etcd
	holds "the copy" "$state"
	assert_eq "certificates" "$(<"$ROOT$TREE/certs")" certificates
}

# privileges DIR: prints owner, mode and name of each file, and the attributes that give more access than the mode. A
# segment that etcd may have made in advance is left out.
privileges() {
	(cd "$1" && find . ! -name '*.tmp' -printf '%U:%G %m %p\n' | sort -k 3 &&
		find . ! -name '*.tmp' -print0 | sort -z | xargs -0r getfattr -h -d -m '^(security|system)[.]' --absolute-names)
}

# Another user can write to the directory: the access that its owners, modes and attributes give is not copied.
adopt_owners() {
	local copy=$COPIES/copy state was kept
	microshift "$1"
	state=$(etcd_state)
	microshift_backup copy
	stop_etcd
	chown -R 4711:4711 "$ROOT$TREE"
	was=$(privileges "$ROOT$TREE")
	cp /bin/true "$ROOT$copy/tool"
	ln "$ROOT$copy/tool" "$ROOT$copy/second"
	ln -s /etc/passwd "$ROOT$copy/link"
	chown -h -R 4712:4713 "$ROOT$copy"
	chmod 6755 "$ROOT$copy/tool"
	chmod 3777 "$ROOT$copy"
	chmod 2700 "$ROOT$copy/etcd/member/snap"
	setfattr -n security.capability -v 0x0100000200040000000000000000000000000000 "$ROOT$copy/tool"
	setfattr -h -n security.note -v more "$ROOT$copy/link"
	setfattr -n user.note -v kept "$ROOT$copy/certs"
	setfacl -m u:4714:rwx,m::-,d:u:4714:rwx "$ROOT$copy/etcd"
	kept=$(privileges "$ROOT$copy")
	assert_exit 0 gbe import "$copy" given
	assert_exit 0 gbe import "$copy" kept --keep-owners
	assert_eq "owners, modes and attributes of the copy" "$(privileges "$(data_of kept)")" "$kept"
	assert_eq "its own copy" "$(privileges "$ROOT$copy")" "$kept"
	assert_eq "owners, modes and attributes" \
		"$(privileges "$(data_of given)" | grep -v '[.]/\(tool\|second\|link\)$')" "$was"
	assert_eq "the tool" "$(stat -c '%u:%g %a %h' "$(data_of given)/tool")" "4711:4711 755 2"
	assert_eq "the link" "$(stat -c '%u:%g %N' "$(data_of given)/link" | cut -d ' ' -f 1)" 4711:4711
	assert_eq "an attribute that gives nothing" \
		"$(getfattr --absolute-names --only-values -n user.note "$(data_of given)/certs")" kept
	assert_exit 0 gbe verify --full given kept
	assert_exit 0 gbe restore given
	assert_eq "the link's owner" "$(stat -c %u "$ROOT$TREE/link")" 4711
	start_etcd
	holds "the copy" "$state"
	# Without data the device has no other owner to use.
	stop_etcd
	rm -rf "${ROOT:?}$TREE"
	assert_exit 0 gbe import "$copy" roots
	assert_eq "owner and mode" "$(stat -c '%u:%g %a' "$(data_of roots)")" "0:0 700"
	assert_eq "of no one else" "$(find "$(data_of roots)" ! -uid 0)" ""
}

# refused STATUS DIR WHY: the import is refused and leaves nothing.
refused() {
	assert_exit "$1" gbe import "$2" bad
	assert_match "why not $2" "$ERR" "*$3*"
	store_is_clean
	assert_exit 1 gbe show bad
}

adopt_bad() {
	local copy=$COPIES/copy
	microshift xfs
	microshift_backup copy
	refused 1 "$COPIES/none" "*"
	# Another process uses the directory at this moment.
	refused 4 "$TREE" "etcd has $TREE open"
	cp -a "$ROOT$copy" "$ROOT$COPIES/no-etcd"
	mv "$ROOT$COPIES/no-etcd/etcd" "$ROOT$COPIES/no-etcd/other"
	refused 5 "$COPIES/no-etcd" "$COPIES/no-etcd/etcd has no data of etcd"
	cp -a "$ROOT$copy" "$ROOT$COPIES/pipe"
	mkfifo "$ROOT$COPIES/pipe/etcd/pipe"
	# A nonce that was half written at a power cut is not copied.
	echo torn >"$ROOT$copy/.gbe-tmp..greenboot-etcd-owner"
	refused 5 "$COPIES/pipe" "pipe"
	cp -a "$ROOT$copy" "$ROOT$COPIES/damaged"
	truncate -s 6000 "$ROOT$COPIES/damaged/etcd/member/snap/db"
	refused 6 "$COPIES/damaged" "db"
	# A record of an unknown type makes the result something else than "sound".
	cp -a "$ROOT$copy" "$ROOT$COPIES/unknown"
	printf '\016' | dd of="$(echo "$ROOT$COPIES"/unknown/etcd/member/wal/*0.wal)" bs=1 seek=9 conv=notrunc status=none
	refused 7 "$COPIES/unknown" "not known"
	cp -a "$ROOT$copy" "$ROOT$COPIES/poor"
	rm "$ROOT$COPIES/poor/certs"
	refused 5 "$COPIES/poor" "holds more than etcd's data (certs)"
	ln -s copy "$ROOT$COPIES/link"
	refused 5 "$COPIES/link" "*"
	assert_exit 0 gbe import "$COPIES/poor" poor --etcd-only
	assert_exit 0 gbe import "$copy" good
	assert_exit 1 gbe import "$copy" good
	assert_json .manifest.deployment.id null show good
	assert_exists "$ROOT$copy/.gbe-tmp..greenboot-etcd-owner"
	assert_eq "temporary files" "$(find "$ROOT/var/lib/greenboot-etcd" -name '.gbe-tmp*')" ""
}

# The disk lacks room for a copy: the message comes before the first byte. A clone needs no room.
adopt_full_disk() {
	microshift "$1"
	microshift_backup copy
	stop_etcd
	# The log has more entries than the records require.
	fallocate -l 8M "$ROOT/var/room"
	disk_fill
	rm "$ROOT/var/room"
	if [[ $1 == ext4 ]]; then
		assert_exit 1 gbe import "$COPIES/copy" full
		assert_match "why" "$ERR" "*no room for $COPIES/copy*more are needed*"
		store_is_clean
	else
		assert_exit 0 gbe import "$COPIES/copy" full
	fi
	disk_free
}

suite_begin "$@"
FS=${FS:-xfs ext4 btrfs-subvol} play adopt microshift
FS=$(kinds "xfs ext4" btrfs-subvol) play adopt rolled_back new_machine owners
FS=${FS:-xfs ext4} play adopt full_disk
run_case adopt-bad adopt_bad
suite_end
