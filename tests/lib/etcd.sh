# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# A real etcd on DATA, on free ports of 127.0.0.1. Sourced after scratch.sh.

ETCD=${ETCD:-etcd}
ETCDCTL=${ETCDCTL:-etcdctl}
# The etcd of the next Debian (.ci/fetch-etcd-next); empty if the machine lacks it.
ETCD_NEXT=${ETCD_NEXT-/var/cache/greenboot-etcd/etcd-next/usr/bin/etcd}
[[ -x $ETCD_NEXT ]] || ETCD_NEXT=
# with ETCD CASE...: plays the cases with another etcd.
with() {
	local ETCD=$1
	"${@:2}"
}
ETCD_PID=
ETCD_HOST=127.0.0.1
ETCD_PORT=
ETCD_IN=() # a command that starts etcd elsewhere
ETCD_LOG=
PEER_PIDS=()
PEER_OPTIONS=() # command-line options of each other member
declare -gA ETCD_OF=() # deployment -> its etcd, if it has another one

# Takes two consecutive free ports below the range that the kernel hands out.
etcd_ports() {
	local port try
	for try in {1..50}; do
		port=$((20000 + (RANDOM * 2) % 12000))
		if port_free "$port" && port_free $((port + 1)); then
			ETCD_PORT=$port
			return
		fi
	done
	echo "no free port after $try tries" >&2
	return 1
}

