# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# A server of S3's API that fails on request. bucket-server.py lists the faults. Sourced after scratch.sh and etcd.sh,
# which makes the certificates. The server ends with the shell that started it, so a suite does not start it in a
# $(...).

BUCKET_DIR=
BUCKET_PID=
BUCKET_FAULTS=0

# bucket_start DIR [OPTION...]: starts the server and waits until it listens. Sets and exports BUCKET_URL, BUCKET_CA,
# BUCKET_KEY_ID, BUCKET_SECRET (another one in each DIR) and BUCKET_REGION. A second start in DIR keeps objects,
# uploads, the log, and the port if it is free. The certificate in DIR/tls also stays, unless a test replaces it.
# Faults do not stay.
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

# bucket_fault LINE...: adds faults to those that are set. Each line counts separately, also a repeated one.
bucket_fault() {
	local line

	for line; do
		BUCKET_FAULTS=$((BUCKET_FAULTS + 1))
		echo "$line #$BASHPID.$BUCKET_FAULTS" >>"$BUCKET_DIR/control"
	done
}

bucket_no_faults() { rm -f -- "$BUCKET_DIR/control"; }

# bucket_requests PATTERN: counts the lines of the log that match an extended regular expression. A line is
#    METHOD TARGET STATUS RECEIVED FAULT
bucket_requests() { grep -cE -- "$1" "$BUCKET_DIR/requests" 2>/dev/null || true; }

bucket_forget_requests() { : >"$BUCKET_DIR/requests"; }

# bucket_objects [BUCKET]: prints the keys of the objects, sorted. The server may be down.
bucket_objects() {
	find "$BUCKET_DIR/objects/${1-}" -name '*.json' -exec jq -r .key {} + | LC_ALL=C sort
}

bucket_uploads() { # uploads that are still open: ID KEY
	find "$BUCKET_DIR/uploads" -name upload.json -exec jq -r '.id + " " + .key' {} + | LC_ALL=C sort
}

# bucket_age SECONDS: makes all objects and uploads older by SECONDS.
bucket_age() {
	local file

	for file in "$BUCKET_DIR"/uploads/*/upload.json; do
		jq ".time -= $1" "$file" >"$file.new"
		mv -f -- "$file.new" "$file"
	done
}

# bucket_file BUCKET KEY: prints the path of the object's file, which a test reads or damages.
bucket_file() { echo "$BUCKET_DIR/objects/$1/$(printf %s "$2" | sha256sum | cut -c 1-64)"; }

# bucket_curl /BUCKET[/KEY][?QUERY] [ARG...]: sends a signed request, like swift_curl.
bucket_curl() {
	local digest=()

	[[ "${*:2}" == *x-amz-content-sha256* ]] || digest=(-H "x-amz-content-sha256: $(sha256sum </dev/null | cut -c 1-64)")
	curl -sS -m 60 --cacert "$BUCKET_CA" --aws-sigv4 "aws:amz:$BUCKET_REGION:s3" --user "$BUCKET_KEY_ID:$BUCKET_SECRET" \
		"${digest[@]}" "${@:2}" "$BUCKET_URL$1"
}
