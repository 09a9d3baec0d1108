# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# Plays boots of ROOT with the real programs. A boot is: a fresh /run, a kernel command line that points to a
# deployment, and a fresh boot id. Then the programs run that systemd would start, in its order. Sourced after ostree.sh
# and etcd.sh.

BOOTED=     # name of the booted deployment
PRERUN=     # exit status of the last prerun; empty if prerun was not installed
FINALIZE=   # the same of finalize
HEALTH=     # the same of the health hook
PRERUN_US=0 # duration of the last prerun
FINALIZE_US=0
CLOCK=0     # seconds that the device's clock is ahead of the machine's
UPTIME=0    # time since the boot, for the last prerun
MASKED=     # yes: prerun is masked
ETCD_OPTIONS=()
TRACER=()  # a program that starts the others, e.g. strace

# program NAME: prints its path in the build directory.
program() {
	if [[ $1 == greenboot-etcd ]]; then
		echo "$BUILD/greenboot-etcd"
	else
		echo "$BUILD/hooks/$1"
	fi
}

# built NAME...: are these optional programs part of the build?
built() {
	local name
	for name; do
		[[ -x $BUILD/hooks/greenboot-etcd-$name ]] || return 1
	done
}

# install_with DIR [PROGRAM...]: puts the command and these optional programs into DIR, and no other optional program.
install_with() {
	local dir=$1 program
	shift
	mkdir -p "$dir/hooks"
	cp "$BUILD/greenboot-etcd" "$dir/"
	cp "$BUILD"/hooks/libgreenboot-etcd-*.so "$dir/hooks/"
	for program; do
		cp "$BUILD/hooks/greenboot-etcd-$program" "$dir/hooks/"
		[[ $program != cluster ]] || ln -sf greenboot-etcd-cluster "$dir/hooks/greenboot-etcd-member"
	done
}

# gbe VERB...: runs the operator's command on ROOT.
gbe() { on_device "$BUILD/greenboot-etcd" --root="$ROOT" "$@"; }
# gbe_as_user VERB...: runs it as a user without rights. The clone may lie in a directory that only root can enter.
gbe_as_user() {
	chmod 0711 "$GBE_SCRATCH"
	mkdir -p "$GBE_MEM/build"
	mountpoint -q "$GBE_MEM/build" || mount --bind "$BUILD" "$GBE_MEM/build"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$GBE_MEM/build/greenboot-etcd" --root="$ROOT" "$@"
}
# data_of NAME: prints the path of that backup's data.
data_of() { find "$ROOT/var" "$ROOT/.greenboot-etcd" -path "*/$1/data" 2>/dev/null | head -n 1 || true; }
# ledger FILTER: runs jq's FILTER on the records of the ledger, as one array.
ledger() { sed 's/^[^ ]* //' "$ROOT/var/lib/greenboot-etcd/ledger" | jq -rs "$1"; }
# ledger_line JSON: prints JSON as a line of the ledger, with its checksum.
ledger_line() {
	python3 - "$1" <<-'EOF'
		import sys
		crc = 0xffffffff
		for byte in sys.argv[1].encode():
		    crc ^= byte
		    for _ in range(8):
		        crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
		print("%08x %s" % (crc ^ 0xffffffff, sys.argv[1]))
	EOF
}
# hook NAME [ARG...]: runs a boot program on ROOT.
hook() {
	local name=$1
	shift
	on_device "$BUILD/hooks/$name" --root="$ROOT" "$@"
}

# The program runs with the device's clock, and not longer than any boot program may take.
on_device() {
	if [[ $CLOCK != 0 ]]; then
		LD_PRELOAD=$GBE_PREPARED/clock.so/clock.so GBE_TEST_CLOCK=$CLOCK GBE_TEST_UPTIME=$UPTIME timeout 120 \
			"${TRACER[@]}" "$@"
	else
		timeout 120 "${TRACER[@]}" "$@"
	fi
}

# clock_set SECONDS|1970: sets the device's clock to the machine's clock plus SECONDS, or lets it start in 1970.
clock_set() {
	CLOCK=$1
	[[ $CLOCK != 1970 ]] || CLOCK=-$EPOCHSECONDS
	prepared_tool clock.so
}

# config_write: writes the base configuration. Further keys come from config GROUP KEY=VALUE..., as drop-ins.
config_write() {
	mkdir -p "$ROOT/etc/greenboot-etcd/greenboot-etcd.conf.d"
	cat >"$ROOT/etc/greenboot-etcd/greenboot-etcd.conf" <<-EOF
		[etcd]
		endpoint=http://$ETCD_HOST:$ETCD_PORT

		[health]
		timeout=${HEALTH_TIMEOUT:-10s}
	EOF
	sync -f "$ROOT"
}

