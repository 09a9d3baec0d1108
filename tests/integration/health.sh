#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The effect of etcd's health on backups: a backup is good only if greenboot and etcd both say so. Cases: TLS with
# certificates that expire, and a name server that does not answer.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# tls_device KIND: makes a device whose etcd our programs ask over TLS, and this test in plain text.
tls_device() {
	device "$1"
	etcd_over_tls "$ROOT/etc/pki"
	config etcd endpoint="$ETCD_TLS" cacert=/etc/pki/ca.crt cert=/etc/pki/client.crt \
		key=/etc/pki/client.key
	config health timeout=20s
}

name_of_last_good() { json '.last_good.name // ""' status; }

# A green boot with an expired client certificate is not a failure, but proves nothing about the data.
health_certificate_expires() {
	local good newest
	tls_device "$1"
	power_on
	put owner A
	judge green
	assert_exit 0 gbe health
	assert_match "health" "$OUT" "*healthy, 3.*, one member, revision *"
	reboot
	good=$(name_of_last_good)
	assert_json .grade good show "$good"
	# The check waits while health is unknown, here only for a short time.
	config health timeout=2s request-timeout=2s
	config etcd cert=/etc/pki/old.crt
	put owner "A, later"
	hook health >"$GBE_MEM/health" 2>&1 || fail "health: status $?"
	assert_match "health" "$(<"$GBE_MEM/health")" "*Cannot tell*has expired*"
	judge green
	assert_json .verdict green status
	assert_json .health cannot-tell status
	reboot
	newest=$(backup_name true)
	assert_ne "the newest" "$newest" "$good"
	assert_json .grade unproven show "$newest"
	assert_json .health cannot-tell show "$newest"
	assert_json .grade_reason "etcd was not seen healthy in the boot that wrote it" show "$newest"
	assert_json .manifest.grade_reason null show "$newest"
	assert_match "text" "$(gbe show "$newest")" "*Grade: unproven*Because: etcd was not seen healthy*"
	assert_eq "last good" "$(name_of_last_good)" "$good"
	# Repeated: a good backup stays until another good one exists.
	for _ in 1 2 3; do
		put owner "A, later still"
		judge green
		reboot
		assert_eq "last good" "$(name_of_last_good)" "$good"
	done
	config health timeout=20s
	config etcd cert=/etc/pki/client.crt
	put owner "A, at last"
	judge green
	reboot
	assert_ne "last good" "$(name_of_last_good)" "$good"
}

# Below --root, a symlink of a certificate leads below the root, whatever its target. No TLS session key is written.
health_tls_files() {
	tls_device "$1"
	power_on
	SSLKEYLOGFILE=$GBE_MEM/sessions assert_exit 0 gbe health
	# The quota is one of the metrics, which are asked for on the same connection.
	assert_match "health" "$OUT" "*healthy*of 2 GiB*"
	assert_missing "$GBE_MEM/sessions"
	mkdir "$ROOT/var/moved"
	mv "$ROOT"/etc/pki/{ca.crt,client.crt,client.key} "$ROOT/var/moved/"
	ln -s /var/moved/ca.crt "$ROOT/etc/pki/ca.crt"
	ln -s ../../../../../../../../../var/moved/client.crt "$ROOT/etc/pki/client.crt"
	ln -s /var/moved/client.key "$ROOT/etc/pki/client.key"
	assert_exit 0 gbe health
	assert_match "health" "$OUT" "*healthy*"
	cp "$ROOT/var/moved/ca.crt" "$GBE_MEM/outside.crt"
	ln -sf "$GBE_MEM/outside.crt" "$ROOT/etc/pki/ca.crt"
	assert_exit 7 gbe health
	assert_match "health" "$OUT$ERR" "*/etc/pki/ca.crt/, cannot be read*"
}

# If the check did not run, green itself asks etcd. The manifest has its result and the endpoint.
health_green_sees() {
	local name ids
	tls_device "$1"
	power_on
	put owner A
	ids=$(etcd_state)
	assert_exit 0 hook green
	greenboot_green
	assert_json .health healthy status
	reboot
	name=$(name_of_last_good)
	assert_json .grade good show "$name"
	assert_json .revision "$(sed 's/.*revision=\([0-9]*\).*/\1/' <<<"$ids")" show "$name"
	assert_eq "member" "$(json .member_id show "$name")" "$(printf '%016x' "0x$(
		sed 's/.*member=\([0-9a-f]*\).*/\1/' <<<"$ids")")"
	assert_eq "cluster" "$(json .cluster_id show "$name")" "$(printf '%016x' "0x$(
		sed 's/.*cluster=\([0-9a-f]*\).*/\1/' <<<"$ids")")"
	assert_json .voters 1 show "$name"
	assert_eq "in the ledger" "$(ledger '[.[] | select(.kind == "take-over")][-1].cluster_id')" \
		"$(json .cluster_id show "$name")"
}

