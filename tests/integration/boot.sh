#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The units as they are installed, in their sandboxes, in a container that a real systemd boots from real
# ostree deployments on XFS: what they may do there is enough for the whole story, and they run in order.
# (The machine's /usr is the container's; the program lies in /usr/local.)

# shellcheck disable=SC2317 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

CGROUPS=/sys/fs/cgroup/unified
[[ -e $CGROUPS/cgroup.procs ]] || CGROUPS=/sys/fs/cgroup

# container_device: deployments of nothing but an /etc, and the program installed.
container_device() {
	root_new xfs
	umount "$ROOT/proc"
	sysroot_init
	VAR=$ROOT/ostree/deploy/$STATEROOT/var
	INSTALLED=$GBE_MEM/installed
	MAKEFLAGS='' make -s --no-print-directory -C "$GBE_TOP" install DESTDIR="$INSTALLED" prefix=/usr/local
	mkdir -p "$VAR/log/journal"
	install -d -o etcd -m 0700 "$VAR/lib/etcd"
}

# populate NAME COMMANDS: the deployment's /etc: etcd, and a person who does that once etcd is up, and
# then turns the machine off.
populate() {
	local etc units
	chmod 0755 "$(deployment_dir "$1")"
	etc=$(deployment_dir "$1")/etc
	units=$etc/systemd/system
	mkdir -p "$units/multi-user.target.wants" "$etc/tmpfiles.d"
	cp /etc/passwd /etc/group /etc/shadow /etc/nsswitch.conf "$etc/"
	echo "127.0.0.1 localhost" >"$etc/hosts"
	echo 0123456789abcdef0123456789abcdef >"$etc/machine-id"
	echo 'f /run/ostree-booted 0644' >"$etc/tmpfiles.d/ostree.conf"
	cat >"$units/etcd.service" <<-EOF2
		[Service]
		Type=notify
		User=etcd
		ExecStart=$(command -v "$ETCD") --name=default --data-dir=/var/lib/etcd/default
	EOF2
	cat >"$units/person.service" <<-EOF2
		[Unit]
		After=etcd.service
		[Service]
		Type=oneshot
		Environment=ETCDCTL_API=3 PATH=/usr/local/bin:/usr/bin:/usr/sbin
		ExecStart=/bin/bash -c '$2'
		ExecStopPost=systemctl --no-block poweroff
	EOF2
	ln -sf ../etcd.service ../person.service "$units/multi-user.target.wants/"
}

# run NAME: boots it, until it is off. LOG: what the journal has of it, in order.
run() {
	local group=$CGROUPS/${GBE_SCRATCH##*/} rc=0
	(
		mkdir -p "$group"
		echo 0 >"$group/cgroup.procs"
		SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 exec timeout 120 systemd-nspawn --quiet --register=no \
			--keep-unit --private-network --resolv-conf=off --timezone=off --link-journal=no \
			--hostname=device --console=pipe --directory="$(deployment_dir "$1")" \
			--bind-ro=/usr --bind="$INSTALLED/usr/local:/usr/local" --bind="$ROOT:/sysroot" \
			--bind="$ROOT/boot:/boot" --bind="$VAR:/var" --boot systemd.unit=multi-user.target
	) </dev/null >&2 || rc=$?
	# nspawn makes another one in the hierarchy of version 1.
	find /sys/fs/cgroup{/systemd,/unified,}/"${GBE_SCRATCH##*/}" -depth -type d -exec rmdir {} \; \
		2>/dev/null || true
	assert_eq "systemd-nspawn" "$rc" 0
	LOG=$GBE_MEM/journal
	journalctl -q -D "$VAR/log/journal" --no-pager -o short-monotonic --no-hostname >"$LOG"
	rm -rf "${VAR:?}"/log/journal/*
	grep -E 'greenboot-etcd|person|bash' "$LOG" >&2
}

# in_order PATTERN...: lines of the journal, one after the other.
in_order() {
	local at=0 line pattern
	for pattern; do
		line=$(grep -nE -- "$pattern" "$LOG" | awk -F: -v at="$at" '$1 > at { print $1; exit }') || true
		[[ $line ]] || fail "the journal has no \"$pattern\" where it should"
		at=$line
	done
}

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
	# An exchange, and a rename into the store, in the sandbox.
	in_order "prerun.*rule 10a" "prerun.*Restored" "Finished greenboot-etcd-prerun" "Starting etcd" \
		"k is a$" "Stopped etcd" "finalize.*was closed"
	assert_eq "what B wrote" "$(find "$VAR/lib/greenboot-etcd/backups" -maxdepth 1 \
		-name "${DEPLOYMENT[B]}_*" | wc -l)" 1
}

# The timer comes with the service, stays when that goes, and its service shows what it sees from its sandbox.
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
		jq -r .status.etcd.reason /run/greenboot-etcd/status.json
		systemctl stop etcd
		shown "healthy 0"
		cat /run/motd.d/greenboot-etcd
		systemctl is-active greenboot-etcd-monitor.timer
	EOF2
	mkdir -p "$(deployment_dir A)/etc/greenboot-etcd"
	printf '[health]\nmonitor=1s\n[metrics]\ntextfile=/var/lib/node/etcd.prom\n' \
		>"$(deployment_dir A)/etc/greenboot-etcd/greenboot-etcd.conf"
	run A
	in_order "Started greenboot-etcd-monitor.timer" "bash.*healthy, leader, 1 member" "Stopped etcd" \
		"monitor.*etcd is not healthy" "bash.*etcd is not healthy" "bash.*: active"
	! grep -q "no metric\|Failed to start greenboot-etcd" "$LOG" || fail "it could not show it"
}

# Masked, the service starts by itself.
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
command -v systemd-nspawn >/dev/null || {
	echo "skip $SUITE: systemd-nspawn is not installed (make deps)"
	exit 0
}
run_case there-and-back there_and_back
run_case monitored monitored
run_case masked masked
suite_end
