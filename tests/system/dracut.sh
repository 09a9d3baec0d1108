#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A real initramfs, made by dracut with the module in it, and its work before the system boots. Its unit's command
# runs where ostree-prepare-root has left the deployment at /sysroot, and nothing of the real root runs. (Process 1 of
# the initramfs itself needs a virtual machine.)

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"

UNIT=usr/lib/systemd/system/greenboot-etcd-restore.service
INITRD=

# initramfs_make [OPTION...]: runs dracut in A's image. INITRD is the unpacked initramfs.
initramfs_make() {
	tree_chroot dracut --quiet --force --no-kernel --no-hostonly --no-compress --no-hostonly-cmdline \
		--modules "base systemd systemd-initrd ostree fs-lib" "$@" /usr/initramfs.img 6.1.0
	INITRD=$TREE/initrd
	rm -rf -- "$INITRD"
	tree_chroot sh -c 'mkdir /initrd && cd /initrd && cpio --quiet -idm </usr/initramfs.img'
}

# tree_of NAME: prints the files of its commit, with an /etc.
tree_of() {
	TREE=$GBE_MEM/tree.$BASHPID
	rm -rf -- "$TREE"
	ostree --repo="$ROOT/ostree/repo" checkout -U "os/$1" "$TREE"
	mkdir -p "$TREE"/{proc,dev,sys,var,sysroot}
	cp -a "$TREE/usr/etc" "$TREE/etc"
}

# Runs the command of the initramfs unit in a boot of NAME, on the present disk. LOG is its output.
initramfs_run() { # NAME WORD... [-- COMMAND...]
	local name=$1 words command
	shift
	words=$*
	command=${words#*-- }
	[[ $command != "$words" ]] || command=$(sed -n 's/^ExecStart=//p' "$INITRD/$UNIT")
	words=${words%%-- *}
	LOG=$GBE_MEM/initramfs.log
	echo "root=/dev/vda2 rw ostree=$(boot_link "$name") $words" >"$GBE_MEM/cmdline"
	# shellcheck disable=SC2016 # expanded inside
	unshare --mount --pid --fork --propagation private bash -euc '
		initrd=$1 deployment=$2 root=$3 cmdline=$4
		shift 4
		mount --bind "$initrd" "$initrd"
		mount -t proc proc "$initrd/proc"
		mount --bind "$cmdline" "$initrd/proc/cmdline"
		mount -t tmpfs tmpfs "$initrd/run"
		touch "$initrd/run/ostree-booted"
		mount --rbind /dev "$initrd/dev"
		mount --bind "$deployment" "$initrd/sysroot"
		mount --bind "$root" "$initrd/sysroot/sysroot"
		exec chroot "$initrd" "$@"' - "$INITRD" "$(deployment_dir "$name")" "$ROOT" "$GBE_MEM/cmdline" \
		/bin/sh -c "$command" >"$LOG" 2>&1 || { cat "$LOG" >&2 && return 1; }
	cat "$LOG" >&2
}

# own_var KIND: makes /var a file system of its own, which the root's fstab has.
own_var() {
	fs_at "$1" "$VAR"
	mkdir -p "$VAR/lib" "$VAR/log/journal"
	echo "$(findmnt -no SOURCE "$VAR") /var $1 defaults 0 0" >"$(deployment_dir A)/etc/fstab"
}

# with_backup KIND [VAR-KIND]: A has a backup `snap`, has written since, and is off.
with_backup() {
	device "$1" none
	[[ ! ${2-} ]] || own_var "$2"
	power_on
	put_many base 10
	SNAP_STATE=$(etcd_state)
	gbe backup snap --stop
	last_words
	assert_ne "A's data" "$A_STATE" "$SNAP_STATE"
	shutdown
	tree_of A
	initramfs_make --add greenboot-etcd
}

# start WORD...: runs the initramfs, and then the system.
start() {
	initramfs_run A "$@"
	boot A "$@"
	settle
}

# The module is installed only if a service is protected. It brings the unit, the command and the libraries.
dracut_module() {
	device "$1" none
	os_commit A
	tree_of A
	initramfs_make --add greenboot-etcd
	assert_exists "$INITRD/$UNIT"
	[[ -L $INITRD/etc/systemd/system/initrd.target.wants/greenboot-etcd-restore.service ||
	-L $INITRD/usr/lib/systemd/system/initrd.target.wants/greenboot-etcd-restore.service ]] ||
		fail "nothing wants the unit"
	chroot "$INITRD" /usr/libexec/greenboot-etcd/initramfs --version
	[[ ! $(find "$INITRD" -name 'libostree*' -o -name 'libcurl*') ]] || fail "it brings libostree or libcurl"
	module_answers
	assert_eq "a service to protect" "$CHECK" 0
	printf '[etcd]\nservice=\n' >"$TREE/etc/greenboot-etcd/greenboot-etcd.conf"
	module_answers
	assert_eq "none" "$CHECK" 255
}

module_answers() {
	CHECK=0
	mkdir -p "$TREE/etc/greenboot-etcd"
	# shellcheck disable=SC2016 # expanded inside
	tree_chroot bash -c 'require_binaries() { command -v "$@" >/dev/null; }
		. /usr/lib/dracut/modules.d/50greenboot-etcd/module-setup.sh
		check' || CHECK=$?
}

restored_once() {
	start rd.greenboot-etcd.restore=snap
	assert_match "the initramfs" "$(<"$LOG")" "*Restored*"
	[[ $(journal prerun) != *Restored* ]] || fail "prerun restored as well: $(journal prerun)"
	holds "restored" "$SNAP_STATE"
	put after restore
	A_STATE=$(etcd_state)
	shutdown
	start rd.greenboot-etcd.restore=snap
	[[ $(<"$LOG") != *Restored* ]] || fail "the initramfs restored again"
	holds "once" "$A_STATE"
	shutdown
	start rd.greenboot-etcd.restore=undo rd.greenboot-etcd.skip
	holds "skipped" "$A_STATE"
}

dracut_restore() {
	with_backup "$1"
	restored_once
}

dracut_own_var() {
	with_backup "$1" ext4
	restored_once
}

# The emergency shell: the commands of a person, with only ostree's mounts.
dracut_by_hand() {
	with_backup "$1"
	initramfs_run A -- greenboot-etcd --root=/sysroot list
	assert_match "list" "$(<"$LOG")" "*snap*"
	initramfs_run A -- greenboot-etcd --root=/sysroot verify snap
	initramfs_run A -- greenboot-etcd --root=/sysroot restore snap
	boot A
	settle
	holds "restored" "$SNAP_STATE"
	shutdown
	initramfs_run A -- greenboot-etcd --root=/sysroot undo
	boot A
	settle
	holds "and taken back" "$A_STATE"
}

suite_begin "$@"
machine_begin this
FS=${FS:-xfs} play dracut module restore own_var by_hand
machine_end
suite_end
