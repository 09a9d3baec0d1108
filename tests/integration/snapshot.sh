#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# snapshot save and status compared with etcdctl's, export and import, with a real etcd.

# shellcheck disable=SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

FILE=/var/saved.db

# as_etcdctl FILE: expects that OUT, of save or status, has etcdctl's values for FILE.
as_etcdctl() {
	local theirs

	fits snapshot
	theirs=$(ctl snapshot status "$1" -w json 2>/dev/null)
	assert_eq "what it says of $1" \
		"$(jq -c '[.hash, .revision, .total_keys, .total_size]' <<<"$OUT")" \
		"$(jq -c '[.hash, .revision, .totalKey, .totalSize]' <<<"$theirs")"
}

# nothing_left: expects that the file and its parts are missing.
nothing_left() {
	assert_missing "$ROOT$FILE"
	assert_missing "$ROOT$FILE.part"
}

# Starts etcd on the restored FILE, and runs CHECK there.
on_restored() { # FILE CHECK ARG...
	local file=$1 data=$DATA
	shift

	ctl snapshot restore "$file" --name=default --data-dir="$ROOT/var/restored" \
		--initial-cluster="default=http://127.0.0.1:$((ETCD_PORT + 1))" \
		--initial-advertise-peer-urls="http://127.0.0.1:$((ETCD_PORT + 1))" >/dev/null 2>&1
	DATA=$ROOT/var/restored
	start_etcd
	"$@"
	stop_etcd
	DATA=$data
	rm -rf "$ROOT/var/restored"
}

hash_kv() { ctl endpoint hashkv -w json | jq '.[0].HashKV.hash'; }
same_hash() { assert_eq HashKV "$(hash_kv)" "$1"; }

busy_etcd() { # KIND
	device "$1"
	power_on
	put_many base 600
	del base/7
	put base/8 again
	ctl compact "$(($(revision) - 3))" >/dev/null
	put base/9 again
}

# put_large COUNT: writes keys of 14 kB each. The case's log leaves them out.
put_large() {
	{ set +x; } 2>/dev/null
	put_many large "$1" "$(printf '%014000d' 1)"
	set -x
}

# copied: expects that the printed values of a written file are right.
copied() {
	assert_eq path "$(jq -r .path <<<"$OUT")" "$ROOT$FILE"
	assert_eq bytes "$(jq -r .file_size <<<"$OUT")" "$(stat -c %s "$ROOT$FILE")"
	assert_eq SHA-256 "$(jq -r .sha256 <<<"$OUT")" "$(sha256sum "$ROOT$FILE" | cut -c 1-64)"
	assert_eq command "$(jq -r .copy <<<"$OUT")" "scp $(uname -n):$ROOT$FILE ."
}

save() { # KIND
	local hash

	busy_etcd "$1"
	hash=$(hash_kv)
	assert_exit 0 gbe --json snapshot save "$FILE"
	fits snapshot
	copied
	assert_eq result "$(jq -r .result <<<"$OUT")" sound
	assert_eq HashKV "$(jq .hash_kv <<<"$OUT")" "$hash"
	as_etcdctl "$ROOT$FILE"
	assert_eq mode "$(stat -c %a "$ROOT$FILE")" 600
	assert_missing "$ROOT$FILE.part"
	ctl snapshot save "$ROOT/var/theirs.db" >/dev/null 2>&1
	cmp "$ROOT$FILE" "$ROOT/var/theirs.db" || fail "etcdctl saves something else"
	assert_exit 0 gbe snapshot save "$FILE" --force
	assert_match text "$OUT" "*$ROOT$FILE: * KiB, SHA-256 $(sha256sum "$ROOT$FILE" | cut -c 1-64)*copy it with: scp *:$ROOT$FILE .*"
	stop_etcd
	assert_exit 0 gbe --json snapshot status "$FILE"
	as_etcdctl "$ROOT$FILE"
	on_restored "$ROOT$FILE" same_hash "$hash"
	assert_exit 0 gbe snapshot status "$FILE"
	assert_match text "$OUT" "*sound*hash *revision *HashKV $hash at*"
	assert_exit 1 gbe --json snapshot save "$FILE.not"
	assert_match "why not" "$ERR" "*no snapshot from etcd at http*"
	assert_missing "$ROOT$FILE.not"
	assert_missing "$ROOT$FILE.not.part"
}

