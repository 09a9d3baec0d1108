#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Keeping a real etcd small: defrag and its timer's program, alarms, and etcd's status compared with etcdctl's.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

BEFORE=/var/lib/greenboot-etcd/before-maintenance.db


# fragmented_etcd KIND: makes a database of 10 MB and more, nearly all of it free. The case's log leaves the values
# out.
fragmented_etcd() { begin_with fragmented "$1"; }
fragmented_anew() {
	device "$1"
	power_on
	put first value
	{ set +x; } 2>/dev/null
	put_many large 700 "$(printf '%014000d' 1)"
	set -x
	del large --prefix
	ctl compact --physical "$(revision)" >/dev/null
	put last value
	settled
}
# The free space is known after the next commit.
settled() { for _ in 1 2 3; do put settle x && sleep 0.15; done; }
db_size() { ctl endpoint status -w json | jq '.[0].Status.dbSize'; }

by_hand() { # KIND
	local before state

	fragmented_etcd "$1"
	state=$(etcd_state)
	before=$(db_size)
	assert_exit 0 gbe --json defrag -n
	fits defrag
	assert_eq "dry run" "$(of '[.done, .dry_run, .need] | join(" ")')" "false true small"
	assert_eq "size after a dry run" "$(db_size)" "$before"
	assert_exit 0 gbe --json defrag
	fits defrag
	assert_eq "done" "$(of '[.done, .healthy] | join(" ")')" "true true"
	assert_eq "size before" "$(of .size_before)" "$before"
	assert_eq "size after" "$(of .size_after)" "$(db_size)"
	(($(of .size_after) * 10 < before)) || fail "no smaller: $OUT"
	assert_some duration "$(of .duration_usec)"
	# No key, revision or event is added.
	assert_eq state "$(etcd_state)" "$state"
	copied "$1" "$(of .backup)" "$state"
	assert_exit 0 gbe defrag --no-backup
	assert_match text "$OUT" "*took *"
	! grep -q "kept as it was" <<<"$OUT" || fail "a copy was taken: $OUT"
}

