#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# store: snapshots in the layout of etcd-manager. A real etcd writes and reads them. The store is a disk of its own,
# which fills up, disappears, and is changed by others.

# shellcheck disable=SC2317,SC2119,SC2012 # cases are called by name; names are ours
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../../lib/all.sh"

STORE=/srv/store
DATA_FILE=etcd.backup.gz
META_FILE=_etcd_backup.meta
# This is the document's example.
DOCUMENTED=2018-01-30T01:02:03Z-000009

hash_kv() { ctl endpoint hashkv -w json | jq '.[0].HashKV.hash'; }

# with_store KIND [SIZE]: makes a device with an etcd in use, and a store on a disk of its own.
with_store() {
	device xfs
	power_on
	put_many base 300
	del base/7
	ctl compact "$(($(revision) - 3))" >/dev/null
	put base/9 again
	fs_at "$1" "$ROOT$STORE" "${2-}"
	[[ $1 != ext4 ]] || rmdir "$ROOT$STORE/lost+found"
	config store directory="$STORE"
}

# states: prints NAME=STATE of each snapshot in the store, the newest first.
states() {
	gbe --json store list >"$GBE_MEM/list" || fail "store list: $?"
	OUT=$(<"$GBE_MEM/list")
	fits store-list
	jq -r '[.snapshots[] | "\(.name)=\(.state)"] | join(" ")' "$GBE_MEM/list"
}

push() { # [ARG...]: NAME has the name
	assert_exit 0 gbe --json store push "$@"
	fits store-snapshot
	assert_eq result "$(jq -r .result <<<"$OUT")" sound
	NAME=$(jq -r .name <<<"$OUT")
	assert_eq file "$(jq -r .file <<<"$OUT")" "$STORE/$NAME/$DATA_FILE"
}

# packed: prints the content of an entry of the store, as gzip unpacks it.
packed() { gzip -dc "$ROOT$STORE/$1/$DATA_FILE"; }

# restorable FILE HASH: expects that etcdctl restores FILE, and that etcd on this data has HASH.
restorable() {
	local data=$DATA was=$ETCD_PID

	[[ ! $was ]] || stop_etcd
	ctl snapshot restore "$1" --name=default --data-dir="$ROOT/var/restored" \
		--initial-cluster="default=http://127.0.0.1:$((ETCD_PORT + 1))" \
		--initial-advertise-peer-urls="http://127.0.0.1:$((ETCD_PORT + 1))" >/dev/null 2>&1
	DATA=$ROOT/var/restored
	start_etcd
	assert_eq HashKV "$(hash_kv)" "$2"
	stop_etcd
	DATA=$data
	rm -rf "$ROOT/var/restored"
	[[ ! $was ]] || start_etcd
}

# by_hand NAME FILE [VERSION]: writes an entry like another tool.
by_hand() {
	mkdir "$ROOT$STORE/$1"
	gzip -c "$2" >"$ROOT$STORE/$1/$DATA_FILE"
	printf '{\n  "etcdVersion": "%s",\n  "timestamp": "1517274123",\n  "clusterSpec": {\n    "memberCount": 1,\n    "etcdVersion": "%s"\n  }\n}' \
		"${3:-3.4.23}" "${3:-3.4.23}" >"$ROOT$STORE/$1/$META_FILE"
}

snapshot() { # FILE, below the root: by etcdctl
	ctl snapshot save "$ROOT$1" >/dev/null 2>&1
	chmod 600 "$ROOT$1"
}

next_etcd() {
	need_etcd_next
	ETCD=$ETCD_NEXT
	ETCDCTL=${ETCD_NEXT}ctl
}

