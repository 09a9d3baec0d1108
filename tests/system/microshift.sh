#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# MicroShift together with its own data management (a stand-in, in microshift/), without any configuration.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"

DEVICE_ETCD_PORT=2378 # in addition to https://localhost:2379
TREE=$GBE_MEM/microshift

# The stand-in and its certificates are laid over the images. The images' own configuration is left out.
stand_in() {
	local certs=$TREE/usr/share/microshift/certs/etcd-signer

	cp -rP "$GBE_TOP/tests/system/microshift" "$TREE"
	mkdir -p "$certs/apiserver-etcd-client" "$TREE/usr/lib/systemd/system"
	certificates "$certs" DNS:localhost >"$GBE_MEM/certificates.log" 2>&1
	mv "$certs"/client.{crt,key} "$certs/apiserver-etcd-client"
	sed 's/etcd\.service/microshift.service/; /^Type=/iEnvironment=DEVICE_ETCD_PORT=2378' \
		"$GBE_TOP/tests/system/image/usr/lib/systemd/system/workload.service" \
		>"$TREE/usr/lib/systemd/system/workload.service"
	enable "$TREE" microshift.service
	chown -R 0:0 "$TREE"
	# Debian enables the installed etcd.
	printf '%s\n' /usr/lib/greenboot-etcd/greenboot-etcd.conf \
		/usr/etc/systemd/system/multi-user.target.wants/etcd.service >"$GBE_MEM/left-out"
	OS_OVER=("$TREE")
	OS_COMMIT=(--skip-list="$GBE_MEM/left-out")
}

own() { grep -c "$1" "$VAR/log/microshift" || true; }
certs() { ls "$VAR/lib/microshift/certs"; }
# restored: expects that A has its data and the files next to its etcd, and that MicroShift had nothing to do.
restored() {
	a_is_back
	assert_eq "certificates" "$(certs)" etcd-signer
	assert_eq "restores by MicroShift" "$(own restored)" 0
	assert_eq "starts that MicroShift refused" "$(own older)" 0
}

microshift_all() {
	os_is B writes bad
	a_green "$1"
	assert_json '.settings[] | select(.key == "data-dir") | .origin' "detected: MicroShift" config
	assert_json '[.settings[] | select(.origin != null) | .origin] | unique | join(" ")' "detected: MicroShift" config
	assert_json .health healthy status
	assert_json .data.path /var/lib/microshift status
	[[ -S $VAR/lib/microshift/kubelet-plugins/kubelet.sock ]]
	assert_match "preflight" "$(gbe preflight || true)" "*data *kubelet-pods/volume is a mount point*"
	assert_match "preflight" "$(gbe preflight || true)" "*note *microshift *40_microshift_pre_rollback.sh*"

	# The update fails twice, each time from A's data. MicroShift's hook asks for a restore at the end.
	into_b
	booted_in_turn B B A
	found_each B "$A_STATE"
	restored
	assert_eq "rule" "$(rule | cut -c1-3)" 10a
	assert_eq "what B left" "$(backups ".deployment==\"${DEPLOYMENT[B]}\" and .grade==\"bad\"")" 1
	assert_eq "the marker that MicroShift removed" "$(own "A marker removed")" 1
	assert_some "MicroShift's own backups" "$(own backup)"

	# A good update, and a rollback by hand. The data of the update is too new for A's program.
	stage C
	last_words
	BOOTS=()
	reboot
	booted_in_turn C
	found_each C "$A_STATE"
	judged green
	assert_eq "certificates" "$(certs)" $'etcd-signer\nof-C'
	roll_back_to A
	restored
	assert_eq "rule" "$(rule | cut -c1-3)" 10b
}

suite_begin "$@"
MAX_BOOT_ATTEMPTS=2
machine_begin this
stand_in
FS=${FS:-xfs} play microshift all
machine_end
suite_end
