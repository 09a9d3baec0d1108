# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by cut.sh and boot.sh
#
# Kills: the operation dies at a named fault point, or before a system call that changes something. The file system
# stays as it is. Sourced after cut.sh.

# The calls that change something, and those that make it durable. (A file that openat creates is empty: one of these
# calls follows.)
CHANGING=write,pwrite64,rename,renameat,renameat2,mkdir,mkdirat,unlink,unlinkat,rmdir,symlinkat,linkat
CHANGING+=,ioctl,copy_file_range,ftruncate,fallocate,fchown,fchownat,fchmod,fchmodat,fsetxattr
CHANGING+=,fremovexattr,utimensat,fsync,fdatasync,syncfs
READING=openat,read,pread64,getdents64

# some COUNT: prints at most so many lines of stdin, evenly spread. Each file system begins at another line.
some() {
	awk -v count="$1" -v seed="$(cksum <<<"$KIND${SEED:-1}" | cut -d' ' -f1)" '
		{ line[NR] = $0 }
		END {
			if (count > NR) count = NR
			for (n = 0; n < count; n++)
				print line[(int(n * NR / count) + seed) % NR + 1]
		}'
}

# operation_traced OPERATION OUTPUT CALLS: traces its system calls.
operation_traced() {
	device_on "$1"
	TRACER=(strace -f -qq --seccomp-bpf -o "$2" -e "trace=$3" -e signal=none)
	operation_run "$1" >"$GBE_MEM/operation.log" 2>&1 || true
	TRACER=()
	disk_umount
}

# calls OPERATION CALLS: prints each call of its processes as CALL N.
calls() {
	local list=$GBE_MEM/calls.$1

	[[ -e $list ]] || operation_traced "$1" "$list" "$CHANGING,$READING"
	awk -v calls=",$2," '$2 ~ /^[a-z0-9_]+\(/ {
			call = substr($2, 1, index($2, "(") - 1)
			if (index(calls, "," call ",") != 0 && ++n[$1, call] > most[call])
				print call, ++most[call]
		}' "$list"
}

# points OPERATION: prints its fault points as POINT@PASS.
points() {
	local list=$GBE_MEM/points.$1

	if [[ ! -e $list ]]; then
		device_on "$1"
		GREENBOOT_ETCD_FAULT_TRACE=1 BUILD=$BUILD_FAULTS operation_run "$1" >"$list" 2>&1 || true
		disk_umount
	fi
	sed -n 's/^fault-point \([^ ]*\) \([0-9]*\)$/\1@\2/p' "$list"
}

# steps_passed OPERATION: checks that its fault points contain all steps that its command prints. FAILURES gets a line
# for each step that is missing without a reason, and one if no step was printed. A start has no table of steps.
steps_passed() {
	local op=$1 list=$GBE_MEM/steps.$1 step

	[[ ${OP_COMMAND[$op]} == "gbe "* ]] || return 0
	device_on "$op"
	GREENBOOT_ETCD_FAULT=steps BUILD=$BUILD_FAULTS operation_run "$op" >"$list"
	disk_umount
	[[ -s $list ]] || FAILURES+=("no steps were printed")
	while read -r step; do
		[[ ${NOT_PASSED["$op $step"]-} ]] || points "$op" | grep "^$step@" >/dev/null ||
			FAILURES+=("the step $step was not passed")
	done <"$list"
}

# died OPERATION WHAT: checks the state after its death, boots, and checks again. FAILURES gets a line for a broken
# promise.
died() {
	STATES=$((STATES + 1)) TRIED=$((TRIED + 1))
	check_cut "$1" before || FAILURES+=("$2: $BROKEN")
	disk_umount
}

kill_at_point() {
	device_on "$1"
	GREENBOOT_ETCD_FAULT=$2=kill BUILD=$BUILD_FAULTS operation_run "$1" \
		>"$GBE_MEM/operation.log" 2>&1 || true
	died "$1" "killed at $2"
}

kill_at_call() {
	device_on "$1"
	TRACER=(strace -f -qq --seccomp-bpf -o /dev/null -e "trace=$2" -e "inject=$2:signal=KILL:when=$3")
	operation_run "$1" >"$GBE_MEM/operation.log" 2>&1 || true
	TRACER=()
	died "$1" "killed before $2 number $3"
}

# kills OPERATION POINTS CALLS: plays at most so many of each. Prints one line.
kills() {
	local op=$1 at call number began=$SECONDS

	DISTINCT=0 TRIED=0 KNOWN=() FAILURES=()
	disk load "$(scene_dir "${OP_SCENE[$op]}")/image"
	steps_passed "$op"
	while read -r at; do
		kill_at_point "$op" "$at"
	done < <(points "$op" | some "$2")
	while read -r call number; do
		kill_at_call "$op" "$call" "$number"
	done < <(calls "$op" "$CHANGING" | some "$3")
	say_case "kills-$op@$KIND" "$TRIED kills, $DISTINCT different states, $((SECONDS - began)) s"
}

# say_case NAME TEXT: prints the case's line, with FAILURES as the reason.
say_case() {
	if [[ ${#FAILURES[@]} != 0 ]]; then
		echo "not ok $1: ${#FAILURES[@]} of $TRIED; ${FAILURES[0]}"
		[[ ${#FAILURES[@]} == 1 ]] || printf '  %s\n' "${FAILURES[@]:1}" >&2
		return 1
	fi
	echo "ok $1: $2"
}
