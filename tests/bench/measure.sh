# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154 # shared with run and the parts
#
# Measures one operation: its time, and the bytes that reached the disk. Samples are files below SAMPLES with a number on
# each line. Sourced after tests/lib/all.sh.

samples_begin() {
	SAMPLES=$GBE_MEM/samples
	rm -rf "$SAMPLES"
	mkdir -p "$SAMPLES"
}

sample() { [[ $WARM ]] || echo "$2" >>"$SAMPLES/$1"; }
count_of() { [[ ! -e $SAMPLES/$1 ]] || wc -l <"$SAMPLES/$1"; }
# Empty if NAME was not measured.
median() {
	[[ ! -e $SAMPLES/$1 ]] || sort -n "$SAMPLES/$1" | awk '{ v[NR] = $1 }
		END { printf "%.0f\n", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

best() { [[ ! -e $SAMPLES/$1 ]] || sort -n "$SAMPLES/$1" | head -n 1; }

# interval OURS THEIRS: "LOW to HIGH", an interval that has the true median of the ratio with at least 95 % probability.
# The interval comes from the sign test, which assumes no distribution. Empty if there are too few rounds. The nth samples
# of both are of the same round.
interval() {
	[[ ! -e $SAMPLES/$1 || ! -e $SAMPLES/$2 ]] || paste "$SAMPLES/$1" "$SAMPLES/$2" |
		awk 'NF == 2 { printf "%.6f\n", $1 / $2 }' | sort -n | awk '{ v[NR] = $1 }
			END {
				most = 0.025 * 2 ^ NR
				for (way = sum = 1; sum <= most && 2 * k < NR; sum += way)
					way *= (NR - k) / ++k
				if (k) printf "%.2f to %.2f\n", v[k], v[NR + 1 - k]
			}'
}

# Finishes the delayed work of the last operation (unlinked files, deleted subvolumes), so that the next one does not pay
# for it. A file system finishes all of it before it becomes read-only.
settle() {
	local n=0

	# (btrfs subvolume sync looks only once a second.)
	while [[ $KIND == btrfs* && $(btrfs subvolume list -d "$ROOT") ]] && ((n++ < 250)); do
		btrfs filesystem sync "$ROOT"
		sleep 0.02
	done
	mount -o remount,ro "$ROOT"
	mount -o remount,rw "$ROOT"
}

# The source of a copy is in memory for each contestant: our restore removes a large backup from there.
warm() { # DIR
	fs_clones "$KIND" || find "$1" -type f -exec cat {} + >/dev/null
}

disk_written() {
	local stat

	read -ra stat <"/sys/block/$LOOP/stat"
	echo $((stat[6] * 512))
}

# timed COMMAND... [+ COMMAND...]: sets TOOK and CPU, in microseconds.
timed() {
	local both

	both=$("$TOOLS/timed" -o "$GBE_MEM/out" "$@" 2>"$GBE_MEM/err") || {
		cat "$GBE_MEM/err" >&2
		return 1
	}
	TOOK=${both% *}
	CPU=${both#* }
}

# measured NAME COMMAND... [+ COMMAND...]: samples NAME (microseconds, also in TOOK) and NAME.disk (bytes). OUT gets the
# output of the commands.
measured() {
	local name=$1 before
	shift
	settle
	before=$(disk_written)
	timed "$@"
	sync -f "$ROOT"
	sample "$name" "$TOOK"
	sample "$name.cpu" "$CPU"
	sample "$name.disk" $(($(disk_written) - before))
	OUT=$(<"$GBE_MEM/out")
}

# The engine's own figures from OUT: time from the lock to the durable name, its steps, and copied bytes. Also the time to
# read etcd's files, and the rest of the command's time.
sample_engine() {
	local total clone verify sync publish look copied

	read -r total clone verify sync publish look copied < <(jq -r '"\(.timing |
		"\(.total_usec) \(.clone_usec) \(.verify_usec) \(.sync_usec) \(.publish_usec)"
		) \(.look_usec) \(.bytes_written)"' <<<"$OUT")
	sample "$1.engine" "$total"
	sample "$1.look" "$look"
	sample "$1.around" $((TOOK - total - look))
	sample "$1.clone" "$clone"
	sample "$1.verify" "$verify"
	sample "$1.sync" "$sync"
	sample "$1.publish" "$publish"
	sample "$1.copied" "$copied"
}

# ---- the contestants: each restores the initial state ----

backup_ours() {
	warm "$DATA"
	measured backup.ours "${GBE[@]}" --json backup bench
	sample_engine backup.ours
	gbe delete --force bench >/dev/null
}

backup_cp() {
	warm "$DATA"
	measured backup.cp cp -a --reflink=auto "$DATA" "$COPIES/cp" + sync -f "$COPIES"
	rm -rf "$COPIES/cp"
}

backup_rsync() {
	warm "$DATA"
	measured backup.rsync rsync -a "$DATA/" "$COPIES/rsync" + sync -f "$COPIES"
	rm -rf "$COPIES/rsync"
}

restore_ours() {
	warm "$STORE/base/data"
	measured restore.ours "${GBE[@]}" --json restore base
	sample_engine restore.ours
	gbe delete --force "$(jq -r .displaced <<<"$OUT")" >/dev/null
}

restore_cp() {
	warm "$STORE/base/data"
	measured restore.cp mv "$DATA" "$DATA.old" \
		+ cp -a --reflink=auto "$STORE/base/data" "$DATA" + sync -f "$ROOT"
	put_back
}

restore_rsync() {
	warm "$STORE/base/data"
	measured restore.rsync mv "$DATA" "$DATA.old" \
		+ rsync -a "$STORE/base/data/" "$DATA" + sync -f "$ROOT"
	put_back
}

put_back() {
	rm -rf "$DATA"
	mv "$DATA.old" "$DATA"
}

# alternate ROUNDS OPERATION CONTESTANT...: each round has all contestants, in a rotating order.
alternate() {
	local rounds=$1 operation=$2 round n contestants
	shift 2
	contestants=("$@")
	for ((round = 0; round < rounds; round++)); do
		for ((n = 0; n < $#; n++)); do
			"${operation}_${contestants[(round + n) % $#]}"
		done
	done
}

# both ROUNDS OF-RSYNC: backup, then restore, each compared with the tools that a user would run instead.
both() {
	local operation

	samples_begin
	for operation in backup restore; do
		if [[ $operation == restore ]]; then
			gbe backup base >/dev/null
		fi
		WARM=yes
		alternate "$WARM_UPS" "$operation" ours cp
		WARM=
		alternate "$1" "$operation" ours cp
		alternate "$2" "$operation" rsync
	done
	gbe delete --force base >/dev/null
}

# ---- system calls ----

# (sync_file_range only starts the kernel's writes. It does not wait, and does not flush a disk.)
FLUSHES=fsync,fdatasync,syncfs,sync,msync
WRITES=write,pwrite64,writev,pwritev,pwritev2,copy_file_range,sendfile,splice

# traced COMMAND...: sets FLUSHED, the number of flushes by kind, and WROTE, the bytes written to files below ROOT.
traced() {
	local log=$GBE_MEM/strace

	strace -f -y -s 0 -o "$log" -e "trace=$FLUSHES,$WRITES" "$@" >"$GBE_MEM/out"
	OUT=$(<"$GBE_MEM/out")
	FLUSHED=$(awk -v names="$FLUSHES" 'BEGIN { n = split(names, name, ",") }
		{ for (i = 1; i <= n; i++)
			if (index($2, name[i] "(") == 1) { count[name[i]]++; sum++ } }
		END { printf "%d", sum
			for (i = 1; i <= n; i++)
				if (count[name[i]]) printf " %s %d", name[i], count[name[i]] }' "$log")
	WROTE=$(awk -v below="<$ROOT/" -v names="$FLUSHES" '
		index($0, below) && $NF ~ /^[0-9]+$/ && $2 !~ /sync/ { sum += $NF }
		END { printf "%.0f", sum }' "$log")
}
