# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153,SC2154 # shared with run and the others
#
# The parts of the bench. Each part makes its devices, takes them down again, and adds rows to the tables that are printed
# at the end. Sourced.

# bench_device KIND: a device that has booted deployment A and has no data yet.
bench_device() {
	device "$1" none "$IMAGE_SIZE" >"$GBE_MEM/device.log"
	LOOP=$(findmnt -n -o SOURCE --mountpoint "$ROOT")
	LOOP=${LOOP##*/}
	# Without this, all data is cached twice.
	losetup --direct-io=on "/dev/$LOOP" 2>/dev/null || LOOP_HOW="through the page cache"
	# On a device, prerun asks a program for its version once in a boot, but a script each time.
	install -D -m 0755 "$(command -v "$ETCD")" "$ROOT/usr/bin/etcd"
	MASKED=yes boot A
	STORE=$ROOT/var/lib/greenboot-etcd/backups
	COPIES=$ROOT/var/copies
	mkdir -p "$COPIES"
	GBE=("$(program greenboot-etcd)" --root="$ROOT")
}

# ---- backup and restore, compared with cp and rsync ----

add_row() { printf '%s\n' "$(row "${@:2}")" >>"$GBE_MEM/rows.$1"; }
print_rows() { [[ ! -e $GBE_MEM/rows.$1 ]] || cat "$GBE_MEM/rows.$1"; }

part_copies() { # KIND
	local bytes rounds

	bench_device "$1"
	for bytes in $SIZES; do
		data_fill "$bytes"
		note "$1: db of $(size "$bytes")"
		rounds=$N
		both "$rounds" "$RSYNC_N"
		add_copies "$1" "$(size "$bytes")" "$bytes"
		if [[ $bytes == "${SIZES%% *}" ]]; then
			part_calls "$1" "$(size "$bytes")"
		fi
	done
	if fs_clones "$1"; then
		data_fill "$FRAGMENTED_SIZE"
		data_fragment "$FRAGMENTED_EXTENTS"
		note "$1: db of $(size "$FRAGMENTED_SIZE") in $(data_extents) extents"
		both "$FRAGMENTED_N" 1
		add_copies "$1" "$(size "$FRAGMENTED_SIZE"), $(data_extents) extents" fragmented
		part_calls "$1" "$(data_extents) extents"
		part_memory "$1" "$(data_extents) extents"
	fi
	root_free
}

# add_copies KIND DATA BYTES: adds the figures of both().
add_copies() {
	local operation engine cp rsync most=1.00 what

	for operation in backup restore; do
		engine=$(median "$operation.ours.engine")
		cp=$(median "$operation.cp")
		rsync=$(median "$operation.rsync")
		what="$operation, $1, $2"
		add_row "$operation" "$1" "$2" "$(ms "$engine")" "$(ms "$(median "$operation.ours")")" \
			"$(ms "$cp")" "**$(ratio "$engine" "$cp")**" \
			"$(interval "$operation.ours.engine" "$operation.cp")" \
			"$(ratio "$(best "$operation.ours.engine")" "$(best "$operation.cp")")" \
			"$(ratio "$(median "$operation.ours")" "$cp")" \
			"$(ms "$rsync")" "$(ratio "$engine" "$rsync")" \
			"$(kib "$(median "$operation.ours.disk")")" \
			"$(kib "$(median "$operation.cp.disk")")" \
			"$(count_of "$operation.ours")/$(count_of "$operation.rsync")"
		add_row steps "$what" "$(ms "$(median "$operation.ours.clone")")" \
			"$(ms "$(median "$operation.ours.verify")")" \
			"$(ms "$(median "$operation.ours.sync")")" \
			"$(ms "$(median "$operation.ours.publish")")" \
			"$(ms "$engine")" "$(ms "$(median "$operation.ours.look")")" \
			"$(ms "$(median "$operation.ours.around")")" \
			"$(ms "$(median "$operation.ours.cpu")")" "$(ms "$(median "$operation.cp.cpu")")"
		if ! fs_clones "$1" && [[ $3 == "$HUNDRED" ]]; then
			most=0.90
		elif [[ $3 == fragmented ]]; then
			most=1.10
		fi
		limit "$what: engine / cp" "$(ratio "$engine" "$cp")" "$most"
		loses "$what: engine, compared with cp" "$(ratio "$engine" "$cp")"
		loses "$what: whole command, compared with cp" "$(ratio "$(median "$operation.ours")" "$cp")"
		loses "$what: engine, compared with rsync" "$(ratio "$engine" "$rsync")"
		limit "$what: the command around the engine" \
			"$(ms "$(median "$operation.ours.around")")" 25 ms
		limit_bytes "$1" "$what" "$operation"
		[[ $3 == fragmented ]] || eval "ENGINE_${operation}_${1//-/_}+=' $engine'"
	done
}

# A file system that shares blocks copies no data. Others copy no more than the allocated data.
limit_bytes() { # KIND WHAT OPERATION
	local copied

	copied=$(median "$3.ours.copied")
	if fs_clones "$1"; then
		limit "$2: data copied" "$(kib "$copied")" 0 KiB
	else
		limit "$2: data copied beyond what SEEK_DATA reports" \
			"$(kib $((copied - $("$TOOLS/seek-data" "$DATA"))))" 1024 KiB
	fi
}

# The cost grows with the extents, not with the bytes: compares the engine on the largest db with the smallest.
limit_growth() { # KIND
	local operation list times

	fs_clones "$1" || return 0
	for operation in backup restore; do
		list=ENGINE_${operation}_${1//-/_}
		# shellcheck disable=SC2086
		set -- "$1" ${!list}
		(($# > 2)) || return 0
		times=$(awk -v a="${!#}" -v b="$2" 'BEGIN { printf "%.1f", a / b }')
		limit "$operation, $1: engine, largest db / smallest ($((${SIZES##* } / ${SIZES%% *})) times the bytes)" \
			"$times" 3.0
	done
}

# ---- flushes and bytes, by system calls ----

part_calls() { # KIND WHAT
	local operation wrote seek

	seek=$("$TOOLS/seek-data" "$DATA")
	gbe backup base >/dev/null
	settle
	for operation in backup restore; do
		if [[ $operation == backup ]]; then
			traced "${GBE[@]}" --json backup bench
			gbe delete --force bench >/dev/null
		else
			traced "${GBE[@]}" --json restore base
			gbe delete --force "$(jq -r .displaced <<<"$OUT")" >/dev/null
		fi
		wrote=$((WROTE - $(jq -r .bytes_written <<<"$OUT")))
		add_row calls "$1" "$2" "$operation" "${FLUSHED%% *}" "${FLUSHED#* }" \
			"$(kib "$(jq -r .bytes_written <<<"$OUT")")" \
			"$(awk -v b="$wrote" 'BEGIN { printf "%.1f", b / 1024 }')"
		limit "$operation, $1, $2: flushes of the whole command" "${FLUSHED%% *}" \
			"$([[ $operation == backup ]] && echo 4 || echo 6)"
		limit "$operation, $1, $2: written besides data" "$(kib "$wrote")" 64 KiB
		if ! fs_clones "$1"; then
			limit "$operation, $1, $2: all written beyond what SEEK_DATA reports" \
				"$(kib $((WROTE - seek)))" 1024 KiB
		fi
	done
	gbe delete --force base >/dev/null
}

# ---- private memory ----

memory_of() { # WHAT PROGRAM [ARG...]
	local what=$1 kib rc=0
	shift
	kib=$("$TOOLS/rss-at-exit" "$@" 2>"$GBE_MEM/err") || rc=$?
	if [[ ! $kib ]]; then
		cat "$GBE_MEM/err" >&2
		return 1
	fi
	add_row memory "$what" "$kib" "$rc"
	# (The limit concerns the size of the data. The cost of each backup has its own row.)
	[[ $what == *" $BACKUPS backups" ]] || limit "private memory, $what" "$kib" 4095 KiB
}

# Every program, on data and a store of some size.
part_memory() { # KIND WHAT
	local name

	memory_of "backup, $1, $2" "${GBE[@]}" --json backup base
	memory_of "restore, $1, $2" "${GBE[@]}" --json restore base
	for name in prerun finalize; do
		memory_of "$name, $1, $2" "$(program "$name")" --root="$ROOT"
	done
}

memory_of_all() { # WHAT
	local n

	for n in status list explain "prune -n" "config --check" preflight health; do
		# shellcheck disable=SC2086
		memory_of "$n, $1" "${GBE[@]}" $n
	done
	for n in prerun green red health preflight finalize; do
		memory_of "$n, $1" "$(program "$n")" --root="$ROOT"
	done
}

# ---- etcd's puts, while backups share its blocks ----

puts() { # WHEN
	local median p99

	read -r median p99 < <("$TOOLS/put-latency" "$ETCD_PORT" "$PUTS" 1024 "$PUT_KEYS" $((SEED += 1)))
	PUT_CELLS+=("$(ms "$median")" "$(ms "$p99")")
	PUT_MEDIANS+=("$median") PUT_P99S+=("$p99")
}

live_backup() { gbe backup --live >/dev/null; }

part_latency() { # KIND
	local n

	bench_device "$1"
	PUT_CELLS=() PUT_MEDIANS=() PUT_P99S=()
	start_etcd --heartbeat-interval=100 --election-timeout=1000
	note "$1: etcd's puts"
	# The db has data, and all its pages will be shared.
	"$TOOLS/put-latency" "$ETCD_PORT" "$((PUT_KEYS / 4))" 16384 "$PUT_KEYS" 1 >/dev/null
	"$TOOLS/put-latency" "$ETCD_PORT" "$PUTS" 1024 "$PUT_KEYS" 2 >/dev/null
	puts
	puts
	live_backup
	puts
	for ((n = 1; n < 30; n++)); do
		"$TOOLS/put-latency" "$ETCD_PORT" 20 1024 "$PUT_KEYS" $((SEED += 1)) >/dev/null
		live_backup
	done
	puts
	add_row latency "$1" "$(size "$(stat -c %s "$DATA/member/snap/db")")" "${PUT_CELLS[@]}" \
		"$(ratio "${PUT_MEDIANS[3]}" "${PUT_MEDIANS[1]}")" \
		"$(ratio "${PUT_P99S[3]}" "${PUT_P99S[1]}")"
	loses "etcd's puts, $1, median after thirty backups, compared with before" \
		"$(ratio "${PUT_MEDIANS[3]}" "${PUT_MEDIANS[1]}")"
	loses "etcd's puts, $1, p99 after thirty backups, compared with before" \
		"$(ratio "${PUT_P99S[3]}" "${PUT_P99S[1]}")"
	stop_etcd
	root_free
}

# ---- costs that do not depend on the data ----

# in_turn NAME COMMAND...: samples in turn NAME, NAME.load (a program that only loads the sysroot by libostree), and
# NAME.call (this call alone).
in_turn() {
	local name=$1 n
	shift
	for ((n = 0; n < 2 * N + 1; n++)); do
		WARM=$([[ $n != 0 ]] || echo yes)
		timed "$@"
		sample "$name" "$TOOK"
		sample "$name.cpu" "$CPU"
		timed "$TOOLS/sysroot-load" "$ROOT"
		sample "$name.load" "$TOOK"
		sample "$name.load.cpu" "$CPU"
		sample "$name.call" "$(<"$GBE_MEM/out")"
	done
	WARM=
}

add_in_turn() { # NAME WHAT [LIMIT]
	local took load

	took=$(median "$1")
	load=$(median "$1.load")
	add_row turn "$2" "$(ms "$took")" "$(ms "$(median "$1.cpu")")" "$(ms "$load")" \
		"$(ms "$(median "$1.load.cpu")")" "$(ms "$(median "$1.call")")" \
		"$(ms $((took - load)))" "$(count_of "$1")"
	[[ ! ${3-} ]] || limit "$2, beyond libostree's load" "$(ms $((took - load)))" "$3" ms
}

part_store() {
	local n names

	bench_device xfs
	data_fill 33554432
	deploy B
	MASKED='' boot A 2>"$GBE_MEM/err"
	note "status and prerun with nothing to do"
	samples_begin
	in_turn prerun "$(program prerun)" --root="$ROOT"
	add_in_turn prerun "prerun, nothing to do" 20
	in_turn status "${GBE[@]}" status
	add_in_turn status "status" 20
	memory_of_all "$(gbe --json list | jq length) backups"
	note "$BACKUPS backups"
	for ((n = $(gbe --json list | jq length); n < BACKUPS; n++)); do
		gbe backup >/dev/null
	done
	for n in status list "prune -n" explain; do
		# shellcheck disable=SC2086
		in_turn "${n%% *}.many" "${GBE[@]}" $n
		add_in_turn "${n%% *}.many" "$n, $BACKUPS backups"
	done
	# Retention would remove them.
	mapfile -t names < <(gbe --json list | jq -r '.[].name')
	gbe pin "${names[@]}" >/dev/null
	in_turn prerun.many "$(program prerun)" --root="$ROOT"
	add_in_turn prerun.many "prerun, $BACKUPS backups"
	memory_of_all "$BACKUPS backups"
	root_free
}

part_size() {
	local path sum=0 bytes

	for path in "$BUILD/greenboot-etcd" "$BUILD"/hooks/*; do
		# Only the installed files count: programs and their library, no objects.
		[[ -f $path && -x $path && $path != *.installed ]] || continue
		"${STRIP:-strip}" -o "$GBE_MEM/stripped" "$path"
		bytes=$(stat -c %s "$GBE_MEM/stripped")
		# The program of the initramfs is not used in the running system.
		[[ ${path##*/} == initramfs ]] || sum=$((sum + bytes))
		add_row size "${path##*/}" "$(kib "$bytes")"
	done
	add_row size "together, without the initramfs's" "$(kib "$sum")"
	limit "all binaries of the system, stripped" "$(kib "$sum")" 1024 KiB
}
