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

spdx='SPDX-License-Identifier: LGPL-2\.1-or-later'
check spdx "$(for path in "${c_files[@]}"; do
	head -n 1 "$path" | grep -qE "^/\* $spdx \*/\$" || echo "$path"
done
for path in "${scripts[@]}" Makefile $(files 'hooks/*.service' 'hooks/*.path' 'hooks/*.timer'); do
	# The shims are two lines, as greenboot's documentation has them.
	[[ $path == greenboot.d/* ]] ||
		head -n 2 "$path" | grep -qE "^# $spdx\$" || echo "$path"
done)"

# A module is a noun and stays readable: split it when it grows.
check file-length "$(for path in "${product[@]}"; do
	lines=$(wc -l <"$path")
	[ "$lines" -le 700 ] || echo "$path has $lines lines, 700 are allowed"
done)"

# longer_than LIMIT FILE...: functions, as the house format writes them, from ^{ to ^}.
longer_than() {
	awk -v limit="$1" '
		FNR == 1 { start = 0 }
		/^[a-z].*\(/ { name = $1; sub(/\(.*/, "", name) }
		/^{/ { start = FNR }
		/^}/ && start { if (FNR - start - 1 > limit)
			print FILENAME ": " name "() has " FNR - start - 1 " lines, " limit " are allowed"
			start = 0 }' "${@:2}"
}
[ ${#product[@]} -eq 0 ] || check function-length "$(longer_than 70 "${product[@]}")"
[ ${#hooks[@]} -eq 0 ] || check hook-length "$(longer_than 60 "${hooks[@]}" | grep ' main()')"

check no-line-comments "$(grep -nE '(^|[[:space:];{}])//' "${product[@]}" /dev/null)"
check no-utils "$(files 'src/*/util*' 'src/*/misc*' 'src/*/common*' 'src/*/helper*')"

# Who prints: the operator's command, the mains, events. A library says it with a GError.
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
