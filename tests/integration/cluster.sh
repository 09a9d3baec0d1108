#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A device that begins a cluster, and one that joins it, by a real systemd and real etcds.

# shellcheck disable=SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"
# shellcheck source=tests/lib/container.sh
. "$(dirname "$0")/../lib/container.sh"

# container_run CONFIG [BOUND...]: a container whose etcd has no data yet, and a person who does what stdin says. CONFIG:
# more of greenboot-etcd.conf. BOUND: directories that are there, too.
container_run() {
	local etc program bound options=()

	container_device
	chgrp etcd "$VAR/lib/etcd"
	deploy A
	populate A ""
	etc=$(deployment_dir A)/etc
	program=$(command -v "$ETCD")
	[[ $ETCD != "$ETCD_NEXT" ]] || program=/opt/etcd options=(--bind-ro="${ETCD_NEXT%/*}:/opt")
	for bound in "${@:2}"; do options+=(--bind-ro="$bound"); done
	mkdir -p "$etc/greenboot-etcd" "$etc/ssl"
	cp -L "$(openssl version -d | cut -d'"' -f2)/openssl.cnf" "$etc/ssl/"
	printf '[etcd]\nmember-dir=auto\nservice=etcd.service\n[health]\ntimeout=20s\n%s\n' "$1" >"$etc/greenboot-etcd/greenboot-etcd.conf"
	cat >"$etc/systemd/system/etcd.service" <<-EOF2
		[Service]
		Type=notify
		User=etcd
		TimeoutStartSec=20s
		Environment=ETCD_LISTEN_CLIENT_URLS=http://127.0.0.1:2379
		ExecStart=$program --data-dir=/var/lib/etcd/default --heartbeat-interval=10 --election-timeout=100
	EOF2
	# The person starts it.
	rm "$etc/systemd/system/multi-user.target.wants/etcd.service"
	{
		declare -f certificates
		echo "LIVE=/var/lib/greenboot-etcd-pki/live"
		cat <<-'EOF2'
			# by DIR COMMAND...: etcdctl as a client with what is in DIR
			by() { etcdctl --endpoints=https://127.0.0.1:2379 --dial-timeout=2s --command-timeout=3s --cacert=$1/ca.crt --cert=$1/client.crt --key=$1/client.key "${@:2}"; }
			ctl() { by $LIVE "$@"; }
			sum() { (cd $LIVE && find . -type f | sort | xargs cat | sha256sum | cut -c 1-16); }
			wrong() { echo "not as it should be: $*"; exit 1; }
			is() { [[ $2 == "$3" ]] || wrong "$1: $2, not $3"; }
			isnt() { [[ $2 != "$3" ]] || wrong "$1: still $2"; }
			gives() { # STATUS COMMAND...
				local want=$1 rc=0
				shift
				"$@" || rc=$?
				is "status of $*" "$rc" "$want"
			}
			gets() { is value "$(by ${1:-$LIVE} get k --print-value-only)" v; }
			getsnt() { ! by $1 get k || wrong "$1 is still let in"; }
			clean() { is "in the directory" "$(ls -A ${LIVE%/live})" live; openssl verify -CAfile $LIVE/ca.crt $LIVE/{server,peer,client}.crt || wrong verify; }
			starts() { systemctl start etcd; ctl put k v; }
		EOF2
		cat
		echo "echo all of it"
	} >"$etc/person"
	run A "${options[@]}"
	! grep "not as it should be" "$LOG" >&2 || fail "$(grep -o "not as it should be.*" "$LOG" | head -n 1)"
	grep -q "all of it$" "$LOG" || fail "the person gave up"
	! grep -q "PRIVATE KEY" "$LOG" || fail "a key is in the journal"
}

AS_SOUTH=(--name=south --peer-url=https://south.example:2380 --client-url=https://127.0.0.1:2379)

# on_device: what stdin says, by the person of a device; out.json is for the host.
on_device_run() {
	cat >"$GBE_MEM/told"
	container_run "" "$BUILD_FAULTS" < <(
		declare -p AS_SOUTH
		declare -f north n member_is
		echo "FAULTS=$BUILD_FAULTS/greenboot-etcd"
		echo "echo 127.0.0.1 south.example >>/etc/hosts"
		cat "$GBE_MEM/told"
	)
}

# north: the first member, by hand: an etcd of the authority that is here.
north() {
	gives 0 greenboot-etcd certs init
	mkdir -p /run/north
	cd /run/north || exit
	gives 0 greenboot-etcd certs issue north --peer --host=127.0.0.1 --host=localhost
	cp "$LIVE/ca.crt" .
	gives 0 greenboot-etcd cluster token /run/token
	cp -r "$LIVE" own
	etcd --name north --data-dir data --listen-client-urls https://127.0.0.1:12379 --advertise-client-urls https://127.0.0.1:12379 \
		--listen-peer-urls https://127.0.0.1:12380 --initial-advertise-peer-urls https://127.0.0.1:12380 \
		--initial-cluster north=https://127.0.0.1:12380 --cert-file north.crt --key-file north.key --trusted-ca-file ca.crt \
		--client-cert-auth --peer-cert-file north.crt --peer-key-file north.key --peer-trusted-ca-file ca.crt \
		--peer-client-cert-auth --strict-reconfig-check=false --heartbeat-interval=10 --election-timeout=100 >log 2>&1 &
	for ((i = 0; i < 300; i++)); do ! n put k v || break; sleep 0.2; done
	rm -rf "$LIVE"
	printf '[etcd]\nendpoint=https://127.0.0.1:12379\ncacert=%s\ncert=%s\nkey=%s\n' /run/north/own/{ca.crt,client.crt,client.key} >/etc/north.conf
}
n() { etcdctl --endpoints=https://127.0.0.1:12379 --command-timeout=5s --cacert=/run/north/own/ca.crt --cert=/run/north/own/client.crt --key=/run/north/own/client.key "$@"; }
member_is() { is "$1" "$(greenboot-etcd --config=/etc/north.conf --json cluster status | jq -r '[.voters, .working, (.members | length)] | join(" ")')" "$2"; }

begins() {
	on_device_run <<-'EOF2'
		gives 2 greenboot-etcd cluster init
		gives 2 greenboot-etcd cluster init --peer-url=http://1.2.3.4:2380 --client-url=https://127.0.0.1:2379
		[[ ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "an intent of nothing"
		gives 0 greenboot-etcd --json cluster init -n "${AS_SOUTH[@]}"
		gives 0 greenboot-etcd --json cluster init "${AS_SOUTH[@]}" >/var/out.json
		is etcd "$(systemctl is-active etcd)" active
		greenboot-etcd config | grep endpoint
		gives 0 greenboot-etcd health
		is member "$(greenboot-etcd --json member list | jq -r '.members[] | .name + " " + .peer_urls[0] + " " + .client_urls[0]')" \
			"south https://south.example:2380 https://127.0.0.1:2379"
		openssl x509 -in $LIVE/peer.crt -noout -checkhost south.example | grep "does match" || wrong "its certificate"
		ctl put k v
		gets
		gives 5 greenboot-etcd cluster init "${AS_SOUTH[@]}"
		systemctl restart etcd
		gets
		gives 0 greenboot-etcd certs renew --force
		gets
	EOF2
	OUT=$(<"$VAR/out.json")
	fits cluster-setup
}

begins_cut() {
	on_device_run <<-'EOF2'
		for point in cluster-intended cluster-configured pki-filled cluster-started; do
			GREENBOOT_ETCD_FAULT=$point=kill $FAULTS cluster init "${AS_SOUTH[@]}" || true
			[[ -e /var/lib/greenboot-etcd/cluster || $point == pki-filled ]] || wrong "no intent at $point"
			[[ $point == pki-filled ]] || gives 5 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}"
			gives 0 greenboot-etcd cluster init "${AS_SOUTH[@]}"
			[[ ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "the intent stays"
			ctl put k v
			systemctl stop etcd
			rm -rf /var/lib/etcd/default /var/lib/greenboot-etcd/cluster.env $LIVE
		done
	EOF2
}

joins() {
	on_device_run <<-'EOF2'
		north
		gives 2 greenboot-etcd cluster join
		gives 2 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}"
		gives 7 greenboot-etcd cluster join https://127.0.0.1:1 --token=/run/token "${AS_SOUTH[@]}"
		gives 5 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}" --name=north
		gives 5 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}" --peer-url=https://127.0.0.1:12380
		[[ ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "an intent of nothing"
		# Somebody else has its port: it is out again, and nothing is left.
		python3 -c 'import socket, time; s = socket.create_server(("", 2380)); time.sleep(1000)' &
		sleep 1
		gives 1 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}"
		kill %%
		member_is "out again" "1 1 1"
		[[ ! -e /var/lib/greenboot-etcd/cluster && ! -e /var/lib/greenboot-etcd/cluster.env ]] || wrong "something is left"
		gives 0 greenboot-etcd --json cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}" >/var/out.json
		member_is "in" "2 2 2"
		gets
		ctl put after v
		is "at north" "$(n get after --print-value-only)" v
		gives 0 greenboot-etcd health
		gives 5 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}"
	EOF2
	OUT=$(<"$VAR/out.json")
	fits cluster-setup
}

# A token of another site: its certificates are worth nothing here.
joins_elsewhere() {
	on_device_run <<-'EOF2'
		north
		gives 0 greenboot-etcd certs init
		gives 0 greenboot-etcd cluster token /run/other
		rm -rf $LIVE
		rc=0
		greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/other "${AS_SOUTH[@]}" 2>/run/said || rc=$?
		is status $rc 7
		grep -i certificate /run/said || wrong "$(cat /run/said)"
		member_is "nothing happened" "1 1 1"
		gives 5 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
	EOF2
}

joins_cut() {
	on_device_run <<-'EOF2'
		north
		for point in cluster-intended cluster-entered cluster-configured cluster-started; do
			GREENBOOT_ETCD_FAULT=$point=kill $FAULTS cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}" || true
			[[ -e /var/lib/greenboot-etcd/cluster ]] || wrong "no intent at $point"
			gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
			[[ ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "the intent stays"
			member_is "in, after $point" "2 2 2"
			gets
			gives 0 greenboot-etcd --config=/etc/north.conf member remove south
			systemctl stop etcd
			rm -rf /var/lib/etcd/default /var/lib/greenboot-etcd/cluster.env $LIVE
			member_is "out, after $point" "1 1 1"
		done
	EOF2
}

# A join that was cut and then fails removes nothing: by now the data may be a voter's.
joins_keeps() {
	on_device_run <<-'EOF2'
		north
		GREENBOOT_ETCD_FAULT=cluster-started=kill $FAULTS cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}" || true
		[[ -e /var/lib/etcd/default/member ]] || wrong "no data yet"
		systemctl stop etcd
		python3 -c 'import socket, time; s = socket.create_server(("", 2380)); time.sleep(1000)' &
		sleep 1
		gives 3 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}"
		kill %%
		[[ -e /var/lib/etcd/default/member && -e /var/lib/greenboot-etcd/cluster ]] || wrong "something is gone"
		gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}"
		member_is "in" "2 2 2"
		gets
	EOF2
}

need_nspawn
suite_begin "$@"
run_case begins begins
run_case begins-cut begins_cut
run_case joins joins
run_case joins-elsewhere joins_elsewhere
run_case joins-cut joins_cut
run_case joins-keeps joins_keeps
suite_end