# copied KIND BACKUP STATE: expects that the kept backup is sound and has etcd's state.
copied() {
	local hash

	hash=${3#hash=} hash=${hash%%/*}
	if fs_clones "$1"; then
		assert_exit 0 gbe --json verify --full "$2"
		assert_eq "hash of $2" "$(of '.verified[0].db.hash_kv')" "$hash"
		assert_missing "$ROOT$BEFORE"
	else
		assert_eq backup "$2" "$BEFORE"
		assert_exit 0 gbe --json snapshot status "$BEFORE"
		assert_eq "hash of $2" "$(of .hash_kv)" "$hash"
		assert_eq backups "$(json length list)" 0
	fi
}

if_needed() {
	fragmented_etcd xfs
	assert_exit 0 gbe --json defrag --if-needed
	fits defrag
	assert_eq "by default" "$(of '[.done, .need, .backup] | map(tostring) | join(" ")')" \
		"false small null"
	assert_exit 0 gbe defrag --if-needed
	assert_match text "$OUT" "*too small to be worth it*"
	config defrag min-size=1MB max-fragmentation=100%
	assert_exit 0 gbe --json defrag --if-needed
	assert_eq "of 100 %" "$(of '[.done, .need] | join(" ")')" "false dense"
	config defrag max-fragmentation=45%
	assert_exit 0 gbe --json defrag --if-needed -n
	assert_eq "would be" "$(of '[.done, .need] | join(" ")')" "false due"
	assert_exit 0 gbe --json defrag --if-needed
	fits defrag
	assert_eq "of 45 %" "$(of '[.done, .need] | join(" ")')" "true due"
	assert_exit 0 gbe --json defrag --if-needed
	assert_eq "once more" "$(of '[.done, .need] | join(" ")')" "false small"
}

# The program of the timer.
by_timer() { # KIND
	local before state

	fragmented_etcd "$1"
	state=$(etcd_state)
	before=$(db_size)
	assert_exit 0 hook defrag
	assert_eq "small as it is" "$(db_size)" "$before"
	config defrag min-size=1MB enabled=no
	assert_exit 0 hook defrag
	assert_eq "switched off" "$(db_size)" "$before"
	unconfig defrag enabled
	assert_exit 0 hook defrag
	assert_match "what it said" "$ERR" "*was defragmented*"
	(($(db_size) * 10 < before)) || fail "no smaller"
	assert_eq state "$(etcd_state)" "$state"
	assert_eq backups "$(json length list)" 0
	assert_missing "$ROOT$BEFORE"
	assert_exit 0 hook defrag
	assert_eq "what it said" "$ERR" ""
	# etcd is down, or the data is missing: other programs report this.
	kill_etcd
	assert_exit 0 hook defrag
	rm -rf "$DATA"
	assert_exit 0 hook defrag
}

# No work is due, and etcd is unhealthy: the health check reports this.
timer_without_quorum() {
	device xfs
	ETCD_OPTIONS=(--strict-reconfig-check=false)
	power_on
	put k v
	join_peers 1
	kill_peers
	assert_exit 0 hook defrag -v
	assert_match "what it said" "$ERR" "*not needed: small*"
	assert_exit 7 gbe health
}

# refused STATUS WHY ARG...: expects one line and no change.
refused() {
	assert_exit "$1" gbe --json defrag "${@:3}"
	fits error
	assert_match "why" "$ERR" "$2"
	assert_eq lines "$(wc -l <<<"$ERR")" 1
}

refusals() {
	local held before

	fragmented_etcd xfs
	before=$(db_size)
	refused 2 "*is not a time*" --timeout=soon
	assert_exit 2 gbe defrag this that more
	exec {held}>"$ROOT/run/greenboot-etcd/maintenance"
	flock "$held"
	refused 4 "*holds the lock*" --no-backup
	assert_exit 4 gbe backup --live
	exec {held}>&-
	exec {held}>"$ROOT/var/lib/greenboot-etcd/lock"
	flock "$held"
	refused 4 "*holds the lock*" --no-backup
	exec {held}>&-
	assert_exit 1 gbe_as_user defrag
	assert_match "without rights" "$ERR" "*needs root*"
	assert_eq size "$(db_size)" "$before"
	# A foreign etcd answers, which does not have this data open.
	mv "$DATA" "$DATA.elsewhere"
	refused 1 "*no etcd data in*"
	cp -a "$DATA.elsewhere" "$DATA"
	refused 5 "*no etcd runs on*touched*"
	kill_etcd
	refused 5 "*no etcd runs on*"
	assert_eq "what is left" "$(find "$ROOT/var/lib/greenboot-etcd" -name 'before*')" ""
}

# The certificates are not etcd's: no question is asked, and nothing is done.
certificates_wrong() {
	device xfs
	etcd_over_tls "$ROOT/etc/pki"
	config etcd endpoint="$ETCD_TLS" cacert=/etc/pki/ca.crt cert=/etc/pki/client.crt \
		key=/etc/pki/client.key
	power_on
	put k v
	assert_exit 0 gbe --json defrag
	fits defrag
	assert_eq "done" "$(of .done)" true
	config etcd cert=/etc/pki/old.crt
	refused 7 "*has expired*"
}

# The disk lacks room for a second database: the message comes before etcd fails.
full() { # KIND
	local before

	fragmented_etcd "$1"
	before=$(db_size)
	fallocate -l "$(($(stat -f -c '%a * %S' "$ROOT") - 40000000))" "$ROOT/var/full"
	refused 1 "*new database next to the old one*" --no-backup
	assert_eq size "$(db_size)" "$before"
	rm "$ROOT/var/full"
	assert_exit 0 gbe defrag --no-backup
}

# etcd is killed during the work: success is not reported, and the data is unchanged.
etcd_dies() {
	local state pid n

	fragmented_etcd xfs
	state=$(etcd_state)
	for n in 1 2 3; do
		# etcd is stopped first, so that it cannot finish before the kill.
		GREENBOOT_ETCD_FAULT="defrag-locked=stop" "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" \
			defrag --no-backup >"$GBE_MEM/out" 2>"$GBE_MEM/err" &
		pid=$!
		until_halted "$pid"
		kill -STOP "$ETCD_PID"
		kill -CONT "$pid"
		# On a busy machine this is long enough: the command asks, and the halted etcd does not answer.
		sleep "2.$n"
		kill_etcd
		rc=0
		wait "$pid" || rc=$?
		assert_eq "status" "$rc" 7
		assert_match "why" "$(<"$GBE_MEM/err")" "*cannot determine whether etcd at * was defragmented*"
		start_etcd
		assert_eq state "$(etcd_state | cut -d' ' -f1-3)" "$(cut -d' ' -f1-3 <<<"$state")"
	done
	# The same, with a kill as soon as a half-done file exists.
	"$(program greenboot-etcd)" --root="$ROOT" defrag --no-backup >"$GBE_MEM/out" 2>&1 &
	pid=$!
	for ((n = 0; n < 20000; n++)); do
		if compgen -G "$DATA/member/snap/db.tmp.*" >/dev/null; then break; fi
	done
	kill_etcd
	wait "$pid" || true
	start_etcd
	assert_eq state "$(etcd_state | cut -d' ' -f1-3)" "$(cut -d' ' -f1-3 <<<"$state")"
	assert_exit 0 gbe defrag --no-backup
	assert_eq "left of it" "$(compgen -G "$DATA/member/snap/db.tmp.*" || true)" ""
}

# The command does not wait for an etcd that does not answer.
hangs() {
	local began

	fragmented_etcd xfs
	config health request-timeout=1s
	kill -STOP "$ETCD_PID"
	began=$EPOCHSECONDS
	refused 6 "*does not answer*in time*" --no-backup
	kill -CONT "$ETCD_PID"
	((EPOCHSECONDS - began < 10)) || fail "it took $((EPOCHSECONDS - began)) s"
	assert_exit 7 gbe defrag --no-backup --timeout=0s
	assert_match "why" "$ERR" "*may still be defragmenting*"
}

# ---- the stopped database ----

# with_tools ETCD...: installs etcd's programs below ROOT.
with_tools() {
	local program

	mkdir -p "$ROOT/usr/bin"
	for program; do
		cp --reflink=auto "$(command -v "$program")" "$ROOT/usr/bin/${program##*/}"
	done
	# The programs have an old date.
	sync -f "$ROOT"
}

# stopped KIND [ETCD]: makes a stopped database that is nearly all free. Sets STATE and SIZE.
stopped() {
	fragmented_etcd "$1"
	STATE=$(etcd_state)
	stop_etcd
	SIZE=$(stat -c %s "$DATA/member/snap/db")
	chown -R 1234:1234 "$DATA"
	with_tools "${2:-$ETCD}" "${3:-$ETCDCTL}"
	STORE=$ROOT/var/lib/greenboot-etcd/backups
}

# as_before: expects that etcd starts on it and has all of its content.
as_before() {
	assert_eq owner "$(find "$DATA/member" ! -user 1234 -o ! -group 1234)" ""
	assert_eq mode "$(stat -c %a "$DATA/member/snap/db")" 600
	assert_exit 0 gbe verify --full --data
	start_etcd
	# (The term is one higher.)
	assert_eq state "$(etcd_state)" "$STATE"
	stop_etcd
	chown -R 1234:1234 "$DATA"
}

data_stopped() { # KIND [ETCD TOOL]
	stopped "$@"
	assert_exit 0 gbe --json defrag --data -n
	fits defrag
	assert_eq "dry run" "$(of '[.done, .need, .endpoint] | map(tostring) | join(" ")')" \
		"false small null"
	assert_eq "in use" "$(of '.in_use_before * 10 < .size_before')" true
	assert_exit 0 gbe --json defrag --data
	fits defrag
	assert_eq "done" "$(of '[.done, .healthy, .data] | map(tostring) | join(" ")')" \
		"true true /var/lib/etcd"
	(($(stat -c %s "$DATA/member/snap/db") * 4 < SIZE)) || fail "no smaller: $OUT"
	assert_exit 0 gbe --json verify --full "$(of .backup)"
	as_before
	assert_eq operation "$(json '.last_operation.operation' status)" defrag
	config defrag min-size=1MB
	assert_exit 0 gbe --json defrag --data --if-needed
	assert_eq "not twice" "$(of '[.done, .need] | join(" ")')" "false small"
}

data_refused() {
	stopped xfs
	rm "$ROOT/usr/bin/etcdctl"
	assert_exit 5 gbe defrag --data --no-backup
	assert_match why "$ERR" "*etcdutl*install it*"
	etcdctl_of_3_6
	assert_exit 5 gbe defrag --data --no-backup
	assert_match why "$ERR" "*etcdutl is not in /usr/bin*3.6*install it*"
	with_tools "$ETCDCTL"
	assert_exit 1 gbe defrag --data --no-backup --timeout=0s
	assert_match why "$ERR" "*within 0 s*"
	cp --remove-destination "$(type -P false)" "$ROOT/usr/bin/etcdctl"
	assert_exit 1 gbe defrag --data --no-backup
	assert_match why "$ERR" "*ended with status 1*"
	as_before
	start_etcd
	assert_exit 4 gbe defrag --data
	assert_match why "$ERR" "*without --data*"
	stop_etcd
	truncate -s 12288 "$DATA/member/snap/db"
	assert_exit 6 gbe defrag --data --no-backup
	rm -rf "$DATA"
	assert_exit 1 gbe defrag --data
	assert_match why "$ERR" "*no etcd data in*"
}

# Killed at each step, and with a power cut at each. The result is the old database or the new one, and the data's owner
# stays known.
# steps: defrag
data_killed() { # KIND
	local point

	stopped "$1"
	for point in defrag-data-cleared defrag-data-done $(GREENBOOT_ETCD_FAULT=steps \
		"$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" defrag --data --no-backup); do
		[[ $ROOT ]] || stopped "$1"
		GREENBOOT_ETCD_FAULT="$point=kill" "$BUILD_FAULTS/greenboot-etcd" \
			--root="$ROOT" defrag --data --no-backup || true
		disk_cut
		as_before
		assert_exit 0 gbe defrag --data --no-backup
		as_before
		root_free
	done
}

# Killed at each step, the program leaves an etcd that works, with the same keys, and the next call defragments.
live_killed() { # KIND
	local point state points=

	fragmented_etcd "$1"
	state=$(etcd_state | cut -d' ' -f1-3)
	for point in $(GREENBOOT_ETCD_FAULT=steps "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" defrag); do
		assert_exit 137 env GREENBOOT_ETCD_FAULT="$point=kill" "$BUILD_FAULTS/greenboot-etcd" \
			--root="$ROOT" defrag
		assert_eq "after $point" "$(etcd_state | cut -d' ' -f1-3)" "$state"
		points+=" $point"
	done
	assert_match "each step" "$points" "*defrag-looked*defrag-locked*defrag-asked*"
	assert_exit 0 gbe defrag
	assert_eq "in the end" "$(etcd_state | cut -d' ' -f1-3)" "$state"
}

# etcd starts from the database that is made of it. The original is unchanged.
backup_anew() { # KIND [ETCD TOOL]
	local was

	stopped "$@"
	assert_exit 0 gbe backup large
	was=$(tree_digest "$STORE/large")
	assert_exit 0 gbe --json defrag large -n
	fits defrag
	assert_eq "dry run" "$(of '[.done, .of, .made, .data] | map(tostring) | join(" ")')" \
		"false large null null"
	assert_eq "nothing made" "$(ls -A "$STORE")" large
	assert_exit 0 gbe --json defrag large
	fits defrag
	assert_eq made "$(of .made)" large-defragmented
	assert_eq smaller "$(of '.size_after * 4 < .size_before')" true
	assert_eq "as it was" "$(tree_digest "$STORE/large")" "$was"
	assert_exit 0 gbe verify --full large large-defragmented
	assert_exit 0 gbe --json show large-defragmented
	assert_eq "whose" "$(of '[.deployment.id, .grade, .origin] | map(tostring) | join(" ")')" \
		"null unproven manual"
	assert_exit 1 gbe defrag large
	assert_match why "$ERR" "*large-defragmented is there already*"
	assert_exit 0 gbe defrag large dense
	rm -rf "$DATA/member"
	assert_exit 0 gbe restore --force dense
	(($(stat -c %s "$DATA/member/snap/db") * 4 < SIZE)) || fail "no smaller: $OUT"
	as_before
}

backup_refused() {
	stopped xfs
	assert_exit 0 gbe backup large
	assert_exit 1 gbe defrag nobody
	assert_exit 2 gbe defrag large --data
	assert_exit 2 gbe defrag large --no-backup
	assert_exit 2 gbe defrag large ../large
	assert_exit 2 gbe defrag large a b
	assert_exit 0 gbe --json defrag large --if-needed
	assert_eq "not worth it" "$(of '[.done, .need] | map(tostring) | join(" ")')" "false small"
	rm "$ROOT/usr/bin/etcdctl"
	assert_exit 5 gbe defrag large
	with_tools "$ETCDCTL"
	assert_exit 1 gbe defrag large --timeout=0s
	truncate -s 12288 "$STORE/large/data/member/snap/db"
	assert_exit 6 gbe defrag large
	assert_eq "nothing made" "$(ls -A "$STORE")" large
}

# Killed, or with a power cut, at each step: the new database is complete, or missing.
backup_killed() { # KIND
	local point was

	stopped "$1"
	assert_exit 0 gbe backup large
	was=$(tree_digest "$STORE/large")
	for point in partial-described partial-synced partial-renamed $(GREENBOOT_ETCD_FAULT=steps \
		"$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" defrag large); do
		GREENBOOT_ETCD_FAULT="$point=kill" "$BUILD_FAULTS/greenboot-etcd" \
			--root="$ROOT" defrag large "at-$point" || true
		disk_cut
		assert_exit 0 gbe list --names
		if [[ -e $STORE/at-$point ]]; then
			assert_exit 0 gbe verify --full "at-$point"
		fi
		assert_exit 0 gbe defrag large "after-$point"
		assert_eq "as it was" "$(tree_digest "$STORE/large")" "$was"
		assert_eq "left over" "$(find "$STORE" -maxdepth 1 -name '.partial-*')" ""
	done
}

# A planned shutdown, a defragmentation, a start: the data counts as unchanged by others.
data_and_boot() {
	stopped xfs
	start_etcd
	shutdown
	chown -R 1234:1234 "$DATA"
	assert_exit 0 gbe defrag --data --no-backup
	power_on
	assert_eq rule "$(json .last_operation.rule status | grep -c '^13' || true)" 0
	assert_eq adopted "$(json '[.[].name | select(startswith("adopted"))] | length' list)" 0
	assert_eq state "$(etcd_state | cut -d' ' -f1-3)" "$(cut -d' ' -f1-3 <<<"$STATE")"
}

# ---- alarms ----

# full_etcd KIND: fills etcd up to its real quota. The case's log leaves the values out.
full_etcd() {
	local n value answer=''

	device "$1"
	ETCD_OPTIONS=(--quota-backend-bytes=$((20 << 20)))
	power_on
	put first value
	{ set +x; } 2>/dev/null
	value=$(printf '%014000d' 1)
	# The same keys are written over and over: history fills the database, first in large steps.
	for ((n = 0; n < 11; n++)); do put_many again 100 "$value"; done
	for ((n = 0; n < 200; n++)); do
		answer=$(put_many again 10 "$value" 2>&1) || true
		[[ $answer != *"space exceeded"* ]] || break
	done
	set -x
	assert_match "etcd is full" "$answer" "*database space exceeded*"
}
alarms() { gbe --json alarm list | jq -r '[.alarms[].alarm] | join(" ")'; }
steps() { of '[.steps[] | .step + " " + .result] | join(", ")'; }
# Prints etcd's keys and values, whatever happened to their history.
content() { ctl get '' --prefix --write-out=fields | grep -E '^"(Key|Value)"'; }

alarm_clear() { # KIND
	local before state size

	full_etcd "$1"
	config alarm compact-keep=1
	state=$(etcd_state) before=$(content) size=$(db_size)
	assert_exit 0 gbe --json alarm list
	fits alarm
	assert_eq alarms "$(alarms)" NOSPACE
	assert_exit 5 gbe defrag
	assert_match "where to go" "$ERR" "*alarm clear*"
	assert_exit 0 gbe --json alarm clear -n
	fits alarm-clear
	assert_eq "dry run" "$(steps)" "backup would, compact would, defrag would, disarm would, prove would"
	assert_eq "alarms after a dry run" "$(alarms)" NOSPACE
	assert_eq "state after a dry run" "$(etcd_state)" "$state"
	assert_exit 0 gbe --json alarm clear
	fits alarm-clear
	assert_eq steps "$(steps)" "backup done, compact done, defrag done, disarm done, prove done"
	assert_eq cleared "$(of '[.was_up, .cleared] | join(" ")')" "true true"
	assert_eq alarms "$(alarms)" ""
	assert_eq content "$(content)" "$before"
	(($(db_size) * 4 < size)) || fail "no smaller"
	copied "$1" "$(of .backup)" "$state"
	put it works
	assert_exit 0 gbe health
	assert_exit 0 gbe --json alarm clear
	fits alarm-clear
	assert_eq "once more" "$(of '[.was_up, .cleared, .steps == []] | join(" ")')" "false true true"
	assert_exit 0 gbe alarm clear
	assert_match text "$OUT" "*no alarm NOSPACE*"
}

# Without history to compact, the alarm would return at the next write: the alarm stays, and a message says why.
alarm_stays() {
	full_etcd xfs
	# etcd's own quota counts, and not the one in [run].
	assert_exit 7 gbe health --verbose
	assert_match health "$OUT" "*warning*quota*of 20 MiB*"
	assert_exit 6 gbe --json alarm clear --no-backup
	fits alarm-clear
	assert_eq steps "$(steps)" "backup skipped, compact skipped, defrag done, disarm skipped"
	assert_match reason "$(of .reason)" "*quota*delete keys*"
	assert_eq alarms "$(alarms)" NOSPACE
	# A person makes room, and forgets the alarm.
	del --prefix again/
	config alarm compact-keep=1
	assert_exit 0 gbe alarm clear --no-backup
	assert_match text "$OUT" "*compact*done*disarm*done*the alarm NOSPACE is cleared*"
	put it works
	# A later compaction stays.
	curl -sf "http://127.0.0.1:$ETCD_PORT/v3/maintenance/alarm" -d "{\"action\":\"ACTIVATE\",\"memberID\":\"$(
		ctl endpoint status -w json | grep -o '"member_id":[0-9]*' | cut -d: -f2)\",\"alarm\":\"NOSPACE\"}"
	ctl compact "$(revision)" >/dev/null
	assert_exit 0 gbe --json alarm clear --no-backup
	assert_eq steps "$(steps)" "backup skipped, compact skipped, defrag done, disarm done, prove done"
}

