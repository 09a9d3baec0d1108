# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# Named cases. Each runs in a subshell and has a log with its commands. A case prints one line on stdout: `ok NAME`,
# `not ok NAME: why` or `skip NAME: why`. Sourced last.

SUITE=$(basename "$0" .sh)
CASE_LOGS=${TEST_LOGS:-$GBE_TOP/build/test-logs}/cases
CASES_FAILED=0
declare -A CASES_NAMED=()

# suite_begin [ARG...]: is the first line of a suite. Checks for root and tools, and makes the namespaces.
suite_begin() {
	local tool

	if ((EUID != 0)); then
		echo "skip $SUITE: needs root (loop mounts, namespaces)"
		exit 0
	fi
	for tool in "$ETCD" "$ETCDCTL" ostree jq curl mkfs.xfs mkfs.btrfs mkfs.ext4 ip unshare setpriv; do
		if ! command -v "$tool" >/dev/null; then
			echo "skip $SUITE: $tool is not installed (make deps)"
			exit 0
		fi
	done
	mkdir -p "$CASE_LOGS"
	isolate "$@"
}

suite_end() { exit $((CASES_FAILED > 0)); }

# run_case NAME FUNCTION [ARG...]: plays a case. CASE=GLOB chooses by name. ONLY and EXCEPT are lists of names without
# "@FILE-SYSTEM".
run_case() {
	local name=$1 short=${1%%@*} log rc trace
	shift
	[[ ! ${CASES_NAMED[$name]-} ]] || echo "not ok $name: there are two cases of that name"
	CASES_NAMED[$name]=yes
	# shellcheck disable=SC2053 # a pattern
	[[ $name == ${CASE:-*} ]] || return 0
	[[ ! ${ONLY-} || " $ONLY " == *" $short "* ]] || return 0
	[[ " ${EXCEPT-} " != *" $short "* ]] || return 0
	log=$CASE_LOGS/$SUITE.${name//\//_}.log
	CASE_WHY=$GBE_MEM/why
	CASE_NAME=$name
	rm -f "$CASE_WHY" "$CASE_WHY.passed"
	exec {trace}>"$log"
	(
		exec </dev/null >&"$trace" 2>&1
		BASH_XTRACEFD=$trace
		PS4='+ ${BASH_SOURCE##*/}:$LINENO: '
		trap case_cleanup EXIT
		trap 'case_broke "${BASH_SOURCE##*/}:$LINENO: $BASH_COMMAND"' ERR
		set -eEuo pipefail
		set -x
		# The block is one command: on some errors the shell ends without calling the trap.
		{
			"$@"
			: >"$CASE_WHY.passed"
		}
	)
	rc=$?
	[[ $rc != 0 || -e $CASE_WHY.passed ]] || rc=1
	exec {trace}>&-
	case $rc in
	0) echo "ok $name" ;;
	77) echo "skip $name: $(cat "$CASE_WHY")" ;;
	*)
		CASES_FAILED=$((CASES_FAILED + 1))
		echo "not ok $name: $(head -n 1 "$CASE_WHY" 2>/dev/null || echo "status $rc")"
		{
			echo "---- $name: the end of $log"
			tail -n 12 "$log"
		} >&2
		;;
	esac
}

OTHER_FS="btrfs btrfs-subvol xfs-noreflink"
EVERY_FS="xfs ext4 $OTHER_FS"

