#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A cluster of three devices with Debian's etcd as installed, without a configuration of ours. The story: init, two
# joins, the permanent loss of one device, a rejoin, a recovery, and an update of all three in turn.

# shellcheck disable=SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../../lib/all.sh"
# shellcheck source=tests/lib/container.sh
. "$(dirname "$0")/../../lib/container.sh"

# words: prints the functions that each person knows, and then stdin.
words() {
	cat <<-EOF2
		NAME=$HOST BEFORE=$BEFORE
	EOF2
	cat "$GBE_LIB/person.sh"
	cat <<-'EOF2'
		wrong() { echo "not as it should be: $*"; touch /shared/wrong; exit 1; }
		# say WHAT; await WHAT...: tells the other devices about the progress, and waits for theirs.
		say() { touch "/shared/$1"; }
		await() { for what; do until [[ -e /shared/$what ]]; do [[ ! -e /shared/wrong ]] || exit 1; sleep 0.2; done; done; }
		live=/var/lib/greenboot-etcd-pki/live
		ctl() { etcdctl --endpoints=https://127.0.0.1:2379 --cacert=$live/ca.crt --cert=$live/client.crt --key=$live/client.key "$@"; }
		has() { is "key $1" "$(ctl get "$1" --print-value-only)" v; }
		members() { greenboot-etcd --json cluster status | jq -r '[.voters, .working, (.members | length)] | join(" ")'; }
		three() { [[ $(members) == "3 3 3" ]]; }
		new_device() {
			systemctl stop etcd
			rm -rf /var/lib/etcd/default /var/lib/greenboot-etcd /var/lib/greenboot-etcd-pki
		}
	EOF2
	cat
	echo "echo all of it"
}

# deployed NAME: makes the deployment with the etcd of Debian's package. stdin has the commands of the person.
deployed() {
	local etc wants

	deploy "$1"
	populate "$1" ""
	etc=$(deployment_dir "$1")/etc
	wants=$etc/systemd/system/multi-user.target.wants/etcd.service
	rm "$etc/systemd/system/etcd.service"
	ln -sf /lib/systemd/system/etcd.service "$wants"
	mkdir -p "$etc/default" "$etc/ssl"
	cp /etc/default/etcd "$etc/default/"
	cp -L "$(openssl version -d | cut -d'"' -f2)/openssl.cnf" "$etc/ssl/"
	cat >"$etc/systemd/system/site.service" <<-EOF2
		[Unit]
		Before=network.target
		[Service]
		Type=oneshot
		ExecStart=/bin/ip address add 10.1.0.$NUMBER/24 dev host0
		ExecStart=/bin/ip link set host0 up
	EOF2
	ln -sf ../site.service "$etc/systemd/system/multi-user.target.wants/"
	words >"$etc/person"
}

# booted NAME: boots it and waits until its person has turned it off.
booted() {
	run "$1" --bind="$SHARED:/shared"
	person_is_done
}

# device HOST NUMBER BEFORE: plays the life of a device, which begins with stdin. It is updated after the device
# BEFORE.
device() {
	HOST=$1 NUMBER=$2 BEFORE=$3
	# The others do not wait for it.
	trap '[[ ${LIVED-} ]] || touch "$SHARED/wrong"' EXIT
	{
		cat
		cat <<-'EOF2'
			await last
			comes three
			[[ ! $BEFORE ]] || await "updated.$BEFORE"
		EOF2
	} >"$GBE_MEM/$HOST.life"
	container_device
	chgrp etcd "$VAR/lib/etcd"
	deployed A <"$GBE_MEM/$HOST.life"
	booted A
	deployed B <<-'EOF2'
		comes three
		has last
		is "etcd" "$(systemctl is-active etcd)" active
		say "updated.$NAME"
		await updated.{north,south,west}
	EOF2
	booted B
	in_order "Decided by rule 11: an upgrade"
	LIVED=yes
}

three() {
	SHARED=$GBE_MEM/shared
	NETWORK=(--network-bridge=site)
	mkdir -m 0700 "$SHARED"
	ip link add site type bridge
	ip link set site up
	device north 1 "" >"$GBE_MEM/north.log" 2>&1 < <(cat <<-'EOF2'
		# The package has started etcd, so the device has data.
		ETCDCTL_API=3 comes etcdctl put installed v
		gives 5 greenboot-etcd cluster init --name=north
		gives 0 greenboot-etcd cluster reset
		gives 0 greenboot-etcd cluster init --name=north
		gives 0 greenboot-etcd cluster token /shared/token
		say north.in
		await west.in
		comes three
		comes ctl put first v
		# One device is lost permanently, and another one replaces it.
		say west.goes
		await west.gone
		gives 0 greenboot-etcd member remove west --wait=1min
		say west.out
		await west.again south.again
		has first
		comes ctl put second v
		# All devices except one are lost.
		say north.done
		await west.stopped
		systemctl stop etcd
		cp -r /var/lib/etcd/default /shared/north
		say north.stopped
		await south.recovered
		gives 0 greenboot-etcd cluster reset --force
		gives 0 greenboot-etcd cluster join https://10.1.0.2:2379 --token=/shared/token.south --name=north
		say north.again
		has second
	EOF2
	) &
	device south 2 north >"$GBE_MEM/south.log" 2>&1 < <(cat <<-'EOF2'
		gives 0 greenboot-etcd cluster reset
		await north.in
		gives 0 greenboot-etcd cluster join https://10.1.0.1:2379 --token=/shared/token --name=south
		say south.in
		await west.again
		# The database of a device is damaged.
		systemctl stop etcd
		truncate -s 4096 /var/lib/etcd/default/member/snap/db
		comes greenboot-etcd cluster rejoin https://10.1.0.1:2379
		comes three
		has first
		say south.again
		await north.stopped west.stopped
		systemctl stop etcd
		gives 5 greenboot-etcd cluster recover
		gives 0 greenboot-etcd cluster recover --data=/shared/north --data=/shared/west
		has second
		gives 0 greenboot-etcd cluster token /shared/token.south
		say south.recovered
		await west.last
		comes three
		comes ctl put last v
		say last
	EOF2
	) &
	device west 3 south >"$GBE_MEM/west.log" 2>&1 < <(cat <<-'EOF2'
		gives 0 greenboot-etcd cluster reset
		await south.in
		gives 0 greenboot-etcd cluster join https://10.1.0.1:2379 --token=/shared/token --name=west
		say west.in
		await west.goes
		new_device
		say west.gone
		await west.out
		gives 0 greenboot-etcd cluster join https://10.1.0.1:2379 --token=/shared/token --name=west
		say west.again
		await north.done
		systemctl stop etcd
		cp -r /var/lib/etcd/default /shared/west
		say west.stopped
		await north.again
		gives 0 greenboot-etcd cluster reset --force
		gives 0 greenboot-etcd cluster join https://10.1.0.2:2379 --token=/shared/token.south --name=west
		say west.last
		has second
	EOF2
	) &
	for job in $(jobs -p); do wait "$job" || FAILED=yes; done
	if [[ ${FAILED-} ]]; then
		cat "$GBE_MEM"/journal-* >&2
		fail "$(grep -h "not as it should be\|the person gave up" "$GBE_MEM"/*.log | head -n 1)"
	fi
}

need_nspawn
suite_begin "$@"
run_case three three
suite_end
