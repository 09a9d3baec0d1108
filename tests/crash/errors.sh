# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by cut.sh and boot.sh
#
# Failing calls: the operation ends with the right exit status and a reason, and removes its unfinished parts. The
# next start finds everything. Sourced after kills.sh.

# errors_of CALL: prints the errors that it may fail with.
errors_of() {
	case $1 in
	openat) echo EMFILE EIO EROFS ENOSPC EDQUOT EINTR ;;
	read | pread64) echo EIO EINTR ;;
	getdents64 | unlink* | rmdir) echo EIO EROFS ;;
	ioctl | copy_file_range) echo EIO ENOSPC EDQUOT EINTR ;;
	fsync | fdatasync | syncfs) echo EIO ENOSPC EDQUOT ;;
	fallocate | write | pwrite64) echo ENOSPC EIO EDQUOT EINTR ;;
	*) echo ENOSPC EROFS EIO EDQUOT ;;
	esac
}

# The errors take turns from call to call.
error_of() {
	local -a all
	read -ra all <<<"$(errors_of "$1")"
	echo "${all[($2 + ${3:-0}) % ${#all[@]}]}"
}

# status_fits OPERATION STATUS: checks that the exit status is true. ROOT is as the operation left it.
status_fits() {
	local op=$1 status=$2 command=${OP_COMMAND[$1]}

	# The exit status of a program that could not be loaded.
	if [[ $status == 127 ]] && grep -q 'loading shared libraries' "$GBE_MEM/operation.log"; then
		return 0
	fi
	# 2: the configuration could not be read. 5: the data could not be read. 6: the backup could not be made.
	case ${command%% *}:$status in
	prerun:[05] | gbe:[0123567] | hook:[01]) ;;
	*) broken "exit status $status: $(tail -n 1 "$GBE_MEM/operation.log")" || return ;;
	esac
	if [[ $status == 0 && $command != prerun* && $command != *finalize ]]; then
		promise ended "$op" || return
	fi
	# etcd may write from now on. (Rule 0 lets it start if the program cannot determine who has the data open.)
	if [[ $status == 0 && $command == prerun* ]] && ! by_rule_0; then
		promise starts "$op" || return
	fi
	if [[ $command == gbe* && $status == [12567] || $status == [1267] ]]; then
		[[ $SEEN_DATA == "${OP_MAY[$op]%% *}" ]] ||
			broken "it ended with $status, nothing changed, and the data is $SEEN_DATA" || return
	fi
	[[ $status == 0 || -s $GBE_MEM/operation.log ]] || broken "it failed without a word" || return
	[[ $status != [1357] ]] || grep -qiE "$3" "$GBE_MEM/operation.log" ||
		broken "it does not say why: $(tail -n 1 "$GBE_MEM/operation.log")" || return
}

by_rule_0() { grep -q 'Decided by rule 0:' "$GBE_MEM/operation.log"; }

# The start did not finish its work: status names the reason, and so does the journal.
status_knows() {
	local op=$1 last

	[[ ${OP_COMMAND[$op]} == prerun* ]] || return 0
	! promise ended "$op" || return 0
	BROKEN=
	# A program that could not be loaded leaves no record. systemd reports it.
	! grep -q 'loading shared libraries' "$GBE_MEM/operation.log" || return 0
	# A start that could not reach the device also leaves no record.
	! grep -q 'worker ended with exit status 125, and who asks .* exit status 125' \
		"$GBE_MEM/operation.log" || return 0
	grep -qiE "$2" "$GBE_MEM/operation.log" ||
		broken "no message says that it failed: $(tail -n 1 "$GBE_MEM/operation.log")" || return
	# An unreadable fact may lead to another rule. status shows an operation that was begun or requested and
	# failed.
	grep -v 'A record could not be read' "$GBE_MEM/operation.log" |
		grep -qE 'could not be|held back|cannot be done' || return 0
	last=$(gbe --json status 2>/dev/null | jq -r '.last_operation | .result + ": " + .reason') ||
		broken "status does not answer" || return
	# The last operation counts: after a failed restore it may be a backup.
	if [[ $last == "done: "* ]]; then
		grep -q 'Backed up' "$GBE_MEM/operation.log"
	elif [[ $last == "held: "* ]]; then
		# It was the same before: nothing could be read or recorded.
		grep -q 'held back' "$GBE_MEM/operation.log"
	else
		grep -qiE "$2|exit status" <<<"$last"
	fi || broken "status does not know that it failed: $last"
}

# text_of ERROR: prints its text for people.
text_of() {
	case $1 in
	EIO) echo "Input/output error" ;;
	ENOSPC) echo "No space left on device" ;;
	EDQUOT) echo "Disk quota exceeded" ;;
	EROFS) echo "Read-only file system" ;;
	EMFILE) echo "Too many open files" ;;
	EINTR) echo "Interrupted system call" ;;
	esac
}

# error_at OPERATION CALL NUMBER ERROR: plays this error.
error_at() {
	local op=$1 rc=0 why what="$2 number $3 fails with $4"

	device_on "$op"
	TRACER=(strace -f -qq --seccomp-bpf -o /dev/null -e "trace=$2" -e "inject=$2:error=$4:when=$3")
	operation_run "$op" >"$GBE_MEM/operation.log" 2>&1 || rc=$?
	TRACER=()
	BROKEN=
	why="$(text_of "$4")|cannot|could not|does not validate|there is no backup"
	look && status_fits "$op" "$rc" "$why" && status_knows "$op" "$why" &&
		space_freed "$op" "$2" || FAILURES+=("$what: $BROKEN")
	# A start that could not restore lets etcd have the existing data, and reports it. No data is lost.
	ALSO_FINAL=${OP_MAY[$op]}
	died "$op" "$what"
	ALSO_FINAL=
}

# Half a copy is removed, unless the removal itself failed.
space_freed() {
	local left
	[[ $2 != unlink* && $2 != rmdir && $2 != openat && $2 != getdents64 && $2 != ioctl ]] || return 0
	for left in "${SEEN_LEFT[@]}"; do
		[[ $left != */.partial-* ]] || broken "$left was not taken back" || return
	done
}

# errors OPERATION COUNT: plays at most so many calls; LEVEL=full: each error of each call. ERROR="CALL NUMBER ERROR"
# plays this one, with the operation's output.
errors() {
	local op=$1 call number error began=$SECONDS

	DISTINCT=0 TRIED=0 KNOWN=() FAILURES=()
	disk load "$(scene_dir "${OP_SCENE[$op]}")/image"
	if [[ ${ERROR-} ]]; then
		read -r call number error <<<"$ERROR"
		error_at "$op" "$call" "$number" "$error"
		sed 's/^/    | /' "$GBE_MEM/operation.log"
	fi
	[[ ${ERROR-} ]] || while read -r call number; do
		for error in $(if [[ ${LEVEL:-ci} == ci ]]; then
			error_of "$call" "$number" "${#KIND}"
		else
			errors_of "$call"
		fi); do
			error_at "$op" "$call" "$number" "$error"
		done
	done < <(calls "$op" "$CHANGING,$READING" | some "$2")
	say_case "errors-$op@$KIND" "$TRIED errors, $DISTINCT different states, $((SECONDS - began)) s"
}
