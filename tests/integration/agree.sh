#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# `status`, `explain` and prerun are asked about the same start, in a table of situations: data, configuration and
# deployments. A case fails if two of them disagree. (Random situations: tests/histories.)

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# ---- the device before its next boot, its etcd stopped ----

before_again() { shutdown; }
before_update() {
	update B
	shutdown
}
before_crashed() {
	put late write
	kill_etcd
}
before_return() {
	into_b
	b_writes
	judge green
	make_default A
	shutdown
}
before_failed() {
	into_b
	b_writes
	judge red
	shutdown
}

# ---- the damage to the data ----

data_sound() { :; }
data_pipe() { mkfifo "$DATA/pipe"; }
data_mount() {
	mkdir "$DATA/below"
	mount -t tmpfs tmpfs "$DATA/below"
}
data_torn() { truncate -s 8192 "$DATA/member/snap/db"; }
data_bad_log() { dd if=/dev/urandom of="$(find "$DATA/member/wal" -name '*.wal' | sort | tail -n 1)" bs=64 count=1 seek=4 conv=notrunc status=none; }
data_no_log() { mv "$DATA/member/wal" "$ROOT/var/wal"; }
data_gone() { rm -rf "$DATA/member"; }
data_link() {
	mv "$DATA" "$DATA.moved"
	ln -s etcd.moved "$DATA"
}

# in_short: prints the rule of explain's answer, its most important action and the backup.
in_short() {
	jq -c '. as $e | [["hold", "restore", "fresh", "backup", "keep", "stamp"][] as $kind |
		$e.actions[] | select(.action == $kind)][0] | [$e.rule, .action, .name]'
}

# agree WHAT: asks all three about the next boot.
agree() {
	local shown told next rule rules branch first n=0

	shown=$(gbe --json status)
	told=$(gbe --json explain)
	next=$(jq -r .next.deployment <<<"$shown")
	assert_eq "$1: status and explain" "$(jq -c '.next | [.rule, .action, .backup]' <<<"$shown")" "$(in_short <<<"$told")"
	machine_on
	assert_eq "$1: what boots" "${DEPLOYMENT[$BOOTED]}" "$next"
	branch=$told first=$told
	mapfile -t rules < <(sed -n "s/.*Decided by rule \\([^:]*\\):.*/\\1/p" "$PRERUN_LOG")
	for rule in "${rules[@]}"; do
		assert_eq "$1: explain and prerun" "$(jq -r .rule <<<"$branch")" "$rule"
		told=$branch
		# The next decision follows if the backup does not validate.
		branch=$(jq -c --argjson n "$((n++))" ".branches[\$n] // ." <<<"$first")
	done
	if [[ $(in_short <<<"$told" | jq -r '.[1]') == hold ]]; then
		assert_eq "$1: explain holds, prerun" "$PRERUN" 5
	else
		assert_eq "$1: explain lets etcd start, prerun" "$PRERUN" 0
	fi
}

# with SETTING: "GROUP KEY=VALUE", or nothing.
with() {
	[[ ! $1 ]] || config "${1% *}" "${1#* }"
}

# Lines of data|setting: each kind of data with the settings that matter for it.
SITUATIONS=(
	"sound|" "sound|backup at-boot=never" "sound|restore on-rollback=never" "link|"
	"pipe|" "pipe|backup on-upgrade-failure=continue" "pipe|backup on-upgrade-failure=refuse"
	"mount|" "mount|backup on-upgrade-failure=continue"
	"torn|" "torn|restore on-corrupt-data=refuse" "torn|restore on-corrupt-data=keep"
	"bad_log|" "bad_log|restore on-corrupt-data=refuse"
	"no_log|" "gone|" "gone|restore on-missing-data=restore"
)

# table KIND BEFORE [FLAVOUR]: plays the table.
table() {
	local situation

	a_green "$1" "${3-}"
	"before_$2"
	device_save
	for situation in "${SITUATIONS[@]}"; do
		device_load
		same_boot
		with "${situation#*|}"
		"data_${situation%%|*}"
		agree "$2, $situation"
	done
}

# In the same run, the next start of the service treats damaged data as the next boot would.
same_run() {
	a_green xfs
	config restore on-corrupt-data=refuse
	stop_etcd
	data_torn
	assert_eq "explain" "$(json '[.rule, .hold] | tojson' explain)" '["5a",true]'
	assert_json .next.action hold status
	start_prerun
	assert_eq "prerun" "$PRERUN" 5
	assert_match "its rule" "$(<"$PRERUN_LOG")" "*Decided by rule 5a*"
}

# An update is staged: its boot counts among those that can be rolled back, so the hold is foreseen.
staged_pipe() {
	a_green xfs
	mkfifo "$DATA/pipe"
	update B
	assert_eq "explain" "$(json '[.rule, .hold, .facts.can_roll_back] | tojson' explain --booted=staged)" '["11",true,true]'
	assert_json .next.action hold status
	assert_match "first line" "$(gbe status | head -n 1)" "Not protected: /var/lib/etcd cannot be backed up: *pipe*"
	assert_exit 6 gbe status --check
	rm "$DATA/pipe"
	assert_eq "explain" "$(json '[.rule, .hold] | tojson' explain --booted=staged)" '["11",false]'
}

# etcd is too busy to answer: its health is unknown, which needs no person.
frozen() {
	local n

	a_green xfs
	stop_etcd
	gbe backup one
	start_etcd
	kill -STOP "$ETCD_PID"
	for n in 1 2 3; do
		assert_exit 7 gbe status --check
		assert_match "first line" "${OUT%%$'\n'*}" "Not protected: cannot determine etcd's health: no answer within 300 ms"
		assert_json .etcd.healthy null status
	done
	kill -CONT "$ETCD_PID"
	hook monitor >&2
	kill -STOP "$ETCD_PID"
	assert_exit 0 gbe status --check
	assert_match "etcd" "$OUT" "*no answer within 300 ms; it was healthy * ago*"
	kill -CONT "$ETCD_PID"
	assert_exit 0 gbe status --check
}

# Below --root, the host's etcd does not belong to that root.
outside() {
	a_green xfs
	mkdir "$GBE_MEM/bare"
	assert_exit 0 "$BUILD/greenboot-etcd" --root="$GBE_MEM/bare" status
	assert_match "etcd" "$OUT" "*below --root, etcd is asked only if endpoint= *"
	assert_eq "etcd" "$("$BUILD/greenboot-etcd" --root="$GBE_MEM/bare" --json status | jq -c '.etcd | [.healthy, .version]')" "[null,null]"
}

# A restore of the same state loses nothing.
nothing_lost() {
	a_green xfs
	stop_etcd
	gbe backup one
	assert_match "dry run" "$(gbe restore -n one)" "*nothing: the data has the revision of the backup*"
	start_etcd
	put more data
	stop_etcd
	assert_match "dry run" "$(gbe restore -n one)" "*what etcd has written*"
}

suite_begin "$@"
run_case agree-same-run same_run
run_case agree-staged-pipe staged_pipe
run_case agree-frozen frozen
run_case agree-outside outside
run_case agree-nothing-lost nothing_lost
for before in ${BEFORE:-again update crashed return failed}; do
	run_case "agree-table-$before" table xfs "$before"
done
suite_end
