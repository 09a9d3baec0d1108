# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# A real server of S3's API: OpenStack's Swift with its s3api, from Debian's packages. It has one replica and listens
# on loopback with https. Sourced after scratch.sh and etcd.sh, which makes the certificates.
#
# The server ends with the shell that started it, so a suite does not start it in a $(...). Each process asks the
# kernel for SIGKILL at the end of its parent, and the loop device is mounted only in the servers' namespace. If a
# case may fail, its cleanup still calls swift_stop. A suite starts the server once, and each case has a bucket.

SWIFT_PYTHON=/usr/bin/python3 # Debian's, whose modules Swift's are
SWIFT_DIR=
SWIFT_PIDS=() # memcached, the servers' parent
SWIFT_PORT=   # the first of five: memcached, account, container, object, proxy

swift_here() { # can Swift run on this machine?
	[[ -x /usr/bin/swift-proxy-server && -x /usr/bin/swift-object-server && -e /etc/swift/swift.conf ]] &&
		command -v memcached >/dev/null
}

# swift_start DIR: starts the server and waits for an answer. Sets and exports SWIFT_URL, SWIFT_CA, SWIFT_KEY_ID,
# SWIFT_SECRET (another one each time) and SWIFT_REGION. SWIFT_KEY_ID has a colon: Swift's are ACCOUNT:USER. Logs are
# DIR/*.log. SWIFT_DISK=loop keeps the objects on a file system of their own, even if DIR has extended attributes.
swift_start() {
	local try

	mkdir -p "$1/srv/disk"
	SWIFT_DIR=$(cd "$1" && pwd)
	[[ -e $SWIFT_DIR/tls/server.crt ]] || certificates "$SWIFT_DIR/tls" 2>"$SWIFT_DIR/openssl.log"
	SWIFT_SECRET=$(openssl rand -hex 20)
	for try in 1 2 3; do
		swift_ports
		swift_configure
		swift_run
		if swift_wait; then
			export SWIFT_URL=https://127.0.0.1:$((SWIFT_PORT + 4)) SWIFT_CA=$SWIFT_DIR/tls/ca.crt
			export SWIFT_KEY_ID=test:tester SWIFT_SECRET SWIFT_REGION=us-east-1
			return 0
		fi
		swift_stop
	done
	echo "swift did not start (try $try):" >&2
	tail -n 5 "$SWIFT_DIR"/*.log >&2
	return 1
}

# Ends its own processes, by their ids. The servers end with their parent, a moment later.
swift_stop() {
	local pid pids=()

	((${#SWIFT_PIDS[@]})) || return 0
	[[ ! -e $SWIFT_DIR/pids ]] || read -ra pids <"$SWIFT_DIR/pids"
	for pid in "${SWIFT_PIDS[@]}"; do
		kill -KILL "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	SWIFT_PIDS=()
	for pid in "${pids[@]}"; do
		while [[ -e /proc/$pid && $(tr '\0' ' ' <"/proc/$pid/cmdline") == *"$SWIFT_DIR"* ]] 2>/dev/null; do
			sleep 0.02
		done
	done
}

# swift_bucket NAME: makes a bucket.
swift_bucket() { swift_curl "/$1" -f -X PUT; }

# swift_curl /BUCKET[/KEY][?QUERY] [ARG...]: sends a signed request. The key's id goes in the URL, as --user ends it
# at the first colon. curl 7.88 signs the query as written, so QUERY is sorted and has a "=" after each name. The
# caller gives the digest of a body (-H "x-amz-content-sha256: ..."); the default is the digest of no body.
swift_curl() {
	local digest=()

	[[ "${*:2}" == *x-amz-content-sha256* ]] || digest=(-H "x-amz-content-sha256: $(sha256sum </dev/null | cut -c 1-64)")
	curl -sS -m 60 --cacert "$SWIFT_CA" --aws-sigv4 "aws:amz:$SWIFT_REGION:s3" "${digest[@]}" "${@:2}" \
		"https://${SWIFT_KEY_ID//:/%3A}:$SWIFT_SECRET@${SWIFT_URL#https://}$1"
}

# ---- how it starts ----

# Takes five consecutive free ports below the range that the kernel hands out, and below etcd's.
swift_ports() {
	local try n

	for try in {1..50}; do
		SWIFT_PORT=$((10000 + (RANDOM % 1200) * 8))
		for n in 0 1 2 3 4 none; do
			[[ $n != none ]] || return 0
			port_free $((SWIFT_PORT + n)) || break
		done
	done
	echo "no free ports after $try tries" >&2
	return 1
}

# Timeouts are long, for a busy machine: Swift's default is half a second to connect, and one second until an object
# is listed. Without workers, a server is one process. Logs go to stderr (-v), and not to the machine's log.
swift_configure() {
	local kind n=0

	for kind in account container object proxy; do
		n=$((n + 1))
		cat >"$SWIFT_DIR/$kind.conf" <<-EOF2
			[DEFAULT]
			bind_ip = 127.0.0.1
			bind_port = $((SWIFT_PORT + n))
			bind_timeout = 1
			workers = 0
			user = root
			swift_dir = $SWIFT_DIR
			devices = $SWIFT_DIR/srv
			mount_check = false
			disable_fallocate = true
			fallocate_reserve = 0
			recon_cache_path = $SWIFT_DIR
			log_udp_host = 127.0.0.1
			log_udp_port = 9
			log_level = INFO
			conn_timeout = 20
			node_timeout = 60
			client_timeout = 60
			container_update_timeout = 60
		EOF2
		[[ $kind == proxy ]] || cat >>"$SWIFT_DIR/$kind.conf" <<-EOF2
			[pipeline:main]
			pipeline = $kind-server
			[app:$kind-server]
			use = egg:swift#$kind
			conn_timeout = 20
			node_timeout = 60
			container_update_timeout = 60
		EOF2
	done
	cat >>"$SWIFT_DIR/proxy.conf" <<-EOF2
		cert_file = $SWIFT_DIR/tls/server.crt
		key_file = $SWIFT_DIR/tls/server.key
		[pipeline:main]
		pipeline = catch_errors gatekeeper healthcheck proxy-logging cache s3api tempauth slo proxy-server
		[filter:catch_errors]
		use = egg:swift#catch_errors
		[filter:gatekeeper]
		use = egg:swift#gatekeeper
		[filter:healthcheck]
		use = egg:swift#healthcheck
		[filter:proxy-logging]
		use = egg:swift#proxy_logging
		[filter:cache]
		use = egg:swift#memcache
		memcache_servers = 127.0.0.1:$SWIFT_PORT
		[filter:s3api]
		use = egg:swift#s3api
		location = us-east-1
		[filter:tempauth]
		use = egg:swift#tempauth
		user_test_tester = $SWIFT_SECRET .admin
		[filter:slo]
		use = egg:swift#slo
		[app:proxy-server]
		use = egg:swift#proxy
		account_autocreate = true
		conn_timeout = 20
		node_timeout = 60
		recoverable_node_timeout = 60
		error_suppression_interval = 0
	EOF2
	chmod 600 "$SWIFT_DIR/proxy.conf"
}

swift_run() {
	local disk=()

	swift_disk
	rm -f -- "$SWIFT_DIR/pids"
	setpriv --pdeathsig KILL memcached -l 127.0.0.1 -p "$SWIFT_PORT" -U 0 -u root -m 16 -t 1 \
		</dev/null >"$SWIFT_DIR/memcached.log" 2>&1 &
	SWIFT_PIDS=($!)
	setpriv --pdeathsig KILL "${disk[@]}" "$SWIFT_PYTHON" -c "$(swift_servers)" "$SWIFT_DIR" "$SWIFT_PORT" \
		</dev/null >"$SWIFT_DIR/servers.log" 2>&1 &
	SWIFT_PIDS+=($!)
}

# The servers' parent makes the rings and then starts the distribution's four programs. Each one begins in a fork that
# has the modules loaded and patched. A separate start would take two seconds of a core, and swift-ring-builder one
# second for each call.
swift_servers() {
	cat <<-'PYTHON'
		import array, ctypes, os, runpy, signal, sys
		import swift.account.server, swift.container.server, swift.obj.server, swift.proxy.server
		from swift.common.ring import RingData
		from swift.common.utils import eventlet_monkey_patch

		directory, first = sys.argv[1], int(sys.argv[2])
		kinds = ("account", "container", "object", "proxy")
		for offset, kind in enumerate(kinds[:3], 1):
		    device = {"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": first + offset, "device": "disk",
		              "replication_ip": "127.0.0.1", "replication_port": first + offset, "weight": 1.0, "meta": ""}
		    RingData([array.array("H", [0] * 16)], [device], 28).save("%s/%s.ring.gz" % (directory, kind))
		eventlet_monkey_patch()
		children = []
		for kind in kinds:
		    child = os.fork()
		    if child == 0:
		        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
		        log = os.open("%s/%s.log" % (directory, kind), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
		        os.dup2(log, 1)
		        os.dup2(log, 2)
		        sys.argv = ["swift-%s-server" % kind, "%s/%s.conf" % (directory, kind), "-v"]
		        runpy.run_path("/usr/bin/" + sys.argv[0], run_name="__main__")
		        os._exit(1)
		    children.append(child)
		with open(directory + "/pids.new", "w") as file:
		    print(*children, file=file)
		os.rename(directory + "/pids.new", directory + "/pids")
		# The end of one server ends all, by SIGKILL from the kernel.
		os.wait()
	PYTHON
}

# Objects have their metadata in extended attributes. If DIR lacks those, the objects are on an image, which only the
# servers' mount namespace contains. The kernel removes the mount with the servers.
# shellcheck disable=SC2016 # the inner shell expands it
swift_disk() { # sets disk
	local image=$SWIFT_DIR/disk.image

	[[ ${SWIFT_DISK-} != loop ]] && setfattr -n user.probe -v 1 "$SWIFT_DIR/srv" 2>/dev/null && return 0
	rm -f -- "$image"
	truncate -s 4G "$image"
	mkfs.xfs -q "$image"
	disk=(unshare --mount --propagation private bash -c 'for try in 1 2 3 4 5; do
		mount -o loop,noatime "$0" "$1" && rm -f -- "$0" && mkdir -p "$1/disk" && exec "${@:2}"
		sleep "0.$try"
	done' "$image" "$SWIFT_DIR/srv")
}

# swift_wait: waits up to a minute until the proxy answers and each server is alone at its port. (eventlet's listeners
# share a port with other programs.)
swift_wait() {
	local n pid

	for ((n = 0; n < 600; n++)); do
		sleep 0.1
		for pid in "${SWIFT_PIDS[@]}"; do
			kill -0 "$pid" 2>/dev/null || return 1
		done
		if [[ -e $SWIFT_DIR/pids ]] && swift_listens; then
			curl -sSf -m 20 --cacert "$SWIFT_DIR/tls/ca.crt" "https://127.0.0.1:$((SWIFT_PORT + 4))/healthcheck" \
				>>"$SWIFT_DIR/health.log" 2>&1
			return
		fi
	done
	return 1
}

swift_listens() {
	local n pids
	{ local - && set +x; } 2>/dev/null

	read -ra pids <"$SWIFT_DIR/pids"
	pids=("${SWIFT_PIDS[0]}" "${pids[@]}")
	for n in 4 3 2 1 0; do
		alone_at "${pids[n]}" $((SWIFT_PORT + n)) || return 1
	done
}

# alone_at PID PORT: succeeds if only that process listens at PORT.
alone_at() {
	local local_address state inode port owners=''

	printf -v port ':%04X' "$2"
	while read -r _ local_address _ state _ _ _ _ _ inode _; do
		[[ $state != 0A || $local_address != *"$port" ]] || owners+="socket:[$inode]"
	done </proc/net/tcp
	[[ $owners == 'socket:['+([0-9])']' && $(readlink "/proc/$1/fd/"* 2>/dev/null) == *"$owners"* ]]
}
