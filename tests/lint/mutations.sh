#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The guards that check-guards removes still exist in the program.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

check guards "$(tests/crash/mutations --find | grep '^not ok' | cut -d' ' -f3-)"
check guards-looked-at "$(tests/crash/mutations --find | grep -q '^ok' || echo "no guard was looked for")"
finish