travels() { # KIND [3.5]
	local hash version

	[[ ! ${2-} ]] || next_etcd
	with_store "$1"
	version=$("$ETCD" --version | sed -n 's/^etcd Version: //p')
	hash=$(hash_kv)
	push
	assert_eq HashKV "$(jq .hash_kv <<<"$OUT")" "$hash"
	assert_eq "what is in it" "$(ls -A "$ROOT$STORE/$NAME" | sort | tr '\n' ' ')" \
		"$META_FILE $DATA_FILE "
	assert_eq modes "$(stat -c %a "$ROOT$STORE/$NAME" "$ROOT$STORE/$NAME"/* | tr '\n' ' ')" \
		"700 600 600 "
	assert_eq meta "$(jq -r '[.etcdVersion, (.timestamp | type), .clusterSpec.memberCount,
		.clusterSpec.etcdVersion, (keys | length)] | join(" ")' "$ROOT$STORE/$NAME/$META_FILE")" \
		"$version string 1 $version 3"
	assert_missing "$ROOT/var/lib/greenboot-etcd/store-push.db"
	packed "$NAME" >"$ROOT/var/packed.db"
	restorable "$ROOT/var/packed.db" "$hash"

	# Pulled by its name, and as the newest.
	assert_exit 0 gbe --json store pull "$NAME" /var/pulled.db
	fits store-snapshot
	cmp "$ROOT/var/pulled.db" "$ROOT/var/packed.db"
	assert_eq mode "$(stat -c %a "$ROOT/var/pulled.db")" 600
	assert_exit 1 gbe store pull "$NAME" /var/pulled.db
	assert_match why "$ERR" "*is there already*"
	assert_exit 0 gbe store pull latest /var/latest.db
	cmp "$ROOT/var/latest.db" "$ROOT/var/packed.db"

	# The pulled file is the same, byte for byte.
	snapshot /var/theirs.db
	push /var/theirs.db
	packed "$NAME" | cmp - "$ROOT/var/theirs.db"
	assert_eq "of the cluster" "$(jq -r .etcdVersion "$ROOT$STORE/$NAME/$META_FILE")" \
		"${version%.*}.0"
	assert_match order "$(states)" "$NAME=complete *=complete"

	# A backup whose log has writes that the database lacks.
	put late "for the log"
	hash=$(hash_kv)
	stop_etcd
	assert_exit 0 gbe backup mine
	mkdir -p "$ROOT/usr/bin"
	cp "$(command -v "$ETCD")" "$(command -v "$ETCDCTL")" "$ROOT/usr/bin/"
	push mine
	packed "$NAME" >"$ROOT/var/mine.db"
	restorable "$ROOT/var/mine.db" "$hash"
	assert_missing "$ROOT/var/lib/greenboot-etcd/store-push.db"
	assert_eq states "$(states | tr ' ' '\n' | sed 's/.*=//' | uniq -c | xargs)" "3 complete"
}

# The layout of etcd-manager's document, written by hand, with foreign and unfinished entries next to it.
documented() {
	with_store xfs
	snapshot /var/theirs.db
	by_hand "$DOCUMENTED" "$ROOT/var/theirs.db"
	mkdir -p "$ROOT$STORE/control/$DOCUMENTED" "$ROOT$STORE/2018-01-30T01:02:04Z-000010"
	echo {} >"$ROOT$STORE/control/$DOCUMENTED/_command.json"
	echo hello >"$ROOT$STORE/README"
	cp "$ROOT$STORE/$DOCUMENTED/$DATA_FILE" "$ROOT$STORE/2018-01-30T01:02:04Z-000010/"
	printf '{"etcdVersion":"3.5.16"}' >"$ROOT/var/least"
	by_hand 2018-01-30T02:02:04Z-x.1 "$ROOT/var/theirs.db"
	cp "$ROOT/var/least" "$ROOT$STORE/2018-01-30T02:02:04Z-x.1/$META_FILE"
	assert_eq states "$(states)" "2018-01-30T02:02:04Z-x.1=complete \
2018-01-30T01:02:04Z-000010=unfinished $DOCUMENTED=complete control=foreign README=foreign"
	assert_eq "what is said of it" "$(jq -c '.snapshots[] | select(.name == $name) | [.etcd_version,
		.created, .members]' --arg name "$DOCUMENTED" <<<"$(gbe --json store list)")" \
		'["3.4.23",1517274123,1]'
	assert_exit 0 gbe store list
	assert_match text "$OUT" "*$DOCUMENTED *complete *3.4.23 *"
	assert_exit 0 gbe store pull "$DOCUMENTED" /var/pulled.db
	cmp "$ROOT/var/pulled.db" "$ROOT/var/theirs.db"
	assert_exit 0 gbe store pull latest /var/latest.db
	assert_exit 5 gbe store pull 2018-01-30T01:02:04Z-000010 /var/none.db
	assert_exit 5 gbe store pull control /var/none.db
	assert_exit 1 gbe store pull 2018-01-30T01:02:09Z-000010 /var/none.db
	assert_exit 1 gbe store pull ../store /var/none.db
	assert_missing "$ROOT/var/none.db"
	# None of these entries is ours.
	push /var/theirs.db
	assert_exit 0 gbe store prune
	assert_eq states "$(states)" "$NAME=complete 2018-01-30T02:02:04Z-x.1=complete \
2018-01-30T01:02:04Z-000010=unfinished $DOCUMENTED=complete control=foreign README=foreign"
}

# bad STATUS WORDS: expects that the documented entry cannot be pulled, and that nothing is left.
bad() {
	assert_exit "$1" gbe store pull "$DOCUMENTED" /var/none.db
	assert_match "why not" "$ERR" "*$2*"
	assert_missing "$ROOT/var/none.db"
	assert_missing "$ROOT/var/none.db.part"
}

