#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The members of a cluster of real etcds: their state, and changes by hand and at random.
#
#     N=       random histories (default 3)        SEED=  of the first one (default: the day's)
#
# etcd's own check is off (--strict-reconfig-check=false), so that only the program keeps the quorum.

# shellcheck disable=SC2034,SC2317,SC2119,SC2153 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../../lib/all.sh"

ETCD_OPTIONS=(--strict-reconfig-check=false)

a_device() {
	device "${FS:-xfs}"
	config health request-timeout=2s
	start_etcd "${ETCD_OPTIONS[@]}"
}

# new_ports: sets PORT. It and the next port are free, and unused by these tests.
new_ports() {
	local own=$ETCD_PORT

	etcd_ports
	PORT=$ETCD_PORT ETCD_PORT=$own
}

# options_of N PORT: reads from OUT the options for the new etcd into PEER_OPTIONS, and its ID.
options_of() {
	PEER_PORT[$1]=$2 ID=$(of .id)
	PEER_OPTIONS[$1]="--name=peer$1 --data-dir=$GBE_MEM/peer$1 \
		--initial-cluster=$(of .environment.ETCD_INITIAL_CLUSTER) \
		--initial-advertise-peer-urls=$(of .environment.ETCD_INITIAL_ADVERTISE_PEER_URLS) \
		--initial-cluster-state=$(of .environment.ETCD_INITIAL_CLUSTER_STATE) \
		--listen-client-urls=http://127.0.0.1:$2 --advertise-client-urls=http://127.0.0.1:$2 \
		--listen-peer-urls=http://127.0.0.1:$(($2 + 1)) --strict-reconfig-check=false \
		--heartbeat-interval=10 --election-timeout=100"
}

# join N: adds member peerN as a learner, starts it, and promotes it.
join() {
	new_ports
	assert_exit 0 gbe --json member add "http://127.0.0.1:$((PORT + 1))" --name="peer$1" --no-backup
	options_of "$1" "$PORT"
	start_peer "$1"
	assert_exit 0 gbe member promote "$ID" --wait=60s --no-backup
	# etcd reports the name a moment after the member has caught up.
	assert_match "promoted" "$OUT" "* is a voter"
}

three() {
	a_device
	join 1
	join 2
}

stop_peer() {
	# A removed member has ended on its own.
	kill -KILL "${PEER_PIDS[$1]}" 2>/dev/null || true
	wait "${PEER_PIDS[$1]}" 2>/dev/null || true
	unset "PEER_PIDS[$1]"
}

state_of() { json ".members[] | select(.name == \"$1\") | .state" cluster status; }
state_is() { [[ $(state_of "$1") == "$2" ]]; }
working_is() { [[ $(json .working cluster status) == "$1" ]]; }

status() {
	a_device
	assert_exit 0 gbe cluster status
	assert_match "text" "$OUT" "*Voters: 1 of 1 work, 1 have to*May stop: none: the cluster would stop*default*leader*"
	assert_exit 0 gbe --json cluster status
	fits cluster-status
	assert_eq "alone" "$(of '[.voters, .working, .quorum, .members[0].may_stop, .members[0].self] | join(" ")')" \
		"1 1 1 false true"
	join 1
	join 2
	assert_exit 0 gbe --json cluster status
	fits cluster-status
	assert_eq "three" "$(of '[.voters, .working, .quorum] | join(" ")')" "3 3 2"
	assert_eq "each may stop" "$(of '[.members[].may_stop] | unique | join(" ")')" true
	assert_eq "one leads" "$(of '[.members[] | select(.state == "leader")] | length')" 1
	stop_peer 1
	soon "a state of down" state_is peer1 down
	assert_exit 0 gbe cluster status
	assert_match "two of three" "$OUT" "*2 of 3 work*May stop: none: the cluster would stop: of 3 voters only 1 would*"
	assert_match "the reason" "$OUT" "*peer1: http*refused*"
	start_peer 1
	soon "three that work" working_is 3
	stop_etcd
	assert_exit 7 gbe cluster status
	assert_match "no list of members" "$ERR" "*does not list the members*"
}

