# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2153 # read by cut.sh and boot.sh, set by power.sh
#
# Failing disks: one dies in the middle of the operation, one fills up, one takes half of each write. Sourced after
# errors.sh.

# disk_dies OPERATION WRITES: after so many more writes, the disk accepts none, and the file system goes read-only or
# away. Then the machine is switched off, and the disk works again with the writes that it accepted.
disk_dies() {
	local op=$1 rc=0

	device_on "$op"
	sync -f "$ROOT"
	disk fail "$2"
	operation_run "$op" >"$GBE_MEM/operation.log" 2>&1 || rc=$?
	disk_umount 2>/dev/null
	disk fail off
	STATES=$((STATES + 1)) TRIED=$((TRIED + 1))
	BROKEN=
	if ! disk_mount 2>"$GBE_MEM/mount.log"; then
		FAILURES+=("dead after $2 writes: it cannot be mounted: $(<"$GBE_MEM/mount.log")")
		return
	fi
	# The reported cause depends on the program that met it first: the file system may also say EROFS or EUCLEAN.
	ALSO_FINAL=${OP_MAY[$op]}
	{ [[ $rc == 0 || -s $GBE_MEM/operation.log ]] || broken "it failed without a word"; } &&
		check_cut "$op" "$(if [[ $rc == 0 && ${OP_COMMAND[$op]} =~ ^(gbe|hook (green|red)) ]]; then
			echo after
		else
			echo before
		fi)" || FAILURES+=("dead after $2 writes (status $rc): $BROKEN")
	ALSO_FINAL=
	disk_umount
}

# disk_fills OPERATION POINT: fills the disk to the last byte at POINT, and resumes the operation. The next start
# finds a full disk, the one after it does not.
disk_fills() {
	local op=$1 rc=0 pid keeps=${OP_KEEPS[$1]}

	device_on "$op"
	# The data of a failed update is removed if a restore has no other room.
	case $op in retry | rollback | finish | staged) OP_KEEPS[$op]=green ;; esac
	(GREENBOOT_ETCD_FAULT=$2=stop BUILD=$BUILD_FAULTS operation_run "$op" \
		>"$GBE_MEM/operation.log" 2>&1) &
	pid=$!
	while kill -0 "$pid" 2>/dev/null && ! stopped_below "$pid" >"$GBE_MEM/stopped"; do
		sleep 0.01
	done
	disk_fill
	xargs -r kill -CONT <"$GBE_MEM/stopped"
	wait "$pid" || rc=$?
	BROKEN=
	look && status_fits "$op" "$rc" "No space left|room" && space_freed "$op" "" &&
		backups_intact "$op" && full_start "$op" || FAILURES+=("full at $2: $BROKEN")
	disk_free
	ALSO_FINAL=${OP_MAY[$op]} RETENTION_RAN=yes
	died "$op" "full at $2"
	ALSO_FINAL='' RETENTION_RAN=''
	OP_KEEPS[$op]=$keeps
}

# A start on a full disk lets etcd start, except after an upgrade that has no backup.
full_start() {
	MASKED='' boot "${OP_NEXT[$1]}" 2>"$GBE_MEM/start.log" || broken "prerun on a full disk" || return
	[[ $PRERUN == 0 || ${OP_NEXT[$1]} != A ]] ||
		broken "a full disk holds etcd back: $(tail -n 1 "$PRERUN_LOG")" || return
	look || return
	# shellcheck disable=SC2086 # words
	kept "$SEEN_HIDDEN" ${OP_KEEPS[$1]} && RETENTION_RAN=yes backups_intact "$1"
}

# stopped_below PID: prints the stopped processes among its descendants.
stopped_below() {
	local pid found=1

	for pid in $(pgrep -P "$1"); do
		if [[ $(sed 's/.*) //' "/proc/$pid/stat" 2>/dev/null) == T* ]]; then
			echo "$pid"
			found=0
		fi
		! stopped_below "$pid" || found=0
	done
	return "$found"
}

# short_writes OPERATION: expects the usual result.
short_writes() {
	local op=$1 rc=0

	[[ -e $GBE_MEM/short.so ]] ||
		${CC:-cc} -D_GNU_SOURCE -shared -fPIC -O2 -o "$GBE_MEM/short.so" "$GBE_CRASH/short.c" ||
		{ FAILURES+=("short writes: $GBE_CRASH/short.c does not build") && return; }
	device_on "$op"
	TRACER=(env "LD_PRELOAD=$GBE_MEM/short.so")
	operation_run "$op" >"$GBE_MEM/operation.log" 2>&1 || rc=$?
	TRACER=()
	STATES=$((STATES + 1)) TRIED=$((TRIED + 1))
	BROKEN=
	{ [[ $rc == 0 ]] || broken "it ended with $rc: $(tail -n 1 "$GBE_MEM/operation.log")"; } &&
		{ ! grep -q 'cannot be preloaded' "$GBE_MEM/operation.log" || broken "they were not short"; } &&
		check_cut "$op" after || FAILURES+=("short writes: $BROKEN")
	disk_umount
}

# disks OPERATION DEATHS: prints one line.
disks() {
	local op=$1 writes at began=$SECONDS

	DISTINCT=0 TRIED=0 KNOWN=() FAILURES=()
	power_record "$op" || FAILURES+=("$BROKEN")
	writes=$WRITES
	disk load "$(scene_dir "${OP_SCENE[$op]}")/image"
	for at in $(seq 0 "$writes" | some "$2"); do
		disk_dies "$op" "$at"
	done
	# The points are the beginning of a copy, and the moment before it is published.
	for at in backup-made backup-described restore-cloned restore-staged; do
		! points "$op" | grep -qx "$at@1" || disk_fills "$op" "$at"
	done
	short_writes "$op"
	say_case "disks-$op@$KIND" "$TRIED disks, $DISTINCT different states, $((SECONDS - began)) s"
}
