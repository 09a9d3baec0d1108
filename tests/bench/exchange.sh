# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with run and the others
#
# Push a snapshot into a store that other tools read, and pull it, compared with `gzip` and `cp`. These do not check the
# bytes. Sourced.

# exchange_case NAME NOISE: values of 1 KiB, of which NOISE bytes are random and cannot be compressed.
exchange_case() {
	local what=$1 n name file=$ROOT/var/snapshot.db store=$ROOT/srv/store operation theirs

	"$TOOLS/make-db" "$file" "$((EXCHANGE_BYTES / 1400))" "$((EXCHANGE_BYTES / 14000))" 1024 0 0 4096 "$2"
	openssl dgst -sha256 -binary "$file" >"$GBE_MEM/sum"
	cat "$GBE_MEM/sum" >>"$file"
	note "exchange: $what, $(size "$(stat -c %s "$file")")"
	samples_begin
	WARM=yes
	for ((n = 0; n <= N; n++)); do
		settle
		cat "$file" >/dev/null
		timed gzip -kf "$file" + cp "$file.gz" "$store/copy.gz" + sync "$store/copy.gz"
		sample push.theirs "$TOOK"
		sample push.theirs.cpu "$CPU"
		timed "${GBE[@]}" -q store push /var/snapshot.db
		sample push "$TOOK"
		sample push.cpu "$CPU"
		name=$(cd "$store" && echo 2*)
		timed cp "$store/copy.gz" "$ROOT/var/pulled.gz" + gzip -df "$ROOT/var/pulled.gz" + \
			sync "$ROOT/var/pulled"
		sample pull.theirs "$TOOK"
		sample pull.theirs.cpu "$CPU"
		timed "${GBE[@]}" -q store pull "$name" /var/ours
		sample pull "$TOOK"
		sample pull.cpu "$CPU"
		cmp "$ROOT/var/ours" "$file"
		cmp "$ROOT/var/pulled" "$file"
		sample packed "$(stat -c %s "$store/$name/etcd.backup.gz")"
		sample packed.theirs "$(stat -c %s "$store/copy.gz")"
		rm -r "${store:?}/$name" "$ROOT/var/ours" "$ROOT/var/pulled"
		WARM=''
	done
	for operation in push pull; do
		theirs=$(median "$operation.theirs")
		add_row exchange "$operation, $what" "$(size "$(stat -c %s "$file")")" \
			"$(ms "$(median "$operation")")" "$(ms "$theirs")" \
			"**$(ratio "$(median "$operation")" "$theirs")**" \
			"$(ms "$(median "$operation.cpu")")" "$(ms "$(median "$operation.theirs.cpu")")" \
			"$(kib "$(median packed)")" "$(kib "$(median packed.theirs)")" "$(count_of "$operation")"
		loses "store $operation, $what: compared with gzip and cp" \
			"$(ratio "$(median "$operation")" "$theirs")"
		limit "store $operation, $what: compared with gzip and cp" \
			"$(ratio "$(median "$operation")" "$theirs")" 1.00
	done
	limit_exchange_memory "$what"
	rm -rf "$file" "$file.gz" "${store:?}"/*
}

# The program's memory does not grow with the snapshot.
limit_exchange_memory() {
	local kib operation

	for operation in "push /var/snapshot.db" "pull latest /var/ours"; do
		# shellcheck disable=SC2086 # words
		kib=$("$TOOLS/rss-at-exit" "${GBE[@]}" -q store $operation)
		add_row memory "store ${operation%% *}, $1" "$kib" 0
		limit "private memory, store ${operation%% *}, $1" "$kib" 8191 KiB
	done
	rm "$ROOT/var/ours"
}

part_exchange() {
	bench_device xfs
	mkdir -p "$ROOT/srv/store"
	config store directory=/srv/store
	exchange_case "values of which a quarter is noise" 256
	exchange_case "values that repeat" 0
	root_free
}