config() {
	local group=$1 setting
	shift
	for setting; do
		printf '[%s]\n%s\n' "$group" "$setting" \
			>"$ROOT/etc/greenboot-etcd/greenboot-etcd.conf.d/50-$group-${setting%%=*}.conf"
	done
	# A person does not cut the power directly after an edit, so the file is flushed.
	sync -f "$ROOT"
}

unconfig() { rm -f "$ROOT/etc/greenboot-etcd/greenboot-etcd.conf.d/50-$1-$2.conf"; }

# device KIND [FLAVOUR [SIZE]]: makes a new device: ROOT with an ostree sysroot, deployment A, greenboot.
device() {
	root_new "$1" "${3-}"
	STATEROOT=${DEVICE_STATEROOT:-fedora-iot}
	FLAVOUR=${2:-shell}
	prepared "device-$STATEROOT-$FLAVOUR-$MAX_BOOT_ATTEMPTS-${OS_VERSION[A]-A}-${OS_VERSION[B]-B}" device_make "$BUILD/hooks/prerun" \
		"$BUILD/hooks/finalize" "$GBE_LIB"/{boot,greenboot,ostree,scratch}.sh
	cp -a "$PREPARED/root/." "$ROOT/"
	cp -a "$PREPARED/boot/." "$ROOT/boot/"
	DEPLOYMENT=([A]=$(<"$PREPARED/A"))
	etcd_ports
	config_write
}

# The device is made as a directory that fits any file system. The update's commit is also in its repository.
device_make() {
	root_new none
	sysroot_init "$STATEROOT"
	mkdir -p "$ROOT/usr/lib/systemd/system"
	printf '[Service]\nExecStart=/usr/bin/etcd\n' >"$ROOT/usr/lib/systemd/system/etcd.service"
	greenboot_install "$FLAVOUR"
	deploy A
	os_commit B
	umount "$ROOT/boot" "$ROOT/proc"
	mv "$BOOT/boot" "$1/boot"
	mv "$ROOT" "$1/root"
	rm -rf -- "$BOOT"
	echo "${DEPLOYMENT[A]}" >"$1/A"
}

# has_program: succeeds if the booted deployment has greenboot-etcd.
has_program() {
	local id=${DEPLOYMENT[$BOOTED]-$BOOTED}
	[[ -e $ROOT/ostree/deploy/$STATEROOT/deploy/${id#"$STATEROOT-"}/usr/libexec/greenboot-etcd/prerun ]]
}

# boot NAME [--soft] [--cmdline=TEXT]: boots NAME up to the moment where etcd would start.
boot() {
	local soft='' extra='' count link
	BOOTED=$1
	shift
	for _; do
		case $1 in
		--soft) soft=yes ;;
		--cmdline=*) extra=${1#*=} ;;
		esac
		shift
	done
	if [[ $soft ]]; then
		# A soft reboot keeps the kernel and /run; systemd counts it. On a device the command line also stays,
		# and libostree names the deployment. Below --root, the command line names it.
		count=$(cat "$ROOT/run/greenboot-etcd/soft-reboots" 2>/dev/null || echo 0)
		mkdir -p "$ROOT/run/greenboot-etcd"
		echo $((count + 1)) >"$ROOT/run/greenboot-etcd/soft-reboots"
	else
		umount "$ROOT/run" 2>/dev/null || true
		mount -t tmpfs -o mode=0755 tmpfs "$ROOT/run"
		read -r link </proc/sys/kernel/random/uuid
		echo "$link" >"$ROOT/proc/sys/kernel/random/boot_id"
	fi
	: >"$ROOT/run/ostree-booted"
	link=$(boot_link "$BOOTED")
	echo "BOOT_IMAGE=/boot/vmlinuz root=/dev/vda2 rw ostree=$link${extra:+ $extra}" \
		>"$ROOT/proc/cmdline"
	# This part stands for the initramfs.
	[[ $soft ]] || ! declare -F before_prerun >/dev/null || before_prerun
	start_prerun
}

start_prerun() {
	local began=${EPOCHREALTIME/./}

	PRERUN=
	PRERUN_LOG=$GBE_MEM/prerun.log
	: >"$PRERUN_LOG"
	has_program && [[ ! $MASKED ]] || return 0
	etcd_program "${ETCD_OF[$BOOTED]-$ETCD}"
	PRERUN=0
	hook prerun >"$PRERUN_LOG" 2>&1 || PRERUN=$?
	PRERUN_US=$((${EPOCHREALTIME/./} - began))
	cat "$PRERUN_LOG" >&2
	case $PRERUN in
	0 | 5) ;;
	*) echo "prerun exited with $PRERUN" >&2 && return 1 ;;
	esac
}

