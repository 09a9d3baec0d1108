#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Backups that are read again in the background: digests of new backups, and damage by the disk.

# shellcheck disable=SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

motd() { tr -s "\n " " " 2>/dev/null <"$ROOT/run/motd.d/greenboot-etcd" || true; }
last_good() { json '[.[] | select(.grade == "good")][0].name' list; }
# Changes a byte of a value, also in a page that is free by now: etcd itself does not notice.
rot() { # DIR TEXT
	local at
	# (A snapshot is read-only.)
	btrfs property set -f -ts "$1" ro false 2>/dev/null || true
	grep -obUa "$2" "$1/member/snap/db" | while IFS=: read -r at _; do
		printf X | dd of="$1/member/snap/db" bs=1 seek="$at" conv=notrunc 2>/dev/null
	done
}
scrub() {
	SCRUB=0
	hook scrub >"$GBE_MEM/scrub.log" 2>&1 || SCRUB=$?
	cat "$GBE_MEM/scrub.log" >&2
}

# ready KIND: makes two good backups, and a third run that is being judged.
ready() {
	a_green "$1"
	config backup at-boot=always keep-good=3 keep-bad=5
	put_many more 300
	put secret "never seen twice"
	reboot
	judge green
	put later things
	reboot
	assert_eq "good backups" "$(backups '.grade == "good"')" 2
}

# Before the run is green, nothing is read. Then each backup is read, and the result is recorded.
records() { # KIND
	local name first

	ready "$1"
	scrub
	assert_eq scrub "$SCRUB" 0
	name=$(last_good)
	assert_json .scrubbed null show "$name"
	assert_json .verified sanity show "$name"
	judge green
	scrub
	assert_eq scrub "$SCRUB" 0
	for name in $(json '.[].name' list); do
		assert_json .verified full show "$name"
		assert_json '[.manifest.files[] | select(.sha256 == null)] | length' 0 show "$name"
		assert_eq "digest of db" \
			"$(json '.manifest.files[] | select(.path == "member/snap/db").sha256' show "$name")" \
			"$(sha256sum <"$(data_of "$name")/member/snap/db" | cut -d' ' -f1)"
		assert_exit 0 gbe --json verify --full "$name"
		assert_eq hash "$(json .hash_kv show "$name")" "$(jq '.verified[0].db.hash_kv' <<<"$OUT")"
		(($(json .scrubbed show "$name") > 1000000000)) || fail "$name was not read"
	done
	# No backup is due now.
	first=$(stat -c %i "$(data_of "$name")/../manifest.json")
	scrub
	assert_eq "what the second one read" "$(<"$GBE_MEM/scrub.log")" ""
	assert_eq "manifest" "$(stat -c %i "$(data_of "$name")/../manifest.json")" "$first"
	assert_eq motd "$(motd)" ""
}

# The last good backup is damaged: a message says so at once, and the backup before it would be restored.
last_rots() { # KIND
	local newest older

	ready "$1"
	judge green
	scrub
	newest=$(last_good)
	older=$(json '[.[] | select(.grade == "good")][1].name' list)
	rot "$(data_of "$newest")" "never seen twice"
	# A file without a recorded digest would pass: the default check is that of a starting etcd.
	assert_exit 0 gbe verify "$newest"
	clock_set $((8 * 24 * 3600))
	scrub
	assert_eq scrub "$SCRUB" 0
	assert_match "what it says" "$(<"$GBE_MEM/scrub.log")" "*rotted*$newest*"
	assert_match motd "$(motd)" "*scrub of * failed: the last good backup has rotted*"
	assert_eq "grade" "$(backups ".name == \"$newest\" and .grade == \"bad\"")" 1
	assert_eq "the ledger" \
		"$(ledger "[.[] | select(.kind == \"graded\" and .backup == \"$newest\")][-1].grade")" bad
	assert_eq "the other" "$(backups ".name == \"$older\" and .grade == \"good\"")" 1
	assert_json .last_good.name "$older" status
	# A new problem replaces the message, also in the MOTD.
	stop_etcd
	assert_exit 0 gbe backup fresh
	assert_eq motd "$(motd)" ""
	start_etcd
	assert_eq key "$(get secret)" "never seen twice"
}

# The disk cannot read the last good backup: this is not damage, and a person should check the disk.
last_unreadable() { # KIND
	local newest file

	ready "$1"
	judge green
	scrub
	newest=$(last_good)
	file=$(data_of "$newest" || true)/member/snap/db
	clock_set $((8 * 24 * 3600))
	TRACER=(strace -f -qq -o /dev/null -P "$file" -e trace=pread64 -e inject=pread64:error=ENOMEM)
	scrub
	assert_eq "who could not look" "$SCRUB" 1
	assert_eq "grade" "$(backups ".name == \"$newest\" and .grade == \"good\"")" 1
	TRACER=("${TRACER[@]/ENOMEM/EIO}")
	scrub
	TRACER=()
	assert_eq scrub "$SCRUB" 1
	assert_match motd "$(motd)" "*scrub of * failed: the last good backup cannot be read*Input/output error*"
	assert_eq "grade" "$(backups ".name == \"$newest\" and .grade == \"good\"")" 1
}

# An older backup is damaged: it is graded and reported, and no person needs to act.
older_rots() {
	local older

	ready xfs
	judge green
	scrub
	older=$(json '[.[] | select(.grade == "good")][1].name' list)
	truncate -s -4096 "$(data_of "$older")/member/snap/db"
	clock_set $((8 * 24 * 3600))
	scrub
	assert_match "what it says" "$(<"$GBE_MEM/scrub.log")" "*rotted*$older*"
	assert_eq "grade" "$(backups ".name == \"$older\" and .grade == \"bad\"")" 1
	assert_eq motd "$(motd)" ""
}

# A new backup was never sound to a reader of every row: the damage is found before it gets a digest.
new_one_is_rotten() {
	local name

	ready xfs
	judge green
	name=$(last_good)
	lose_row "$(data_of "$name")/member/snap/db"
	assert_exit 6 gbe verify --full "$name"
	scrub
	assert_eq "grade" "$(backups ".name == \"$name\" and .grade == \"bad\"")" 1
	assert_match motd "$(motd)" "*the last good backup has rotted*"
}

switched_off() {
	local name

	ready xfs
	judge green
	config backup verify=none
	scrub
	assert_eq scrub "$SCRUB" 0
	name=$(last_good)
	assert_json .scrubbed null show "$name"
	config backup verify=sanity
	scrub
	assert_json .verified sanity show "$name"
	assert_json '[.manifest.files[] | select(.sha256 == null)] | length' 0 show "$name"
}

suite_begin "$@"
for kind in $(kinds "xfs btrfs-subvol ext4"); do
	run_case "scrub-records@$kind" records "$kind"
done
for kind in $(kinds "xfs ext4" btrfs-subvol); do
	run_case "scrub-last-rots@$kind" last_rots "$kind"
	run_case "scrub-last-unreadable@$kind" last_unreadable "$kind"
done
run_case scrub-older-rots older_rots
run_case scrub-new-one-is-rotten new_one_is_rotten
run_case scrub-switched-off switched_off
suite_end
