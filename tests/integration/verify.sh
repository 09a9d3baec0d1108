#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# verify on the files of a real etcd: after an orderly stop, a kill under load, a power cut under load. Also on
# backups, snapshots and damage.

# shellcheck disable=SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# verdict RESULT STATUS ARG...: checks verify --json, and leaves the report in OUT.
verdict() {
	local result=$1 status=$2
	shift 2
	assert_exit "$status" gbe --json verify "$@"
	fits verify
	assert_eq "$*" "$(jq -r .result <<<"$OUT")" "$result"
}

codes() { jq -r '[.verified[].findings[] | select(.severity != "note") | .code] | join(" ")' <<<"$OUT"; }

WRITERS=()
# The clients write all the time, and etcd makes .snap files meanwhile.
write_on() {
	local n
	for n in 1 2 3; do
		(while put_many "load/$n" 200 "$RANDOM$RANDOM$RANDOM" && put "one/$n" "$RANDOM"; do :; done) \
			>/dev/null 2>&1 &
		WRITERS+=($!)
	done
}

write_no_more() {
	local pid
	for pid in "${WRITERS[@]}"; do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	WRITERS=()
}

# Any end of etcd gives no false alarm.
ends() { # KIND HOW
	local n before

	device "$1"
	power_on --snapshot-count=20
	stop_etcd
	for n in 1 2 3 4; do
		start_etcd --snapshot-count=20
		put_many base 300
		before=$(revision)
		write_on
		sleep "0.$((n * 2 + 1))"
		"end_$2"
		write_no_more
		verdict sound 0 --data
		verdict sound 0 --data --full
		(($(jq '.verified[0].db.revision' <<<"$OUT") >= before)) || [[ $2 != stop ]] ||
			fail "revision $(jq '.verified[0].db.revision' <<<"$OUT"), it had been $before"
		[[ $2 != cut ]] || machine_on
	done
	start_etcd
	put after all
}
end_stop() { stop_etcd; }
end_kill() { kill_etcd; }
end_cut() { powercut; }

# The computed values equal etcd's.
hashes() {
	local kv status

	device xfs
	power_on
	put_many base 500
	del base/7
	put base/8 again
	ctl compact "$(($(revision) - 3))" >/dev/null
	kv=$(ctl endpoint hashkv -w json | jq '.[0].HashKV.hash')
	ctl snapshot save "$ROOT/var/saved.db" >/dev/null 2>&1
	status=$(ctl snapshot status "$ROOT/var/saved.db" -w json 2>/dev/null)
	assert_exit 4 gbe verify --data
	stop_etcd
	verdict sound 0 --data --full
	assert_eq HashKV "$(jq '.verified[0].db.hash_kv' <<<"$OUT")" "$kv"
	verdict sound 0 --full /var/saved.db
	assert_eq hash "$(jq '.verified[0].db.snapshot_hash' <<<"$OUT")" "$(jq .hash <<<"$status")"
	assert_eq revision "$(jq '.verified[0].db.revision' <<<"$OUT")" "$(jq .revision <<<"$status")"
	assert_eq keys "$(jq '.verified[0].db.total_keys' <<<"$OUT")" "$(jq .totalKey <<<"$status")"
	assert_eq size "$(jq '.verified[0].db.total_size' <<<"$OUT")" "$(jq .totalSize <<<"$status")"
	flip "$ROOT/var/saved.db" 30000
	assert_exit 6 gbe --json verify --full /var/saved.db
	assert_match "codes" "$(codes)" "*snapshot-checksum*"
}

# One bit of the cluster's version is flipped. No checksum of the database covers it, and the log has another version.
# The damage is not certain, so the next start restores nothing.
version_bit() {
	local db

	a_green xfs
	config backup verify=full
	stop_etcd
	db=$(find "$ROOT/var/lib/etcd" -path '*/member/snap/db')
	python3 - "$db" <<-'END'
		import re, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		found = [m.end() - 3 for m in re.finditer(rb"clusterVersion3\.[0-9]\.0", data)]
		for at in found: data[at] ^= 2
		open(sys.argv[1], "r+b").write(data)
		sys.exit(not found)
	END
	verdict cannot-tell 7 --data --full
	assert_match "codes" "$(codes)" "*db-cluster-version*"
	assert_exit 0 hook prerun
	[[ $(gbe log) != *"restored from"* ]] || fail "it was rewound: $(gbe log)"
	verdict cannot-tell 7 --data --full
}