refused() {
	local held

	busy_etcd xfs
	assert_exit 2 gbe snapshot
	assert_exit 2 gbe snapshot save
	assert_exit 2 gbe snapshot load "$FILE"
	assert_exit 2 gbe snapshot save "$FILE" --timeout=soon
	assert_exit 2 gbe snapshot status "$FILE" --force
	assert_exit 1 gbe snapshot save /var/nowhere/saved.db
	assert_exit 1 gbe snapshot save /var/lib
	assert_exit 1 gbe snapshot status "$FILE"
	mkdir "$ROOT/var/none"
	assert_exit 2 gbe snapshot status /var/none
	nothing_left

	echo mine >"$ROOT$FILE"
	assert_exit 1 gbe snapshot save "$FILE"
	assert_eq "what was there" "$(<"$ROOT$FILE")" mine
	# A power cut left this, and it is harmless.
	head -c 100000 /dev/urandom >"$ROOT$FILE.part"
	assert_exit 0 gbe --json snapshot save "$FILE" --force
	as_etcdctl "$ROOT$FILE"
	assert_missing "$ROOT$FILE.part"
	rm "$ROOT$FILE"

	ln -s /etc/greenboot-etcd/greenboot-etcd.conf "$ROOT$FILE.part"
	assert_exit 1 gbe snapshot save "$FILE"
	rm "$ROOT$FILE.part"
	exec {held}>"$ROOT$FILE.part"
	flock "$held"
	assert_exit 4 gbe snapshot save "$FILE"
	exec {held}>&-
	rm "$ROOT$FILE.part"
	exec {held}>"$ROOT/run/greenboot-etcd/maintenance"
	flock "$held"
	assert_exit 4 gbe snapshot save "$FILE"
	exec {held}>&-
	nothing_left
}

# If etcd does not answer, the command ends in time and leaves nothing.
hangs() {
	local began

	busy_etcd xfs
	kill -STOP "$ETCD_PID"
	began=$EPOCHSECONDS
	assert_exit 1 gbe snapshot save "$FILE" --timeout=2s
	kill -CONT "$ETCD_PID"
	((EPOCHSECONDS - began < 10)) || fail "it took $((EPOCHSECONDS - began)) s"
	nothing_left
	assert_exit 0 gbe snapshot save "$FILE" --timeout=1min
}

full() { # KIND
	busy_etcd xfs
	put_large 400
	fs_at "$1" "$ROOT/var/small" 400M
	dd if=/dev/zero of="$ROOT/var/small/full" bs=1M 2>/dev/null || true
	truncate -s -1M "$ROOT/var/small/full"
	assert_exit 1 gbe snapshot save /var/small/saved.db
	assert_match "why not" "$ERR" "*[Nn]o * left on device*"
	assert_missing "$ROOT/var/small/saved.db"
	assert_missing "$ROOT/var/small/saved.db.part"
	rm "$ROOT/var/small/full"
	assert_exit 0 gbe --json snapshot save /var/small/saved.db
	as_etcdctl "$ROOT/var/small/saved.db"
}

# Killed between any two steps: FILE is complete, or missing. The next command succeeds.
killed() {
	local point

	busy_etcd ext4
	for point in written synced renamed durable; do
		GREENBOOT_ETCD_FAULT="part-$point=kill" "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" \
			snapshot save "$FILE" || true
		case $point in
		written | synced) assert_missing "$ROOT$FILE" ;;
		*)
			assert_exit 0 gbe snapshot status "$FILE"
			rm "$ROOT$FILE"
			;;
		esac
		assert_exit 0 gbe --json snapshot save "$FILE"
		as_etcdctl "$ROOT$FILE"
		assert_missing "$ROOT$FILE.part"
		rm "$ROOT$FILE"
	done
}

