#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# store: in a bucket, cut at random. Each round draws a step and a cut. A cut comes at one of the fault points that
# the step passes, or at one of its requests, as measured before the first round. Then the bucket's files, the queue
# and the output are compared with a model of the promises. N=500 plays so many rounds; the default is a minute.
# SEED=S draws the same rounds again, ROUND=R ends after that round.

# shellcheck disable=SC2317,SC2119 # the case is called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../../lib/all.sh"
# shellcheck source=tests/lib/bucket.sh
. "$(dirname "$0")/../../lib/bucket.sh"
# shellcheck source=tests/lib/offsite.sh
. "$(dirname "$0")/../../lib/offsite.sh"

SEED=${SEED:-$EPOCHSECONDS}
ROUNDS=${N:-}
LAST=${ROUND:-}
SECONDS_MOST=60

STEPS=(push:small push:other push:large queue send send pull verify prune)
CUTS=(kill kill kill moment fault fault fault fault server server power power power-asking clock none)
# FAULT REQUESTS: an extended regular expression for the `METHOD TARGET` that the fault affects.
FAULTS='500 .
503 .
403 .
404 .
400 .
409 .
501 .
301 .
307 .
reset .
unanswered .
hang:0.3 .
late:0.2 .
huge-headers .
RequestTimeout .
NoSuchBucket .
SlowDown .
BadDigest ^(PUT|POST)
QuotaExceeded ^(PUT|POST)
RequestTimeTooSkewed .
NoSuchUpload uploadId=
InvalidPart uploadId=
wrong-etag ^PUT|^POST.*uploadId=
forget ^(PUT|DELETE)|^POST.*uploadId=
complete-200-with-error ^POST.*uploadId=
cut:1000 ^PUT|^GET
cut:100000 etcd.backup.gz
truncated ^GET|^POST
truncated:100 ^GET|^POST
slow:50000000 etcd.backup.gz
short-read ^GET.*/_?etcd.backup
flipped ^GET.*/_?etcd.backup
spaces:0.2 list-type|uploads|^POST
xml-bomb list-type|uploads|^POST
xml-nested list-type|uploads|^POST
xml-huge list-type|uploads|^POST
xml-cut list-type|uploads|^POST
xml-foreign list-type|uploads|^POST
many-names:1500 list-type
odd-names list-type'

declare -A PUSHED=()  # what was reported as pushed, or sent: NAME -> SHA-256 of the database, "-" where it is etcd's
declare -A WAITING=() # what was said to wait
declare -A MAY_GO=()  # what a prune was to remove
declare -A SUMS=()    # of the files
declare -A POINTS=()  # of a step that was measured: its fault points, POINT@PASS in a line each
declare -A ASKED=()   # of the same: its requests, METHOD TARGET in a line each
declare -A TOOK=()    # of the same: in milliseconds
OLD=0                 # how many were laid into the bucket for prunes to remove
declare -A DRAWS=() HITS=() # of a cut: how often it was drawn, and how often it hit

