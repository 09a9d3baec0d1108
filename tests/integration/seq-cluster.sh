#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A device whose etcd is one member of several. Its data is never restored automatically: a member that forgets its
# promises to the others is worse than a missing one. The numbers are those of the design's list of sequences.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# run_field KEY: prints a field of the newest run's record.
run_field() {
	ledger "[.[] | select(.kind == \"verdict\")][-1].$1"
}
ETCD_OPTIONS=(--strict-reconfig-check=false)
owner_is() { assert_eq "$1" "$(get owner)" "$2"; }

# a_member KIND: A is green, and by then one of three members.
a_member() {
	device "$1"
	power_on
	started
	put_many base 10
	put owner A
	join_peers 2
	judge green
	assert_eq "health" "$(run_field health)" healthy
	assert_eq "voters" "$(run_field voters)" 3
}

# 58: one of three members rolls back
seq_58() {
	local name last
	a_member "$1"
	into_b
	assert_eq "voters in the ledger" "$(ledger '[.[] | select(.kind == "take-over")][-1].voters')" 3
	name=$(backup_name '.deployment == "'"${DEPLOYMENT[A]}"'"')
	assert_json .voters 3 show "$name"
	assert_match "member" "$(json .member_id show "$name")" "????????????????"
	put owner B
	# Each attempt of B continues with its data, and so does A.
	fail_until_rollback owner_is "the next attempt" B
	booted A
	started
	assert_match "prerun" "$(<"$PRERUN_LOG")" "*rule 10a*member of a cluster*remove*add*"
	owner_is "A keeps the data" B
	assert_eq "backups that a restore displaced" "$(backups '.grade == "bad"')" 0
	wait_members 3
	judge green
	assert_eq "health" "$(run_field health)" healthy
	# It still counts as one of three.
	last=$(get owner)
	stop_etcd
	assert_exit 5 gbe restore "$name"
	assert_match "stderr" "$ERR" "*3 voters*remove this member*--force*"
	assert_exit 5 gbe restore --last-good
	assert_match "stderr" "$ERR" "*3 voters*remove this member*--force*"
	assert_exit 5 gbe restore --next-boot "$name"
	assert_exit 1 gbe undo
	assert_match "stderr" "$ERR" "*nothing to undo*"
	start_etcd
	owner_is "nothing has changed" "$last"
	stop_etcd
	# ---- with --force ----
	assert_exit 0 gbe restore --force "$name"
	assert_exit 5 gbe undo
	assert_exit 0 gbe undo --force
	start_etcd
	owner_is "undone" "$last"
	wait_members 3
}

# A return to an older deployment and a repeated attempt also do not rewind a member.
seq_58_return() {
	a_member "$1"
	into_b
	put owner B
	judge green
	roll_back_to A
	started
	assert_match "prerun" "$(<"$PRERUN_LOG")" "*rule 10b*member of a cluster*"
	owner_is "A keeps the data" B
}

# The others are away: a rollback of this device does not bring them back. A learner has no vote.
seq_58_quorum() {
	local pid
	a_member "$1"
	into_b
	for pid in "${PEER_PIDS[@]}"; do kill -STOP "$pid"; done
	config health timeout=2s request-timeout=1s
	assert_exit 0 hook health
	assert_match "stderr" "$ERR" "*Cannot tell*@(has no leader|does not agree)*"
	assert_eq "health" "$(run_field health)" cannot-tell
	assert_eq "voters" "$(run_field voters)" 3
	for pid in "${PEER_PIDS[@]}"; do kill -CONT "$pid"; done
	wait_members 3
	config health timeout=20s
	assert_exit 0 hook health
	assert_match "stderr" "$ERR" "*healthy*3 members*"
}

seq_58_learner() {
	device "$1"
	power_on
	put owner A
	join_peers 1 --learner
	judge green
	assert_eq "voters" "$(run_field voters)" 1
	assert_eq "health" "$(run_field health)" healthy
	# A learner has no vote, and no decision waits for it.
	config etcd endpoint="$(sed -n 's/.*--listen-client-urls=\([^ ]*\).*/\1/p' <<<"${PEER_OPTIONS[1]}")"
	assert_exit 0 gbe health --wait=10s
	assert_match "health" "$OUT" "*learner*"
}

rewinds() { gbe --json explain "$@" | jq '[.actions[].action] | index("restore") != null'; }

# A second voter joins after the boot: explain and status announce what the next start does, which checks the members.
seq_58_since() {
	device "$1"
	power_on
	put_many base 10
	put owner A
	judge green
	into_b
	put owner B
	judge green
	assert_eq "voters in the record" "$(run_field voters)" 1
	assert_eq "alone" "$(rewinds --booted=rollback --return=deliberate)" true
	join_peers 1
	assert_eq "voters in the record" "$(run_field voters)" 1
	assert_eq "one of two" "$(rewinds --booted=rollback --return=deliberate)" false
	make_default A
	assert_eq "explain" "$(rewinds)" false
	assert_ne "status" "$(json .next.action status)" restore
	reboot
	booted A
	started
	wait_members 2
	owner_is "as was announced" B
}

suite_begin "$@"
play seq 58
FS=${FS:-xfs} play seq 58_return 58_quorum 58_learner 58_since
suite_end
