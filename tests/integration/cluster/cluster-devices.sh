#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# One device begins a cluster and another joins it, with a real systemd and real etcds.

# shellcheck disable=SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../../lib/all.sh"
# shellcheck source=tests/lib/container.sh
. "$(dirname "$0")/../../lib/container.sh"

# container_run CONFIG [BOUND...]: runs a container whose etcd has no data yet, and a person who runs the commands of
# stdin. CONFIG has more lines of greenboot-etcd.conf. BOUND: additional directories.
container_run() {
	local etc program bound
	PERSON_OPTIONS=()

	container_device
	chgrp etcd "$VAR/lib/etcd"
	deploy A
	populate A ""
	etc=$(deployment_dir A)/etc
	program=$(command -v "$ETCD")
	[[ $ETCD != "$ETCD_NEXT" ]] || program=/opt/etcd PERSON_OPTIONS=(--bind-ro="${ETCD_NEXT%/*}:/opt")
	for bound in "${@:2}"; do PERSON_OPTIONS+=(--bind-ro="$bound"); done
	mkdir -p "$etc/greenboot-etcd" "$etc/ssl"
	cp -L "$(openssl version -d | cut -d'"' -f2)/openssl.cnf" "$etc/ssl/"
	printf '[health]\ntimeout=20s\n%s\n' "$1" >"$etc/greenboot-etcd/greenboot-etcd.conf"
	cat >"$etc/systemd/system/etcd.service" <<-EOF2
		[Service]
		Type=notify
		User=etcd
		TimeoutStartSec=20s
		Environment=ETCD_LISTEN_CLIENT_URLS=http://127.0.0.1:2379
		ExecStart=$program --data-dir=/var/lib/etcd/default --heartbeat-interval=10 --election-timeout=100
	EOF2
	# The person starts etcd.
	rm "$etc/systemd/system/multi-user.target.wants/etcd.service"
	person
}

# person: boots the container, and lets the person run the commands of stdin.
person() {
	{
		declare -f certificates
		echo "LIVE=/var/lib/greenboot-etcd-pki/live"
		cat "$GBE_LIB/person.sh" -
		echo "echo all of it"
	} >"$(deployment_dir A)/etc/person"
	run A "${PERSON_OPTIONS[@]}"
	person_is_done
}

AS_SOUTH=(--name=south --peer-url=https://south.example:2380 --client-url=https://127.0.0.1:2379)

# on_device_run: lets the person of a device run the commands of stdin. out.json is for the host. After a reboot, the
# person runs those of on_device_again.
on_device_run() { with_words container_run "" "$BUILD_FAULTS"; }
on_device_again() { with_words person; }
with_words() {
	cat >"$GBE_MEM/told"
	"$@" < <(
		declare -p AS_SOUTH
		declare -f north n members member_is member_works ask_at begins_not steps
		echo "FAULTS=$BUILD_FAULTS/greenboot-etcd"
		echo "grep -q south.example /etc/hosts || echo 127.0.0.1 south.example >>/etc/hosts"
		cat "$GBE_MEM/told"
	)
}

# north: makes the first member by hand: an etcd of this suite's authority.
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
		--peer-client-cert-auth --strict-reconfig-check="${STRICT:-false}" --heartbeat-interval="${HEARTBEAT:-10}" --election-timeout="${ELECTION:-100}" >log 2>&1 &
	for ((i = 0; i < 300; i++)); do ! n put k v || break; sleep 0.2; done
	rm -rf "$LIVE"
	printf '[etcd]\nendpoint=https://127.0.0.1:12379\ncacert=%s\ncert=%s\nkey=%s\n' /run/north/own/{ca.crt,client.crt,client.key} >/etc/north.conf
}
# begins_not POINT: the data may be gone, and setting it aside is half done, so etcd must not start with new data.
begins_not() {
	[[ $1 == restore-exchanged || $1 == cluster-set-aside || $1 == cluster-settings-moved ]] || return 0
	systemctl reset-failed etcd || true
	! systemctl start etcd || wrong "etcd starts with empty data after $1"
	greenboot-etcd status | grep "1. greenboot-etcd cluster" || wrong "status does not say why"
	! greenboot-etcd explain | grep "mask --runtime" || wrong "a mask is no way out of it"
}
# steps VERB...: STEPS has the steps of `cluster VERB` that an intent covers, as the program lists them.
steps() {
	STEPS=$(GREENBOOT_ETCD_FAULT=steps $FAULTS cluster "$@" | sed -n '/^cluster-intended$/,/^cluster-ended$/{/^cluster-ended$/!p}')
	[[ $STEPS == cluster-intended* ]] || wrong "the program does not list its steps"
	STEPS=$(sort -u <<<"$STEPS")
}
# ask_at [URL]: sets the endpoint of greenboot-etcd; without URL, it finds the endpoint itself.
ask_at() {
	mkdir -p /etc/greenboot-etcd/greenboot-etcd.conf.d
	rm -f /etc/greenboot-etcd/greenboot-etcd.conf.d/endpoint.conf
	[[ ! ${1-} ]] || printf '[etcd]\nendpoint=%s\n' "$1" >/etc/greenboot-etcd/greenboot-etcd.conf.d/endpoint.conf
}
n() { etcdctl --endpoints=https://127.0.0.1:12379 --command-timeout=5s --cacert=/run/north/own/ca.crt --cert=/run/north/own/client.crt --key=/run/north/own/client.key "$@"; }
members() { greenboot-etcd --config=/etc/north.conf --json cluster status | jq -r '[.voters, .working, (.members | length)] | join(" ")'; }
member_works() { [[ $(members) == "$1" ]]; }
# On a busy machine a cluster may be without a leader for a moment.
member_is() {
	for ((i = 0; i < 20; i++)); do ! member_works "$2" || return 0; sleep 0.5; done
	is "$1" "$(members)" "$2"
}

begins() {
	on_device_run <<-'EOF2'
		gives 2 greenboot-etcd cluster init
		gives 2 greenboot-etcd cluster init --peer-url=http://1.2.3.4:2380 --client-url=https://127.0.0.1:2379
		mv /etc/systemd/system/etcd.service /run/
		systemctl mask etcd
		gives 5 greenboot-etcd cluster init "${AS_SOUTH[@]}"
		systemctl unmask etcd
		mv /run/etcd.service /etc/systemd/system/
		systemctl daemon-reload
		ask_at http://127.0.0.1:2379
		gives 5 greenboot-etcd cluster init "${AS_SOUTH[@]}"
		ask_at https://127.0.0.1:2378
		gives 5 greenboot-etcd cluster init "${AS_SOUTH[@]}"
		ask_at
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
		# At another port.
		gives 0 greenboot-etcd cluster reset
		gives 0 greenboot-etcd cluster init "${AS_SOUTH[@]}" --client-url=https://127.0.0.1:22379
		greenboot-etcd config | grep 'endpoint=https://127.0.0.1:22379'
		gives 0 greenboot-etcd health
	EOF2
	OUT=$(<"$VAR/out.json")
	fits cluster-setup
}

begins_cut() {
	on_device_run <<-'EOF2'
		steps init
		for point in pki-filled $STEPS; do
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
		for url in http://127.0.0.1:12379 127.0.0.1 https://127.0.0.1; do
			gives 2 greenboot-etcd cluster join "$url" --token=/run/token "${AS_SOUTH[@]}" 2>/run/said
			grep -F "$url: the address of a member begins with https:// and ends with its port, like https://127.0.0.1:2379" /run/said || wrong "$(cat /run/said)"
		done
		gives 7 greenboot-etcd cluster join https://127.0.0.1:1 --token=/run/token "${AS_SOUTH[@]}"
		[[ ! -e $LIVE ]] || wrong "certificates before the cluster was asked"
		gives 5 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}" --name=north
		gives 5 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}" --peer-url=https://127.0.0.1:12380
		[[ ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "an intent of nothing"
		# Another process has its port: the member is removed again, and nothing is left.
		python3 -c 'import socket, time; s = socket.create_server(("", 2380)); time.sleep(1000)' &
		sleep 1
		gives 1 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}"
		kill %%
		member_is "out again" "1 1 1"
		[[ ! -e /var/lib/greenboot-etcd/cluster && ! -e /var/lib/greenboot-etcd/cluster.env ]] || wrong "something is left"
		# The same for a device that has data.
		mkdir -p /etc/systemd/system/etcd.service.d
		printf '[Service]\nExecStartPost=/bin/false\n' >/etc/systemd/system/etcd.service.d/fails.conf
		systemctl daemon-reload
		gives 1 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}"
		[[ ! -e /var/lib/etcd/default/member && ! -e /var/lib/greenboot-etcd/cluster.env ]] || wrong "something is left"
		is "backups" "$(greenboot-etcd --json list | jq length)" 0
		# The way back is cut, and the directory had a file that etcd does not know.
		comes n put quiet v
		mkdir -p /var/lib/etcd/notes
		echo mine >/var/lib/etcd/notes/file
		GREENBOOT_ETCD_FAULT=restore-intended=kill $FAULTS cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}" || true
		rm /etc/systemd/system/etcd.service.d/fails.conf
		systemctl daemon-reload
		[[ -e /var/lib/greenboot-etcd/cluster ]] || wrong "it was not cut"
		gives 0 greenboot-etcd --json cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}" >/var/out.json
		member_is "in" "2 2 2"
		gets
		ctl put after v
		is "at north" "$(n get after --print-value-only)" v
		gives 0 greenboot-etcd health
		is "the file" "$(cat /var/lib/greenboot-etcd/backups/*/data/notes/file)" mine
		greenboot-etcd status | head -n 1 | grep '^Partly protected: lost data comes back from the other members' || wrong "$(greenboot-etcd status)"
		# A repeated call has nothing to do.
		rm /run/token
		gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
		gives 5 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}" --name=other
		member_is "nothing happened" "2 2 2"
	EOF2
	OUT=$(<"$VAR/out.json")
	fits cluster-setup
}

