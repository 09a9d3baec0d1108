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
for compiler in gcc clang; do
	complaint=$(MAKEFLAGS='' make --no-print-directory -s -k -j2 VARIANT="warnings-$compiler" \
		CC="$compiler" WERROR=1 FAULTS=1 D='' objects 2>&1) && complaint=
	check "warnings-$compiler" "$(grep -E ': (fatal )?error:|\*\*\* ' <<<"$complaint")"
done
finish
