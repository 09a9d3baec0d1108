#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# A relabel keeps the labels in backups, at each place where a store may be. The check asks SELinux for the labels of
# paths, with the distribution's policy and our rules. For all other paths, the policy alone decides.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"
PATH=$PATH:/usr/sbin:/sbin

for program in semodule matchpathcon; do
	command -v $program >/dev/null && continue
	skip selinux "$program is not installed: make deps-all"
	finish
done
policy=
for name in default targeted; do
	[ ! -d /etc/selinux/$name/contexts/files ] || policy=$name
done
if [ -z "$policy" ]; then
	skip selinux "no policy is installed: make deps-all"
	finish
fi

# A copy of SELinux's files, with our rules.
root=$scratch/root
mkdir -p "$root/etc/selinux" "$root/var/lib/selinux"
cp -a /etc/selinux/. "$root/etc/selinux/"
cp -a "/var/lib/selinux/$policy" "$root/var/lib/selinux/"
contexts=$root/etc/selinux/$policy/contexts/files/file_contexts
semodule -p "$root" -s $policy -n -X 200 -i data/selinux/greenboot-etcd.cil >"$scratch/log" 2>&1
check rules-are-accepted "$(grep -q greenboot-etcd "$contexts" || tail -n 3 "$scratch/log")"

# label PATH: the label that a relabel sets.
label() { matchpathcon -N -f "$contexts" -n "$1" 2>&1; }
# left_alone STORE: prints the paths of a backup there that a relabel would change, and the paths next to the backup that
# it would skip.
left_alone() {
	local path

	for path in "" /member/snap/db /bin/x.sh /lib/a.so /tmp/log /.ssh; do
		path=$1/fedora-35d7.0_0123~2/data$path
		[ "$(label "$path")" = "<<none>>" ] || echo "$path gets $(label "$path")"
	done
	for path in "" /fedora-35d7.0_0123~2 /fedora-35d7.0_0123~2/manifest.json; do
		[[ $(label "$1$path") == *:object_r:* ]] || echo "$1$path gets no label"
	done
}

stores() {
	local top

	echo /var/lib/greenboot-etcd/backups
	for top in "" /opt /srv /sysroot /var /var/lib /var/lib/etcd /var/lib/microshift /var/lib/rancher \
		/var/lib/rancher/k3s /var/lib/rancher/k3s/server /var/opt /var/srv; do
		echo "$top/.greenboot-etcd/backups"
	done
}
while IFS= read -r store; do
	check "left-alone-$store" "$(left_alone "$store")"
done < <(stores)
for path in /var/lib/greenboot-etcd/ledger /var/lib/etcd/member/snap/db /srv/data /opt/data /etc/passwd; do
	[[ $(label $path) == *:object_r:* ]] && ok "labelled-$path" || not_ok "labelled-$path" "$(label $path)"
done

# The manual names each of these places, and has commands for other places.
manual=$(sed -n '/^\.SH SELINUX/,/^\.SH EXAMPLES/p' data/man/greenboot-etcd.8 | sed 's/\\-/-/g; s/\\e/\\/g')
check manual-names-places "$(stores | while IFS= read -r store; do
	top=${store%/.greenboot-etcd/backups}
	grep -qE "^\.IR? ${top:-/}( [.,])?\$" <<<"$manual" || echo "$store"
done)"
check rules-of-other-places-needed "$([ -n "$(left_alone /mnt/usb/etcd)" ] || echo "no rule is needed")"
sed -n "s/^# semanage fcontext -a -t '<<none>>' '\(.*\)'\$/\1 <<none>>/p" <<<"$manual" >"$contexts.local"
for store in /data/.greenboot-etcd/backups /mnt/usb/etcd; do
	check "manual-$store" "$(left_alone $store | grep -v 'gets no label')"
done

# The guards guard: with the general rule alone, the policy's own rules win.
rm "$contexts.local" "$contexts.bin"
sed -i '\|^/\.\*/|!{/greenboot-etcd/d;}' "$contexts"
[ -n "$(left_alone /var/lib/etcd/.greenboot-etcd/backups)" ] && ok selinux-can-fail ||
	not_ok selinux-can-fail "the general rule is enough"
finish
