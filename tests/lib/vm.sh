# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2120,SC2119,SC2153 # read, called and set by those who source this
#
# The device as a virtual machine: GRUB, a kernel, dracut's initramfs and systemd, in QEMU without KVM. The machine
# has one emulated processor: a second one costs as much as it gains. The two disks, / and /boot, are mounted at ROOT
# only while the machine is off. While it is up, commands and answers use its second serial line; GRUB and the kernel
# use the first. The functions are those of nspawn.sh, and a suite sources one of the two files.

VAR=     # the stateroot's var, while the machine is off
QEMU=    # QEMU's process
ENDED=   # how it went down: off, reboot, panic or cut
BOOTS=() # what was booted, in order, as GRUB said
CONSOLE= # the file with this boot's console
# On an idle host, one boot takes a minute. A busy host is not a failure.
START_LIMIT=${START_LIMIT:-400}
POLL=5 # seconds between two questions, each of which takes an emulated processor a second or more
# All features of the processor are emulated, so page tables of five levels and mitigations are off. On a busy host,
# udev takes a minute to find a disk. systemd waits as long as START_LIMIT.
VM_WORDS=(root=/dev/vda rw console=ttyS0 quiet panic=1 mitigations=off 8250.nr_uarts=2 no_timer_check random.trust_cpu=on
	systemd.default_timeout_start_sec=400s)
# These units cost time and do nothing for a device with two disks.
VM_OFF=(serial-getty@ttyS0 modprobe@{configfs,dm_mod,drm,efi_pstore,fuse,loop} systemd-binfmt systemd-pstore
	systemd-hwdb-update ldconfig)

machine_begin() {
	local tool

	for tool in qemu-system-x86_64 grub-mkimage; do
		if ! command -v "$tool" >/dev/null; then
			echo "skip $SUITE: $tool is not installed (make deps-all)"
			exit 0
		fi
	done
	OS_BASE_MAKER=$GBE_TOP/tests/vm/base
	OS_KIND=vm
	OS_OVER=("$GBE_MEM/layers/vm")
	if ! os_layers || ! vm_layer "${OS_OVER[0]}" || ! grub_image "$GBE_MEM/grub"; then
		echo "not ok $SUITE: no base, initramfs or GRUB could be made"
		exit 1
	fi
}

machine_end() { :; }

# Adds the machines' own parts to the system suite's image: the hands, fstab, and an initramfs with this project's
# module.
vm_layer() {
	local unit

	cp -rP "$GBE_TOP/tests/vm/image" "$1"
	enable "$1" hands.service
	for unit in "${VM_OFF[@]}"; do
		ln -s /dev/null "$1/usr/etc/systemd/system/$unit.service"
	done
	mkdir -p "$1/usr/lib/modules/6.1.0"
	vm_initramfs "$1/usr/lib/modules/6.1.0/initramfs.img" && chown -R 0:0 "$1"
}

