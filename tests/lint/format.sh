#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The C sources are as clang-format 14 writes them ("make format"); other versions write otherwise.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

formatter=
for candidate in clang-format-14 clang-format; do
	if "$candidate" --version 2>/dev/null | grep -q 'version 14\.'; then
		formatter=$candidate
		break
	fi
done
if [ -z "$formatter" ]; then
	skip format "clang-format 14 is not installed: make deps"
	finish
fi
# Canaries are written to be wrong.
while IFS= read -r path; do
	check "format-$path" "$("$formatter" --dry-run -Werror "$path" 2>&1 | grep error: |
		sed 's/ error: code should be clang-formatted.*//')"
done < <(files 'src/*.[ch]' 'hooks/*.[ch]' 'tests/*.[ch]' | grep -v '^tests/lint/canary/')
finish