damaged() {
	local entry size cut meta

	with_store xfs
	entry=$ROOT$STORE/$DOCUMENTED
	snapshot /var/theirs.db
	by_hand "$DOCUMENTED" "$ROOT/var/theirs.db"
	cp -r "$entry" "$ROOT/var/good"
	size=$(stat -c %s "$entry/$DATA_FILE")

	for cut in 1 9 100 $((size / 2)) $((size - 5)); do
		truncate -s -"$cut" "$entry/$DATA_FILE"
		bad 6 "$DOCUMENTED"
		cp "$ROOT/var/good/$DATA_FILE" "$entry/"
	done
	flip "$entry/$DATA_FILE" $((size / 2))
	bad 6 "$DOCUMENTED"
	# A complete file of something else.
	head -c 40000 "$ROOT/var/theirs.db" | gzip >"$entry/$DATA_FILE"
	bad 6 "not a database with a checksum"
	(cat "$ROOT/var/theirs.db"; head -c 512 /dev/zero) | gzip >"$entry/$DATA_FILE"
	bad 6 "does not match the checksum"
	echo hello | gzip >"$entry/$DATA_FILE"
	bad 6 "not a database"
	cp "$ROOT/var/theirs.db" "$entry/$DATA_FILE"
	tar -C "$ROOT/var" -czf "$entry/$DATA_FILE" theirs.db good
	bad 5 "several files"

	: >"$entry/$DATA_FILE"
	bad 6 "is empty"
	rm "$entry/$DATA_FILE"
	bad 6 "is missing"
	mkfifo "$entry/$DATA_FILE"
	bad 6 "not a regular file"
	rm "$entry/$DATA_FILE"
	ln -s "/var/good/$DATA_FILE" "$entry/$DATA_FILE"
	bad 6 "not a regular file"
	rm "$entry/$DATA_FILE"
	cp "$ROOT/var/good/$DATA_FILE" "$entry/"

	for meta in '' '{' '[]' '{}' '{"etcdVersion":7}' '{"etcdVersion":"3.4.0","timestamp":"soon"}'; do
		printf %s "$meta" >"$entry/$META_FILE"
		assert_eq "with $meta" "$(states)" "$DOCUMENTED=unreadable"
		bad 6 "unreadable"
	done
	head -c 1M /dev/zero >"$entry/$META_FILE"
	bad 6 "unreadable"
	rm "$entry/$META_FILE"
	mkfifo "$entry/$META_FILE"
	bad 6 "unreadable"
	rm "$entry/$META_FILE"
	mkdir "$entry/$META_FILE"
	bad 6 "unreadable"
	rm -r "$entry"
	ln -s /var/good "$entry"
	assert_eq "a link" "$(states)" "$DOCUMENTED=foreign"
	bad 5 "foreign"
	rm "$entry"
	mkfifo "$entry"
	assert_eq "a pipe" "$(states)" "$DOCUMENTED=foreign"
	rm "$entry"

	# A pushed snapshot is also checked.
	flip "$ROOT/var/theirs.db" -5
	assert_exit 6 gbe store push /var/theirs.db
	assert_match "why not" "$ERR" "*does not match the checksum*"
	truncate -s -32 "$ROOT/var/theirs.db"
	assert_exit 5 gbe store push /var/theirs.db
	truncate -s 20000 "$ROOT/var/theirs.db"
	assert_exit 6 gbe store push /var/theirs.db
	mkfifo "$ROOT/var/fifo"
	assert_exit 5 gbe store push /var/fifo
	assert_exit 1 gbe store push /var/nothing
	assert_exit 1 gbe store push nothing
	assert_eq "what is left" "$(ls -A "$ROOT$STORE")" ""
}

# Tools that sort by name also see the newest as the newest, with any clock.
clocks() {
	local first second third

	with_store ext4
	snapshot /var/theirs.db
	clock_set 1970
	push /var/theirs.db
	first=$NAME
	assert_match "the first" "$first" "1970-01-0*-000001"
	clock_set 0
	push /var/theirs.db
	second=$NAME
	assert_match "the second" "$second" "20*-000002"
	clock_set 1970
	push /var/theirs.db
	third=$NAME
	assert_eq "the third" "$third" "${second%-*}-000003.undated"
	assert_eq states "$(states)" "$third=complete $second=complete $first=complete"
	assert_eq "by names" "$(ls "$ROOT$STORE" | tail -n 1)" "$third"
	assert_exit 0 gbe --json store pull latest /var/latest.db
	assert_eq latest "$(jq -r .name <<<"$OUT")" "$third"
	assert_exit 0 gbe --json store prune
	assert_eq "what goes" "$(jq -c .deleted <<<"$OUT")" "[]"
}

