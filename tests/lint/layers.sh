#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The one law of the tree: core < base < fs < etcd < sys < app < cli, hooks; initramfs is a cli with fewer
# verbs. store, certs and cluster are optional programs on top of cli. No layer includes them, and of the three only
# cluster includes another one, certs. A file includes only files of its own layer and of the layers left of it. core and
# base stand alone, but every file may include the headers of errors, cleanup and formats. Fault points begin at fs.
# The rooms (folders) of a layer have an order of the same kind. Files of the layer itself are left of all its rooms.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

declare -A rank=([core]=1 [base]=2 [fs]=3 [etcd]=4 [sys]=5 [app]=6 [cli]=7 [hooks]=7 [initramfs]=8
	[store]=9 [certs]=9 [cluster]=10)

declare -A rooms=(
	[core]="json record config decide health units snapshot"
	[fs]="copy"
	[etcd]="db wal directory tls api"
	[sys]="systemd deployment"
	[app]="device state backups backup health report boot by-hand run snapshot rehearse upkeep certs monitor"
	[cli]="verbs"
	[store]="core bucket"
	[certs]="core"
	[cluster]="core"
)
# The most files that a room may hold, and a layer next to its rooms.
FILES_MAX=36

# room_of PATH: "decide" of "core/decide/rules.h"; nothing of "core/tri.h".
room_of() {
	local room=${1#*/}
	[ "${room%/*}" = "$room" ] || echo "${room%/*}"
}

# is_left LAYER ROOM OTHER: may ROOM include files of OTHER?
is_left() {
	local word order=" ${rooms[$1]:-} " after

	[ "$3" != "$2" ] || return 0
	# The files of an optional program lie above its rooms.
	if [ "${rank[$1]}" -ge 9 ]; then
		[ -n "$2" ] || return 0
		[ -n "$3" ] || return 1
	fi
	[ -n "$3" ] || return 0
	[ -n "$2" ] || return 1
	after=${order#* "$2" }
	for word in $after; do
		[ "$word" != "$3" ] || return 1
	done
}

# bad_include LAYER HEADER ROOM: says why it may not, or nothing.
bad_include() {
	local layer=$1 header=$2 other=${2%%/*}

	case $header in
	base/error.h | base/auto.h | base/format.h) return ;;
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
	elif [[ ${rank[$other]} -ge 8 && $other != "$layer" && $layer/$other != cluster/certs ]]; then
		echo "$other stands alone"
	elif [ "${rank[$other]}" -eq 7 ] && [[ ${rank[$layer]} -lt 9 || $other = hooks ]] && [ "$other" != "$layer" ] && [ "$layer/$other" != initramfs/cli ]; then
		echo "cli and hooks do not know each other"
	elif [ "$other" = "$layer" ] && ! is_left "$layer" "$3" "$(room_of "$header")"; then
		echo "the room $(room_of "$header") is right of ${3:-the layer itself}"
	fi
}

# findings LAYER FILE...: each include that may not be. A header is judged once for all files of a room.
findings() {
	local layer=$1 path line header why room
	local -A asked=()

	shift
	while IFS= read -r line; do
		path=${line%%:*}
		room=${path#src/*/}
		[[ $path == src/*/* && $room == */* ]] && room=${room%/*} || room=
		header=${line#*\"}
		header=${header%%\"*}
		[ -n "${asked[$room $header]+yes}" ] || asked[$room $header]=$(bad_include "$layer" "$header" "$room")
		why=${asked[$room $header]}
		[ -z "$why" ] || echo "$path includes $header ($why)"
	done < <(grep -HE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$@")
}

for layer in core base fs etcd sys app cli initramfs store certs cluster; do
	mapfile -t paths < <(files "src/$layer/*.[ch]")
	[ ${#paths[@]} -gt 0 ] || continue
	check "layer-$layer" "$(findings "$layer" "${paths[@]}")"
done
mapfile -t paths < <(files 'hooks/*.[ch]')
[ ${#paths[@]} -eq 0 ] || check layer-hooks "$(findings hooks "${paths[@]}")"

# Every source is in a layer; if the layer has rooms, the source is in one of them or next to them.
misplaced() {
	local path layer room

	while IFS= read -r path; do
		layer=${path#src/} layer=${layer%%/*}
		room=${path#src/*/}
		[[ $room == */* ]] && room=${room%/*} || room=
		if [ -z "${rank[$layer]:-}" ]; then
			echo "$path lies in no layer"
		elif [ -n "$room" ] && [[ " ${rooms[$layer]:-} " != *" $room "* ]]; then
			echo "$path: $layer has no room $room"
		elif [ -z "$room" ] && [ "$layer" = app ]; then
			echo "$path lies in no room"
		fi
	done
}
sources=$(files 'src/*.[ch]')
check layer-known "$(misplaced <<<"$sources")"

for layer in "${!rooms[@]}"; do
	held=$(grep -c "^src/$layer/[^/]*$" <<<"$sources")
	check "room-$layer" "$([ "$held" -le $FILES_MAX ] || echo "$held files, at most $FILES_MAX are allowed")"
	for room in ${rooms[$layer]}; do
		held=$(grep -c "^src/$layer/$room/" <<<"$sources")
		check "room-$layer-$room" "$([ "$held" -gt 0 ] && [ "$held" -le $FILES_MAX ] ||
			echo "$held files, 1 to $FILES_MAX are allowed")"
	done
done

# The guard guards: an include upwards is found.
printf '#include "sys/deployment/deployments.h"\n#include "base/fault.h"\n' >"$scratch/upward.c"
if [ "$(findings core "$scratch/upward.c" | wc -l)" -eq 2 ]; then
	ok layer-law-can-fail
else
	not_ok layer-law-can-fail "an include of sys/ and of base/fault.h from core was not found"
fi
if [ -n "$(bad_include app app/boot/boot.h backup)" ] && [ -z "$(bad_include app app/backup/observe.h boot)" ] &&
	[ -n "$(bad_include core core/decide/facts.h "")" ] &&
	[ -n "$(bad_include store certs/pki.h "")" ] && [ -n "$(bad_include certs cluster/look.h "")" ] &&
	[ -n "$(bad_include cli store/depot.h verbs)" ] && [ -n "$(bad_include store store/depot.h bucket)" ] &&
	[ -z "$(bad_include cluster certs/pki.h "")$(bad_include store cli/print.h "")" ] &&
	[ "$(printf 'src/app/prerun.c\nsrc/app/attic/x.c\nsrc/attic/x.c\n' | misplaced | wc -l)" -eq 3 ]; then
	ok room-law-can-fail
else
	not_ok room-law-can-fail "an include of a room to the right, or a file in no room, was not found"
fi
finish