draw() { # NAME...: DRAWN is one of them
	local all=("$@")
	DRAWN=${all[RANDOM % ${#all[@]}]}
}

# draw_line TEXT: sets DRAWN to one line of TEXT, and NUMBER to its number, from 1.
draw_line() {
	local lines

	mapfile -t lines <<<"$1"
	NUMBER=$((1 + (RANDOM * 32768 + RANDOM) % ${#lines[@]}))
	DRAWN=${lines[NUMBER - 1]}
}

# requests_reach COUNT: waits until the server has had so many requests since the round began, or the program has
# ended.
requests_reach() {
	while (($(bucket_requests .) < $1)) && runs; do
		nap 0.01
	done
}

runs() { [[ $(awk '{ print $3 }' "/proc/$PID/stat" 2>/dev/null) == [!Z] ]]; }

# begin VERB...: starts the program with fault points. PID is the program itself, not a shell.
begin() {
	local clock=()
	[[ $CLOCK == 0 ]] || clock=(GBE_TEST_CLOCK="$CLOCK")
	(exec "${TRACER[@]}" "${clock[@]}" ${FAULT:+"$FAULT"} \
		"$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" --json store "$@" >"$GBE_MEM/out" 2>"$GBE_MEM/err") &
	PID=$!
}

# old_ones COUNT: adds so many snapshots to the bucket, of one hour long ago: a prune removes nothing of the last
# hours.
old_ones() {
	local n name file

	for ((n = 0; n < $1; n++)); do
		OLD=$((OLD + 1))
		name=$(printf '2018-01-30T03:10:00Z-%06d' "$OLD")
		for file in "$DATA_FILE" "$META_FILE"; do
			bucket_curl "/snapshots/device-1/${name//:/%3A}/$file" -f -T "$GBE_MEM/$file" \
				-H "x-amz-content-sha256: $(sha256sum "$GBE_MEM/$file" | cut -c 1-64)"
		done
	done
}

# step_verb STEP: gives the step something to do, and sets VERB and SUM.
step_verb() {
	SUM=-
	case $1 in
	push:*)
		VERB=(push "/var/${1#*:}.db")
		SUM=${SUMS[${1#*:}]}
		;;
	queue)
		put base/1 "$round"
		VERB=(push --queue)
		;;
	send)
		until [[ $(queued) == *" "* ]]; do
			faulty store-published=kill store push /var/small.db >/dev/null 2>&1 || true
		done
		VERB=(send)
		;;
	pull)
		rm -f "$ROOT/var/pulled.db"
		VERB=(pull latest /var/pulled.db)
		;;
	prune)
		old_ones 3
		# With a working server, only these may be removed, whatever happens in between.
		while read -r name; do
			MAY_GO[$name]=1
		done < <(json '.deleted[].name' store prune -n)
		VERB=(prune)
		;;
	*) VERB=("$1") ;;
	esac
}

# Plays each step once without a cut, and measures its points, requests and time.
measure() {
	local step began round=0

	for step in $(printf '%s\n' "${STEPS[@]}" | awk '!seen[$0]++'); do
		step_verb "$step"
		bucket_forget_requests
		FAULT=GREENBOOT_ETCD_FAULT_TRACE=1
		CLOCK=0
		began=${EPOCHREALTIME/./}
		begin "${VERB[@]}"
		STATUS=0
		wait "$PID" || STATUS=$?
		[[ $STATUS == 0 ]] || fail "$step, not cut: $STATUS: $(<"$GBE_MEM/err")"
		TOOK[$step]=$(((${EPOCHREALTIME/./} - began) / 1000))
		POINTS[$step]=$(sed -nE 's/^fault-point (.*) ([0-9]+)$/\1@\2/p' "$GBE_MEM/err")
		ASKED[$step]=$(cut -d' ' -f1,2 "$BUCKET_DIR/requests")
		echo "$step: ${TOOK[$step]} ms, $(wc -l <<<"${POINTS[$step]}") points, $(wc -l <<<"${ASKED[$step]}") requests"
		believe "${step%:*}"
	done
	holds_promises
}

# draw_fault STEP: prints a line for the server: a fault that affects the request at which it comes.
draw_fault() {
	local request from

	draw_line "${ASKED[$1]}"
	request=$DRAWN
	from=$NUMBER
	while :; do
		draw_line "$FAULTS"
		[[ ! $request =~ ${DRAWN#* } ]] || break
	done
	LINE=".* . ${DRAWN%% *} $from-"
	((RANDOM % 3 == 0)) || LINE+=$((from + RANDOM % 4))
}

play() { # STEP CUT
	FAULT=
	CLOCK=0
	step_verb "$1"
	bucket_forget_requests
	case $2 in
	kill | power)
		draw_line "${POINTS[$1]}"
		FAULT=GREENBOOT_ETCD_FAULT=$DRAWN=kill
		;;
	fault)
		draw_fault "$1"
		bucket_fault "$LINE"
		;;
	server | power-asking)
		# The cut comes while that request has no answer.
		draw_line "${ASKED[$1]}"
		bucket_fault ".* . hang $NUMBER-"
		;;
	moment) MOMENT=$((RANDOM % ${TOOK[$1]})) ;;
	clock) CLOCK=$(((RANDOM % 200 - 20) * 3600)) ;;
	esac
	PLAYED="$1 (${VERB[*]}), $2 $FAULT $CLOCK $(cat "$BUCKET_DIR/control" 2>/dev/null || true)"
	echo "round $round: $PLAYED"
	begin "${VERB[@]}"
	case $2 in
	server | power-asking) requests_reach "$NUMBER" ;;
	moment) nap "$(printf '%d.%03d' $((MOMENT / 1000)) $((MOMENT % 1000)))" ;;
	esac
	case $2 in
	server)
		kill -KILL "$BUCKET_PID"
		wait "$BUCKET_PID" 2>/dev/null || true
		;;
	moment | power-asking) kill -KILL "$PID" 2>/dev/null || true ;;
	esac
	STATUS=0
	wait "$PID" || STATUS=$?
	[[ $2 != power* ]] || disk_cut
	[[ $2 != server ]] || serve
	[[ $2 != server ]] || config store url="$BUCKET_URL/snapshots/device-1"
	count_hit "$2"
	bucket_no_faults
	CLOCK=0
}

