#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The update lock: devices with a real ostree sysroot and real etcds, which form one cluster.
#
#     N=       random histories (default 2)        SEED=  of the first one (default: the day's)

# shellcheck disable=SC2016,SC2034,SC2317,SC2119,SC2153 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../../lib/all.sh"

# ---- several devices ----

OF_DEVICE="ROOT BOOT DATA IMAGE KIND MOUNT_OPTIONS STATEROOT DEPLOYMENT FLAVOUR BOOTED PRERUN PRERUN_LOG FINALIZE FINALIZE_LOG \
HEALTH AFTER GRUB_INDEX ETCD_PID ETCD_HOST ETCD_PORT ETCD_IN TRACER ETCD_LOG ETCD_OPTIONS"
DEVICE=
ROOTS=()
NETWORKS=() # of the devices: process ids; none: all are in the suite's

# on N: makes device N the current one.
on() {
	{ local - && set +x; } 2>/dev/null
	[[ $DEVICE != "$1" ]] || return 0
	[[ ! $DEVICE ]] || away
	# shellcheck disable=SC2086 # words
	unset $OF_DEVICE
	declare -gA DEPLOYMENT=()
	ETCD_OPTIONS=() ETCD_PID='' BOOTED='' ETCD_HOST=$(host_of "$1") ETCD_IN=()
	[[ ! ${NETWORKS[$1]-} ]] || ETCD_IN=(nsenter "--net=/proc/${NETWORKS[$1]}/ns/net")
	TRACER=("${ETCD_IN[@]}")
	DEVICE=$1
	# shellcheck source=/dev/null
	[[ ! -e $GBE_MEM/device$1 ]] || . "$GBE_MEM/device$1"
}
away() {
	local name
	for name in $OF_DEVICE; do
		declare -p "$name" 2>/dev/null || true
	done | sed 's/^declare /declare -g /' >"$GBE_MEM/device$DEVICE"
}

# own_networks: gives each device a network, and all of them a bridge. unplug N and plug N remove and add N's cable.
own_networks() {
	local n
	ip link add bridge type bridge
	ip addr add 10.9.0.254/24 dev bridge
	ip link set bridge up
	for n in 1 2 3; do
		unshare --net sleep infinity &
		NETWORKS[n]=$!
		soon "a network" is_elsewhere $!
		ip link add "cable$n" type veth peer name eth0 netns $!
		ip link set "cable$n" master bridge up
		nsenter --net=/proc/$!/ns/net sh -euc "ip link set lo up; ip addr add 10.9.0.$n/24 dev eth0; ip link set eth0 up"
	done
	UNPLUGGED=
}
is_elsewhere() { [[ $(readlink "/proc/$1/ns/net") != "$(readlink /proc/self/ns/net)" ]]; }
host_of() { [[ ${NETWORKS[$1]-} ]] && echo "10.9.0.$1" || echo 127.0.0.1; }
unplug() {
	ip link set "cable$1" down
	UNPLUGGED=$1
}
plug() {
	ip link set "cable$UNPLUGGED" up
	UNPLUGGED=
}

# new_device N: makes a running device with an etcd: the first of a cluster, or one more voter.
new_device() {
	local port cluster
	if [[ $1 != 1 ]]; then
		on 1
		port=$ETCD_PORT
		etcd_ports
		PORT=$ETCD_PORT ETCD_PORT=$port
		assert_exit 0 gbe --json member add "http://$(host_of "$1"):$((PORT + 1))" --name="device$1"
		ID=$(of .id) cluster=$(of .environment.ETCD_INITIAL_CLUSTER)
	fi
	on "$1"
	device xfs
	ROOTS[$1]=$ROOT
	config health request-timeout=3s
	config cluster update-lock=yes
	config preflight rehearse=no
	if [[ $1 == 1 ]]; then
		ETCD_OPTIONS=(--name=device1 --initial-cluster="device1=http://$ETCD_HOST:$((ETCD_PORT + 1))")
	else
		ETCD_PORT=$PORT
		config_write
		ETCD_OPTIONS=(--name="device$1" --initial-cluster="$cluster" --initial-cluster-state=existing)
	fi
	ETCD_OPTIONS+=(--strict-reconfig-check=false)
	machine_on
	etcd_run "${ETCD_OPTIONS[@]}"
	if [[ $1 != 1 ]]; then
		on 1
		assert_exit 0 gbe member promote "$ID" --wait=60s
		on "$1"
	fi
	etcd_wait
	judge green
}

