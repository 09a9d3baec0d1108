#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Programs that run at the same time: two preruns, prerun and a person, a backup and a deletion. Also an etcd that
# starts in the middle of a copy, and locks whose holders are dead or hang.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

store() { echo "$ROOT/var/lib/greenboot-etcd/backups"; }
state() { echo "$ROOT/var/lib/greenboot-etcd/$1"; }
leftovers() {
	find "$ROOT/var/lib" \( -name '.partial-*' -o -name '.pending-*' -o -name '.restore-*' \
		-o -name '.gbe-tmp.*' -o -name intent \) -print
}

# stop_in PROGRAM POINT [ARG...]: starts PROGRAM and returns when its worker stops at POINT. HOLDER is the worker,
# STARTED the started process. go_on() resumes it and waits for it.
stop_in() {
	local program=$1 point=$2
	shift 2
	if [[ $program == greenboot-etcd ]]; then
		program=$BUILD_FAULTS/greenboot-etcd
	else
		program=$BUILD_FAULTS/hooks/$program
	fi
	GREENBOOT_ETCD_FAULT=$point=stop "$program" --root="$ROOT" "$@" >"$GBE_MEM/held.out" \
		2>"$GBE_MEM/held.err" &
	STARTED=$!
	until_halted "$STARTED" && HOLDER=$HALTED
}
go_on() {
	kill -CONT "$HOLDER"
	STATUS=0
	wait "$STARTED" || STATUS=$?
	cat "$GBE_MEM/held.err" >&2
}

# Two preruns at the same time: one works. The other one finds the work done, and is not killed while it waits.
both_preruns() {
	a_green "$1"
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	shutdown
	MASKED=yes machine_on
	stop_in prerun backup-cloned
	hook prerun >"$GBE_MEM/second" 2>&1 &
	nap 0.5
	kill -0 $! || fail "the second did not wait"
	go_on
	assert_eq "first" "$STATUS" 0
	wait $! || fail "second: $?"
	cat "$GBE_MEM/second" >&2
	assert_match "second" "$(<"$GBE_MEM/second")" "*rule 5:*"
	assert_eq "backups of A" "$(backups ".deployment == \"${DEPLOYMENT[A]}\"")" 1
	assert_eq "leftovers" "$(leftovers)" ""
	start_etcd
	holds "B's data" "$A_STATE"
	b_writes
	fails_back
}

# A person gets the name of the lock's holder at once. No file is changed.
both_prerun_and_restore() {
	a_green "$1"
	stop_etcd
	gbe backup snap
	start_etcd
	put since backup
	A_STATE=$(etcd_state)
	update B
	shutdown
	MASKED=yes machine_on
	stop_in prerun prerun-observed
	assert_exit 4 gbe restore snap
	assert_match "stderr" "$ERR" "*prerun, pid $HOLDER*"
	assert_exit 4 gbe delete snap --force
	assert_exit 4 gbe prune
	assert_exit 0 gbe list
	go_on
	assert_eq "prerun" "$STATUS" 0
	start_etcd
	holds "B's data" "$A_STATE"
	assert_exists "$(store)/snap/manifest.json"
}

# The other order: a restore by hand is between two steps while a start comes.
both_restore_and_prerun() {
	a_green "$1"
	A_STATE=$(etcd_state)
	stop_etcd
	gbe backup snap
	start_etcd
	put since backup
	stop_etcd
	stop_in greenboot-etcd restore-staged restore snap
	hook prerun >"$GBE_MEM/second" 2>&1 &
	nap 0.5
	kill -0 $! || fail "prerun did not wait"
	go_on
	assert_eq "restore" "$STATUS" 0
	wait $! || fail "prerun: $?"
	start_etcd
	holds "what was restored" "$A_STATE"
	assert_eq "leftovers" "$(leftovers)" ""
}

# A backup is being made while another one is to be deleted: the deletion waits or fails with a message. Both backups
# are complete.
both_backup_and_prune() {
	a_green "$1"
	stop_etcd
	gbe backup old
	stop_in greenboot-etcd backup-cloned backup new
	assert_exit 4 gbe delete old --force
	assert_match "stderr" "$ERR" "*backup, pid $HOLDER*"
	assert_exit 4 gbe prune
	assert_missing "$(store)/new"
	go_on
	assert_eq "backup" "$STATUS" 0
	assert_exit 0 gbe delete old --force
	assert_eq "new" "$(tree_digest "$(store)/new/data")" "$(tree_digest "$DATA")"
	assert_eq "leftovers" "$(leftovers)" ""
}

