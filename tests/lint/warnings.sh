#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# gcc and clang compile the whole tree, tests included, without a warning. The check takes a minute, so it runs in CI and
# at LEVEL=full; by hand: make warnings.
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

# gcc gives some warnings only while it optimizes, so objects are made. If gcc has built the unit tests with warnings as
# errors, as in CI, those objects are enough.
gcc=(CC=gcc VARIANT=warnings-gcc)
if [ "${WERROR:-}" = 1 ] && ${CC:-cc} --version | grep -q 'Free Software Foundation'; then
	gcc=()
fi
without_warnings gcc "${gcc[@]}"
# clang gives all warnings before it makes code. HARDEN=0: FORTIFY_SOURCE replaces printf(), and clang does not check the
# formats of the replacement. The libraries' headers take half of the time, so they are read once; gcc finds a missing
# include.
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
