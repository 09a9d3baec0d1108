#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# buildah makes data/image/Containerfile, beside which nothing lies but its neighbours in the tree and the packages. BASE is
# Debian with greenboot's stand-in (tests/system), a dnf that is rpm, and a bootc that looks for what does not belong
# into an image.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/root.bash"
root_need buildah

# In the scratch directory, without a network.
images() {
	unshare --net buildah --root "$GBE_SCRATCH/images" --runroot "$GBE_SCRATCH/images-run" --storage-driver overlay "$@"
}
build() { # CONTEXT
	images build --isolation chroot --pull=false --layers --build-arg BASE=localhost/base \
		--tag localhost/image "$1" >"$scratch/log" 2>&1
}

tree=$GBE_SCRATCH/tree context=$scratch/context
base() {
	local unit

	root_make "$tree" && cp -rP tests/system/greenboot/shell/usr "$tree" || return 1
	# Units of greenboot that the stand-in can do without.
	for unit in loading-message status; do
		printf '[Service]\nExecStart=true\n[Install]\nWantedBy=multi-user.target\n' \
			>"$tree/usr/lib/systemd/system/greenboot-$unit.service"
	done
	cat >"$tree/usr/bin/dnf" <<-'EOF'
		#!/bin/bash
		# A package that is no file is there already.
		[ "$1" = install ] || exit 0
		shift 2
		for name; do
			case $name in
			/*) files+=("$name") ;;
			*) rpm --dbpath /var/lib/rpm -q --whatprovides "$name" || exit 1 ;;
			esac
		done
		rpm --dbpath /var/lib/rpm --nosignature -U "${files[@]}"
	EOF
	cat >"$tree/usr/bin/bootc" <<-'EOF'
		#!/bin/bash
		[ "$*" = "container lint" ] && ! find / -xdev -name 'greenboot-etcd*.rpm' | grep .
	EOF
	chmod 0755 "$tree/usr/bin/dnf" "$tree/usr/bin/bootc"
	container=$(images from scratch) && images copy -q "$container" "$tree" / &&
		images commit -q --rm "$container" localhost/base && rm -rf "$tree"
}
if ! base >"$scratch/log" 2>&1; then
	not_ok image-base "$(tail -n 5 "$scratch/log" | tr '\n' ';')"
	finish
fi
mkdir "$context"
# shellcheck disable=SC2046 # names without blanks
cp $(files 'data/image/*') build/rpm/RPMS/*/*.rpm "$context"

check image-builds "$(build "$context" || tail -n 5 "$scratch/log")"
images push -q localhost/image "dir:$scratch/image" >>"$scratch/log" 2>&1
for layer in $(jq -r '.layers[].digest' "$scratch/image/manifest.json"); do
	tar -tf "$scratch/image/${layer#sha256:}"
done >"$scratch/files"
check image-has "$(for path in usr/bin/greenboot-etcd usr/lib/greenboot/red.d/40_etcd_red.sh \
	usr/share/selinux/packages/targeted/greenboot-etcd.cil usr/lib/greenboot-etcd/greenboot-etcd.conf.d/50-site.conf \
	etc/systemd/system/boot-complete.target.requires/greenboot-healthcheck.service; do
	grep -qx "$path" "$scratch/files" || echo "no $path"
done)"
check image-layers-without-packages "$(grep -E '\.rpm$|^run/packages/.' "$scratch/files")"

# README's Containerfile, in the directory of the packages.
readme=$scratch/readme
mkdir "$readme"
cp build/rpm/RPMS/*/*.rpm "$readme"
awk '/^ARG BASE$/ { inside = 1 } /^```/ { inside = 0 } inside' README.md >"$readme/Containerfile"
check readme-has-five-lines "$([ "$(wc -l <"$readme/Containerfile")" -eq 5 ] || cat "$readme/Containerfile")"
check readme-builds "$(build "$readme" || tail -n 5 "$scratch/log")"
sed -i 's/greenboot-etcd-greenboot-/greenboot-etcd-nothing-/' "$readme/Containerfile"
check readme-can-fail "$(build "$readme" && echo "a package that is missing is not missed")"

# The guard guards.
rm "$context/50-site.conf"
check image-can-fail "$(build "$context" && echo "a file that is missing is not missed"
	grep -q '50-site.conf.*no such file' "$scratch/log" || tail -n 5 "$scratch/log")"
finish
