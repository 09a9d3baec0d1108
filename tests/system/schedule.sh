#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Automatic work while a device is in use. systemd's timer takes backups by [backup] schedule. Its units push
# snapshots to a store and prove them. Its path unit runs the requests that are placed in that store.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"

STORE=/var/store

# within SECONDS COMMAND...: waits until it succeeds.
within() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < deadline)) || return 1
		nap 0.5
	done
}

periodic() { json '[.[] | select(.origin == "periodic") | .name] | join(" ")' list; }
state() { json ".periodic.$1" status; }
more_than() { (($(periodic | wc -w) > $1)); }
is_unchanged() { [[ $(state result) == unchanged ]]; }
# shell COMMAND: runs it as root on the device.
shell() { inside sh -ec "$1"; }
is_there() { shell "test -e '$1'"; }

# unit_is UNIT STATE: checks it.
unit_is() { [[ $(inside systemctl is-active "greenboot-etcd-$1" || true) == "$2" ]]; }
timer_is() { unit_is backup.timer "$1"; }

# To save power, systemd starts a timer within a minute of its time (AccuracySec=).
schedule_timer() {
	local name hash

	device "$1"
	config backup 'schedule=*:*:0/10'
	power_on
	booted A
	put_many base 10
	judged green
	within 30 timer_is active || fail "the timer is not active"
	within 150 more_than 0 || fail "no backup: $(journal backup)"
	within 150 is_unchanged || fail "taken again and again: $(journal backup)"
	name=$(state backup)
	hash=$(ctl endpoint hashkv -w json | jq '.[0].HashKV.hash')
	assert_json '.verified[0].db.hash_kv' "$hash" verify --full "$name"
	assert_json '.manifest.live' true show "$name"
	# The unit's sandbox sees the same boot as all other programs.
	assert_json '.manifest.run' "$(json .run status)" show "$name"
	assert_match "it was said" "$(journal backup)" "*Backed up the data of etcd as*nothing has changed since*"
	put another key
	within 150 more_than 1 || fail "no second one: $(journal backup)"
	assert_json .periodic.overdue false status
	# The timer runs while its service runs.
	inside systemctl stop etcd.service
	within 30 timer_is inactive || fail "the timer keeps running without etcd"
	inside systemctl start etcd.service
	within 30 timer_is active || fail "the timer is not active"
	# A person stopped the timer: status reports it.
	inside systemctl stop greenboot-etcd-backup.timer
	assert_json .periodic.overdue true status
	assert_match "why" "$(json '.warnings | join(" ")' status)" "*greenboot-etcd-backup.timer does not run*"
}

offsite() { json ".offsite.$1" status; }
waits() { [[ $(offsite waiting) == "$1" ]]; }
# stored FILTER: prints the complete snapshots in the store, the newest first.
stored() { json "[.snapshots[] | select(.state == \"complete\")] | $1" store list; }

# pushes: does the timer's work. etcd has a change. NAME is the snapshot, which waits or is being sent.
pushes() {
	local before=${NAME-}

	put another "$1"
	inside systemctl start greenboot-etcd-push.service
	NAME=$(offsite waiting_newest)
	[[ $NAME == *Z-* && $NAME != "$before" ]] || fail "nothing new waits: $(journal push)"
}

# A network share is missing: the snapshot waits on the device, and is sent when the share comes.
schedule_offsite() {
	local first

	device "$1"
	config store "directory=$STORE"
	# The timers are active, and due long after this case.
	config store schedule=yearly
	config store prove=yearly
	power_on
	booted A
	put_many base 10
	judged green
	within 30 unit_is push.timer active || fail "the timer of pushes is not active"
	within 30 unit_is prove.timer active || fail "the timer of proofs is not active"
	# The service was started at the boot. Although it has nothing to send, it waits for the share.
	within 30 unit_is send.service inactive || fail "it sends: $(journal send)"
	assert_eq "the sender is content" "$(journal send | grep -c 'not there' || true)" 0
	pushes one
	first=$NAME
	within 30 unit_is send.service active || fail "nothing sends: $(journal send)"
	within 30 waits 1 || fail "$(offsite waiting) wait"
	within 30 sender_said "*$STORE is not there*" || fail "the sender does not say why: $(journal send)"
	shell "mkdir -m 0700 $STORE"
	pushes two
	within 120 waits 0 || fail "$(offsite waiting) wait: $(journal send)"
	within 30 unit_is send.service inactive || fail "it sends on: $(journal send)"
	assert_eq "in the store, the newest first" "$(stored 'map(.name) | join(" ")')" "$NAME $first"
	assert_eq "with data" "$(stored 'all(.size > 0)')" true
	shell "test $STORE/$NAME/_etcd_backup.meta -ot $STORE/$first/_etcd_backup.meta" || fail "the older one was sent first"
	assert_eq pushed "$(offsite pushed)" "$NAME"
	assert_eq "before a proof" "$(offsite proved)" null
	inside systemctl start greenboot-etcd-prove.service
	assert_eq proved "$(offsite proved)" "$NAME"
	assert_eq "etcd's own hash" "$(json .hash_kv store verify "$NAME")" "$(ctl endpoint hashkv -w json | jq '.[0].HashKV.hash')"
	# The data is unchanged: no further snapshot is pushed.
	inside systemctl start greenboot-etcd-push.service
	within 30 unit_is send.service inactive || fail "it sends: $(journal send)"
	assert_eq "in the store" "$(stored length)" 2
}

