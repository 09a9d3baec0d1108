#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The programs are hardened like Fedora's and Debian's in every build. HARDENED=DIRECTORY checks the programs installed
# there instead (tests/rpm).
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

if [ -n "${HARDENED:-}" ]; then
	mapfile -t programs < <(find "$HARDENED" -type f -exec sh -c \
		'head -c 4 "$1" | grep -q "^.ELF" && echo "$1"' sh {} \; | sort)
else
	mapfile -t programs < <(find "$BUILD/greenboot-etcd" "$BUILD/hooks" -type f -perm /111 | sort)
fi

# soft FILE: what it is not.
soft() {
	local segments dynamic symbols

	segments=$(readelf -lW "$1")
	dynamic=$(readelf -dW "$1")
	symbols=$(readelf -W --dyn-syms "$1")
	grep -q '^Elf file type is DYN' <<<"$segments" || echo "at a fixed address"
	[[ $1 == *.so ]] || grep -qE '\(FLAGS_1\).*\bPIE\b' <<<"$dynamic" || echo "no PIE"
	grep -q ' GNU_RELRO ' <<<"$segments" || echo "no RELRO"
	grep -qE '\((FLAGS|FLAGS_1|BIND_NOW)\).*\b(NOW|BIND_NOW)\b' <<<"$dynamic" || echo "bound lazily"
	grep -qE ' GNU_STACK .* RW +0x' <<<"$segments" || echo "a stack that can be executed"
	! grep -qE ' LOAD .* RWE ' <<<"$segments" || echo "memory both written and executed"
	! grep -q TEXTREL <<<"$dynamic" || echo "code that is relocated"
	! grep -qE '\((RPATH|RUNPATH)\).*\[[^$]' <<<"$dynamic" || echo "libraries of another place"
	# A hook's dozen lines have no array. They and the optional programs call no function with a checked form.
	[[ ${1##*/} == @(greenboot-etcd*|*.so|initramfs) ]] || return 0
	grep -q ' __stack_chk_fail' <<<"$symbols" || echo "no stack protector"
	[[ ${1##*/} == greenboot-etcd-@(store|certs|cluster|member) ]] ||
		grep -qE ' __[a-z]+_chk(@|$)' <<<"$symbols" || echo "no FORTIFY_SOURCE"
}

for program in "${programs[@]}"; do
	check "hardened-${program##*/}" "$(soft "$program")"
done
# In a program the note is lost where the C library's own start-up code has none, as Debian's.
[ -n "${HARDENED:-}" ] || [ "$(uname -m)" != x86_64 ] ||
	check hardened-control-flow "$(find "$BUILD/src" "$BUILD/hooks" -newer "$BUILD/flags" -name '*.o' | while IFS= read -r object; do
		readelf -nW "$object" | grep -q 'x86 feature: .*IBT, SHSTK' || echo "${object#"$BUILD/"}"
	done)"
[ ${#programs[@]} -gt 1 ] || not_ok hardened "there are no programs"

# The guard guards.
cat >"$scratch/soft.c" <<'C'
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv)
{
	char text[64];
	strcpy(text, argv[0]);
	return puts(text);
}
C
${CC:-cc} -O0 -U_FORTIFY_SOURCE -fno-stack-protector -fcf-protection=none -no-pie -Wl,-z,norelro,-z,lazy,-z,execstack \
	-o "$scratch/greenboot-etcd-soft" "$scratch/soft.c" 2>"$scratch/log" || not_ok hardened-can-fail "$(head -n 1 "$scratch/log")"
soft "$scratch/greenboot-etcd-soft" >"$scratch/found"
[ "$(wc -l <"$scratch/found")" -ge 6 ] && ok hardened-can-fail ||
	not_ok hardened-can-fail "found only: $(tr '\n' ';' <"$scratch/found")"
finish
