#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The packages of `make deb`: lintian finds nothing. dpkg installs, upgrades, removes and purges them in a fresh Debian
# with the real packages that they depend on. They enable and start nothing. A purge leaves only the user's data.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../lib/scratch.sh"
isolate "$@"
export TMPDIR=$GBE_SCRATCH
# shellcheck source=tests/lint/lib.bash
. "$GBE_TOP/tests/lint/lib.bash"
PATH=$PATH:/usr/sbin:/sbin

for program in lintian mmdebstrap; do
	command -v $program >/dev/null && continue
	skip deb "$program is not installed: make deps-all"
	finish
done
version=$(MAKEFLAGS='' make --no-print-directory -s print-version)
tree=$GBE_SCRATCH/tree

# ---- lintian ----

# lint FILE...: its errors and warnings.
lint() { lintian --allow-root --tag-display-limit 0 "$@" 2>&1 | tee "$scratch/log" | grep -E '^[EW]: '; }

check lintian "$(lint build/deb/*.changes)"
check lintian-runs "$(grep -iE 'error|cannot' "$scratch/log")"
check changelog-version "$(head -n 1 data/debian/changelog | grep -F "($version-1)" >/dev/null ||
	echo "data/debian/changelog does not start with $version-1")"

# ---- a root ----

# The Debian of this machine with the packages that ours depend on, made once. Its documentation is left out; that of our
# packages is not.
# shellcheck disable=SC2016 # for mmdebstrap
root_archive() {
	local cache=${SYSTEM_CACHE:-/var/cache/greenboot-etcd} key file
	local packages="systemd,man-db,bash-completion,libostree-1-1,libarchive13,libcurl4,libjson-glib-1.0-0,libyaml-0-2"

	packages+=,libbtrfsutil1,libsystemd0,libssl3,dracut-core,sosreport,cockpit-bridge
	.ci/debian-source this >"$scratch/sources.list" || return 1
	key=$({ echo "$packages" && cat "$scratch/sources.list"; } | sha256sum | cut -c1-16)
	file=$cache/deb-root-$key.tar
	if [ ! -e "$file" ]; then
		mkdir -p "$cache"
		mmdebstrap --quiet --mode=root --variant=apt --include="$packages" \
			--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
			--dpkgopt='path-exclude=/usr/share/locale/*' --customize-hook='rm "$1"/etc/dpkg/dpkg.cfg.d/99mmdebstrap' \
			"$(awk '{ print $(NF - 1) }' "$scratch/sources.list")" "$file.new.tar" "$scratch/sources.list" >&2 || return 1
		mv "$file.new.tar" "$file"
	fi
	echo "$file"
}