refused() {
	a_device
	new_ports
	put before 1
	assert_exit 0 gbe backup --live first
	assert_exit 5 gbe member add --voter "http://127.0.0.1:$PORT"
	assert_match "a second voter" "$ERR" "*of 2 voters only 1 would work, and 2 have to*"
	assert_exit 0 gbe --json member add -n "http://127.0.0.1:$PORT"
	fits member-change
	assert_eq "nothing happened" "$(json '.members | length' member list)" 1
	assert_eq "backups" "$(backups true)" 1
	assert_exit 5 gbe member add "http://127.0.0.1:$((ETCD_PORT + 1))"
	assert_match "an address that is taken" "$ERR" "*default has the address*already*"
	assert_exit 5 gbe member remove default
	assert_match "the last one" "$ERR" "*the last voter*"
	assert_exit 5 gbe member promote default
	assert_exit 1 gbe member promote nobody
	assert_match "the names" "$ERR" "*no member is named nobody; the members are default*"
	assert_exit 2 gbe member add 127.0.0.1:1
	assert_exit 2 gbe member add
	assert_exit 2 gbe member remove default other
	assert_exit 2 gbe member remove default --voter
	assert_exit 2 gbe member promote default --wait=soon
	assert_exit 2 gbe member list --force
	assert_exit 2 gbe member update default "http://127.0.0.1:$PORT" --no-backup
	assert_exit 2 gbe cluster frob
	# Two members, one after the other.
	assert_exit 0 gbe --json member add "http://127.0.0.1:$PORT" --name=peer1
	fits member-change
	assert_eq "the backup" "$(json .description show "$(of .backup)")" "before member add"
	assert_exit 5 gbe member add "http://127.0.0.1:$((PORT + 1))"
	assert_match "two joins at once" "$ERR" "*learner already*promote or remove*"
	# A member that never starts is not promoted, and is removed again.
	assert_exit 5 gbe member promote "$(json '.members[] | select(.learner) | .id' member list)"
	assert_exit 0 gbe member remove "$(json '.members[] | select(.learner) | .id' member list)"
	assert_eq "alone again" "$(json '.members | length' member list)" 1
	assert_eq "a backup before each" "$(backups true)" 3
	put after 1
}

# Without clones the copy is a snapshot; the same with a remote endpoint.
copied() {
	FS=ext4 a_device
	put before 1
	new_ports
	assert_exit 0 gbe --json member add "http://127.0.0.1:$PORT" --name=peer1
	assert_eq "the copy" "$(of .backup)" /var/lib/greenboot-etcd/before-maintenance.db
	assert_exit 0 gbe verify /var/lib/greenboot-etcd/before-maintenance.db
	rm "$ROOT/var/lib/greenboot-etcd/before-maintenance.db"
	assert_exit 0 gbe --json member remove "$(json '.members[] | select(.learner) | .id' member list)" --no-backup
	assert_eq "no copy" "$(of .backup)" null
	[[ ! -e $ROOT/var/lib/greenboot-etcd/before-maintenance.db ]] || fail "a copy was made"
}

leader_goes() {
	local leader other

	three
	put before 1
	leader=$(json '.members[] | select(.state == "leader") | .name' cluster status)
	assert_exit 0 gbe member remove "$leader"
	other=$(json '.members[] | .name' member list 2>/dev/null || true)
	if [[ $leader == default ]]; then
		# That ended its etcd.
		wait "$ETCD_PID" || true
		ETCD_PID='' ETCD_PORT=${PEER_PORT[1]}
		config_write
	fi
	soon "a leader" working_is 2
	assert_eq "$other: the key" "$(get before)" 1
	put after 1
}

# A new member replaces a dead one, and gets all data.
replaced() {
	three
	put_many base 50
	stop_peer 1
	soon "a state of down" state_is peer1 down
	new_ports
	assert_exit 5 gbe member replace peer2 "http://127.0.0.1:$((PORT + 1))" --name=peer3
	assert_match "a living one" "$ERR" "*would stop*"
	assert_exit 0 gbe --json member replace peer1 "http://127.0.0.1:$((PORT + 1))" --name=peer3
	fits member-change
	options_of 3 "$PORT"
	start_peer 3
	assert_exit 0 gbe member promote "$ID" --wait=60s
	soon "three that work" working_is 3
	put after 1
	ETCD_PORT=${PEER_PORT[3]}
	assert_eq "keys at the new one" "$(ctl get --prefix '' --keys-only | grep -c .)" 51
}

