# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with run and the others
#
# Push a snapshot into a bucket of a real Swift, and pull it. rclone and restic do the same with the same file and server.
# Sourced.

# shellcheck source=tests/lib/swift.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/swift.sh"

bucket_device() {
	bench_device xfs
	# Swift keeps files open, so its directory is not on the file system that settle makes read-only.
	swift_start "$GBE_SCRATCH/swift"
	swift_bucket ours
	swift_bucket theirs
	mkdir -p "$ROOT/etc/greenboot-etcd"
	cp "$SWIFT_CA" "$ROOT/etc/greenboot-etcd/store.ca"
	(umask 077 && printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' \
		"$SWIFT_KEY_ID" "$SWIFT_SECRET" >"$ROOT/etc/greenboot-etcd/store.access")
	config store url="$SWIFT_URL/ours/device" ca=/etc/greenboot-etcd/store.ca \
		access-key-file=/etc/greenboot-etcd/store.access
	export RCLONE_CONFIG=$GBE_MEM/rclone.conf RESTIC_PASSWORD=bench RESTIC_REPOSITORY=s3:$SWIFT_URL/theirs
	# rclone 1.60 fails if this is set.
	unset AWS_CA_BUNDLE
	export AWS_ACCESS_KEY_ID=$SWIFT_KEY_ID AWS_SECRET_ACCESS_KEY=$SWIFT_SECRET RESTIC_CACHE_DIR=$GBE_MEM/restic
	cat >"$RCLONE_CONFIG" <<-CONFIG
		[theirs]
		type = s3
		provider = Other
		endpoint = $SWIFT_URL
		access_key_id = $SWIFT_KEY_ID
		secret_access_key = $SWIFT_SECRET
		region = $SWIFT_REGION
	CONFIG
	restic -q --cacert "$SWIFT_CA" init
}

# bucket_case NAME BYTES NOISE ROUNDS: values of 1 KiB, of which NOISE bytes are random and cannot be compressed.
bucket_case() {
	local what=$1 n name file=$ROOT/var/snapshot.db operation other rclone=(rclone -q --ca-cert "$SWIFT_CA")

	"$TOOLS/make-db" "$file" "$(($2 / 1400))" "$(($2 / 14000))" 1024 0 0 4096 "$3"
	openssl dgst -sha256 -binary "$file" >"$GBE_MEM/sum"
	cat "$GBE_MEM/sum" >>"$file"
	note "bucket: $what, $(size "$(stat -c %s "$file")")"
	samples_begin
	for ((n = 0; n <= $4; n++)); do
		settle
		cat "$file" >/dev/null
		# Without this option it skips a file that already exists.
		timed "${rclone[@]}" --ignore-times copyto "$file" theirs:theirs/copy
		sample push.rclone "$TOOK"
		timed restic -q --cacert "$SWIFT_CA" backup --force "$file"
		sample push.restic "$TOOK"
		timed "${GBE[@]}" -q store push /var/snapshot.db
		sample push "$TOOK"
		sample push.cpu "$CPU"
		timed "${rclone[@]}" copyto theirs:theirs/copy "$ROOT/var/theirs"
		sample pull.rclone "$TOOK"
		timed restic -q --cacert "$SWIFT_CA" restore latest --target "$ROOT/var/restic"
		sample pull.restic "$TOOK"
		timed "${GBE[@]}" -q store pull latest /var/ours
		sample pull "$TOOK"
		sample pull.cpu "$CPU"
		cmp "$ROOT/var/ours" "$file"
		cmp "$ROOT/var/theirs" "$file"
		rm -r "$ROOT/var/ours" "$ROOT/var/theirs" "$ROOT/var/restic"
		restic -q --cacert "$SWIFT_CA" forget --prune --keep-last 1 >"$GBE_MEM/out"
	done
	for operation in push pull; do
		other=$(median "$operation.rclone")
		add_row bucket "$operation, $what" "$(size "$(stat -c %s "$file")")" "$(ms "$(median "$operation")")" \
			"$(ms "$other")" "**$(ratio "$(median "$operation")" "$other")**" \
			"$(ms "$(median "$operation.restic")")" "$(ms "$(median "$operation.cpu")")" "$(count_of "$operation")"
		loses "store $operation to a bucket, $what: compared with rclone" "$(ratio "$(median "$operation")" "$other")"
		limit "store $operation to a bucket, $what: compared with rclone copyto" \
			"$(ratio "$(median "$operation")" "$other")" 1.10
	done
	limit_bucket_memory "$what"
	rm -f "$file"
}

limit_bucket_memory() {
	local kib operation

	for operation in "push /var/snapshot.db" "pull latest /var/ours"; do
		# shellcheck disable=SC2086 # words
		kib=$("$TOOLS/rss-at-exit" "${GBE[@]}" -q store $operation)
		add_row memory "store ${operation%% *}, bucket, $1" "$kib" 0
		limit "private memory, store ${operation%% *}, bucket, $1" "$kib" 4096 KiB
	done
	rm "$ROOT/var/ours"
}

part_bucket() {
	if ! swift_here || ! command -v rclone restic >/dev/null; then
		note "bucket: left out, swift, rclone or restic is not installed"
		return
	fi
	bucket_device
	bucket_case "values of which a quarter is noise" "$EXCHANGE_BYTES" 256 "$N"
	bucket_case "ten times of that" "$((EXCHANGE_BYTES * 10))" 256 3
	swift_stop
	root_free
}
