# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# A temporary place for real parts: mount and pid namespaces, a scratch directory, and file systems on loop devices in
# it. OWN_NETWORK=yes adds a network, where a free port stays free. Sourced.
#
# Cleaning up, also after SIGKILL: the calling script runs again as process 1 of a pid namespace. When the outer shell
# ends, the kernel ends the namespace with everything in it. The mount namespace ends with its last process, and loop
# devices (autoclear) end with their mounts. A watchdog in a session of its own waits for the lock that all of them
# hold, and removes the directory. After a crash of the machine the next start removes each unlocked directory.

GBE_LIB=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
GBE_TOP=$(cd "$GBE_LIB/../.." && pwd)
BUILD=${BUILD:-$GBE_TOP/build/default}
[[ $BUILD == /* ]] || BUILD=$GBE_TOP/$BUILD
BUILD_FAULTS=${BUILD_FAULTS:-$BUILD-faults}
GBE_SCRATCH_BASE=${GBE_SCRATCH_BASE:-/var/tmp}

scratch_sweep() {
	local dir
	for dir in "$GBE_SCRATCH_BASE"/greenboot-etcd-test.*; do
		[[ -e $dir/.lock ]] || continue
		if flock -n "$dir/.lock" true; then
			rm -rf -- "$dir"
		fi
	done
}

# isolate [ARG...]: is called first, with the script's arguments. Returns only inside the namespaces.
isolate() {
	local dir lock watchdog child rc=0 stopped=

	if [[ ${GBE_SCRATCH-} ]]; then
		scratch_enter
		return
	fi
	scratch_sweep
	dir=$(mktemp -d "$GBE_SCRATCH_BASE/greenboot-etcd-test.XXXXXX") || exit 1
	exec {lock}>"$dir/.lock"
	flock "$lock" || exit 1
	(
		exec {lock}>&-
		trap '' INT TERM HUP
		exec setsid flock "$dir/.lock" rm -rf -- "$dir"
	) </dev/null >/dev/null 2>&1 &
	watchdog=$!
	GBE_SCRATCH=$dir setpriv --pdeathsig KILL unshare --mount --propagation private ${OWN_NETWORK:+--net} \
		--pid --fork --kill-child --mount-proc bash "$0" "$@" &
	child=$!
	# The process in between ignores TERM and INT. Its end also ends the namespaces.
	trap 'stopped=yes; kill -KILL "$child" 2>/dev/null' INT TERM HUP
	{ wait "$child"; } 2>/dev/null || rc=$?
	if [[ $stopped ]]; then
		{ wait "$child"; } 2>/dev/null
		rc=130
	fi
	# The inner script could not report its failure.
	if ((rc > 128)) && declare -F on_interrupt >/dev/null; then
		on_interrupt
	fi
	exec {lock}>&-
	wait "$watchdog" 2>/dev/null
	exit "$rc"
}

scratch_enter() {
	umask 022
	[[ ! ${OWN_NETWORK-} ]] || ip link set lo up || exit 1
	GBE_MEM=$GBE_SCRATCH/mem
	mkdir -p "$GBE_MEM"
	mount -t tmpfs -o mode=0755,size=75% tmpfs "$GBE_MEM"
	mkfifo "$GBE_MEM/nap"
	GBE_ROOTS=0
	# Disks lie in memory if there is enough of it. A flush costs nothing there, but disk_cut() still checks the
	# purpose of each flush. GBE_DISK=yes uses real disks.
	GBE_IMAGES=$GBE_SCRATCH
	if [[ ! ${GBE_DISK-} ]] &&
		(($(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo) > 8 << 20)); then
		GBE_IMAGES=$GBE_MEM
	fi
	# ostree sets no immutable bit on deployments, so that they can be removed, and stages without asking systemd
	# to start a unit.
	export OSTREE_SYSROOT_DEBUG=mutable-deployments,test-staged-path
	unset OSTREE_SYSROOT OSTREE_REPO ETCDCTL_ENDPOINTS ETCDCTL_CACERT ETCDCTL_USER
	export ETCDCTL_API=3 LC_ALL=C
}

# nap SECONDS: sleeps without starting a program.
nap() { read -r -t "$1" <>"$GBE_MEM/nap" || true; }

# soon WHAT COMMAND...: waits some 10 s until COMMAND succeeds.
soon() {
	local n what=$1
	shift
	for ((n = 0; n < 500; n++)); do
		! "$@" >/dev/null 2>&1 || return 0
		nap 0.02
	done
	fail "$what did not come: $*"
}

# halted PID...: finds the process, of these or their children, that has stopped at its fault point, and sets HALTED.
# It is called often, and so starts no program.
halted() {
	local pid state children

	for pid; do
		children=()
		{ read -ra children <"/proc/$pid/task/$pid/children"; } 2>/dev/null || true
		for HALTED in "$pid" "${children[@]}"; do
			{ read -r state <"/proc/$HALTED/stat"; } 2>/dev/null || continue
			[[ ${state##*) } != T* ]] || return 0
		done
	done
	return 1
}

# until_halted PID: waits for halted. Returns 1 if the process ends without stopping.
until_halted() {
	local n

	for ((n = 0; n < 6000; n++)); do
		! halted "$1" || return 0
		kill -0 "$1" 2>/dev/null || return 1
		nap 0.005
	done
	return 1
}

# ---- file systems: xfs, xfs-noreflink, btrfs, btrfs-subvol (the data is a subvolume), ext4, none;
# ---- ext4-writeback and ext4-nodelalloc are ext4 with this mount option

fs_clones() { # do copies share blocks there?
	case $1 in
	xfs | btrfs | btrfs-subvol) return 0 ;;
	*) return 1 ;;
	esac
}

# fs_format KIND IMAGE [SIZE]: makes a file system. FS_SIZE is the default size. FEW_INODES: with as few inodes as the
# kind allows.
fs_format() {
	truncate -s "${3:-${FS_SIZE:-4G}}" "$2"
	case $1 in
	xfs) mkfs.xfs -q -m reflink=1 ${FEW_INODES:+-i maxpct=1} "$2" ;;
	xfs-noreflink) mkfs.xfs -q -m reflink=0 ${FEW_INODES:+-i maxpct=1} "$2" ;;
	btrfs | btrfs-subvol) mkfs.btrfs -q "$2" ;;
	ext4*) mkfs.ext4 -q -F -E nodiscard ${FEW_INODES:+-N 6000} "$2" ;;
	*) echo "no file system kind: $1" >&2 && return 1 ;;
	esac
}

# fs_options KIND: prints its mount options.
fs_options() {
	case $1 in
	ext4-writeback) echo noatime,data=writeback ;;
	ext4-nodelalloc) echo noatime,nodelalloc ;;
	*) echo noatime ;;
	esac
}

# root_new KIND [SIZE [FROM]]: makes a fresh ROOT: empty, or a copy of the scene that scene_save left at FROM. Sets
# ROOT, KIND, IMAGE (empty for a plain directory) and DATA, the default data directory below it. DATA is created only
# as a subvolume; otherwise etcd creates it.
root_new() {
	KIND=$1
	GBE_ROOTS=$((GBE_ROOTS + 1))
	ROOT=$GBE_SCRATCH/root.$BASHPID.$GBE_ROOTS
	BOOT=$GBE_MEM/boot.$BASHPID.$GBE_ROOTS
	DATA=$ROOT/var/lib/etcd
	IMAGE=
	mkdir -p "$ROOT" "$BOOT"
	if [[ $KIND != none ]]; then
		IMAGE=$GBE_IMAGES/image.$BASHPID.$GBE_ROOTS
		MOUNT_OPTIONS=$(fs_options "$KIND")
		if [[ ${3-} ]]; then
			cp --reflink=auto --sparse=always "$3/image" "$IMAGE"
			# Other suites may have mounted the same file system.
			[[ $KIND != xfs* ]] || MOUNT_OPTIONS+=,nouuid
		else
			fs_format "$KIND" "$IMAGE" "${2-}"
		fi
		loop_mount "$IMAGE" "$ROOT"
	fi
	if [[ ${3-} ]]; then
		cp -a "$3/boot/." "$BOOT/"
		root_mounts
		return 0
	fi
	mkdir -p "$BOOT"/{boot,proc/sys/kernel/random}
	mkdir -p "$ROOT"/{boot,run,etc,proc,var/lib,usr/libexec,usr/lib}
	root_mounts
	if [[ $KIND == btrfs-subvol ]]; then
		btrfs -q subvolume create "$DATA"
		chmod 0700 "$DATA"
	fi
}

# Other programs on this machine also use loop devices: a free one may be in use a moment later.
loop_mount() {
	local try
	for try in 1 2 3 4 5; do
		if mount -o "loop,${MOUNT_OPTIONS:-noatime}" "$1" "$2"; then
			return 0
		fi
		sleep "0.$try"
	done
	return 1
}

# /boot is never part of the data's file system: greenboot cannot count on btrfs. ostree freezes /boot, and no test
# may freeze the host's file system. /proc is not a disk.
root_mounts() {
	mount --bind "$BOOT/boot" "$ROOT/boot"
	mount --bind "$BOOT/proc" "$ROOT/proc"
}

root_free() {
	[[ ${ROOT-} ]] || return 0
	umount "$ROOT/boot" "$ROOT/proc" "$ROOT/run" 2>/dev/null || true
	umount -R "$ROOT" 2>/dev/null || umount -R -l "$ROOT" 2>/dev/null || true
	rm -rf -- "$ROOT" "$BOOT" "$BOOT.saved" ${IMAGE:+"$IMAGE" "$IMAGE.saved"}
	ROOT=
}

# Prints the number of writes that the disk below ROOT has seen, and of those under way.
disk_writes() {
	local device
	device=$(findmnt -no SOURCE "$ROOT")
	awk '{ print $5, $7, $9 }' "/sys/block/${device##*/}/stat"
}

