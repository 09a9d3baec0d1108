#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# store: in a bucket, cut at random. Each round draws a step, and how it is cut; then the bucket's own files, the queue
# and what was said are compared with a model of the promises. N=500: so many rounds; else, as many as take a minute.
# SEED=S draws the same again, ROUND=R ends after that round.

# shellcheck disable=SC2317,SC2119 # the case is called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"
# shellcheck source=tests/lib/bucket.sh
. "$(dirname "$0")/../lib/bucket.sh"
# shellcheck source=tests/lib/offsite.sh
. "$(dirname "$0")/../lib/offsite.sh"

SEED=${SEED:-$EPOCHSECONDS}
ROUNDS=${N:-}
LAST=${ROUND:-}
SECONDS_MOST=60

STEPS=(push push push queue send send pull verify prune)
CUTS=(kill kill fault fault fault fault server power power clock none)
POINTS=(part-written part-synced part-renamed part-durable write-named write-renamed store-part-sent store-data-sent
	store-hmac-sent store-meta-sent store-sent-noted store-published store-unpublished remove-entry-removed)
FAULTS=(500 503 403 404 400 409 501 301 307 reset unanswered cut:1000 cut:100000 truncated truncated:100 hang:0.3
	late:0.2 slow:50000000 wrong-etag short-read flipped forget complete-200-with-error spaces:0.2 xml-bomb
	xml-nested xml-huge xml-cut xml-foreign huge-headers many-names:1500 odd-names RequestTimeout NoSuchUpload
	InvalidPart NoSuchBucket SlowDown BadDigest QuotaExceeded RequestTimeTooSkewed)
METHODS=(PUT GET POST HEAD DELETE '(PUT|POST)' '.*' '.*')

declare -A PUSHED=()  # what was reported as pushed, or sent: NAME -> SHA-256 of the database, "-" where it is etcd's
declare -A WAITING=() # what was said to wait
declare -A MAY_GO=()  # what a prune was to remove
declare -A SUMS=()    # of the files

draw() { # NAME...: DRAWN is one of them
	local all=("$@")
	DRAWN=${all[RANDOM % ${#all[@]}]}
}

# requests_reach COUNT: the server has had so many since the round began, or the program has ended.
requests_reach() {
	while (($(bucket_requests .) < $1)) &&
		[[ $(awk '{ print $3 }' "/proc/$PID/stat" 2>/dev/null) == [!Z] ]]; do
		nap 0.01
	done
}

# begin VERB...: starts the program with fault points; PID is itself, and no shell.
begin() {
	local clock=()
	[[ $CLOCK == 0 ]] || clock=(GBE_TEST_CLOCK="$CLOCK")
	(exec "${TRACER[@]}" "${clock[@]}" ${FAULT:+GREENBOOT_ETCD_FAULT="$FAULT"} \
		"$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" --json store "$@" >"$GBE_MEM/out" 2>"$GBE_MEM/err") &
	PID=$!
}

step_verb() { # sets VERB and SUM
	SUM=-
	case $1 in
	push)
		draw small other large
		VERB=(push "/var/$DRAWN.db")
		SUM=${SUMS[$DRAWN]}
		;;
	queue)
		put base/1 "$round"
		VERB=(push --queue)
		;;
	pull)
		rm -f "$ROOT/var/pulled.db"
		VERB=(pull latest /var/pulled.db)
		;;
	prune)
		# As the server is well, that is what may go, whatever comes between.
		while read -r name; do
			MAY_GO[$name]=1
		done < <(json '.deleted[].name' store prune -n)
		VERB=(prune)
		;;
	*) VERB=("$1") ;;
	esac
}

play() { # STEP CUT
	local from

	FAULT=
	CLOCK=0
	bucket_forget_requests
	step_verb "$1"
	case $2 in
	kill)
		draw "${POINTS[@]}"
		FAULT="$DRAWN@$((1 + RANDOM % 3))=kill"
		;;
	fault)
		draw "${FAULTS[@]}"
		FAULT_SAID=$DRAWN
		draw "${METHODS[@]}"
		from=$((1 + RANDOM % 6))
		if ((RANDOM % 3)); then
			bucket_fault "$DRAWN . $FAULT_SAID $from-$((from + RANDOM % 4))"
		else
			bucket_fault "$DRAWN . $FAULT_SAID $from-"
		fi
		;;
	clock) CLOCK=$(((RANDOM % 200 - 20) * 3600)) ;;
	esac
	PLAYED="$1 (${VERB[*]}), $2 $FAULT $CLOCK $(cat "$BUCKET_DIR/control" 2>/dev/null || true)"
	echo "round $round: $PLAYED"
	begin "${VERB[@]}"
	case $2 in
	server | power)
		requests_reach $((RANDOM % 12))
		if [[ $2 == server ]]; then
			kill -KILL "$BUCKET_PID"
			wait "$BUCKET_PID" 2>/dev/null || true
		else
			kill -KILL "$PID" 2>/dev/null || true
		fi
		;;
	esac
	STATUS=0
	wait "$PID" || STATUS=$?
	[[ $2 != power ]] || disk_cut
	[[ $2 != server ]] || serve
	[[ $2 != server ]] || config store url="$BUCKET_URL/snapshots/device-1"
	bucket_no_faults
	CLOCK=0
}

# What was said is from now on a promise.
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
			fail "round $round: $name was said to wait, and is neither in the queue nor there"
	done
	LISTED=$(gbe --json store list 2>"$GBE_MEM/err" |
		jq -r '.snapshots[] | select(.state == "complete") | .name' | sort | xargs)
	[[ $LISTED == "$(xargs <<<"$there")" ]] || fail "round $round: listed $LISTED, and there is $there: $(<"$GBE_MEM/err")"
}

# With a server that is well, all that waits is sent, the newest first.
drain() {
	local waits sent name

	waits=$(queued | tr ' ' '\n' | sort -r | xargs)
	assert_exit 0 gbe --json store send
	sent=$(jq -r '.sent[]' <<<"$OUT" | xargs)
	assert_eq "round $round: what was sent, the newest first" "$sent" "$waits"
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
	# Beside the device, so that its disk can be taken away.
	DATA=$GBE_MEM/etcd
	rm -rf "$DATA"
	start_etcd
	put_many base 100
	sync -f "$ROOT"
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
		play "$step" "$cut"
		believe "$step"
		holds_promises
		((round % 8)) || { drain && holds_promises; }
		echo "$round" >"$GBE_MEM/rounds"
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
echo "# SEED=$SEED: $(cat "$GBE_MEM/rounds" 2>/dev/null || echo 0) rounds held" >&2
suite_end