# While etcd defragments, its database is not streamed.
defragments() {
	local n metrics

	busy_etcd xfs
	put_large 1500
	for n in {1..5}; do
		ctl --command-timeout=60s defrag >/dev/null &
		while kill -0 $! 2>/dev/null; do
			metrics=$(curl -s -m 2 "http://127.0.0.1:$ETCD_PORT/metrics" || true)
			if [[ $metrics == *$'\netcd_disk_defrag_inflight 1\n'* ]]; then
				assert_exit 4 gbe snapshot save "$FILE"
				nothing_left
				wait $!
				return
			fi
		done
		wait $!
	done
	skip_case "optional: no defragmentation was slow enough to be seen, of $n"
}

damaged() {
	busy_etcd xfs
	assert_exit 0 gbe snapshot save "$FILE"
	cp "$ROOT$FILE" "$ROOT/var/good"
	flip "$ROOT$FILE" -5
	assert_exit 6 gbe --json snapshot status "$FILE"
	fits snapshot
	assert_eq codes "$(jq -r '[.findings[].code] | join(" ")' <<<"$OUT")" snapshot-checksum
	cp "$ROOT/var/good" "$ROOT$FILE"
	truncate -s 20000 "$ROOT$FILE"
	assert_exit 6 gbe --json snapshot status "$FILE"
	fits snapshot
	: >"$ROOT$FILE"
	assert_exit 6 gbe --json snapshot status "$FILE"
	fits snapshot
	rm "$ROOT$FILE"
	mkfifo "$ROOT$FILE"
	assert_exit 6 gbe --json snapshot status "$FILE"
	fits snapshot
}

# with_programs: copies etcd and its tools below ROOT, so that no test reaches the real ones.
with_programs() {
	local program

	mkdir -p "$ROOT/usr/bin"
	for program in "$ETCD" "$ETCDCTL"; do
		cp --reflink=auto "$(command -v "$program")" "$ROOT/usr/bin/${program##*/}.new"
		mv -f "$ROOT/usr/bin/${program##*/}.new" "$ROOT/usr/bin/${program##*/}"
	done
}

# has_no_time VERB...: expects that the command ends its etcd at once and reports it. On a busy machine the check is
# left out.
has_no_time() {
	local rc=0
	ERR=$(gbe "$@" --timeout=0s 2>&1 >/dev/null) || rc=$?
	assert_match "status" "$rc" "[17]"
	assert_match "why not" "$ERR" "*within 0 s*"
}

# The store has nothing of ours, and no process is left.
store_is_clean() {
	assert_eq "what is left in the store" "$(find "$ROOT" -name '.partial-*')" ""
	assert_eq "what still runs" "$(pgrep -f 'unix://client:1' || true)" ""
}

export_clean() { # KIND
	local hash

	busy_etcd "$1"
	hash=$(hash_kv)
	stop_etcd
	gbe backup mine
	assert_exit 0 gbe --json export mine "$FILE"
	fits export
	copied
	assert_eq applied "$(jq -c '[.applied, .dropped, .v2_keys]' <<<"$OUT")" "[0,0,0]"
	assert_eq HashKV "$(jq .hash_kv <<<"$OUT")" "$hash"
	theirs=$(ctl snapshot status "$ROOT$FILE" -w json)
	assert_eq hash "$(jq .hash <<<"$theirs")" "$(jq .hash <<<"$OUT")"
	on_restored "$ROOT$FILE" same_hash "$hash"
	store_is_clean
	assert_exit 1 gbe export mine "$FILE"
	assert_exit 1 gbe export other "$FILE.other"
	assert_exit 2 gbe export mine
	assert_exit 0 gbe export mine "$FILE" --force
}

