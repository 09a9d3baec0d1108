#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# [backup] schedule: the program that its timer starts, with a real etcd: backups are made, left out, kept, and
# reported. tests/system/schedule.sh has the timer, and the path unit for the requests of a store.

# shellcheck disable=SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# scheduled KIND [green]: makes a device whose etcd has keys, and a schedule.
scheduled() {
	device "$1"
	config backup schedule=hourly
	config etcd peer-urls="http://127.0.0.1:$((ETCD_PORT + 1))"
	mkdir -p "$ROOT/usr/bin"
	cp "$(command -v "$ETCD")" "$(command -v "$ETCDCTL")" "$ROOT/usr/bin/"
	[[ $ETCD != "$ETCD_NEXT" ]] || cp "${ETCD_NEXT%/*}/etcdutl" "$ROOT/usr/bin/"
	power_on
	put_many base 300
	[[ ${2-} != green ]] || green
}
green() {
	assert_exit 0 hook health
	assert_exit 0 hook green
}

# due: lets the timer elapse.
due() { assert_exit "${WANT:-0}" hook backup --patience=0; }
# state KEY: prints a key of status, which must fit its schema.
state() {
	gbe --json status >"$GBE_MEM/status" || fail "status: $?"
	OUT=$(<"$GBE_MEM/status")
	fits status
	jq -r ".periodic.$1" <<<"$OUT"
}
result() { state result; }
# periodic: prints the names of the periodic backups, the newest first.
periodic() { json '[.[] | select(.origin == "periodic") | .name] | join(" ")' list; }
count() { periodic | wc -w; }
# of NAME FILTER: prints a value of a backup's manifest.
of() { json "$2" show "$1"; }
hash_kv() { ctl endpoint hashkv -w json | jq '.[0].HashKV.hash'; }
motd() { tr -s "\n " " " 2>/dev/null <"$ROOT/run/motd.d/greenboot-etcd" || true; }
metric() { sed -n "s/^greenboot_etcd_$1 //p" "$ROOT/var/etcd.prom"; }

# While greenboot judges, the program's lock is for the verdict.
judged_first() {
	scheduled xfs
	due
	assert_eq "result" "$(result)" skipped
	GREENBOOT_ETCD_FAULT=health-recorded=kill "$BUILD_FAULTS/hooks/health" --root="$ROOT" || true
	assert_ne "the verdict" "$(json .verdict status)" green
	due
	assert_eq "result" "$(result)" skipped
	assert_match "why" "$(state reason)" "*has not judged*"
	green
	due
	assert_eq "result" "$(result)" taken
}

taken() { # KIND
	local hash name

	scheduled "$1" green
	hash=$(hash_kv)
	assert_eq "before" "$(state 'result, .periodic.succeeded, .periodic.overdue' | paste -sd' ')" "null null false"
	due
	assert_eq result "$(result)" taken
	name=$(periodic)
	assert_eq "named in status" "$(state backup)" "$name"
	assert_some succeeded "$(state succeeded)"
	assert_exit 0 gbe --json verify --full "$name"
	assert_eq "its hash" "$(jq -r '.verified[0].db.hash_kv' <<<"$OUT")" "$hash"
	assert_eq "of the deployment" "$(of "$name" '[.origin, .pinned] | join(" ")')" "periodic false"
	if fs_clones "$1"; then
		assert_eq grade "$(of "$name" '[.grade, .live] | join(" ")')" "good true"
		assert_match name "$name" "$(json .booted status)_*~*"
	else
		assert_eq "no rollback takes it" "$(of "$name" '[.grade, .deployment.id] | map(tostring) | join(" ")')" \
			"unproven null"
		assert_missing "$ROOT/var/lib/greenboot-etcd/periodic.db"
	fi
	# The last operation that a person should know of stays on record.
	assert_ne "last operation" "$(json '.last_operation.reason' status)" periodic
	assert_match "the log" "$(gbe log)" "*Backup $name was made (*): periodic*"
	[[ $(gbe list) != *" 3."[0-9]".0 "* ]] || fail "a patch level is made up: $(gbe list)"
	assert_exit 0 gbe status
	assert_match text "$OUT" "*Schedule*hourly; last success*ago*"
	# The restored data equals the original.
	stop_etcd
	assert_exit 0 gbe restore "$name"
	start_etcd
	assert_eq "hash of what was restored" "$(hash_kv)" "$hash"
}

