#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# core touches no file, clock, environment or stream. Each undefined symbol of its objects must be on this list, or be
# defined in core or in base/error.c.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

allowed='mem(cmp|cpy|move|set|chr|rchr|mem)|str[a-z]*|__str[a-z]*_chk|__mem[a-z]*_chk
|is[a-z]+|to(lower|upper)|__ctype_[a-z_]+|__errno_location|__stack_chk_fail|qsort|bsearch|fnmatch|abort
|__isoc(99|23)_[a-z]+|_GLOBAL_OFFSET_TABLE_
|g_[a-z0-9_]+|json_[a-z0-9_]+|__(asan|ubsan)_.*'
allowed=$(tr -d '\n' <<<"$allowed")
# The last line of the list allows these, but they are not pure.
refused='strerror(_r)?|g_(file|dir|spawn|io_channel|unix|socket|date_time_new_now|mkd|mkstemp|open
|creat|access|chdir|chmod|rename|remove|rmdir|unlink|stat|lstat|fopen|print|printerr|log|logv|message
|warning|get_(real|monotonic|current|host|user|home|tmp|system|environ|num|prgname|application)
|getenv|setenv|unsetenv|listenv|timeout|timer|usleep|random|uuid|rand|thread|mapped_file|input
|output|subprocess)(_.*)?|json_(parser_load_from_(file|stream|mapped).*|generator_to_(file|stream).*)'
refused=$(tr -d '\n' <<<"$refused")

# impure DIRECTORY: the undefined symbols of its objects that are not allowed.
impure() {
	local object

	find "$1" -name '*.o' | while IFS= read -r object; do
		nm -u "$object" | awk '{ print $2 }' |
			grep -vxE -f "$scratch/own" |
			awk -v allowed="^($allowed)\$" -v refused="^($refused)\$" -v object="${object##*/}" '
				{ sub(/@.*/, "") }
				$0 !~ allowed || $0 ~ refused { print object " uses " $0 }'
	done
}

# The pure code of the optional programs is also in a folder of that name.
pure=("$BUILD/src/core")
for name in $PROGRAMS; do pure+=("$BUILD/src/$name/core"); done
if ! compgen -G "$BUILD/src/core/*/*.o" >/dev/null; then
	not_ok core-is-pure "no objects in $BUILD/src/core: build first"
	finish
fi
find "${pure[@]}" -name '*.o' -exec nm --defined-only "$BUILD/src/base/error.o" {} + | awk 'NF == 3 { print $3 }' |
	sort -u >"$scratch/own"
check core-is-pure "$(for directory in "${pure[@]}"; do impure "$directory"; done)"

# The guard guards.
mkdir "$scratch/objects"
cat >"$scratch/impure.c" <<'SOURCE'
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
extern long g_get_real_time(void);
long canary(void);
long canary(void)
{
	return open(getenv("X"), O_RDONLY) + time(NULL) + g_get_real_time();
}
SOURCE
${CC:-cc} -c -o "$scratch/objects/impure.o" "$scratch/impure.c"
found=$(impure "$scratch/objects" | awk '{ print $3 }' | sort | tr '\n' ' ')
if [ "$found" = "g_get_real_time getenv open time " ]; then
	ok purity-can-fail
else
	not_ok purity-can-fail "of open getenv time g_get_real_time only these were found: $found"
fi
finish