# The power fails directly after the last message. The last write is in the log alone.
export_torn() { # KIND
	local hash n

	busy_etcd "$1"
	stop_etcd
	start_etcd --backend-batch-interval=10m --backend-batch-limit=100000
	for n in 1 2 3 4 5; do put "last/$n" word; done
	kill_etcd
	gbe backup mine
	# Compares the database as etcd opens it. A request for the hash makes etcd apply the log.
	cp -a "$DATA" "$DATA.kept"
	start_etcd
	hash=$(hash_kv)
	stop_etcd
	rm -rf "$DATA/member"
	mv "$DATA.kept/member" "$DATA/member"
	rm "$ROOT/usr/bin/etcd"
	assert_exit 5 gbe export mine "$FILE"
	assert_match "why not" "$ERR" "*--drop-wal*"
	nothing_left
	store_is_clean
	assert_exit 0 gbe --json export mine "$FILE" --drop-wal
	fits export
	assert_some dropped "$(jq .dropped <<<"$OUT")"
	assert_ne HashKV "$(jq .hash_kv <<<"$OUT")" "$hash"
	with_programs
	assert_exit 0 gbe --json export mine "$FILE" --force
	fits export
	assert_some applied "$(jq .applied <<<"$OUT")"
	assert_eq HashKV "$(jq .hash_kv <<<"$OUT")" "$hash"
	store_is_clean
	on_restored "$ROOT$FILE" same_hash "$hash"
	# The backup is unchanged.
	assert_exit 0 gbe verify --full mine
	# One tool dies. Another takes too long and is ended.
	cp --remove-destination "$(command -v sleep)" "$ROOT/usr/bin/etcd"
	assert_exit 1 gbe export mine "$FILE.not"
	assert_match "why not" "$ERR" "*etcd ended with status*"
	with_programs
	has_no_time export mine "$FILE.not"
	assert_missing "$ROOT$FILE.not"
	store_is_clean
}

export_v2() {
	device xfs
	power_on
	stop_etcd
	start_etcd --enable-v2=true --snapshot-count=10
	curl -sf -XPUT "http://127.0.0.1:$ETCD_PORT/v2/keys/dir/one" -d value=x >/dev/null
	put_many base 3000
	curl -sf -XPUT "http://127.0.0.1:$ETCD_PORT/v2/keys/two" -d value='"Path":"/1/x' >/dev/null
	put a b
	stop_etcd
	gbe backup mine
	assert_exit 5 gbe export mine "$FILE"
	assert_match "why not" "$ERR" "*v2 API*--v3-only*"
	nothing_left
	assert_exit 0 gbe --json export mine "$FILE" --v3-only
	fits export
	assert_eq "v2 keys" "$(jq .v2_keys <<<"$OUT")" 3
}

export_damaged() {
	local entry

	busy_etcd xfs
	stop_etcd
	gbe backup mine
	entry=$(dirname "$(find "$ROOT/var" -path '*/mine/manifest.json')")
	# Damages each page except the two meta pages: a single one of those may be unused.
	python3 -c 'import os, sys
with open(sys.argv[1], "r+b") as db:
    for page in range(8192, os.stat(db.fileno()).st_size, 4096):
        db.seek(page + 8)
        db.write(b"XXXX")' "$entry/data/member/snap/db"
	assert_exit 6 gbe export mine "$FILE"
	nothing_left
}

