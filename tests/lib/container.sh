# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# A device with the installed units and programs: a real systemd boots a real ostree deployment in a container. /usr
# is the machine's, and the program is in /usr/local. Sourced after all.sh.

CGROUPS=/sys/fs/cgroup/unified
[[ -e $CGROUPS/cgroup.procs ]] || CGROUPS=/sys/fs/cgroup

need_nspawn() {
	command -v systemd-nspawn >/dev/null && return
	echo "skip $SUITE: systemd-nspawn is not installed (make deps)"
	exit 0
}

# container_device [STATEROOT]: makes deployments that consist of an /etc only, and installs the program.
container_device() {
	root_new xfs
	umount "$ROOT/proc"
	sysroot_init "$@"
	VAR=$ROOT/ostree/deploy/$STATEROOT/var
	installed
	mkdir -p "$VAR/log/journal"
	install -d -o etcd -m 0700 "$VAR/lib/etcd"
}

# installed: installs the build below INSTALLED.
installed() {
	prepared installed install_make "$BUILD/greenboot-etcd" "$BUILD"/hooks/* "$GBE_TOP"/{hooks,data,greenboot.d}/* "$GBE_TOP"/hooks/*/*
	INSTALLED=$PREPARED
}

install_make() {
	MAKEFLAGS='' make -s --no-print-directory -C "$GBE_TOP" install DESTDIR="$1" prefix=/usr/local
}

# populate NAME COMMANDS: fills the deployment's /etc with etcd, which has its data in CONTAINER_DATA, and a person.
# The person runs COMMANDS after etcd is up or has failed, and then turns the machine off.
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
	printf '%s\n' "$2" >"$etc/person"
	cat >"$units/etcd.service" <<-EOF2
		[Service]
		Type=notify
		User=etcd
		ExecStart=$(command -v "$ETCD") --name=default --data-dir=${CONTAINER_DATA:-/var/lib/etcd/default}
	EOF2
	cat >"$units/person.service" <<-EOF2
		[Unit]
		After=etcd.service
		[Service]
		Type=oneshot
		Environment=ETCDCTL_API=3 PATH=/usr/local/bin:/usr/bin:/usr/sbin
		ExecStart=/bin/bash /etc/person
		ExecStopPost=systemctl --no-block poweroff
	EOF2
	ln -sf ../etcd.service ../person.service "$units/multi-user.target.wants/"
}

# run NAME [OPTION...]: boots the container and waits until it is off. LOG is its journal, in order. OPTION is one of
# systemd-nspawn. HOST and a NETWORK allow several containers at a time.
NETWORK=(--private-network)
run() {
	local group=$CGROUPS/${GBE_SCRATCH##*/}${HOST:+-$HOST} rc=0
	(
		mkdir -p "$group"
		echo 0 >"$group/cgroup.procs"
		SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 exec timeout 600 systemd-nspawn --quiet --register=no \
			--keep-unit "${NETWORK[@]}" ${HOST:+--machine="$HOST"} --resolv-conf=off --timezone=off --link-journal=no \
			--hostname="${HOST:-device}" --console=pipe --directory="$(deployment_dir "$1")" \
			--bind-ro=/usr --bind-ro="$INSTALLED/usr/local:/usr/local" --bind="$ROOT:/sysroot" \
			--bind="$ROOT/boot:/boot" --bind="$VAR:/var" "${@:2}" --boot \
			systemd.unit=multi-user.target ${ASAN_OPTIONS:+systemd.setenv="ASAN_OPTIONS=$ASAN_OPTIONS"}
	) </dev/null >&2 || rc=$?
	# nspawn makes another cgroup in the hierarchy of version 1.
	find /sys/fs/cgroup{/systemd,/unified,}/"${group##*/}" -depth -type d -exec rmdir {} \; \
		2>/dev/null || true
	assert_eq "systemd-nspawn" "$rc" 0
	LOG=$GBE_MEM/journal${HOST:+-$HOST}
	journalctl -q -D "$VAR/log/journal" --no-pager -o short-monotonic --no-hostname >"$LOG"
	rm -rf "${VAR:?}"/log/journal/*
	grep -E 'greenboot-etcd|person|bash' "$LOG" >&2
}

# person_is_done: expects that the person of the last run, who knows the words of person.sh, came to the end of the script.
person_is_done() {
	! grep "not as it should be" "$LOG" >&2 || fail "${HOST:+$HOST: }$(grep -o "not as it should be.*" "$LOG" | head -n 1)"
	grep -q "all of it$" "$LOG" || fail "${HOST:+$HOST: }the person gave up"
	! grep -q "PRIVATE KEY" "$LOG" || fail "${HOST:+$HOST: }a key is in the journal"
}

# in_order PATTERN...: expects these lines in the journal, in this order.
in_order() {
	local at=0 line pattern
	for pattern; do
		line=$(grep -nE -- "$pattern" "$LOG" | awk -F: -v at="$at" '$1 > at { print $1; exit }') || true
		[[ $line ]] || fail "the journal has no \"$pattern\" where it should"
		at=$line
	done
}