# A copy of the disk takes a while, and btrfs commits at any time. A copy during which something was written mixes two
# states. The copy is then made again, a few times at most.
disk_copy() {
	local before try
	for try in {1..10}; do
		before=$(disk_writes)
		cp --reflink=auto --sparse=always "$IMAGE" "$1"
		[[ $(disk_writes) != "$before" || $before != *" 0" ]] || return 0
		sleep 0.1
	done
	# ext4 keeps writing its inode tables for minutes; its journal covers these writes.
	echo "the disk is never at rest: $before, $(disk_writes) (try $try)" >&2
}

# disk_cut: cuts the power. The disk's state of this moment is mounted instead of the file system, so unflushed writes
# are lost. (A plain directory keeps everything.)
disk_cut() {
	local new=$IMAGE.cut

	[[ $IMAGE ]] || return 0
	disk_copy "$new"
	umount -R "$ROOT"
	mv "$new" "$IMAGE"
	loop_mount "$IMAGE" "$ROOT"
	root_mounts
}

# fs_at KIND DIR [SIZE]: mounts one more file system at DIR.
fs_at() {
	local image

	GBE_ROOTS=$((GBE_ROOTS + 1))
	image=$GBE_IMAGES/image.$BASHPID.$GBE_ROOTS
	fs_format "$1" "$image" "${3-}"
	mkdir -p "$2"
	loop_mount "$image" "$2"
	# The image is unlinked, so that it ends with its mount.
	rm -f -- "$image"
}

