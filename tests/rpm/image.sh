#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# buildah builds the images of README and of data/image/Containerfile from the source archive: the packages in the first
# stage, the image in the second. BASE is Debian with the stand-in for greenboot (tests/system) and with two more
# stand-ins. The one for dnf installs compiler and libraries from this machine, and our packages with rpm. The one for
# bootc looks for packages in the image.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/root.bash"
# shellcheck disable=SC2119 # no more programs
root_need buildah

tree=$GBE_SCRATCH/tree context=$GBE_SCRATCH/context
# In the scratch directory, without a network.
images() {
	unshare --net buildah --root "$GBE_SCRATCH/images" --runroot "$GBE_SCRATCH/images-run" --storage-driver overlay "$@"
}
# build CONTAINERFILE: a stage that was built before is taken from the cache.
build() {
	images build --isolation chroot --pull=false --layers --volume /:/machine:ro --build-arg BASE=localhost/base \
		--file "$1" --tag localhost/image "$context" >"$scratch/log" 2>&1
}

base() {
	local unit

	root_make "$tree" && cp -rP tests/system/greenboot/shell/usr "$tree" || return 1
	# The stand-in for greenboot lacks these units.
	for unit in loading-message status; do
		printf '[Service]\nExecStart=true\n[Install]\nWantedBy=multi-user.target\n' \
			>"$tree/usr/lib/systemd/system/greenboot-$unit.service"
	done
	# The list names the Debian package for each package of Fedora. rpm/macros.elsewhere replaces packages of macros.
	cp .ci/deps.list "$tree/usr/lib/deps.list"
	cat >"$tree/usr/bin/dnf" <<-'EOF'
		#!/bin/bash
		set -e -o pipefail
		[ "$1" = install ] || exit 0
		for name in "${@:3}"; do
			name=${name%% *}
			case $name in
			/*) files+=("$name") && continue ;;
			*-rpm-macros | selinux-policy-devel) continue ;;
			pkgconfig*) name=${name#*(} && debian=$(chroot /machine dpkg -S "*/pkgconfig/${name%)}.pc") ;;
			*) rpm --dbpath /var/lib/rpm -q --whatprovides "$name" && continue
				debian=$(awk -v name="$name" '$2 == name { print $1; exit }' /usr/lib/deps.list) ;;
			esac
			[ -n "$debian" ] || exit 1
			debians+=("${debian%%:*}")
		done
		if [ ${#debians[@]} -ne 0 ]; then
			chroot /machine apt-cache -o Dir::State::Lists=/none depends --recurse --installed \
				--no-{recommends,suggests,conflicts,breaks,replaces,enhances} "${debians[@]}" |
				grep '^[a-z]' | sort -u | { xargs chroot /machine dpkg -L 2>/dev/null || :; } |
				grep -vE '^/usr/share/(doc|info|locale|man)/' | sort -u | sed 's|^/||' >/var/tmp/list
			tar -C /machine -cf - --no-recursion -T /var/tmp/list | tar -C / -xf - --skip-old-files
			ln -sf gcc /usr/bin/cc
		fi
		[ ${#files[@]} -eq 0 ] || rpm --dbpath /var/lib/rpm --nosignature -U "${files[@]}"
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
tar -C "$context" --strip-components=1 -xf build/rpm/SOURCES/*.tar.gz

# ---- README ----

readme=$scratch/Containerfile
awk '/^ARG BASE$/ { inside = 1 } /^```/ { inside = 0 } inside' README.md >"$readme"
check readme-has-seven-lines "$([ "$(wc -l <"$readme")" -eq 7 ] || cat "$readme")"
check readme-builds "$(build "$readme" || tail -n 5 "$scratch/log")"
# fails NAME SCRIPT: a case. README's lines, changed by sed, build no image.
fails() {
	sed "$2" "$readme" >"$scratch/changed"
	check "$1" "$(cmp -s "$readme" "$scratch/changed" && echo "sed changes nothing"
		build "$scratch/changed" && echo "the image is built")"
}
fails readme-needs-the-compiler 's/rpmspec -q --buildrequires/rpmspec -q --conflicts/'
fails readme-needs-the-package 's/greenboot-etcd-greenboot-/greenboot-etcd-missing-/'

# ---- data/image ----

check image-builds "$(build data/image/Containerfile || tail -n 5 "$scratch/log")"
check image-shares-the-packages "$(grep -c 'Using cache' "$scratch/log" | grep -vx '[2-9]')"
images push -q localhost/image "dir:$scratch/image" >>"$scratch/log" 2>&1
for layer in $(jq -r '.layers[].digest' "$scratch/image/manifest.json"); do
	tar -tf "$scratch/image/${layer#sha256:}"
done >"$scratch/files"
check image-has "$(for path in usr/bin/greenboot-etcd usr/lib/greenboot/red.d/40_etcd_red.sh \
	usr/share/selinux/packages/targeted/greenboot-etcd.cil usr/lib/greenboot-etcd/greenboot-etcd.conf.d/50-site.conf \
	etc/systemd/system/boot-complete.target.requires/greenboot-healthcheck.service; do
	grep -qx "$path" "$scratch/files" || echo "$path is missing"
done)"
check image-lacks "$(grep -E '^src/|/(gcc|rpmbuild)$' "$scratch/files")"

# Without the file of the configuration, the build fails.
rm "$context/data/image/50-site.conf"
check image-can-fail "$(build data/image/Containerfile && echo "the image is built"
	grep -q '50-site.conf.*no such file' "$scratch/log" || tail -n 5 "$scratch/log")"
finish
