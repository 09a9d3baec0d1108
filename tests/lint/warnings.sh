#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The whole tree, tests and all, without a warning by gcc and by clang. Takes a minute, so it runs in
# CI and at LEVEL=full; by hand: make warnings.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

if [ "${CI:-}" != true ] && [ "${LEVEL:-ci}" = ci ]; then
	ok warnings-are-for-ci
	finish
fi

# without_warnings NAME VARIABLE=VALUE...
without_warnings() {
	local name=$1 complaint

	shift
	complaint=$(MAKEFLAGS='' make --no-print-directory -s -k -j"${JOBS:-2}" FAULTS=1 WERROR=1 D='' "$@" \
		objects 2>&1) && complaint=
	check "warnings-$name" "$(grep -E ': (fatal )?error:|\*\*\* ' <<<"$complaint")"
}

# gcc has some that only come to it while it optimizes: objects it is. Where the unit tests were built by it with
# warnings as errors, as in CI, these are they.
gcc=(CC=gcc VARIANT=warnings-gcc)
if [ "${WERROR:-}" = 1 ] && ${CC:-cc} --version | grep -q 'Free Software Foundation'; then
	gcc=()
fi
without_warnings gcc "${gcc[@]}"
# clang has them all before it makes code, and does not see formats through what FORTIFY_SOURCE makes of printf(). The
# libraries' headers take half of its time: they are read once. (That each file includes what it needs, gcc tells.)
clang=(CC=clang HARDEN=0 VARIANT=warnings-clang)
headers=build/warnings-clang/headers
mkdir -p "${headers%/*}"
printf '#include <%s>\n' json-glib/json-glib.h errno.h fcntl.h string.h sys/stat.h unistd.h >$headers.h
compile=()
eval "compile=($(MAKEFLAGS='' make --no-print-directory -s print-compile "${clang[@]}" CFLAGS=))"
if "${compile[@]}" -x c-header $headers.h -o $headers.pch; then
	without_warnings clang "${clang[@]}" CFLAGS="-fsyntax-only -include-pch $headers.pch"
else
	not_ok warnings-clang "the headers"
fi
finish
