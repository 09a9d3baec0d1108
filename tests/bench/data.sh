# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2119,SC2154 # shared with run and the parts
#
# The data for the bench. A real etcd writes five segments of its log, and is compacted and defragmented. Then random bytes
# are added after the last used page, as in a db that was larger before. Sourced after tests/lib/all.sh.

SEGMENTS=5
SEGMENT_BYTES=64000000

# template_make: sets TEMPLATE, the data directory of a stopped real etcd.
template_make() {
	local rounds=0 data=${DATA-}

	TEMPLATE=$GBE_SCRATCH/template
	RANDOM_BYTES=$GBE_SCRATCH/random
	head -c 67108864 /dev/urandom >"$RANDOM_BYTES"
	DATA=$TEMPLATE
	etcd_ports
	# The place of the configuration, if the port is taken and etcd starts again with another one.
	mkdir -p "$GBE_MEM/etc/greenboot-etcd/greenboot-etcd.conf.d"
	ROOT=$GBE_MEM start_etcd
	# The same key is written many times: the log grows, and a compaction empties the db again.
	while (($(find "$TEMPLATE/member/wal" -name '*.wal' | wc -l) < SEGMENTS)); do
		"$TOOLS/put-latency" "$ETCD_PORT" 20 900000 1 "$((rounds += 1))" >/dev/null
		((rounds < 50))
	done
	put_many bench 200
	ctl compact "$(revision)" >/dev/null
	ctl defrag >/dev/null
	stop_etcd
	DATA=$data
}

# data_fill BYTES: makes DATA with a db of BYTES bytes.
data_fill() {
	local db=$DATA/member/snap/db wal newest have

	data_clear
	mkdir -p "$DATA"
	chmod 0700 "$DATA"
	cp -a "$TEMPLATE/member" "$DATA/"
	for wal in "$DATA"/member/wal/*.wal; do
		newest=$wal
	done
	# etcd leaves the segment in this form: allocated to the end, written up to the last record.
	cp -a --sparse=always "$TEMPLATE/member/wal/${newest##*/}" "$newest.new"
	mv "$newest.new" "$newest"
	fallocate -l "$SEGMENT_BYTES" "$newest"
	for wal in "$DATA"/member/wal/*.tmp; do
		[[ ! -e $wal ]] || { rm "$wal" && fallocate -l "$SEGMENT_BYTES" "$wal"; }
	done
	have=$(stat -c %s "$db")
	while (($1 - have > 0)); do
		head -c $(($1 - have)) "$RANDOM_BYTES" >>"$db"
		have=$(stat -c %s "$db")
	done
	settle
}

# data_fragment EXTENTS: spreads the db's blocks over EXTENTS pieces.
data_fragment() {
	local db=$DATA/member/snap/db

	cp --reflink=always "$db" "$ROOT/var/shared"
	"$TOOLS/fragment" "$db" "$1"
	rm "$ROOT/var/shared"
	settle
}

data_extents() { filefrag "$DATA/member/snap/db" | sed -n 's/.*: \([0-9]*\) extents\? found/\1/p'; }

data_clear() {
	[[ ! -d $DATA ]] || find "$DATA" -mindepth 1 -delete
	rm -rf -- "$DATA.old"
}