# The snapshot of a full etcd has the alarm of its former member, which is not a member any more.
alarm_of_the_gone() {
	full_etcd xfs
	mkdir -p "$ROOT/usr/bin"
	cp "$(command -v etcdctl)" "$ROOT/usr/bin/"
	gbe snapshot save /var/s.db
	assert_exit 0 gbe import /var/s.db i
	stop_etcd
	assert_exit 0 gbe restore i
	etcd_run "${ETCD_OPTIONS[@]}"
	until gbe alarm list >/dev/null 2>&1; do nap 0.05; done
	assert_eq alarms "$(alarms)" NOSPACE
	assert_ne "whose" "$(of '.alarms[0].member_id')" "$(json .member_id health)"
	config alarm compact-keep=1
	assert_exit 0 gbe --json alarm clear --no-backup
	fits alarm-clear
	assert_eq steps "$(steps)" "backup skipped, compact done, defrag done, disarm done, prove done"
	assert_match "whose" "$(of .steps[3].detail)" "NOSPACE, also of the former member *"
	assert_eq alarms "$(alarms)" ""
	put it works
}

alarm_corrupt() {
	local good

	device xfs
	power_on
	put k v
	curl -sf "http://127.0.0.1:$ETCD_PORT/v3/maintenance/alarm" -d "{\"action\":\"ACTIVATE\",\"memberID\":\"$(
		ctl endpoint status -w json | grep -o '"member_id":[0-9]*' | cut -d: -f2)\",\"alarm\":\"CORRUPT\"}"
	assert_eq alarms "$(alarms)" CORRUPT
	assert_exit 5 gbe --json alarm clear
	fits error
	assert_match why "$ERR" "*CORRUPT*never cleared*good backup is missing*"
	assert_exit 0 gbe backup mine --live
	assert_exit 0 gbe mark good mine
	good=$(json '.last_good.name' status)
	assert_exit 5 gbe alarm clear
	assert_match "the way back" "$ERR" "*CORRUPT*$good*restore --last-good --stop*"
	assert_eq alarms "$(alarms)" CORRUPT
}

