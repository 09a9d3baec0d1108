# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with run and the others
#
# A defragmentation compared with `etcdctl defrag`, and with etcd's own time for it. Sourced.

# server_took: microseconds of the last defragmentation, from etcd's own log ("took":"1.614s").
server_took() {
	grep -E '"msg":"(defragmented|finished defragmenting directory)"' "$ETCD_LOG" | tail -n 1 |
		sed -n 's/.*"took":"\([0-9.]*\)\(ms\|s\)".*/\1 \2/p' |
		awk '{ printf "%.0f\n", $1 * ($2 == "ms" ? 1000 : 1000000) }'
}

# defragmented NAME COMMAND...: samples NAME, and its time without the server's own work.
defragmented() {
	local server

	timed "${@:2}"
	server=$(server_took)
	[[ $server ]]
	sample "$1" "$TOOK"
	sample "$1.cpu" "$CPU"
	sample "$1.server" "$server"
	sample "$1.added" $((TOOK - server))
}

add_defrag() { # NAME WHAT
	add_row defrag "$2" "$DEFRAG_SIZE" "$(ms "$(median "$1")")" "$(ms "$(median "$1.server")")" \
		"$(ms "$(median "$1.added")")" "**$(ratio "$(median "$1")" "$(median "$1.server")")**" \
		"$(ms "$(median "$1.cpu")")" "$(count_of "$1")"
}

# The database has no free pages, so that each round has the same work.
part_defrag() {
	local n rounds=$(((N + 1) / 2))

	bench_device xfs
	start_etcd --heartbeat-interval=100 --election-timeout=1000
	note "a database of 200 MB, to be defragmented"
	"$TOOLS/put-latency" "$ETCD_PORT" $((DEFRAG_BYTES / 14500)) 14000 1000000000 1 >/dev/null
	ctl --command-timeout=60s defrag >/dev/null
	DEFRAG_SIZE=$(size "$(ctl endpoint status -w json | jq '.[0].Status.dbSize')")
	samples_begin
	for ((n = 0; n < rounds + 1; n++)); do
		WARM=$([[ $n != 0 ]] || echo yes)
		defragmented defrag.ours "${GBE[@]}" --json defrag --no-backup
		defragmented defrag.etcdctl "$ETCDCTL" --endpoints="http://127.0.0.1:$ETCD_PORT" \
			--command-timeout=60s defrag
		defragmented defrag.copied "${GBE[@]}" --json defrag
	done
	WARM=
	add_defrag defrag.ours "defrag --no-backup"
	add_defrag defrag.copied "defrag, with a backup before"
	add_defrag defrag.etcdctl "etcdctl defrag"
	limit "a defragmentation of $DEFRAG_SIZE: whole command / server's own time" \
		"$(ratio "$(median defrag.ours)" "$(median defrag.ours.server)")" 1.05
	loses "a defragmentation, compared with etcdctl defrag" \
		"$(ratio "$(median defrag.ours)" "$(median defrag.etcdctl)")"
	memory_of "defrag --no-backup" "${GBE[@]}" defrag --no-backup
	stop_etcd
	root_free
}