# A member has another address from its next start on.
updated() {
	local id

	three
	stop_peer 2
	soon "a state of down" state_is peer2 down
	new_ports
	id=$(json '.members[] | select(.name == "peer2") | .id' member list)
	assert_exit 5 gbe member update "$id" "http://127.0.0.1:$((ETCD_PORT + 1))"
	assert_exit 5 gbe member update peer1 "http://127.0.0.1:$((PORT + 1))"
	assert_match "one that the others need" "$ERR" "*would stop: of 3 voters only 1 would work*"
	assert_exit 0 gbe member update "$id" "http://127.0.0.1:$((PORT + 1))"
	PEER_OPTIONS[2]=${PEER_OPTIONS[2]/listen-peer-urls=http:\/\/127.0.0.1:$((PEER_PORT[2] + 1))/listen-peer-urls=http://127.0.0.1:$((PORT + 1))}
	start_peer 2
	soon "three that work" working_is 3
	assert_eq "its address" "$(json '.members[] | select(.name == "peer2") | .peer_urls[0]' member list)" \
		"http://127.0.0.1:$((PORT + 1))"
}

# ---- at random ----

# Each member has each write that etcd acknowledged.
all_written() {
	local n

	for ((n = 0; n < WRITES; n++)); do
		[[ $(get "w$n" 2>/dev/null) == "$n" ]] || fail "seed $SEED step $STEP: write $n is lost"
	done
}

writes() {
	if ctl --command-timeout=5s put "w$WRITES" "$WRITES" >/dev/null 2>&1; then
		WRITES=$((WRITES + 1))
		return 0
	fi
	return 1
}

# A step by the program never takes the quorum away: a cluster that could write can still write.
random_step() {
	local names name how n=$((RANDOM % 9)) could=no

	! writes || could=yes
	mapfile -t names < <(json '.members[] | .name // .id' member list 2>/dev/null)
	# Without an answer, it is a member that the program knows.
	[[ ${names[*]} ]] || names=(default)
	name=${names[RANDOM % ${#names[@]}]}
	DONE="$n $name"
	case $n in
	0 | 1)
		NEXT=$((NEXT + 1))
		new_ports
		how=(--name="peer$NEXT")
		[[ $n == 0 ]] || how+=(--voter)
		if gbe_quiet member add "http://127.0.0.1:$((PORT + 1))" "${how[@]}"; then
			options_of "$NEXT" "$PORT"
			start_peer "$NEXT"
		fi
		;;
	2 | 3) gbe_quiet member promote "$name" --wait=2s || true ;;
	4) [[ $name == default ]] || ! gbe_quiet member remove "$name" || gone "$name" ;;
	5)
		NEXT=$((NEXT + 1))
		new_ports
		if [[ $name != default ]] &&
			gbe_quiet member replace "$name" "http://127.0.0.1:$((PORT + 1))" --name="peer$NEXT"; then
			gone "$name"
			options_of "$NEXT" "$PORT"
			start_peer "$NEXT"
		fi
		;;
	6)
		# A device loses power; the next step starts it again.
		[[ $name != peer* || ! ${PEER_PIDS[${name#peer}]-} ]] || stop_peer "${name#peer}"
		return
		;;
	7 | 8)
		for n in "${!PEER_OPTIONS[@]}"; do
			[[ ${PEER_PIDS[$n]-} ]] || start_peer "$n"
		done
		;;
	esac
	[[ $could == no ]] || soon "seed $SEED step $STEP ($DONE): a write" writes
}

# The last output stays in OUT.
gbe_quiet() { OUT=$("$BUILD/greenboot-etcd" --root="$ROOT" --json "$@" 2>"$GBE_MEM/said"); }

gone() {
	local n=${1#peer}

	[[ $1 == peer* ]] || return 0
	[[ ! ${PEER_PIDS[$n]-} ]] || stop_peer "$n"
	unset "PEER_OPTIONS[$n]"
	rm -rf "$GBE_MEM/peer$n"
}

history() {
	SEED=$1
	RANDOM=$SEED WRITES=0 NEXT=0
	a_device
	config health request-timeout=1s
	for ((STEP = 0; STEP < 16; STEP++)); do
		random_step
	done
	for n in "${!PEER_OPTIONS[@]}"; do
		[[ ${PEER_PIDS[$n]-} ]] || start_peer "$n"
	done
	soon "seed $SEED: a write at the end" writes
	all_written
}

suite_begin "$@"
run_case status status
run_case refused refused
run_case copied copied
run_case leader-goes leader_goes
run_case replaced replaced
run_case updated updated
if [[ $ETCD_NEXT ]]; then
	run_case replaced-next with "$ETCD_NEXT" replaced
fi
SEED=${SEED:-$(date +%Y%m%d)}
for ((n = 0; n < ${N:-3}; n++)); do
	run_case "history-$((SEED + n))" history $((SEED + n))
done
suite_end
