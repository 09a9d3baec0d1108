# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by cut.sh and boot.sh
#
# Power cuts: an operation runs once on the recording disk. Then the disk is put into the states that a cut may have
# left, one after the other. Sourced after cut.sh.

# power_record OPERATION [commits]: runs and records it, and sets WRITES and FLUSHES. With commits, it runs slowly,
# and meanwhile other processes commit the file system at any moment.
power_record() {
	local op=$1 rc=0 committer=''

	disk load "$(scene_dir "${OP_SCENE[$op]}")/image"
	device_on "$op"
	sync -f "$ROOT"
	disk record
	if [[ ${2-} == commits ]]; then
		"$BUILD/tests/crash/commits" "$ROOT" var/lib var/lib/etcd var/lib/greenboot-etcd/backups &
		committer=$!
		TRACER=(strace -f -qq --seccomp-bpf -o /dev/null -e "trace=$CHANGING" -e "inject=$CHANGING:delay_exit=3000")
	fi
	operation_run "$op" >"$GBE_MEM/operation.log" 2>&1 || rc=$?
	TRACER=()
	disk mark
	if [[ $committer ]]; then
		# The recorder died before the end of the operation, so nothing of it is committed.
		kill "$committer" 2>/dev/null || rc="$rc, and nobody committed what it did"
		wait "$committer" 2>/dev/null
	fi
	# The file system writes the rest out later, which must not undo a promise.
	sync -f "$ROOT"
	disk stop
	read -r WRITES FLUSHES <<<"$ANSWER"
	disk_umount
	[[ $rc == 0 ]] || broken "it ended with $rc: $(tail -n 1 "$GBE_MEM/operation.log")"
}

# power_state OPERATION NUMBER: checks this state.
power_state() {
	local rc=0

	disk state "$2"
	read -r EPOCH WROTE OF WHEN HOW <<<"$ANSWER"
	if ! disk_mount 2>"$GBE_MEM/mount.log"; then
		broken "it cannot be mounted: $(head -n 1 "$GBE_MEM/mount.log")"
		return
	fi
	check_cut "$1" "$WHEN" || rc=1
	disk_umount
	return "$rc"
}

# power_cuts OPERATION BUDGET [commits]: prints one line.
power_cuts() {
	local op=$1 name=${3-power}-$1@$KIND states number first='' why='' violations=0 began=$SECONDS

	DISTINCT=0 KNOWN=()
	if ! power_record "$op" "${3-}"; then
		echo "not ok $name: $BROKEN"
		return 1
	fi
	disk plan "$2" "${SEED:-1}"
	states=$ANSWER
	for ((number = 0; number < states; number++)); do
		if ! power_state "$op" "$number"; then
			violations=$((violations + 1))
			[[ ! $first ]] || continue
			first=$number
			why="$BROKEN [$HOW, $WROTE of $OF writes after flush $EPOCH, $WHEN its end]"
		fi
	done
	STATES=$((STATES + states))
	if [[ $first ]]; then
		failure_keep "$op"
		echo "not ok $name: $violations of $states states; $why;" \
			"replay: tests/crash/run --replay=$op@$KIND/$first"
		return 1
	fi
	echo "ok $name: $states states, $DISTINCT different ones, of $WRITES writes and" \
		"$FLUSHES flushes, $((SECONDS - began)) s"
}

# failure_keep OPERATION: keeps the recording, so that each state can be replayed.
failure_keep() {
	local dir=$TEST_LOGS/crash-failed/$1@$KIND

	rm -rf "$dir"
	mkdir -p "$dir"
	disk reset
	disk save "$dir/image"
	disk savelog "$dir/log"
	cp -a "$(scene_dir "${OP_SCENE[$1]}")/"{boot,run,variables,backups} "$dir/"
	declare -p ROLE ROLE_STATE | sed 's/^declare -A/declare -gA/' >"$dir/roles"
	declare -p BUDGET SEED | sed 's/^declare --/declare -g/' >"$dir/plan"
}