port_free() { ! { : <>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null; }

# etcd_program ETCD: makes ETCD the /usr/bin/etcd below ROOT, unless a case put another one there.
etcd_program() {
	local program=${ROOT-}/usr/bin/etcd

	[[ -n ${ROOT-} && -d $ROOT ]] || return 0
	[[ ! -e $program ]] || grep -qa '^# started by etcd_run' "$program" || return 0
	mkdir -p "$ROOT/usr/bin"
	# On a full disk the old program stays.
	printf '#!/bin/sh\n# started by etcd_run\nexec %s "$@"\n' "$(command -v "$1")" >"$GBE_MEM/etcd-program"
	cmp -s "$GBE_MEM/etcd-program" "$program" ||
		install -m 0755 "$GBE_MEM/etcd-program" "$program" 2>/dev/null || rm -f "$program"
}

etcd_run() {
	local client=http://$ETCD_HOST:$ETCD_PORT peer=http://$ETCD_HOST:$((ETCD_PORT + 1))

	ETCD_LOG=$GBE_MEM/etcd.log
	etcd_program "${ETCD_OF[${BOOTED:--}]-$ETCD}"
	# Elections take a tenth of a second: no other member takes part.
	"${ETCD_IN[@]}" "${ETCD_OF[${BOOTED:--}]-$ETCD}" --name=default --data-dir="$DATA" --logger=zap --log-outputs=stderr \
		--listen-client-urls="$client" --advertise-client-urls="$client" \
		--listen-peer-urls="$peer" --initial-advertise-peer-urls="$peer" \
		--initial-cluster="default=$peer" --heartbeat-interval=10 --election-timeout=100 \
		"$@" </dev/null >"$ETCD_LOG" 2>&1 &
	ETCD_PID=$!
}

# start_etcd [OPTION...]: starts etcd and waits until it is healthy.
start_etcd() {
	local try

	for try in 1 2 3; do
		etcd_run "$@"
		if etcd_wait; then
			return 0
		fi
		kill_etcd
		grep -q 'address already in use' "$ETCD_LOG" || break
		etcd_ports
		config_write
	done
	echo "etcd did not start (try $try):" >&2
	tail -n 20 "$ETCD_LOG" >&2
	return 1
}

# The port belongs to this etcd, and not to another etcd of this suite.
etcd_listens() {
	local local_address state inode port
	{ local - && set +x; } 2>/dev/null

	[[ ${#ETCD_IN[@]} == 0 ]] || return 0
	printf -v port ':%04X' "$ETCD_PORT"
	while read -r _ local_address _ state _ _ _ _ _ inode _; do
		if [[ $state == 0A && $local_address == *"$port" ]]; then
			[[ $(readlink "/proc/$ETCD_PID/fd/"* 2>/dev/null) != *"socket:[$inode]"* ]] || return 0
		fi
	done </proc/net/tcp
	return 1
}

# etcd_ask SECONDS REQUEST [BODY]: sets ANSWER to etcd's answer over HTTP within that time. The shell sends the
# request: a start of etcdctl takes much longer than the request.
etcd_ask() {
	local connection body=${3-}
	{ local - && set +x; } 2>/dev/null

	ANSWER=
	{ exec {connection}<>"/dev/tcp/$ETCD_HOST/$ETCD_PORT"; } 2>/dev/null || return 1
	printf '%s HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s' "$2" "${#body}" "$body" >&"$connection"
	IFS= read -r -d '' -t "$1" ANSWER <&"$connection" || true
	exec {connection}>&-
	[[ $ANSWER == 'HTTP/1.'?' 200 '* ]] || { echo "$2: ${ANSWER:-no answer}" >&2 && return 1; }
}

# etcd_healthy: succeeds if etcd reports its health within two seconds.
etcd_healthy() { etcd_ask 2 'GET /health' 2>/dev/null && [[ $ANSWER == *'"true"'* ]]; }

etcd_wait() {
	local n
	for ((n = 0; n < 1000; n++)); do
		kill -0 "$ETCD_PID" 2>/dev/null || return 1
		if etcd_healthy && etcd_listens; then
			return 0
		fi
		nap 0.02
	done
	return 1
}

need_etcd_next() {
	[[ $ETCD_NEXT ]] || skip_case "the etcd of the next Debian is missing (make deps-all, on Debian 12)"
}
# etcd_next_of DEPLOYMENT: gives it the etcd of the next Debian, or skips the case.
etcd_next_of() {
	need_etcd_next
	ETCD_OF[$1]=$ETCD_NEXT
}

etcd_running() { [[ $ETCD_PID ]] && kill -0 "$ETCD_PID" 2>/dev/null; }

# etcd gets SIGTERM and after a while SIGKILL, like from systemd. Without its peers etcd may not end alone.
stop_etcd() {
	local n
	[[ $ETCD_PID ]] || return 0
	kill -TERM "$ETCD_PID" 2>/dev/null || true
	{ local - && set +x; } 2>/dev/null
	for ((n = 0; n < 1000; n++)); do
		kill -0 "$ETCD_PID" 2>/dev/null || break
		nap 0.02
	done
	kill_etcd
}

kill_etcd() {
	[[ $ETCD_PID ]] || return 0
	kill -KILL "$ETCD_PID" 2>/dev/null || true
	wait "$ETCD_PID" 2>/dev/null || true
	ETCD_PID=
}

# ---- over TLS ----

# certificates DIR [NAME]: makes a CA, a server's certificate, a client's (client.crt), and one that expired yesterday
# (old.crt) for the same key.
certificates() {
	mkdir -p "$1"
	(
		cd "$1" || exit
		openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.crt -days 9 -subj /CN=ca
		printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\n' "${2:-IP:127.0.0.1}" >ext
		for name in server client; do
			openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$name".key -out "$name".csr -subj /CN="$name"
			openssl x509 -req -in "$name".csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 9 \
				-extfile ext -out "$name".crt
		done
		openssl x509 -req -in client.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days -1 \
			-extfile ext -out old.crt
	)
}

# etcd_over_tls DIR: from its next start on, etcd also listens at ETCD_TLS and asks for a client's certificate. The
# certificates are in DIR.
etcd_over_tls() {
	local port=$((ETCD_PORT + 2))
	certificates "$1"
	while ! port_free "$port"; do port=$((port + 1)); done
	ETCD_TLS=https://127.0.0.1:$port
	ETCD_OPTIONS=(--listen-client-urls="http://127.0.0.1:$ETCD_PORT,$ETCD_TLS"
		--cert-file="$1/server.crt" --key-file="$1/server.key"
		--trusted-ca-file="$1/ca.crt" --client-cert-auth)
}

# ---- a cluster: the device's etcd and others, in memory ----

# join_peers COUNT [OPTION...]: adds COUNT members. OPTION is one of `member add`. With --strict-reconfig-check, etcd
# wants five seconds between two members.
join_peers() {
	local own=$ETCD_PORT count=$1 n port answer options
	shift
	for ((n = 1; n <= count; n++)); do
		etcd_ports
		port=$ETCD_PORT ETCD_PORT=$own
		answer=$(ctl member add "peer$n" --peer-urls="http://127.0.0.1:$((port + 1))" "$@")
		PEER_OPTIONS[n]="--name=peer$n --data-dir=$GBE_MEM/peer$n --initial-cluster-state=existing \
			--listen-client-urls=http://127.0.0.1:$port --advertise-client-urls=http://127.0.0.1:$port \
			--listen-peer-urls=http://127.0.0.1:$((port + 1)) \
			--initial-advertise-peer-urls=http://127.0.0.1:$((port + 1)) \
			--heartbeat-interval=10 --election-timeout=100 \
			$(sed -n 's/^ETCD_INITIAL_CLUSTER="\(.*\)"$/--initial-cluster=\1/p' <<<"$answer")"
		start_peer "$n"
		wait_members $((n + 1))
	done
}

start_peer() {
	# shellcheck disable=SC2086 # words
	"$ETCD" ${PEER_OPTIONS[$1]} --logger=zap --log-outputs=stderr </dev/null \
		>>"$GBE_MEM/peer$1.log" 2>&1 &
	PEER_PIDS[$1]=$!
}

# wait_members COUNT: waits until COUNT members have started and one is the leader.
wait_members() {
	local n
	for ((n = 0; n < 500; n++)); do
		if [[ $(ctl member list 2>/dev/null | grep -c ', started,') == "$1" ]] &&
			ctl get x >/dev/null 2>&1; then
			return 0
		fi
		nap 0.1
	done
	echo "the cluster has no $1 members" >&2
	tail -n 5 "$GBE_MEM"/peer*.log >&2
	return 1
}

kill_peers() {
	local pid
	for pid in "${PEER_PIDS[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	PEER_PIDS=()
	rm -rf "$GBE_MEM"/peer[0-9]*
}

ctl() { "$ETCDCTL" --endpoints="http://$ETCD_HOST:$ETCD_PORT" "$@"; }
get() { ctl get --print-value-only "$1"; }

# base64_of TEXT: sets BASE64 to TEXT, encoded. The shell does short texts faster than a program.
base64_of() {
	local LC_ALL=C letters=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/ i a b c
	{ local - && set +x; } 2>/dev/null

	if ((${#1} > 512)); then
		BASE64=$(printf %s "$1" | base64 -w 0)
		return
	fi
	BASE64=
	for ((i = 0; i < ${#1}; i += 3)); do
		printf -v a %d "'${1:i:1}"
		printf -v b %d "'${1:i+1:1}"
		printf -v c %d "'${1:i+2:1}"
		((a = (a & 255) << 16 | (b & 255) << 8 | c & 255, 1))
		BASE64+=${letters:a>>18:1}${letters:a>>12&63:1}${letters:a>>6&63:1}${letters:a&63:1}
	done
	case $((${#1} % 3)) in
	1) BASE64=${BASE64%??}== ;;
	2) BASE64=${BASE64%?}= ;;
	esac
}

put() {
	local key
	base64_of "$1" && key=$BASE64
	base64_of "$2"
	etcd_ask 10 'POST /v3/kv/put' "{\"key\":\"$key\",\"value\":\"$BASE64\"}"
}

del() {
	[[ $# == 1 ]] || { ctl del "$@" >/dev/null && return; }
	base64_of "$1"
	etcd_ask 10 'POST /v3/kv/deleterange' "{\"key\":\"$BASE64\"}"
}

# put_many PREFIX COUNT [VALUE]: writes COUNT keys in few transactions.
put_many() {
	local n operations value=${3:-value}-
	{ local - && set +x; } 2>/dev/null

	# The prefix has full groups of three letters, so that the number can follow its encoding.
	while ((${#value} % 3)); do value+=-; done
	base64_of "$value" && value=$BASE64
	for ((n = 0; n < $2; )); do
		operations=
		while
			base64_of "$1/$n"
			operations+=",{\"request_put\":{\"key\":\"$BASE64\",\"value\":\"$value"
			base64_of "$n"
			operations+="$BASE64\"}}"
			((++n < $2 && n % 100))
		do :; done
		etcd_ask 10 'POST /v3/kv/txn' "{\"success\":[${operations#,}]}" || return
	done
}

# The stopped data gets some 400 more extents with the same bytes: zeros are written into the WAL's unused end.
fragment_data() {
	local wal size i

	wal=$(find "$DATA/member/wal" -name '*.wal' | sort | tail -n 1)
	size=$(stat -c %s "$wal")
	for ((i = 1; i <= 200; i++)); do
		dd if=/dev/zero of="$wal" bs=4096 count=1 seek=$((size / 4096 - 2 * i)) conv=notrunc \
			status=none
	done
	sync -f "$wal"
}

keys() { ctl get "" --prefix --keys-only | grep . || true; }
key_count() { ctl get "" --prefix -w json | jq -r '.count // 0'; }

revision() { etcd_ask 10 'POST /v3/kv/range' '{"key":"AA=="}' && [[ $ANSWER =~ \"revision\":\"([0-9]+)\" ]] && echo "${BASH_REMATCH[1]}"; }

# etcd_state: prints in one line what must be the same after a restore. It has etcd's hash over all keys, values and
# revisions, the revision, member and cluster id. 64-bit ids are cut out as text: jq would round them. (Over HTTP,
# etcd 3.4 only has the hash of the file.)
etcd_state() {
	local all hash
	all=$(ctl --command-timeout=600s endpoint hashkv -w json) || return 1
	[[ $all =~ \"hash\":([0-9]+).*\"compact_revision\":(-?[0-9]+) ]] || return 1
	hash=${BASH_REMATCH[1]}/${BASH_REMATCH[2]}
	[[ $all =~ \"cluster_id\":([0-9]+),\"member_id\":([0-9]+),\"revision\":([0-9]+) ]] || return 1
	printf 'hash=%s revision=%s member=%x cluster=%x\n' "$hash" "${BASH_REMATCH[3]}" "${BASH_REMATCH[2]}" \
		"${BASH_REMATCH[1]}"
}

# Makes an etcdctl like that of etcd 3.6: it lacks `snapshot restore` and `defrag --data-dir`, and etcdutl is missing.
etcdctl_of_3_6() {
	mkdir -p "$ROOT/usr/bin"
	cat >"$ROOT/usr/bin/etcdctl" <<'SH'
#!/bin/sh
[ "$1" = version ] && exec printf 'etcdctl version: 3.6.5\nAPI version: 3.6\n'
echo "Error: unknown flag: $3" >&2
echo "Use \"etcdctl $1 [command] --help\" for more information about a command." >&2
exit 1
SH
	chmod 0755 "$ROOT/usr/bin/etcdctl"
}

# lose_row DB: removes one row of the bucket "key" from each page except the last. Only a reader of every row can
# notice.
lose_row() {
	btrfs property set -f -ts "${1%/member/snap/db}" ro false 2>/dev/null || true
	python3 - "$1" <<'PYTHON'
import struct, sys
with open(sys.argv[1], "r+b") as db:
    data = bytearray(db.read())
    pages = []
    for page in range(2, len(data) // 4096):
        at = page * 4096
        ident, flags, count, overflow = struct.unpack_from("<QHHI", data, at)
        if ident != page or flags != 2 or count < 3:
            continue
        pos, ksize = struct.unpack_from("<II", data, at + 16 + 4)
        key = data[at + 16 + pos:at + 16 + pos + ksize]
        if ksize == 17 and key[8:9] == b"_":
            pages.append((bytes(key), at, count))
    last = max(pages)[0]
    for key, at, count in pages:
        if key != last:
            db.seek(at + 10)
            db.write(struct.pack("<H", count - 1))
PYTHON
}
