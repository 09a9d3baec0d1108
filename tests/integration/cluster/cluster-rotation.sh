#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A cluster of three devices takes a new authority as docs/certificates.md says. Each has its own systemd, /var and
# address. The case drives them step by step, and restarts all of them.

# shellcheck disable=SC2317,SC2119,SC2016,SC2030,SC2031 # cases are called by name; optional arguments; expanded elsewhere; a device is a subshell
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../../lib/all.sh"
# shellcheck source=tests/lib/container.sh
. "$(dirname "$0")/../../lib/container.sh"

DEVICES=() # process ids

# The device's person runs the commands of the case, until the file "end" exists.
person() { # NUMBER
	echo "export NUMBER=$1"
	echo "cat >/run/words <<'WORDS'"
	cat "$GBE_LIB/person.sh"
	cat <<-'EOF2'
		LIVE=/var/lib/greenboot-etcd-pki/live
		all_work() { [[ $(greenboot-etcd --json cluster status | jq -r '[.voters, .working] | join(" ")') == "3 3" ]]; }
		gets() { is value "$(greenboot-etcd etcdctl get k --print-value-only)" v; }
		signers() { openssl verify -CAfile $LIVE/authority/ca.crt $LIVE/{server,peer,client}.crt && grep -c BEGIN $LIVE/ca.crt; }
		WORDS
		ip link set host0 up && ip addr add "10.9.0.$NUMBER/24" dev host0
		until [[ -e /shared/end ]]; do
			if mv "/shared/$NUMBER.do" "/run/do" 2>/dev/null; then
				bash -euc '. /run/words; . /run/do' >"/shared/$NUMBER.said" 2>&1
				echo $? >/run/rc
				mv /run/rc "/shared/$NUMBER.done"
			fi
			sleep 0.05
		done
	EOF2
}

# new_device NUMBER: boots it. It waits for commands.
new_device() {
	local etc var=$ROOT/var$1

	deploy "$1" A
	populate "$1" "$(person "$1")"
	etc=$(deployment_dir "$1")/etc
	mkdir -p "$etc/greenboot-etcd" "$etc/ssl" "$var/log/journal" "$GBE_MEM/device$1"
	mkdir -p "$var/lib"
	install -d -o etcd -g etcd -m 0700 "$var/lib/etcd"
	cp -L "$(openssl version -d | cut -d'"' -f2)/openssl.cnf" "$etc/ssl/"
	printf '[health]\ntimeout=20s\n' >"$etc/greenboot-etcd/greenboot-etcd.conf"
	cat >"$etc/systemd/system/etcd.service" <<-EOF2
		[Service]
		Type=notify
		User=etcd
		TimeoutStartSec=60s
		ExecStart=$(command -v "$ETCD") --data-dir=/var/lib/etcd/default
	EOF2
	sed -i '/^After=etcd.service/d; s/^Type=oneshot/Type=simple/' "$etc/systemd/system/person.service"
	rm "$etc/systemd/system/multi-user.target.wants/etcd.service"
	(
		trap - ERR EXIT
		VAR=$var GBE_MEM=$GBE_MEM/device$1 GBE_SCRATCH=$GBE_SCRATCH-$1
		run "$1" --machine="device$1-$BASHPID" --network-bridge=bridge --bind="$SHARED:/shared"
	) &
	DEVICES[$1]=$!
}

# at NUMBER: lets its person run stdin, which uses the functions of person().
at() {
	local n

	cat >"$SHARED/$1.new"
	mv "$SHARED/$1.new" "$SHARED/$1.do"
	for ((n = 0; n < 1800; n++)); do
		[[ ! -e $SHARED/$1.done ]] || break
		kill -0 "${DEVICES[$1]}" 2>/dev/null || fail "device $1 is off"
		nap 0.1
	done
	cat "$SHARED/$1.said" >&2
	[[ -e $SHARED/$1.done && $(<"$SHARED/$1.done") == 0 ]] || fail "device $1: $(tail -n 2 "$SHARED/$1.said" | xargs)"
	rm "$SHARED/$1.done"
}

case_cleanup() {
	{ set +xeu; } 2>/dev/null
	trap - ERR
	: >"$SHARED/end"
	wait "${DEVICES[@]}"
	ip link del bridge
	root_free
}