# A health check and a start write to etcd's log. These are not changes of the data.
unchanged() { # KIND [ETCD]
	local first n

	scheduled "$1" green
	due
	first=$(periodic)
	due
	assert_eq result "$(result)" unchanged
	assert_match said "$ERR" "*nothing has changed since $first*"
	assert_eq reason "$(state reason)" "nothing has changed since $first"
	for n in 1 2 3; do assert_exit 0 hook monitor; done
	due
	assert_eq "after asking" "$(result)" unchanged
	stop_etcd
	start_etcd
	due
	assert_eq "after a start of etcd" "$(result)" unchanged
	assert_eq backups "$(periodic)" "$first"
	# A key, a user and a lease are each a change.
	put another key
	due
	assert_eq "a key" "$(result) $(count)" "taken 2"
	ctl user add somebody:secret >/dev/null
	due
	assert_eq "a user" "$(result) $(count)" "taken 3"
	ctl lease grant 3600 >/dev/null
	due
	assert_eq "a lease" "$(result) $(count)" "taken 4"
	ctl alarm list >/dev/null
	due
	assert_eq "nothing" "$(result) $(count)" "unchanged 4"
	# The backup of the unchanged data was removed, so a new one is due.
	assert_exit 0 gbe delete "$(state backup)"
	due
	assert_eq "deleted" "$(result) $(count)" "taken 4"
	assert_exit 0 gbe mark bad "$(state backup)"
	due
	assert_eq "graded bad" "$(result)" taken
	# The data has another history with the same numbers.
	first=$(state backup)
	stop_etcd
	assert_exit 0 gbe restore "$first"
	start_etcd
	due
	assert_eq "restored" "$(result)" taken
}

# A played clock: only hours and days pass.
retention() {
	local hour others

	scheduled xfs green
	config backup hourly=3 daily=2
	others=$(json '[.[] | select(.origin != "periodic") | .name] | sort | join(" ")' list)
	# Whole days from midnight on: 20 hours of one, and 5 of the next.
	for hour in {0..24..2} 25 26 27 28; do
		clock_set $((90 * 86400 - EPOCHSECONDS % 86400 + hour * 3600 + 60))
		put hour "$hour"
		due
		assert_eq "hour $hour" "$(result)" taken
		assert_eq "others" "$(json '[.[] | select(.origin != "periodic") | .name] | sort | join(" ")' list)" \
			"$others"
	done
	# The first backup of two days and of three hours stays, and the newest of those made within one hour.
	assert_eq "hours that stay" "$(json '[.[] | select(.origin == "periodic") | .created % 86400 / 3600 | floor |
		tostring] | reverse | join(" ")' list)" "0 0 2 3 4"
	# A clock that jumps back, even to 1970, removes no backup that a right clock would keep.
	others=$(periodic)
	clock_set 1970
	put hour 1970
	due
	assert_eq "in 1970" "$(result)" taken
	for hour in $others; do [[ " $(periodic) " == *" $hour "* ]] || fail "$hour went in 1970"; done
}