# root_start: the root at $tree. Each systemctl of a maintainer script is noted.
root_start() {
	local archive

	archive=$(root_archive) && mkdir "$tree" && tar -C "$tree" -xf "$archive" --exclude='./dev/*' || return 1
	mount -t proc proc "$tree/proc" && mount --bind /dev "$tree/dev" && mount -t tmpfs tmpfs "$tree/run" || return 1
	mkdir -p "$tree/run/systemd/system"
	printf '#!/bin/sh\necho "$*" >>/run/systemctl\n' >"$tree/usr/local/bin/systemctl"
	chmod 0755 "$tree/usr/local/bin/systemctl"
	in_tree systemd-tmpfiles --create >/dev/null 2>&1
	in_tree journalctl --update-catalog
	in_tree mandb --quiet
	all_files >"$scratch/before"
	enabled >"$scratch/enabled"
}
in_tree() { chroot "$tree" env LC_ALL=C.UTF-8 PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
# all_files: all of the tree with types and modes, without the databases of dpkg, apt and man.
all_files() {
	find "$tree" -xdev -printf '%P %y %m\n' | grep -vE '^var/(lib|cache)/(dpkg|apt|man)/|^var/log/|^var/lib/greenboot-etcd/' | sort
}
enabled() { systemctl --root="$tree" list-unit-files --state=enabled --no-legend --no-pager; }
state() { (cd "$tree/var/lib/greenboot-etcd" && find . -type f -exec sha256sum {} + | sort -k 2); }

# debs NEW|older NAME...: copies them into the tree, and prints their names in it.
debs() {
	local name

	for name in "${@:2}"; do
		cp "$([ "$1" = older ] && echo "$scratch/older" || echo build/deb)/${name}_"*.deb "$tree/tmp/$name.deb"
		echo "/tmp/$name.deb"
	done
}
# runs NAME COMMAND...: a case.
runs() {
	in_tree "${@:2}" >"$scratch/log" 2>&1 && ok "$1" || not_ok "$1" "exit status $?: $(tail -n 5 "$scratch/log" | tr '\n' ';')"
	rm -f "$tree"/tmp/*.deb
	check "$1-complete" "$(in_tree dpkg --audit; in_tree dpkg --verify 'greenboot-etcd*' cockpit-greenboot-etcd 2>/dev/null)"
}
# versions: of our packages that are installed.
# shellcheck disable=SC2016 # for dpkg-query
versions() { in_tree dpkg-query -W -f '${db:Status-Abbrev}${Package} ${Version}\n' '*greenboot-etcd*' 2>/dev/null | grep '^ii' | awk '{ print $2, $3 }' | sort; }
# works NAME WORD COMMAND...: a case. The command's output has the word.
works() { check "$1" "$(in_tree "${@:3}" >"$scratch/log" 2>&1 </dev/null; grep -q -- "$2" "$scratch/log" || tail -n 3 "$scratch/log" | grep . || echo "no output")"; }

if ! root_start >"$scratch/made" 2>&1; then
	not_ok root "$(tail -n 5 "$scratch/made" | tr '\n' ';')"
	finish
fi

# A release before this one has a file more.
names=()
mkdir "$scratch/older"
for deb in build/deb/*_*.deb; do
	name=${deb##*/} name=${name%%_*}
	[[ $name != *-dbgsym ]] || continue
	names+=("$name")
	dpkg-deb -R "$deb" "$scratch/deb"
	sed -i "s/$version-1/&~older/g" "$scratch/deb/DEBIAN/control"
	echo more >"$scratch/deb/usr/share/doc/$name/more"
	dpkg-deb --root-owner-group -Znone -b "$scratch/deb" "$scratch/older/${name}_older.deb" >/dev/null
	rm -r "$scratch/deb"
done
check nine-packages "$([ ${#names[@]} -eq 9 ] || echo "there are ${#names[@]}: ${names[*]}")"

# ---- the base alone ----

# shellcheck disable=SC2046 # names of files without blanks
runs base apt-get install -q -y $(debs NEW greenboot-etcd)
works base-version "^greenboot-etcd $version$" greenboot-etcd --version
works base-without-store "greenboot-etcd-store, which is not installed" greenboot-etcd store push
check base-state-directory "$([ "$(stat -c %a "$tree/var/lib/greenboot-etcd")" = 700 ] || echo "tmpfiles.d did not make it")"
runs base-purged dpkg --purge greenboot-etcd
check base-nothing-left "$(all_files | diff "$scratch/before" -)"

# ---- installed, used, upgraded ----

# shellcheck disable=SC2046 # names of files without blanks
runs older dpkg -i $(debs older "${names[@]}")
check older-versions "$(versions | diff - <(printf "%s $version-1~older\n" "${names[@]}" | sort))"
check enables-nothing "$(enabled | diff "$scratch/enabled" -)"
works status "^Not protected" greenboot-etcd status
works man-page "GREENBOOT-ETCD(8)" man greenboot-etcd
works catalog "greenboot-etcd" journalctl --list-catalog
# shellcheck disable=SC2016 # for the other bash
works completion "^status$" bash -c '. /usr/share/bash-completion/bash_completion
	_completion_loader greenboot-etcd
	COMP_WORDS=(greenboot-etcd stat) COMP_CWORD=1 COMP_LINE="greenboot-etcd stat" COMP_POINT=19
	$(complete -p greenboot-etcd | sed "s/.*-F \([^ ]*\).*/\1/") greenboot-etcd stat greenboot-etcd
	printf "%s\n" "${COMPREPLY[@]% }"'
works plugin "greenboot_etcd" sos report --list-plugins
# The data is where the package greenboot-etcd-k3s has it.
data=$tree/var/lib/rancher/k3s/server/db/etcd
mkdir -p "$data"
tar -C "$data" --strip-components=1 -xJf tests/data/etcd/etcd35-wal3segments-compacted.tar.xz
in_tree greenboot-etcd backup one >"$scratch/log" 2>&1
works backup "one" greenboot-etcd list
state >"$scratch/state"

# shellcheck disable=SC2046 # names of files without blanks
runs upgraded dpkg -i $(debs NEW "${names[@]}")
check upgraded-versions "$(versions | diff - <(printf "%s $version-1\n" "${names[@]}" | sort))"
check upgraded-without-the-file "$(find "$tree/usr/share/doc" -name more)"
check upgraded-state "$(state | diff "$scratch/state" -)"
in_tree greenboot-etcd verify one >"$scratch/log" 2>&1 && ok upgraded-verify || not_ok upgraded-verify "$(cat "$scratch/log")"
check starts-nothing "$(sort -u "$tree/run/systemctl" | diff - <(echo "--system daemon-reload"))"

# ---- purged ----

runs removed dpkg --remove "${names[@]}"
runs purged dpkg --purge "${names[@]}"
check purge-says-what-stays "$(grep -q '/var/lib/greenboot-etcd\* stays' "$scratch/log" || cat "$scratch/log")"
check purge-keeps-state "$(state | diff "$scratch/state" -)"
rm -r "$tree/var/lib/greenboot-etcd" "$tree/var/lib/rancher"
check purged-nothing-left "$(all_files | diff "$scratch/before" -)"
check purged-enabled "$(enabled | diff "$scratch/enabled" -)"

# The guard guards: lintian knows a file that belongs elsewhere.
dpkg-deb -R "$scratch/older/greenboot-etcd-k3s_older.deb" "$scratch/deb"
mkdir -p "$scratch/deb/usr/local/bin"
touch "$scratch/deb/usr/local/bin/x"
dpkg-deb --root-owner-group -b "$scratch/deb" "$scratch/wrong.deb" >/dev/null
lint "$scratch/wrong.deb" | grep -q '^E: .*usr/local' && ok lintian-can-fail || not_ok lintian-can-fail "a file in /usr/local is accepted"
finish