# The import equals the snapshot: after a restore, etcd has the same keys and revisions.
import_and_restore() { # KIND
	local hash owner=1234:1234 file

	busy_etcd "$1"
	hash=$(hash_kv)
	assert_exit 0 gbe snapshot save "$FILE"
	put after snapshot
	stop_etcd
	with_programs
	chown -R "$owner" "$DATA"
	gzip -k "$ROOT$FILE"
	mkdir "$ROOT/var/dir"
	cp "$ROOT$FILE" "$ROOT/var/dir/saved.db"
	tar -C "$ROOT/var" -czf "$ROOT/var/saved.tar.gz" dir
	(cd "$ROOT/var" && tar -cf saved.tar dir && python3 -m zipfile -c saved.zip dir/saved.db)
	# k3s writes it like this, from Go: deflated, and followed by its size.
	python3 -c 'import sys, zipfile
class Stream:
    write, flush = sys.stdout.buffer.write, sys.stdout.buffer.flush
with zipfile.ZipFile(Stream(), "w", zipfile.ZIP_DEFLATED) as packed:
    packed.write(sys.argv[1], "etcd-snapshot-host-1700000000")' "$ROOT$FILE" >"$ROOT/var/k3s.zip"
	python3 -c 'import sys, zipfile
sys.exit(not zipfile.ZipFile(sys.argv[1]).infolist()[0].flag_bits & 8)' "$ROOT/var/k3s.zip"
	# The charm writes a directory as ".".
	mv "$ROOT/var/dir/saved.db" "$ROOT/var/dir/db"
	tar -C "$ROOT/var/dir" -czf "$ROOT/var/charm.tar.gz" .
	for file in saved.db saved.db.gz saved.tar.gz saved.tar saved.zip k3s.zip charm.tar.gz; do
		assert_exit 0 gbe --json import "/var/$file" "from-$file"
		fits import
		assert_eq name "$(jq -r .name <<<"$OUT")" "from-$file"
		assert_exit 0 gbe --json verify --full "from-$file"
		assert_eq HashKV "$(jq '.verified[0].db.hash_kv' <<<"$OUT")" "$hash"
	done
	store_is_clean
	assert_eq grade "$(json .grade show from-saved.db)" unproven
	assert_eq "HashKV in the manifest" "$(json .hash_kv show from-saved.db)" "$hash"
	assert_eq verified "$(json .verified show from-saved.db)" full
	assert_eq origin "$(json .origin show from-saved.db)" manual
	assert_exit 1 gbe import "$FILE" from-saved.db
	assert_exit 0 gbe --json import "$FILE"
	assert_eq "the derived name" "$(jq -r .name <<<"$OUT")" imported-saved
	assert_exit 0 gbe restore from-saved.tar.gz --force
	assert_eq owner "$(stat -c %u:%g "$DATA/member/snap/db")" "$owner"
	start_etcd
	same_hash "$hash"
	put goes on
	stop_etcd
}

# On a device without data, imported and restored data belongs to etcd's user, and the next command is printed.
import_on_empty() {
	local unit

	busy_etcd xfs
	unit=$ROOT/usr/lib/systemd/system/etcd.service
	assert_exit 0 gbe snapshot save "$FILE"
	stop_etcd
	with_programs
	cp -a "$DATA" "$ROOT/var/copied"
	rm -r "$DATA"
	mkdir -p "$ROOT/etc" "$ROOT/usr/lib"
	printf 'etcd:x:1234:4321::/:/bin/sh\n' >"$ROOT/usr/lib/passwd"
	printf '[Service]\nUser=etcd\nExecStart=/usr/bin/etcd\n' >"$unit"
	assert_exit 0 gbe import "$FILE" from-a-file
	assert_match "the next step" "$OUT" "*greenboot-etcd restore --stop from-a-file*"
	assert_exit 0 gbe restore from-a-file --force
	assert_eq "owners" "$(find "$DATA" -not -name '.greenboot-etcd*' -printf '%U:%G\n' | sort -u)" 1234:4321
	rm -r "$DATA"
	printf '[Service]\nUser=77\nGroup=etcds\n' >"$unit"
	printf 'etcds:x:88:\n' >"$ROOT/etc/group"
	# A directory alone is not data.
	mkdir "$DATA"
	assert_exit 0 gbe import /var/copied from-a-directory
	assert_exit 0 gbe restore from-a-directory --force
	assert_eq "owners" "$(find "$DATA" -not -name '.greenboot-etcd*' -printf '%U:%G\n' | sort -u)" 77:88
	start_etcd
	assert_ne "a key" "$(get base/8)" ""
	stop_etcd
}