# The unit starts it without the right to delete a subvolume that is not empty.
confined() {
	local hour

	scheduled btrfs-subvol green
	config backup hourly=1
	for hour in 0 1 2 3; do
		clock_set $((90 * 86400 - EPOCHSECONDS % 86400 + hour * 3600 + 60))
		put hour "$hour"
		assert_exit 0 on_device setpriv --bounding-set=-all,+chown,+dac_override,+fowner,+fsetid --inh-caps=-all \
			"$(program backup)" --root="$ROOT" --patience=0
		assert_eq "hour $hour" "$(result)" taken
	done
	# If etcd answered too late for a grade, the last good backup also stays.
	assert_match "what stays" "$(count)" "[123]"
	assert_eq "half removed" "$(find "$ROOT" -xdev -name '.partial-*')" ""
}

# The backups that a rollback of the system needs stay, with any number of scheduled ones.
for_a_rollback() {
	local before state

	scheduled xfs green
	config backup hourly=1 daily=0
	due
	deploy B
	put last "of A"
	state=$(etcd_state)
	reboot
	assert_eq booted "$(deployment_name "$(json .booted status)")" B
	before=$(json '[.[] | select(.origin != "periodic") | .name] | sort | join(" ")' list)
	# The run is on trial, and not judged yet.
	clock_set 3600
	put written "by B"
	due
	assert_eq "before the verdict" "$(result)" skipped
	# The wait for a missing verdict is limited.
	config restore trial-limit=1s
	nap 1.1
	assert_exit 0 hook used
	due
	assert_eq result "$(result)" taken
	assert_eq "of B, on trial" "$(of "$(state backup)" '[.grade, .manifest.trial.on] | map(tostring) | join(" ")')" "unproven true"
	clock_set 90000
	put written "by B, later"
	due
	assert_eq "others" "$(json '[.[] | select(.origin != "periodic") | .name] | sort | join(" ")' list)" "$before"
	CLOCK=0
	# B fails: A has exactly its earlier data.
	stop_etcd
	[[ ! -e $ROOT/x ]]
	boot A
	assert_eq prerun "$PRERUN" 0
	start_etcd
	assert_eq "state of A" "$(etcd_state | cut -d' ' -f1-3)" "$(cut -d' ' -f1-3 <<<"$state")"
}

skipped() {
	local held pid

	scheduled xfs green
	config metrics textfile=/var/etcd.prom
	due
	put more keys
	# Another program copies, streams or defragments.
	exec {held}>"$ROOT/run/greenboot-etcd/maintenance"
	flock "$held"
	due
	exec {held}>&-
	assert_eq "during a defragmentation" "$(result)" skipped
	assert_match said "$ERR" "*No backup of the data of etcd was taken*holds the lock*"
	assert_eq overdue "$(state overdue)" true
	assert_match MOTD "$(motd)" "*periodic backup of etcd that was due was not taken: *holds the lock*"
	assert_match warnings "$(json '.warnings | join(" ")' status)" "*periodic backup*"
	assert_exit 0 hook monitor
	assert_eq "metric overdue" "$(metric periodic_backup_overdue)" 1
	assert_some "metric success" "$(metric periodic_backup_success_time_seconds)"
	[[ $(metric periodic_backup_age_seconds) =~ ^[0-9]+$ ]] || fail "no age: $(cat "$ROOT/var/etcd.prom")"
	# A restore, a backup by hand: any holder of the program's lock.
	exec {held}>"$ROOT/var/lib/greenboot-etcd/lock"
	flock "$held"
	due
	exec {held}>&-
	assert_match "during an operation" "$(state 'result, .periodic.reason' | paste -sd' ')" "skipped *holds the lock*"
	# A short obstacle is waited for.
	exec {held}>"$ROOT/run/greenboot-etcd/maintenance"
	flock "$held"
	hook backup --patience=60 >"$GBE_MEM/waits" 2>&1 {held}>&- &
	pid=$!
	sleep 2
	kill -0 "$pid" || fail "it does not wait: $(<"$GBE_MEM/waits")"
	exec {held}>&-
	wait "$pid" || fail "status $?: $(<"$GBE_MEM/waits")"
	assert_eq "waited" "$(result) $(count)" "taken 2"
	assert_eq "overdue no more" "$(state overdue)" false
	assert_eq MOTD "$(motd)" ""
	assert_exit 0 hook monitor
	assert_eq "metric overdue" "$(metric periodic_backup_overdue)" 0
}

