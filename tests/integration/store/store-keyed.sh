#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# [store] key: snapshots are signed, and a foreign one is restored only with a valid signature. The device's own
# backups can be restored whatever happened to the key.

# shellcheck disable=SC2317,SC2119,SC2120,SC2012 # cases are called by name; names are ours
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../../lib/all.sh"

STORE=/srv/store
KEY=/etc/greenboot-etcd/store.key
BACKUPS=/var/lib/greenboot-etcd/backups
SEAL=_etcd_backup.hmac

new_key() { openssl rand -hex 32; }
use_key() { # TEXT
	printf '%s\n' "$@" >"$ROOT$KEY"
	chmod 600 "$ROOT$KEY"
	config store "key=$KEY"
}

# Makes a device with an etcd in use, a store, and etcd's tools.
with_store() {
	device "$1"
	power_on
	put_many base 20
	judge green
	mkdir -p "$ROOT$STORE" "$ROOT/usr/bin"
	cp "$(command -v "$ETCD")" "$(command -v "$ETCDCTL")" "$ROOT/usr/bin/"
	config store "directory=$STORE"
}
push() {
	assert_exit 0 gbe --json store push "$@"
	NAME=$(jq -r .name <<<"$OUT")
}
has_hmac() { jq -r 'has("hmac")' "$ROOT$BACKUPS/$1/manifest.json"; }

# Pushed, pulled, imported, restored: the signature is checked at each step.
travels() {
	local state

	with_store "$1"
	use_key "$(new_key)"
	state=$(ctl endpoint hashkv -w json | jq '.[0].HashKV.hash')
	push
	assert_eq "what is in it" "$(ls -A "$ROOT$STORE/$NAME" | sort | tr '\n' ' ')" \
		"_etcd_backup.device $SEAL _etcd_backup.meta etcd.backup.gz "
	assert_eq "mode" "$(stat -c %a "$ROOT$STORE/$NAME/$SEAL")" 600
	assert_exit 0 gbe store pull latest /var/pulled.db
	assert_exists "$ROOT/var/pulled.db.hmac"
	# An existing file of that name is not replaced.
	echo mine >"$ROOT/var/none.db.hmac"
	assert_exit 1 gbe store pull latest /var/none.db
	assert_eq "what was there" "$(cd "$ROOT/var" && echo none.db* && cat none.db.hmac)" $'none.db.hmac\nmine'
	rm "$ROOT/var/none.db.hmac"
	assert_exit 0 gbe import /var/pulled.db arrived
	assert_eq "proved" "$(json '[.manifest.outside, .manifest.proved] | join(" ")' show arrived)" "true true"
	put later x
	stop_etcd
	assert_exit 0 gbe restore arrived
	start_etcd
	assert_eq "HashKV" "$(ctl endpoint hashkv -w json | jq '.[0].HashKV.hash')" "$state"
	# The same as a request.
	install -d -m 700 "$ROOT$STORE/requests"
	printf '{"request":"restore","snapshot":"%s"}' "$NAME" >"$ROOT$STORE/requests/one.json"
	chmod 600 "$ROOT$STORE/requests/one.json"
	assert_exit 0 gbe store requests run
	assert_eq "left" "$(cd "$ROOT/var/lib/greenboot-etcd" && compgen -G 'store-request.db*' || true)" ""
	shutdown
	power_on
	started
	assert_json .last_operation.result "done" status
	# It can be pruned like any other backup.
	assert_exit 0 gbe store prune -n
}

# refused STATUS WORDS: expects that a pull fails and leaves nothing.
refused() {
	assert_exit "$1" gbe store pull "$NAME" /var/none.db
	assert_match "why" "$ERR" "*$2*"
	assert_missing "$ROOT/var/none.db"
	assert_missing "$ROOT/var/none.db.hmac"
}

