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
	skip format "clang-format 14 is not installed: make deps-all"
	finish
fi

# unformatted FILE...: "FILE:LINE:COLUMN:" of what it would write otherwise. One process for all of them: to
# start it costs ten times what a file does.
unformatted() {
	"$formatter" --dry-run -Werror "$@" 2>&1 | grep error: | sed 's/ error: code should be clang-formatted.*//'
}

# Canaries are written to be wrong.
mapfile -t paths < <(files 'src/*.[ch]' 'hooks/*.[ch]' 'tests/*.[ch]' | grep -v '^tests/lint/canary/')
check_each format unformatted "${paths[@]}"

# The guard guards, and says it of the right file.
printf 'int right(void);\n' >"$scratch/right.h"
printf 'int wrong ( void ) ;\n' >"$scratch/wrong.h"
cp .clang-format "$scratch/"
if [ "$(cd "$TOP" && check_each x unformatted "$scratch/right.h" "$scratch/wrong.h" | cut -d: -f1)" = \
	"ok x-$scratch/right.h"$'\n'"not ok x-$scratch/wrong.h" ]; then
	ok format-can-fail
else
	not_ok format-can-fail "$(check_each x unformatted "$scratch/right.h" "$scratch/wrong.h" | tr '\n' ';')"
fi
finish
