#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# `make install` leaves no dead link in the documentation, and `make uninstall` removes exactly the installed files. Both
# are tried with the default directories, with others, and next to files of other packages.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"
. "$(dirname "$0")/links.bash"
export MAKEFLAGS=''

# Each path with its type and content.
tree() { (cd "$1" && find . -type f -exec sha256sum {} + -o -printf '%y %p\n' | sort -k2); }
run_make() { make --no-print-directory "$@" >"$scratch/log" 2>&1 || not_ok "make-$1" "$(tail -n 3 "$scratch/log" | tr '\n' ';')"; }
# round NAME [VARIABLE=...]: installs into an empty tree, copies that into a tree of other packages, uninstalls there, and
# compares. The tree of other packages has shared directories, some of them empty, and a file.
round() {
	local name=$1 installed=$scratch/$1.installed root=$scratch/$1

	shift
	run_make install DESTDIR="$installed" "$@"
	mkdir -p "$root/usr/share/greenboot-etcd/schema"
	echo other >"$root/usr/share/greenboot-etcd/schema/other.json"
	(cd "$installed" && find . -type d ! -path '*greenboot-etcd*' -print0) | (cd "$root" && xargs -0 mkdir -p)
	tree "$root" >"$scratch/before"
	cp -a "$installed/." "$root"
	run_make uninstall DESTDIR="$root" "$@"
	check "uninstall-$name" "$(tree "$root" | diff "$scratch/before" -)"
}

round default
installed=$scratch/default.installed
[ "$(tree "$installed" | wc -l)" -gt 150 ] && ok install-can-fail || not_ok install-can-fail "few files were installed"
round moved prefix=/opt/x libexecdir=/opt/x/lib/programs docdir=/opt/x/doc \
	zshcompletiondir=/opt/x/zsh
check install-zsh "$(find "$scratch/moved.installed/opt/x/zsh/_greenboot-etcd" 2>&1 >/dev/null)"

mapfile -t pages < <(cd "$installed/usr/share/doc/greenboot-etcd" && find . -name '*.md' -printf '%P\n' | sort)
[ "${#pages[@]}" -gt 15 ] && ok install-pages || not_ok install-pages "only ${#pages[@]} pages are installed"
check install-links "$(cd "$installed/usr/share/doc/greenboot-etcd" && GIT_CEILING_DIRECTORIES=$scratch dead "${pages[@]}")"

metainfo=$(files 'data/cockpit/*.metainfo.xml')
[ -n "$metainfo" ] && [ -e "$installed/usr/share/metainfo/${metainfo##*/}" ] && ok metainfo-installed ||
	not_ok metainfo-installed "it is not in /usr/share/metainfo"
if command -v appstreamcli >/dev/null; then
	check metainfo "$(appstreamcli validate --no-net "$metainfo" 2>&1 | grep -v successful)"
else
	skip metainfo "appstreamcli is not installed: Debian's package appstream"
fi
finish