# Another etcd than that of the protected data answers at the endpoint: the answer does not count.
health_another_etcd() {
	device "$1"
	power_on
	put owner A
	judge green
	reboot
	stop_etcd
	DATA=$GBE_MEM/other start_etcd --initial-cluster-token=other
	config health timeout=1s request-timeout=1s
	assert_exit 0 hook health
	assert_match "stderr" "$ERR" "*Cannot tell*does not have /var/lib/etcd open*"
	kill_etcd
	rm -rf "$GBE_MEM/other"
}

# The name server takes questions and never answers.
health_no_answer_from_dns() {
	local began server
	device "$1"
	power_on
	"$BUILD/tests/integration/mute" 127.6.6.6 53 >"$GBE_MEM/mute" &
	server=$!
	until [[ -s $GBE_MEM/mute ]]; do
		kill -0 "$server"
		nap 0.05
	done
	echo "nameserver 127.6.6.6" >"$GBE_MEM/resolv.conf"
	echo "hosts: dns" >"$GBE_MEM/nsswitch.conf"
	mount --bind "$GBE_MEM/resolv.conf" /etc/resolv.conf
	mount --bind "$GBE_MEM/nsswitch.conf" /etc/nsswitch.conf
	config etcd endpoint=http://etcd.example.com:2379
	config health timeout=2s request-timeout=1s
	began=$SECONDS
	assert_exit 0 hook health
	umount /etc/resolv.conf /etc/nsswitch.conf
	kill "$server"
	((SECONDS - began < 15)) || fail "it waited for $((SECONDS - began)) s"
	assert_match "asked" "$(<"$GBE_MEM/mute")" "*asked*"
	assert_match "stderr" "$ERR" "*Cannot tell*etcd.example.com*"
}

# By hand and in greenboot's check, a permanent error ends the wait.
health_corrupt_is_not_waited_for() {
	local began
	device "$1"
	power_on
	put a key
	assert_exit 0 gbe health --wait=60s
	curl -sf "http://127.0.0.1:$ETCD_PORT/v3/maintenance/alarm" -d "{\"action\":\"ACTIVATE\",\"memberID\":\"$(
		ctl endpoint status -w json | grep -o '"member_id":[0-9]*' | cut -d: -f2)\",\"alarm\":\"CORRUPT\"}"
	began=$SECONDS
	assert_exit 6 gbe health --wait=60s
	assert_match "reason" "$OUT" "unhealthy: *CORRUPT*"
	assert_exit 1 hook health
	((SECONDS - began < 20)) || fail "it waited for $((SECONDS - began)) s"
}

# The etcd of a container is updated within one run, under the same deployment, and taken back. If the file system
# clones, the start of the new etcd takes a backup.
health_updated_in_place() {
	local warning="*etcd was updated to 3.5*from 3.4*does not start on the data*" readable="there is no backup"

	a_green "$1"
	config etcd binary=/usr/bin/in-the-container
	assert_exit 0 hook health
	! grep -q "was updated" <<<"$(gbe status)" || fail "nothing was updated"
	stop_etcd
	start_prerun
	ETCD=$ETCD_NEXT start_etcd
	assert_exit 0 hook health
	! fs_clones "$1" || readable="a backup that it can read is $(gbe list --names)"
	assert_match "status" "$(gbe status)" "$warning; $readable*"
	# A second start of the new etcd does not replace the backup.
	stop_etcd
	start_prerun
	assert_match "status" "$(gbe status)" "$warning; $readable*"
	# The present etcd's version is unknown, so it is not held back as the old version would be.
	ETCD=$ETCD_NEXT start_etcd
	shutdown
	machine_on
	assert_eq "prerun" "$PRERUN" 0
}

suite_begin "$@"
FS=${FS:-xfs} play health certificate_expires tls_files green_sees another_etcd no_answer_from_dns corrupt_is_not_waited_for
[[ ! $ETCD_NEXT ]] || FS=${FS:-xfs ext4} play health updated_in_place
suite_end
