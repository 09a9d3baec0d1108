# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# The device as a machine that boots alone: systemd-nspawn starts the deployment that GRUB's rule chooses, on the
# device's disk. The units do all the work. The suite watches, and acts as a person would. Sourced last.

VAR=       # the stateroot's var, as seen from outside
NSPAWN=    # the machine's process
LEADER=    # the machine's process 1
ENDED=     # how it went down: off, reboot or cut
BOOTS=()   # what was booted, in order
CONSOLE=   # the console of this boot
DEVICE_ETCD_PORT=2379 # port at which etcd answers without TLS
START_LIMIT=${START_LIMIT:-60}

# machine_begin [BASE...]: is called once a suite, after suite_begin.
machine_begin() {
	# nspawn keeps files below /run, which another suite must not share.
	mount -t tmpfs -o mode=0755 tmpfs /run
	# The machine's systemd gets a cgroup of version 2 below this one.
	CGROUPS=/sys/fs/cgroup/unified
	[[ -e $CGROUPS/cgroup.procs ]] || CGROUPS=/sys/fs/cgroup
	cgroups_sweep
	os_layers "$@"
}

machine_end() { cgroup_remove "${GBE_SCRATCH##*/}"; }

# Removes directories of killed suites, which are empty by now.
cgroups_sweep() {
	local group
	for group in /sys/fs/cgroup{/systemd,/unified,}/greenboot-etcd-test.*; do
		[[ -e $GBE_SCRATCH_BASE/${group##*/} ]] || cgroup_remove "${group##*/}"
	done
}

cgroup_remove() {
	find /sys/fs/cgroup{/systemd,/unified,}/"$1" -depth -type d -exec rmdir {} \; 2>/dev/null || true
}

# device KIND [FLAVOUR]: makes a new device with the deployment A. KIND is a file system, or mount: ext4 with the data
# on an XFS of its own; mount-ext4: with the data on a small ext4.
device() {
	local kind=$1

	DATA_IMAGE=
	need_flavour "${2:-shell}"
	[[ $kind != mount* ]] || kind=ext4
	root_new "${kind%-subvol}"
	sysroot_init "${DEVICE_STATEROOT-}"
	VAR=$ROOT/ostree/deploy/$STATEROOT/var
	DATA=$VAR/lib/etcd
	FLAVOUR=${2:-shell}
	BOOTS=()
	# The second boot must find the journal of the first.
	mkdir -p "$ROOT/boot/grub2" "$VAR/lib" "$VAR/log/journal"
	ln -sfn grub2 "$ROOT/boot/grub"
	grubenv_store <<<"boot_success=1"
	case $1 in
	btrfs-subvol) btrfs -q subvolume create "$DATA" ;;
	mount | mount-ext4)
		mkdir -p "$DATA"
		DATA_IMAGE=$IMAGE.data
		if [[ $1 == mount ]]; then
			fs_format xfs "$DATA_IMAGE"
		else
			fs_format ext4 "$DATA_IMAGE" 256M
		fi
		loop_mount "$DATA_IMAGE" "$DATA"
		;;
	esac
	deploy A
}

# ---- up ----

# Prepares the deployment as the initramfs leaves it: its own root, a read-only /usr, the disk at /sysroot.
machine_mounts() {
	MACHINE=$GBE_MEM/machine.$BASHPID
	mkdir -p "$MACHINE"
	mount --bind "$(deployment_dir "$BOOTED")" "$MACHINE"
	mount --bind "$MACHINE/usr" "$MACHINE/usr"
	mount -o remount,bind,ro "$MACHINE/usr"
	mount --bind "$ROOT" "$MACHINE/sysroot"
	mount --bind "$ROOT/boot" "$MACHINE/boot"
	mount --rbind "$VAR" "$MACHINE/var"
}

# boot NAME [WORD...]: boots that entry instead of GRUB's choice, with further words on the command line. Returns when
# systemd is up.
boot() {
	local n

	BOOTED=$1
	BOOTS+=("$1")
	shift
	ENDED=
	CONSOLE=$CASE_LOGS/$SUITE.${CASE_NAME//\//_}.console.${#BOOTS[@]}
	machine_mounts
	(
		mkdir -p "$CGROUPS/${GBE_SCRATCH##*/}"
		echo 0 >"$CGROUPS/${GBE_SCRATCH##*/}/cgroup.procs"
		SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 exec systemd-nspawn --quiet --directory="$MACHINE" \
			--machine="device-$BASHPID" --hostname=device --register=no --keep-unit --private-network \
			--resolv-conf=off --timezone=off --link-journal=no --console=pipe \
			/usr/libexec/test/init root=/dev/vda2 rw "ostree=$(boot_link "$BOOTED")" "$@"
	) </dev/null >"$CONSOLE" 2>&1 &
	NSPAWN=$!
	for ((n = 0; n < 1000; n++)); do
		{ read -r LEADER _ <"/proc/$NSPAWN/task/$NSPAWN/children"; } 2>/dev/null || true
		[[ ! $LEADER || ! -S /proc/$LEADER/root/run/systemd/private ]] || return 0
		kill -0 "$NSPAWN" 2>/dev/null || break
		nap 0.02
	done
	echo "$BOOTED does not boot:" >&2
	tail -n 20 "$CONSOLE" >&2
	return 1
}

# inside COMMAND...: runs COMMAND on the running machine.
inside() { nsenter --target="$LEADER" --all --root -- /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/ "$@"; }
# inside_soon COMMAND...: runs COMMAND with a deadline: process 1 may be about to end, and then does not answer.
inside_soon() { timeout 5 nsenter --target="$LEADER" --all --root "$@" 2>/dev/null; }
gbe() { inside greenboot-etcd "$@"; }
ctl() { nsenter --target="$LEADER" --net -- "$ETCDCTL" --endpoints="http://127.0.0.1:$DEVICE_ETCD_PORT" "$@"; }
# in_network FUNCTION [ARG...]: runs a function of etcd.sh in a shell in the container's network.
in_network() {
	# shellcheck disable=SC2016 # expanded inside
	nsenter --target="$LEADER" --net -- bash -c '. "$1" && ETCD_PORT=$2 && "${@:3}"' - "$GBE_LIB/etcd.sh" \
		"$DEVICE_ETCD_PORT" "$@"
}
put() { in_network put "$@"; }
put_many() { in_network put_many "$@"; }
machine_running() { [[ $NSPAWN ]] && kill -0 "$NSPAWN" 2>/dev/null; }

# settle: waits until every job of the boot is done, and returns 0. Returns 1 if the machine goes down before that.
settle() {
	local state deadline=$((SECONDS + START_LIMIT))

	while ((SECONDS < deadline)); do
		if ! machine_running; then
			machine_gone
			return 1
		fi
		state=$(inside_soon systemctl is-system-running --wait) || true
		case $state in
		running | degraded) return 0 ;;
		esac
		nap 0.1
	done
	fail "$BOOTED is not up after $START_LIMIT s: $(inside systemctl list-jobs --no-legend | head -n 5)"
}

# power_on: lets GRUB choose, again after each automatic reboot, until a system stays up.
power_on() {
	local n id

	for ((n = 0; n < 9; n++)); do
		grub_choose
		id=$(sysroot_list | sed -n "$((GRUB_INDEX + 1))p")
		[[ $id ]]
		boot "$(deployment_name "$id")"
		if settle; then
			return 0
		fi
		[[ $ENDED == reboot ]] || return 1
	done
	fail "the machine keeps rebooting: ${BOOTS[*]}"
}

# ---- down ----

# Waits up to a minute until the machine has ended.
machine_gone() {
	local n rc=0

	for ((n = 0; n < 3000; n++)); do
		machine_running || break
		nap 0.02
	done
	if machine_running; then
		fail "$BOOTED does not go down: $(tail -n 3 "$CONSOLE")"
	fi
	wait "$NSPAWN" || rc=$?
	case $rc in
	0) ENDED='off' ;;
	133) ENDED='reboot' ;;
	*) ENDED='cut' ;;
	esac
	NSPAWN=
	LEADER=
	umount -R "$MACHINE"
}

