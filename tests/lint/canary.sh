#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The warnings of the build are on in each compiler. A file with one mistake must fail to compile, because of that mistake.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

canary=tests/lint/canary/canary.c

# The compiler's name for a warning; empty if the compiler lacks it.
expected() {
	case $1:$2 in
	clang:format_signedness | clang:old_style_definition) ;; # clang 14 has no such warning
	clang:vla) echo vla ;;
	clang:write_strings) echo incompatible-pointer-types-discards-qualifiers ;;
	gcc:write_strings) echo discarded-qualifiers ;;
	gcc:format | gcc:format_signedness) echo format= ;;
	*) echo "${2//_/-}" ;;
	esac
}

for compiler in gcc clang; do
	if ! command -v $compiler >/dev/null; then
		skip "canary-$compiler" "$compiler is not installed: make deps-all"
		continue
	fi
	# FORTIFY_SOURCE replaces printf(), and clang does not check the formats of the replacement.
	[ $compiler = gcc ] && harden=1 || harden=0
	line=$(MAKEFLAGS='' make --no-print-directory -s print-compile WERROR=1 CC="$compiler" HARDEN="$harden")
	compile=()
	eval "compile=($line -c -o /dev/null)"
	check "canary-$compiler-good-code" "$("${compile[@]}" $canary 2>&1)"
	while read -r part; do
		wanted=$(expected "$compiler" "$part")
		[ -n "$wanted" ] || continue
		complaint=$("${compile[@]}" -DCANARY_"$part" $canary 2>&1) && complaint="nothing"
		if grep -qE "\[-Werror[,=](.*-W)?$wanted" <<<"$complaint"; then
			ok "canary-$compiler-$part"
		else
			not_ok "canary-$compiler-$part" \
				"wanted -W$wanted, the compiler said: $(tr '\n' ';' <<<"$complaint" | cut -c 1-300)"
		fi
	done < <(grep -oE 'CANARY_[a-z_]+' $canary | sed 's/CANARY_//' | sort -u)
done
finish