# up NAME [OPTION...]: boots NAME, and starts etcd if prerun allows it.
up() {
	boot "$@"
	[[ ${PRERUN:-0} != 0 ]] || start_etcd "${ETCD_OPTIONS[@]}"
}

# ---- the ways down ----

# shutdown: ends etcd, greenboot-etcd, greenboot and ostree in the order of a real shutdown.
shutdown() {
	stop_etcd
	start_finalize
	greenboot_at_shutdown
	finalize_staged
}

start_finalize() {
	local began=${EPOCHREALTIME/./}

	FINALIZE=
	FINALIZE_LOG=$GBE_MEM/finalize.log
	: >"$FINALIZE_LOG"
	has_program || return 0
	FINALIZE=0
	hook finalize >"$FINALIZE_LOG" 2>&1 || FINALIZE=$?
	FINALIZE_US=$((${EPOCHREALTIME/./} - began))
	cat "$FINALIZE_LOG" >&2
}

# powercut: ends every program without a signal. Unflushed writes are lost.
powercut() {
	kill_etcd
	disk_cut
}

# crash: ends the kernel. The disk has everything that was written.
crash() { kill_etcd; }

# machine_on [OPTION...]: lets GRUB choose the entry, and boots up to the moment where etcd would start.
machine_on() {
	local id

	grub_choose
	sysroot_order
	id=${ORDER[GRUB_INDEX]-}
	[[ $id ]]
	boot "$(deployment_name "$id")" "$@"
	greenboot_check_fallback
}

power_on() {
	machine_on "$@"
	[[ ${PRERUN:-0} != 0 ]] || start_etcd "${ETCD_OPTIONS[@]}"
}

reboot() {
	shutdown
	power_on "$@"
}

# ---- the power goes away while a program works ----

# fault_points NAME: prints the points that a start of NAME passes now, one a line, as NAME@PASS. The start is real,
# so the device is thrown away or loaded again afterwards. LEVEL=ci prints the steps of the operation only; the crash
# suite plays the points of each file and record.
fault_points() {
	local points

	points=$(GREENBOOT_ETCD_FAULT_TRACE=1 BUILD=$BUILD_FAULTS hook "$1" 2>&1 |
		sed -n 's/^fault-point \([^ ]*\) \([0-9]*\)$/\1@\2/p')
	if [[ ${LEVEL:-ci} == ci ]]; then
		grep -E '^(backup|clone-snapshot|entries|exchange|execute|finalize|recover|restore)-.*@1$' \
			<<<"$points"
	else
		echo "$points"
	fi
}

# cut_in NAME POINT: starts NAME and cuts the power when it reaches POINT. Fails if NAME ends before that.
cut_in() {
	local pid

	GREENBOOT_ETCD_FAULT=$2=stop "$BUILD_FAULTS/hooks/$1" --root="$ROOT" >&2 &
	pid=$!
	if until_halted "$pid"; then
		kill -KILL "$pid" 2>/dev/null || true
		kill -KILL "$HALTED" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
		disk_cut
		return 0
	fi
	wait "$pid" || true
	return 1
}

# boot_cut NAME POINT: boots NAME and cuts the power in its prerun.
boot_cut() {
	MASKED=yes boot "$1"
	cut_in prerun "$2"
}

# device_save / device_load: saves a device that is off, to play several continuations of it.
device_save() {
	[[ $IMAGE ]]
	umount -R "$ROOT"
	cp --reflink=auto --sparse=always "$IMAGE" "$IMAGE.saved"
	rm -rf "$BOOT.saved"
	cp -a "$BOOT" "$BOOT.saved"
	loop_mount "$IMAGE" "$ROOT"
	root_mounts
}

# same_boot: continues the boot after device_save or device_load, as if the machine had not been off.
same_boot() {
	mount -t tmpfs -o mode=0755 tmpfs "$ROOT/run"
	touch "$ROOT/run/ostree-booted"
}

device_load() {
	umount -R "$ROOT"
	cp --reflink=auto --sparse=always "$IMAGE.saved" "$IMAGE"
	find "$BOOT" -mindepth 1 -delete
	cp -a "$BOOT.saved/." "$BOOT/"
	loop_mount "$IMAGE" "$ROOT"
	root_mounts
}