unhealthy() {
	scheduled xfs green
	due
	put more keys
	config health request-timeout=1s
	kill -STOP "$ETCD_PID"
	due
	kill -CONT "$ETCD_PID"
	assert_eq "etcd hangs" "$(result)" skipped
	assert_match reason "$(state reason)" "etcd is not healthy: *"
	stop_etcd
	due
	assert_match "etcd is down" "$(state 'result, .periodic.reason' | paste -sd' ')" "skipped *no etcd runs*"
	# Below --root, no service starts it during the wait.
	SECONDS=0
	assert_exit 0 hook backup
	((SECONDS < 20)) || fail "waited $SECONDS s for an etcd that no service starts"
	mv "$DATA" "$DATA.away"
	assert_exit 0 hook backup
	((SECONDS < 20)) || fail "waited $SECONDS s for data that no service makes"
	mv "$DATA.away" "$DATA"
	assert_eq "nothing was taken" "$(count)" 1
	start_etcd
	due
	assert_eq "healthy again" "$(result)" taken
	# The schedule is off: the program does and prints nothing.
	unconfig backup schedule
	put yet more
	due
	assert_eq "status" "$(json .periodic status)" null
	assert_eq backups "$(count)" 2
}

failed() { # KIND
	scheduled "$1" green
	due
	put more keys
	config metrics textfile=/var/etcd.prom
	fallocate -l "$(($(stat -f -c '%f * %S' "$ROOT") - 20000000))" "$ROOT/var/full"
	[[ $1 == ext4 ]] || fill_up
	WANT=1 due
	assert_eq result "$(result)" failed
	assert_match said "$ERR" "*could not be backed up*"
	assert_match MOTD "$(motd)" "*was not taken*"
	assert_eq overdue "$(state overdue)" true
	assert_exit 0 gbe status
	assert_match text "$OUT" "*Schedule *OVERDUE*"
	assert_eq "told" "$(tr -s '\n ' ' ' <<<"$OUT" | grep -o 'that was due was not taken: [^ ]' | wc -l)" 1
	assert_exit 6 gbe status --check
	assert_eq "left of it" "$(find "$ROOT/var/lib/greenboot-etcd" -name '.partial*' -o -name 'periodic.db*')" ""
	rm -f "$ROOT/var/full" "$ROOT/var/rest"
	due
	assert_eq "with room" "$(result)" taken
}
# The disk has not one free block: a clone also needs room.
fill_up() { dd if=/dev/zero of="$ROOT/var/rest" bs=64k 2>/dev/null || true; }

# The program is killed and the power fails at each of its steps: the result is a backup, or nothing.
# steps: import
killed() {
	local point

	scheduled ext4 green
	# etcdctl was installed a moment ago.
	sync -f "$ROOT"
	for point in periodic-saved import-begun import-unpacked import-received import-published partial-described partial-synced partial-renamed; do
		put cut "$point"
		GREENBOOT_ETCD_FAULT="$point=kill" BUILD=$BUILD_FAULTS hook backup --patience=0 || true
		powercut
		same_boot
		start_etcd
		assert_exit 0 gbe verify
		due
		assert_eq "after a cut at $point" "$(result)" taken
		assert_exit 0 gbe --json verify --full "$(state backup)"
		assert_eq "left of it" "$(find "$ROOT/var/lib/greenboot-etcd" -name '.partial*' -o -name 'periodic.db*')" ""
	done
}