backups() {
	local entry

	a_green btrfs-subvol
	stop_etcd
	gbe backup mine
	entry=$(dirname "$(find "$ROOT/var" -path '*/mine/manifest.json')")
	verdict sound 0 mine
	verdict sound 0
	(($(jq '.verified | length' <<<"$OUT") >= 1)) || fail "no backup was verified"
	cp -a "$entry/data" "$ROOT/var/copy"
	verdict sound 0 --full /var/copy
	# The log of a directory may lie elsewhere. The log of a backup may not.
	rm -rf "$ROOT/var/copy/member/wal"
	verdict cannot-tell 7 /var/copy
	assert_eq codes "$(codes)" member-no-wal
	rm -rf "$entry/data/member/wal"
	verdict damaged 6 mine
	[[ " $(codes) " == *" member-no-wal "* ]] || fail "codes: $(codes)"
	rm -rf "$ROOT/var/copy/member"
	verdict damaged 6 /var/copy
	assert_eq codes "$(codes)" member-not-etcd
	assert_exit 1 gbe verify nobody
	assert_exit 1 gbe verify /var/nothing
}

motd() { tr -s "\n " " " 2>/dev/null <"$ROOT/run/motd.d/greenboot-etcd" || true; }
grade() { json .grade show "$1"; }

# Damage in a backup is recorded at once. The advice names another backup, if one exists.
graded() { # KIND
	local newest older file error

	a_green "$1"
	config backup at-boot=always keep-good=3 keep-bad=5
	put_many more 300
	reboot
	judge green
	put before damage
	reboot
	judge green
	stop_etcd
	newest=$(json '[.[] | select(.grade == "good")][0].name' list)
	older=$(json '[.[] | select(.grade == "good")][1].name' list)
	file=$(data_of "$newest" || true)/member/snap/db
	lose_row "$file"
	# A failed look does not count as damage.
	for error in EIO ENOMEM EMFILE; do
		TRACER=(strace -f -qq -o /dev/null -P "$file" -e trace=pread64 -e "inject=pread64:error=$error")
		assert_exit 1 gbe verify --full "$newest"
		TRACER=()
		assert_eq "grade after $error" "$(grade "$newest")" good
	done
	assert_exit 0 gbe verify "$newest"
	assert_eq "grade" "$(grade "$newest")" good
	assert_exit 6 gbe verify --full "$newest"
	assert_match "advice" "$OUT" "*to do:*greenboot-etcd restore $older*"
	assert_eq "what names the damaged one" "$(grep -c -e "to do:.*$newest" -e --last-good <<<"$OUT" || true)" 0
	assert_eq "grade" "$(grade "$newest")" bad
	assert_match "reason" "$(json .grade_reason show "$newest")" "member/snap/db*"
	assert_eq "the ledger" \
		"$(ledger "[.[] | select(.kind == \"graded\" and .backup == \"$newest\")][-1].grade")" bad
	assert_match "motd" "$(motd)" "*verify of * failed: the last good backup has rotted*"
	assert_json .last_good.name "$older" status
	assert_eq "status.json" "$(jq -r .status.last_good.name "$ROOT/run/greenboot-etcd/status.json")" "$older"
	assert_exit 0 gbe --json restore --last-good
	assert_eq "what was restored" "$(jq -r .name <<<"$OUT")" "$older"
	assert_exit 0 gbe mark bad "$(jq -r .displaced <<<"$OUT")"
	lose_row "$(data_of "$older")/member/snap/db"
	verdict damaged 6 --full "$older"
	assert_match "advice" "$(jq -r '.verified[0].findings[0].advice' <<<"$OUT")" "*there is no good backup*"
	assert_eq "grade" "$(grade "$older")" bad
	assert_exit 1 gbe restore --last-good
}

# Only values that were read are printed.
text() {
	a_green xfs
	put_many more 1000
	stop_etcd
	assert_exit 0 gbe verify --data
	assert_eq "default" "$(grep -c -e 'rows in all' -e 'snapshot hash' <<<"$OUT" || true)" 0
	assert_match "default" "$OUT" "*  revision [1-9]*"
	assert_exit 0 gbe verify --data --full
	assert_match "full" "$OUT" "*revision [1-9]*, 10[0-9][0-9] rows in all, snapshot hash [1-9a-f]*"
}

suite_begin "$@"
for how in stop kill cut; do
	run_case "verify-$how@xfs" ends xfs "$how"
done
run_case "verify-cut@ext4" ends ext4 cut
run_case verify-hashes hashes
run_case verify-version-bit version_bit
run_case verify-backups backups
for kind in $(kinds "xfs btrfs-subvol"); do
	run_case "verify-graded@$kind" graded "$kind"
done
run_case verify-text text
suite_end
