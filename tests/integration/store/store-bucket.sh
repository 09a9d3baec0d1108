#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# store in a bucket. A real Swift has the objects. A scripted server fails on request.

# shellcheck disable=SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../../lib/all.sh"
# shellcheck source=tests/lib/swift.sh
. "$(dirname "$0")/../../lib/swift.sh"
# shellcheck source=tests/lib/bucket.sh
. "$(dirname "$0")/../../lib/bucket.sh"
# shellcheck source=tests/lib/offsite.sh
. "$(dirname "$0")/../../lib/offsite.sh"

# This is the document's example.
DOCUMENTED=2018-01-30T01:02:03Z-000009
SMALL=/var/small.db

# on_swift BUCKET: makes a device whose bucket is on Swift, which all cases share.
on_swift() {
	[[ $SWIFT_DIR ]] || skip_case "Swift is not installed (make deps-all)"
	swift_bucket "$1"
	new_device "$SWIFT_URL/$1/device-1" "$SWIFT_CA" "$SWIFT_KEY_ID" "$SWIFT_SECRET"
}

with_etcd() {
	power_on
	put_many base 300
}

travels() { # on_swift BUCKET | scripted
	local hash

	"$@"
	with_etcd
	hash=$(hash_kv)
	push
	assert_eq HashKV "$(jq .hash_kv <<<"$OUT")" "$hash"
	assert_eq states "$(states)" "$NAME=complete"
	assert_eq "the queue" "$(ls -A "$ROOT$QUEUE")" ""
	assert_exit 0 gbe --json store pull latest /var/pulled.db
	assert_eq HashKV "$(jq .hash_kv <<<"$OUT")" "$hash"
	assert_exit 0 gbe --json store verify
	assert_eq compared "$(jq .compared <<<"$OUT")" true
	assert_exit 0 gbe --json status
	fits status
	assert_eq proved "$(jq -r .offsite.proved <<<"$OUT")" "$NAME"
	assert_exit 0 gbe status
	assert_match text "$OUT" "*Off device*$NAME, proved*ago*"
	assert_exit 0 gbe store list
	assert_exit 0 gbe store prune
	assert_match prune "$OUT" "nothing to remove*"
}

# An upload in four parts, cut after the second, resumes with the third.
in_parts() { # on_swift BUCKET | scripted
	local size again

	"$@"
	faulty store-part-sent@3=kill store push /var/huge.db >/dev/null 2>&1 || true
	NAME=$(queued)
	size=$(stat -c %s "$ROOT$QUEUE/$NAME/$DATA_FILE")
	((size > 24 << 20)) || fail "it has $size bytes"
	assert_exit 0 gbe store list
	[[ $OUT != *complete* ]] || fail "half of it is called complete: $OUT"
	assert_exit 0 gbe --json store send
	assert_eq sent "$(jq -c .sent <<<"$OUT")" "[\"$NAME\"]"
	# The two sent parts are known; the meta file is new.
	again=$(json .offsite.sent status)
	((again >= size - (16 << 20) && again < size - (16 << 20) + 1000)) || fail "sent again: $again of $size"
	assert_exit 0 gbe store pull latest /var/pulled.db
	cmp "$ROOT/var/pulled.db" "$ROOT/var/huge.db"
}

# On a link that breaks again and again, one push is finished: the one that was begun, even if a newer one waits.
finishes_first() {
	scripted
	faulty store-part-sent@2=kill store push /var/huge.db >/dev/null 2>&1 || true
	faulty store-published=kill store push "$SMALL" >/dev/null 2>&1 || true
	read -ra NAMES <<<"$(queued)"
	assert_eq "wait" "${#NAMES[@]}" 2
	assert_exit 0 gbe --json store send
	assert_eq sent "$(jq -r '.sent[]' <<<"$OUT" | xargs)" "${NAMES[*]}"
}

# ---- refusals ----

# refused STATUS WORDS VERB...
refused() {
	assert_exit "$1" gbe store "${@:3}"
	assert_match "why" "$ERR" "*$2*"
	! grep -aqF "$SECRET" "$GBE_MEM/err" "$GBE_MEM/out" || fail "the key is told"
}

wrong_on_swift() {
	on_swift refusals
	SECRET=0123456789abcdef0123456789abcdef01234567
	access "$SWIFT_KEY_ID" "$SECRET"
	refused 5 "secret of the access key" list
	refused 5 "waits in the queue" push "$SMALL"
	access test:nobody "$SECRET"
	refused 5 "403 " list
	access "$SWIFT_KEY_ID" "$SWIFT_SECRET"
	config store region=eu-north-9
	refused 5 "region" list
	unconfig store region
	config store url="$SWIFT_URL/nowhere/device-1"
	refused 5 "no such bucket" list
	refused 5 "no such bucket" push "$SMALL"
	refused 5 "no such bucket" pull latest /var/none.db
	config store url="$SWIFT_URL/refusals/device-1"
	assert_exit 0 gbe store send
	assert_eq "the queue" "$(queued)" ""
}

