#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Boots and updates, good and bad, of machines that boot on their own.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"

upgrade_first_boot() {
	a_green "$1"
	assert_eq "failed units" "$(inside systemctl --failed --no-legend)" ""
	assert_eq "prerun" "$(inside systemctl show -P Result greenboot-etcd-prerun.service)" success
	assert_json .booted "${DEPLOYMENT[A]}" status
	assert_json .owner.deployment "${DEPLOYMENT[A]}" status
	assert_json .health healthy status
	assert_json .greenboot.flavour shell status
	assert_json .greenboot.enabled true status
	assert_eq "the nonce" "$(stat -c %a "$DATA/.greenboot-etcd-owner")" 600
	assert_eq "the state" "$(stat -c %a "$VAR/lib/greenboot-etcd")" 700
	# greenboot may print a line of its own.
	assert_eq "MOTD" "$(inside ls /run/motd.d | grep -vx boot-status || true)" ""
	assert_exit 0 gbe config --check
}

# Three plain reboots: nothing changes, each gets a verdict, and etcd does not wait long.
upgrade_reboots() {
	local n before after limit least=10000000

	a_green "$1"
	for n in 1 2 3; do
		last_words
		reboot
		a_is_back
		assert_eq "rule" "$(rule)" 6
		before=$(inside systemctl show -P InactiveExitTimestampMonotonic greenboot-etcd-prerun.service)
		after=$(inside systemctl show -P InactiveEnterTimestampMonotonic greenboot-etcd-prerun.service)
		((after - before >= least)) || least=$((after - before))
	done
	# The time is systemd's, with copies that share blocks, and the shortest counts. If more programs than
	# processors want to run, twice the limit counts: prerun and its children wait for a processor.
	limit=$(awk -v n="$(nproc)" '{ print int(100000 * ($1 > n ? 2 * $1 / n : 1)) }' /proc/loadavg)
	((least < limit)) || fail "etcd waits $least us for prerun, $limit are allowed"
	assert_json '[.[] | select(.grade=="good")] | length > 0' true list
}

# The update goes back to the backup that the shutdown closed with: B's prerun makes none.
upgrade_closing() {
	os_is B writes
	a_green "$1"
	stage B
	for _ in {1..100}; do
		[[ $(inside systemctl show -P ExecMainExitTimestampMonotonic greenboot-etcd-preflight.service) == 0 ]] ||
			break
		nap 0.1
	done
	assert_eq "preflight" "$(inside systemctl show -P ExecMainStatus greenboot-etcd-preflight.service)" 0
	last_words
	reboot
	booted B
	found_each B "$A_STATE"
	assert_match "A's finalize" "$(journal finalize --boot=-1)" "*Backed up the data of etcd as ${DEPLOYMENT[A]}_*"
	assert_eq "rule" "$(rule)" 11
	assert_eq "backups of A" "$(backups ".deployment==\"${DEPLOYMENT[A]}\" and .grade==\"good\"")" 1
	[[ $(journal prerun) != *"Backed up"* ]] || fail "B's prerun made a backup: $(journal prerun)"
}

# If greenboot does not run green.d of /usr/lib, a unit records the verdict once the boot is complete.
green_by_unit() {
	local began complete

	assert_eq "the unit's result" "$(inside systemctl show -P Result greenboot-etcd-green.service)" success
	began=$(inside systemctl show -P ExecMainStartTimestampMonotonic greenboot-etcd-green.service)
	complete=$(inside systemctl show -P ActiveEnterTimestampMonotonic boot-complete.target)
	((complete > 0 && began > complete)) || fail "the boot was complete at $complete, and the unit began at $began"
}

green_of() { # FLAVOUR KIND
	a_b_green "$2" "$1"
	assert_json .greenboot.flavour "$1" status
	[[ $1 != shell ]] || green_by_unit
	reboot
	booted B
	assert_eq "B's data stays" "$(found B | sed -n 2p)" "$B_STATE"
	judged green
}
upgrade_green_shell() { green_of shell "$1"; }
upgrade_green_rust() { green_of rust "$1"; }

# red_of FLAVOUR KIND BOOT...: expects these boots. The flavours differ in how often B is booted.
red_of() {
	local flavour=$1 kind=$2
	shift 2
	os_is B writes bad
	a_green "$kind" "$flavour"
	into_b
	booted_in_turn "$@"
	found_each B "$A_STATE"
	a_is_back
	assert_eq "rule" "$(rule | cut -c1-3)" 10a
	assert_json .last_operation.operation restore status
	assert_eq "what B wrote is kept, as bad" \
		"$(backups ".deployment==\"${DEPLOYMENT[B]}\" and .grade==\"bad\"")" 1
	# From now on, all is as if nothing had happened.
	put life "goes on"
	A_STATE=$(etcd_state)
	reboot
	a_is_back
}
upgrade_red_shell() { red_of shell "$1" B B B A; }
upgrade_red_rust() { red_of rust "$1" B B B B A; }

suite_begin "$@"
machine_begin
if [[ ${LEVEL:-ci} == ci && ! ${FS-} ]]; then
	FS=xfs play upgrade first_boot
	FS=mount play upgrade red_shell
else
	FS=${FS:-xfs ext4 btrfs-subvol mount} play upgrade first_boot red_shell
fi
FS=${FS:-xfs} play upgrade reboots closing green_shell green_rust red_rust
machine_end
suite_end