# vm_initramfs FILE: makes the initramfs with dracut in the image, as an image build does.
vm_initramfs() {
	local release

	TREE=$GBE_SCRATCH/tree
	ostree --repo="$OS_BASE" checkout base/vm "$TREE"
	# The checkout hard-links the repository's files: a changed file must replace the old one, not overwrite it.
	cp -rP --remove-destination "$OS_PROGRAMS/program/." "$GBE_MEM/layers/image/." "$TREE/"
	cp -a "$TREE/usr/etc" "$TREE/etc"
	release=$(basename "$TREE"/usr/lib/modules/*-*)
	tree_chroot dracut --quiet --force --no-hostonly --no-hostonly-cmdline --gzip \
		--modules "base systemd systemd-initrd ostree rootfs-block udev-rules kernel-modules fs-lib" \
		--add greenboot-etcd --drivers "xfs ext4 virtio_blk virtio_pci" /usr/initramfs.img "$release"
	mv "$TREE/usr/initramfs.img" "$1" && rm -rf -- "$TREE"
}

# ---- its disks ----

root_mounts() {
	if [[ ! -e $IMAGE.boot ]]; then
		truncate -s 256M "$IMAGE.boot"
		# GRUB does not know the checksum seed of ext4.
		mkfs.ext4 -q -F -L boot -O ^metadata_csum_seed "$IMAGE.boot"
	fi
	loop_mount "$IMAGE.boot" "$ROOT/boot"
}

disk_off() { umount -R "$ROOT"; }
disk_on() {
	loop_mount "$IMAGE" "$ROOT"
	root_mounts
	[[ ! -e $IMAGE.var ]] || loop_mount "$IMAGE.var" "$VAR"
}

# device KIND [FLAVOUR]: makes a new device with the deployment A, and the parts of B. KIND is a file system, or
# own-var: XFS, with /var on an ext4 from A's fstab.
device() {
	need_flavour "${2:-shell}"
	root_new "${1/own-var/xfs}"
	sysroot_init
	VAR=$ROOT/ostree/deploy/$STATEROOT/var
	FLAVOUR=${2:-shell}
	BOOTS=()
	mkdir -p "$ROOT/boot/grub2"
	# grub-editenv of Debian looks in this place.
	ln -sfn grub2 "$ROOT/boot/grub"
	grubenv_store <<<"boot_success=1"
	if [[ $1 == own-var ]]; then
		fs_format ext4 "$IMAGE.var" 2G
		loop_mount "$IMAGE.var" "$VAR"
	fi
	mkdir -p "$VAR/lib" "$VAR/log/journal"
	deploy A A "${VM_WORDS[@]/#/--karg=}"
	[[ $1 != own-var ]] || echo "/dev/vdc /var ext4 defaults,x-systemd.device-timeout=400s 0 0" >>"$(deployment_dir A)/etc/fstab"
	os_commit B
}

# machine_keep NAME: saves the machine, which is off, for other cases of this suite.
machine_keep() {
	local disk

	disk_off
	for disk in "$IMAGE"{,.boot,.var}; do
		[[ ! -e $disk ]] || cp --sparse=always "$disk" "$GBE_SCRATCH/$1${disk#"$IMAGE"}"
	done
	declare -p ROOT BOOT IMAGE KIND MOUNT_OPTIONS STATEROOT VAR FLAVOUR DEPLOYMENT A_STATE |
		sed 's/^declare -\(A\?\)-\? /declare -g\1 /' >"$GBE_SCRATCH/$1.words"
	disk_on
}

machine_kept() { [[ -e $GBE_SCRATCH/$1.words ]]; }

# machine_again NAME: makes the device from a saved machine.
machine_again() {
	local disk

	# shellcheck disable=SC1090 # machine_keep's
	. "$GBE_SCRATCH/$1.words"
	mkdir -p "$ROOT" "$BOOT"
	for disk in "$GBE_SCRATCH/$1"{,.boot,.var}; do
		[[ ! -e $disk ]] || cp --sparse=always "$disk" "$IMAGE${disk#"$GBE_SCRATCH/$1"}"
	done
	BOOTS=()
	disk_on
}

# ---- up ----

# vm_start [WORD...]: starts the machine and returns. GRUB chooses. WORD is what a person adds in GRUB's menu.
vm_start() {
	local disk drives=()

	grub_menu "$@"
	disk_off
	ENDED=
	for disk in "$IMAGE"{,.boot,.var}; do
		[[ ! -e $disk ]] || drives+=(-drive "file=$disk,if=virtio,format=raw")
	done
	BOOT_NUMBER=$((${BOOT_NUMBER:-0} + 1))
	CONSOLE=$CASE_LOGS/$SUITE.${CASE_NAME//\//_}.console.$BOOT_NUMBER
	rm -f "$GBE_MEM"/hands.{in,out}
	mkfifo "$GBE_MEM"/hands.{in,out}
	: >"$CONSOLE"
	qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot \
		-cpu Nehalem -accel tcg -smp 1 -m 1024 -kernel "$GBE_MEM/grub" \
		"${drives[@]}" -serial "file:$CONSOLE" -chardev "pipe,id=hands,path=$GBE_MEM/hands" -serial chardev:hands \
		</dev/null >"$CONSOLE.qemu" 2>&1 &
	QEMU=$!
	exec {HANDS_IN}<>"$GBE_MEM/hands.in" {HANDS_OUT}<>"$GBE_MEM/hands.out"
}

machine_running() { [[ $QEMU ]] && kill -0 "$QEMU" 2>/dev/null; }

# answer ID [LINE]: waits for the answer, and fails if the machine has ended. LINE, which asks for the answer, is
# written again from time to time: the hands do not answer a damaged line (../vm/image/usr/libexec/test/hands).
answer() {
	local id status out err end n

	for ((n = 1; n <= START_LIMIT; n++)); do
		if ! read -r -t 1 -u "$HANDS_OUT" id status out err end; then
			machine_running || return 255
			((n % 20)) || printf '\n%s\n' "${2-$1 0}" >&"$HANDS_IN"
		elif [[ $id == "$1" && $end == . ]]; then
			base64 -d <<<"${out#o}"
			base64 -d <<<"${err#e}" >&2
			return "$status"
		fi
	done
	fail "no answer after $START_LIMIT s: $(tail -n 5 "$CONSOLE")"
}

# inside COMMAND...: runs COMMAND on the running machine.
inside() {
	local id=$BASHPID.$RANDOM command

	printf -v command '%q ' "$@"
	command=$(base64 -w 0 <<<"$command")
	echo "$id ${#command} $command" >&"$HANDS_IN"
	answer "$id" "$id ${#command} $command"
}

gbe() { inside greenboot-etcd "$@"; }
with_etcd() {
	inside bash -c '. /usr/libexec/test/etcd.sh; ETCDCTL=etcdctl ETCD_PORT=2379; "$@"' - "$@"
}
put() { with_etcd put "$@"; }
put_many() { with_etcd put_many "$@"; }
etcd_state() { with_etcd etcd_state; }

# boot [WORD...]: starts the machine and waits for systemd.
boot() {
	vm_start "$@"
	answer here || fail "it does not boot: $(tail -n 5 "$CONSOLE")"
	boot_known
}

# Prints the entry that GRUB reported to boot.
boot_known() {
	BOOTED=$(tr -d '\r' <"$CONSOLE" | sed -n 's/^GRUB: booting Test OS //p' | tail -n 1)
	BOOTS+=("$BOOTED")
}

# settle: waits until every job of the boot is done, and returns 0. Returns 1 if the machine goes down before that.
# systemd writes a line when it is done: a question every second would take much of the one processor.
settle() {
	# shellcheck disable=SC2016 # expanded inside
	inside bash -c 'while state=$(systemctl is-system-running --wait); [[ $state != degraded ]] || break
		[[ $state != running ]]; do sleep 2; done' || {
		machine_gone
		return 1
	}
}

# power_on [WORD...]: lets GRUB choose, again after each automatic reboot.
power_on() {
	local n

	for ((n = 0; n < 9; n++)); do
		boot "$@"
		if settle; then
			return 0
		fi
		[[ $ENDED == reboot ]] || return 1
	done
	fail "the machine keeps rebooting: ${BOOTS[*]}"
}

# ---- down ----

# Waits within the limit until the machine has ended.
machine_gone() {
	local deadline=$((SECONDS + START_LIMIT))

	while machine_running && ((SECONDS < deadline)); do sleep 0.1; done
	if machine_running; then
		fail "it does not go down: $(tail -n 5 "$CONSOLE")"
	fi
	ENDED='cut'
	! grep -q 'reboot: Power down' "$CONSOLE" || ENDED='off'
	! grep -q 'reboot: Restarting system' "$CONSOLE" || ENDED='reboot'
	! grep -q 'Kernel panic' "$CONSOLE" || ENDED='panic'
	machine_down
}

machine_down() {
	wait "$QEMU" 2>/dev/null || true
	QEMU=
	exec {HANDS_IN}>&- {HANDS_OUT}>&-
	disk_on
}

go_down() { # reboot|poweroff
	inside systemctl --no-block "$1"
	machine_gone
}

shutdown() {
	go_down poweroff
	assert_eq "the end of $BOOTED" "$ENDED" off
}

reboot() {
	go_down reboot
	assert_eq "the end of $BOOTED" "$ENDED" reboot
	power_on
}

# Kills the machine at once. Writes that the kernel had not sent to the disk are lost.
powercut() {
	kill -KILL "$QEMU" 2>/dev/null || true
	ENDED='cut'
	machine_down
}

# stage NAME: stages an update from the running system, which tells greenboot's units.
stage() {
	inside ostree admin deploy --stage --os="$STATEROOT" "os/$1"
	DEPLOYMENT[$1]=$STATEROOT-$(inside ostree admin status |
		sed -n "s/^ *$STATEROOT \([0-9a-f.]*\) (staged)\$/\1/p")
	[[ ${DEPLOYMENT[$1]} != "$STATEROOT-" ]]
}

# ---- what the case sees ----

# found NAME: prints the state that etcd had at each boot of that image, one line each.
found() {
	if machine_running; then
		inside sed -n "s/^$1 //p" /var/log/found
	else
		sed -n "s/^$1 //p" "$VAR/log/found"
	fi
}

case_cleanup() {
	local rc=$?
	{ set +xeu; } 2>/dev/null
	trap - ERR
	[[ ! $QEMU ]] || powercut
	if [[ $rc != 0 && $rc != 77 && ${VAR-} ]]; then
		echo "---- the end of $CONSOLE"
		tail -n 20 "$CONSOLE"
		journalctl -D "$VAR/log/journal" --no-pager -o short-monotonic 2>/dev/null \
			>"${CASE_LOGS:?}/$SUITE.${CASE_NAME//\//_}.journal"
		tail -n 30 "$CASE_LOGS/$SUITE.${CASE_NAME//\//_}.journal"
	fi
	rm -f -- "$IMAGE.boot" "$IMAGE.var"
	root_free
}
