#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The update brought a newer greenboot-etcd, failed, and the old one is back with its system: it reads what
# the newer one left, also in the middle of an operation of a kind that nobody here knows. It destroys
# nothing, and is not stuck.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

store() { echo "$ROOT/var/lib/greenboot-etcd/backups"; }
state() { echo "$ROOT/var/lib/greenboot-etcd/$1"; }

# newer FILE FILTER: as a later version would have written it, sealed where records are.
newer() {
	local json
	json=$(sed '/^sha256 /d' "$1" | jq "$2"' | . + {format: 2, written_by: "99.0",
		from_the_future: {a: [1, {b: null}]}}')
	if grep -q '^sha256 ' "$1"; then
		json+=$'\n'"sha256 $(printf '%s\n' "$json" | sha256sum | cut -d' ' -f1)"
	fi
	printf '%s\n' "$json" >"$1"
}

# seal TEXT: a record of the state with that JSON.
seal() { printf '%s\nsha256 %s\n' "$1" "$(printf '%s\n' "$1" | sha256sum | cut -d' ' -f1)"; }

# everything KIND: B, on trial, with a newer program, has written all the records anew.
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
	newer "$DATA/.greenboot-etcd-owner" '.trial += {later: 1}'
	while read -r file; do
		newer "$file" .
	done < <(find "$(state .)" -path '*/backups' -prune -o -type f ! -name lock ! -name reserve \
		-print; find "$(store)" -maxdepth 2 -name manifest.json)
}

# A's program understands who had the data, restores P(A's), and keeps what it does not know.
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

# A grade that is yet to be invented: never restored by itself, never removed.
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

# The power went while the newer prerun did something of its own.
newer_operation() {
	local digest intent

	everything "$1"
	intent=$(seal '{"format": 2, "written_by": "99.0", "operation": "teleport", "step": "dematerialized",
		"sequence": 77, "staging": "/var/lib/.restore-77", "somewhere": ["else"]}')
	echo "$intent" >"$(state intent)"
	mkdir "$(store)/.pending-teleported" "$(store)/.partial-teleporting"
	echo precious >"$(store)/.pending-teleported/file"
	digest=$(tree_digest "$DATA")
	make_default A
	for _ in 1 2 3; do
		boot A
		assert_eq "prerun" "$PRERUN" 0
		assert_match "what it says" "$(<"$PRERUN_LOG")" "*newer greenboot-etcd*"
		assert_eq "the data" "$(tree_digest "$DATA")" "$digest"
		assert_eq "the intent" "$(<"$(state intent)")" "$intent"
		assert_eq "what it staged" "$(<"$(store)/.pending-teleported/file")" precious
		assert_exists "$(store)/.partial-teleporting"
		assert_exit 0 gbe status
		assert_exit 0 gbe list
	done
	start_etcd
	assert_eq "etcd works" "$(get owner)" B
	stop_etcd
	# By hand, it says whose it is and what to do.
	assert_exit 5 gbe restore mine
	assert_match "stderr" "$ERR" "*newer greenboot-etcd*"
	# The newer one comes again and finishes it; then all is as ever.
	rm -r "$(state intent)" "$(store)/.pending-teleported"
	boot A
	start_etcd
	a_is_back
}

# A step that is not known of an operation that is: the same.
newer_step() {
	local digest intent

	everything "$1"
	intent=$(seal '{"format": 2, "operation": "restore", "step": "rematerialized", "sequence": 77,
		"run": null, "backup": "mine", "rule": "10a", "staging": "/var/lib/.restore-77"}')
	echo "$intent" >"$(state intent)"
	mkdir -p "$ROOT/var/lib/.restore-77/member"
	echo precious >"$ROOT/var/lib/.restore-77/member/file"
	digest=$(tree_digest "$DATA")
	make_default A
	machine_on
	booted A
	assert_eq "prerun" "$PRERUN" 0
	assert_eq "the data" "$(tree_digest "$DATA")" "$digest"
	assert_eq "the intent" "$(<"$(state intent)")" "$intent"
	assert_eq "the staging tree" "$(<"$ROOT/var/lib/.restore-77/member/file")" precious
	start_etcd
	assert_eq "etcd works" "$(get owner)" B
}

# Cut at each step of its start, of a kind that is known, with everything else newer.
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
		[[ ! -s $(state intent) ]] || newer "$(state intent)" .
		newer "$DATA/.greenboot-etcd-owner" .
		make_default A
		power_on
		a_is_back
		kill_etcd
	done
}

suite_begin "$@"
play newer records operation
FS=${FS:-xfs} play newer grade step
FS=${FS:-xfs} play newer cut
suite_end
