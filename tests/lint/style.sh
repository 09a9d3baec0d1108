#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# House rules that a machine can see: licence line, sizes, comments, who may write to a stream.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

mapfile -t c_files < <(files 'src/*.[ch]' 'hooks/*.[ch]' 'tests/*.[ch]')
mapfile -t product < <(files 'src/*.[ch]' 'hooks/*.[ch]')
mapfile -t page < <(files 'data/cockpit/*.js')
mapfile -t hooks < <(files 'hooks/*.c')
mapfile -t scripts < <(shell_files)

# without LINES PATTERN FILE...: the files that have no such line among their first LINES.
without() {
	awk -v lines="$1" -v pattern="$2" 'FNR <= lines && $0 ~ pattern { has[FILENAME] = 1 }
		FNR == lines { nextfile }
		END { for (i = 1; i < ARGC; i++) if (!(ARGV[i] in has)) print ARGV[i] }' "${@:3}"
}
spdx='SPDX-License-Identifier: LGPL-2[.]1-or-later'
mapfile -t units < <(files 'hooks/*.service' 'hooks/*.path' 'hooks/*.timer')
# The shims are two lines, as greenboot's documentation has them.
mapfile -t lines < <(printf '%s\n' "${scripts[@]}" | grep -v '^greenboot\.d/')
check spdx "$(without 1 "^/[*] $spdx [*]/\$" "${c_files[@]}"
	without 2 "^# $spdx\$" "${lines[@]}" Makefile "${units[@]}")"

# A module is a noun and stays readable: split it when it grows.
check file-length "$(wc -l "${product[@]}" | awk '$2 != "total" && $1 > 800 { print $2 " has " $1 " lines, 800 are allowed" }')"

# longer_than LIMIT FILE...: functions, as the house format writes them, from ^{ to ^}. A flat switch may have 100.
longer_than() {
	awk -v most="$1" '
		FNR == 1 { start = 0 }
		/^[a-z].*\(/ { name = $1; sub(/\(.*/, "", name) }
		/^{/ { start = FNR; cases = 0 }
		/^\tcase / { cases++ }
		/^}/ && start { limit = cases >= 10 ? 100 : most
			if (FNR - start - 1 > limit)
			print FILENAME ": " name "() has " FNR - start - 1 " lines, " limit " are allowed"
			start = 0 }' "${@:2}"
}
[ ${#product[@]} -eq 0 ] || check function-length "$(longer_than 70 "${product[@]}")"
[ ${#hooks[@]} -eq 0 ] || check hook-length "$(longer_than 60 "${hooks[@]}" | grep ' main()')"

check no-line-comments "$(grep -nE '(^|[[:space:];{}])//' "${product[@]}" /dev/null)"
check no-utils "$(files 'src/*/util*' 'src/*/misc*' 'src/*/common*' 'src/*/helper*')"

# Only the operator's command, the mains and events print. A library says it with a GError.
mapfile -t silent < <(files 'src/core/*.c' 'src/fs/*.c' 'src/etcd/*.c' 'src/sys/*.c' 'src/base/*.c' |
	grep -vE '^src/(sys/systemd/events|base/fault)\.c$')
streams='\b(g_print(err)?|g_message|g_warning|g_critical|g_info|g_log|v?f?printf|puts|putchar|perror)[[:space:]]*\('
[ ${#silent[@]} -eq 0 ] || check libraries-are-silent "$(grep -nE "$streams" "${silent[@]}" /dev/null)"

blocked='\b(strcpy|strcat|sprintf|vsprintf|gets|strtok|system|popen|alloca|mktemp|tmpnam|atoi|atol|atoll)[[:space:]]*\('
check blocked-functions "$(grep -nE "$blocked" "${product[@]}" /dev/null |
	grep -vE ':[[:space:]]*/?\*|/\*.*('"$blocked)")"

# Plain English (architecture.md): a sentence begins with its subject.
riddles='(^|[.:;] |/\* |_\("|^[[:space:]]*\* )(What|Who|Nobody|Somebody|Whoever|Whose) '
mapfile -t pages < <(files 'README.md' 'NEWS.md' 'docs/*.md' 'data/man/*' 'data/*.catalog')
check subject-first "$(grep -nE "$riddles" "${product[@]}" "${page[@]}" "${pages[@]}" /dev/null | grep -v '[?]')"

# The guards guard.
{
	echo "static int"
	echo "long_one(void)"
	echo "{"
	for _ in $(seq 71); do echo "	;"; done
	echo "}"
} >"$scratch/long.c"
[ "$(longer_than 70 "$scratch/long.c")" = "$scratch/long.c: long_one() has 71 lines, 70 are allowed" ] &&
	ok function-length-can-fail ||
	not_ok function-length-can-fail "a function of 71 lines was not found"
finish
