# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # shared with run and the others
#
# The cost of reading etcd's files: before a decision, while a boot waits, and in the background, next to a busy etcd.
# Sourced.

# Each start, backup and restore reads both ends of the database and the whole log.
part_sanity() {
	local n bytes=${SIZES##* }

	bench_device xfs
	data_fill "$bytes"
	note "sanity of a db of $(size "$bytes"), $SEGMENTS segments of log"
	samples_begin
	for ((n = 0; n < 2 * N + 1; n++)); do
		WARM=$([[ $n != 0 ]] || echo yes)
		timed "${GBE[@]}" --json verify --data
		sample sanity.whole "$TOOK"
		sample sanity.cpu "$CPU"
		sample sanity "$(jq '.verified[0].duration_usec' "$GBE_MEM/out")"
	done
	WARM=
	add_row sanity "$(size "$bytes")" "$(du -cb "$DATA"/member/wal/*.wal | awk 'END { printf "%.0f MB", $1 / 1e6 }')" \
		"$(ms "$(median sanity)")" "$(ms "$(best sanity)")" "$(ms "$(median sanity.whole)")" \
		"$(ms "$(median sanity.cpu)")" "$(count_of sanity)"
	limit "sanity of a db of $(size "$bytes"), warm" "$(ms "$(median sanity)")" 100 ms
	memory_of "verify --data" "${GBE[@]}" verify --data
	root_free
}

# Eight new backups are read, with the priorities of greenboot-etcd-scrub.service.
part_scrub() {
	local n pid began took

	bench_device xfs
	data_fill 1073741824
	for ((n = 0; n < 8; n++)); do
		gbe backup >/dev/null
	done
	MASKED='' boot A 2>"$GBE_MEM/err"
	start_etcd --heartbeat-interval=100 --election-timeout=1000
	note "etcd's puts, alone and during a scrub"
	PUT_CELLS=() PUT_MEDIANS=() PUT_P99S=()
	"$TOOLS/put-latency" "$ETCD_PORT" "$PUTS" 1024 "$PUT_KEYS" 2 >/dev/null
	puts
	began=$(date +%s%N)
	nice -n 19 chrt --idle 0 ionice -c 3 "$(program scrub)" --root="$ROOT" 2>"$GBE_MEM/scrub.err" &
	pid=$!
	puts
	# The scrub must have run all the time.
	kill -0 "$pid"
	wait "$pid"
	took=$((($(date +%s%N) - began) / 1000))
	puts
	add_row scrub "8 x 1.4 GB" "$(ms "$took")" "${PUT_CELLS[@]}" \
		"$(ratio "${PUT_MEDIANS[1]}" "${PUT_MEDIANS[0]}")" "$(ratio "${PUT_P99S[1]}" "${PUT_P99S[0]}")"
	loses "etcd's puts, median during a scrub" "$(ratio "${PUT_MEDIANS[1]}" "${PUT_MEDIANS[0]}")"
	loses "etcd's puts, p99 during a scrub" "$(ratio "${PUT_P99S[1]}" "${PUT_P99S[0]}")"
	stop_etcd
	root_free
}

# An update's etcd of the same version rehearses next to a busy etcd. Its data, 1 GiB, shares blocks with the live data.
part_rehearse() { # KIND
	local bytes=${SIZES#* } start took=() pid n

	bytes=${bytes%% *}
	bench_device "$1"
	start_etcd --snapshot-count=1000 --heartbeat-interval=100 --election-timeout=1000
	note "$1: a rehearsal on $(size "$bytes")"
	PUT_CELLS=() PUT_MEDIANS=() PUT_P99S=()
	"$TOOLS/put-latency" "$ETCD_PORT" "$((bytes / 100000))" 100000 1000000 1 >/dev/null
	stop_etcd
	start=$(date +%s%N)
	start_etcd --snapshot-count=1000 --heartbeat-interval=100 --election-timeout=1000
	start=$((($(date +%s%N) - start) / 1000))
	stage B
	install -D "$(command -v "$ETCD")" "$(deployment_dir B)/usr/bin/etcd"
	"$TOOLS/put-latency" "$ETCD_PORT" "$PUTS" 1024 "$PUT_KEYS" 2 >/dev/null
	puts
	for ((n = 0; n < 2; n++)); do
		nice -n 19 chrt --idle 0 ionice -c 3 "${GBE[@]}" --json rehearse >"$GBE_MEM/out"
		took+=("$(jq '.duration * 1e6 | floor' "$GBE_MEM/out")")
	done
	while :; do nice -n 19 chrt --idle 0 ionice -c 3 "${GBE[@]}" -q rehearse || exit; done 2>"$GBE_MEM/err" &
	pid=$!
	puts
	kill -0 "$pid"
	kill "$pid"
	wait "$pid" || true
	until [[ $("${GBE[@]}" --json rehearse --timeout=60s 2>/dev/null | jq -r .result) == passed ]]; do sleep 1; done
	puts
	add_row rehearse "$1" "$(size "$(stat -c %s "$DATA/member/snap/db")")" "$(ms "${took[1]}")" "$(ms "$start")" \
		"${PUT_CELLS[@]}" \
		"$(ratio "${PUT_MEDIANS[1]}" "${PUT_MEDIANS[0]}")" "$(ratio "${PUT_P99S[1]}" "${PUT_P99S[0]}")"
	limit "rehearsal of $(size "$bytes") on $1, beyond etcd's own start" "$(ms $((took[1] - start)))" 10000 ms
	limit "etcd's puts, p99 during a rehearsal on $1, compared with before" "$(ratio "${PUT_P99S[1]}" "${PUT_P99S[0]}")" 1.5
	stop_etcd
	root_free
}