# Checks the meaning of each code, for a list and for a push. A refused request is not repeated.
error_codes() {
	local code status words tries

	scripted
	config store queue-keep=100
	SECRET=$BUCKET_SECRET
	while read -r code status tries words; do
		bucket_no_faults
		bucket_forget_requests
		bucket_fault "GET list-type $code"
		refused "$status" "$words" list
		assert_eq "$code: requests" "$(bucket_requests '^GET .*list-type')" "$tries"
		bucket_forget_requests
		bucket_fault "PUT . $code"
		refused "$status" "waits in the queue*$words" push "$SMALL"
		assert_eq "$code: requests" "$(bucket_requests '^PUT')" "$tries"
		assert_eq "$code: objects" "$(bucket_objects snapshots)" ""
	done <<-'END'
		InternalError 7 3 the server fails (500 InternalError
		SlowDown 7 3 the server fails (503 SlowDown
		ServiceUnavailable 7 3 the server fails (503
		NotImplemented 7 3 the server fails (501
		RequestTimeout 7 3 waited too long
		OperationAborted 7 3 busy
		BadDigest 7 3 received something else
		XAmzContentSHA256Mismatch 7 3 received something else
		AccessDenied 5 1 not allowed
		AccountProblem 5 1 the server refuses (403 AccountProblem
		ExpiredToken 5 1 the access key has expired
		InvalidAccessKeyId 5 1 does not know the access key
		SignatureDoesNotMatch 5 1 secret of the access key
		AuthorizationHeaderMalformed 5 1 region is wrong
		NoSuchBucket 5 1 no such bucket
		EntityTooLarge 5 1 no object that large
		QuotaExceeded 5 1 the bucket is full
		InvalidArgument 5 1 the server refuses (400
		InvalidRequest 5 1 the server refuses (400
		MethodNotAllowed 5 1 the server refuses (405
		MissingContentLength 5 1 the server refuses (411
		MalformedXML 5 1 the server refuses (400
		RequestTimeTooSkewed 5 1 clock
		PermanentRedirect 5 1 at another address
		TemporaryRedirect 5 1 at another address
	END
	bucket_no_faults
	assert_exit 0 gbe --json store send
	assert_eq "the queue" "$(queued)" ""
	assert_eq "what came" "$(states | wc -w)" 25
}

# A redirect of the server is not followed, and no key is sent there.
redirected() {
	local there code

	scripted
	SECRET=$BUCKET_SECRET
	there=$(
		python3 -c 'import socket, sys, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); print(s.getsockname()[1], flush=True)
s.accept(); open(sys.argv[1], "w").close()' "$GBE_MEM/visited" >"$GBE_MEM/there" 2>&1 &
		until [[ -s $GBE_MEM/there ]]; do nap 0.02; done
		cat "$GBE_MEM/there"
		echo $!
	)
	read -r -d '' there code <<<"$there" || true
	for how in 301 307; do
		bucket_no_faults
		bucket_fault "(GET|PUT|HEAD) . $how:https://127.0.0.1:$there"
		refused 5 "at another address, at https://127.0.0.1:$there*$how" list
		refused 5 "at another address" push "$SMALL"
	done
	kill "$code"
	assert_missing "$GBE_MEM/visited"
}

# A certificate of another issuer or name, and a missing one, are refused. TLS is never left out.
certificates_checked() {
	scripted
	SECRET=$BUCKET_SECRET
	certificates "$GBE_MEM/theirs" 2>/dev/null
	cp "$GBE_MEM/theirs/ca.crt" "$ROOT$CA"
	refused 7 "certificate" list
	refused 7 "certificate" push "$SMALL"
	unconfig store ca
	refused 7 "certificate" list
	config store ca="$CA"
	cp "$BUCKET_CA" "$ROOT$CA"
	config store url="https://localhost:${BUCKET_URL##*:}/snapshots/device-1"
	refused 7 "certificate" list
	assert_eq "requests" "$(bucket_requests .)" 0
	config store url="http://127.0.0.1:${BUCKET_URL##*:}/snapshots/device-1"
	refused 2 "url" push "$SMALL"
	config store url="$BUCKET_URL/snapshots/device-1"
	bucket_stop
	refused 7 "refused" list
	assert_eq "the queue" "$(queued | wc -w)" 1
}

# The key is readable only in its file.
key_is_secret() {
	local token=tokentokentokentokentoken4711 file

	scripted
	SECRET=$BUCKET_SECRET
	access "$BUCKET_KEY_ID" "$BUCKET_SECRET" "$token"
	mkdir -p "$ROOT/usr/bin"
	cp "$(command -v age)" "$ROOT/usr/bin/"
	age-keygen -o "$ROOT/etc/greenboot-etcd/age" 2>/dev/null
	sed -n 's/^# public key: //p' "$ROOT/etc/greenboot-etcd/age" >"$ROOT/etc/greenboot-etcd/age.pub"
	config store encrypt-to=/etc/greenboot-etcd/age.pub identity=/etc/greenboot-etcd/age
	# The arguments of all programs that it starts have no key. Core dumps are off before the key is read.
	assert_exit 0 env -u BUCKET_SECRET strace -f -qq -v -s 9999 -e trace=execve,prctl,openat,openat2 -o "$GBE_MEM/trace" \
		"$BUILD/greenboot-etcd" --root="$ROOT" -v store push "$SMALL"
	cp "$GBE_MEM/err" "$GBE_MEM/said.push"
	assert_match "age" "$(grep execve "$GBE_MEM/trace" | tail -n 1)" "*age*"
	grep -q 'prctl(PR_SET_DUMPABLE, SUID_DUMP_DISABLE) *= 0' "$GBE_MEM/trace" || fail "cores are possible"
	assert_exit 0 gbe -v store verify
	cp "$GBE_MEM/err" "$GBE_MEM/said.verify"
	# The program crashes in the middle of the work.
	(
		cd "$GBE_MEM"
		ulimit -c unlimited
		faulty store-data-sent=abort store push "$SMALL" >"$GBE_MEM/said.abort" 2>&1 || true
	)
	[[ $(</proc/sys/kernel/core_pattern) != core ]] ||
		assert_eq "cores" "$(find "$GBE_MEM" -maxdepth 1 -name 'core*')" ""
	# This is the server's answer to a wrong key.
	access "$BUCKET_KEY_ID" "${BUCKET_SECRET}x" "$token"
	assert_exit 5 gbe -v store send
	cp "$GBE_MEM/err" "$GBE_MEM/said.wrong"
	assert_exit 0 gbe diagnose /var/diagnosis.tar
	mkdir "$GBE_MEM/diagnosis"
	tar -C "$GBE_MEM/diagnosis" -xf "$ROOT/var/diagnosis.tar"
	assert_exit 0 gbe --json config
	cp "$GBE_MEM/out" "$GBE_MEM/said.config"
	for file in "$BUCKET_SECRET" "$token"; do
		! grep -raF "$file" "$GBE_MEM"/said.* "$GBE_MEM/diagnosis" "$GBE_MEM/trace" "$ROOT/var/lib/greenboot-etcd" \
			"$ROOT/run" || fail "the key is told"
	done
	# A key file that other users can read is refused.
	chmod 644 "$ROOT$KEY"
	refused 5 "access-key-file" list
	chmod 600 "$ROOT$KEY"
	echo nonsense >"$ROOT$KEY"
	refused 2 "access-key-file" list
	printf '[default]\naws_access_key_id = x\n' >"$ROOT$KEY"
	refused 2 "aws_secret_access_key" list
}

# ---- broken connections and invalid answers ----

# broken STATUS FAULT: expects that a push under this fault fails with STATUS and stays queued. Without the fault, it
# is sent.
broken() {
	local status=$1 fault=$2 rc=0

	bucket_no_faults
	bucket_forget_requests
	bucket_fault "(PUT|GET|POST|HEAD|DELETE) . $fault"
	assert_exit "$status" gbe store push "${3:-$SMALL}"
	(($(bucket_requests .) <= 12)) || fail "$fault: $(bucket_requests .) requests"
	for rc in list "verify latest" "pull latest /var/none.db"; do
		# shellcheck disable=SC2086 # words
		gbe store $rc >"$GBE_MEM/out" 2>"$GBE_MEM/err" && [[ $rc != list ]] && fail "$fault: store $rc"
		[[ $(<"$GBE_MEM/out") != *complete* ]] || fail "$fault: $(<"$GBE_MEM/out")"
	done
	assert_missing "$ROOT/var/none.db"
	assert_missing "$ROOT/var/none.db.part"
	bucket_no_faults
	[[ $(states) != *=complete* ]] || fail "$fault: something is called complete"
	assert_exit 0 gbe store send
	assert_eq "$fault: the queue" "$(queued)" ""
	assert_match "$fault" "$(states)" "2*=complete"
	NAME=$(states)
	assert_exit 0 gbe store pull latest /var/none.db
	cmp "$ROOT/var/none.db" "$ROOT${3:-$SMALL}"
	rm "$ROOT/var/none.db"
	find "$BUCKET_DIR/objects" -type f -delete
}

connections() {
	scripted
	broken 7 reset
	broken 7 cut:100
	broken 1 forget
	broken 7 truncated
	broken 7 huge-headers
	broken 7 unanswered
}

answers() {
	local fault

	scripted
	push "$SMALL"
	for fault in xml-bomb xml-nested xml-huge xml-cut xml-foreign truncated huge-headers reset; do
		bucket_no_faults
		bucket_forget_requests
		bucket_fault "GET list-type $fault"
		assert_exit 7 gbe store list
		assert_eq "a line" "$(wc -l <"$GBE_MEM/err")" 1
		assert_exit 7 gbe store pull latest /var/none.db
		assert_exit 7 gbe store prune
		(($(bucket_requests .) <= 9)) || fail "$fault: $(bucket_requests .) requests"
	done
	bucket_no_faults
	bucket_fault "GET list-type spaces:0.5" "(PUT|HEAD) . late:0.2" "GET $DATA_FILE slow:2000000"
	push "$SMALL"
	assert_exit 0 gbe store pull latest /var/pulled.db
	# A break in the middle of an object loses nothing.
	bucket_no_faults
	bucket_fault "GET $DATA_FILE cut:5000 2" "GET $DATA_FILE truncated:6000 1"
	assert_exit 0 gbe store pull latest /var/again.db
	cmp "$ROOT/var/again.db" "$ROOT$SMALL"
}

# [store] url= leads to a console, or a login portal answers for the bucket: every verb refuses this answer.
pages() {
	local fault verb

	scripted
	SECRET=$BUCKET_SECRET
	push "$SMALL"
	bucket_fault "GET list-type AccessDenied"
	refused 5 "not allowed*s3:ListBucket" list
	bucket_no_faults
	bucket_fault "GET $META_FILE AccessDenied"
	refused 5 "not allowed*s3:ListBucket*missing" push "$SMALL"
	for fault in page xhtml; do
		bucket_no_faults
		bucket_fault "(PUT|GET|POST|HEAD|DELETE) . $fault"
		for verb in list verify prune "pull latest /var/none.db" "push $SMALL" send; do
			# shellcheck disable=SC2086 # words
			refused 7 "the answer is*object store" $verb
			[[ $ERR != *"another snapshot"* ]] || fail "$fault: $ERR"
		done
		# The same for requests about one object.
		bucket_no_faults
		bucket_fault "GET $META_FILE $fault"
		refused 7 "the answer is*object store" send
		bucket_no_faults
		bucket_fault "HEAD . page"
		refused 7 "the answer is*object store" send
		bucket_no_faults
		assert_exit 0 gbe store send
		assert_eq "$fault: the queue" "$(queued)" ""
	done
	assert_missing "$ROOT/var/none.db"
}

# in_time FAULT VERB...: expects that a slow or endless answer has only the time of --timeout.
in_time() {
	local began=$SECONDS

	bucket_no_faults
	bucket_fault "$1"
	refused 7 "all of its time (--timeout)" "${@:2}" --timeout=2s
	((SECONDS - began < 20)) || fail "$1: ${*:2} took $((SECONDS - began)) s"
}

time_limit() {
	scripted
	SECRET=$BUCKET_SECRET
	TRACER=()
	push "$SMALL"
	bucket_fault "GET list-type endless"
	refused 7 "does not end" list
	in_time "GET list-type slow:10" list
	in_time "GET $DATA_FILE slow:10" verify
	in_time "GET $DATA_FILE slow:10" pull latest /var/none.db
	in_time "GET $META_FILE slow:10" list
	in_time "PUT . slow:10" push "$SMALL"
	in_time "PUT . slow:10" send
	bucket_no_faults
	assert_exit 0 gbe store send
	assert_missing "$ROOT/var/none.db"
}

# One of some hundreds of databases has a first page that could be the header of a tar.
looks_like_tar() {
	scripted
	push /var/tarlike.db
	assert_exit 0 gbe store pull latest /var/pulled.db
	cmp "$ROOT/var/pulled.db" "$ROOT/var/tarlike.db"
	assert_exit 0 gbe store verify
}

# The object that is read differs from the written one.
altered() {
	local fault

	scripted
	push "$SMALL"
	for fault in short-read middle; do
		bucket_no_faults
		case $fault in
		middle) flip "$(in_store "$NAME" "$DATA_FILE")" 2000 ;;
		*) bucket_fault "GET $DATA_FILE $fault" ;;
		esac
		assert_exit 6 gbe store pull latest /var/none.db
		assert_exit 6 gbe store verify
		assert_exit 0 gbe --json status
		assert_eq "$fault" "$(jq -r .offsite.damaged <<<"$OUT")" "$NAME"
	done
	assert_missing "$ROOT/var/none.db"
	flip "$(in_store "$NAME" "$DATA_FILE")" 2000
	assert_exit 0 gbe store verify
	assert_eq "damaged" "$(json .offsite.damaged status)" null
	# It is another database.
	gzip -c "$ROOT/var/other.db" >"$GBE_MEM/other.gz"
	cp "$GBE_MEM/other.gz" "$(in_store "$NAME" "$DATA_FILE")"
	jq ".size = $(stat -c %s "$GBE_MEM/other.gz")" "$(in_store "$NAME" "$DATA_FILE").json" >"$GBE_MEM/other.json"
	cp "$GBE_MEM/other.json" "$(in_store "$NAME" "$DATA_FILE").json"
	assert_exit 6 gbe store verify
	assert_match "why" "$ERR" "*differs from the snapshot that was pushed*the database is another one*"
	: >"$(in_store "$NAME" "$META_FILE")"
	jq '.size = 0' "$(in_store "$NAME" "$META_FILE").json" >"$GBE_MEM/other.json"
	cp "$GBE_MEM/other.json" "$(in_store "$NAME" "$META_FILE").json"
	assert_eq "an empty meta file" "$(states)" "$NAME=unreadable"
}

# The program gives up on a server that never answers.
hanging() {
	scripted
	hasty 60
	bucket_fault "GET list-type hang"
	assert_exit 7 gbe store list
	assert_match "why" "$ERR" "*Timeout*"
	assert_eq "requests" "$(bucket_requests hang)" 3
	bucket_no_faults
	bucket_fault "PUT . hang 1"
	push "$SMALL"
	assert_eq "requests" "$(bucket_requests hang)" 4
}

# ---- uploads in parts ----

upload_faults() {
	local how

	scripted
	for how in "POST uploadId unanswered 1" "POST uploadId complete-200-with-error 1" "PUT partNumber=2 reset 1" \
		"PUT partNumber=1 500 1" "POST uploads=$ unanswered 1" "PUT partNumber=2 cut:100000 1"; do
		bucket_no_faults
		bucket_forget_requests
		bucket_fault "$how"
		push /var/large.db
		assert_eq "$how" "$(states)" "$NAME=complete"
		find "$BUCKET_DIR/objects" -type f -delete
	done
	bucket_no_faults
	bucket_fault "PUT partNumber=2 long-etag"
	assert_exit 7 gbe store push /var/large.db
	assert_match "why" "$ERR" "*part 2*ETag*too long*"
	for how in xml-bomb xml-nested xml-huge xml-cut xml-foreign; do
		bucket_no_faults
		bucket_fault "POST . $how"
		assert_exit 7 gbe store push /var/large.db
		[[ $(states) != *=complete* ]] || fail "$how: it is called complete"
	done
	bucket_no_faults
	assert_exit 0 gbe store send
	find "$BUCKET_DIR/objects" -type f -delete
	# An upload that the server forgot is sent again completely, once.
	for how in "PUT partNumber=2 wrong-etag 1" "POST uploadId forget 1" "PUT partNumber=1 forget 1"; do
		bucket_no_faults
		bucket_fault "$how"
		gbe store push /var/large.db >/dev/null 2>&1 && fail "$how: it is said to be there"
		[[ $(states) != *=complete* ]] || fail "$how: it is called complete"
		assert_exit 0 gbe store send
		assert_match "$how" "$(states)" "2*=complete"
		assert_exit 0 gbe store pull latest /var/pulled.db
		cmp "$ROOT/var/pulled.db" "$ROOT/var/large.db"
		rm "$ROOT/var/pulled.db"
		find "$BUCKET_DIR/objects" -type f -delete
	done
	faulty store-part-sent=kill store push /var/large.db >/dev/null 2>&1 || true
	rm -r "$BUCKET_DIR"/uploads/*
	assert_exit 0 gbe store send
	assert_match "forgotten" "$(states)" "2*=complete"
	# Abandoned uploads are aborted when they are a day old.
	faulty store-part-sent=kill store push /var/large.db >/dev/null 2>&1 || true
	rm -r "${ROOT:?}$QUEUE"
	assert_exit 0 gbe store prune
	assert_eq "a new one" "$(bucket_uploads | wc -l)" 1
	bucket_age 90000
	assert_exit 0 gbe store prune
	assert_eq "an upload of yesterday may continue" "$(bucket_uploads | wc -l)" 1
	bucket_age 700000
	assert_exit 0 gbe store prune
	assert_eq "an old one" "$(bucket_uploads | wc -l)" 0
}

# steps: store send
killed() {
	local point expected

	scripted
	faulty store-published=kill store push "$SMALL" >/dev/null 2>&1 || true
	for point in part-durable store-published part-renamed@2 remove-entry-removed remove-entry-removed@2 \
		$(faulty steps store send); do
		faulty "$point=kill" store push "$SMALL" >/dev/null 2>&1 || true
		case $point in
		store-meta-sent | store-sent-noted | store-queue-left | remove-*) expected='*=complete' ;;
		*) expected='*' ;;
		esac
		assert_match "after $point" "$(states)" "$expected"
		assert_exit 0 gbe store send
		push "$SMALL"
		[[ $(states) != *=un* && $(states) != *=waiting* ]] || fail "$point: $(states)"
		assert_eq "$point: the queue" "$(ls -A "$ROOT$QUEUE")" ""
		find "$BUCKET_DIR/objects" -type f -delete
	done
}

# stopped POINT=stop VERB...: waits until the program has stopped at its fault point.
stopped() {
	GREENBOOT_ETCD_FAULT=$1 "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" "${@:2}" >/dev/null 2>"$GBE_MEM/err" &
	STOPPED=$!
	until_halted "$STOPPED" || fail "it did not come to $1: $(<"$GBE_MEM/err")"
}

# While a snapshot is sent, the same one is not sent a second time, and new ones wait for their turn.
beside() {
	scripted
	stopped store-data-sent=stop store push "$SMALL"
	assert_exit 4 gbe store push "$SMALL"
	assert_exit 4 gbe store send
	kill -CONT "$STOPPED"
	wait "$STOPPED"
	assert_match "in the end" "$(states)" "2*=complete"
	# A newer snapshot does not interrupt the one that is being sent, however slow the link is.
	assert_exit 0 gbe store send
	config store queue-keep=1
	queue_up 1
	stopped store-data-sent=stop store send
	assert_exit 4 gbe store push "$SMALL"
	assert_exit 4 gbe store push "$SMALL"
	assert_match "given way" "$ERR" "*gives way to newer ones*"
	assert_match "the queue" "$(queued)" "${NAMES[0]} *"
	assert_eq "the queue" "$(queued | wc -w)" 2
	kill -CONT "$STOPPED"
	wait "$STOPPED" || fail "the sender: $?"
	assert_match "in the end" "$(states)" "*${NAMES[0]}=complete*"
}

# ---- automatic pushes ----

offline_for_a_week() {
	local day names=() sent=()

	scripted
	config store queue-keep=10
	with_etcd
	# A snapshot that the store refuses may never get there: it does not count as pushed.
	bucket_fault "PUT . 403"
	assert_exit 0 gbe --json store push --queue
	assert_exit 5 gbe store send
	bucket_no_faults
	assert_exit 0 gbe --json store push --queue
	assert_eq "not unchanged" "$(jq -r .result <<<"$OUT")" sound
	rm -r "${ROOT:?}$QUEUE"
	bucket_stop
	for day in 0 1 2 3 4 5 6; do
		clock_set $((day * 86400 + 1))
		put base/1 "day $day"
		assert_exit 0 gbe --json store push --queue
		names+=("$(jq -r .name <<<"$OUT")")
	done
	# The data is unchanged: no further push is queued, even if the store was away.
	assert_exit 7 gbe store send
	assert_exit 0 gbe --json store push --queue
	assert_eq "unchanged" "$(jq -r .result <<<"$OUT")" unchanged
	assert_eq "the queue" "$(queued)" "${names[*]}"
	serve
	config store url="$BUCKET_URL/snapshots/device-1"
	bucket_fault "clock $((6 * 86400))"
	assert_exit 0 gbe --json store send
	mapfile -t sent < <(jq -r '.sent[]' <<<"$OUT")
	assert_eq "the newest first" "${sent[*]}" "$(printf '%s\n' "${names[@]}" | tac | xargs)"
	assert_eq "what came first" \
		"$(sed -nE '/^PUT .*_etcd_backup.meta/{s/%3A/:/g;s/(.meta).*/\1/p;q}' "$BUCKET_DIR/requests")" \
		"PUT /snapshots/device-1/${names[6]}/$META_FILE"
	assert_eq states "$(states)" "$(printf '%s=complete\n' "${names[@]}" | tac | xargs)"
	assert_exit 0 gbe store verify
	# Without a change, a push costs two requests.
	bucket_forget_requests
	assert_exit 0 gbe --json store push --queue
	assert_eq "unchanged" "$(jq -r .result <<<"$OUT")" unchanged
	assert_eq "requests" "$(cut -d' ' -f1 "$BUCKET_DIR/requests" | xargs)" "HEAD HEAD"
	# A snapshot that is known to be damaged is sent again, even without a change.
	echo nonsense >"$GBE_MEM/data"
	bucket_no_faults
	put_object "${names[6]}/$DATA_FILE" "$GBE_MEM/data"
	bucket_fault "clock $((6 * 86400))"
	assert_exit 6 gbe store verify
	assert_exit 0 gbe status
	assert_match "damaged" "$OUT$ERR" "*${names[6]}*damaged*"
	assert_exit 0 gbe --json store push --queue
	assert_eq "pushed again" "$(jq -r .result <<<"$OUT")" sound
	assert_exit 0 gbe --json store send
	assert_eq "no trouble" "$(json '.offsite | .damaged, .trouble' status | xargs)" "null false"
}

# The sending service retries until the server is back, with growing pauses.
drains() {
	local n

	scripted
	config store queue-keep=2
	bucket_fault "(PUT|GET) . 503"
	for n in 1 2 3; do
		assert_exit 7 gbe store push "$SMALL"
	done
	assert_match "given way" "$ERR" "*gives way to newer ones*"
	assert_eq "bounded" "$(queued | wc -w)" 2
	bucket_forget_requests
	TRACER+=(GBE_TEST_HASTE=200)
	gbe store send --wait >"$GBE_MEM/said" 2>&1 &
	for ((n = 0; n < 1000; n++)); do
		(($(bucket_requests .) < 9)) || break
		nap 0.02
	done
	(($(bucket_requests .) <= 12)) || fail "a storm of $(bucket_requests .) requests"
	bucket_no_faults
	wait $!
	assert_eq "the queue" "$(queued)" ""
	assert_eq states "$(states | tr ' ' '\n' | sed 's/.*=//' | xargs)" "complete complete"
	assert_eq "said once" "$(grep -c 'tried again' "$GBE_MEM/said")" 1
}

# queue_up COUNT: queues so many snapshots without sending one. NAMES has them, the oldest first.
queue_up() {
	local n

	for ((n = 0; n < $1; n++)); do
		faulty store-published=kill store push "$SMALL" >/dev/null 2>&1 || true
	done
	read -ra NAMES <<<"$(queued)"
	assert_eq "wait" "${#NAMES[@]}" "$1"
}

# of NAME: prints the name as requests have it.
of() { echo "${1//:/%3A}"; }
# why NAME: prints the list's reason for a queued snapshot.
why() { json ".snapshots[] | select(.name == \"$1\" and .state == \"waiting\") | .why" store list; }

# A snapshot that the server refuses, or that is damaged in the queue, waits with its reason. The others are sent.
held_back() {
	local n pass

	scripted
	config store queue-keep=10
	queue_up 5
	bucket_fault "PUT $(of "${NAMES[4]}") 403" "PUT $(of "${NAMES[3]}")/$META_FILE InvalidRequest"
	mv "$ROOT$QUEUE/${NAMES[2]}/$DATA_FILE" "$GBE_MEM/data"
	mv "$ROOT$QUEUE/${NAMES[1]}/$META_FILE" "$GBE_MEM/meta"
	echo nonsense >"$ROOT$QUEUE/${NAMES[1]}/$META_FILE"
	assert_exit 5 gbe store send
	assert_match "which" "$ERR" "*${NAMES[4]}*not allowed*"
	assert_eq "sent" "$OUT" "${NAMES[0]}"
	assert_eq "the queue" "$(queued)" "${NAMES[*]:1}"
	assert_eq states "$(states)" "${NAMES[4]}=waiting ${NAMES[3]}=waiting ${NAMES[2]}=waiting \
${NAMES[1]}=waiting ${NAMES[3]}=unfinished ${NAMES[0]}=complete"
	assert_match "of a refusal" "$(why "${NAMES[4]}")" "*not allowed*403*"
	assert_match "of a refusal" "$(why "${NAMES[3]}")" "*the server refuses*400*"
	assert_match "of a damage" "$(why "${NAMES[2]}")" "*damaged in the queue*$DATA_FILE is missing*"
	assert_match "of a damage" "$(why "${NAMES[1]}")" "*damaged in the queue*"
	assert_eq "tries of one" "$(bucket_requests "^PUT .*$(of "${NAMES[4]}")")" 1
	# A newer snapshot is sent. The waiting ones are still listed with their reasons.
	push "$SMALL"
	assert_exit 0 gbe --json status
	fits status
	assert_eq "waiting" "$(jq -r '.offsite | .waiting, .waiting_newest, .failed_at > 0' <<<"$OUT" | xargs)" "4 ${NAMES[4]} true"
	assert_match "why" "$(jq -r .offsite.failed <<<"$OUT")" "*${NAMES[4]}*not allowed*"
	assert_exit 0 gbe status
	assert_match "text" "$OUT" "*4 waiting to be sent: *not allowed*"
	# After some weeks this is the trouble, and only its line has the reason.
	clock_set $((20 * 86400))
	assert_exit 0 gbe status
	assert_match "text" "$OUT" "*4 waiting to be sent"$'\n'"*no snapshot got off the device for 20 d*not allowed*"
	assert_eq "told" "$(tr -s '\n ' ' ' <<<"$OUT" | grep -o 'not allowed' | wc -l)" 1
	clock_set 0
	# After a cut anywhere, all four are kept, and the reasons too.
	for ((pass = 1; pass <= 8; pass++)); do
		for n in write-named write-renamed; do
			faulty "$n@$pass=kill" store send >/dev/null 2>&1 || true
			assert_eq "after $n@$pass: the queue" "$(queued)" "${NAMES[*]:1}"
			assert_match "after $n@$pass" "$(why "${NAMES[4]}")" "*not allowed*"
		done
	done
	# The service retries after a pause while a snapshot waits.
	bucket_forget_requests
	gbe store send --wait >"$GBE_MEM/said" 2>&1 &
	for ((n = 0; n < 1500; n++)); do
		(($(bucket_requests "^PUT .*$(of "${NAMES[4]}")") < 2)) || break
		nap 0.02
	done
	kill -0 $! || fail "it has ended, and four wait: $(<"$GBE_MEM/said")"
	bucket_no_faults
	mv "$GBE_MEM/data" "$ROOT$QUEUE/${NAMES[2]}/$DATA_FILE"
	mv "$GBE_MEM/meta" "$ROOT$QUEUE/${NAMES[1]}/$META_FILE"
	wait $!
	assert_eq "the queue" "$(queued)" ""
	assert_eq states "$(states)" "$NAME=complete $(printf '%s=complete\n' "${NAMES[@]}" | tac | xargs)"
	assert_eq "nothing has failed" "$(json '.offsite | .waiting, .failed' status | xargs)" "0 null"
	# Newer snapshots also replace an unusable one.
	queue_up 1
	: >"$ROOT$QUEUE/${NAMES[0]}/$DATA_FILE"
	assert_exit 6 gbe store send
	assert_match "why" "$ERR" "*damaged in the queue*$DATA_FILE is empty*"
	config store queue-keep=1
	push "$SMALL"
	assert_eq "the queue" "$(queued)" ""
}

# ---- names, clocks, other devices ----

many_names() {
	scripted
	push "$SMALL"
	bucket_fault "GET list-type many-names"
	assert_match "the newest" "$(states)" "$NAME=complete *foreign-*=foreign"
	assert_eq "more" "$(jq .foreign_more "$GBE_MEM/list")" 99001
	assert_exit 0 gbe store pull latest /var/pulled.db
}

odd_names() {
	local before

	scripted
	push "$SMALL"
	before=$(bucket_objects)
	bucket_fault "GET list-type odd-names"
	assert_exit 0 gbe store list
	! LC_ALL=C grep -q $'[\x01-\x08\x0b-\x1f\x7f]' "$GBE_MEM/out" || fail "control bytes: $(cat -v "$GBE_MEM/out")"
	assert_match "states" "$(states)" "$NAME=complete *2026-01-01T00:00:00Z-000001=unreadable *"
	[[ $(states) != *somebody* && $(states) != *passwd* ]] || fail "of other prefixes: $(states)"
	assert_exit 0 gbe store pull latest /var/pulled.db
	assert_exit 0 gbe store prune
	assert_exit 1 gbe store pull ../escaped /var/none.db
	assert_exit 5 gbe store pull '' /var/none.db
	assert_exit 6 gbe store pull 2026-01-01T00:00:00Z-000001 /var/none.db
	assert_eq "objects" "$(bucket_objects)" "$before"
}

# put_object KEY FILE: writes an object like another client.
put_object() {
	bucket_curl "/snapshots/device-1/${1//:/%3A}" -f -T "$2" \
		-H "x-amz-content-sha256: $(sha256sum "$2" | cut -c 1-64)"
}

# The layout of etcd-manager's document, written by hand, with foreign and unfinished entries next to it.
documented() {
	local before n

	scripted
	gzip -c "$ROOT$SMALL" >"$GBE_MEM/data"
	printf '{\n  "etcdVersion": "3.4.23",\n  "timestamp": "1517274123",\n  "clusterSpec": {%s}\n}' \
		'"memberCount": 1, "etcdVersion": "3.4.23"' >"$GBE_MEM/meta"
	put_object "$DOCUMENTED/$DATA_FILE" "$GBE_MEM/data"
	put_object "$DOCUMENTED/$META_FILE" "$GBE_MEM/meta"
	put_object 2018-01-30T01:02:04Z-000010/"$DATA_FILE" "$GBE_MEM/data"
	put_object "control/$DOCUMENTED/_command.json" "$GBE_MEM/meta"
	put_object README "$GBE_MEM/meta"
	assert_eq states "$(states)" "2018-01-30T01:02:04Z-000010=unfinished $DOCUMENTED=complete \
control=foreign README=foreign"
	assert_eq "what is said of it" "$(jq -c '.snapshots[] | select(.name == $name) | [.etcd_version,
		.created, .members]' --arg name "$DOCUMENTED" <<<"$(gbe --json store list)")" \
		'["3.4.23",1517274123,1]'
	assert_exit 0 gbe store pull latest /var/pulled.db
	cmp "$ROOT/var/pulled.db" "$ROOT$SMALL"
	assert_exit 5 gbe store pull 2018-01-30T01:02:04Z-000010 /var/none.db
	assert_exit 0 gbe store verify "$DOCUMENTED"
	# Surplus snapshots are removed, and nothing else.
	for n in 10 20 30; do
		put_object "2018-01-30T03:$n:00Z-000001/$DATA_FILE" "$GBE_MEM/data"
		put_object "2018-01-30T03:$n:00Z-000001/$META_FILE" "$GBE_MEM/meta"
	done
	put_object "2018-01-30T03:20:00Z-000001/notes" "$GBE_MEM/meta"
	before=$(bucket_objects | wc -l)
	push "$SMALL"
	config store hourly=2 daily=1
	assert_exit 0 gbe --json store prune
	assert_match "gone" "$(jq -r '.deleted[].name' <<<"$OUT" | xargs)" "2018*"
	assert_match "what stays" "$(states)" "$NAME=complete *03:20:00Z-000001=complete*=unfinished*README=foreign"
	(($(bucket_objects | wc -l) < before + 2)) || fail "nothing was removed"
}

# Another device shares the prefix: none of its objects is overwritten.
shared_prefix() {
	scripted
	faulty store-published=kill store push "$SMALL" >/dev/null 2>&1 || true
	NAME=$(queued)
	gzip -c "$ROOT/var/other.db" >"$GBE_MEM/data"
	printf '{"etcdVersion": "3.4.23"}' >"$GBE_MEM/meta"
	put_object "$NAME/$DATA_FILE" "$GBE_MEM/data"
	put_object "$NAME/$META_FILE" "$GBE_MEM/meta"
	assert_exit 5 gbe store send
	assert_match "why" "$ERR" "*prefix of its own*"
	# A snapshot of the same second and version.
	put_object "$NAME/$META_FILE" "$ROOT$QUEUE/$NAME/$META_FILE"
	assert_exit 5 gbe store send
	assert_match "why" "$ERR" "*prefix of its own*"
	assert_exit 0 gbe store pull latest /var/pulled.db
	cmp "$ROOT/var/pulled.db" "$ROOT/var/other.db"
}

clocks() {
	local hours n

	scripted
	for hours in 5 -5 26 -26; do
		bucket_no_faults
		bucket_forget_requests
		bucket_fault "clock $((hours * 3600))"
		push "$SMALL"
		assert_eq "$hours hours" "$(bucket_requests ' 403 ')" 1
		assert_exit 0 gbe store verify
	done
	# Names come from this device's clock.
	assert_eq states "$(states | tr ' ' '\n' | sed 's/.*=//' | xargs)" "complete complete complete complete"
	assert_match "name" "$NAME" "$(date -u +%Y-%m-%d)T*"
	# The clock is set while the program runs: the program stops using the server's time.
	bucket_no_faults
	bucket_forget_requests
	bucket_fault "clock 7200" "PUT . 503"
	assert_exit 7 gbe store push "$SMALL"
	gbe store send --wait >"$GBE_MEM/said" 2>&1 &
	for ((n = 0; n < 1500; n++)); do
		(($(bucket_requests ' 503 ') < 6)) || break
		nap 0.02
	done
	bucket_no_faults
	for ((n = 0; n < 1500; n++)); do
		kill -0 $! 2>/dev/null || break
		nap 0.02
	done
	kill $! 2>/dev/null && fail "it is refused on and on: $(<"$GBE_MEM/said")"
	wait $!
	assert_eq "the queue" "$(queued)" ""
	# With a clock of 1970, a certificate cannot be checked: a message says so.
	bucket_no_faults
	clock_set 1970
	assert_exit 7 gbe store push "$SMALL"
	assert_match "why" "$ERR" "*certificate is not yet valid*"
	clock_set 0
	assert_exit 0 gbe store send
	assert_eq "the queue" "$(queued)" ""
}

# ---- on a new device ----

# With only the bucket's content, a new device gets the same etcd again.
arrives() { # HASH [ARG...]
	local hash=$1
	shift
	assert_exit 0 gbe store pull latest /var/pulled.db "$@"
	assert_exit 0 gbe import /var/pulled.db arrived
	assert_exit 0 gbe restore arrived --force
	start_etcd
	assert_eq HashKV "$(hash_kv)" "$hash"
	stop_etcd
}

tools() {
	mkdir -p "$ROOT/usr/bin"
	cp "$(command -v "$ETCD")" "$(command -v "$ETCDCTL")" "$(command -v age)" "$ROOT/usr/bin/"
}

restored() { # on_swift BUCKET | scripted
	"$@"
	push "$SMALL"
	root_free
	if [[ $1 == on_swift ]]; then
		new_device "$SWIFT_URL/$2/device-1" "$SWIFT_CA" "$SWIFT_KEY_ID" "$SWIFT_SECRET"
	else
		new_device "$BUCKET_URL/snapshots/device-1" "$BUCKET_CA" "$BUCKET_KEY_ID" "$BUCKET_SECRET"
	fi
	tools
	arrives "$(<"$SNAPSHOTS/small.hash")"
}

key_file() { # PATH
	(umask 077 && openssl rand -hex 32 >"$ROOT$1")
	config store key="$1"
}

# request NAME TEXT: writes a request into the bucket as a person does.
request() {
	bucket_curl "/snapshots/device-1/requests/$1" -X PUT --data-binary "$2" \
		-H "x-amz-content-sha256: $(printf %s "$2" | sha256sum | cut -c 1-64)"
}

# asked STATUS VERB [ARG...]: prints NAME=STATE of the handled requests.
asked() {
	assert_exit "$1" gbe --json store requests "${@:2}"
	fits store-requests
	ASKED=$(jq -r '[.requests[] | "\(.name)=\(.state)"] | join(" ")' <<<"$OUT")
}

# Requests are for people who reach the bucket but not the device.
requested() {
	local pushed how

	scripted
	with_etcd
	request 1.json '{"request": "backup"}'
	assert_exit 5 gbe store requests run
	assert_match why "$ERR" "*requests in a bucket need [[]store[]] key*"
	key_file /etc/greenboot-etcd/hmac
	asked 0 list
	assert_eq "before" "$ASKED" 1.json=waiting
	asked 0 run
	assert_eq "done" "$ASKED" 1.json=done
	pushed=$(jq -r '.requests[0].result' <<<"$OUT")
	assert_match "the store" "$(states)" "$pushed=complete *requests=foreign*"
	request 2.json '{"request": "restore", "snapshot": "2018-01-30T01:02:03Z-000001"}'
	asked 1 run
	assert_eq "failed" "$ASKED" 2.json=failed
	assert_match "why, in the bucket" "$(bucket_objects | xargs)" "*requests/2.json.failed.why*"
	# A request that is far too long is refused, and does not delay those after it.
	request 3.json '{"request":'
	request 0.json "$(printf '%5000s' '{}')"
	asked 1 run
	assert_eq "bad" "$ASKED" "0.json=bad 3.json=bad"
	asked 0 run
	assert_eq "none" "$ASKED" ""

	# If another process is sending, the push is done when the snapshot is in the queue.
	stopped store-data-sent=stop store push "$SMALL"
	request 5.json '{"request": "backup"}'
	asked 0 run
	pushed=$(jq -r '.requests[0].result' <<<"$OUT")
	kill -CONT "$STOPPED"
	wait "$STOPPED"
	assert_eq "done" "$ASKED" 5.json=done
	assert_exit 0 gbe store send
	assert_match "sent" "$(states)" "*$pushed=complete*"

	# Killed while both names exist, before any work: the snapshot still waits, or is deleted completely.
	for how in run delete; do
		request 4.json '{"request": "backup"}'
		GREENBOOT_ETCD_FAULT=store-request-copied=kill "$BUILD_FAULTS/greenboot-etcd" --root="$ROOT" \
			store requests run || true
		asked 0 list
		assert_match "all" "$ASKED" "*4.json=waiting*"
		assert_match "all" "$ASKED" "*4.json=taken*"
		if [[ $how == run ]]; then
			asked 0 run
			assert_eq "the request's state" "$ASKED" 4.json=done
		fi
		assert_exit 0 gbe store requests delete 4.json
		asked 0 list
		[[ $ASKED != *4.json* ]] || fail "4.json is still there"
		asked 0 run
		assert_eq "none" "$ASKED" ""
		assert_eq "pushed" "$(states | tr ' ' '\n' | grep -c complete)" 4
	done
	assert_exit 0 gbe store requests delete 2.json
	asked 0 list
	[[ $ASKED != *2.json* ]] || fail "2.json is still there"
}

encrypted() {
	local keys=/etc/greenboot-etcd/age lost

	scripted
	tools
	age-keygen -o "$ROOT$keys" 2>/dev/null
	sed -n 's/^# public key: //p' "$ROOT$keys" >"$ROOT$keys.pub"
	config store encrypt-to="$keys.pub"
	key_file /etc/greenboot-etcd/hmac
	push "$SMALL"
	assert_eq objects "$(bucket_objects | sed 's:.*/::' | xargs)" "_etcd_backup.device _etcd_backup.hmac $META_FILE $DATA_FILE.age"
	! zgrep -aq base/1 "$(in_store "$NAME" "$DATA_FILE.age")" || fail "a key can be read in it"
	# Without the identity on this device, the encrypted bytes are compared.
	assert_exit 0 gbe --json store verify
	assert_eq read "$(jq -c '[.read, .compared]' <<<"$OUT")" "[false,true]"
	cp "$ROOT$keys" "$ROOT/etc/greenboot-etcd/hmac" "$GBE_MEM/"
	lost=$(<"$ROOT/var/lib/greenboot-etcd/device")
	root_free
	new_device "$BUCKET_URL/snapshots/device-1" "$BUCKET_CA" "$BUCKET_KEY_ID" "$BUCKET_SECRET"
	tools
	# The key is lost: a message says so, and nothing is left.
	assert_exit 5 gbe store pull latest /var/none.db
	assert_match "why" "$ERR" "*is encrypted*--identity*"
	assert_exit 5 gbe store verify
	age-keygen -o "$ROOT/var/other" 2>/dev/null
	assert_exit 7 gbe store pull latest /var/none.db --identity=/var/other
	assert_match "why" "$ERR" "*no identity matched*"
	assert_missing "$ROOT/var/none.db"
	cp "$GBE_MEM/age" "$ROOT$keys"
	# Another key signed it.
	key_file /etc/greenboot-etcd/hmac
	assert_exit 6 gbe store pull latest /var/none.db "--identity=$keys"
	assert_match "why" "$ERR" "*signed with another key*"
	assert_exit 6 gbe store verify "--identity=$keys"
	assert_missing "$ROOT/var/none.db"
	cp "$GBE_MEM/hmac" "$ROOT/etc/greenboot-etcd/hmac"
	# Another device pushed it: the one that this device replaces.
	assert_exit 5 gbe store pull latest /var/none.db "--identity=$keys"
	assert_match "why" "$ERR" "*device $lost pushed it*--device=$lost*"
	arrives "$(<"$SNAPSHOTS/small.hash")" "--identity=$keys" "--device=$lost"
	# If age is killed, the snapshot is not judged. If age refuses the bytes, it is.
	assert_exit 0 gbe store verify "--identity=$keys" "--device=$lost"
	mv "$ROOT/usr/bin/age" "$GBE_MEM/age.real"
	printf '#!/bin/sh\nkill -TERM $$\n' >"$ROOT/usr/bin/age"
	chmod 755 "$ROOT/usr/bin/age"
	config store identity="$keys"
	assert_exit 7 gbe store verify "--device=$lost"
	assert_eq "damaged" "$(json .offsite.damaged status)" null
	mv "$GBE_MEM/age.real" "$ROOT/usr/bin/age"
	flip "$(in_store "$NAME" "$DATA_FILE.age")" 2000
	assert_exit 6 gbe store verify "--device=$lost"
	assert_eq "damaged" "$(json .offsite.damaged status)" "$NAME"
	flip "$(in_store "$NAME" "$DATA_FILE.age")" 2000
	unconfig store identity
	# The snapshot has no signature.
	find "$BUCKET_DIR/objects" -name "$(basename "$(in_store "$NAME" _etcd_backup.hmac)")*" -delete
	assert_exit 5 gbe store pull latest /var/none.db "--identity=$keys"
	assert_match "why" "$ERR" "*no keyed digest*"
}

# proxy_start [USER:PASSWORD]: starts a proxy. PROXY has its port.
proxy_start() {
	local out

	: >"$GBE_MEM/proxy.log"
	exec {out}< <(exec setpriv --pdeathsig KILL python3 "$GBE_LIB/proxy.py" "$GBE_MEM/proxy.log" "$@" 2>/dev/null)
	PROXY_PID=$!
	IFS= read -r -t 60 PROXY <&"$out" || fail "no proxy"
	exec {out}<&-
}

# Every request uses proxy= of [store], whose password is never shown.
proxied() {
	scripted
	proxy_start
	config store proxy="http://127.0.0.1:$PROXY"
	push "$SMALL"
	assert_eq "all of it through the proxy" "$(sort -u "$GBE_MEM/proxy.log")" "CONNECT ${BUCKET_URL#https://} passed"
	assert_exit 0 gbe store verify
	kill "$PROXY_PID"
	assert_exit 7 gbe store push /var/other.db
	assert_match "it is away" "$ERR" "*waits in the queue*"
	proxy_start someone:geheim
	config store proxy="http://someone:wrong@127.0.0.1:$PROXY"
	assert_ne "a wrong password" "$(gbe store send >/dev/null 2>"$GBE_MEM/said.proxy"; echo $?)" 0
	! grep -q wrong "$GBE_MEM/said.proxy" || fail "the password is told: $(<"$GBE_MEM/said.proxy")"
	config store proxy="http://someone:geheim@127.0.0.1:$PROXY"
	assert_exit 0 gbe store send
	assert_match "config" "$(gbe config)" "*proxy=http*"
	assert_eq "the password in config" "$(gbe config | grep -c geheim)" 0
	assert_eq "two" "$(states | wc -w)" 2
	kill "$PROXY_PID"
}

# rate-limit= is a limit: so many bytes take so long.
slowed() {
	local size began

	scripted
	size=$(stat -c %s "$ROOT/var/large.db")
	config store rate-limit=$((size / 4))
	began=$EPOCHREALTIME
	push /var/large.db
	((${EPOCHREALTIME/./} - ${began/./} >= 2000000)) || fail "$size bytes took less than 2 s"
	began=$EPOCHREALTIME
	assert_exit 0 gbe store pull latest /var/pulled.db
	((${EPOCHREALTIME/./} - ${began/./} >= 2000000)) || fail "$size bytes took less than 2 s to pull"
}

# The access key is a credential of systemd instead of a file.
credential() {
	scripted
	unconfig store access-key-file
	assert_exit 2 gbe store push "$SMALL"
	assert_match "none" "$ERR" "*access-key-file, or the systemd credential store-access-key*"
	mkdir "$GBE_MEM/credentials"
	cp "$ROOT$KEY" "$GBE_MEM/credentials/store-access-key"
	rm "$ROOT$KEY"
	CREDENTIALS_DIRECTORY=$GBE_MEM/credentials push "$SMALL"
	assert_eq "there" "$(CREDENTIALS_DIRECTORY=$GBE_MEM/credentials states)" "$NAME=complete"
}

# The program's memory stays small, whatever the size of the snapshot.
memory() {
	local kib

	scripted
	stopped store-part-sent@3=stop store push /var/huge.db
	kib=$(sed -n 's/^RssAnon:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$STOPPED/status")
	kill -CONT "$STOPPED"
	wait "$STOPPED"
	echo "private memory at the third part: $kib KiB"
	[[ ${SANITIZERS-} ]] || ((kib <= 4096)) || fail "$kib KiB of private memory"
}

bucket_case() { # NAME FUNCTION [ARG...]
	run_case "$1" and_stop "${@:2}"
	rm -rf "$GBE_MEM/bucket" "$GBE_MEM"/said.* "$GBE_MEM/diagnosis"
}

and_stop() {
	"$@"
	bucket_stop
}

swift_cases() {
	local name
	for name in travels parts refused restored; do
		# shellcheck disable=SC2053 # a pattern
		[[ bucket-$name-swift == ${CASE:-*} ]] || continue
		if swift_here; then
			swift_start "$GBE_MEM/swift" || return
		fi
		bucket_case bucket-travels-swift travels on_swift travels
		bucket_case bucket-parts-swift in_parts on_swift parts
		bucket_case bucket-refused-swift wrong_on_swift
		bucket_case bucket-restored-swift restored on_swift restored
		swift_stop
		return
	done
}

suite_begin "$@"
snapshots_made || exit 1
swift_cases
bucket_case bucket-travels-scripted travels scripted
bucket_case bucket-parts-scripted in_parts scripted
bucket_case bucket-finishes-first finishes_first
bucket_case bucket-error-codes error_codes
bucket_case bucket-redirected redirected
bucket_case bucket-certificates certificates_checked
bucket_case bucket-key-is-secret key_is_secret
bucket_case bucket-connections connections
bucket_case bucket-answers answers
bucket_case bucket-pages pages
bucket_case bucket-time-limit time_limit
bucket_case bucket-looks-like-tar looks_like_tar
bucket_case bucket-altered altered
bucket_case bucket-hanging hanging
bucket_case bucket-upload-faults upload_faults
bucket_case bucket-killed killed
bucket_case bucket-beside beside
bucket_case bucket-offline-week offline_for_a_week
bucket_case bucket-drains drains
bucket_case bucket-held-back held_back
bucket_case bucket-many-names many_names
bucket_case bucket-odd-names odd_names
bucket_case bucket-documented documented
bucket_case bucket-shared-prefix shared_prefix
bucket_case bucket-clocks clocks
bucket_case bucket-restored-scripted restored scripted
bucket_case bucket-encrypted encrypted
bucket_case bucket-requested requested
bucket_case bucket-proxied proxied
bucket_case bucket-slowed slowed
bucket_case bucket-credential credential
bucket_case bucket-memory memory
suite_end