three() {
	SHARED=$GBE_MEM/shared
	mkdir "$SHARED"
	ip link add bridge type bridge
	ip link set bridge up
	container_device
	deploy A
	for n in 1 2 3; do new_device "$n"; done
	at 1 <<-'EOF2'
		gives 0 greenboot-etcd cluster init --name=north
		gives 0 greenboot-etcd cluster token /run/token
		cp /run/token /shared/token
	EOF2
	for n in 2 3; do
		at "$n" <<-'EOF2'
			cp /shared/token /run/token
			comes greenboot-etcd cluster join https://10.9.0.1:2379 --token=/run/token --name="device$NUMBER"
			rm /run/token
		EOF2
	done
	rm "$SHARED/token"
	at 1 <<-'EOF2'
		rm /run/token
		comes all_work
		comes greenboot-etcd etcdctl put k v
	EOF2
}

# The steps follow the page, with its warnings.
rotates() {
	three
	at 1 <<-'EOF2'
		gives 0 greenboot-etcd certs rotate-ca >/run/said
		grep "each other member needs this authority" /run/said || wrong "no word of the others: $(cat /run/said)"
		# No other device has it yet.
		gives 5 greenboot-etcd certs rotate-ca 2>/run/said
		grep "member device[23].*certs rotate-ca --token=FILE" /run/said || wrong "$(cat /run/said)"
		# With --force: the others refuse new connections. Open connections do not show it.
		gives 1 greenboot-etcd --json certs rotate-ca --force --timeout=3s >/run/said
		jq -e '.put_back and .healthy' /run/said || wrong "not put back"
		comes all_work
		gives 0 greenboot-etcd cluster token /run/token
		cp /run/token /shared/token
	EOF2
	# The others do not accept an authority that one device made alone.
	at 2 <<-'EOF2'
		gives 0 greenboot-etcd certs rotate-ca
		gives 5 greenboot-etcd certs rotate-ca
		comes greenboot-etcd certs rotate-ca --undo
	EOF2
	at 2 <<-'EOF2'
		cp /shared/token /run/token
		chmod 0644 /run/token
		gives 5 greenboot-etcd certs rotate-ca --token=/run/token
		chmod 0600 /run/token
		gives 0 greenboot-etcd certs rotate-ca --token=/run/token
		gives 2 greenboot-etcd certs rotate-ca --token=/run/token
		# The third device lacks it.
		gives 5 greenboot-etcd certs rotate-ca
	EOF2
	at 3 <<-'EOF2'
		cp /shared/token /run/token
		gives 0 greenboot-etcd certs rotate-ca --token=/run/token
	EOF2
	at 1 <<-'EOF2'
		comes all_work
		gives 0 greenboot-etcd certs rotate-ca
		gives 5 greenboot-etcd certs rotate-ca 2>/run/said
		grep "member device[23].*certs rotate-ca" /run/said || wrong "$(cat /run/said)"
	EOF2
	# Step 1 cannot be undone any more: the first device shows certificates of the next authority.
	at 2 <<-'EOF2'
		gives 5 greenboot-etcd certs rotate-ca --undo
	EOF2
	for n in 2 3; do
		at "$n" <<<"gives 0 greenboot-etcd certs rotate-ca"
	done
	for n in 1 2 3; do
		at "$n" <<-'EOF2'
			gives 0 greenboot-etcd certs rotate-ca
			comes all_work
		EOF2
	done
	# Checks new connections only, and all of them at once.
	for n in 1 2 3; do
		at "$n" <<-'EOF2'
			systemctl restart etcd
			comes all_work
			gets
			is "authorities" "$(signers | tail -n 1)" 1
		EOF2
	done
	for n in 1 2 3; do at "$n" <<<"systemctl stop etcd"; done
	for n in 1 2 3; do at "$n" <<<"systemctl start --no-block etcd"; done
	for n in 1 2 3; do
		at "$n" <<-'EOF2'
			comes all_work
			gets
			gives 0 greenboot-etcd certs renew --force
			gives 0 greenboot-etcd health
		EOF2
	done
}

suite_begin "$@"
need_nspawn
run_case rotates rotates
suite_end