# A fleet has one key: a device does not get the snapshot of another device, however that comes into its store.
another_device() {
	local entry one two

	with_store xfs
	use_key "$(new_key)"
	push
	one=$(<"$ROOT/var/lib/greenboot-etcd/device")
	[[ $one =~ ^[0-9a-f]{32}$ ]] || fail "the name is $one"
	entry=$ROOT$STORE/$NAME
	assert_match "named" "$(<"$entry/_etcd_backup.device")" "$one *"
	assert_eq "mode" "$(stat -c %a "$entry/_etcd_backup.device")" 600
	# The second device has that key, and no record of the store.
	two=$(printf '%032d' 2)
	echo "$two" >"$ROOT/var/lib/greenboot-etcd/device"
	refused 5 "device $one pushed it, and this device is $two*--device=$one"
	assert_exit 5 gbe store pull latest /var/none.db
	assert_exit 5 gbe store verify
	assert_eq "damaged" "$(json .offsite.damaged status)" null
	assert_exit 5 gbe store pull "$NAME" /var/none.db --device="$two"
	assert_exit 0 gbe store verify --device="$one"
	assert_exit 0 gbe store pull "$NAME" /var/replaced.db --device="$one"
	install -d -m 700 "$ROOT$STORE/requests"
	(umask 077 && echo '{"request":"restore","snapshot":"latest"}' >"$ROOT$STORE/requests/one.json")
	assert_exit 1 gbe store requests run
	assert_match "why" "$OUT" "*device $one pushed it*"
	# The file has another name, or is missing.
	sed -i "s/^$one/$two/" "$entry/_etcd_backup.device"
	refused 6 "_etcd_backup.device does not match its signature"
	rm "$entry/_etcd_backup.device"
	refused 5 "is missing*since $NAME*--device=unknown"
	assert_exit 0 gbe store pull "$NAME" /var/unknown.db --device=unknown
	# A device that has never pushed such a file accepts a snapshot of an earlier version.
	rm "$ROOT/var/lib/greenboot-etcd/stores" "$ROOT/var/lib/greenboot-etcd/device"
	assert_exit 0 gbe store pull "$NAME" /var/earlier.db
}

# The snapshot was changed on its way.
tampered() {
	local entry old new

	with_store xfs
	old=$(new_key) new=$(new_key)
	use_key "$old"
	push
	entry=$ROOT$STORE/$NAME
	cp -a "$entry" "$GBE_MEM/pushed"
	again() { rm -rf "$entry" && cp -a "$GBE_MEM/pushed" "$entry"; }
	# A sound database of another origin, with a checksum of its own.
	put forged x
	ctl snapshot save "$ROOT/var/forged.db" >/dev/null 2>&1
	gzip -c "$ROOT/var/forged.db" >"$entry/etcd.backup.gz"
	refused 6 "does not match its signature"
	again
	sed -i 's/"memberCount" : 1/"memberCount" : 3/' "$entry/_etcd_backup.meta"
	cmp -s "$entry/_etcd_backup.meta" "$GBE_MEM/pushed/_etcd_backup.meta" && fail "it was not changed"
	refused 6 "does not match its signature"
	again
	rm "$entry/$SEAL"
	refused 5 "no keyed digest*Push it again*"
	again
	for text in "" x "$(printf '%064d' 0)"; do
		echo "$text" >"$entry/$SEAL"
		refused 6 "does not match its signature"
	done
	# A value that is longer than a digest is invalid.
	head -c 300 /dev/zero | tr '\0' a >"$entry/$SEAL"
	refused 5 "no keyed digest"
	again
	rm "$entry/$SEAL"
	ln -s /etc/passwd "$entry/$SEAL"
	refused 5 "no keyed digest"
	again
	# An old snapshot has a new name.
	mv "$entry" "$ROOT$STORE/2030-01-01T00:00:00Z-000001"
	NAME=2030-01-01T00:00:00Z-000001 refused 6 "does not match its signature"
	mv "$ROOT$STORE/2030-01-01T00:00:00Z-000001" "$entry"
	# Another key; then the old key after the new one.
	use_key "$new"
	refused 6 "signed with another key"
	use_key "# of 2026" "$new" "" "# of 2025" "$old"
	assert_exit 0 gbe store pull "$NAME" /var/pulled.db
	# A change between pull and import.
	cp "$ROOT/var/forged.db" "$ROOT/var/pulled.db"
	assert_exit 6 gbe import /var/pulled.db forged
	assert_match "why" "$ERR" "*does not match the signature*hmac*"
	assert_missing "$ROOT$BACKUPS/forged"
	assert_missing "$ROOT$BACKUPS/.partial-forged"
	# Without a digest it can be read, and restored only with --force.
	rm "$ROOT/var/pulled.db.hmac"
	assert_exit 0 gbe import /var/pulled.db foreign
	stop_etcd
	assert_exit 5 gbe restore foreign
	assert_match "why" "$ERR" "*came from outside*--force*"
	assert_exit 5 gbe restore foreign --next-boot
	# The same if it looks like a proved one, or like the device's own.
	sed -i 's/"outside" : true,\?/"outside" : true, "proved" : true,/' "$ROOT$BACKUPS/foreign/manifest.json"
	assert_exit 5 gbe restore foreign
	sed -i 's/"outside" : true, "proved" : true,//' "$ROOT$BACKUPS/foreign/manifest.json"
	assert_exit 5 gbe restore foreign
	assert_match "why" "$ERR" "*does not match its signature*"
	# A pin writes the file again, and does not sign it.
	assert_exit 0 gbe pin foreign
	assert_exit 5 gbe restore foreign
	assert_exit 0 gbe restore foreign --force
	start_etcd
	assert_eq "forced" "$(get forged)" x
	# The device's snapshots are signed with the new key. Without a configured key, no signature is required.
	stop_etcd
	assert_exit 0 gbe backup own
	assert_eq "signed" "$(has_hmac own)" true
	unconfig store key
	assert_exit 0 gbe restore own
}