shutdown() {
	inside systemctl poweroff
	machine_gone
	assert_eq "the end of $BOOTED" "$ENDED" off
}

reboot() {
	inside systemctl reboot
	machine_gone
	assert_eq "the end of $BOOTED" "$ENDED" reboot
	power_on
}

# Kills everything at once. Unflushed writes are lost.
powercut() {
	machine_kill
	if [[ $DATA_IMAGE ]]; then
		cp --sparse=always "$DATA_IMAGE" "$DATA_IMAGE.cut"
		umount "$DATA"
		mv "$DATA_IMAGE.cut" "$DATA_IMAGE"
		disk_cut
		loop_mount "$DATA_IMAGE" "$DATA"
	else
		disk_cut
	fi
}

machine_kill() {
	[[ $NSPAWN ]] || return 0
	[[ ! $LEADER ]] || kill -KILL "$LEADER" 2>/dev/null || true
	sleep 0.05
	kill -KILL "$NSPAWN" 2>/dev/null || true
	{ wait "$NSPAWN"; } 2>/dev/null || true
	NSPAWN=
	LEADER=
	ENDED='cut'
	umount -R "$MACHINE" 2>/dev/null || umount -R -l "$MACHINE" 2>/dev/null || true
}

# ---- updates ----

# stage NAME [COMMIT-NAME]: stages an update from the running system, which tells greenboot's units.
stage() {
	local name=$1 commit=${2:-$1} n

	ostree --repo="$ROOT/ostree/repo" refs --list | grep -qx "os/$commit" || os_commit "$commit"
	inside ostree admin deploy --stage --os="$STATEROOT" "os/$commit"
	for ((n = 0; n < 500; n++)); do
		[[ $(inside systemctl is-active ostree-finalize-staged.service) != active ]] || break
		nap 0.1
	done
	DEPLOYMENT[$name]=$STATEROOT-$(inside ostree admin status |
		sed -n "s/^ *$STATEROOT \([0-9a-f.]*\) (staged)\$/\1/p")
	[[ ${DEPLOYMENT[$name]} != "$STATEROOT-" ]]
}

# ---- what the case sees ----

# unit_time UNIT: prints how long its last start took, in microseconds.
unit_time() {
	local began ended
	began=$(inside systemctl show -P ExecMainStartTimestampMonotonic "$1")
	ended=$(inside systemctl show -P ExecMainExitTimestampMonotonic "$1")
	echo $((ended - began))
}

# found NAME: prints the state that etcd had at each boot of that image, one line each.
found() { sed -n "s/^$1 //p" "$VAR/log/found"; }

case_cleanup() {
	local rc=$?
	{ set +xeu; } 2>/dev/null
	trap - ERR
	if [[ $rc != 0 && $rc != 77 && ${VAR-} ]]; then
		journalctl -D "$VAR/log/journal" --no-pager -o short-monotonic 2>/dev/null \
			>"${CASE_LOGS:?}/$SUITE.${CASE_NAME//\//_}.journal"
		tail -n 30 "$CASE_LOGS/$SUITE.${CASE_NAME//\//_}.journal"
	fi
	machine_kill
	[[ ! ${DATA_IMAGE-} ]] || { umount "$DATA" && rm -f "$DATA_IMAGE"; }
	root_free
}