# Informers of Kubernetes must see no revision twice (etcd issue 16028). The revision is raised automatically if the
# data has Kubernetes' keys, and otherwise on request.
import_skips_revisions() {
	local by=1000000000 now hash watch

	device xfs
	power_on
	put_many /registry/pods 300
	del /registry/pods/7
	put /registry/pods/8 again
	now=$(revision)
	assert_exit 0 gbe snapshot save "$FILE"
	stop_etcd
	with_programs
	assert_exit 2 gbe import "$FILE" bad --bump-revision=5
	assert_exit 2 gbe import "$FILE" bad --mark-compacted
	assert_exit 2 gbe import "$FILE" bad --mark-compacted --bump-revision=9000000000000000
	assert_exit 2 gbe import "${DATA#"$ROOT"}" bad --mark-compacted --bump-revision=5
	assert_match "why not" "$ERR" "*is a directory*takes a snapshot file*log*"
	assert_exit 0 gbe --json import "$FILE" kept --bump-revision=0
	fits import
	assert_eq kept "$(jq -c '[.revision, .bump_revision]' <<<"$OUT")" "[$now,0]"
	assert_exit 0 gbe import "$FILE" later
	assert_match text "$OUT" "*revision $((now + by)),*$by revisions were skipped*Kubernetes*--bump-revision=0 keeps*"
	assert_match description "$(json .description show later)" "*, $by revisions skipped"
	assert_exit 0 gbe --json verify --full later
	hash=$(jq '.verified[0].db.hash_kv' <<<"$OUT")
	beside_etcdutl

	assert_exit 0 gbe restore later --force
	start_etcd
	assert_eq revision "$(revision)" $((now + by))
	same_hash "$hash"
	assert_eq keys "$(key_count)" 299
	assert_eq "a key" "$(get /registry/pods/8)" again
	watch=$(timeout 30 "$ETCDCTL" --endpoints="http://127.0.0.1:$ETCD_PORT" watch --prefix /registry/ --rev="$now" 2>&1 || true)
	assert_match "a watch from before" "$watch" "*required revision has been compacted*"
	put /registry/pods/8 "then"
	assert_eq "the next revision" "$(revision)" $((now + by + 1))
	stop_etcd
	assert_exit 0 gbe verify --data --full
}

