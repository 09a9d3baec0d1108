#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

if ! command -v shellcheck >/dev/null; then
	skip shellcheck "shellcheck is not installed: make deps"
	finish
fi
while IFS= read -r path; do
	# SC2015: "a && ok || not_ok" is this tree's way to say it; ok does not fail.
	check "shellcheck-$path" "$(shellcheck -x -S info -f gcc -e SC2015 -P SCRIPTDIR "$path" 2>&1)"
done < <(shell_files)
finish