full() { # KIND
	local n source

	with_store "$1" 400M
	{ set +x; } 2>/dev/null
	for n in {1..30}; do
		put "large/$n" "$(head -c 80000 /dev/urandom | base64 -w 0)"
	done
	set -x
	dd if=/dev/zero of="$ROOT$STORE/full" bs=1M 2>/dev/null || true
	truncate -s -1M "$ROOT$STORE/full"
	snapshot /var/theirs.db
	# gzip does not make this content smaller.
	(("$(gzip -c "$ROOT/var/theirs.db" | wc -c)" > 1500000)) || fail "the snapshot is too small"
	for source in '' /var/theirs.db; do
		assert_exit 1 gbe store push ${source:+"$source"}
		assert_match "why not" "$ERR" "*left on device*"
		assert_eq "what is left" "$(ls -A "$ROOT$STORE")" full
	done
	rm "$ROOT$STORE/full"
	push
	# The way back lacks room.
	dd if=/dev/zero of="$ROOT$STORE/full" bs=1M 2>/dev/null || true
	truncate -s -1M "$ROOT$STORE/full"
	assert_exit 1 gbe store pull latest "$STORE/pulled.db"
	assert_match "why not" "$ERR" "*no room for *pulled.db*"
	assert_eq "what is left" "$(ls -A "$ROOT$STORE" | sort | tr '\n' ' ')" "$NAME full "
}

# The store lies on the disk that etcd writes to: a part of the disk stays free, whatever the snapshot needs.
leaves_room() {
	local n size keys=/var/age

	device xfs
	power_on
	for n in {1..10}; do
		head -c 1000000 /dev/urandom | base64 -w 0 | ctl put "large/$n"
	done
	mkdir -p "$ROOT/var/store" "$ROOT/usr/bin"
	cp "$(command -v age)" "$ROOT/usr/bin/"
	config store directory=/var/store
	age-keygen -o "$ROOT$keys" 2>/dev/null
	age-keygen -y "$ROOT$keys" >"$ROOT$keys.pub"
	size=$(ctl endpoint status -w json | jq '.[0].Status.dbSize')
	# The disk has room for the snapshot, but not for the files that are made from it.
	fallocate -l "$(($(stat -f -c '%a * %S' "$ROOT/var") - 2 * size - (1 << 19)))" "$ROOT/var/large"
	for n in '' "$keys.pub"; do
		[[ ! $n ]] || config store encrypt-to="$n"
		assert_exit 1 gbe store push
		assert_match "why not" "$ERR" "*no room for *are free, and * are to stay free*"
		assert_eq "what is left" "$(find "$ROOT/var/store" "$ROOT/var/lib/greenboot-etcd" -name '*.db*' -o -name '*.part')" ""
	done
	rm "$ROOT/var/large"
	assert_exit 0 gbe store push
}

# stopped COMMAND...: waits until it has stopped at its fault point.
stopped() {
	GREENBOOT_ETCD_FAULT=$1 "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" "${@:2}" \
		>/dev/null 2>"$GBE_MEM/err" &
	STOPPED=$!
	until_halted "$STOPPED" || fail "it did not come to $1: $(<"$GBE_MEM/err")"
}

# The disk dies between any two steps, and comes back with the content that it had.
goes_away() {
	local device point status held

	with_store xfs
	snapshot /var/theirs.db
	device=$(findmnt -no SOURCE "$ROOT$STORE")
	# The device disappears when its last user closes it.
	# shellcheck disable=SC2034 # open, and no more
	exec {held}<"$device"
	for point in part-written part-synced part-renamed part-durable part-written@2 part-synced@2; do
		stopped "$point=stop" store push /var/theirs.db
		xfs_io -x -c "shutdown -f" "$ROOT$STORE"
		kill -CONT "$STOPPED"
		status=0
		wait "$STOPPED" || status=$?
		ERR=$(<"$GBE_MEM/err")
		assert_eq "$point" "$status" 1
		assert_match "why not" "$ERR" "*$STORE*[Ii]nput/output error*"
		assert_exit 1 gbe store push /var/theirs.db
		assert_exit 1 gbe store list
		assert_exit 1 gbe store pull latest /var/none.db
		assert_missing "$ROOT/var/none.db"
		umount "$ROOT$STORE"
		# No directory is made at the mount point of the disk.
		rmdir "$ROOT$STORE"
		assert_exit 1 gbe store push /var/theirs.db
		assert_match "why not" "$ERR" "*$STORE does not exist*"
		assert_exit 1 gbe store prune
		assert_missing "$ROOT$STORE"
		mkdir "$ROOT$STORE"
		mount "$device" "$ROOT$STORE"
		[[ $(states) != *=complete* ]] || fail "$point: half of one is called complete"
		push /var/theirs.db
		assert_eq "$point" "$(states)" "$NAME=complete"
		rm -r "${ROOT:?}$STORE/$NAME"
	done
}

