#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The recording disk is a process, below a loop device with a file system on it. After a kill of any of them in the
# middle of a write, each waiting process gets an error. No process waits for ever, and nothing is left.
# shellcheck disable=SC2317 # called by name
GBE_CRASH=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib/all.sh
. "$GBE_CRASH/../lib/all.sh"
PATIENCE=30

# disk_in_use: starts a writer that flushes each line to a disk, until that fails. Sets DEVICE, RELAY (the owner of
# the loop device), SERVER (the process that is the disk), WRITER.
disk_in_use() {
	local answer to from

	mkdir -p "$GBE_MEM/$CASE_NAME/fuse" "$GBE_MEM/$CASE_NAME/mounted"
	coproc BLOCKLOG { exec "$BUILD/tests/crash/blocklog" "$GBE_MEM/$CASE_NAME/fuse" $((1 << 30)); }
	RELAY=$BLOCKLOG_PID
	exec {to}>&"${BLOCKLOG[1]}" {from}<&"${BLOCKLOG[0]}"
	read -r -u "$from" answer
	DEVICE=${answer#ok }
	SERVER=$(pgrep -P "$RELAY")
	mkfs.xfs -q "$DEVICE"
	mount -o nouuid "$DEVICE" "$GBE_MEM/$CASE_NAME/mounted"
	while echo line >>"$GBE_MEM/$CASE_NAME/mounted/lines" && sync "$GBE_MEM/$CASE_NAME/mounted/lines"; do :; done \
		{to}>&- {from}<&- 2>/dev/null &
	WRITER=$!
	sleep 0.3
	kill -0 "$WRITER" || fail "the disk does not work"
}

# within SECONDS COMMAND...: expects that it succeeds in time.
within() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

ended() { ! kill -0 "$1" 2>/dev/null; }
nothing_on() {
	# The file goes away when the device is closed.
	[[ $(cat "/sys/block/${1##*/}/loop/backing_file" 2>/dev/null) != *"$GBE_SCRATCH"* ]]
}

killed() {
	disk_in_use
	"$1"
	within "$PATIENCE" ended "$WRITER" || fail "the writer waits for a disk that is not there"
	timeout "$PATIENCE" umount "$GBE_MEM/$CASE_NAME/mounted" || fail "it cannot be unmounted"
	kill -KILL "$RELAY" 2>/dev/null || true
	within "$PATIENCE" nothing_on "$DEVICE" || fail "$DEVICE is still in use"
	timeout "$PATIENCE" sync -f "$GBE_SCRATCH" || fail "sync waits"
}

kill_server() { kill -KILL "$SERVER"; }
kill_relay() { kill -KILL "$RELAY"; }
kill_both() { kill -KILL "$RELAY" "$SERVER"; }
# No more commands come, like after the end of the shell.
end_of_commands() { eval "exec ${BLOCKLOG[1]}>&-" && kill_relay; }

use_for_long() {
	set -e
	disk_in_use
	echo "$DEVICE" >"$GBE_MEM/device"
	sleep 600
}

# Kills all processes of a suite at once, with the file system still mounted.
whole_suite_killed() {
	local child

	export -f use_for_long disk_in_use fail
	CASE_NAME=$CASE_NAME CASE_WHY=$CASE_WHY BUILD=$BUILD GBE_MEM=$GBE_MEM unshare --mount --propagation private --pid --fork \
		--kill-child --mount-proc bash -c use_for_long &
	child=$!
	within "$PATIENCE" test -s "$GBE_MEM/device" || fail "it did not begin"
	kill -KILL "$child"
	within "$PATIENCE" nothing_on "$(<"$GBE_MEM/device")" || fail "$(<"$GBE_MEM/device") is still in use"
	timeout "$PATIENCE" sync -f "$GBE_SCRATCH" || fail "sync waits"
}

suite_begin "$@"
for victim in kill_server kill_relay kill_both end_of_commands; do
	run_case "disk-$victim" killed "$victim"
done
run_case disk-whole_suite_killed whole_suite_killed
suite_end