# etcd ends between two steps: the finished steps are reported, and the next call resumes.
# steps: alarm clear (the program keeps nothing of its own: etcd is killed, and not the program)
alarm_half_way() {
	local pid

	full_etcd xfs
	config alarm compact-keep=1
	GREENBOOT_ETCD_FAULT="alarm-compacted=stop" "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" --json \
		alarm clear --no-backup >"$GBE_MEM/out" 2>"$GBE_MEM/err" &
	pid=$!
	until_halted "$pid"
	kill_etcd
	kill -CONT "$pid"
	rc=0
	wait "$pid" || rc=$?
	assert_eq status "$rc" 3
	OUT=$(<"$GBE_MEM/out")
	fits alarm-clear
	assert_match steps "$(steps)" "backup skipped, compact done, defrag *"
	# (With an alarm, etcd's /health is false.)
	etcd_run "${ETCD_OPTIONS[@]}"
	until gbe alarm list >/dev/null 2>&1; do nap 0.05; done
	assert_eq alarms "$(alarms)" NOSPACE
	assert_exit 0 gbe --json alarm clear --no-backup
	assert_eq cleared "$(of .cleared)" true
	put it works
}

alarm_refused() {
	device xfs
	power_on
	put k v
	assert_exit 2 gbe alarm
	assert_exit 2 gbe alarm wake
	assert_exit 2 gbe alarm list -n
	assert_exit 2 gbe alarm clear --timeout=soon
	assert_exit 0 gbe alarm list
	assert_eq text "$OUT" "There is no alarm."
	assert_exit 1 gbe_as_user alarm clear
	assert_match "without rights" "$ERR" "*needs root*"
	kill_etcd
	assert_exit 1 gbe --json alarm list
	fits error
	assert_match why "$ERR" "*no answer from etcd at http*"
	assert_exit 5 gbe --json alarm clear
	assert_match why "$ERR" "*no etcd runs on*"
}