# The disk is not mounted, but its mount point is there. The device's own disk gets no snapshot, and only snapshots on the
# other disk count as proved.
unmounted() {
	local device held verb

	with_store xfs
	snapshot /var/theirs.db
	device=$(findmnt -no SOURCE "$ROOT$STORE")
	# shellcheck disable=SC2034 # open, and no more
	exec {held}<"$device"
	push /var/theirs.db
	umount "$ROOT$STORE"
	for verb in push list prune verify "pull latest /var/none.db"; do
		# shellcheck disable=SC2086 # words
		assert_exit 1 gbe store $verb
		assert_match "why not" "$ERR" "*nothing is mounted at *$STORE*mount it*"
	done
	assert_exit 0 gbe store push --queue
	assert_exit 1 gbe store send
	assert_eq "in the mount point" "$(ls -A "$ROOT$STORE")" ""
	# Proofs of older pushes do not hide that new snapshots do not leave the device.
	clock_set $((20 * 86400))
	assert_eq "trouble" "$(json .offsite.trouble status)" true
	assert_exit 0 gbe status
	assert_match "which" "$OUT" "*no snapshot got off the device for 20 d*"
	clock_set 0
	mount "$device" "$ROOT$STORE"
	assert_exit 0 gbe store send
	assert_eq "both" "$(states | wc -w)" 2
	assert_exit 0 gbe store verify
}

# The last push cannot be read: an older readable snapshot proves nothing about it.
last_push() {
	local first

	with_store xfs
	snapshot /var/theirs.db
	push /var/theirs.db
	first=$NAME
	push /var/theirs.db
	echo nonsense >"$ROOT$STORE/$NAME/$META_FILE"
	assert_exit 6 gbe store verify
	assert_match "which" "$ERR" "*$NAME was pushed last*in *is $first*"
	assert_exit 0 gbe store verify "$first"
	assert_eq "damaged" "$(json .offsite.damaged status)" "$NAME"
	push /var/theirs.db
	assert_eq "damaged" "$(json .offsite.damaged status)" null
	assert_exit 0 gbe store verify
}

# A push that runs when prune lists the store is finished before prune removes anything.
pruned_meanwhile() {
	local pushing n

	with_store xfs
	snapshot /var/theirs.db
	by_hand "$(hour 0)" "$ROOT/var/theirs.db"
	for n in 10 60; do cp -r "$ROOT$STORE/$(hour 0)" "$ROOT$STORE/$(hour "$n")"; done
	config store hourly=1 daily=0
	stopped part-written=stop store push /var/theirs.db
	pushing=$STOPPED
	stopped store-unpublished=stop store prune
	kill -CONT "$pushing"
	wait "$pushing" || fail "the push: $?"
	kill -CONT "$STOPPED"
	wait "$STOPPED" || fail "prune: $?"
	assert_eq "what is left" "$(states | tr ' ' '\n' | sed 's/.*=//' | xargs)" "complete complete complete"
	assert_exit 0 gbe store pull latest /var/pulled.db
}

