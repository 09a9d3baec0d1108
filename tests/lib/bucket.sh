# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# A server of S3's API that fails on request: bucket-server.py, which lists the faults. Sourced after scratch.sh and
# etcd.sh, which has the certificates. The server ends with the shell that started it (never start it in a $(...)).

BUCKET_DIR=
BUCKET_PID=
BUCKET_FAULTS=0

# bucket_start DIR [OPTION...]: returns when it listens. Sets and exports BUCKET_URL, BUCKET_CA, BUCKET_KEY_ID,
# BUCKET_SECRET (another one in each DIR) and BUCKET_REGION. A further start in DIR has the earlier objects, uploads and
# log, and the port if it is free. The certificate also stays (a test may exchange it in DIR/tls); faults do not.
bucket_start() {
	local n port=0

	mkdir -p "$1/objects"
	BUCKET_DIR=$(cd "$1" && pwd)
	[[ -e $BUCKET_DIR/tls/server.crt ]] || certificates "$BUCKET_DIR/tls" 2>"$BUCKET_DIR/openssl.log"
	[[ -e $BUCKET_DIR/secret ]] || (umask 077 && openssl rand -hex 20 >"$BUCKET_DIR/secret")
	if [[ -e $BUCKET_DIR/port ]]; then
		port=$(<"$BUCKET_DIR/port")
		rm -f -- "$BUCKET_DIR/port"
	fi
	bucket_no_faults
	export BUCKET_CA=$BUCKET_DIR/tls/ca.crt BUCKET_KEY_ID=TESTKEYID BUCKET_REGION=us-east-1
	BUCKET_SECRET=$(<"$BUCKET_DIR/secret")
	export BUCKET_SECRET
	setpriv --pdeathsig KILL python3 "$GBE_LIB/bucket-server.py" --directory "$BUCKET_DIR" --port "$port" \
		--port-file "$BUCKET_DIR/port" --log "$BUCKET_DIR/requests" --control "$BUCKET_DIR/control" \
		--key-id "$BUCKET_KEY_ID" --secret-file "$BUCKET_DIR/secret" --region "$BUCKET_REGION" \
		--cert "$BUCKET_DIR/tls/server.crt" --key "$BUCKET_DIR/tls/server.key" "${@:2}" \
		</dev/null >"$BUCKET_DIR/server.log" 2>&1 &
	BUCKET_PID=$!
	for ((n = 0; n < 1200; n++)); do
		if [[ -e $BUCKET_DIR/port ]]; then
			BUCKET_URL=https://127.0.0.1:$(<"$BUCKET_DIR/port")
			export BUCKET_URL
			return 0
		fi
		kill -0 "$BUCKET_PID" 2>/dev/null || break
		nap 0.05
	done
	echo "bucket-server.py did not start:" >&2
	tail -n 5 "$BUCKET_DIR/server.log" >&2
	bucket_stop
	return 1
}

bucket_stop() {
	[[ $BUCKET_PID ]] || return 0
	kill -TERM "$BUCKET_PID" 2>/dev/null || true
	wait "$BUCKET_PID" 2>/dev/null || true
	BUCKET_PID=
}

bucket_make() { mkdir -p "$BUCKET_DIR/objects/$1"; } # NAME

# bucket_fault LINE...: one more fault each, after those that there are. Each counts for itself, also the same again.
bucket_fault() {
	local line

	for line; do
		BUCKET_FAULTS=$((BUCKET_FAULTS + 1))
		echo "$line #$BASHPID.$BUCKET_FAULTS" >>"$BUCKET_DIR/control"
	done
}

bucket_no_faults() { rm -f -- "$BUCKET_DIR/control"; }

# bucket_requests PATTERN: how many lines of the log fit that extended regular expression.
# METHOD TARGET STATUS RECEIVED FAULT
bucket_requests() { grep -cE -- "$1" "$BUCKET_DIR/requests" 2>/dev/null || true; }

bucket_forget_requests() { : >"$BUCKET_DIR/requests"; }

# bucket_objects [BUCKET]: their keys, sorted, also when the server is down.
bucket_objects() {
	find "$BUCKET_DIR/objects/${1-}" -name '*.json' -exec jq -r .key {} + | LC_ALL=C sort
}

bucket_uploads() { # those that were neither completed nor aborted: ID KEY
	find "$BUCKET_DIR/uploads" -name upload.json -exec jq -r '.id + " " + .key' {} + | LC_ALL=C sort
}

# bucket_age SECONDS: those are so much older.
bucket_age() {
	local file

	for file in "$BUCKET_DIR"/uploads/*/upload.json; do
		jq ".time -= $1" "$file" >"$file.new"
		mv -f -- "$file.new" "$file"
	done
}

# bucket_file BUCKET KEY: the file that has the object, to look at it or to damage it.
bucket_file() { echo "$BUCKET_DIR/objects/$1/$(printf %s "$2" | sha256sum | cut -c 1-64)"; }

# bucket_curl /BUCKET[/KEY][?QUERY] [ARG...]: a signed request, as swift_curl.
bucket_curl() {
	local digest=()

	[[ "${*:2}" == *x-amz-content-sha256* ]] || digest=(-H "x-amz-content-sha256: $(sha256sum </dev/null | cut -c 1-64)")
	curl -sS -m 60 --cacert "$BUCKET_CA" --aws-sigv4 "aws:amz:$BUCKET_REGION:s3" --user "$BUCKET_KEY_ID:$BUCKET_SECRET" \
		"${digest[@]}" "${@:2}" "$BUCKET_URL$1"
}