sender_said() {
	# shellcheck disable=SC2053 # a pattern
	[[ $(journal send) == $1 ]]
}

schedule_requests() {
	device "$1"
	config store "directory=$STORE"
	config store requests=watch
	mkdir -p "$VAR/store/requests"
	chmod 0700 "$VAR/store" "$VAR/store/requests"
	power_on
	booted A
	put_many base 10
	judged green
	assert_eq "it is watched" "$(inside systemctl is-active greenboot-etcd-requests.path)" active
	# The file is written in place, without a rename.
	shell "echo '{\"request\": \"backup\"}' >$STORE/requests/one.json"
	within 60 is_there "$STORE/requests/one.json.done" ||
		fail "the request was not run: $(shell "ls $STORE/requests") $(journal requests)"
	assert_json '[.snapshots[] | select(.state == "complete")] | length' 1 store list
	# First half of it is written. The program gives the writer time to finish.
	shell "exec 3>$STORE/requests/two.json; printf '{\"request\": ' >&3; sleep 1; echo '\"backup\"}' >&3"
	within 60 is_there "$STORE/requests/two.json.done" ||
		fail "the request was not run: $(shell "ls $STORE/requests") $(journal requests)"
	assert_json '[.snapshots[] | select(.state == "complete")] | length' 2 store list
	# An invalid request is set aside, once.
	shell "echo nonsense >$STORE/requests/three.json"
	within 60 is_there "$STORE/requests/three.json.bad" ||
		fail "not set aside: $(shell "ls $STORE/requests") $(journal requests)"
	assert_json '[.snapshots[] | select(.state == "complete")] | length' 2 store list
	shell 'command -v etcdctl >/dev/null' || skip_case "optional: no etcdctl in the image"
	# One of them is restored at the next boot.
	put after "the snapshot"
	shell "echo '{\"request\": \"restore\", \"snapshot\": \"latest\"}' >$STORE/requests/four.json"
	within 60 is_there "$STORE/requests/four.json.done" ||
		fail "not prepared: $(shell "ls $STORE/requests") $(journal requests)"
	assert_eq "until then" "$(get after)" "the snapshot"
	reboot
	assert_eq "a key of after it" "$(get after)" ""
	assert_eq "a key of before it" "$(get base/1)" value-1
}

# The path unit sees the staged update and takes the lock for it. The timer releases the lock once the update is
# green. An update that is staged while another member has the lock is held back.
lock_is() { [[ $(json '.update_lock.state // "none"' cluster status) == "$1" ]]; }
schedule_lock() {
	os_is B writes
	device "$1"
	config cluster update-lock=yes
	power_on
	booted A
	judged green
	within 30 unit_is lock.path active || fail "the path unit is not active"
	stage B
	within 60 lock_is held || fail "the lock is not taken: $(journal lock)"
	! is_there /run/ostree/staged-deployment-locked || fail "the update is held back: $(journal lock)"
	BOOTS=()
	reboot
	booted_in_turn B
	judged green
	within 150 lock_is none || fail "the lock is not released: $(journal lock)"
	ctl put greenboot-etcd/update-lock/default/1 '{}' >/dev/null
	stage C
	within 60 is_there /run/ostree/staged-deployment-locked || fail "the update is not held back: $(journal lock)"
	BOOTS=()
	reboot
	booted_in_turn B
}

suite_begin "$@"
machine_begin
more=()
! built store || more+=(offsite requests)
! built cluster || more+=(lock)
FS=${FS:-xfs} play schedule timer "${more[@]}"
machine_end
suite_end