# Killed between any two steps: other tools see a complete snapshot or none, and the next push removes the rest.
# steps: store push
killed() {
	local point expected

	with_store ext4
	snapshot /var/theirs.db
	for point in part-written part-synced part-renamed part-durable part-written@2 part-synced@2 \
		part-renamed@2 part-durable@2 $(GREENBOOT_ETCD_FAULT=steps "$BUILD_FAULTS/greenboot-etcd" \
			--root="$ROOT" store push /var/theirs.db); do
		GREENBOOT_ETCD_FAULT="$point=kill" "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" \
			store push /var/theirs.db || true
		case $point in
		part-renamed@2 | part-durable@2 | store-published) expected='[0-9]*=complete' ;;
		store-source-opened) expected='' ;;
		*) expected='[0-9]*=unfinished' ;;
		esac
		assert_match "after $point" "$(states)" "$expected"
		rm -f "$ROOT/var/none.db"
		[[ $expected != *=complete ]] || assert_exit 0 gbe store pull latest /var/none.db
		push /var/theirs.db
		# An empty directory stays: another device may have just made it.
		[[ $point == store-entry-made || $(states) != *=unfinished* ]] || fail "$point: it is still there"
		rm -r "${ROOT:?}$STORE"/*
	done
	# Files of a live process are kept.
	stopped part-written=stop store push /var/theirs.db
	assert_exit 0 gbe store prune
	assert_match "during prune" "$(states)" "*=unfinished"
	assert_exit 4 gbe store push /var/theirs.db
	kill -CONT "$STOPPED"
	wait "$STOPPED"
	assert_match "in the end" "$(states)" "[0-9]*=complete"
	# The entry is half removed, and not a snapshot any more.
	cp -r "$ROOT$STORE/"* "$ROOT$STORE/2018-01-30T01:02:03Z-000001"
	cp -r "$ROOT$STORE/2018-01-30T01:02:03Z-000001" "$ROOT$STORE/2018-01-30T01:02:03Z-000002"
	GREENBOOT_ETCD_FAULT="store-unpublished=kill" "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" \
		store prune || true
	assert_match "half removed" "$(states)" \
		"*=complete 2018-01-30T01:02:03Z-000002=unfinished 2018-01-30T01:02:03Z-000001=complete"
	assert_exit 0 gbe store prune
	assert_match "removed" "$(states)" "*=complete 2018-01-30T01:02:03Z-000001=complete"
}

# hour N: prints a name of so many hours after midnight.
hour() { date -u -d "2026-10-02 + $1 minutes" +%Y-%m-%dT%H:%M:%SZ-000001; }

pruned() {
	local n

	with_store xfs
	snapshot /var/theirs.db
	by_hand "$(hour 0)" "$ROOT/var/theirs.db"
	for n in 10 60 70 600 1440 1450 2000 2010 2900; do
		cp -r "$ROOT$STORE/$(hour 0)" "$ROOT$STORE/$(hour "$n")"
	done
	: >"$ROOT$STORE/$(hour 10)/notes"
	mkdir "$ROOT$STORE/$(hour 5)"
	: >"$ROOT$STORE/foreign"
	config store hourly=3 daily=3
	assert_exit 0 gbe --json store prune -n
	fits prune
	assert_eq "what would go" "$(jq -r '.deleted[].name' <<<"$OUT" | tr '\n' ' ')" \
		"$(hour 60) $(hour 70) $(hour 600) $(hour 1450) $(hour 2010) "
	assert_eq "what is there" "$(states | wc -w)" 12
	assert_exit 0 gbe --json store prune
	assert_eq "what is left" "$(states | tr ' ' '\n' | sed 's/=.*//' | tr '\n' ' ')" \
		"$(for n in 2900 2000 1440 10 5 0; do hour "$n"; done | tr '\n' ' ')foreign "
	assert_exit 0 gbe store prune
	assert_match "once more" "$OUT" "nothing to remove"

	# If the remaining snapshots cannot be restored, nothing is removed.
	config store hourly=1 daily=0
	for n in 2000 2900; do
		truncate -s -100 "$ROOT$STORE/$(hour "$n")/$DATA_FILE"
	done
	assert_exit 6 gbe store prune
	assert_match "why not" "$ERR" "*no snapshot was removed*"
	assert_eq "what is left" "$(states | wc -w)" 7
	config store hourly=2
	assert_exit 6 gbe store prune
	config store hourly=3
	assert_exit 0 gbe store prune
	assert_eq "what is left" "$(states | wc -w)" 6
	assert_exit 0 gbe store pull "$(hour 1440)" /var/pulled.db
}

usage() {
	with_store xfs
	assert_exit 2 gbe store
	assert_exit 2 gbe store lst
	assert_exit 2 gbe store list all
	assert_exit 2 gbe store pull latest
	assert_exit 2 gbe store push --dry-run
	assert_exit 0 gbe store list --timeout=5s
	assert_exit 2 gbe store list --timeout=soon
	assert_exit 2 gbe store push --timeout=soon
	assert_exit 2 gbe store push a b
	assert_exit 1 gbe store list --store=/srv/other
	mkdir "$ROOT/srv/other"
	assert_exit 0 gbe store list --store=/srv/other
	assert_exit 1 gbe store pull latest /var/none.db
	assert_match "why not" "$ERR" "*no snapshot latest*"
	config store directory=
	assert_exit 2 gbe store list
	assert_match "why not" "$ERR" "*--store=DIR*"
	assert_exit 0 gbe --json store push --store=/srv/other
	fits store-snapshot
	stop_etcd
	assert_exit 1 gbe store push --store=/srv/other
	assert_match "why not" "$ERR" "*no snapshot from etcd*"
	assert_eq "what is there" "$(ls "$ROOT/srv/other" | wc -l)" 1
}

# ---- requests ----