# kinds CI [MORE]: prints the file systems to play on. LEVEL=ci: one of CI, in turns, as most cases have the same
# result on each. LEVEL=full and higher: all of CI and MORE. FS overrides both.
kinds() {
	local turn=${#SUITE} list
	if [[ ${FS-} || ${LEVEL:-ci} != ci ]]; then
		echo "${FS:-$1 ${2-}}"
		return
	fi
	[[ ! -e $GBE_MEM/turn ]] || turn=$(<"$GBE_MEM/turn")
	echo $((turn + 1)) >"$GBE_MEM/turn"
	read -ra list <<<"$1"
	echo "${list[turn % ${#list[@]}]}"
}

# play PREFIX NAME...: plays the functions PREFIX_NAME on every file system. LEVEL=ci: each on a file system that
# clones or on one that copies, in turns. FS overrides both.
play() {
	local prefix=$1 number kind kinds
	shift
	for number; do
		EVERY_OTHER=$((${EVERY_OTHER-0} + 1))
		kinds=$EVERY_FS
		[[ ${LEVEL:-ci} != ci ]] || kinds=$([[ $((EVERY_OTHER % 2)) == 1 ]] && echo xfs || echo ext4)
		for kind in ${FS:-$kinds}; do
			run_case "$prefix-$number@$kind" "${prefix}_$number" "$kind"
		done
	done
}

case_cleanup() {
	{ set +xeu; } 2>/dev/null
	trap - ERR
	kill_etcd
	kill_peers
	root_free
}

case_broke() { [[ -e $CASE_WHY ]] || echo "$1" >"$CASE_WHY"; }

fail() {
	echo "$*" >"$CASE_WHY"
	echo "FAIL: $*" >&2
	exit 1
}

skip_case() {
	echo "$*" >"$CASE_WHY"
	exit 77
}

# ---- assertions ----

# assert_eq WHAT GOT WANTED
assert_eq() { [[ $2 == "$3" ]] || fail "$1: $2, expected $3"; }
assert_ne() { [[ $2 != "$3" ]] || fail "$1: still $2"; }
# assert_some WHAT NUMBER
assert_some() { [[ $2 =~ ^[1-9][0-9]*$ ]] || fail "$1: ${2:-no number}, expected some"; }
# assert_match WHAT GOT PATTERN
# shellcheck disable=SC2053 # a pattern
assert_match() { [[ $2 == $3 ]] || fail "$1: $2, expected $3"; }
assert_exists() { [[ -e $1 || -L $1 ]] || fail "$1 is missing"; }
assert_missing() { [[ ! -e $1 && ! -L $1 ]] || fail "$1 exists"; }

# assert_exit STATUS COMMAND...: runs COMMAND and keeps stdout in OUT and stderr in ERR.
assert_exit() {
	local want=$1 rc=0
	shift
	"$@" >"$GBE_MEM/out" 2>"$GBE_MEM/err" || rc=$?
	OUT=$(<"$GBE_MEM/out")
	ERR=$(<"$GBE_MEM/err")
	[[ $rc == "$want" ]] || fail "$*: status $rc, expected $want: $ERR"
}

# json FILTER VERB [ARG...]: prints a value of the command's JSON.
json() {
	local filter=$1
	shift
	gbe --json "$@" | jq -r "$filter"
}
# assert_json FILTER WANTED VERB [ARG...]
assert_json() {
	local filter=$1 want=$2 got
	shift 2
	got=$(json "$filter" "$@") || fail "$* --json: no answer"
	[[ $got == "$want" ]] || fail "$* $filter: $got, expected $want"
}

# fits SCHEMA: checks OUT, the output of the last command, against that schema.
fits() {
	local question answer complaint

	if [[ ! -p $GBE_MEM/fitting ]]; then
		mkfifo "$GBE_MEM/fits" "$GBE_MEM/fitting"
		python3 "$GBE_LIB/fits.py" "$GBE_TOP/data/schema" "$GBE_MEM" </dev/null >"$GBE_MEM/fits.log" 2>&1 &
	fi
	echo "$OUT" >"$GBE_MEM/fits.json"
	# Both pipes are opened for reading and writing, so that open() does not wait.
	exec {question}<>"$GBE_MEM/fits" {answer}<>"$GBE_MEM/fitting"
	echo "$1" >&"$question"
	IFS= read -r -t 60 complaint <&"$answer" || complaint="no answer: $(<"$GBE_MEM/fits.log")"
	exec {question}>&- {answer}>&-
	[[ ! $complaint ]] || fail "it does not fit $1.json: $complaint: $OUT"
}
of() { jq -r "$1" <<<"$OUT"; } # FILTER: jq's, on the output of the last command