# goes_away DIR / comes_back DIR: removes a mount, and brings it back.
goes_away() {
	mkdir -p "$GBE_MEM/aside"
	mount --bind "$1" "$GBE_MEM/aside"
	umount "$1"
}
comes_back() { mount --move "$GBE_MEM/aside" "$1"; }

# tree_digest DIR: prints a digest of names, types, sizes, content, owner, mode, times and xattrs. The nonce of
# greenboot-etcd is left out.
tree_digest() {
	(
		cd "$1" || exit 1
		find . -mindepth 1 ! -path ./.greenboot-etcd-owner \
			-printf '%P|%y|%s|%m|%U|%G|%T@|%l\n' | grep -v '^[^|]*|d' | sort
		find . -mindepth 1 -type d -printf '%P|d|%m|%U|%G\n' | sort
		find . -type f ! -path ./.greenboot-etcd-owner -print0 | sort -z |
			xargs -0r cksum
		find . ! -path ./.greenboot-etcd-owner -print0 | sort -z |
			xargs -0r getfattr -h -d -m - 2>/dev/null
	) | sha256sum | cut -d' ' -f1
}

# flip FILE OFFSET: flips one bit of that byte, so that the byte changes in any case. -OFFSET counts from the end.
flip() {
	local at=$2 byte

	((at >= 0)) || at=$(($(stat -c %s "$1") + at))
	byte=$(od -An -tu1 -j "$at" -N 1 "$1")
	printf '%b' "\\x$(printf %02x $((byte ^ 1)))" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}