# An attacker without a key can remove newer snapshots, so that an old one is the latest. A device that has seen a
# newer one notices.
replayed() {
	local old new

	with_store xfs
	use_key "$(new_key)"
	push
	old=$NAME
	push
	new=$NAME
	assert_eq "missing" "$(json .missing store list)" null
	mv "$ROOT$STORE/$new" "$GBE_MEM/"
	assert_exit 5 gbe store pull latest /var/none.db
	assert_match "why" "$ERR" "*is $old,*has pushed or pulled $new*\`greenboot-etcd store pull $old FILE\`*"
	assert_missing "$ROOT/var/none.db"
	# The same by a request, with another form of the path, or under another name.
	install -d -m 700 "$ROOT$STORE/requests"
	(umask 077 && echo '{"request":"restore","snapshot":"latest"}' >"$ROOT$STORE/requests/one.json")
	assert_exit 1 gbe store requests run
	assert_match "why" "$OUT" "*has pushed or pulled $new*"
	assert_exit 5 gbe store pull latest /var/none.db "--store=/srv//store/"
	cp -a "$ROOT$STORE/$old" "$ROOT$STORE/2030-01-01T00:00:00Z-000001"
	assert_exit 6 gbe store pull latest /var/none.db
	rm -r "$ROOT$STORE/2030-01-01T00:00:00Z-000001"
	assert_eq "missing" "$(json .missing store list)" "$new"
	assert_exit 0 gbe store list
	assert_match "said" "$ERR" "*$new*removed*"
	# A snapshot chosen by name is not a replay, and the latest one stays the same.
	assert_exit 0 gbe store pull "$old" /var/old.db
	assert_exit 5 gbe store pull latest /var/none.db
	# The next push is newer than the removed snapshot, with any clock.
	ctl snapshot save "$ROOT/var/theirs.db" >/dev/null 2>&1
	clock_set 1970
	push /var/theirs.db
	clock_set 0
	assert_eq "the third" "$NAME" "${new%-*}-000003.undated"
	assert_exit 0 gbe store pull latest /var/newest.db
	# A device without a record of the store, or with a damaged one, is not stopped. The pull writes a new record.
	mv "$ROOT$STORE/$NAME" "$GBE_MEM/"
	echo torn >"$ROOT/var/lib/greenboot-etcd/stores"
	assert_exit 0 gbe store pull latest /var/unknown.db
	mv "$GBE_MEM/$new" "$ROOT$STORE/"
	assert_exit 0 gbe store pull latest /var/new.db
	mv "$ROOT$STORE/$new" "$GBE_MEM/"
	assert_exit 5 gbe store pull latest /var/none.db
	# Without a key, snapshots are not signed, and no text claims it.
	unconfig store key
	assert_exit 0 gbe store pull latest /var/unsigned.db
}

