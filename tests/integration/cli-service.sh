#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# --stop: etcd runs as a service of a real systemd, which is process 1 in its namespaces. The service is stopped for
# the copy, and started again whatever happens in between.

# shellcheck disable=SC2317 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

SYSTEMD=
for path in /usr/lib/systemd/systemd /lib/systemd/systemd; do
	[[ ! -x $path ]] || SYSTEMD=$path
done
MANAGER=
OUTER=

# A cgroup of this suite in every hierarchy: the machine's stay clean.
cgroup_name() { basename "$GBE_SCRATCH"; }
cgroup_enter() {
	local dir
	while read -r dir; do
		mkdir -p "$dir/$(cgroup_name)"
		# (A v1 cpuset without cpus takes no process; systemd does not use it either.)
		echo "$1" 2>/dev/null >"$dir/$(cgroup_name)/cgroup.procs" || true
	done < <(hierarchies)
}
cgroup_leave() { # its processes are killed, but may need a moment to be gone
	local dir n
	for ((n = 0; n < 100; n++)); do
		while read -r dir; do
			[[ ! -d $dir/$(cgroup_name) ]] ||
				find "$dir/$(cgroup_name)" -depth -type d -exec rmdir {} \; 2>/dev/null
		done < <(hierarchies)
		compgen -G "/sys/fs/cgroup/*/$(cgroup_name)" >/dev/null || return 0
		nap 0.05
	done
	echo "cgroups are left: $(compgen -G "/sys/fs/cgroup/*/$(cgroup_name)")" >&2
}
hierarchies() { awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/self/mounts; }

# manager KIND: makes a device whose systemd runs. MANAGER is its pid. Its /var/lib, /run and units are those of ROOT;
# the rest is the machine's.
manager() {
	local n

	root_new "$1"
	etcd_ports
	mkdir -p "$ROOT/var/lib" "$ROOT/units" "$ROOT/etc"
	config_write
	cp "$ROOT/etc/greenboot-etcd/greenboot-etcd.conf" "$ROOT/var/lib/test.conf"
	for n in test basic sysinit shutdown umount; do
		printf '[Unit]\nDefaultDependencies=no\nAllowIsolate=yes\n' >"$ROOT/units/$n.target"
	done
	unit "$DATA_UNIT"
	(
		cgroup_enter "$BASHPID"
		# shellcheck disable=SC2016 # expanded inside
		exec unshare --mount --propagation private --pid --fork --kill-child --mount-proc \
			--cgroup bash -euc '
			# A hierarchy that is mounted again begins at our cgroup.
			if [ -d /sys/fs/cgroup/systemd ]; then
				mount -t tmpfs -o mode=0755 tmpfs /sys/fs/cgroup
				mkdir /sys/fs/cgroup/systemd /sys/fs/cgroup/unified
				mount -t cgroup -o none,name=systemd cgroup /sys/fs/cgroup/systemd
				mount -t cgroup2 cgroup2 /sys/fs/cgroup/unified
			else
				mount -t cgroup2 cgroup2 /sys/fs/cgroup
			fi
			mount --bind "$1/var/lib" /var/lib
			mount -t tmpfs -o mode=0755 tmpfs /run
			mkdir /run/units
			mount --bind "$1/units" /run/units
			export SYSTEMD_UNIT_PATH=/run/units container=test
			export SYSTEMD_LOG_TARGET=console SYSTEMD_LOG_LEVEL=notice
			exec "$2" --system --unit=test.target' - "$ROOT" "$SYSTEMD"
	) </dev/null >"$GBE_MEM/systemd.log" 2>&1 &
	OUTER=$!
	for ((n = 0; n < 500; n++)); do
		MANAGER=$(pgrep -P "$OUTER" || true)
		[[ ! $MANAGER ]] || ! inside systemctl is-active -q test.target 2>/dev/null || break
		nap 0.05
	done
	inside systemctl start etcd.service
	wait_for_etcd
}

manager_end() {
	kill -KILL "$OUTER" 2>/dev/null || true
	wait "$OUTER" 2>/dev/null || true
	cgroup_leave
}

inside() { timeout 60 nsenter -t "$MANAGER" -m -p -- "$@"; }
run_gbe() { inside "$(program greenboot-etcd)" --config=/var/lib/test.conf "$@"; }
main_pid() { inside systemctl show -P MainPID etcd.service; }
active() { [[ $(inside systemctl is-active etcd.service) == active ]]; }

wait_for_etcd() {
	local n
	for ((n = 0; n < 500; n++)); do
		[[ $(curl -s -m 2 "http://127.0.0.1:$ETCD_PORT/health") != *'"true"'* ]] || return 0
		nap 0.05
	done
	inside systemctl status etcd.service >&2 || true
	return 1
}

DATA_UNIT='# none'
unit() {
	local client peer
	client=http://127.0.0.1:$ETCD_PORT peer=http://127.0.0.1:$((ETCD_PORT + 1))
	cat >"$ROOT/units/etcd.service" <<-EOF2
		[Unit]
		DefaultDependencies=no
		[Service]
		$1
		ExecStart=$(command -v "$ETCD") --name=default --data-dir=/var/lib/etcd \
			--logger=zap --log-outputs=stderr --heartbeat-interval=10 --election-timeout=100 \
			--listen-client-urls=$client --advertise-client-urls=$client \
			--listen-peer-urls=$peer --initial-advertise-peer-urls=$peer \
			--initial-cluster=default=$peer
	EOF2
}

back_and_forth() {
	local one pid

	manager "$1"
	put_many key 20
	one=$(etcd_state)
	assert_exit 4 run_gbe backup first
	pid=$(main_pid)
	assert_exit 0 run_gbe --json backup first --stop
	assert_eq "restarted" "$(jq .service_restarted <<<"$OUT")" true
	active
	assert_ne "etcd's pid" "$(main_pid)" "$pid"
	wait_for_etcd
	assert_eq "the data" "$(etcd_state)" "$one"
	del --prefix key
	assert_exit 0 run_gbe restore first --stop
	wait_for_etcd
	assert_eq "the data" "$(etcd_state)" "$one"
	assert_exit 0 run_gbe undo --stop
	wait_for_etcd
	assert_eq "keys" "$(ctl get --prefix key --keys-only | grep -c . || true)" 0
	# A refused operation does not stop the service.
	pid=$(main_pid)
	truncate -s 4096 "$ROOT/var/lib/greenboot-etcd/backups/first/data/member/snap/db"
	assert_exit 6 run_gbe restore first --stop
	assert_exit 1 run_gbe restore nobody --stop
	assert_exit 1 run_gbe backup first --stop
	assert_exit 2 run_gbe backup --stop --live
	assert_exit 0 run_gbe backup -n --stop
	assert_eq "etcd's pid" "$(main_pid)" "$pid"
	# While the service runs, its user changes the data in a way that etcd never does.
	assert_exit 0 run_gbe backup third --stop
	wait_for_etcd
	one=$(etcd_state)
	rm "$ROOT/var/lib/etcd/member/snap/db"
	mkfifo "$ROOT/var/lib/etcd/member/snap/db"
	assert_exit 4 run_gbe restore third --force
	assert_exit 0 run_gbe restore third --stop --force
	wait_for_etcd
	assert_eq "the data" "$(etcd_state)" "$one"
	# A stopped service stays stopped.
	inside systemctl stop etcd.service
	assert_exit 0 run_gbe --json backup second --stop
	assert_eq "restarted" "$(jq .service_restarted <<<"$OUT")" false
	! active
}

# The displaced data is removed at once if etcd is healthy again. Otherwise it stays, and so does the last valid
# backup.
skips_backup() {
	local one displaced

	manager xfs
	put_many key 20
	one=$(etcd_state)
	assert_exit 0 run_gbe backup first --stop
	wait_for_etcd
	del --prefix key
	assert_exit 0 run_gbe --json restore first --stop --skip-backup
	assert_eq "result" "$(jq -c '[.displaced, .displaced_removed, .displaced_stays]' <<<"$OUT")" \
		'[null,true,null]'
	wait_for_etcd
	assert_eq "the data" "$(etcd_state)" "$one"
	assert_exit 0 run_gbe --json list
	assert_eq "backups" "$(jq -r 'map(.name) | join(" ")' <<<"$OUT")" first
	assert_exit 1 run_gbe undo --stop
	assert_match "stderr" "$ERR" "*nothing to undo*"
	# etcd is unhealthy: no server listens at the configured endpoint.
	put later x
	sed "s|^endpoint=.*|endpoint=http://127.0.0.1:9|; /^\[health\]/d; /^timeout=/d" \
		"$ROOT/var/lib/test.conf" >"$ROOT/var/lib/ill.conf"
	printf '[health]\ntimeout=2s\nrequest-timeout=1s\n' >>"$ROOT/var/lib/ill.conf"
	assert_exit 6 inside "$(program greenboot-etcd)" --config=/var/lib/ill.conf --json restore first \
		--stop --skip-backup
	displaced=$(jq -r .displaced <<<"$OUT")
	assert_match "why" "$(jq -r .displaced_stays <<<"$OUT")" "etcd is not healthy*"
	wait_for_etcd
	assert_eq "the data" "$(etcd_state)" "$one"
	assert_exit 0 run_gbe restore "$displaced" --stop
	wait_for_etcd
	assert_eq "later" "$(ctl get later --print-value-only)" x
	# It is the only valid backup in the store.
	assert_exit 0 run_gbe --json list
	for displaced in $(jq -r 'map(.name) | join(" ")' <<<"$OUT"); do
		[[ $displaced == first ]] || run_gbe delete --force "$displaced"
	done
	assert_exit 0 run_gbe mark bad first
	assert_exit 5 run_gbe --json restore first --force --stop --skip-backup
	displaced=$(jq -r .displaced <<<"$OUT")
	assert_match "why" "$(jq -r .displaced_stays <<<"$OUT")" "*the last valid one*"
	assert_exit 0 run_gbe show "$displaced"
	# The program dies before the removal: the result is that of a call that did not wait.
	wait_for_etcd
	assert_exit 0 run_gbe mark good first
	put later y
	assert_exit 137 inside env GREENBOOT_ETCD_FAULT=displaced-healthy=kill "$BUILD_FAULTS/greenboot-etcd" \
		--config=/var/lib/test.conf restore first --stop --skip-backup
	active
	wait_for_etcd
	assert_exit 0 run_gbe undo --stop
	wait_for_etcd
	assert_eq "later" "$(ctl get later --print-value-only)" y
}

again() { # it is up again, soon
	local n
	for ((n = 0; n < 500; n++)); do
		! active || break
		nap 0.05
	done
	active || fail "$1: etcd is down"
	wait_for_etcd
}

# The work in between ends in every possible way.
whatever() {
	local how pid worker

	manager xfs
	put_many key 20
	for how in service-stopped=EIO backup-cloned=EIO backup-renamed=EIO; do
		assert_exit 1 inside env GREENBOOT_ETCD_FAULT="$how" "$BUILD_FAULTS/greenboot-etcd" \
			--config=/var/lib/test.conf backup --stop
		active || fail "$how: etcd is down"
		wait_for_etcd
	done
	for how in service-stopped backup-made backup-cloned backup-durable; do
		assert_exit 137 inside env GREENBOOT_ETCD_FAULT="$how=kill" \
			"$BUILD_FAULTS/greenboot-etcd" --config=/var/lib/test.conf backup --stop
		again "$how=kill"
	done
	for how in TERM INT HUP; do
		inside env GREENBOOT_ETCD_FAULT=backup-cloned=hang "$BUILD_FAULTS/greenboot-etcd" \
			--config=/var/lib/test.conf backup --stop >&2 &
		pid=$!
		while active; do nap 0.05; done
		nap 0.2
		worker=$(pgrep -f "^$BUILD_FAULTS/greenboot-etcd .*--stop" | head -n 1)
		kill -"$how" "$worker"
		wait "$pid" || true
		again "$how"
	done
	assert_exit 0 run_gbe backup --stop
}

# The service does not start again: a message says so, with the command.
stays_down() {
	local how

	manager xfs
	inside touch /var/lib/forbidden
	unit 'ExecStartPre=/usr/bin/test ! -e /var/lib/forbidden'
	inside systemctl daemon-reload
	assert_exit 3 run_gbe backup first --stop
	assert_match "stderr" "$ERR" "*backup first is made, but*systemctl start etcd.service*"
	assert_eq "lines" "$(wc -l <"$GBE_MEM/err")" 1
	# No backup is made, but etcd is down, which is a change.
	inside rm /var/lib/forbidden
	inside systemctl reset-failed etcd.service
	inside systemctl start etcd.service
	wait_for_etcd
	inside touch /var/lib/forbidden
	for how in service-stopped=EIO backup-cloned=EIO; do
		assert_exit 3 inside env GREENBOOT_ETCD_FAULT="$how" "$BUILD_FAULTS/greenboot-etcd" \
			--config=/var/lib/test.conf backup second --stop
		assert_match "stderr" "$ERR" "*systemctl start etcd.service*"
		inside rm /var/lib/forbidden
		inside systemctl reset-failed etcd.service
		inside systemctl start etcd.service
		wait_for_etcd
		inside touch /var/lib/forbidden
	done
	# A defragmentation by the timer waits until no etcd has the data open.
	inside systemctl stop etcd.service
	assert_exit 1 run_gbe defrag
	assert_match "by hand" "$ERR" "*no etcd runs on*start etcd.service*"
	assert_exit 0 inside "$BUILD/hooks/defrag" --config=/var/lib/test.conf
}

# Another program has the data open, and no service is named.
not_the_service() {
	manager xfs
	inside systemctl stop etcd.service
	start_etcd --data-dir="$ROOT/var/lib/etcd"
	assert_exit 4 run_gbe backup first --stop
	assert_match "stderr" "$ERR" "*open although etcd.service is stopped*"
	sed -i '/^\[etcd\]$/a service=' "$ROOT/var/lib/test.conf"
	assert_exit 5 run_gbe backup first --stop
	assert_match "stderr" "$ERR" "*service is empty*"
}

# The service is stopped, but a foreign process has the data open for a while. The message names this process.
ends_late() {
	manager xfs
	inside systemctl stop etcd.service
	printf '[Unit]\nDefaultDependencies=no\n[Service]\nExecStart=/usr/bin/sleep infinity\n' \
		>"$ROOT/units/etcd.service"
	inside systemctl daemon-reload
	inside systemctl start etcd.service
	start_etcd --data-dir="$ROOT/var/lib/etcd"
	(
		sleep 4
		kill -TERM "$ETCD_PID"
	) &
	assert_exit 0 run_gbe backup first --stop
	assert_match "stderr" "$ERR" "*etcd.service is stopped, but a process still has /var/lib/etcd open: waiting*"
	assert_eq "the service" "$(inside systemctl is-active etcd.service)" active
	wait "$!"
}

# The cleanup also runs after a case that broke.
case_cleanup() {
	{ set +xeu; } 2>/dev/null
	trap - ERR
	kill_etcd
	[[ ! ${OUTER-} ]] || manager_end
	root_free
}

suite_begin "$@"
if [[ ! $SYSTEMD ]]; then
	echo "skip $SUITE: systemd is not installed (make deps)"
	exit 0
fi
for kind in $(kinds "xfs ext4"); do
	run_case "stop-back-and-forth@$kind" back_and_forth "$kind"
done
run_case stop-skip-backup skips_backup
run_case stop-whatever-happens whatever
run_case stop-stays-down stays_down
run_case stop-not-the-service not_the_service
run_case stop-ends-late ends_late
suite_end
