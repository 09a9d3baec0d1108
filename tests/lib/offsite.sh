# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2119,SC2120 # read by those who source this
#
# Devices with a store in a bucket, and the files that they push. Sourced after all.sh, swift.sh and bucket.sh.

DATA_FILE=etcd.backup.gz
META_FILE=_etcd_backup.meta
KEY=/etc/greenboot-etcd/store.access
CA=/etc/greenboot-etcd/store.ca
QUEUE=/var/lib/greenboot-etcd/queue
SNAPSHOTS= # the directory of snapshots.made

hash_kv() { ctl endpoint hashkv -w json | jq '.[0].HashKV.hash'; }

# The files to push: small.db, other.db of the same size, large.db (an upload of two parts) and huge.db (of four).
# NAME.hash has the HashKV of each file's keys.
snapshots_made() {
	prepared offsite-snapshots snapshots_make "$GBE_LIB/offsite.sh"
	SNAPSHOTS=$PREPARED
}

snapshots_make() {
	local name number=0

	# Runs in a shell of its own (prepared), so that the case's variables do not change.
	exec </dev/null >"$1.log" 2>&1
	ROOT='' ETCD_PID=''
	trap 'kill_etcd; root_free' EXIT
	root_new none
	etcd_ports
	config_write
	start_etcd
	put_many base 300
	for name in small other large huge; do
		case $name in
		other) put base/1 another ;;
		large) random_keys large 100 ;;
		huge) random_keys huge 220 ;;
		esac
		ctl snapshot save "$1/$name.db" >/dev/null 2>&1
		hash_kv >"$1/$name.hash"
	done
	tar_like "$1/small.db" "$1/tarlike.db"
	chmod 600 "$1"/*.db
	# A file is sent in parts if its compressed size is above the limit.
	for name in small large huge; do
		(("$(gzip -1c "$1/$name.db" | wc -c)" > number)) || return 1
		number=$((number + (8 << 20)))
	done
}

# tar_like FROM TO: changes the database so that the sum of its first page is valid as the header of a tar.
tar_like() {
	python3 - "$@" <<-'PYTHON'
		import hashlib, sys
		data = bytearray(open(sys.argv[1], "rb").read()[:-32])
		data[80:512] = bytes(432)
		rest = sum(byte - 256 if byte > 127 else byte for byte in data[:512]) + 8 * 32
		at = 300
		while rest:
		    step = max(-128, min(127, -rest))
		    data[at] = step & 255
		    rest, at = rest + step, at + 1
		open(sys.argv[2], "wb").write(data + hashlib.sha256(data).digest())
	PYTHON
}

random_keys() { # PREFIX COUNT: of 100 kB
	python3 - "$ETCD_PORT" "$@" <<-'PYTHON'
		import base64, json, os, sys, urllib.request
		for number in range(int(sys.argv[3])):
		    value = base64.b64encode(os.urandom(100000)).decode()
		    key = base64.b64encode(("%s/%d" % (sys.argv[2], number)).encode()).decode()
		    urllib.request.urlopen("http://127.0.0.1:%s/v3/kv/put" % sys.argv[1],
		                           json.dumps({"key": key, "value": value}).encode()).read()
	PYTHON
}

# access ID SECRET [TOKEN]: writes the device's key file.
access() {
	mkdir -p "$ROOT/etc/greenboot-etcd"
	(umask 077 && printf '[default]\naws_%s = %s\naws_%s = %s\n' access_key_id "$1" secret_access_key "$2" >"$ROOT$KEY")
	[[ ! ${3-} ]] || echo "aws_session_token = $3" >>"$ROOT$KEY"
}

# new_device URL CA ID SECRET [KIND]: makes a device without a running etcd. Its snapshots are in /var, and its pauses
# are short.
new_device() {
	device "${5:-none}"
	mkdir -p "$ROOT/var/lib/greenboot-etcd"
	cp --reflink=auto "$SNAPSHOTS"/*.db "$ROOT/var/"
	in_bucket "$1" "$2" "$3" "$4"
	hasty
}

in_bucket() { # URL CA ID SECRET
	access "$3" "$4"
	cp "$2" "$ROOT$CA"
	config store url="$1" ca="$CA" access-key-file="$KEY"
}

# hasty [SPEED]: makes pauses twenty times shorter. With SPEED, the clock of a waiting program also runs faster.
hasty() {
	prepared_tool clock.so
	TRACER=(env "LD_PRELOAD=$PREPARED/clock.so" GBE_TEST_HASTE=20 ${1:+GBE_TEST_SPEED="$1"})
	[[ ! ${1-} ]] || TRACER[2]=GBE_TEST_HASTE=1
}

# faulty POINT=HOW VERB...: runs the program with fault points.
faulty() {
	on_device env GREENBOOT_ETCD_FAULT="$1" "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" "${@:2}"
}

# serve [OPTION...]: starts the scripted server with a bucket. All servers of a suite have the same certificates.
serve() {
	if [[ ! -e $GBE_MEM/certificates/server.crt ]]; then
		certificates "$GBE_MEM/certificates" 2>/dev/null
	fi
	if [[ ! -e $GBE_MEM/bucket/tls ]]; then
		mkdir -p "$GBE_MEM/bucket"
		cp -r "$GBE_MEM/certificates" "$GBE_MEM/bucket/tls"
	fi
	bucket_start "$GBE_MEM/bucket" "$@"
	bucket_make snapshots
}

case_bucket_gone() {
	bucket_stop
	rm -rf "$GBE_MEM/bucket"
}

# scripted [KIND]: makes a device whose bucket is on the scripted server.
scripted() {
	rm -rf "$GBE_MEM/bucket"
	serve
	new_device "$BUCKET_URL/snapshots/device-1" "$BUCKET_CA" "$BUCKET_KEY_ID" "$BUCKET_SECRET" "${1-}"
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
	NAME=$(jq -r .name <<<"$OUT")
}

queued() { # the names in the queue, the oldest first
	local path names=()
	for path in "$ROOT$QUEUE"/*/"$META_FILE"; do
		[[ ! -e $path ]] || names+=("$(basename "${path%/*}")")
	done
	echo "${names[*]}"
}

# in_store NAME FILE: prints the path of that object on the scripted server. The object must exist.
in_store() { bucket_file snapshots "device-1/$1/$2"; }