# etcd cannot open its database while it is copied, and the copy equals the original. (etcd makes and removes files
# next to the database before it asks for its lock, so a backup may notice a change.)
etcd_in_the_middle() {
	local digest point=$2 operation=$3
	shift 3

	a_green "${FS:-xfs}"
	stop_etcd
	gbe backup snap
	digest=$(tree_digest "$DATA")
	# shellcheck disable=SC2086
	stop_in greenboot-etcd "$point" $operation
	# etcd 3.4 waits for its lock without a limit.
	etcd_run
	sleep 1
	[[ $(curl -s -m 1 "http://127.0.0.1:$ETCD_PORT/health") != *true* ]] ||
		fail "etcd came up in the middle of it"
	kill_etcd
	go_on
	assert_match "$operation" "$STATUS" "[06]"
	assert_eq "the data" "$(tree_digest "$DATA")" "$digest"
	assert_eq "the copy" "$(tree_digest "$(store)/snap/data")" "$digest"
	if [[ $STATUS == 6 ]]; then
		assert_match "what it says" "$(<"$GBE_MEM/held.err")" "*another modification time*"
		assert_missing "$(store)/again"
	elif [[ -e $(store)/again ]]; then
		assert_eq "the new copy" "$(tree_digest "$(store)/again/data")" "$digest"
	fi
	start_etcd
	assert_eq "key" "$(get owner)" A
}

# The lock's holder is dead, so the lock is free. The name in the file does not count.
lock_of_the_dead() {
	a_green "$1"
	A_STATE=$(etcd_state)
	stop_etcd
	stop_in greenboot-etcd backup-cloned backup dead
	kill -KILL "$HOLDER"
	wait "$STARTED" || true
	assert_some "left by the dead" "$(leftovers | wc -l)"
	printf '1 backup of a process that still runs\n' >"$(state lock)"
	assert_exit 0 gbe backup alive
	assert_eq "leftovers" "$(leftovers)" ""
	rm "$(state lock)"
	power_on
	a_is_back
	assert_exit 0 gbe delete alive --force
}

# The lock's holder hangs: the start ends at its deadline, with the pid in the message. The same system continues.
# Another system does not get the data.
lock_of_a_hanging_one() {
	local began=$SECONDS

	a_green "$1"
	put last "word of A"
	A_STATE=$(etcd_state)
	stop_etcd
	stop_in greenboot-etcd backup-cloned backup hanging
	hook prerun >"$GBE_MEM/same" 2>&1 &
	if ! wait $!; then
		cat "$GBE_MEM/same" >&2
		fail "the same deployment is held back"
	fi
	cat "$GBE_MEM/same" >&2
	assert_match "what it says" "$(<"$GBE_MEM/same")" "*backup, pid $HOLDER*holds the lock*"
	((SECONDS - began < 50)) || fail "it took $((SECONDS - began)) s"
	# A program that cannot start at the shutdown also reports it.
	assert_exit 1 hook finalize
	assert_match "what it says" "$ERR" "*backup, pid $HOLDER*holds the lock*"
	kill -KILL "$HOLDER"
	wait "$STARTED" || true
	power_on
	a_is_back
}

# greenboot starts the program without a sandbox, so the program makes one.
health_is_confined() {
	a_green "${FS:-xfs}"
	stop_in health health-recorded
	assert_eq "no new privileges" "$(awk '/^NoNewPrivs/ { print $2 }' "/proc/$HOLDER/status")" 1
	# CAP_DAC_OVERRIDE and CAP_FOWNER.
	assert_eq "capabilities" "$(awk '/^CapPrm/ { print $2 }' "/proc/$HOLDER/status")" 000000000000000a
	go_on
	assert_eq "health" "$STATUS" 0
	assert_match "what it recorded" "$(gbe --json status)" '*"health" : "healthy"*'
}

suite_begin "$@"
FS=${FS:-ext4} play both preruns
FS=${FS:-xfs} play both prerun_and_restore restore_and_prerun
FS=${FS:-ext4} play both backup_and_prune
run_case health-is-confined health_is_confined
run_case etcd-during-backup etcd_in_the_middle - backup-cloned "backup again"
run_case etcd-during-restore etcd_in_the_middle - restore-staged "restore snap"
FS=${FS:-xfs} play lock of_the_dead of_a_hanging_one
suite_end
