#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# dracut's module: rd.greenboot-etcd.restore= restores before any service of the real root runs, and the emergency shell
# has greenboot-etcd.

# shellcheck disable=SC2154 # sourced by dracut, which sets what is not set here

# Without a protected service, dracut adds the module only on request. systemd's generator knows the service.
check() {
	local root=${dracutsysrootdir-} out tied

	[[ -x $root/usr/libexec/greenboot-etcd/initramfs ]] || return 1
	require_binaries mount unshare readlink || return 1
	out=$(mktemp -d "${DRACUT_TMPDIR:-/var/tmp}/greenboot-etcd.XXXXXX") || return 1
	"$root/usr/lib/systemd/system-generators/greenboot-etcd-generator" --root="${root:-/}" "$out" \
		2>/dev/null
	tied=$(find "$out" -mindepth 1 -print -quit)
	rm -rf "$out"
	[[ $tied ]] || return 255
}

depends() {
	echo systemd-initrd ostree
}

# The data may lie on another file system than the root.
installkernel() {
	local fs

	[[ ${hostonly-} ]] || return 0
	fs=$(findmnt -nvo FSTYPE -T /var/lib/greenboot-etcd 2>/dev/null) && hostonly='' instmods "$fs"
	return 0
}

install() {
	inst_multiple mount unshare readlink
	inst /usr/libexec/greenboot-etcd/initramfs
	# Loaded when k3s is there, to read its configuration.
	inst_libdir_file "libyaml-0.so.2*"
	inst_script "$moddir/greenboot-etcd.sh" /usr/bin/greenboot-etcd
	inst_simple "$moddir/greenboot-etcd-restore.service" \
		"$systemdsystemunitdir/greenboot-etcd-restore.service"
	$SYSTEMCTL -q --root "$initdir" add-wants initrd.target greenboot-etcd-restore.service
}