# ask NAME TEXT: writes a request as root does.
ask() { (umask 077 && mkdir -p "$ROOT$STORE/requests" && printf %s "$2" >"$ROOT$STORE/requests/$1"); }

# asked STATUS VERB [ARG...]: prints NAME=STATE of the handled requests.
asked() {
	assert_exit "$1" gbe --json store requests "${@:2}"
	fits store-requests
	ASKED=$(jq -r '[.requests[] | "\(.name)=\(.state)"] | join(" ")' <<<"$OUT")
}

requests() { # [3.5]
	local hash pushed lock held

	[[ ! ${1-} ]] || next_etcd
	with_store xfs
	mkdir -p "$ROOT/usr/bin"
	cp "$(command -v "$ETCD")" "$(command -v "$ETCDCTL")" "$ROOT/usr/bin/"
	asked 0 list
	asked 0 run
	assert_eq "none" "$ASKED" ""
	ask 1.json '{"request": "backup"}'
	ask notes.txt hello
	asked 0 list
	assert_eq "to be done" "$ASKED" 1.json=waiting
	assert_exit 0 gbe store requests delete 1.json -n
	hash=$(hash_kv)
	asked 0 run
	assert_eq "done" "$ASKED" 1.json=done
	pushed=$(jq -r '.requests[0].result' <<<"$OUT")
	assert_eq "what is there" "$(states)" "$pushed=complete requests=foreign"
	asked 0 run
	assert_eq "once" "$ASKED" ""
	asked 0 list
	assert_eq "what was done" "$ASKED" 1.json=done

	# One request is for the next boot, and one is impossible.
	put base/8 "after the snapshot"
	ask 2.json "{\"request\": \"restore\", \"snapshot\": \"$pushed\"}"
	ask 3.json '{"request": "restore", "snapshot": "2018-01-30T01:02:03Z-000001"}'
	asked 1 run
	assert_eq "done" "$ASKED" "2.json=done 3.json=failed"
	assert_match "why" "$(jq -r '.requests[1].why' <<<"$OUT")" "no snapshot 2018*"
	assert_eq "the backup" "$(jq -r '.requests[0].result' <<<"$OUT")" "store-${pushed//:/-}"
	assert_eq "until then" "$(get base/8)" "after the snapshot"
	assert_missing "$ROOT/var/lib/greenboot-etcd/store-request.db"
	reboot
	assert_eq HashKV "$(hash_kv)" "$hash"
	put base/8 "after the restore"
	reboot
	assert_eq "once" "$(get base/8)" "after the restore"
	# A repeated call finds that the backup exists.
	ask 5.json "{\"request\": \"restore\", \"snapshot\": \"$pushed\"}"
	asked 0 run
	assert_eq "done" "$ASKED" 5.json=done
	reboot
	assert_eq HashKV "$(hash_kv)" "$hash"
	put base/8 "after the restore"
	assert_exit 0 gbe store requests delete 5.json.done

	# Another operation holds a lock, of the program or of a push: the request stays, and the next call handles
	# it.
	for lock in lock store; do
		exec {held}>>"$ROOT/var/lib/greenboot-etcd/$lock"
		flock "$held"
		ask 6.json '{"request": "backup"}'
		[[ $lock == store ]] || ask 6.json "{\"request\": \"restore\", \"snapshot\": \"$pushed\"}"
		assert_exit 4 gbe store requests run
		assert_match why "$ERR" "*/requests: *holds the lock*"
		asked 0 list
		assert_match "it waits" "$ASKED" "*6.json=waiting*"
		exec {held}>&-
		asked 0 run
		assert_eq "done" "$ASKED" 6.json=done
		assert_exit 0 gbe store requests delete 6.json.done
	done
	assert_exit 0 gbe restore --cancel

	assert_match "the reason's file" "$(<"$ROOT$STORE/requests/3.json.failed.why")" "no snapshot 2018*"
	assert_exit 1 gbe store requests delete 4.json
	assert_exit 0 gbe --json store requests delete 3.json
	fits change
	assert_missing "$ROOT$STORE/requests/3.json.failed.why"
	assert_exit 0 gbe store requests delete 2.json.done
	asked 0 list
	assert_eq "what is left" "$ASKED" 1.json=done
	assert_exists "$ROOT$STORE/requests/notes.txt"
	assert_exit 2 gbe store requests
	assert_exit 2 gbe store requests run --dry-run
	assert_exit 2 gbe store requests delete
}