# The backup is made, and etcd does not answer in time for the rest.
alarm_too_late() {
	full_etcd xfs
	config alarm compact-keep=1
	assert_exit 3 gbe --json alarm clear --timeout=0s
	fits alarm-clear
	assert_eq steps "$(steps)" "backup done, compact failed"
	assert_exit 0 gbe --json alarm clear --no-backup
	assert_eq cleared "$(of .cleared)" true
	put it works
}

# ---- etcd's status ----

questions() {
	local mine theirs

	device xfs
	power_on
	put k v
	assert_exit 0 gbe --json member list
	fits member
	theirs=$(ctl member list)
	assert_eq "as etcdctl has it" "$(of '.members[0] | "\(.id), started, \(.name), \(.peer_urls[0]), \(
		.client_urls[0]), \(.learner)"')" "$(sed 's/^\([0-9a-f]*\)/0000000000000000\1/; s/^0*\([0-9a-f]\{16\}\),/\1,/' \
		<<<"$theirs")"
	assert_exit 0 gbe member list
	assert_match "a table" "$OUT" "ID*PEER ADDRS*started*default*http://*false"
	assert_exit 0 gbe --json endpoint status
	fits endpoint
	assert_eq "as etcdctl has it" "$(of '[.version, .db_size, .revision, .raft_term, .is_leader] | join(" ")')" \
		"$(ctl endpoint status -w json | jq -r '.[0].Status | [.version, .dbSize, .header.revision, .raftTerm,
			.leader == .header.member_id] | join(" ")')"
	assert_exit 0 gbe endpoint status
	assert_match "a table" "$OUT" "ENDPOINT*IS LEADER*http://127.0.0.1:$ETCD_PORT*3.*true*false*"
	# The question does not need root.
	assert_exit 0 gbe_as_user member list
	assert_exit 2 gbe member
	assert_exit 2 gbe member add
	assert_exit 2 gbe endpoint health
	kill_etcd
	for mine in "member list" "endpoint status"; do
		# shellcheck disable=SC2086 # words
		assert_exit 1 gbe --json $mine
		fits error
		assert_match why "$ERR" "*no answer from etcd at http*"
	done
}