# The token is from another site, so its certificates are useless here.
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
		[[ ! -e $LIVE && ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "something of the wrong token stays"
		chmod 0640 /run/token
		gives 5 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
		chmod 0600 /run/token
		# An earlier version, or the device's former etcd, left files.
		gives 0 greenboot-etcd certs init
		rc=0
		greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}" 2>/run/said || rc=$?
		is status $rc 5
		grep "cluster reset --force" /run/said || wrong "no way out: $(cat /run/said)"
		gives 0 greenboot-etcd cluster reset --force
		[[ ! -e $LIVE ]] || wrong "the certificates stay"
		# A token from the time between two steps of a rotation has both authorities.
		mkdir $LIVE
		cp -r own/. $LIVE/
		gives 0 greenboot-etcd certs rotate-ca
		gives 0 greenboot-etcd cluster token /run/both
		next=$(openssl x509 -noout -fingerprint -in $LIVE/authority/other.crt)
		rm -rf $LIVE
		gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/both "${AS_SOUTH[@]}"
		member_is "in" "2 2 2"
		is "authorities" "$(grep -c BEGIN $LIVE/ca.crt)" 2
		is "rotation" "$(greenboot-etcd --json certs list | jq -r .authority.rotation)" trusted
		is "the next one" "$(openssl x509 -noout -fingerprint -in $LIVE/authority/other.crt)" "$next"
		is "the private key" "$(grep -c "BEGIN CERT" $LIVE/authority/ca.key)" 0
	EOF2
}

joins_cut() {
	on_device_run <<-'EOF2'
		north
		steps join https://127.0.0.1:12379
		for point in $STEPS pki-written pki-exchanged; do
			GREENBOOT_ETCD_FAULT=$point=kill $FAULTS cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}" || true
			[[ -e /var/lib/greenboot-etcd/cluster ]] || wrong "no intent at $point"
			# This is the state of /run after a power cut.
			mv /run/token /run/kept
			gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
			mv /run/kept /run/token
			[[ ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "the intent stays"
			member_is "in, after $point" "2 2 2"
			gets
			comes greenboot-etcd --config=/etc/north.conf member remove south
			systemctl stop etcd
			rm -rf /var/lib/etcd/default /var/lib/greenboot-etcd/cluster.env $LIVE
			member_is "out, after $point" "1 1 1"
		done
	EOF2
}

# A join that was cut and then fails removes nothing, because the data may be a voter's.
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
		# This operation can never end.
		comes greenboot-etcd cluster leave
		GREENBOOT_ETCD_FAULT=cluster-entered=kill $FAULTS cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}" || true
		comes greenboot-etcd --config=/etc/north.conf member remove "$(greenboot-etcd --config=/etc/north.conf --json member list | jq -r '.members[] | select(.learner) | .id')"
		gives 5 greenboot-etcd cluster reset
		gives 0 greenboot-etcd cluster reset --force
		[[ ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "the intent stays"
		comes greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
	EOF2
}

# The device leaves the cluster: its data is a backup, the other member keeps running, and the device can join again.
leaves() {
	on_device_run <<-'EOF2'
		STRICT=true north
		# etcd denies a change until its members have been connected for five seconds.
		gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
		gives 0 greenboot-etcd cluster leave
		gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}"
		comes ctl put before v
		# The other member answers.
		ask_at https://127.0.0.1:12379
		gives 5 greenboot-etcd cluster leave
		gives 5 greenboot-etcd cluster reset
		ask_at
		member_is "nothing happened" "2 2 2"
		comes greenboot-etcd --json cluster leave -n
		member_is "nothing happened" "2 2 2"
		comes eval 'greenboot-etcd --json cluster leave >/var/out.json'
		member_is "out" "1 1 1"
		is etcd "$(systemctl is-active etcd)" inactive
		[[ ! -e /var/lib/etcd/default && ! -e /var/lib/greenboot-etcd/cluster.env && -e $LIVE ]] || wrong "something is left"
		gives 0 greenboot-etcd show "$(jq -r .backup /var/out.json)"
		gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}"
		member_is "in again" "2 2 2"
		is "the data" "$(ctl get before --print-value-only)" v
		comes n put while v
		# An update may stop the other member at any moment.
		n put greenboot-etcd/update-lock/default/1 '{"schema":1,"id":"0000000000000001","member":"north","state":"held","since":1}'
		gives 5 greenboot-etcd cluster leave
		n del greenboot-etcd/update-lock/default/1
		# Another device never releases this lock.
		gives 0 greenboot-etcd cluster lock
		gives 5 greenboot-etcd cluster leave
		gives 0 greenboot-etcd cluster unlock
		member_is "nothing happened" "2 2 2"
		# A cluster of two needs both.
		kill -STOP "$(pgrep -of 'etcd --name north')"
		gives 7 greenboot-etcd cluster leave
		kill -CONT "$(pgrep -of 'etcd --name north')"
		[[ ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "an intent of nothing"
	EOF2
	OUT=$(<"$VAR/out.json")
	fits cluster-left
}

leaves_cut() {
	on_device_run <<-'EOF2'
		north
		gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
		steps leave
		for point in $STEPS restore-intended restore-exchanged; do
			comes ctl put "$point" v
			GREENBOOT_ETCD_FAULT=$point=kill $FAULTS cluster leave || true
			[[ -e /var/lib/greenboot-etcd/cluster ]] || wrong "no intent at $point"
			gives 5 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}"
			begins_not "$point"
			comes eval 'greenboot-etcd --json cluster leave >/run/left'
			[[ ! -e /var/lib/greenboot-etcd/cluster && ! -e /var/lib/etcd/default ]] || wrong "not finished after $point"
			member_is "out, after $point" "1 1 1"
			gives 0 greenboot-etcd verify "$(jq -r .backup /run/left)"
			gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}"
			is "the data, after $point" "$(ctl get "$point" --print-value-only)" v
		done
		# Another cluster answers at the address, and its list does not prove that this device is out.
		GREENBOOT_ETCD_FAULT=cluster-intended=kill $FAULTS cluster leave || true
		pkill -f -- '--name north '
		while pgrep -f -- '--name north '; do sleep 0.1; done
		rm -r /run/north/data
		(
			cd /run/north
			exec etcd --name alien --data-dir alien --listen-client-urls https://127.0.0.1:12379 --advertise-client-urls https://127.0.0.1:12379 \
				--cert-file north.crt --key-file north.key --trusted-ca-file ca.crt --client-cert-auth \
				--listen-peer-urls http://127.0.0.1:12380 --initial-advertise-peer-urls http://127.0.0.1:12380 --initial-cluster alien=http://127.0.0.1:12380
		) >/run/alien.log 2>&1 &
		comes member_works "1 1 1"
		gives 7 greenboot-etcd cluster leave 2>/run/said
		grep "is a member of another cluster" /run/said || wrong "$(cat /run/said)"
		[[ -e /var/lib/etcd/default/member && -e /var/lib/greenboot-etcd/cluster.env ]] || wrong "its data is gone"
	EOF2
}