# devices COUNT: makes them.
devices() {
	local n HEALTH_TIMEOUT=4s
	rm -f "$GBE_MEM"/device?
	for ((n = 1; n <= $1; n++)); do new_device "$n"; done
	on 1
}

case_cleanup() {
	local n
	{ set +xeu; } 2>/dev/null
	trap - ERR
	for n in "${!ROOTS[@]}"; do
		on "$n"
		kill_etcd
		root_free
	done
	kill_etcd
	kill_peers
	root_free
	for n in "${!NETWORKS[@]}"; do
		ip link del "cable$n"
		kill "${NETWORKS[n]}"
	done
	[[ ${#NETWORKS[@]} == 0 ]] || ip link del bridge
}

# ---- words ----

# tick: runs the program that the timer starts. ACTION is what it did.
tick() {
	assert_exit 0 gbe --json cluster lock --for-update
	fits cluster-lock
	ACTION=$(of .action) SAID=$(of '.said // ""')
}
ticks() { # ACTION [PATTERN]
	local n
	for n in {1..20}; do
		tick
		# On a busy machine a cluster may be without a leader for a moment.
		[[ $1 != waits && $ACTION == waits && $SAID == *"knows no leader"* ]] || break
		nap 0.5
	done
	assert_eq "device $DEVICE: what the timer did ($SAID)" "$ACTION" "$1"
	[[ $# == 1 ]] || assert_match "device $DEVICE: what it said" "$SAID" "$2"
}
held_back() { [[ -e $ROOT/run/ostree/staged-deployment-locked ]]; }
is_free() { ! held_back || fail "device $DEVICE: the update is held back"; }
is_held_back() { held_back || fail "device $DEVICE: the update is not held back"; }
lock_is() { assert_eq "the lock" "$(json "[.update_lock.state, .update_lock.member] | map(. // \"none\") | join(\" \")" cluster status)" "$1"; }
record_state() { sed '/^sha256 /d' "$ROOT/var/lib/greenboot-etcd/update-lock" 2>/dev/null | jq -r .state 2>/dev/null || true; }
# The trace shows the resulting status.
all_work() {
	STATUS=$(gbe cluster status) || return
	[[ $STATUS =~ 'Voters: '([0-9]+)' of '([0-9]+)' work' && ${BASH_REMATCH[1]} == "${BASH_REMATCH[2]}" ]]
}
comes_back() {
	power_on
	soon "a cluster that works" all_work
}
# goes_into NAME: reboots the device, which must have NAME.
goes_into() {
	shutdown
	comes_back
	booted "$1"
}

# ---- cases ----

taken() {
	devices 3
	ticks none
	lock_is "none none"
	assert_match "text" "$(gbe cluster status)" "*Update lock: free*"
	update B
	is_free
	ticks taken
	is_free
	lock_is "held device1"
	assert_exit 0 gbe --json cluster status
	fits cluster-status
	assert_eq "it" "$(of '.update_lock | [.own, .overdue, .deployment] | join(" ")')" "true false ${DEPLOYMENT[B]}"
	assert_match "text" "$(gbe cluster status)" "*Update lock: held by device1 for the update fedora-iot-*, since 2*"
	ticks held
	goes_into B
	ticks held
	judge green
	# The next update of this device waits until other devices had their chance.
	update A.1 A
	ticks released
	is_held_back
	lock_is "none none"
	unstage
	ticks none
	assert_missing "$ROOT/var/lib/greenboot-etcd/update-lock"
	assert_eq "leases" "$(ctl lease list | grep -c '^[0-9a-f]*$' || true)" 0
	ticks none
}

# An update that is staged a moment before the shutdown is not booted.
at_shutdown() {
	devices 1
	update B
	goes_into A
	assert_match "what it says" "$(<"$FINALIZE_LOG")" "*is not booted: this device does not hold the update lock*"
	# In a cluster of one member each update stops the whole cluster; no other device waits.
	update B
	ticks taken
	goes_into B
	judge green
	ticks released
	# A lock that was taken for one update does not count for an update that is staged later.
	update A.1 A
	ticks taken
	unstage
	os_commit C
	update C
	goes_into B
	ticks released
	config cluster update-lock=no
	update C
	goes_into C
}

second_waits() {
	devices 3
	update B
	ticks taken
	on 2
	update B
	ticks waits "*held by device1 for the update*"
	is_held_back
	assert_exit 5 gbe cluster lock
	assert_match "who" "$ERR" "*not free: held by device1*"
	assert_exit 5 gbe cluster unlock
	assert_match "who" "$ERR" "*held by device1*"
	goes_into A
	update B
	ticks waits
	# The first device is down and has the lock.
	on 1
	shutdown
	on 2
	ticks waits "*held by device1*"
	on 1
	comes_back
	booted B
	judge green
	ticks released
	on 2
	ticks taken
	is_free
	lock_is "held device2"
	goes_into B
	judge green
	ticks released
}

goes_red() {
	devices 3
	update B
	ticks taken
	goes_into B
	judge red
	ticks failed "*${DEPLOYMENT[B]} is red"
	lock_is "failed device1"
	while [[ $BOOTED == B ]]; do
		shutdown
		comes_back
		[[ $BOOTED != B ]] || judge red
	done
	ticks failed "*did not become green, and *${DEPLOYMENT[A]} is booted"
	ticks failed
	assert_match "status" "$(json '.warnings | join(" ")' status)" "*an update failed here, and the other members*"
	assert_match "text" "$(gbe cluster status)" "*Update lock: failed on device1: *since*no other member updates; \`greenboot-etcd cluster unlock --force\`*"
	judge green
	ticks failed
	on 2
	update B
	ticks waits "*failed on device1: *"
	is_held_back
}

red_stops() {
	goes_red
	assert_exit 5 gbe cluster unlock
	assert_match "why" "$ERR" "*failed on device1*--force*"
	assert_exit 0 gbe cluster unlock --force -n
	lock_is "failed device1"
	assert_exit 0 gbe cluster unlock --force
	assert_match "what" "$OUT" "*is free: it was failed on device1*"
	ticks taken
	on 1
	# The device does not stop them again.
	ticks none
	assert_missing "$ROOT/var/lib/greenboot-etcd/update-lock"
	lock_is "held device2"
}

# The device whose update failed may first try a better update.
better_one() {
	goes_red
	on 1
	os_commit C
	update C
	ticks held
	lock_is "held device1"
	is_free
	goes_into C
	judge green
	ticks released
	on 2
	ticks taken
}

one_is_down() {
	devices 3
	on 3
	stop_etcd
	on 1
	update B
	ticks waits "*device3 does not work: *"
	is_held_back
	assert_exit 5 gbe cluster lock
	assert_match "why" "$ERR" "*not given: device3 does not work*"
	on 3
	start_etcd "${ETCD_OPTIONS[@]}"
	on 1
	soon "a cluster that works" all_work
	ticks taken
	is_free
	# An update that is held back stays held back.
	on 3
	stop_etcd
	on 1
	ticks held
	is_free
}

no_quorum() {
	local n
	devices 3
	for n in 2 3; do on "$n" && stop_etcd; done
	on 1
	update B
	ticks waits
	is_held_back
	assert_exit 7 gbe cluster lock
	assert_exit 7 gbe cluster unlock --force
	goes_into_alone A
	for n in 2 3; do on "$n" && etcd_run "${ETCD_OPTIONS[@]}"; done
	on 1
	soon "a cluster that works" all_work
	update B
	ticks taken
	for n in 2 3; do on "$n" && stop_etcd; done
	on 1
	ticks waits
	is_free
}
goes_into_alone() {
	shutdown
	machine_on
	etcd_run "${ETCD_OPTIONS[@]}"
	booted "$1"
}

# The holder, and then another device, is cut off from the others.
partitioned() {
	own_networks
	devices 3
	update B
	ticks taken
	put before 1
	unplug 1
	ticks waits
	is_free
	assert_exit 7 gbe cluster unlock --force
	on 2
	soon "a leader" put meanwhile 2
	update B
	ticks waits "*held by device1*"
	is_held_back
	assert_eq "who works" "$(json '[.members[] | select(.state == "down") | .name] | join(" ")' cluster status)" device1
	assert_exit 5 gbe member remove device3
	plug
	soon "a cluster that works" all_work
	on 1
	soon "what was written meanwhile" eval '[[ $(get meanwhile) == 2 ]]'
	ticks held
	goes_into B
	judge green
	ticks released
	unplug 3
	on 3
	update B
	ticks waits
	is_held_back
	assert_exit 7 gbe cluster lock
	on 2
	ticks waits "*device3 does not work*"
	is_held_back
	plug
	soon "a cluster that works" all_work
	ticks taken
	on 3
	ticks waits "*held by device2*"
	assert_eq "before" "$(get before)" 1
}

by_hand() {
	devices 2
	assert_exit 0 gbe cluster lock -n
	lock_is "none none"
	assert_exit 0 gbe --json cluster lock
	fits cluster-lock
	assert_match "text" "$(gbe cluster status)" "*Update lock: held by device1, by hand, since*"
	assert_exit 0 gbe cluster lock
	ticks held
	on 2
	update B
	ticks waits "*held by device1, by hand"
	on 1
	assert_exit 0 gbe --json cluster unlock
	fits cluster-lock
	assert_exit 0 gbe cluster unlock
	assert_match "free" "$OUT" "*is free*"
	on 2
	ticks taken
	# Another client removes the key: the device asks for its turn again.
	on 1
	assert_exit 0 gbe cluster unlock --force
	assert_exit 0 gbe cluster lock
	on 2
	ticks waits
	is_held_back
	assert_exit 2 gbe cluster lock --force
	assert_exit 2 gbe cluster unlock --for-update
	assert_exit 2 gbe cluster lock now
}

# The end of the lease does not free the lock. It shows that the holder is silent.
lease_ends() {
	devices 3
	update B
	ticks taken
	goes_into B
	ctl lease revoke "$(sed '/^sha256 /d' "$ROOT/var/lib/greenboot-etcd/update-lock" | jq -r .id)" >/dev/null
	on 2
	update B
	ticks waits "*held by device1*"
	assert_eq "overdue" "$(json .update_lock.overdue cluster status)" true
	assert_match "text" "$(gbe cluster status)" "*nothing was heard of the holder*no other member updates*"
	on 1
	ticks held
	assert_eq "overdue" "$(json .update_lock.overdue cluster status)" false
	judge green
	ticks released
	on 2
	ticks taken
}

# Another program wrote the key, or the record is broken.
foreign() {
	local value
	devices 1
	update B
	for value in '' nonsense '{}' '{"id":"0123456789abcdef","state":"gone"}' "$(head -c 3000 /dev/zero | tr '\0' x)"; do
		ctl put greenboot-etcd/update-lock/default/1 "$value" >/dev/null
		ticks waits
		is_held_back
		# A value that this program cannot read makes the lock's state unknown.
		assert_exit "$([[ ${#value} -lt 2000 ]] && echo 5 || echo 7)" gbe cluster lock
		assert_exit 0 gbe cluster status
	done
	ctl del greenboot-etcd/update-lock/default/1 >/dev/null
	ticks taken
	echo nonsense >"$ROOT/var/lib/greenboot-etcd/update-lock"
	ticks waits "*held by device1 for the update*"
	is_held_back
	assert_exit 0 gbe cluster unlock --force
	ticks taken
	is_free
}

dropped() {
	devices 1
	update B
	ticks taken
	unstage
	ticks released
	lock_is "none none"
	# The power goes away before the update is the next one.
	update B
	ticks taken
	powercut
	comes_back
	booted A
	ticks released
}

with_rehearsal() {
	devices 1
	config preflight on-failed-rehearsal=lock
	unconfig preflight rehearse
	mkdir -p "$ROOT/usr/bin"
	cp "$(command -v "$ETCD")" "$ROOT/usr/bin/etcd"
	update B
	mkdir -p "$(deployment_dir B)/usr/bin"
	printf '#!/bin/sh\n[ "$1" != --version ] || { echo "etcd Version: 3.4.23"; exit 0; }\nexit 1\n' >"$(deployment_dir B)/usr/bin/etcd"
	chmod 0755 "$(deployment_dir B)/usr/bin/etcd"
	ticks taken
	is_free
	hook preflight || true
	assert_eq "the rehearsal" "$(json .rehearsal.result status)" failed
	is_held_back
	# Others need not wait for it.
	ticks released
	is_held_back
	ticks none
	goes_into A
	# The other order.
	assert_exit 0 gbe cluster lock
	ctl put greenboot-etcd/update-lock/default/1 '{}' >/dev/null
	update B
	ticks waits
	is_held_back
	cp "$(command -v "$ETCD")" "$(deployment_dir B)/usr/bin/etcd"
	hook preflight || true
	assert_eq "the rehearsal" "$(json .rehearsal.result status)" passed
	is_held_back
	ctl del greenboot-etcd/update-lock/default/1 >/dev/null
	ticks taken
	is_free
	# The update waits, and then its rehearsal fails: the failed rehearsal holds it back.
	unstage
	ticks released
	ctl put greenboot-etcd/update-lock/default/1 '{}' >/dev/null
	update B
	ticks waits
	mkdir -p "$(deployment_dir B)/usr/bin"
	printf '#!/bin/sh\n[ "$1" != --version ] || { echo "etcd Version: 3.4.23"; exit 0; }\nexit 1\n' >"$(deployment_dir B)/usr/bin/etcd"
	chmod 0755 "$(deployment_dir B)/usr/bin/etcd"
	hook preflight || true
	assert_eq "the rehearsal" "$(json .rehearsal.result status)" failed
	tick
	is_held_back
	ctl del greenboot-etcd/update-lock/default/1 >/dev/null
	tick
	is_held_back
	unstage
	update B
	mkdir -p "$(deployment_dir B)/usr/bin"
	cp "$(command -v "$ETCD")" "$(deployment_dir B)/usr/bin/etcd"
	ticks taken
	# A lock of another device stays.
	: >"$ROOT/run/ostree/staged-deployment-locked"
	ticks held
	is_held_back
}

# ticks_killed POINT: expects that it ends at POINT, and not before.
ticks_killed() {
	BUILD=$BUILD_FAULTS GREENBOOT_ETCD_FAULT=$1=kill assert_exit 137 gbe cluster lock --for-update
}

killed() {
	local point
	devices 1
	for point in wanted leased taken held; do
		update B
		ticks_killed "update-lock-$point"
		[[ $point == held ]] || goes_into A
		! staged || unstage
		[[ $point == taken ]] || ticks "$([[ $point == held ]] && echo released || echo none)"
		tick
		lock_is "none none"
		update B
		ticks_killed "update-lock-$point"
		[[ $point == wanted ]] || is_held_back
		tick
		is_free
		lock_is "held device1"
		ticks held
		unstage
		ticks_killed update-lock-removed
		lock_is "none none"
		ticks none
		assert_missing "$ROOT/var/lib/greenboot-etcd/update-lock"
	done
	update B
	ticks taken
	goes_into B
	judge red
	ticks_killed update-lock-failed
	lock_is "failed device1"
	ticks failed
	assert_eq "record" "$(record_state)" failed
}

# ---- at random ----

POINTS=(wanted leased taken held removed failed)

# together: prints the devices whose etcd runs and which this one reaches, itself included.
together() {
	local n c=0
	for n in 1 2 3; do
		[[ ${DOWN[n]} || ($n != "$DEVICE" && ($UNPLUGGED == "$n" || $UNPLUGGED == "$DEVICE")) ]] || c=$((c + 1))
	done
	echo "$c"
}

# An update stops this device, or is on trial on it: no other device may update.
begins_update() {
	local n
	for n in 1 2 3; do
		[[ $n == "$DEVICE" || ! ${UPDATES[n]} ]] ||
			fail "seed $SEED step $STEP: device $DEVICE goes into an update while device $n is in one (${UPDATES[n]})"
	done
	UPDATES[DEVICE]=$1 BEGUN=$((BEGUN + 1))
}

goes_down() {
	local before
	before=$(sysroot_list | sed -n 1p)
	shutdown
	DOWN[DEVICE]=orderly
	[[ $(sysroot_list | sed -n 1p) != "$before" ]] || return 0
	# The update is the next one.
	grubenv_edit boot_counter="$MAX_BOOT_ATTEMPTS" boot_success=0
	begins_update "a reboot into it"
}

# chance ONE-IN: succeeds once in so many calls.
chance() { ((RANDOM % $1 == 0)); }

random_up() {
	local before=$BOOTED
	machine_on
	etcd_run "${ETCD_OPTIONS[@]}"
	DOWN[DEVICE]=
	[[ $(together) -lt 2 ]] || soon "seed $SEED step $STEP: a healthy etcd on $DEVICE" etcd_healthy
	[[ $BOOTED == "$before" || ! ${UPDATES[DEVICE]} ]] || UPDATES[DEVICE]="booted $BOOTED"
	[[ ! ${UPDATES[DEVICE]} ]] || chance 2 || random_judge
}

random_judge() {
	[[ $(together) -ge 2 ]] || return 0
	judge "$(chance 2 && echo red || echo green)"
	if [[ $AFTER == reboot ]]; then
		goes_down
	elif [[ $(grubenv_get boot_success) == 1 && ${UPDATES[DEVICE]} == "booted "* ]]; then
		UPDATES[DEVICE]=
	fi
}

random_step() {
	local n
	for n in 1 2 3; do
		if [[ ! ${DOWN[n]} ]] || chance 3; then continue; fi
		on "$n"
		random_up
	done
	on $((RANDOM % 3 + 1))
	[[ ! ${DOWN[DEVICE]} ]] || return 0
	n=$((RANDOM % 24))
	DID="$n on $DEVICE, which has ${BOOTED}"
	case $n in
	0 | 1 | 2 | 3)
		staged || {
			NEXT=$((NEXT + 1))
			stage "U$NEXT" "$(chance 2 && echo A || echo B)"
		}
		;;
	4 | 5 | 6)
		GREENBOOT_ETCD_FAULT=update-lock-${POINTS[RANDOM % ${#POINTS[@]}]}=kill BUILD=$BUILD_FAULTS \
			gbe cluster lock --for-update >/dev/null 2>&1 || true
		;;
	7) goes_down ;;
	8)
		chance 2 || {
			powercut
			DOWN[DEVICE]=crashed
		}
		;;
	9 | 10 | 11) random_judge ;;
	12)
		# A person looks from time to time, and lets the others continue.
		if [[ $(together) == 3 && $(json .update_lock.state cluster status 2>/dev/null) == failed ]]; then
			gbe cluster unlock --force >/dev/null 2>&1 && UPDATES=(- '' '' '') && UNLOCKED=$((UNLOCKED + 1))
		fi
		;;
	13 | 14) if [[ $UNPLUGGED ]]; then plug; else unplug "$DEVICE"; fi ;;
	*) random_tick ;;
	esac
}
random_tick() {
	OUT=$(gbe --json cluster lock --for-update 2>/dev/null) || fail "seed $SEED step $STEP: the timer's call"
	case $(of .action) in
	taken) TAKEN=$((TAKEN + 1)) ;;
	released) RELEASED=$((RELEASED + 1)) ;;
	failed) FAILED=$((FAILED + 1)) ;;
	waits) WAITED=$((WAITED + 1)) ;;
	esac
	# Now people reboot, even if the update is held back.
	! staged || chance 2 || goes_down
}