# The file is set aside once, and nothing is done for it.
not_believed() { # WORDS
	asked 1 run
	assert_eq "$1" "$ASKED" 1.json=bad
	assert_match "$1" "$(jq -r '.requests[0].why' <<<"$OUT")" "*$1*"
	asked 0 run
	assert_eq "once" "$ASKED" ""
	asked 0 list
	assert_eq "aside" "$ASKED" 1.json=bad
	assert_match "the reason's file" "$(<"$ROOT$STORE/requests/1.json.bad.why")" "*$1*"
	assert_eq "in the list" "$(jq -r '.requests[0].why' <<<"$OUT")" "$(<"$ROOT$STORE/requests/1.json.bad.why")"
	assert_eq "what is there" "$(states)" requests=foreign
	rm -r "${ROOT:?}$STORE/requests/1.json.bad" "$ROOT$STORE/requests/1.json.bad.why"
}

hostile_requests() {
	local request good='{"request": "backup"}' text

	with_store xfs
	request=$ROOT$STORE/requests/1.json
	for text in '' '{' '{}' '{"request":"delete"}' '{"request":"restore"}' \
		'{"request":"backup","x":1}' '{"request":"restore","snapshot":"../x"}'; do
		ask 1.json "$text"
		not_believed ""
	done
	ask 1.json "$good$(printf '%5000s' '')"
	not_believed "too long"
	ask 1.json "$good"
	chown 1234 "$request"
	not_believed "not root's alone"
	ask 1.json "$good"
	chmod g+w "$request"
	not_believed "not root's alone"
	ask 1.json "$good"
	ln "$request" "$ROOT$STORE/another"
	asked 1 run
	assert_eq "a second name" "$ASKED" 1.json=bad
	rm "$request.bad" "$ROOT$STORE/another"
	mkfifo "$request"
	not_believed "not a regular file"
	mkdir "$request"
	not_believed "not a regular file"
	echo "$good" >"$ROOT/var/good"
	ln -s /var/good "$request"
	not_believed "not a regular file"

	# A disk that cannot be read is not a verdict on the request.
	ask 1.json "$good"
	assert_exit 1 strace -f -qq -o /dev/null -P "$request" -e trace=pread64 \
		-e inject=pread64:error=EIO "$(program greenboot-etcd)" --root="$ROOT" store requests run
	assert_match "why not" "$OUT" "*1.json*waiting*cannot read it: Input/output error*"
	assert_exists "$request"
	rm "$request"

	# Any user can write to the directory, or replace it.
	ask 1.json "$good"
	chmod 777 "$ROOT$STORE/requests"
	assert_exit 5 gbe store requests run
	chmod 1777 "$ROOT$STORE/requests"
	assert_exit 5 gbe store requests run
	chmod 700 "$ROOT$STORE/requests"
	chown 1234 "$ROOT$STORE/requests"
	assert_exit 5 gbe store requests list
	chown 0 "$ROOT$STORE/requests"
	chmod 777 "$ROOT$STORE"
	assert_exit 5 gbe store requests run
	chmod 755 "$ROOT$STORE"
	chown 1234 "$ROOT/srv"
	assert_exit 5 gbe store requests run
	chown 0 "$ROOT/srv"
	mv "$ROOT$STORE/requests" "$ROOT/var/requests"
	ln -s /var/requests "$ROOT$STORE/requests"
	assert_exit 5 gbe store requests run
	rm "$ROOT$STORE/requests"
	mv "$ROOT/var/requests" "$ROOT$STORE/requests"
	assert_eq "what is there" "$(states)" requests=foreign
	asked 0 run
	assert_eq "in the end" "$ASKED" 1.json=done
}

# Each request is handled at most once.
killed_requests() {
	local point

	with_store ext4
	for point in store-request-taken part-written part-durable@2 store-published; do
		ask 1.json '{"request": "backup"}'
		GREENBOOT_ETCD_FAULT="$point=kill" "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" \
			store requests run || true
		asked 0 list
		assert_eq "$point" "$ASKED" 1.json=taken
		asked 0 run
		assert_eq "$point, once" "$ASKED" ""
		rm -rf "${ROOT:?}$STORE"/*
	done
}

suite_begin "$@"
run_case store-travels@xfs travels xfs
run_case store-travels@ext4 travels ext4
run_case store-travels-3.5 travels btrfs 3.5
run_case store-documented documented
run_case store-damaged damaged
run_case store-clocks clocks
run_case store-full@xfs full xfs
run_case store-full@ext4 full ext4
run_case store-leaves-room leaves_room
run_case store-goes-away goes_away
run_case store-unmounted unmounted
run_case store-last-push last_push
run_case store-pruned-meanwhile pruned_meanwhile
run_case store-killed killed
run_case store-pruned pruned
run_case store-usage usage
run_case store-requests requests
run_case store-requests-3.5 requests 3.5
run_case store-requests-hostile hostile_requests
run_case store-requests-killed killed_requests
suite_end
