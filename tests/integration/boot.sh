#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The installed units in their sandboxes, in a container that a real systemd boots from real ostree deployments on
# XFS. The permissions of the units suffice for the whole story, and the units run in order. (The container has the
# machine's /usr, and the program in /usr/local.)

# shellcheck disable=SC2317,SC2119 # cases are called by name; arguments that are optional
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"
# shellcheck source=tests/lib/container.sh
. "$(dirname "$0")/../lib/container.sh"

there_and_back() {
	container_device
	deploy A
	populate A "etcdctl put k a && greenboot-etcd mark good"
	run A
	in_order "Starting greenboot-etcd-prerun" "Finished greenboot-etcd-prerun" "Starting etcd" \
		"judged green" "Stopped etcd" "finalize.*Backed up" "finalize.*was closed" \
		"Stopped greenboot-etcd-finalize"
	deploy B
	populate B "etcdctl put k b && greenboot-etcd mark bad"
	run B
	in_order "prerun.*rule 11" "prerun.*belongs to" "Finished greenboot-etcd-prerun" "Starting etcd" \
		"judged red" "Stopped etcd" "finalize.*was closed"
	populate A "echo k is \$(etcdctl get k --print-value-only)"
	run A
	# The sandbox allows an exchange, and a rename into the store.
	in_order "prerun.*rule 10a" "prerun.*Restored" "Finished greenboot-etcd-prerun" "Starting etcd" \
		"k is a$" "Stopped etcd" "finalize.*was closed"
	assert_eq "what B wrote" "$(find "$VAR/lib/greenboot-etcd/backups" -maxdepth 1 \
		-name "${DEPLOYMENT[B]}_*" | wc -l)" 1
}

# The way to the data leads through a symlink, to a disk where units may not write by default.
symlinked() {
	local name

	container_device
	fs_at xfs "$ROOT/data"
	install -d -o etcd -m 0700 "$ROOT/data/etcd"
	ln -s /data "$VAR/lib/disk"
	for name in A B; do
		deploy "$name"
		CONTAINER_DATA=/var/lib/disk/etcd populate "$name" "etcdctl get k; etcdctl put k $name && greenboot-etcd mark $([[ $name == A ]] && echo good || echo bad)"
		mkdir -p "$(deployment_dir "$name")/etc/greenboot-etcd"
		printf '[etcd]\ndata-dir=/var/lib/disk/etcd\n' >"$(deployment_dir "$name")/etc/greenboot-etcd/greenboot-etcd.conf"
		run "$name" --bind="$ROOT/data:/data"
		in_order "Finished greenboot-etcd-prerun" "Starting etcd" "judged" "Stopped etcd" "finalize.*was closed"
	done
	CONTAINER_DATA=/var/lib/disk/etcd populate A "echo k is \$(etcdctl get k --print-value-only)"
	run A --bind="$ROOT/data:/data"
	in_order "prerun.*rule 10a" "prerun.*Restored" "Starting etcd" "k is A$" "finalize.*was closed"
}

# The timer starts with the service and stays when the service stops. The monitor writes what it sees from its
# sandbox.
monitored() {
	container_device
	mkdir -p "$VAR/lib/node"
	deploy A
	populate A ". /etc/person"
	cat >"$(deployment_dir A)/etc/person" <<-'EOF2'
		set -e
		shown() {
			local n
			for n in {1..150}; do
				! grep -qs "^greenboot_etcd_$1" /var/lib/node/etcd.prom || return 0
				sleep 0.1
			done
			echo "no metric $1"
			false
		}
		shown "healthy 1"
		shown "restores 0"
		# The file is written after the metrics.
		for n in {1..150}; do
			reason=$(jq -r .status.etcd.reason /run/greenboot-etcd/status.json)
			[[ $reason == "not asked" ]] || break
			sleep 0.1
		done
		echo "$reason"
		systemctl stop etcd
		shown "healthy 0"
		for n in {1..150}; do ! grep -qs "not healthy" /run/motd.d/greenboot-etcd || break; sleep 0.1; done
		cat /run/motd.d/greenboot-etcd
		systemctl is-active greenboot-etcd-monitor.timer
	EOF2
	mkdir -p "$(deployment_dir A)/etc/greenboot-etcd"
	printf '[health]\nmonitor=1s\n[metrics]\ntextfile=/var/lib/node/etcd.prom\n' \
		>"$(deployment_dir A)/etc/greenboot-etcd/greenboot-etcd.conf"
	run A
	in_order "Started greenboot-etcd-monitor.timer" "bash.*healthy, 3.*, one member" "Stopped etcd" \
		"monitor.*etcd is not healthy" "bash.*etcd is not healthy" "bash.*: active"
	! grep -q "no metric\|Failed to start greenboot-etcd" "$LOG" || fail "it could not show it"
}

