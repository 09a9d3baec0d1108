#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A table of typing mistakes (cli-wrong.table): the exit status, and one line that names the object and the next step.
# The line repeats nothing, and the JSON has the same text. Valid short names and the output on a terminal follow.

# shellcheck disable=SC2317,SC2154 # cases are called by name; the table assigns
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

GBE=$(program greenboot-etcd)
DRY="Dry run: nothing is changed. Without --dry-run:"

# twice SENTENCE: prints the words that a sentence repeats.
twice() {
	local -A seen=()
	local clause rest=$1 word before=

	while [[ $rest ]]; do
		clause=${rest%%[:;,()]*}
		[[ $clause != "$rest" ]] || rest=
		rest=${rest#"$clause"}
		rest=${rest#?}
		clause=${clause# }
		clause=${clause% }
		if ((${#clause} > 3)) && [[ ${seen[$clause]-} ]]; then
			echo "$clause"
			return
		fi
		[[ ! $clause ]] || seen[$clause]=1
	done
	for word in $1; do
		word=${word%[,;:]}
		if [[ $word == "$before" || ($word == /?* && ${seen[path $word]-}) ]]; then
			echo "$word"
			return
		fi
		[[ $word != /?* ]] || seen[path $word]=1
		before=$word
	done
}

# wrong STATUS NAMES ARG...: checks the command line ARG with "--root=$ROOT --json".
wrong() {
	local wanted=$1 names=$2 status=0 double
	shift 2

	[[ ${1-} == --root=* ]] || set -- --root="$ROOT" "$@"
	"$GBE" --json "$@" >"$GBE_MEM/out" 2>"$GBE_MEM/err" </dev/null || status=$?
	OUT=$(<"$GBE_MEM/out")
	ERR=$(<"$GBE_MEM/err")
	[[ $status == "$wanted" ]] || said "exit status $status, not $wanted"
	[[ $ERR == "greenboot-etcd: "* && $ERR != *$'\n'* ]] || said "not one line"
	[[ $ERR == *"$names"* ]] || said "does not name $names"
	[[ $ERR == *"; "* ]] || said "no next step"
	[[ $wanted != 2 || $ERR == *"; see "* ]] || said "names no help"
	double=$(twice "${ERR#greenboot-etcd: }")
	[[ ! $double ]] || said "says twice: $double"
	if [[ $OUT == "{"* ]]; then
		fits error
	else
		said "no object on stdout"
	fi
}

said() { # WHY
	WRONG+=("$1: $ARGS: $ERR")
}

# Backups, data and the user's files are unchanged.
what_is_there() {
	(cd "$ROOT/var" && find lib/etcd lib/greenboot-etcd/backups snapshots a.db -printf '%p %s %T@\n' | LC_ALL=C sort)
}

table() {
	local status names before count=0 path=
	WRONG=()

	a_green xfs
	stop_etcd
	gbe backup before-one
	gbe backup before-two -d "the second"
	gbe pin before-two
	OUT=$(gbe list --names)
	echo text >"$ROOT/var/a.db"
	mkdir "$ROOT/var/snapshots"
	before=$(what_is_there)
	{ set +x; } 2>/dev/null
	while IFS='|' read -r status names ARGS; do
		[[ $status && $status != '#'* ]] || continue
		case $ARGS in
		store*) built store || continue ;;
		cluster* | member*) built cluster || continue ;;
		esac
		count=$((count + 1))
		# shellcheck disable=SC2086
		eval "set -- $ARGS"
		wrong "$status" "$names" "$@"
	done <"${0%.sh}.table"
	set -x
	for path in "${WRONG[@]}"; do
		echo "WRONG $path"
	done
	((${#WRONG[@]} == 0)) || fail "${#WRONG[@]} of $count: ${WRONG[0]}"
	((count >= 150)) || fail "only $count rows"
	assert_eq "nothing changed" "$(what_is_there)" "$before"
}

# terminal ARG...: prints the command's output on a terminal of 80 columns.
terminal() {
	OUT=$(python3 -c 'import os, pty, sys
out = b""
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], sys.argv[1:])
try:
    while True:
        bytes = os.read(fd, 65536)
        if not bytes:
            break
        out += bytes
except OSError:
    pass
os.waitpid(pid, 0)
sys.stdout.write(out.decode().replace("\r", ""))' "$GBE" --root="$ROOT" "$@")
}

# fits_80: expects that no line of OUT is longer, without the colours.
fits_80() {
	local line
	while IFS= read -r line; do
		line=${line//$'\e['[0-9]m/}
		line=${line//$'\e['[0-9][0-9]m/}
		((${#line} <= 80)) || fail "$1: ${#line} columns: $line"
	done <<<"$OUT"
}

# A backup can be named by a unique beginning of its name, of a checksum or of a run id. Its number in the list works,
# and so does an id as printed on a terminal.
right() {
	local names name automatic run ordinal verb

	a_green xfs
	stop_etcd
	gbe backup
	gbe backup
	gbe backup worked-one -d "what it was like before the long experiment with the operator from elsewhere"
	mapfile -t names < <(gbe list --names)
	automatic=${names[2]}
	run=${automatic##*_}
	ordinal=1
	[[ $run != *~* ]] || ordinal=${run##*~}
	for name in worked-one work w @1; do
		assert_json .name worked-one show "$name"
	done
	assert_json .name "$automatic" show @3
	assert_json .name "$automatic" show "${run:0:6}~$ordinal"
	assert_json .name "${names[1]}" show "${names[1]}"
	assert_eq pinned "$(gbe pin -n worked @2 | paste -sd' ')" \
		"$DRY pinned worked-one pinned ${names[1]}"
	assert_eq removed "$(gbe delete -n wor)" "$DRY"$'\n'"deleted worked-one"
	# A plan is the result, also of --quiet. A failure has no plan.
	for verb in "pin wor" "unpin wor" "delete wor" "mark bad wor" prune backup "restore wor" "restore wor --next-boot" \
		"restore --cancel"; do
		# shellcheck disable=SC2086 # words
		assert_exit 0 gbe -q $verb -n
		assert_eq "heading of $verb" "${OUT%%$'\n'*}" "$DRY"
		[[ $OUT == *$'\n'* ]] || fail "$verb -n prints no plan"
	done
	assert_exit 1 gbe delete -n nope
	assert_eq "no plan" "$OUT" ""

	export TERM=xterm
	for verb in list status explain; do
		terminal "$verb"
		fits_80 "$verb"
		[[ $OUT != *"$run"* ]] || fail "$verb has whole names: $OUT"
		terminal "$verb" --full
		[[ $verb == explain || $OUT == *"${DEPLOYMENT[A]:20:30}"* || $OUT == *"$run"* ]] ||
			fail "$verb --full shortens: $OUT"
	done
	NO_COLOR=1 terminal list
	[[ $OUT != *$'\e'* ]] || fail "colour: $OUT"
	sed -n 's/^\([^ ]\+\)  .*/\1/p' <<<"$OUT" | grep -v NAME >"$GBE_MEM/names"
	assert_eq "a handle for each" "$(paste -sd' ' "$GBE_MEM/names")" \
		"$(gbe list --names | sed 's/.*//;=;d' | sed 's/^/@/' | paste -sd' ')"
	assert_match "a row" "$OUT" "*@1  *:?? *A *by hand: worked-one *good *MiB*@2 *A *by hand *"
	assert_eq "no id" "$(grep -c "${DEPLOYMENT[A]:0:30}" <<<"$OUT")" 0
	while read -r name; do
		gbe show "$name" >&2 || fail "$name is no name"
	done <"$GBE_MEM/names"
	# Colour is used only on a terminal, unless the user switched it off.
	terminal list
	[[ $OUT == *$'\e['* ]] || fail "no colour: $OUT"
	TERM=dumb terminal status
	[[ $OUT != *$'\e'* ]] || fail "colour: $OUT"
	assert_eq "a pipe" "$(gbe list | grep -c -e $'\e' -e "^$automatic ")" 1
}

# Unknown keys are reported wherever the configuration is read, except with --quiet.
warned() {
	a_green xfs
	echo '[backup]
keep-god=3' >"$ROOT/etc/greenboot-etcd/greenboot-etcd.conf.d/x.conf"
	for verb in status list "prune -n"; do
		# shellcheck disable=SC2086
		assert_exit 0 gbe $verb
		assert_match "$verb" "$ERR" "greenboot-etcd: */x.conf:2: *keep-god*ignored"
	done
	assert_exit 0 gbe -q list
	assert_eq quiet "$ERR" ""
	assert_exit 0 gbe --json status
	jq -e .schema <<<"$OUT" >/dev/null
}

suite_begin "$@"
run_case cli-wrong-table table
run_case cli-short-names right
run_case cli-unknown-key warned
suite_end
