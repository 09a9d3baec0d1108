# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with run and the others
#
# Reads a whole database, as `verify --full` does, compared with `etcdctl snapshot status`, which checks less. A snapshot
# file with its checksum is also compared with `openssl`. All take turns on the same file, which is in memory. The number
# of threads is free; our program uses one. Sourced.

# verify_case NAME LIMIT ROWS KEYS VALUE [COMPACTED]: LIMIT in ms for each GB.
verify_case() {
	local name=$1 most=$2 file=$GBE_SCRATCH/verify.db n said theirs bytes ours status
	shift 2

	"$TOOLS/make-db" "$file" "$@"
	openssl dgst -sha256 -binary "$file" >"$GBE_MEM/sum"
	cat "$GBE_MEM/sum" >>"$file"
	bytes=$(stat -c %s "$file")
	note "verify: $name, $(size "$bytes")"
	samples_begin
	WARM=yes
	for ((n = 0; n <= N; n++)); do
		timed "$TOOLS/db-read" "$file"
		sample verify.ours "$TOOK"
		sample verify.ours.cpu "$CPU"
		said=$(<"$GBE_MEM/out")
		sample verify.rss "$(jq .rss_kib <<<"$said")"
		timed "$ETCDCTL" snapshot status -w json "$file"
		sample verify.etcdctl "$TOOK"
		sample verify.etcdctl.cpu "$CPU"
		theirs=$(<"$GBE_MEM/out")
		timed "$(program greenboot-etcd)" verify --full "$file"
		sample verify.sum "$TOOK"
		timed "$ETCDCTL" snapshot status "$file" + openssl dgst -sha256 "$file"
		sample verify.both "$TOOK"
		WARM=''
	done
	# Both tools must print the same figures, so that the comparison is fair.
	[[ $(jq -c '[.hash, .revision, .totalKey, .totalSize]' <<<"$said") == \
		"$(jq -c '[.hash, .revision, .totalKey, .totalSize]' <<<"$theirs")" ]]
	ours=$(median verify.ours)
	status=$(median verify.etcdctl)
	add_row verify "$name" "$(size "$bytes")" "$(ms "$ours")" \
		"$(awk -v b="$bytes" -v t="$ours" 'BEGIN { printf "%.2f", b / t / 1000 }')" \
		"$(ms "$status")" "**$(ratio "$ours" "$status")**" \
		"$(ms "$(median verify.ours.cpu)")" "$(ms "$(median verify.etcdctl.cpu)")" \
		"$(awk -v r="$(jq .read <<<"$said")" -v b="$bytes" 'BEGIN { printf "%.1f", r / b }')" \
		"$(median verify.rss)" "$(ms "$(median verify.sum)")" "$(ms "$(median verify.both)")" \
		"**$(ratio "$(median verify.sum)" "$(median verify.both)")**" "$(count_of verify.ours)"
	limit "snapshot file, $name: compared with etcdctl snapshot status and openssl dgst" \
		"$(ratio "$(median verify.sum)" "$(median verify.both)")" 0.70
	loses "full verification, $name: compared with etcdctl snapshot status" "$(ratio "$ours" "$status")"
	limit "full verification, $name: compared with etcdctl snapshot status" \
		"$(ratio "$ours" "$status")" 0.50
	limit "full verification, $name: ms for each GB" \
		"$(awk -v b="$bytes" -v t="$ours" 'BEGIN { printf "%.0f", t * 1000000 / b }')" "$most" ms
	limit "full verification, $name: memory" "$(median verify.rss)" 32767 KiB
	rm -f "$file"
}

# About 1.1 GB each; LEVEL=ci: a tenth of it.
part_verify() {
	local k=$((VERIFY_ROWS / 6))

	verify_case "1 KiB values, each key written 18 times" 667 "$k" $((k / 18)) 1024
	verify_case "1 KiB values, each key written once" 667 "$k" "$k" 1024
	verify_case "1 KiB values, compacted" 667 $((2 * k)) "$k" 1024 $((2 * k + 1))
	verify_case "100-byte values, each key written 60 times" 2000 "$VERIFY_ROWS" \
		$((VERIFY_ROWS / 60)) 100
	verify_case "100-byte values, each key written once" 2000 "$VERIFY_ROWS" "$VERIFY_ROWS" 100
	verify_case "1 MB values" 667 $((k / 1000)) $((k / 1000)) 1000000
}