# count_hit CUT: counts the cut if it came while the step was at work.
count_hit() {
	local hit=0

	[[ $1 != none ]] || return 0
	case $1 in
	kill | power* | moment) [[ $STATUS != 137 ]] || hit=1 ;;
	fault | server) (($(bucket_requests ' [^-][^ ]*$') == 0)) || hit=1 ;;
	clock) [[ $STATUS == 0 && $(bucket_requests ' 403 ') == 0 ]] || hit=1 ;;
	esac
	DRAWS[$1]=$((${DRAWS[$1]-0} + 1))
	HITS[$1]=$((${HITS[$1]-0} + hit))
	((hit)) || echo "round $round: it did not hit"
}

# hits: prints how many cuts hit, of all and of each kind.
hits() {
	local cut drawn=0 hit=0 each=

	for cut in "${!DRAWS[@]}"; do
		drawn=$((drawn + DRAWS[$cut]))
		hit=$((hit + HITS[$cut]))
		each+=", $cut ${HITS[$cut]} of ${DRAWS[$cut]}"
	done
	echo "$hit of $drawn cuts hit$each"
}

# From now on the printed result is a promise.
believe() { # STEP
	local name

	case $1 in
	push)
		name=$(sed -nE 's/.*snapshot ([0-9TZ:.undate-]+) waits in the queue.*/\1/p' "$GBE_MEM/err")
		if [[ $STATUS == 0 ]]; then
			PUSHED[$(jq -r .name "$GBE_MEM/out")]=$SUM
		elif grep -q "waits in the queue" "$GBE_MEM/err"; then
			[[ $name ]] || fail "round $round: it has no name: $(<"$GBE_MEM/err")"
			WAITING[$name]=$SUM
		fi
		;;
	queue)
		[[ $STATUS != 0 ]] || name=$(jq -r '.name // empty' "$GBE_MEM/out")
		[[ ! ${name-} ]] || WAITING[$name]=-
		;;
	send)
		[[ $STATUS != 0 ]] || while read -r name; do
			PUSHED[$name]=${WAITING[$name]--}
			unset "WAITING[$name]"
		done < <(jq -r '.sent[]' "$GBE_MEM/out")
		;;
	pull)
		if [[ $STATUS == 0 ]]; then
			name=$(jq -r .name "$GBE_MEM/out")
			[[ ${PUSHED[$name]--} == - || ${PUSHED[$name]} == $(sha256sum <"$ROOT/var/pulled.db" | cut -c 1-64) ]] ||
				fail "round $round: $name was pulled as something else"
		elif [[ -e $ROOT/var/pulled.db && $STATUS -lt 128 ]]; then
			fail "round $round: a pull failed with $STATUS, and the file is there"
		fi
		;;
	esac
	case $STATUS in
	0 | 1 | 4 | 5 | 6 | 7 | 137) ;;
	*) fail "round $round: status $STATUS: $(<"$GBE_MEM/err")" ;;
	esac
}

