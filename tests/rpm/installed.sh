#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# rpm installs, upgrades and erases the packages in a root of their own, with their scriptlets and without output.
# Erased packages leave no file of theirs. A state directory that has files stays as it is: backups are the user's data,
# and no package removes them. An empty one is removed with its package.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/root.bash"
# shellcheck disable=SC2119 # no more programs
root_need

root_start
state() { (cd "$tree/var/lib/greenboot-etcd" && find . -type f -exec sha256sum {} + | sort -k 2); }
# policy NAME yes|no: a case. SELinux's policy has our rules, or lacks them.
policy() {
	local has=no

	grep -q greenboot-etcd "$tree/etc/selinux/targeted/contexts/files/file_contexts" && has=yes
	[ $has = "$2" ] && ok "$1" || not_ok "$1" "the policy has our rules: $has"
}

# with_selinux COMMAND...: as on a device with SELinux. fixfiles notes how many of our rules are in the file that it gets, and
# how many in the policy.
with_selinux() {
	local program

	cat >"$tree/usr/sbin/fixfiles" <<-'EOF'
		#!/bin/sh
		echo "$1 $3: $(grep -c greenboot-etcd "$2") $(grep -c greenboot-etcd /etc/selinux/targeted/contexts/files/file_contexts)" >/run/relabeled
	EOF
	chmod 0755 "$tree/usr/sbin/fixfiles"
	for program in selinuxenabled load_policy; do
		mount --bind /bin/true "$tree/usr/sbin/$program"
	done
	"$@"
	umount "$tree"/usr/sbin/{selinuxenabled,load_policy}
	rm "$tree/usr/sbin/fixfiles"
}

# The packages of the two systems conflict, so each is tested alone, MicroShift's with SELinux.
for system in microshift k3s; do
	set -- greenboot-etcd greenboot-etcd-{greenboot,dracut,sos} "greenboot-etcd-$system"
	if [ $system = microshift ]; then
		set -- "$@" greenboot-etcd-selinux
	else
		root_rpm "$tree" -e distribution
		distribution "$tree" greenboot
	fi
	# shellcheck disable=SC2046 # names of files without blanks
	with_selinux silent "$system-installed" -i $(packages older "$@")
	silent "$system-installed-verified" -V "$@"
	[ "$(stat -c %a "$tree/var/lib/greenboot-etcd")" = 700 ] && ok "$system-state-directory" ||
		not_ok "$system-state-directory" "tmpfiles.d did not make it"

	if [ $system = microshift ]; then
		# shellcheck disable=SC2046 # a name without blanks
		root_rpm "$tree" -i $(packages older greenboot-etcd-k3s)
		grep -q 'conflicts with' "$scratch/log" && ok one-system || not_ok one-system "$(cat "$scratch/log")"

		policy policy-has-rules yes
		check relabel-of-what-changes "$(grep -xE -- '-C restore: 0 [1-9][0-9]*' "$tree/run/relabeled" >/dev/null ||
			cat "$tree/run/relabeled"; ls "$tree"/run/*.pre 2>/dev/null)"

		# The state that the older release writes.
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
		# One after the other, in an order that the dependencies allow.
		for name in greenboot-etcd-k3s greenboot-etcd-sos greenboot-etcd-dracut; do
			silent "erased-$name" -e "$name"
		done
		silent "$system-erased" -e greenboot-etcd greenboot-etcd-greenboot
	fi
	check "$system-nothing-left" "$(left_behind)"
done
finish