# At most one device claims the lock, and that one has it.
one_holds() {
	local n holders=0 id
	[[ ! ${DOWN[DEVICE]} && $(together) -ge 2 ]] || return 0
	id=$(ctl --command-timeout=2s get --print-value-only greenboot-etcd/update-lock/default/1 2>/dev/null | jq -r .id 2>/dev/null) || return 0
	[[ $id ]] || return 0
	for n in 1 2 3; do
		[[ $(sed '/^sha256 /d' "${ROOTS[n]}/var/lib/greenboot-etcd/update-lock" 2>/dev/null | jq -r .id) != "$id" ]] ||
			holders=$((holders + 1))
	done
	((holders <= 1)) || fail "seed $SEED step $STEP: $holders hold it"
}

history() {
	SEED=$1
	own_networks
	devices 3
	RANDOM=$SEED NEXT=0 BEGUN=0 TAKEN=0 RELEASED=0 FAILED=0 WAITED=0 UNLOCKED=0
	DOWN=(- '' '' '') UPDATES=(- '' '' '')
	for ((STEP = 0; STEP < 60; STEP++)); do
		random_step
		one_holds
	done
	echo "seed $SEED: $NEXT staged, $BEGUN booted; ticks: $TAKEN taken, $RELEASED released, $WAITED waited, $FAILED failed; $UNLOCKED unlocked" >&2
	# In the end all devices are well again.
	[[ ! $UNPLUGGED ]] || plug
	for n in 1 2 3; do
		on "$n"
		# A verdict at the end may stop the device once more.
		while [[ ${DOWN[n]} ]]; do random_up; done
	done
	on 1
	soon "seed $SEED: a cluster that works" all_work
	gbe cluster unlock --force >/dev/null
	for n in 1 2 3; do
		on "$n"
		! staged || unstage
		tick
		tick
	done
	on $((SEED % 3 + 1))
	update last B
	ticks taken
	shutdown
	comes_back
	judge green
	ticks released
}

suite_begin "$@"
run_case taken taken
run_case at-shutdown at_shutdown
run_case second-waits second_waits
run_case red-stops red_stops
run_case better-one better_one
run_case one-is-down one_is_down
run_case no-quorum no_quorum
run_case partitioned partitioned
run_case by-hand by_hand
run_case lease-ends lease_ends
run_case foreign foreign
run_case dropped dropped
run_case with-rehearsal with_rehearsal
run_case killed killed
if [[ $ETCD_NEXT ]]; then
	run_case red-stops-next with "$ETCD_NEXT" red_stops
	run_case lease-ends-next with "$ETCD_NEXT" lease_ends
fi
SEED=${SEED:-$(date +%Y%m%d)}
for ((n = 0; n < ${N:-2}; n++)); do
	run_case "history-$((SEED + n))" history $((SEED + n))
done
suite_end
