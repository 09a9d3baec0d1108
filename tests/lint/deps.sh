#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Each line of .ci/deps.list has a package of Debian and one of Fedora. `make deps` installs the packages of the build,
# and a test that is skipped without a program names the target that installs it.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

list=.ci/deps.list
check deps-columns "$(awk '
	/^[[:space:]]*([#[]|$)/ { next }
	NF < 3 { print FILENAME ":" FNR ": a line is: debian fedora purpose" }' $list)"
check deps-no-duplicates "$(awk '!/^[[:space:]]*([#[]|$)/ { print $1 }' $list | sort | uniq -d)"
check deps-sections "$(grep '^\[' $list | diff <(printf '%s\n' '[deps]' '[deps-all]') -)"
# The packages of `make deps`.
sed '/^\[deps-all\]/,$d' $list | awk '{ print $1 }' >"$scratch/deps"

# pkg-config module -> Debian package that has it.
check deps-of-build "$(while read -r module package; do
	grep -qE "^pkg_modules.*\b$module\b|libbtrfsutil|--cflags check" Makefile || continue
	grep -qx "$package" "$scratch/deps" || echo "$module needs $package"
done <<'MODULES'
glib-2.0 libglib2.0-dev
json-glib-1.0 libjson-glib-dev
ostree-1 libostree-dev
libsystemd libsystemd-dev
yaml-0.1 libyaml-dev
libcurl libcurl4-openssl-dev
libbtrfsutil libbtrfsutil-dev
check check
MODULES
for package in gcc make pkg-config; do
	grep -qx "$package" "$scratch/deps" || echo "the build needs $package"
done)"

# package PROGRAM: the Debian package of a program that a skip names.
package() {
	case $1 in
	clang-format*) echo clang-format ;;
	etcd) echo etcd-server ;;
	node) echo nodejs ;;
	promtool) echo prometheus ;;
	rpmbuild) echo rpm ;;
	sos) echo sosreport ;;
	Swift) echo swift-proxy ;;
	systemd-analyze) echo systemd ;;
	systemd-nspawn) echo systemd-container ;;
	*) echo "$1" ;;
	esac
}
# misnamed: "FILE: PROGRAM: PACKAGE is installed by TARGET", from lines "FILE:TEXT".
misnamed() {
	sed -nE 's/^([^:]*):.*[" ]([A-Za-z][A-Za-z0-9-]*)( [0-9]+)? is not installed(: | \()(make deps(-all)?)\b.*/\1 \2 \5/p' |
		while read -r file program target; do
			package=$(package "$program")
			if grep -qx "$package" "$scratch/deps"; then right="make deps"; else right="make deps-all"; fi
			grep -qE "^$package " $list || right="no target"
			[ "$target" = "$right" ] || echo "$file: $program: $package is installed by $right"
		done
}
skips() { files 'tests/*' | grep -v '^tests/lint/deps.sh$' | xargs grep -H ' is not installed'; }
check deps-of-skips "$(skips | misnamed)"
check deps-of-skips-looked-at "$([ "$(skips | grep -c 'make deps')" -ge 20 ] || echo "fewer than 20 skips were found")"
check deps-of-skips-can-fail "$([ "$(misnamed <<<'a: skip x "node is not installed: make deps"')" = \
	"a: node: nodejs is installed by make deps-all" ] || echo "a wrong target is accepted")"

# With deps among the goals, make calls no compiler and no pkg-config before deps has installed them, also with -j.
mkdir "$scratch/bin"
for tool in pkg-config cc gcc clang ar; do
	printf '#!/bin/sh\necho "%s $*" >>"%s"\nexit 1\n' $tool "$scratch/called" >"$scratch/bin/$tool"
	chmod +x "$scratch/bin/$tool"
done
for target in deps deps-all; do
	plan=$(PATH=$scratch/bin:$PATH MAKEFLAGS='' make --no-print-directory -n -j4 $target clean 2>&1)
	if [ -e "$scratch/called" ]; then
		not_ok $target-first "make $target clean called $(tr '\n' ';' <"$scratch/called") before $target"
	elif ! grep -q "install-deps$([ $target = deps ] || echo ' all')$" <<<"${plan%%$'\n'*}"; then
		not_ok $target-first "make $target clean does not start with .ci/install-deps: $plan"
	else
		ok $target-first
	fi
done
finish