holds_promises() {
	local name sums=() there waits

	for name in "${!PUSHED[@]}"; do
		sums+=("$name=${PUSHED[$name]}")
	done
	there=$(python3 "$GBE_LIB/bucket-holds.py" "$BUCKET_DIR/objects/snapshots" "$GBE_MEM/known" "${sums[@]}" \
		2>"$GBE_MEM/why-not") ||
		fail "round $round: $(tail -n 1 "$GBE_MEM/why-not")"
	waits=$(queued)
	for name in "${!PUSHED[@]}"; do
		[[ ${MAY_GO[$name]-} || $'\n'$there$'\n' == *$'\n'"$name"$'\n'* ]] ||
			fail "round $round: $name was called pushed, and is not there"
	done
	for name in "${!WAITING[@]}"; do
		[[ ${MAY_GO[$name]-} || " $waits " == *" $name "* || $'\n'$there$'\n' == *$'\n'"$name"$'\n'* ]] ||
			fail "round $round: $name was reported as queued, but is missing in the queue and in the store"
	done
	LISTED=$(gbe --json store list 2>"$GBE_MEM/err" |
		jq -r '.snapshots[] | select(.state == "complete") | .name' | sort | xargs)
	[[ $LISTED == "$(xargs <<<"$there")" ]] || fail "round $round: listed $LISTED, and there is $there: $(<"$GBE_MEM/err")"
}

# With a working server, all queued snapshots are sent: first the one that was begun, then the newest first.
drain() {
	local waits=() begun=() sent name

	for name in $(queued | tr ' ' '\n' | sort -r); do
		if grep -qs '"upload"' "$ROOT$QUEUE/$name/_transfer.json"; then begun+=("$name"); else waits+=("$name"); fi
	done
	assert_exit 0 gbe --json store send
	sent=$(jq -r '.sent[]' <<<"$OUT" | xargs)
	assert_eq "round $round: what was sent, in this order" "$sent" "$(xargs <<<"${begun[*]} ${waits[*]}")"
	assert_eq "round $round: the queue" "$(queued)" ""
	for name in $sent; do
		PUSHED[$name]=${WAITING[$name]--}
	done
	WAITING=()
}

cuts() {
	local round step cut name began=$SECONDS

	scripted ext4
	rm "$ROOT/var/huge.db"
	config store queue-keep=100 hourly=3 daily=2
	for name in small other large; do
		SUMS[$name]=$(sha256sum <"$ROOT/var/$name.db" | cut -c 1-64)
	done
	gzip -c "$ROOT/var/small.db" >"$GBE_MEM/$DATA_FILE"
	printf '{"etcdVersion": "3.4.23"}' >"$GBE_MEM/$META_FILE"
	# The directory is not on the device, so that the device's disk can be removed.
	DATA=$GBE_MEM/etcd
	rm -rf "$DATA"
	start_etcd
	put_many base 100
	sync -f "$ROOT"
	measure
	began=$SECONDS
	for ((round = 1; ; round++)); do
		if [[ $ROUNDS ]]; then
			((round <= ROUNDS)) || break
		else
			((SECONDS - began < SECONDS_MOST)) || break
		fi
		RANDOM=$(((SEED * 7919 + round) % 32768))
		draw "${STEPS[@]}"
		step=$DRAWN
		draw "${CUTS[@]}"
		cut=$DRAWN
		[[ ${ASKED[$step]} || ! $cut =~ ^(fault|server|power-asking|clock)$ ]] || cut='kill'
		play "$step" "$cut"
		believe "${step%:*}"
		holds_promises
		((round % 8)) || { drain && holds_promises; }
		echo "$round rounds held, $(hits)" >"$GBE_MEM/rounds"
		[[ $round != "$LAST" ]] || break
	done
	drain
	holds_promises
	assert_exit 0 gbe store prune
	bucket_stop
}

suite_begin "$@"
snapshots_made || exit 1
run_case bucket-cuts cuts
echo "# SEED=$SEED: $(cat "$GBE_MEM/rounds" 2>/dev/null || echo 0 rounds held)" >&2
suite_end