# Everything is removed, and all of it is restored, also over power cuts.
resets() {
	on_device_run <<-'EOF2'
		back() {
			systemctl reset-failed etcd
			systemctl start etcd
			is "the data $1" "$(ctl get k --print-value-only)" v
			is "its cluster $1" "$(cluster_id)" "$first"
			is "the certificates $1" "$(sum)" "$certificates"
		}
		forgotten() {
			is "etcd $1" "$(systemctl is-active etcd)" inactive
			[[ ! -e /var/lib/etcd/default && ! -e /var/lib/greenboot-etcd/cluster.env && ! -e $LIVE ]] || wrong "something is left $1"
			[[ ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "an intent is left $1"
		}
		cluster_id() { greenboot-etcd --json cluster status | jq -r .cluster_id; }
		gives 0 greenboot-etcd cluster init "${AS_SOUTH[@]}"
		comes ctl put k v
		first=$(cluster_id) certificates=$(sum)
		gives 5 greenboot-etcd cluster leave
		gives 0 greenboot-etcd cluster reset -n
		is etcd "$(systemctl is-active etcd)" active
		gives 0 greenboot-etcd --json cluster reset >/var/out.json
		forgotten once
		gives 0 greenboot-etcd undo
		back once
		steps reset
		for point in $STEPS restore-exchanged cluster-settings-moved; do
			GREENBOOT_ETCD_FAULT=$point=kill $FAULTS cluster reset || true
			begins_not "$point"
			gives 0 greenboot-etcd cluster reset
			forgotten "after $point"
			gives 0 greenboot-etcd undo
			back "after $point"
		done
		# The device joined another cluster meanwhile: undo exchanges both, and a second undo exchanges them
		# again.
		gives 0 greenboot-etcd cluster reset
		gives 0 greenboot-etcd cluster init "${AS_SOUTH[@]}"
		comes ctl put k other
		isnt "the cluster" "$(cluster_id)" "$first"
		systemctl stop etcd
		GREENBOOT_ETCD_FAULT=cluster-settings-moved=kill $FAULTS undo || true
		gives 5 greenboot-etcd cluster init "${AS_SOUTH[@]}"
		back "from the other"
		systemctl stop etcd
		gives 0 greenboot-etcd undo
		systemctl reset-failed etcd
		systemctl start etcd
		is "the other" "$(ctl get k --print-value-only)" other
		systemctl stop etcd
		gives 0 greenboot-etcd undo
		back "at last"
	EOF2
	OUT=$(<"$VAR/out.json")
	fits cluster-left
}

# The data of a member is restored at the next boot, from a backup that is not its last. Its
# settings and certificates are also restored, before etcd starts.
resets_returns() {
	on_device_run <<-'EOF2'
		gives 0 greenboot-etcd cluster init "${AS_SOUTH[@]}"
		comes ctl put k v
		sum >/var/sum
		systemctl stop etcd
		gives 0 greenboot-etcd backup before
		systemctl start etcd
		comes ctl put k later
		gives 0 greenboot-etcd cluster reset
		[[ ! -e /var/lib/greenboot-etcd/cluster.env && ! -e $LIVE ]] || wrong "the settings are there"
		gives 0 greenboot-etcd restore --next-boot before
	EOF2
	on_device_again <<-'EOF2'
		systemctl start etcd
		comes gets
		is "the certificates" "$(sum)" "$(</var/sum)"
		is member "$(greenboot-etcd --json member list | jq -r '.members[] | .name + " " + .peer_urls[0]')" "south https://south.example:2380"
		clean
		! compgen -G "/var/lib/greenboot-etcd/cluster.env.of-*" || wrong "settings are aside"
	EOF2
}

# Data of an unknown owner also keeps its certificates.
resets_damaged() {
	on_device_run <<-'EOF2'
		gives 0 greenboot-etcd cluster init "${AS_SOUTH[@]}"
		comes ctl put k v
		before=$(sum)
		systemctl stop etcd
		for file in /var/lib/etcd/default/member/wal/*.wal; do dd if=/dev/zero of="$file" bs=4k count=1 conv=notrunc; done
		gives 0 greenboot-etcd cluster reset --force
		[[ ! -e $LIVE && -e ${LIVE%/live}/of-unknown ]] || wrong "the certificates are not set aside"
		gives 1 greenboot-etcd restore nothing-of-that-name
		gives 0 greenboot-etcd undo --force
		is "the certificates" "$(sum)" "$before"
		[[ -e /var/lib/greenboot-etcd/cluster.env ]] || wrong "the settings are gone"
	EOF2
}

# The data is gone. The certificates come back with a backup of the same member.
resets_without_data() {
	on_device_run <<-'EOF2'
		north
		gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
		comes ctl put k v
		comes greenboot-etcd cluster rejoin --if-needed
		systemctl stop etcd
		gives 0 greenboot-etcd backup before
		rm -r /var/lib/etcd/default/member
		gives 5 greenboot-etcd cluster reset
		gives 0 greenboot-etcd certs rotate-ca
		gives 5 greenboot-etcd certs rotate-ca
		before=$(sum)
		gives 0 greenboot-etcd cluster reset --force
		[[ ! -e $LIVE && ! -e /var/lib/greenboot-etcd/cluster.env ]] || wrong "the settings are there"
		! grep -q '"member"' /var/lib/greenboot-etcd/members || wrong "the members are remembered"
		gives 0 greenboot-etcd restore --force before
		is "the certificates" "$(sum)" "$before"
		[[ -e /var/lib/greenboot-etcd/cluster.env ]] || wrong "the settings are gone"
	EOF2
}

# A data directory that is a mount point stays one: its entries are exchanged.
resets_mount() {
	on_device_run <<-'EOF2'
		mount -t tmpfs -o mode=700,uid="$(stat -c %u /var/lib/etcd)",gid="$(stat -c %g /var/lib/etcd)" tmpfs /var/lib/etcd
		gives 0 greenboot-etcd cluster init "${AS_SOUTH[@]}"
		ctl put k v
		for point in none entries-one-exchanged restore-intended; do
			GREENBOOT_ETCD_FAULT=$point=kill $FAULTS cluster reset || true
			[[ $point == none ]] || gives 0 greenboot-etcd cluster reset
			mountpoint /var/lib/etcd
			[[ ! -e /var/lib/etcd/default/member && ! -e $LIVE ]] || wrong "something is left after $point"
			# The backup is on the mount: while it is not mounted, the program cannot know that a backup
			# is missing.
			mkdir -p /run/aside
			mount --bind /var/lib/etcd /run/aside
			umount /var/lib/etcd
			greenboot-etcd undo || true
			compgen -G "${LIVE%/live}/of-*" || wrong "the certificates are gone with the mount, after $point"
			mount --bind /run/aside /var/lib/etcd
			umount /run/aside
			gives 0 greenboot-etcd undo
			systemctl reset-failed etcd
			systemctl start etcd
			is "the data after $point" "$(ctl get k --print-value-only)" v
		done
	EOF2
}

# Another member depends on it, or this is unknown.
resets_not() {
	on_device_run <<-'EOF2'
		north
		gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
		comes ctl put k v
		gives 5 greenboot-etcd cluster reset
		systemctl stop etcd
		gives 5 greenboot-etcd cluster reset
		[[ -e /var/lib/etcd/default && ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "something happened"
		gives 0 greenboot-etcd cluster reset --force
		[[ ! -e /var/lib/etcd/default ]] || wrong "its data"
		# Keys do not stay longer than their data.
		compgen -G "${LIVE%/live}/of-*" || wrong "the certificates are not kept"
		# An authority that cannot be read may be that of the data.
		manifest=$(ls -d /var/lib/greenboot-etcd/backups/*/manifest.json)
		cp "$manifest" /run/manifest.json
		echo '{' >"$manifest"
		greenboot-etcd undo || true
		compgen -G "${LIVE%/live}/of-*" || wrong "the certificates of a backup that cannot be read are gone"
		cp /run/manifest.json "$manifest"
		for name in $(greenboot-etcd --json list | jq -r '.[].name'); do gives 0 greenboot-etcd delete --force "$name"; done
		gives 0 greenboot-etcd cluster init -n "${AS_SOUTH[@]}"
		gives 0 greenboot-etcd cluster join -n https://127.0.0.1:12379 "${AS_SOUTH[@]}"
		compgen -G "${LIVE%/live}/of-*" || wrong "a dry run removed the certificates"
		greenboot-etcd undo || true
		! compgen -G "${LIVE%/live}/of-*" || wrong "the certificates of a deleted backup stay"
		! compgen -G "/var/lib/greenboot-etcd/cluster.env.of-*" || wrong "the settings of a deleted backup stay"
	EOF2
}

# etcd's log is in an unusual place, so the program does not notice that it is missing.
joins_log_elsewhere() {
	on_device_run <<-'EOF2'
		mkdir -p /etc/systemd/system/etcd.service.d
		printf '[Service]\nEnvironment=ETCD_WAL_DIR=/var/lib/etcd/log\n' >/etc/systemd/system/etcd.service.d/wal.conf
		systemctl daemon-reload
		north
		gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
		systemctl stop greenboot-etcd-rejoin.timer
		comes ctl put k v
		comes greenboot-etcd cluster rejoin --if-needed
		systemctl stop etcd
		id=$(greenboot-etcd --config=/etc/north.conf --json member list | jq -r '.members[] | select(.name == "south") | .id')
		for i in 1 2; do systemctl reset-failed greenboot-etcd-rejoin.service || true; gives 0 systemctl start greenboot-etcd-rejoin.service; done
		comes eval '[[ $(journalctl -u greenboot-etcd-rejoin.service -o cat | grep -c "this device never saw it there") == 1 ]]'
		gives 0 systemctl start etcd
		comes gets
		is "the member" "$(greenboot-etcd --json member list | jq -r '.members[] | select(.name == "south") | .id')" "$id"
		# With the configured place, greenboot-etcd notices it. The supervisor notices it if prerun dies.
		mkdir -p /etc/greenboot-etcd/greenboot-etcd.conf.d
		printf '[etcd]\nwal-dir=/var/lib/etcd/log\n' >/etc/greenboot-etcd/greenboot-etcd.conf.d/log.conf
		systemctl daemon-reload
		gives 0 greenboot-etcd cluster rejoin --if-needed
		systemctl stop etcd
		mv /var/lib/etcd/log /var/lib/etcd/away
		gives 1 systemctl start etcd
		comes eval 'journalctl -u greenboot-etcd-prerun -o cat | grep "and its data, or its log, is gone; .*cluster rejoin"'
		systemctl stop greenboot-etcd-rejoin.timer
		mkdir -p /run/systemd/system/greenboot-etcd-prerun.service.d
		printf '[Service]\nExecStart=\nExecStart=%s\nEnvironment=GREENBOOT_ETCD_FAULT=prerun-started=kill\n' "${FAULTS%/*}/hooks/prerun" \
			>/run/systemd/system/greenboot-etcd-prerun.service.d/dies.conf
		systemctl daemon-reload
		systemctl reset-failed etcd || true
		gives 1 systemctl start etcd
		comes eval 'journalctl -u greenboot-etcd-prerun -o cat | grep "and its data, or its log, is gone"'
		rm -r /run/systemd/system/greenboot-etcd-prerun.service.d
		mv /var/lib/etcd/away /var/lib/etcd/log
		systemctl daemon-reload
		systemctl reset-failed etcd || true
		gives 0 systemctl start etcd
		comes gets
	EOF2
}

# A new cluster is made from a backup, or from a snapshot.
begins_from() {
	on_device_run <<-'EOF2'
		cluster_id() { greenboot-etcd --json cluster status | jq -r .cluster_id; }
		alone() {
			is "the data $1" "$(ctl get k --print-value-only)" v
			is "members $1" "$(greenboot-etcd --json cluster status | jq -r '[.members[].name] | join(" ")')" south
			isnt "the cluster $1" "$(cluster_id)" "$first"
			gives 0 greenboot-etcd health
		}
		north
		gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
		comes ctl put k v
		first=$(cluster_id)
		gives 0 greenboot-etcd snapshot save /var/k.db
		gives 0 greenboot-etcd cluster leave
		gives 1 greenboot-etcd cluster init "${AS_SOUTH[@]}" --from=nobody
		gives 1 greenboot-etcd cluster init "${AS_SOUTH[@]}" --from=/var/nothing.db
		[[ ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "an intent of nothing"
		gives 0 greenboot-etcd cluster init "${AS_SOUTH[@]}" --from=/var/k.db
		alone "from a snapshot"
		systemctl stop etcd
		gives 0 greenboot-etcd backup mine
		gives 0 greenboot-etcd cluster reset
		for point in import-unpacked cluster-seeded restore-exchanged; do
			GREENBOOT_ETCD_FAULT=$point=kill $FAULTS cluster init "${AS_SOUTH[@]}" --from=mine || true
			gives 0 greenboot-etcd cluster init "${AS_SOUTH[@]}" --from=mine
			alone "from a backup, after $point"
			[[ ! -e /var/lib/greenboot-etcd/cluster.db ]] || wrong "the snapshot is left"
			gives 0 greenboot-etcd cluster reset
		done
	EOF2
}

# writes: lets north write keys one after the other until it refuses one. /run/acked has the last accepted key.
writes() { for ((i = 0; i < 5000; i++)); do n put "k$i" "$i" >/dev/null 2>&1 || break; echo "$i" >/run/acked; done; }
# has_acked WHEN: expects that south has every acknowledged write.
has_acked() {
	local last count

	last=$(</run/acked)
	is "the last acknowledged write $1" "$(ctl get "k$last" --print-value-only)" "$last"
	count=$(ctl get k --prefix --keys-only | grep -c k)
	((count > last)) || wrong "$count writes $1, and $((last + 1)) were acknowledged"
}

# The other member is gone permanently.
recovers() {
	on_device_run < <(
		declare -f writes has_acked
		cat <<-'EOF2'
			north
			gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
			first=$(greenboot-etcd --json cluster status | jq -r .cluster_id)
			gives 5 greenboot-etcd cluster recover
			comes greenboot-etcd cluster rejoin --if-needed
			# A learner has all data, and no vote.
			comes eval 'greenboot-etcd --config=/etc/north.conf --json member add https://127.0.0.1:22380 --name=west >/run/added'
			(
				cd /run/north
				exec env $(jq -r '.environment | to_entries | map(.key + "=" + .value) | join(" ")' /run/added) etcd --data-dir west \
					--listen-client-urls https://127.0.0.1:22379 --advertise-client-urls https://127.0.0.1:22379 --listen-peer-urls https://127.0.0.1:22380 \
					--cert-file north.crt --key-file north.key --trusted-ca-file ca.crt --client-cert-auth --peer-cert-file north.crt \
					--peer-key-file north.key --peer-trusted-ca-file ca.crt --peer-client-cert-auth --heartbeat-interval=10 --election-timeout=100
			) >/run/west.log 2>&1 &
			WEST=$!
			comes eval '[[ $(greenboot-etcd --config=/etc/north.conf --json cluster status | jq -r ".members[] | select(.learner) | .state") == learner ]]'
			writes &
			writing=$!
			sleep 2
			kill -KILL "$(pgrep -of 'etcd --name north')"
			wait "$writing" || true
			kill -KILL $WEST
			wait $WEST || true
			gives 4 greenboot-etcd cluster recover
			systemctl stop etcd
			gives 5 greenboot-etcd cluster recover
			gives 5 greenboot-etcd cluster recover --data=/run/north/west
			gives 0 greenboot-etcd --json cluster recover --data=/run/north/data -n
			# The data is from another cluster.
			timeout 5 etcd --data-dir=/run/alien --listen-client-urls=http://127.0.0.1:52379 \
				--advertise-client-urls=http://127.0.0.1:52379 --listen-peer-urls=http://127.0.0.1:52380 \
				--initial-advertise-peer-urls=http://127.0.0.1:52380 --initial-cluster=default=http://127.0.0.1:52380 || true
			gives 2 greenboot-etcd cluster recover --data=/run/alien --force
			gives 2 greenboot-etcd cluster recover --data=/run/north/data --data=/run/north/data
			steps recover
			for point in $STEPS restore-exchanged; do
				GREENBOOT_ETCD_FAULT=$point=kill $FAULTS cluster recover --data=/run/north/data || true
				gives 0 greenboot-etcd --json cluster recover --data=/run/north/data >/var/out.json
				comes greenboot-etcd cluster status
				is "members after $point" "$(greenboot-etcd --json cluster status | jq -r '[.members[].name] | join(" ")')" south
				isnt "the cluster after $point" "$(greenboot-etcd --json cluster status | jq -r .cluster_id)" "$first"
				comes greenboot-etcd health
				has_acked "after $point"
				systemctl stop etcd
				gives 0 greenboot-etcd restore --force "$(greenboot-etcd --json list | jq -r '[.[] | select(.name | startswith("recover-"))][0].name')"
			done
			# This device has only a copy of the other member's data.
			rm -r /var/lib/etcd/default/member
			gives 1 greenboot-etcd cluster recover --data=/run/north/data 2>/run/said
			grep '/var/lib/etcd has no etcd data; put a copy' /run/said || wrong "$(cat /run/said)"
			cp -r /run/north/data/member /var/lib/etcd/default/
			gives 5 greenboot-etcd cluster recover
			gives 0 greenboot-etcd cluster recover --force
			comes greenboot-etcd cluster status
			is "members without own data" "$(greenboot-etcd --json cluster status | jq -r '[.members[].name] | join(" ")')" south
			has_acked "without own data"
		EOF2
	)
	OUT=$(<"$VAR/out.json")
	fits cluster-recovered
}

# Both die at once, and only the follower's disk is left. With so few heartbeats, the follower does not know yet that
# the last write was committed.
recovers_alone() {
	on_device_run < <(
		declare -f writes has_acked
		cat <<-'EOF2'
			export HEARTBEAT=500 ELECTION=5000
			sed -i "s/heartbeat-interval=10 --election-timeout=100/heartbeat-interval=$HEARTBEAT --election-timeout=$ELECTION/" /etc/systemd/system/etcd.service
			systemctl daemon-reload
			north
			gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
			writes &
			writing=$!
			sleep 3
			kill -KILL "$(pgrep -of 'etcd --name north')" "$(systemctl show -p MainPID --value etcd)"
			wait "$writing" || true
			rm -rf /run/north/data
			systemctl reset-failed etcd || true
			gives 5 greenboot-etcd cluster recover
			gives 0 greenboot-etcd cluster recover --force
			has_acked "at the follower"
		EOF2
	)
}

# west [NAME PORT]: makes one more member, by hand.
west() {
	local environment name=${1:-west} port=${2:-22379}

	# etcd refuses to add a member within seconds after another one.
	# shellcheck disable=SC2016 # eval does
	comes eval 'greenboot-etcd --config=/etc/north.conf --json member add "https://127.0.0.1:$((port + 1))" --name="$name" >/run/added'
	environment=$(jq -r '.environment | to_entries | map(.key + "=" + .value) | join(" ")' /run/added)
	cd /run/north || exit
	# shellcheck disable=SC2086 # variables
	env $environment etcd --data-dir "$name" --listen-client-urls "https://127.0.0.1:$port" --advertise-client-urls "https://127.0.0.1:$port" \
		--listen-peer-urls "https://127.0.0.1:$((port + 1))" --cert-file north.crt --key-file north.key --trusted-ca-file ca.crt \
		--client-cert-auth --peer-cert-file north.crt --peer-key-file north.key --peer-trusted-ca-file ca.crt \
		--peer-client-cert-auth --strict-reconfig-check=false --heartbeat-interval=10 --election-timeout=100 >"$name.log" 2>&1 &
	comes greenboot-etcd --config=/etc/north.conf member promote "$name" --wait=30s
}

# The member's data is damaged: it is copied again from the others, also over power cuts.
rejoins() {
	on_device_run < <(
		declare -f west
		cat <<-'EOF2'
			north
			gives 5 greenboot-etcd cluster rejoin https://127.0.0.1:12379
			gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
			comes ctl put k v
			systemctl stop etcd
			gives 5 greenboot-etcd cluster rejoin https://127.0.0.1:12379
			systemctl start etcd
			west
			steps rejoin https://127.0.0.1:12379
			for point in none $STEPS; do
				systemctl stop etcd
				truncate -s 4096 /var/lib/etcd/default/member/snap/db
				comes greenboot-etcd --config=/etc/north.conf cluster rejoin https://127.0.0.1:12379 -n
				member_is "nothing happened" "3 2 3"
				GREENBOOT_ETCD_FAULT=$point=kill $FAULTS cluster rejoin https://127.0.0.1:12379 || true
				[[ $point == none ]] || comes greenboot-etcd cluster rejoin https://127.0.0.1:12379
				[[ ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "an intent is left after $point"
				comes eval 'member_works "3 3 3"'
				is "the data after $point" "$(ctl get k --print-value-only)" v
				comes greenboot-etcd health
				systemctl reset-failed etcd || true
			done
			greenboot-etcd --json list | jq -e '.[] | select(.set_aside)' >/dev/null || wrong "the damaged data is gone"
			# The others have another address for it.
			comes greenboot-etcd --config=/etc/north.conf member update south https://127.0.0.1:2380
			systemctl stop etcd
			truncate -s 4096 /var/lib/etcd/default/member/snap/db
			comes greenboot-etcd cluster rejoin https://127.0.0.1:12379
			comes eval 'member_works "3 3 3"'
			gets
		EOF2
	)
}

# The same automatically, and only if no write can be lost.
rejoins_itself() {
	on_device_run < <(
		declare -f west
		cat <<-'EOF2'
			acts() { # ACTION [PATTERN]
				greenboot-etcd --json cluster rejoin --if-needed >/var/out.json || wrong "$(cat /var/out.json)"
				is "what was done ($(jq -r .said /var/out.json))" "$(jq -r .action /var/out.json)" "$1"
				[[ ! ${2-} ]] || jq -e --arg pattern "$2" '.said | test($pattern)' /var/out.json || wrong "$(cat /var/out.json)"
			}
			lock_is() { [[ $(greenboot-etcd --config=/etc/north.conf --json cluster status | jq -r '.update_lock.member // "free"') == "$1" ]]; }
			damage() {
				systemctl stop etcd
				systemctl reset-failed etcd || true
				truncate -s 4096 /var/lib/etcd/default/member/snap/db
			}
			lose() {
				systemctl stop etcd
				systemctl reset-failed etcd || true
				rm -r "/var/lib/etcd/default/member${1-}"
			}
			works() { member_works "3 3 3" && lock_is free && [[ ! -e /var/lib/greenboot-etcd/cluster ]]; }
			goes_on() { greenboot-etcd cluster rejoin --if-needed && works; }
			gives 5 greenboot-etcd cluster rejoin --if-needed
			north
			gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
			comes ctl put k v
			west
			WEST=$!
			is "the timer" "$(systemctl is-active greenboot-etcd-rejoin.timer)" active
			systemctl stop greenboot-etcd-rejoin.timer
			# The log vanishes before the timer has run.
			lose /wal
			comes acts rejoined
			comes works
			gets
			comes acts none
			systemctl stop etcd
			acts none
			damage
			n put greenboot-etcd/update-lock/default/1 '{"schema":1,"id":"0000000000000001","member":"west","state":"held","since":1}'
			acts waits "has the update lock and may reboot"
			n del greenboot-etcd/update-lock/default/1
			kill -STOP $WEST
			acts waits "does not work"
			kill -CONT $WEST
			comes member_works "3 2 3"
			[[ ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "something is under way"
			# The update lock is released if the member may be unable to return: it stops the others.
			GREENBOOT_ETCD_FAULT=rejoin-locked=kill $FAULTS cluster rejoin --if-needed || true
			lock_is south || wrong "it was not cut"
			cp /var/lib/greenboot-etcd/cluster.env /run/
			sed -i s/^ETCD_NAME=.*/ETCD_NAME=west/ /var/lib/greenboot-etcd/cluster.env
			acts waits
			lock_is free || wrong "the lock is kept"
			cp /run/cluster.env /var/lib/greenboot-etcd/
			comes acts rejoined
			comes works
			for point in none rejoin-noted update-lock-taken rejoin-locked cluster-intended cluster-left cluster-set-aside cluster-entered cluster-started \
				update-lock-removed; do
				damage
				GREENBOOT_ETCD_FAULT=$point=kill $FAULTS cluster rejoin --if-needed || true
				[[ $point == none ]] || comes goes_on
				comes works
				is "the data after $point" "$(ctl get k --print-value-only)" v
				comes greenboot-etcd health
				acts none
			done
			journalctl -o cat MESSAGE_ID=52be07d9c3a14e6f8d20b9a4716c5f3e | grep 'with data from the others' || wrong "the event"
			greenboot-etcd --json list | jq -e '.[] | select(.set_aside)' >/dev/null || wrong "the damaged data is gone"
			# The same without any data.
			for point in cluster-left cluster-set-aside cluster-entered cluster-started; do
				lose
				[[ $point != cluster-left ]] || gives 5 greenboot-etcd cluster join https://127.0.0.1:12379 "${AS_SOUTH[@]}" 2>/run/said
				grep 'cluster.env, this device is a member of a cluster: .*cluster rejoin URL' /run/said || wrong "$(cat /run/said)"
				GREENBOOT_ETCD_FAULT=$point=kill $FAULTS cluster rejoin --if-needed || true
				comes goes_on
				acts none
				is "the data after $point" "$(ctl get k --print-value-only)" v
			done
			# The timer does it, if etcd cannot start.
			mkdir -p /run/systemd/system/greenboot-etcd-rejoin.timer.d
			printf '[Timer]\nOnActiveSec=\nOnActiveSec=1s\nOnUnitInactiveSec=1s\n' >/run/systemd/system/greenboot-etcd-rejoin.timer.d/soon.conf
			systemctl daemon-reload
			damage
			systemctl start etcd || true
			comes works
			systemctl stop greenboot-etcd-rejoin.timer
			# A voter without its log could break its earlier promises, so it is held back and rejoins.
			for gone in data log; do
				comes acts none
				id=$(greenboot-etcd --json member list | jq -r '.members[] | select(.name == "south") | .id')
				lose "$([[ $gone == data ]] || echo /wal)"
				gives 1 systemctl start etcd
				comes eval "journalctl -u greenboot-etcd-prerun -o cat | grep 'this is a member of a cluster, and its data, or its log, is gone.*cluster rejoin'"
				# The start has also started the timer.
				comes works
				systemctl stop greenboot-etcd-rejoin.timer
				comes eval '[[ $(systemctl is-active greenboot-etcd-rejoin.service) == inactive ]]'
				is "the data" "$(ctl get k --print-value-only)" v
				[[ $(greenboot-etcd --json member list | jq -r '.members[] | select(.name == "south") | .id') != "$id" ]] ||
					wrong "the same member came back without its $gone"
			done
			comes acts none
			# The member is reset while it has the lock, which no other member releases.
			damage
			GREENBOOT_ETCD_FAULT=rejoin-locked=kill $FAULTS cluster rejoin --if-needed || true
			comes lock_is south
			gives 0 greenboot-etcd cluster reset --force
			comes lock_is free
			! grep -E '"(urls|member|cluster|log)"' /var/lib/greenboot-etcd/members || wrong "the members are remembered"
			gives 0 greenboot-etcd undo --force
			comes greenboot-etcd cluster rejoin https://127.0.0.1:12379
			comes goes_on
			is "the data after a reset" "$(ctl get k --print-value-only)" v
			# A person has removed the member.
			comes greenboot-etcd --config=/etc/north.conf member remove south
			damage
			# The journal has the message once.
			for i in 1 2; do systemctl reset-failed greenboot-etcd-rejoin.service || true; gives 0 systemctl start greenboot-etcd-rejoin.service; done
			comes eval '[[ $(journalctl -u greenboot-etcd-rejoin.service -o cat | grep -c "have removed it") == 1 ]]'
			acts waits "have removed it"
			member_is "nothing happened" "2 2 2"
		EOF2
	)
	OUT=$(<"$VAR/out.json")
	fits cluster-lock
}

# begins_three: makes this device begin a cluster. Two more members join by hand, and the device knows them.
begins_three() {
	conf() { printf '[etcd]\nendpoint=https://127.0.0.1:%s\ncacert=%s\ncert=%s\nkey=%s\n' "$1" /run/north/own/{ca.crt,client.crt,client.key} >/etc/north.conf; }
	gives 0 greenboot-etcd cluster init "${AS_SOUTH[@]}"
	systemctl stop greenboot-etcd-rejoin.timer
	${ALONE:-true}
	mkdir /run/north
	cd /run/north || exit
	gives 0 greenboot-etcd certs issue north --peer --host=127.0.0.1 --host=localhost --host=south.example
	cp "$LIVE/ca.crt" .
	cp -r "$LIVE" own
	conf 2379
	west north 12379
	west west 22379
	conf 12379
	comes ctl put k v
	comes greenboot-etcd cluster rejoin --if-needed
}

# This member began the cluster: without data its etcd would begin a second one.
rejoins_first() {
	on_device_run < <(
		declare -f west begins_three
		cat <<-'EOF2'
			ALONE="greenboot-etcd backup alone --live"
			begins_three
			# Its settings began a cluster. They stop doing so when it has other members.
			state() { sed -n 's/^ETCD_INITIAL_CLUSTER_STATE=//p' /var/lib/greenboot-etcd/cluster.env; }
			is "the settings" "$(state)" existing
			# A step that could cut off another member is refused, with a running etcd and by the data
			# alone.
			gives 0 greenboot-etcd certs rotate-ca
			gives 5 greenboot-etcd certs rotate-ca
			systemctl stop etcd
			gives 5 greenboot-etcd certs rotate-ca
			gives 5 greenboot-etcd certs rotate-ca --undo
			gives 0 greenboot-etcd certs rotate-ca --undo --force
			systemctl start etcd
			comes member_works "3 3 3"
			for point in cluster-left cluster-set-aside cluster-entered; do
				systemctl stop etcd
				truncate -s 4096 /var/lib/etcd/default/member/snap/db
				comes member_works "3 2 3"
				# On a busy machine another member may have no leader just then.
				for i in {1..20}; do
					GREENBOOT_ETCD_FAULT=$point=kill $FAULTS cluster rejoin --if-needed || true
					[[ ! -e /var/lib/greenboot-etcd/cluster ]] || break
					sleep 0.5
				done
				[[ -e /var/lib/greenboot-etcd/cluster ]] || wrong "it was not cut at $point"
				# The next boot does the same.
				systemctl reset-failed etcd || true
				[[ $point == cluster-entered ]] || ! systemctl start etcd || wrong "etcd starts with empty data after $point"
				for i in {1..20}; do greenboot-etcd cluster rejoin --if-needed; ! member_works "3 3 3" || break; sleep 0.5; done
				member_is "back after $point" "3 3 3"
				gets
			done
			# All data is gone, by any cause. A backup from the time of a single member must not replace
			# it.
			mkdir -p /etc/greenboot-etcd/greenboot-etcd.conf.d
			printf '[restore]\non-missing-data=restore\n' >/etc/greenboot-etcd/greenboot-etcd.conf.d/missing.conf
			is "the backup" "$(greenboot-etcd --json show alone | jq '.manifest.voters')" 1
			comes greenboot-etcd cluster rejoin --if-needed
			systemctl stop etcd
			rm -r /var/lib/etcd/default/member
			systemctl reset-failed etcd || true
			! systemctl start etcd || wrong "etcd starts without its data"
			is "prerun" "$(systemctl show -P ExecMainStatus greenboot-etcd-prerun)" 5
			for i in {1..20}; do greenboot-etcd cluster rejoin --if-needed; ! member_works "3 3 3" || break; sleep 0.5; done
			member_is "back without data" "3 3 3"
			gets
			# The same if the member leaves.
			GREENBOOT_ETCD_FAULT=cluster-set-aside=kill $FAULTS cluster leave || true
			[[ ! -e /var/lib/etcd/default && -e /var/lib/greenboot-etcd/cluster ]] || wrong "it was not cut"
			[[ ! -e /var/lib/greenboot-etcd/cluster.env ]] || wrong "etcd would begin the cluster once more"
			gives 0 greenboot-etcd cluster leave
			[[ ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "an intent is left"
		EOF2
	)
}

# The cases in which it must not rejoin: another device answers, another cluster answers, or another call was faster.
rejoins_not() {
	on_device_run < <(
		declare -f west begins_three
		cat <<-'EOF2'
			said() { # ACTION PATTERN
				greenboot-etcd --json cluster rejoin --if-needed >/run/out || wrong "$(cat /run/out)"
				jq -e --arg action "$1" --arg pattern "$2" '.action == $action and (.said // "" | test($pattern))' /run/out || wrong "$(cat /run/out)"
			}
			damage() {
				systemctl stop etcd
				systemctl reset-failed etcd || true
				truncate -s 4096 /var/lib/etcd/default/member/snap/db
			}
			DROPIN=/etc/greenboot-etcd/greenboot-etcd.conf.d/endpoint.conf
			INTENT=/var/lib/greenboot-etcd/cluster
			WITH=(--{,peer-}cert-file=north.crt --{,peer-}key-file=north.key --{,peer-}trusted-ca-file=ca.crt --{,peer-}client-cert-auth)
			begins_three
			mkdir -p ${DROPIN%/*}
			damage
			comes member_works "3 2 3"

			# A person asks another member for it: the health of that member says nothing about this one's
			# data.
			printf '[etcd]\nendpoint=https://127.0.0.1:12379\n' >$DROPIN
			comes said rejoined 'a member again'
			rm $DROPIN
			comes member_works "3 3 3"
			gets

			# Between the look at pending work and the locks, another call has left an unfinished
			# operation.
			damage
			comes member_works "3 2 3"
			comes eval 'GREENBOOT_ETCD_FAULT=cluster-set-aside=kill $FAULTS cluster rejoin https://127.0.0.1:12379 || [[ -e $INTENT ]]'
			[[ -e $INTENT ]] || wrong "it was not cut"
			exec 9<>/run/greenboot-etcd/maintenance
			flock 9
			cp $INTENT /run/intent
			rm $INTENT
			greenboot-etcd cluster rejoin https://127.0.0.1:12379 9>&- 2>/run/said &
			slower=$!
			until ls -l /proc/$slower/fd | grep -q greenboot-etcd/maintenance && sleep 0.2 && ls -l /proc/$slower/fd | grep -q greenboot-etcd/maintenance; do kill -0 $slower || wrong "$(cat /run/said)"; sleep 0.02; done
			cp -p /run/intent $INTENT
			flock -u 9
			rc=0
			wait $slower || rc=$?
			is "its status" $rc 4
			grep "another call has just changed the membership" /run/said || wrong "$(cat /run/said)"

			# Meanwhile another device became a member with the address.
			comes eval 'greenboot-etcd --config=/etc/north.conf --json member add https://south.example:2380 --name=other >/run/added'
			env $(jq -r '.environment | to_entries | map(.key + "=" + .value) | join(" ")' /run/added) etcd --data-dir other \
				--listen-client-urls https://127.0.0.1:32379 --advertise-client-urls https://127.0.0.1:32379 --listen-peer-urls https://127.0.0.1:2380 \
				"${WITH[@]}" --heartbeat-interval=10 --election-timeout=100 >other.log 2>&1 &
			OTHER=$!
			comes greenboot-etcd --config=/etc/north.conf member promote other --wait=30s
			comes member_works "3 3 3"
			comes said waits 'is not this device'
			member_is "the other one is in" "3 3 3"
			comes greenboot-etcd --config=/etc/north.conf member remove other
			wait $OTHER || true
			comes greenboot-etcd cluster rejoin --if-needed
			comes member_works "3 3 3"
			gets

			# Another cluster has the addresses now, also for a rejoin in progress.
			damage
			comes member_works "3 2 3"
			comes eval 'GREENBOOT_ETCD_FAULT=cluster-intended=kill $FAULTS cluster rejoin https://127.0.0.1:12379 || [[ -e $INTENT ]]'
			[[ -e $INTENT ]] || wrong "it was not cut"
			pkill -f -- '--data-dir (north|west) '
			while pgrep -f -- '--data-dir (north|west) '; do sleep 0.1; done
			etcd --name north --data-dir new --listen-client-urls https://127.0.0.1:12379 --advertise-client-urls https://127.0.0.1:12379 \
				--listen-peer-urls https://127.0.0.1:12380 --initial-advertise-peer-urls https://127.0.0.1:12380 \
				--initial-cluster north=https://127.0.0.1:12380 "${WITH[@]}" >new.log 2>&1 &
			comes member_works "1 1 1"
			said waits 'is a member of another cluster'
			[[ -e /var/lib/etcd/default/member/wal ]] || wrong "its data is gone"
			said waits 'is a member of another cluster'
			gives 5 greenboot-etcd cluster rejoin https://127.0.0.1:12379
			[[ ! -e $INTENT ]] || wrong "something is under way"
			member_is "nothing happened" "1 1 1"
		EOF2
	)
}

# The others would not accept an etcd that is older than all of theirs.
rejoins_older() {
	need_etcd_next
	with_words container_run "" "$BUILD_FAULTS" "${ETCD_NEXT%/*}" < <(
		declare -f west
		echo "NEXT=${ETCD_NEXT%/*}"
		cat <<-'EOF2'
			north
			NORTH=$!
			gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
			systemctl stop greenboot-etcd-rejoin.timer
			comes ctl put k v
			comes greenboot-etcd cluster rejoin --if-needed
			# The others are updated.
			cp /proc/$NORTH/cmdline /run/cmdline
			kill $NORTH
			wait $NORTH || true
			mapfile -d '' -t words </run/cmdline
			(cd /run/north && "$NEXT/etcd" "${words[@]:1}" >>log 2>&1) &
			comes member_works "2 2 2"
			PATH=$NEXT:$PATH west
			comes member_works "3 3 3"
			comes gets
			systemctl stop etcd
			truncate -s 4096 /var/lib/etcd/default/member/snap/db
			comes member_works "3 2 3"
			gives 5 greenboot-etcd cluster rejoin https://127.0.0.1:12379
			greenboot-etcd --json cluster rejoin --if-needed >/var/out.json
			jq -e '.action == "waits" and (.said | test("accepts no older member"))' /var/out.json || wrong "$(cat /var/out.json)"
			member_is "nothing happened" "3 2 3"
			greenboot-etcd --config=/etc/north.conf --json cluster status | jq -e '.update_lock == null' || wrong "the lock is taken"
			# The device also cannot join.
			comes greenboot-etcd --config=/etc/north.conf member remove south
			gives 5 greenboot-etcd cluster reset
			gives 0 greenboot-etcd cluster reset --force
			gives 5 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}" 2>/run/said
			grep "accepts no older member" /run/said || wrong "$(cat /run/said)"
		EOF2
	)
}

# The only member that knows the cluster does not answer while the new etcd starts and ends.
joins_patiently() {
	on_device_run <<-'EOF2'
		north
		NORTH=$!
		GREENBOOT_ETCD_FAULT=cluster-configured=stop $FAULTS cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}" &
		joining=$!
		until ps -eo stat=,args= | grep -q '^T.*cluster join'; do sleep 0.1; done
		kill -STOP $NORTH
		pkill -CONT -f 'cluster join'
		until journalctl -u etcd -o cat | grep -q "Failed with result"; do sleep 0.1; done
		kill -CONT $NORTH
		rc=0
		wait $joining || rc=$?
		is status $rc 0
		member_is "in" "2 2 2"
	EOF2
}

# The time for 1 GiB, by the verb and by hand in turns, five times each. It is measured in seconds, until the member
# has its vote and is healthy.
joins_large() {
	local ours theirs
	FS_SIZE=16G on_device_run <<-'EOF2'
		export HEARTBEAT=100 ELECTION=1000 ETCD_SNAPSHOT_COUNT=100 ETCD_QUOTA_BACKEND_BYTES=4294967296
		sed -i "s/heartbeat-interval=10 --election-timeout=100/heartbeat-interval=100 --election-timeout=1000 --quota-backend-bytes=4294967296/" \
			/etc/systemd/system/etcd.service
		systemctl daemon-reload
		north
		for ((i = 0; i < 830; i++)); do head -c 1300000 /dev/urandom | n put "key$i" >/dev/null || wrong "put $i"; done
		took() { # NAME COMMAND...
			local began
			sync
			sleep 3
			comes n put quiet v
			began=$EPOCHREALTIME
			"${@:2}"
			echo "took $1 $(jq -n "$EPOCHREALTIME - $began")"
		}
		verb() { gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}" --timeout=5min; }
		by_hand() {
			id=$(n member add hand --learner --peer-urls=https://127.0.0.1:32380 | sed -n 's/^Member *\([0-9a-f]*\) added.*/\1/p')
			etcd --name hand --data-dir /var/lib/hand --listen-client-urls https://127.0.0.1:32379 \
				--advertise-client-urls https://127.0.0.1:32379 --listen-peer-urls https://127.0.0.1:32380 \
				--initial-advertise-peer-urls https://127.0.0.1:32380 --initial-cluster-state existing \
				--initial-cluster "north=https://127.0.0.1:12380,hand=https://127.0.0.1:32380" --cert-file north.crt --key-file north.key \
				--trusted-ca-file ca.crt --client-cert-auth --peer-cert-file north.crt --peer-key-file north.key --peer-trusted-ca-file ca.crt \
				--peer-client-cert-auth --heartbeat-interval=100 --election-timeout=1000 >hand.log 2>&1 &
			hand=$!
			until n member promote "$id" 2>/dev/null; do sleep 0.2; done
			until n --endpoints=https://127.0.0.1:32379 endpoint health 2>/dev/null; do sleep 0.2; done
		}
		for round in {1..5}; do
			took verb verb
			comes greenboot-etcd cluster leave
			systemctl reset-failed etcd || true
			for name in $(greenboot-etcd --json list | jq -r '.[].name'); do gives 0 greenboot-etcd delete --force "$name"; done
			took by-hand by_hand
			comes n member remove "$id"
			wait "$hand" || true
			rm -rf /var/lib/hand
		done
	EOF2
	ours=$(grep -o "took verb .*" "$LOG" | cut -d' ' -f3 | sort -n | sed -n 3p)
	theirs=$(grep -o "took by-hand .*" "$LOG" | cut -d' ' -f3 | sort -n | sed -n 3p)
	# The log has it.
	: "a join of 1 GiB: $ours s, by hand $theirs s"
	jq -en "$ours <= $theirs * 1.1" >/dev/null || fail "a join of 1 GiB takes $ours s, by hand $theirs s"
}

# way_back KIND PATTERN: expects that hold, and runs the steps that `status` shows, which end it.
way_back() {
	local step status

	gives 1 systemctl start etcd
	is "kind of hold" "$(jq -r .hold /run/greenboot-etcd/prerun-done)" "$1"
	status=$(greenboot-etcd status)
	echo "$status"
	[[ $status == "Needs you: etcd is held back: "$2* ]] || wrong "the first line of status"
	mapfile -t WAY < <(sed -n 's/^  [0-9]\. //p' <<<"$status")
	((${#WAY[@]} > 0)) || wrong "status shows no step"
	for step in "${WAY[@]}"; do comes eval "$step"; done
	systemctl reset-failed etcd || true
	[[ $(greenboot-etcd status | head -n 1) != *"held back"* ]] || wrong "still held back"
}

# A voter has lost its data, or its log.
hold_member() {
	on_device_run < <(
		declare -f west way_back
		cat <<-'EOF2'
			works() { member_works "3 3 3"; }
			north
			gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 --token=/run/token "${AS_SOUTH[@]}"
			systemctl stop greenboot-etcd-rejoin.timer
			comes ctl put k v
			west
			comes works
			for gone in member member/wal; do
				comes greenboot-etcd cluster rejoin --if-needed
				systemctl stop etcd
				rm -r "/var/lib/etcd/default/$gone"
				way_back member "this is a member of a cluster, and its data, or its log, is gone"
				comes works
				is "the data" "$(ctl get k --print-value-only)" v
				gives 0 greenboot-etcd health
				systemctl stop greenboot-etcd-rejoin.timer
			done
		EOF2
	)
}

# Each change of membership that sets the data aside is cut right after that.
hold_leaving() {
	on_device_run < <(
		declare -f west way_back
		cat <<-'EOF2'
			joins() {
				gives 0 greenboot-etcd cluster join https://127.0.0.1:12379 "${@}" "${AS_SOUTH[@]}"
				systemctl stop greenboot-etcd-rejoin.timer
				comes ctl put k v
			}
			cut() {
				comes member_works "3 3 3"
				comes greenboot-etcd cluster rejoin --if-needed
				GREENBOOT_ETCD_FAULT=cluster-set-aside=kill $FAULTS cluster "$@" || true
				[[ ! -e /var/lib/etcd/default/member ]] || wrong "the data is there"
				way_back leaving "a change of membership was interrupted, and the data is set aside"
				[[ ! -e /var/lib/greenboot-etcd/cluster ]] || wrong "an intent is left"
			}
			north
			joins --token=/run/token
			west
			cut rejoin https://127.0.0.1:12379
			comes member_works "3 3 3"
			gives 0 greenboot-etcd health
			cut leave
			comes member_works "2 2 2"
			joins
			cut reset --force
			# This unit of etcd is incomplete without the settings of a cluster.
			gives 0 greenboot-etcd cluster init "${AS_SOUTH[@]}"
			gives 0 greenboot-etcd health
		EOF2
	)
}

need_nspawn
suite_begin "$@"
run_case begins begins
run_case begins-cut begins_cut
run_case joins joins
run_case joins-elsewhere joins_elsewhere
run_case joins-cut joins_cut
run_case joins-keeps joins_keeps
run_case joins-patiently joins_patiently
run_case leaves leaves
run_case leaves-cut leaves_cut
run_case resets resets
run_case resets-returns resets_returns
run_case resets-damaged resets_damaged
run_case resets-mount resets_mount
run_case resets-not resets_not
run_case begins-from begins_from
[[ ${LEVEL:-ci} == ci ]] || run_case joins-large joins_large
run_case rejoins rejoins
run_case rejoins-itself rejoins_itself
run_case rejoins-first rejoins_first
run_case rejoins-not rejoins_not
run_case rejoins-older rejoins_older
run_case recovers recovers
run_case recovers-alone recovers_alone
run_case resets-without-data resets_without_data
run_case joins-log-elsewhere joins_log_elsewhere
run_case hold-member hold_member
run_case hold-leaving hold_leaving
suite_end