# Three members: all of them are listed, one has not started yet.
questions_of_three() {
	device xfs
	ETCD_OPTIONS=(--strict-reconfig-check=false)
	power_on
	put k v
	join_peers 2
	ctl member add late --peer-urls=http://127.0.0.1:9 >/dev/null
	assert_exit 0 gbe --json member list
	fits member
	assert_eq started "$(of '[.members[].started | tostring] | sort | join(" ")')" "false true true true"
	assert_eq voters "$(of '[.members[].learner] | any')" false
}

suite_begin "$@"
for kind in $(kinds "xfs ext4" btrfs-subvol); do
	run_case "defrag@$kind" by_hand "$kind"
done
run_case defrag-if-needed if_needed
run_case defrag-timer@xfs by_timer xfs
run_case defrag-refused refusals
run_case defrag-certificates certificates_wrong
run_case defrag-full@xfs full xfs
run_case defrag-full@ext4 full ext4
run_case defrag-etcd-dies etcd_dies
run_case defrag-hangs hangs
for kind in $(kinds "xfs btrfs-subvol ext4"); do
	run_case "defrag-data@$kind" data_stopped "$kind"
	run_case "defrag-data-killed@$kind" data_killed "$kind"
	run_case "defrag-live-killed@$kind" live_killed "$kind"
