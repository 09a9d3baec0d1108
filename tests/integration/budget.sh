#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Trees that an unprivileged etcd user can make cheaply below the data directory: depth, names, hard links, extents,
# subvolumes, holes. A start, a look and a verification answer within seconds and a few MiB. Each tree can be removed,
# and a failed update is undone. GBE_FIGURES=FILE gets the cost of each.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

NOBODY=65534
MANY=120000
[[ ${LEVEL:-ci} == ci ]] || MANY=1100000

nobody() { setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups "$@"; }

# ---- obstacles in DATA; those that need only its owner's rights are made with these rights ----

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

# At the end of the log's records, one record claims 896 GiB, which are all a hole.
obstacle_record() {
	local wal at=0 length
	wal=$(newest_wal)
	while length=$(od -An -tu8 -j "$at" -N 8 "$wal" | tr -d ' ') && [[ $length != 0 ]]; do
		# The upper byte says how many zeros follow. bash has signed numbers.
		at=$((at + 8 + (length & 0xffffffffffffff) + (length < 0 ? (length >> 56) & 7 : 0)))
	done
	# Length: 9 bytes up to the data, 7 << 37 bytes of it, 7 of padding; entry, checksum 1.
	printf '\x09\x00\x00\x00\xe0\x00\x00\x87\x08\x02\x10\x01\x1a\x80\x80\x80\x80\xe0\x1c' |
		dd of="$wal" bs=1 seek="$at" conv=notrunc status=none
	truncate -s 1T "$wal"
}

# 2^40 - 9 bytes after a checksum.
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

# A directory in the nonce's place.
obstacle_nonce() {
	nobody rm -rf "$DATA/.greenboot-etcd-owner"
	nobody mkdir "$DATA/.greenboot-etcd-owner"
	# shellcheck disable=SC2016
	nobody bash -c 'cd "$1" && seq 1 "$2" | xargs -n 5000 touch' - \
		"$DATA/.greenboot-etcd-owner" "$MANY"
}

# One block is repeated: 524,288 extents in 2 GiB, which take 4 KiB.
obstacle_extents() {
	python3 - "$DATA/extents" <<-'EOF'
		import fcntl, os, struct, sys
		fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR, 0o600)
		os.write(fd, b"x" * 4096)
		os.fsync(fd)
		size = 4096
		while size < 4096 << 19:
		    fcntl.ioctl(fd, 0x4020940D, struct.pack("qQQQ", fd, 0, size, size))
		    size *= 2
	EOF
}

obstacle_db() {
	: >"$DATA/member/snap/db"
	truncate -s 1T "$DATA/member/snap/db"
}

# ---- the cost of commands ----

# cost_of COMMAND...: sets SECONDS_OF, the command's processor time (the machine is shared), and PEAK, its memory in
# KiB. Returns its exit status.
cost_of() {
	local status=0
	rm -f "$GBE_MEM/cost"
	TRACER=(/usr/bin/time -q -o "$GBE_MEM/cost" -f '%U %S %M')
	"$@" >"$GBE_MEM/out" 2>"$GBE_MEM/err" || status=$?
	TRACER=()
	[[ -s $GBE_MEM/cost ]] || fail "$*: not done within two minutes"
	read -r SECONDS_OF PEAK < <(tail -n 1 "$GBE_MEM/cost" | awk '{ print $1 + $2, $3 }')
	return "$status"
}

# costs WHAT COMMAND...: expects an answer within 20 s and 64 MiB.
costs() {
	local what=$1
	shift
	cost_of "$@" || :
	[[ ! ${GBE_FIGURES-} ]] ||
		echo "$KIND $OBSTACLE $what: $SECONDS_OF s, $((PEAK / 1024)) MiB" >>"$GBE_FIGURES"
	((${SECONDS_OF%.*} <= 20)) || fail "$what: $SECONDS_OF s: $(<"$GBE_MEM/err")"
	[[ ${SANITIZERS-} ]] || ((PEAK <= 64 << 10)) || fail "$what: $PEAK KiB"
}

# around OBSTACLE KIND: A was green and is down. The same deployment starts, then another one.
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
	case $1 in nonce) gbe show by-hand >&2 ;; esac
	update B
	shutdown
	MASKED=yes boot B
	costs "prerun, an update" hook prerun
	costs status gbe status
}

# ---- archives to import ----

# costs_little STATUS WORDS SECONDS COMMAND...: expects that answer within that time and 64 MiB.
costs_little() {
	local expected=$1 words=$2 most=$3 status=0
	shift 3
	cost_of "$@" || status=$?
	[[ ! ${GBE_FIGURES-} ]] || echo "$KIND $*: $SECONDS_OF s, $((PEAK / 1024)) MiB" >>"$GBE_FIGURES"
	assert_eq "status of $*" "$status" "$expected"
	assert_match "why not" "$(<"$GBE_MEM/err")" "*$words*"
	[[ ${SANITIZERS-} ]] || ((${SECONDS_OF%.*} < most)) || fail "$*: $SECONDS_OF s"
	[[ ${SANITIZERS-} ]] || ((PEAK <= 64 << 10)) || fail "$*: $PEAK KiB"
	assert_eq "what it left" "$(find "$ROOT/var" -name 'pulled*' -o -name '.partial*' -o -name bad)" ""
}

