#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# What an unprivileged etcd user leaves below the data directory costs it next to nothing: depth, names,
# subvolumes, holes. A start, a look and a verification answer within seconds and a few MiB, and whatever
# it is can be removed. GBE_FIGURES=FILE: what each of them took.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

NOBODY=65534
MANY=120000
[[ ${LEVEL:-ci} == ci ]] || MANY=1100000

nobody() { setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups "$@"; }

# ---- obstacles, in DATA; those that need nothing but its owner's rights are made with no others ----

obstacle_deep() {
	# shellcheck disable=SC2016
	nobody bash -c 'cd "$1" && for n in {1..200}; do mkdir d && cd d; done' - "$DATA"
}

obstacle_names() {
	nobody mkdir "$DATA/many"
	# shellcheck disable=SC2016
	nobody bash -c 'cd "$1" && seq 1 "$2" | xargs -n 5000 touch' - "$DATA/many" "$MANY"
}

obstacle_long() {
	local long
	long=$(printf 'n%.0s' {1..240})
	# shellcheck disable=SC2016
	nobody bash -c 'cd "$1" && seq -f "$2%07.0f" 1 6000 | xargs -n 200 mkdir' - "$DATA" "$long"
}

obstacle_subvolume() {
	nobody btrfs -q subvolume create "$DATA/sub"
	nobody mkdir "$DATA/sub/dir"
	nobody btrfs -q subvolume create "$DATA/sub/dir/inner"
	nobody touch "$DATA/sub/dir/inner/file"
	btrfs property set "$DATA/sub/dir/inner" ro true
}

newest_wal() { find "$DATA/member/wal" -name '*.wal' | sort | tail -n 1; }

# A record that claims 896 GiB, all of it a hole, where the log's records end.
obstacle_record() {
	local wal at=0 length
	wal=$(newest_wal)
	while length=$(od -An -tu8 -j "$at" -N 8 "$wal" | tr -d ' ') && [[ $length != 0 ]]; do
		# The upper byte says how many zeros follow; bash's numbers are signed.
		at=$((at + 8 + (length & 0xffffffffffffff) + (length < 0 ? (length >> 56) & 7 : 0)))
	done
	# Length: 9 bytes up to the data, 7 << 37 bytes of it, 7 of padding; entry, checksum 1.
	printf '\x09\x00\x00\x00\xe0\x00\x00\x87\x08\x02\x10\x01\x1a\x80\x80\x80\x80\xe0\x1c' |
		dd of="$wal" bs=1 seek="$at" conv=notrunc status=none
	truncate -s 1T "$wal"
}

# 2^40 - 9 bytes behind a checksum.
obstacle_snap() {
	local snap=$DATA/member/snap/00000000000000ff-00000000000000ff.snap
	printf '\x08\x05\x12\xf7\xff\xff\xff\xff\x1f' >"$snap"
	truncate -s 1T "$snap"
}

obstacle_segments() {
	# shellcheck disable=SC2016
	nobody bash -c 'cd "$1" && seq 100000 200000 |
		sed "s/.*/0000000000&-0000000000&.wal/" | xargs -n 5000 touch' - "$DATA/member/wal"
}

obstacle_db() {
	: >"$DATA/member/snap/db"
	truncate -s 1T "$DATA/member/snap/db"
}

# ---- what is asked for ----

# costs WHAT COMMAND...: any answer, within 20 s and 128 MiB.
costs() {
	local what=$1 seconds peak
	shift
	TRACER=(/usr/bin/time -o "$GBE_MEM/cost" -f '%e %M')
	"$@" >"$GBE_MEM/out" 2>"$GBE_MEM/err" || :
	TRACER=()
	read -r seconds peak < <(tail -n 1 "$GBE_MEM/cost")
	[[ ! ${GBE_FIGURES-} ]] ||
		echo "$KIND $OBSTACLE $what: $seconds s, $((peak / 1024)) MiB" >>"$GBE_FIGURES"
	((${seconds%.*} <= 20)) || fail "$what: $seconds s: $(<"$GBE_MEM/err")"
	[[ ${SANITIZERS-} ]] || ((peak <= 128 << 10)) || fail "$what: $peak KiB"
}

# around OBSTACLE KIND: A was green and is down; the same deployment starts, then another one.
around() {
	OBSTACLE=$1
	a_green "$2"
	stop_etcd
	chown -R "$NOBODY:$NOBODY" "$DATA"
	chmod 0711 "$GBE_SCRATCH"
	"obstacle_$OBSTACLE"
	chown -R "$NOBODY:$NOBODY" "$DATA/member"
	MASKED=yes boot A
	costs "prerun, the same deployment" hook prerun
	costs status gbe status
	costs explain gbe explain
	costs verify gbe verify --data
	costs backup gbe backup by-hand
	update B
	shutdown
	MASKED=yes boot B
	costs "prerun, an update" hook prerun
	costs status gbe status
}

suite_begin "$@"
for kind in ${FS:-xfs ext4 btrfs}; do
	for obstacle in deep names long record snap segments db; do
		run_case "$obstacle@$kind" around "$obstacle" "$kind"
	done
	[[ $kind != btrfs* ]] || run_case "subvolume@$kind" around subvolume "$kind"
done
suite_end
