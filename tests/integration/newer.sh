#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The update brought a newer greenboot-etcd and failed, and the old version is back with its system. The old version
# reads the newer records, also in the middle of an unknown operation. It destroys nothing, and does not block.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

store() { echo "$ROOT/var/lib/greenboot-etcd/backups"; }
state() { echo "$ROOT/var/lib/greenboot-etcd/$1"; }

# newer FILE FILTER: changes FILE as a later version would, with a valid checksum if records have one.
newer() {
	local json
	json=$(sed '/^sha256 /d' "$1" | jq "$2"' | . + {format: 2, written_by: "99.0",
		from_the_future: {a: [1, {b: null}]}}')
	if grep -q '^sha256 ' "$1"; then
		json+=$'\n'"sha256 $(printf '%s\n' "$json" | sha256sum | cut -d' ' -f1)"
	fi
	printf '%s\n' "$json" >"$1"
}

# newer_ledger: writes each record as a later version would, and one of an unknown kind.
newer_ledger() {
	local line
	{
		ledger '.[]' | jq -c '. + {format: 2, from_the_future: {a: [1]}}'
		echo '{"sequence":5000,"kind":"from-the-future","a":[1]}'
	} >"$GBE_MEM/records"
	while read -r line; do ledger_line "$line"; done <"$GBE_MEM/records" >"$(state ledger)"
}

# everything KIND: B, on trial with a newer program, has written all the records again.
everything() {
	local file

	a_green "$1"
	stop_etcd
	gbe backup mine
	start_etcd
	into_b
	b_writes
	judge red
	stop_etcd
	newer "$DATA/.greenboot-etcd-owner" .
	newer_ledger
	while read -r file; do
		newer "$file" .
	done < <(find "$(state .)" -path '*/backups' -prune -o -type f ! -name lock ! -name reserve \
		! -name ledger \
		-print; find "$(store)" -maxdepth 2 -name manifest.json)
}

# A's program reads who had the data, restores P(A's), and keeps the unknown parts.
newer_records() {
	everything "$1"
	make_default A
	power_on
	a_is_back
	assert_eq "what it does not know" "$(jq -c .from_the_future "$(store)/mine/manifest.json")" \
		'{"a":[1,{"b":null}]}'
	assert_eq "nothing was set aside" "$(find "$(state .)" -name '*.broken-*')" ""
	judge green
	into_b
	b_writes
	fails_back
}

# A backup of an unknown grade is never restored automatically and never removed.
newer_grade() {
	local entry

	everything "$1"
	entry=$(store)/mine
	newer "$entry/manifest.json" '.grade = "excellent" | .method = "teleport" | .origin = "beyond"'
	make_default A
	power_on
	a_is_back
	judge green
	gbe prune
	assert_exists "$entry/data/member"
	assert_exit 0 gbe list
	assert_exit 0 gbe show mine
}

# The power fails while the newer prerun runs an operation of its own.
newer_operation() {
	local digest

	everything "$1"
	ledger_line '{"sequence":5001,"kind":"intent","operation":"teleport","staged":5002}' >>"$(state ledger)"
	mkdir "$(store)/.pending-teleported" "$(store)/.partial-teleporting"
	echo precious >"$(store)/.pending-teleported/file"
	digest=$(tree_digest "$DATA")
	make_default A
	for _ in 1 2 3; do
		boot A
		assert_eq "prerun" "$PRERUN" 0
		assert_match "what it says" "$(<"$PRERUN_LOG")" "*newer greenboot-etcd*"
		assert_eq "the data" "$(tree_digest "$DATA")" "$digest"
		assert_eq "the intent" "$(ledger '[.[] | select(.operation == "teleport")] | length')" 1
		assert_eq "what it staged" "$(<"$(store)/.pending-teleported/file")" precious
		assert_exists "$(store)/.partial-teleporting"
		assert_exit 0 gbe status
		assert_exit 0 gbe list
	done
	start_etcd
	assert_eq "etcd works" "$(get owner)" B
	stop_etcd
	# A command names the owner of the operation and the next step.
	assert_exit 5 gbe restore mine
	assert_match "stderr" "$ERR" "*newer greenboot-etcd*"
	# The newer version boots again and finishes the operation. After that everything is normal.
	ledger_line '{"sequence":6000,"kind":"intent-ended","staged":5002,"result":"done"}' >>"$(state ledger)"
	rm -r "$(store)/.pending-teleported"
	boot A
	start_etcd
	a_is_back
}

# The start is cut at each step of a known kind, with all other records newer.
newer_cut() {
	local point points

	everything "$1"
	MASKED=yes boot B
	device_save
	MASKED=yes boot B
	mapfile -t points < <(fault_points prerun | grep -E 'restore-|exchange|recover' || true)
	((${#points[@]} >= 3)) || fail "prerun passes no step of a restore: ${points[*]}"
	for point in "${points[@]}"; do
		device_load
		boot_cut B "$point" || fail "prerun did not come to $point again"
		newer_ledger
		newer "$DATA/.greenboot-etcd-owner" .
		make_default A
		power_on
		a_is_back
		kill_etcd
	done
}

suite_begin "$@"
play newer records operation
FS=${FS:-xfs} play newer grade
FS=${FS:-xfs} play newer cut
suite_end
