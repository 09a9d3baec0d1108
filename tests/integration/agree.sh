#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# `status`, `explain` and prerun are asked about the same start, in a table of situations: data, configuration and
# deployments. A case fails if two of them disagree. (Random situations: tests/histories.)

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# ---- the history of the device, whose etcd is stopped then ----

# ends: shuts the machine down; for a table of running devices, only etcd stops, until the device is loaded.
ends() {
	if [[ $RUNNING ]]; then
		stop_etcd
	else
		shutdown
	fi
}

before_again() { ends; }
before_update() {
	update B
	ends
}
# A person has restored a backup, and can undo that.
before_restored() {
	stop_etcd
	gbe backup mine
	start_etcd
	put late write
	stop_etcd
	gbe restore mine
	start_etcd
	put later write
	ends
}
before_crashed() {
	stop_etcd
	gbe backup mine
	start_etcd
	put late write
	kill_etcd
}
b_green() {
	into_b
	b_writes
	judge green
}
# A deliberate return.
before_return() {
	b_green
	make_default A
	ends
}
# A person chooses A in the boot menu.
before_menu() {
	b_green
	ASK=--booted=rollback MENU=A
	ends
}
b_red() {
	into_b
	b_writes
	judge red
}
# The failed update boots again.
before_failed() {
	b_red
	ends
}
# The boot counter has ended, and A comes back.
before_undone() {
	b_red
	reboot
	judge red
	reboot
	judge red
	ends
}
# Another update replaces the failed one.
before_second() {
	b_red
	update C
	ends
}
# An update brought a newer etcd, and A comes back.
before_newer() {
	etcd_next_of B
	before_return
}
# The ledger is gone, so the owner of the data is unknown.
before_unknown() {
	update B
	shutdown
	rm "$ROOT/var/lib/greenboot-etcd/ledger"
}
# etcd ran once without greenboot-etcd.
before_foreign() {
	shutdown
	start_etcd
	put foreign write
	stop_etcd
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
data_no_db() { rm "$DATA/member/snap/db"; }
data_gone() { rm -rf "$DATA/member"; }
data_removed() { rm -rf "$DATA"; }
data_two() { cp -a "$DATA" "$DATA.two" && mv "$DATA.two" "$DATA/two"; }
data_link() {
	mv "$DATA" "$DATA.moved"
	ln -s etcd.moved "$DATA"
}

# ---- configuration, backups and requests ----

# set_config GROUP:KEY=VALUE
set_config() { config "${1%%:*}" "${1#*:}"; }
set_none() {
	local name

	for name in $(gbe list --names); do gbe delete --force "$name"; done
}
set_bad() {
	local name

	for name in $(gbe list --names); do gbe mark bad "$name"; done
}
set_away() { mv "$ROOT/var/lib/greenboot-etcd/backups" "$ROOT/var/lib/greenboot-etcd/moved"; }
set_undo() { gbe undo --next-boot --force; }
set_request() { gbe restore --next-boot "$([[ $1 == oldest ]] && gbe list --names | tail -n 1 || echo "$1")"; }

# Each kind of damage with the circumstances that matter for it.
declare -A SITUATIONS=(
	[sound]="- config:backup:at-boot=never config:restore:on-rollback=never config:restore:on-rollback=if-failed
		config:restore:retry-trial=no config:restore:on-upgrade-from-failed=refuse
		config:restore:on-upgrade-from-failed=keep config:backup:on-upgrade-failure=refuse none bad away
		config:restore:hand-back=no request:--last-good request:oldest"
	[torn]="- config:restore:on-corrupt-data=refuse config:restore:on-corrupt-data=keep none
		config:restore:retry-trial=no request:--last-good"
	[bad_log]="- config:restore:on-corrupt-data=refuse bad"
	[no_log]="- none config:restore:on-rollback=never config:restore:retry-trial=no"
	[no_db]="-"
	[gone]="- config:restore:on-missing-data=restore none config:restore:retry-trial=no"
	[removed]="- config:restore:on-missing-data=restore"
	[pipe]="- config:backup:on-upgrade-failure=continue config:backup:on-upgrade-failure=refuse request:--last-good"
	[two]="-"
	[mount]="- config:backup:on-upgrade-failure=continue"
	[link]="-"
)

# The circumstances in which a device is asked while its etcd runs.
WHILE_RUNNING="- config:backup:at-shutdown=never config:restore:on-rollback=never config:restore:on-rollback=if-failed
	config:restore:retry-trial=no config:restore:on-upgrade-from-failed=refuse request:oldest none"

# This filter prints the first difference between `status` ($shown), `explain` ($told) and prerun, else nothing. Prerun has
# an exit status ($prerun), an output ($log) and a record ($ended).
# shellcheck disable=SC2016 # jq's variables
AGREE='
def most: . as $e | [["hold", "restore", "fresh", "backup", "keep", "stamp"][] as $kind |
	$e.actions[] | select(.action == $kind)][0] | [$e.rule, .action, .name];
def effects: [.actions[] | select(.action | IN("backup", "restore", "fresh", "hold", "delete")) |
	if .action == "hold" or .action == "fresh" then .action else "\(.action) \(.name)" end];
def differs($what; $a; $b): if $a == $b then empty else "\($what): \($a | tojson), \($b | tojson)" end;
($log | [scan("Decided by rule ([^:]*):")[0]]) as $rules |
($log | [scan("(?m)^greenboot-etcd-prerun: (Backed up the data of etcd as|Restored the data of etcd from|etcd starts without data|etcd is held back|Deleted)( [^ :]+)?") |
	{"Backed up the data of etcd as": "backup", "Restored the data of etcd from": "restore",
	"etcd starts without data": "fresh", "etcd is held back": "hold", "Deleted": "delete"}[.[0]] +
	(if .[0] | startswith("etcd") then "" else .[1] end)]) as $did |
# One more decision follows for each backup that did not validate.
([$told] + $told.branches)[:([$rules | length, 1] | max)] as $decisions | $decisions[-1] as $last |
# A device that runs still takes the backup of its shutdown: then only what happens to the data is compared.
def fate: map(select(startswith("restore") or . == "fresh" or . == "hold"));
[
	if $staged != null and $shown.next.deployment == $staged.deployment then
		differs("explain and explain --booted=staged"; $told | del(.facts); $staged | del(.facts))
	else empty end,
	if $ask == "" then
		differs("status and explain"; $shown.next | [.rule, .action, .backup]; $told | most),
		differs("status and explain, the deployment"; $shown.next.deployment; $told.deployment)
	else empty end,
	if $shown.next.action == "hold" and $shown.protection.state == "protected" then "status: protected before a hold" else empty end,
	differs("the deployment"; $told.deployment; $booted),
	if $running != "" then differs("explain and prerun, the data"; $last | effects | fate; $did | fate)
	elif ($rules | length) > 0 then differs("explain and prerun, the rules"; [$decisions[].rule]; $rules) else empty end,
	differs("explain and prerun, held"; [$last.actions[] | select(.action == "hold")] != []; $prerun == 5),
	if $running != "" then empty
	elif $last == $told then
		differs("explain and prerun, what is done"; $told | effects; $did),
		differs("explain and prerun, the steps"; $told.steps; $ended.steps // [])
	else
		differs("explain and prerun, what is done"; $last | effects; $did | map(select(startswith("delete") | not)))
	end
][0] // empty'

# agrees WHAT: asks all three about the next boot. DISAGREE gets a line for a difference.
agrees() {
	local shown told ended difference staged=null

	shown=$(gbe --json status)
	told=$(gbe --json explain ${ASK:+"$ASK"})
	if [[ $RUNNING ]]; then
		[[ ! -d $ROOT/run/ostree/staged-deployment && ! -e $ROOT/run/ostree/staged-deployment ]] ||
			staged=$(gbe --json explain --booted=staged)
		shutdown
	fi
	if [[ $MENU ]]; then
		grub_choose
		boot "$MENU"
		greenboot_check_fallback
	else
		machine_on
	fi
	ended=$(<"$ROOT/run/greenboot-etcd/prerun-done")
	difference=$(jq -rn --argjson shown "$shown" --argjson told "$told" --argjson ended "$ended" --arg ask "$ASK" \
		--arg running "$RUNNING" --argjson staged "$staged" \
		--argjson prerun "$PRERUN" --rawfile log "$PRERUN_LOG" --arg booted "${DEPLOYMENT[$BOOTED]}" "$AGREE")
	[[ ! $difference ]] || DISAGREE+=("$1: $difference")
}

# table KIND BEFORE: plays each kind of damage with each of its circumstances.
table() {
	local data circumstance rest circumstances

	DISAGREE=() ASK='' MENU='' RUNNING=''
	a_green "$1"
	"before_$2"
	device_save
	for data in "${!SITUATIONS[@]}"; do
		circumstances=${SITUATIONS[$data]}
		[[ $2 != restored && $2 != undone || $data != sound && $data != torn ]] || circumstances+=" undo"
		for circumstance in $circumstances; do
			device_load
			same_boot
			rest=${circumstance#*:}
			[[ $circumstance == - ]] || "set_${circumstance%%:*}" "$rest"
			"data_$data"
			agrees "$2, $data, $circumstance"
		done
	done
	all_agree
}

all_agree() {
	((${#DISAGREE[@]} == 0)) || { printf '%s\n' "${DISAGREE[@]}" >&2 && fail "${#DISAGREE[@]} disagree: ${DISAGREE[0]}"; }
}

# running KIND BEFORE: plays the circumstances of a device that is asked while its etcd runs.
running() {
	local circumstance rest present circumstances=$WHILE_RUNNING

	DISAGREE=() ASK='' MENU='' RUNNING=yes
	a_green "$1"
	"before_$2"
	present=$BOOTED
	[[ $2 != restored && $2 != undone ]] || circumstances+=" undo"
	# The other histories have a backup from a shutdown.
	[[ $2 != again && $2 != update ]] || gbe backup mine
	device_save
	for circumstance in $circumstances; do
		device_load
		same_boot
		BOOTED=$present
		etcd_program "${ETCD_OF[$BOOTED]-$ETCD}"
		rest=${circumstance#*:}
		[[ $circumstance == - ]] || "set_${circumstance%%:*}" "$rest"
		start_etcd
		agrees "$2, running, $circumstance"
	done
	all_agree
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
for before in ${BEFORE:-again update crashed return menu failed undone second newer unknown foreign restored}; do
	run_case "agree-table-$before" table xfs "$before"
done
for before in again update return menu failed undone second newer restored; do
	run_case "agree-running-$before" running xfs "$before"
done
suite_end
