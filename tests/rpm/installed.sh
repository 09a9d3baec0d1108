#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The packages are installed, upgraded and erased by rpm in a root of their own, with their scriptlets and without a word
# from them. Erased packages leave nothing of their own. The state directory stays as it is while there is
# anything in it: backups are the user's data, which no package removes. An empty one goes with its package.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/root.bash"
# shellcheck disable=SC2119 # no more programs
root_need

root_start
state() { (cd "$tree/var/lib/greenboot-etcd" && find . -type f -exec sha256sum {} + | sort -k 2); }
# policy NAME yes|no: whether our rules are in it.
policy() {
	local has=no

	grep -q greenboot-etcd "$tree/etc/selinux/targeted/contexts/files/file_contexts" && has=yes
	[ $has = "$2" ] && ok "$1" || not_ok "$1" "our rules are in it: $has"
}

# The two systems' packages are in each other's way: each has a life of its own, MicroShift's with SELinux.
for system in microshift k3s; do
	set -- greenboot-etcd greenboot-etcd-{greenboot,dracut,sos} "greenboot-etcd-$system"
	if [ $system = microshift ]; then
		set -- "$@" greenboot-etcd-selinux
	else
		root_rpm "$tree" -e distribution
		distribution "$tree" greenboot
	fi
	# shellcheck disable=SC2046 # names of files without blanks
	silent "$system-installed" -i $(packages older "$@")
	silent "$system-installed-verified" -V "$@"
	[ "$(stat -c %a "$tree/var/lib/greenboot-etcd")" = 700 ] && ok "$system-state-directory" ||
		not_ok "$system-state-directory" "tmpfiles.d did not make it"

	if [ $system = microshift ]; then
		# shellcheck disable=SC2046 # a name without blanks
		root_rpm "$tree" -i $(packages older greenboot-etcd-k3s)
		grep -q 'conflicts with' "$scratch/log" && ok one-system || not_ok one-system "$(cat "$scratch/log")"

		policy policy-has-rules yes

		# The older one's state.
		mkdir -p "$tree/var/lib/microshift/etcd"
		tar -C "$tree/var/lib/microshift/etcd" --strip-components=1 \
			-xJf tests/data/etcd/etcd35-wal3segments-compacted.tar.xz
		in_tree greenboot-etcd backup one >"$scratch/log" 2>&1
		check backup-of-older "$(in_tree greenboot-etcd list 2>&1 | grep -q one || cat "$scratch/log")"
		state >"$scratch/state"
	fi

	# shellcheck disable=SC2046 # names of files without blanks
	silent "$system-upgraded" -U $(packages RPMS "$@")
	silent "$system-upgraded-verified" -V "$@"
	check "$system-all-upgraded" "$(root_rpm "$tree" -qa 'greenboot-etcd*' && grep -n '~older' "$scratch/log")"

	if [ $system = microshift ]; then
		check state-survives-upgrade "$(state | diff "$scratch/state" -)"
		check newer-reads-state "$(in_tree greenboot-etcd verify one 2>&1 >"$scratch/log" || cat "$scratch/log")"
		policy policy-keeps-rules yes
		silent "$system-erased" -e "$@"
		policy policy-loses-rules no
		check state-survives-erasing "$(state | diff "$scratch/state" -)"
		rm -rf "$tree/var/lib/greenboot-etcd" "$tree/var/lib/microshift"
	else
		# One by one, in an order that the dependencies allow.
		for name in greenboot-etcd-k3s greenboot-etcd-sos greenboot-etcd-dracut; do
			silent "erased-$name" -e "$name"
		done
		silent "$system-erased" -e greenboot-etcd greenboot-etcd-greenboot
	fi
	check "$system-nothing-left" "$(left_behind)"
done
finish