# An attacker who can only write to the store cannot make the device remove its own snapshots.
crowded() {
	local own n

	with_store xfs
	use_key "$(new_key)"
	config store hourly=2 daily=0
	push
	own=$NAME
	for n in 1 2 3 4; do
		cp -a "$ROOT$STORE/$own" "$ROOT$STORE/203$n-01-01T00:00:00Z-000001"
		rm "$ROOT$STORE/203$n-01-01T00:00:00Z-000001/$SEAL"
	done
	assert_exit 0 gbe store prune
	assert_match "nothing goes" "$OUT" "*nothing to remove*"
	# With a false digest they count first, but the snapshots that would stay fail the check:
	# nothing is removed.
	for n in 1 2 3 4; do head -c 32 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$ROOT$STORE/203$n-01-01T00:00:00Z-000001/$SEAL"; done
	assert_exit 6 gbe store prune
	assert_match "why not" "$ERR" "*no snapshot was removed*"
	[[ -e $ROOT$STORE/$own/_etcd_backup.meta ]] || fail "its own is gone"
}

# The rule in one sentence: the device recovers automatically, with or without a key.
comes_back() {
	device "$1"
	power_on
	put_many base 20
	put owner A
	judge green
	stop_etcd
	assert_exit 0 gbe backup before
	start_etcd
	assert_eq "before there was a key" "$(has_hmac before)" false
	use_key "$(new_key)"
	stop_etcd
	assert_exit 0 gbe restore before
	start_etcd
	# An update fails. The backup that restores A was made without a key: it is finalize's backup without its
	# digest.
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	shutdown
	case $2 in
	stripped) unsign_all ;;
	wrong) use_key "$(new_key)" ;;
	unreadable) chmod 644 "$ROOT$KEY" ;;
	esac
	power_on
	booted B
	started
	b_writes
	fail_until_rollback b_again
	booted A
	holds "A's data" "$A_STATE"
	judge green
	[[ $2 == unreadable ]] || return 0
	stop_etcd
	assert_exit 5 gbe restore before
	assert_match "why" "$ERR" "*store.key*not root's alone*chmod 0600*"
	mkdir -p "$ROOT$STORE"
	assert_exit 5 gbe store push --store="$STORE"
}
unsign_all() {
	local file

	for file in "$ROOT$BACKUPS"/*/manifest.json; do
		jq 'del(.hmac)' "$file" >"$GBE_MEM/manifest"
		cat "$GBE_MEM/manifest" >"$file"
	done
}

# The key file is not trusted.
key_files() {
	with_store xfs
	stop_etcd
	gbe backup one
	start_etcd
	config store "key=$KEY"
	bad() { # STATUS WORDS
		assert_exit "$1" gbe store push one
		assert_match "why" "$ERR" "*[store\] key $KEY*$2*"
		OUT=$(gbe --json preflight) || true
		assert_match "preflight" "$OUT" "*$KEY*"
	}
	bad 1 ""
	mkdir "$ROOT$KEY" && bad 5 "not a regular file" && rmdir "$ROOT$KEY"
	mkfifo -m 600 "$ROOT$KEY" && bad 5 "not a regular file" && rm "$ROOT$KEY"
	new_key >"$ROOT/etc/elsewhere"
	chmod 600 "$ROOT/etc/elsewhere"
	ln -s ../elsewhere "$ROOT$KEY" && bad 1 "" && rm "$ROOT$KEY"
	use_key "$(new_key)"
	chmod 640 "$ROOT$KEY" && bad 5 "mode 0640"
	chmod 600 "$ROOT$KEY" && chown 1:1 "$ROOT$KEY" && bad 5 "owner 1"
	chown 0:0 "$ROOT$KEY" && chmod 777 "$ROOT/etc/greenboot-etcd" && bad 5 "written by others"
	chmod 755 "$ROOT/etc/greenboot-etcd"
	use_key hunter2 && bad 2 "line 1 is not a key"
	grep -q hunter2 <<<"$ERR$OUT" && fail "what is in the file is said"
	use_key "# none" && bad 2 "no key"
	# Backups are still made, unsigned, and a message reports it.
	stop_etcd
	assert_exit 0 gbe -v backup two
	assert_match "said" "$ERR" "*is not signed*"
	assert_eq "signed" "$(has_hmac two)" false
}

# A push dies after writing the digest and before the meta file: it is not a snapshot, and the next push removes it.
cut() {
	local first

	with_store "$1"
	use_key "$(new_key)"
	assert_exit 137 env GREENBOOT_ETCD_FAULT=store-signed=kill "$BUILD_FAULTS/greenboot-etcd" \
		--root="$ROOT" store push
	first=$(ls "$ROOT$STORE")
	assert_exists "$ROOT$STORE/$first/$SEAL"
	assert_missing "$ROOT$STORE/$first/_etcd_backup.meta"
	assert_eq "state" "$(gbe --json store list | jq -r '.snapshots[0].state')" unfinished
	push
	assert_eq "swept" "$(ls "$ROOT$STORE")" "$NAME"
	assert_exit 0 gbe store pull "$NAME" /var/pulled.db
}

# A key file that other users can read or replace is not used to decrypt or encrypt. FILE: the
# identity; FILE.pub: the recipient.
age_files() { # FILE
	local file

	for file in "$1" "$1.pub"; do
		chmod 0664 "$ROOT$file"
		assert_exit 5 gbe store pull "$NAME" /var/none.db "--identity=$file"
		assert_match "why" "$ERR" "*$file: it is not root's alone (owner 0, mode 0664)*chmod 0600*"
		chown 65534 "$ROOT$file"
		chmod 0600 "$ROOT$file"
		assert_exit 5 gbe store pull "$NAME" /var/none.db "--identity=$file"
		chown 0 "$ROOT$file"
	done
	ln -s "$1" "$ROOT$1.link"
	assert_exit 1 gbe store pull "$NAME" /var/none.db "--identity=$1.link"
	chmod 0777 "$ROOT${1%/*}"
	assert_exit 5 gbe store pull "$NAME" /var/none.db "--identity=$1"
	assert_match "why" "$ERR" "*on the way to $1 can be written*"
	assert_exit 5 gbe store push
	chmod 0755 "$ROOT${1%/*}"
	chmod 0664 "$ROOT$1.pub"
	assert_exit 5 gbe store push
	assert_match "why" "$ERR" "*$1.pub: it is not root's alone*chmod 0644*"
	# These are not secret.
	chmod 0644 "$ROOT$1.pub"
	assert_exit 0 gbe store push /var/theirs.db
	assert_missing "$ROOT/var/none.db"
}

# age encrypts it, so the standard tool reads it, and the program reads the standard tool's files.
encrypted() {
	local entry keys=/etc/greenboot-etcd/age

	command -v age >/dev/null || skip_case "optional: age is not installed (make deps)"
	with_store "$1"
	config store encrypt-to=$keys.pub
	assert_exit 5 gbe store push
	assert_match "why" "$ERR" "*install age*"
	cp "$(command -v age)" "$ROOT/usr/bin/"
	assert_exit 1 gbe store push
	assert_eq "nothing is left" "$(ls -A "$ROOT$STORE")" ""
	echo "no recipient" >"$ROOT$keys.pub"
	assert_exit 1 gbe store push
	assert_match "why" "$ERR" "*encrypt to $keys.pub*"
	assert_eq "nothing is left" "$(ls -A "$ROOT$STORE")" ""
	age-keygen -o "$ROOT$keys" 2>/dev/null
	age-keygen -o "$ROOT/var/other" 2>/dev/null
	sed -n 's/^# public key: //p' "$ROOT$keys" >"$ROOT$keys.pub"
	use_key "$(new_key)"
	head -c 3000000 /dev/urandom | base64 -w 30000 | nl -w1 -s' ' | while read -r n line; do
		put "large/$n" "$line"
	done
	ctl snapshot save "$ROOT/var/theirs.db" >/dev/null 2>&1
	chmod 600 "$ROOT/var/theirs.db"
	push /var/theirs.db
	entry=$ROOT$STORE/$NAME
	assert_eq "what is in it" "$(ls -A "$entry" | sort | tr '\n' ' ')" \
		"_etcd_backup.device $SEAL _etcd_backup.meta etcd.backup.gz.age "
	grep -aq "base/1" "$entry/etcd.backup.gz.age" && fail "a key can be read in it"
	assert_eq "listed" "$(gbe --json store list | jq '.snapshots[0].encrypted')" true
	# The standard tool decrypts it.
	age -d -i "$ROOT$keys" "$entry/etcd.backup.gz.age" | gzip -d | cmp - "$ROOT/var/theirs.db"
	# The program decrypts it, only with the right identity.
	assert_exit 5 gbe store pull "$NAME" /var/none.db
	assert_match "why" "$ERR" "*is encrypted*--identity*"
	assert_exit 7 gbe store pull "$NAME" /var/none.db --identity=/var/other
	assert_match "why" "$ERR" "*$NAME*no identity matched*"
	assert_exit 1 gbe store pull "$NAME" /var/none.db --identity=/var/nowhere
	assert_missing "$ROOT/var/none.db"
	age_files "$keys"
	assert_exit 0 gbe store pull "$NAME" /var/pulled.db "--identity=$keys"
	cmp "$ROOT/var/pulled.db" "$ROOT/var/theirs.db"
	assert_exit 0 gbe import /var/pulled.db arrived
	# Truncated, changed, or empty: the pull fails.
	config store "identity=$keys"
	cp -a "$entry" "$GBE_MEM/whole"
	for how in 1 100 70000 1500000 last first middle plain; do
		rm -rf "$entry" && cp -a "$GBE_MEM/whole" "$entry"
		size=$(stat -c %s "$entry/etcd.backup.gz.age")
		case $how in
		last) flip "$entry/etcd.backup.gz.age" $((size - 1)) ;;
		first) flip "$entry/etcd.backup.gz.age" 3 ;;
		middle) flip "$entry/etcd.backup.gz.age" $((size / 2)) ;;
		plain) gzip -c "$ROOT/var/theirs.db" >"$entry/etcd.backup.gz.age" ;;
		*) truncate -s "-$how" "$entry/etcd.backup.gz.age" ;;
		esac
		assert_exit 6 gbe store pull "$NAME" /var/none.db
		assert_match "$how" "$ERR" "*$NAME*"
		assert_missing "$ROOT/var/none.db"
		assert_missing "$ROOT/var/none.db.part"
	done
	# An attacker with the recipients but without our key: the snapshot is encrypted, but not
	# ours.
	ctl snapshot save "$ROOT/var/forged.db" >/dev/null 2>&1
	gzip -c "$ROOT/var/forged.db" | age -R "$ROOT$keys.pub" >"$entry/etcd.backup.gz.age"
	rm "$entry/$SEAL"
	assert_exit 5 gbe store pull "$NAME" /var/none.db
	assert_match "why" "$ERR" "*no keyed digest*"
	# The program reads a file of the standard tool.
	unconfig store key
	assert_exit 0 gbe store pull "$NAME" /var/theirs-again.db
	cmp "$ROOT/var/theirs-again.db" "$ROOT/var/forged.db"
	# A device without an identity also prunes.
	unconfig store identity
	assert_exit 0 gbe store prune
}

suite_begin "$@"
for kind in $(kinds "xfs ext4"); do
	run_case "travels@$kind" travels "$kind"
done
run_case another-device another_device
run_case tampered tampered
run_case replayed replayed
run_case crowded crowded
for how in stripped wrong unreadable; do
	run_case "comes-back-$how" comes_back xfs "$how"
done
run_case key-files key_files
run_case cut@xfs cut xfs
for kind in $(kinds "xfs ext4"); do
	run_case "encrypted@$kind" encrypted "$kind"
done
suite_end
