#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A service whose etcd runs in a scope, like MicroShift's, in a container that a real systemd boots. The scope's
# BindsTo= starts the service while the service is still starting, and the scope stops after the service.

# shellcheck disable=SC2317,SC2119,SC2016 # cases are called by name; optional arguments; commands for later
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"
# shellcheck source=tests/lib/container.sh
. "$(dirname "$0")/../lib/container.sh"

STARTING="Starting greenboot-etcd-prerun"

# microshift SCOPE COMMANDS: runs A with a service that starts its etcd in SCOPE like MicroShift, after the previous
# scope has ended. The database stays locked for three seconds after etcd has ended, like with a slow etcd.
microshift() {
	local etc units
	populate A "$2"
	etc=$(deployment_dir A)/etc
	units=$etc/systemd/system
	rm "$units/etcd.service" "$units/multi-user.target.wants/etcd.service"
	mkdir -p "$etc/greenboot-etcd"
	printf '%s\n' '[etcd]' service=microshift.service '[defrag]' enabled=no \
		>"$etc/greenboot-etcd/greenboot-etcd.conf"
	cat >"$etc/slow-etcd" <<-EOF2
		$(command -v "$ETCD") --name=default --data-dir=/var/lib/etcd/default &
		until etcdctl endpoint health; do sleep 0.1; done
		(trap '' TERM && exec flock /var/lib/etcd/default/member/snap/db sleep 3) &
		wait
	EOF2
	cat >"$etc/microshift" <<-EOF2
		systemctl stop $1.scope || true
		systemd-run --uid=root --scope --collect --unit=$1 --property=Before=microshift.service \\
			--property=BindsTo=microshift.service /bin/bash /etc/slow-etcd &
		until pgrep -x flock && etcdctl endpoint health; do sleep 0.1; done
		systemd-notify --ready
		wait
	EOF2
	cat >"$units/microshift.service" <<-EOF2
		[Service]
		Type=notify
		NotifyAccess=all
		Environment=ETCDCTL_API=3
		ExecStart=/bin/bash /etc/microshift
		Restart=always
	EOF2
	sed -i 's/etcd.service/microshift.service/' "$units/person.service"
	ln -sf ../microshift.service "$units/multi-user.target.wants/"
	run A
}
device() { container_device && deploy A; }
starts() { assert_eq "starts of prerun" "$(grep -c "$STARTING" "$LOG")" "$1"; }

# The generator orders the known scope: finalize does not have to wait.
known_scope() {
	device
	microshift microshift-etcd "etcdctl put k a"
	starts 1
	! grep -q "prerun.*No backup\|prerun.*rule 0" "$LOG" || fail "prerun found its own etcd"
	in_order "$STARTING" "Started microshift-etcd.scope" "Started microshift.service" \
		"Stopped microshift.service" "Stopping microshift-etcd.scope" "Stopped microshift-etcd.scope" \
		"Stopping greenboot-etcd-finalize" "finalize.*Backed up" "finalize.*was closed"
	! grep -q "finalize.*waiting" "$LOG" || fail "finalize had to wait"
}

# Another scope stops during finalize, which waits for it and names it.
unknown_scope() {
	device
	microshift other-etcd "etcdctl put k a"
	starts 1
	in_order "Stopping greenboot-etcd-finalize" \
		"finalize.*: flock .pid [0-9]+, other-etcd.scope. has /var/lib/etcd open: waiting up to 600 s" \
		"Stopped other-etcd.scope" "finalize.*Backed up" "finalize.*was closed"
}

# Each start of the service runs prerun, which waits for the etcd of the previous start. `systemctl restart` does not
# stop the scope.
started_again() {
	device
	microshift microshift-etcd '
		set -e
		pid() { systemctl show -P MainPID microshift.service; }
		began() { # WHAT COMMAND...: the service is another one afterwards, and its etcd healthy
			local before
			before=$(pid)
			echo "begin: $1"
			"${@:2}"
			for n in {1..200}; do
				[[ $(pid) == 0 || $(pid) == "$before" || $(systemctl is-active microshift) != active ]] || break
				sleep 0.1
			done
			etcdctl endpoint health
		}
		stop_and_start() { systemctl stop microshift && systemctl start microshift; }
		fail() { systemctl kill --signal=KILL microshift; }
		began restart systemctl restart microshift
		began stop-and-start stop_and_start
		began crash fail
		systemctl start microshift
		echo all of it'
	in_order "Started microshift.service" "begin: restart" "$STARTING" "Started microshift.service" "begin: stop-and-start" "Stopped microshift-etcd.scope" "$STARTING" \
		"Started microshift.service" "begin: crash" "Stopped microshift-etcd.scope" "$STARTING" \
		"Started microshift.service" "all of it"
	starts 4
	assert_eq "the data was not in use" "$(grep -c "prerun.*rule 5" "$LOG")" 2
}

# A prerun that fails holds etcd back, and the next start of the service runs it again.
held_back() {
	local etc
	device
	etc=$(deployment_dir A)/etc
	mkdir -p "$etc/tmpfiles.d" "$etc/systemd/system/greenboot-etcd-prerun.service.d"
	printf '[Service]\nExecCondition=/bin/sh -c "! test -e /run/hold || exit 255"\n' \
		>"$etc/systemd/system/greenboot-etcd-prerun.service.d/hold.conf"
	echo 'f /run/hold 0644' >"$etc/tmpfiles.d/hold.conf"
	microshift microshift-etcd '
		[[ ! -e /var/lib/etcd/default ]] || echo "etcd was started"
		! systemctl start microshift || echo "it started"
		rm /run/hold
		systemctl start microshift && etcdctl put k a && echo "now it runs"'
	in_order "Failed to start greenboot-etcd-prerun" "Dependency failed for.*greenboot-etcd-start.target" \
		"Dependency failed for.*microshift.service" "Failed to start greenboot-etcd-prerun" \
		"Dependency failed for.*microshift.service" "Finished greenboot-etcd-prerun" \
		"Started microshift.service" "now it runs"
	! grep -q "etcd was started\|it started" "$LOG" || fail "etcd was not held back"
}

suite_begin "$@"
need_nspawn
run_case known-scope known_scope
run_case unknown-scope unknown_scope
run_case started-again started_again
run_case held-back held_back
suite_end