# etcdutl of 3.5 does the same.
beside_etcdutl() {
	local etcdutl=${ETCD_NEXT%/*}/etcdutl ours theirs

	[[ $ETCD_NEXT ]] || return 0
	"$etcdutl" snapshot restore "$ROOT$FILE" --data-dir="$ROOT/var/theirs" --bump-revision=77 \
		--mark-compacted >/dev/null 2>&1
	assert_exit 0 gbe --json verify --full /var/theirs
	theirs=$(jq -c '.verified[0].db | [.revision, .hash_kv, .key_rows]' <<<"$OUT")
	assert_exit 0 gbe --json import "$FILE" ours --bump-revision=77 --mark-compacted
	assert_eq bumped "$(jq .bump_revision <<<"$OUT")" 77
	assert_exit 0 gbe --json verify --full ours
	ours=$(jq -c '.verified[0].db | [.revision, .hash_kv, .key_rows]' <<<"$OUT")
	assert_eq "compared with etcdutl" "$ours" "$theirs"
}

# Two ways of counting: both are printed, with their names.
status_counts() {
	device xfs
	power_on
	put a 1
	put a 2
	put b 3
	assert_exit 0 gbe snapshot save "$FILE"
	assert_exit 0 gbe --json snapshot status "$FILE"
	as_etcdctl "$ROOT$FILE"
	assert_eq "rows of the bucket key" "$(jq .key_rows <<<"$OUT")" 3
	assert_eq "keys as etcd 3.6 counts" "$(jq .live_keys <<<"$OUT")" "$(key_count)"
	(($(jq .total_keys <<<"$OUT") > 3)) || fail "total_keys: $OUT"
	assert_exit 0 gbe snapshot status "$FILE"
	assert_match text "$OUT" "*total keys * (as etcd up to 3.5 counts; etcd 3.6: 2)*"
}

# bad STATUS FILE WHY: expects that a refused import leaves nothing.
bad() {
	assert_exit "$1" gbe import "/var/bad/$2" bad
	assert_match "why not $2" "$ERR" "*$3*"
	store_is_clean
	assert_exit 1 gbe show bad
}

# A snapshot of the next release, with the tool of this release: the message has both versions and the next step.
import_newer() {
	need_etcd_next
	busy_etcd xfs
	stop_etcd
	cp -a "$DATA" "$DATA.kept"
	rm -rf "$DATA/member"
	with "$ETCD_NEXT" start_etcd
	for n in {1..20}; do put "next/$n" word; done
	etcdctl --endpoints="http://$ETCD_HOST:$ETCD_PORT" snapshot save "$ROOT/var/next.db"
	stop_etcd
	rm -rf "$DATA/member"
	mv "$DATA.kept/member" "$DATA/member"
	with_programs
	assert_exit 5 gbe import /var/next.db newer
	assert_match "why not" "$ERR" "*snapshot is of etcd 3.5, and etcd here is 3.4*"
	store_is_clean
}

import_bad() {
	local at

	busy_etcd xfs
	assert_exit 0 gbe snapshot save "$FILE"
	stop_etcd
	mkdir "$ROOT/var/bad"
	assert_exit 5 gbe import "$FILE" fine
	assert_match "why not" "$ERR" "*etcdutl*"
	etcdctl_of_3_6
	assert_exit 5 gbe import "$FILE" fine
	assert_match "why not" "$ERR" "*etcdutl is not in /usr/bin*3.6*install it*"
	store_is_clean
	with_programs
	cd "$ROOT/var/bad"
	cp "../saved.db" good.db
	at=$(stat -c %s good.db)
	bad 1 none "*"
	: >empty
	bad 6 empty "*"
	head -c 100000 /dev/urandom >noise
	bad 6 noise "*"
	head -c $((at - 40)) good.db >"cut"
	bad 6 cut "*"
	head -c $((at - 32)) good.db >copied
	bad 5 copied "--no-checksum"
	assert_exit 0 gbe import /var/bad/copied copied --no-checksum
	cp good.db flipped
	flip flipped -3
	bad 6 flipped checksum
	gzip -k good.db
	xz -0k good.db
	bad 5 good.db.xz "compressed with xz*xz -d"
	printf '\050\265\057\375rest' >good.db.zst
	bad 5 good.db.zst "compressed with zstd*zstd -d"
	printf '\357\273\277\n <!DOCTYPE html><title>Login</title>' >login.db
	bad 5 login.db "a web page"
	gzip -k login.db
	bad 5 login.db.gz "a web page"
	printf 'age-encryption.org/v1\n' >good.age
	bad 5 good.age "encrypted with age"
	head -c 3000 good.db.gz >cut.gz
	bad 1 cut.gz "cut off"
	tar -czf two.tgz good.db flipped
	bad 5 two.tgz "several files"
	python3 -m zipfile -c two.zip good.db flipped
	bad 5 two.zip "several files"
	ln -s good.db link
	tar -czf link.tgz link
	bad 5 link.tgz "a link"
	mkfifo fifo
	tar -czf fifo.tgz fifo
	bad 5 fifo.tgz "a link, a device"
	mkdir sub
	(cd sub && tar -Pczf ../up.tgz ../good.db)
	bad 5 up.tgz "leads elsewhere"
	tar -Pczf absolute.tgz "$PWD/good.db"
	bad 5 absolute.tgz "leads elsewhere"
	tar -czf nothing.tgz sub
	bad 5 nothing.tgz "no file"
	bad 5 fifo "not a regular file"
	bad 5 sub "no data of etcd"
	assert_exit 2 gbe import /var/bad/good.db last-good
	assert_exit 2 gbe import /var/bad/good.db --timeout=soon
	bad_timeout
	echo key >"$DATA/credentials"
	bad 5 good.db "--etcd-only"
	assert_exit 0 gbe import /var/bad/good.db bare --etcd-only
}

bad_timeout() {
	has_no_time import /var/bad/good.db bad
	store_is_clean
}

suite_begin "$@"
for kind in $(kinds "xfs ext4" btrfs-subvol); do
	run_case "snapshot-save@$kind" save "$kind"
done
run_case snapshot-refused refused
run_case snapshot-hangs hangs
run_case snapshot-full@xfs full xfs
run_case snapshot-full@ext4 full ext4
run_case snapshot-killed killed
run_case snapshot-defragments defragments
run_case snapshot-damaged damaged
for kind in $(kinds "xfs btrfs-subvol ext4"); do
	run_case "export-torn@$kind" export_torn "$kind"
done
for kind in $(kinds "xfs ext4" btrfs-subvol); do
	run_case "export-clean@$kind" export_clean "$kind"
	run_case "import@$kind" import_and_restore "$kind"
done
run_case import-bad import_bad
run_case import-on-empty import_on_empty
run_case import-newer import_newer
run_case import-skips-revisions import_skips_revisions
run_case snapshot-status-counts status_counts
run_case export-v2 export_v2
run_case export-damaged export_damaged
suite_end
