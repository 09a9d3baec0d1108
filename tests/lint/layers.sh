#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The one law of the tree: core < base < fs < etcd < sys < app < cli, hooks; initramfs is a cli with fewer
# verbs. A file includes only what is left of its own layer, or lies in it. core and base stand alone, but
# everybody may include the error header and the cleanup header; fault points begin at fs, for core is pure.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

declare -A rank=([core]=1 [base]=2 [fs]=3 [etcd]=4 [sys]=5 [app]=6 [cli]=7 [hooks]=7 [initramfs]=8)

# bad_include LAYER HEADER: says why it may not, or nothing.
bad_include() {
	local layer=$1 header=$2 other=${2%%/*}

	case $header in
	base/error.h | base/auto.h) return ;;
	*/*) ;;
	*)
		echo "include it as \"<layer>/$header\""
		return
		;;
	esac
	if [ -z "${rank[$other]:-}" ]; then
		echo "$other is no layer"
	elif [ "$layer" = base ] && [ "$other" = core ]; then
		echo "base stands alone"
	elif [ "${rank[$other]}" -gt "${rank[$layer]}" ]; then
		echo "$other is above $layer"
	elif [ "${rank[$other]}" -eq 7 ] && [ "$other" != "$layer" ] && [ "$layer/$other" != initramfs/cli ]; then
		echo "cli and hooks do not know each other"
	fi
}

# check_tree LAYER FILE...
findings() {
	local layer=$1 path line header why

	shift
	for path in "$@"; do
		while IFS= read -r line; do
			header=${line#*\"}
			header=${header%%\"*}
			why=$(bad_include "$layer" "$header")
			[ -z "$why" ] || echo "$path includes $header ($why)"
		done < <(grep -E '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$path")
	done
}

for layer in core base fs etcd sys app cli initramfs; do
	mapfile -t paths < <(files "src/$layer/*.[ch]")
	[ ${#paths[@]} -gt 0 ] || continue
	check "layer-$layer" "$(findings "$layer" "${paths[@]}")"
done
mapfile -t paths < <(files 'hooks/*.[ch]')
[ ${#paths[@]} -eq 0 ] || check layer-hooks "$(findings hooks "${paths[@]}")"

# Every source lies in a layer.
check layer-known "$(files 'src/*.[ch]' | grep -Ev '^src/(core|base|fs|etcd|sys|app|cli|initramfs)/[^/]+$')"

# The guard guards: an include upwards is found.
printf '#include "sys/run.h"\n#include "base/fault.h"\n' >"$scratch/upward.c"
if [ "$(findings core "$scratch/upward.c" | wc -l)" -eq 2 ]; then
	ok layer-law-can-fail
else
	not_ok layer-law-can-fail "an include of sys/ and of base/fault.h from core was not found"
fi
finish