# bomb FILE: makes 32 GiB of one letter in a file of 32 MiB.
bomb() {
	local i
	head -c 64M /dev/zero | tr '\0' a | gzip -1 >"$GBE_MEM/same"
	for i in {1..512}; do
		cat "$GBE_MEM/same"
	done >"$1"
	rm "$GBE_MEM/same"
}

# dense FILE: compresses to one fiftieth, and is far from sparse.
dense() {
	python3 - >"$1" <<-'EOF'
		import gzip, os, sys
		some = b"".join(os.urandom(1000) + bytes(49000) for _ in range(20))
		with gzip.GzipFile(fileobj=sys.stdout.buffer, mode="wb", compresslevel=1) as to:
		    for _ in range(700):
		        to.write(some)
	EOF
}

# A compression bomb is refused as such; other content stops before the file system is full.
bombs() {
	KIND=$1
	local store=/srv/store entry=2018-01-30T01:02:03Z-000009

	device "$1"
	power_on
	stop_etcd
	mkdir -p "$ROOT/var/bombs" "$ROOT$store/$entry"
	printf '{"etcdVersion":"3.5.16"}' >"$ROOT$store/$entry/_etcd_backup.meta"
	bomb "$ROOT/var/bombs/same.gz"
	dense "$ROOT/var/bombs/dense.gz"
	truncate -s 4T "$ROOT/var/bombs/hole.db"
	truncate -s 1G "$ROOT/var/bombs/zeros.db"
	echo end >>"$ROOT/var/bombs/zeros.db"
	tar -C "$ROOT/var/bombs" -Scf "$ROOT/var/bombs/hole.tar" zeros.db
	cp "$ROOT/var/bombs/same.gz" "$ROOT$store/$entry/etcd.backup.gz"
	costs_little 5 "more than 200 times" 5 gbe import /var/bombs/same.gz bad
	! built store || costs_little 5 "more than 200 times" 5 gbe store pull latest /var/pulled.db --store="$store"
	costs_little 5 "more than 200 times" 5 gbe import /var/bombs/hole.tar bad
	costs_little 1 "no room for /var/bombs/hole.db" 5 gbe import /var/bombs/hole.db bad
	# btrfs reports more free space than can be used at once.
	[[ $1 != btrfs ]] || return 0
	# The file has some 300 MiB more than the 205 that stay free, but less than 670. The time to write it depends
	# on the disk.
	sync -f "$ROOT/var"
	fallocate -l $(($(stat -f -c '%f * %S' "$ROOT/var") - (500 << 20))) "$ROOT/var/filler"
	sync -f "$ROOT/var"
	costs_little 1 "are to stay free" 20 gbe import /var/bombs/dense.gz bad
	cp "$ROOT/var/bombs/dense.gz" "$ROOT$store/$entry/etcd.backup.gz"
	sync -f "$ROOT/var"
	! built store || costs_little 1 "are to stay free" 20 gbe store pull latest /var/pulled.db --store="$store"
}

# undone OBSTACLE KIND: B fails twice and leaves OBSTACLE each time. Then A is back.
undone() {
	OBSTACLE=$1
	a_green "$2"
	into_b
	b_writes
	chmod 0711 "$GBE_SCRATCH"
	judge red
	leaves "$1"
	MASKED=yes boot B
	costs "prerun, the next attempt" hook prerun
	start_etcd
	holds "the next attempt" "$A_STATE"
	judge red
	leaves "$1"
	MASKED=yes boot A
	costs "prerun, back" hook prerun
	start_etcd
	holds "A's data" "$A_STATE"
}

leaves() {
	shutdown
	chown -R "$NOBODY:$NOBODY" "$DATA"
	"obstacle_$1"
	chown -R "$NOBODY:$NOBODY" "$DATA/member"
}

if [[ ! -x /usr/bin/time ]]; then
	echo "skip budget: time is not installed (make deps)"
	exit 0
fi
suite_begin "$@"
for kind in $(kinds "xfs ext4" btrfs); do
	for obstacle in deep names long record snap segments db nonce; do
		run_case "$obstacle@$kind" around "$obstacle" "$kind"
	done
	run_case "bombs@$kind" bombs "$kind"
	for obstacle in names nonce; do
		run_case "undone-$obstacle@$kind" undone "$obstacle" "$kind"
	done
	! fs_clones "$kind" || [[ ${LEVEL:-ci} == ci ]] || run_case "extents@$kind" around extents "$kind"
done
for kind in ${FS:-btrfs}; do
	[[ $kind != btrfs* ]] || run_case "subvolume@$kind" around subvolume "$kind"
done
suite_end