done
run_case defrag-data-refused data_refused
for kind in $(kinds "xfs btrfs-subvol ext4" btrfs); do
	run_case "defrag-backup@$kind" backup_anew "$kind"
	run_case "defrag-backup-killed@$kind" backup_killed "$kind"
done
run_case defrag-backup-refused backup_refused
run_case defrag-data-boot data_and_boot
for kind in $(kinds "xfs ext4"); do
	run_case "alarm-clear@$kind" alarm_clear "$kind"
done
run_case alarm-stays alarm_stays
run_case alarm-of-the-gone alarm_of_the_gone
run_case alarm-corrupt alarm_corrupt
run_case alarm-half-way alarm_half_way
run_case alarm-refused alarm_refused
! built cluster || run_case questions questions
! built cluster || run_case questions-of-three questions_of_three
if [[ $ETCD_NEXT ]]; then
	run_case alarm-clear-next with "$ETCD_NEXT" alarm_clear xfs
	run_case alarm-stays-next with "$ETCD_NEXT" alarm_stays
	run_case alarm-corrupt-next with "$ETCD_NEXT" alarm_corrupt
	! built cluster || run_case questions-next with "$ETCD_NEXT" questions
	run_case defrag-backup-next with "$ETCD_NEXT" backup_anew xfs "$ETCD_NEXT" \
		"${ETCD_NEXT%/*}/etcdutl"
	run_case defrag-data-next with "$ETCD_NEXT" data_stopped xfs "$ETCD_NEXT" \
		"${ETCD_NEXT%/*}/etcdutl"
	run_case defrag-next@xfs with "$ETCD_NEXT" by_hand xfs
	run_case defrag-next-dies with "$ETCD_NEXT" etcd_dies
fi
run_case alarm-too-late alarm_too_late
run_case defrag-timer-no-quorum timer_without_quorum
suite_end
