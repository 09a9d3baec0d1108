#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# greenboot-etcd in the initramfs: list, show, verify, restore and undo on the system below /sysroot, with the mounts that
# it will have after the boot. Only this process has these mounts.

program=/usr/libexec/greenboot-etcd/initramfs
root=/sysroot

if [ -z "$GREENBOOT_ETCD_MOUNTS" ]; then
	export GREENBOOT_ETCD_MOUNTS=own
	exec unshare --mount --propagation private "$0" "$@"
fi

say() { echo "greenboot-etcd: $*" >&2; }

mounted() {
	while read -r _ _ _ _ where _; do
		[ "$where" != "$1" ] || return 0
	done </proc/self/mountinfo
	return 1
}

# The stateroot's var, where the root has none of its own: systemd mounts it later.
mount_stateroot() {
	link=
	# shellcheck disable=SC2013 # words
	for word in $(cat /proc/cmdline); do
		case $word in
		ostree=*) link=${word#ostree=} ;;
		esac
	done
	[ -n "$link" ] || return 1
	deployment=$(readlink -f "$root/sysroot/$link") && [ -d "$deployment" ] || return 1
	mount --bind "$deployment/../../var" "$root/var"
}

mount --rbind /proc "$root/proc"
mount --rbind /run "$root/run"
# Only where the kernel was told to mount the root read-only; the system does the same with it later.
[ -w "$root/sysroot" ] || mount -o remount,rw "$root/sysroot"
if [ -s "$root/etc/fstab" ]; then
	! command -v udevadm >/dev/null || udevadm settle --timeout=30
	mount --all --fstab "$root/etc/fstab" --target-prefix "$root" -O no_netdev || true
fi
mounted "$root/var" || mount_stateroot || {
	say "there is no /var yet: what is asked for is left to the system that boots"
	exit 1
}
exec "$program" --root="$root" "$@"