# Without ostree the backups have no owner; retention still applies.
without_ostree() {
	local n

	root_new xfs
	etcd_ports
	config_write
	config backup schedule=daily hourly=1 daily=1
	echo "root=/dev/vda2 rw" >"$ROOT/proc/cmdline"
	cat /proc/sys/kernel/random/uuid >"$ROOT/proc/sys/kernel/random/boot_id"
	start_etcd
	for n in 1 2 3 4; do
		clock_set $((n * 86400))
		put day "$n"
		due
	done
	assert_eq result "$(result)" taken
	assert_eq "what stays" "$(count)" 1
	assert_exit 0 gbe backup --live mine
	clock_set $((9 * 86400))
	put day 9
	due
	assert_eq "by hand" "$(json '[.[] | select(.name == "mine")] | length' list)" 1
}

# If the directory has more than etcd's data, a snapshot is not a complete backup, and no snapshot is used.
more_than_etcd() {
	scheduled ext4 green
	mkdir "$DATA/kubeconfig"
	WANT=1 due
	assert_match "why" "$(state reason)" "*holds more than etcd*"
	assert_eq backups "$(count)" 0
}

wrong() {
	device xfs
	config backup schedule='daily %i'
	assert_exit 2 gbe prune
	assert_match why "$ERR" "*schedule*calendar event*"
	assert_exit 0 gbe config
	assert_match why "$ERR" "*schedule*calendar event*"
	assert_exit 2 gbe config --check
	power_on
	assert_match "prerun says it" "$(<"$PRERUN_LOG")" "*schedule*"
	assert_exit 2 hook backup --nonsense
	due
	assert_eq "none" "$(count)" 0
}

# systemd decides whether a calendar event is valid. Another root has another systemd.
asks_systemd() {
	local conf

	command -v systemd-analyze >/dev/null || skip_case "optional: no systemd-analyze here"
	root_new none
	conf=$ROOT/etc/greenboot-etcd/greenboot-etcd.conf
	mkdir -p "${conf%/*}"
	printf '[backup]\nschedule=%s\n' "now and then" >"$conf"
	assert_exit 0 gbe config --check
	assert_exit 0 "$(program greenboot-etcd)" --config="$conf" config
	assert_exit 2 "$(program greenboot-etcd)" --config="$conf" config --check
	assert_match why "$ERR" "*$conf:2: [[]backup] schedule: systemd-analyze *now and then*"
	"$(program greenboot-etcd)" --config="$conf" --json preflight >"$GBE_MEM/preflight" || true
	assert_match preflight "$(jq -r '.findings[] | select(.check == "configuration") | .result + .text' \
		"$GBE_MEM/preflight")" "bad*schedule: systemd-analyze *"
	printf '[backup]\nschedule=%s\n' "-Mon..Fri 03:30" >"$conf"
	assert_exit 2 "$(program greenboot-etcd)" --config="$conf" config --check
	printf '[backup]\nschedule=%s\n' "Mon..Fri 03:30 Europe/Berlin" >"$conf"
	assert_exit 0 "$(program greenboot-etcd)" --config="$conf" config --check
}

with_next() {
	ETCD=$ETCD_NEXT
	ETCDCTL=${ETCD_NEXT}ctl
	"$@"
}

suite_begin "$@"
for kind in $(kinds "xfs ext4" btrfs-subvol); do
	run_case "taken@$kind" taken "$kind"
done
run_case judged-first judged_first
run_case unchanged@xfs unchanged xfs
run_case unchanged@ext4 unchanged ext4
run_case retention retention
run_case for-a-rollback for_a_rollback
run_case skipped skipped
run_case unhealthy unhealthy
run_case failed@ext4 failed ext4
run_case failed@xfs failed xfs
run_case killed@ext4 killed
run_case without-ostree without_ostree
run_case more-than-etcd more_than_etcd
run_case wrong wrong
run_case asks-systemd asks_systemd
if [[ $ETCD_NEXT ]]; then
	run_case taken-next@xfs with_next taken xfs
	run_case taken-next@ext4 with_next taken ext4
	run_case unchanged-next@xfs with_next unchanged xfs
fi
run_case confined confined
suite_end