# The timer starts and stops with the service, and returns after a restart by systemd. The program can do its work in
# its sandbox.
defragmented() {
	container_device
	deploy A
	populate A ". /etc/person"
	mkdir -p "$(deployment_dir A)/etc/greenboot-etcd" "$(deployment_dir A)/etc/systemd/system/etcd.service.d"
	printf '[defrag]\nmin-size=2MB\ninterval=1s\n' \
		>"$(deployment_dir A)/etc/greenboot-etcd/greenboot-etcd.conf"
	printf '[Service]\nRestart=on-failure\nRestartSec=100ms\n' \
		>"$(deployment_dir A)/etc/systemd/system/etcd.service.d/restart.conf"
	cat >"$(deployment_dir A)/etc/person" <<-'EOF2'
		set -e
		timer=greenboot-etcd-defrag.timer
		becomes() { # WHAT COMMAND...
			local n
			for n in {1..150}; do
				! "${@:2}" >/dev/null 2>&1 || return 0
				sleep 0.1
			done
			echo "never: $1"
			false
		}
		small() { (($(etcdctl endpoint status -w json | jq '.[0].Status.dbSize') < 2000000)); }
		# The program looks once more before it reports this.
		at_rest() { [[ $(systemctl is-active greenboot-etcd-defrag.service) != activating ]]; }
		grow() {
			local n
			head -c 1000000 /dev/zero | tr '\0' x >/run/value
			for n in {1..8}; do etcdctl put "big/$n" </run/value; done
			etcdctl del --prefix big/
			etcdctl compact --physical "$(etcdctl get x -w json | jq .header.revision)"
			# The free space is known after the next commits.
			for n in {1..3}; do etcdctl put settle x && sleep 0.15; done
		}
		systemctl is-active $timer
		grow
		becomes "small automatically" small
		becomes "said" at_rest
		systemctl stop etcd
		! systemctl is-active --quiet $timer || { echo "the timer stays"; false; }
		systemctl start etcd
		becomes "a timer again" systemctl is-active $timer
		systemctl kill --signal=KILL etcd
		becomes "etcd after a crash" etcdctl endpoint health
		becomes "a timer after a crash" systemctl is-active $timer
		grow
		becomes "small again" small
		becomes "said again" at_rest
		echo all of it
	EOF2
	run A
	in_order "Started greenboot-etcd-defrag.timer" "defrag.*was defragmented" \
		"Stopped etcd" "Started greenboot-etcd-defrag.timer" "etcd.*status=9/KILL" "defrag.*was defragmented" \
		"all of it$"
	! grep -q "never: \|the timer stays\|Failed to start greenboot-etcd\|defrag.service: Failed" "$LOG" || fail "it was not done"
}

# The timer begins after prerun has taken the data over. The program can do its work in its sandbox.
used() {
	container_device
	deploy A
	populate A "until systemctl show -P ExecMainExitTimestampMonotonic greenboot-etcd-used | grep -v '^0'; do sleep 0.1; done"
	mkdir -p "$(deployment_dir A)/etc/greenboot-etcd"
	printf '[restore]\ntrial-limit=2s\n' >"$(deployment_dir A)/etc/greenboot-etcd/greenboot-etcd.conf"
	run A
	in_order "Finished greenboot-etcd-prerun" "Started greenboot-etcd-used.timer" "Starting greenboot-etcd-used.service" \
		"Finished greenboot-etcd-used.service" "Stopped etcd"
	! grep -q "used.*not recorded" "$LOG" || fail "it was not recorded"
}

# With prerun masked, the service starts without it.
masked() {
	container_device
	deploy A
	populate A "etcdctl put k a"
	ln -s /dev/null "$(deployment_dir A)/etc/systemd/system/greenboot-etcd-prerun.service"
	run A
	in_order "Started etcd" "OK$" "Stopped etcd"
	! grep -q "greenboot-etcd" "$LOG" || fail "something of ours ran"
	assert_missing "$VAR/lib/etcd/.greenboot-etcd-owner"
}

suite_begin "$@"
need_nspawn
run_case there-and-back there_and_back
run_case monitored monitored
run_case defragmented defragmented
run_case used used
run_case masked masked
run_case symlinked symlinked
suite_end
