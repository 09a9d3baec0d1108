#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The two package lists stand side by side and each line has both; what the Makefile asks
# pkg-config for, and what the scripts call, is on them.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

list=.ci/deps.list
check deps-columns "$(awk '
	/^[[:space:]]*(#|$)/ { next }
	NF < 3 { print FILENAME ":" FNR ": a line is: debian fedora purpose" }' $list)"
check deps-no-duplicates "$(awk '!/^[[:space:]]*(#|$)/ { print $1 }' $list | sort | uniq -d)"

# pkg-config module -> Debian package that has it.
check deps-of-build "$(while read -r module package; do
	grep -qE "^pkg_modules.*\b$module\b|libbtrfsutil|--cflags check" Makefile || continue
	awk '{ print $1 }' $list | grep -qx "$package" || echo "$module needs $package"
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
	awk '{ print $1 }' $list | grep -qx "$package" || echo "the build needs $package"
done)"

# With deps among the goals, nothing is looked up before deps is through: a machine without
# compiler and pkg-config has to come that far, with -j, too.
mkdir "$scratch/bin"
for tool in pkg-config cc gcc clang ar; do
	printf '#!/bin/sh\necho "%s $*" >>"%s"\nexit 1\n' $tool "$scratch/called" >"$scratch/bin/$tool"
	chmod +x "$scratch/bin/$tool"
done
plan=$(PATH=$scratch/bin:$PATH MAKEFLAGS='' make --no-print-directory -n -j4 deps clean 2>&1)
if [ -e "$scratch/called" ]; then
	not_ok deps-first "make deps clean asked for $(tr '\n' ';' <"$scratch/called") before deps"
elif ! grep -q install-deps <<<"$plan"; then
	not_ok deps-first "make deps clean does not start with .ci/install-deps: $plan"
else
	ok deps-first
fi
finish
