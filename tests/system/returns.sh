#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The ways back without greenboot's countdown: machines that hang, systems without the program, people.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"

# hangs_once: B has written and never reaches greenboot. A person cuts the power.
hangs_once() {
	local n

	for ((n = 0; n < 3000; n++)); do
		[[ ! -e /proc/$LEADER/root/run/hanging ]] || break
		nap 0.05
	done
	assert_exists "/proc/$LEADER/root/run/hanging"
	assert_eq "greenboot" "$(inside systemctl is-active greenboot-healthcheck.service || true)" inactive
	powercut
}

# The shell flavour's counter is set when B is staged, so GRUB gives up on B on its own.
return_hang() {
	os_is B writes hangs
	a_green "$1" shell
	stage B
	last_words
	inside systemctl reboot
	machine_gone
	BOOTS=()
	for _ in 1 2 3; do
		grub_choose
		boot "$(deployment_name "$(sysroot_list | sed -n "$((GRUB_INDEX + 1))p")")"
		hangs_once
	done
	power_on
	booted_in_turn B B B A
	# B had no verdict: each attempt continued where the last one was cut.
	assert_eq "B's first boot" "$(found B | head -n 1)" "$A_STATE"
	a_is_back
}

# B lacks greenboot-etcd. A shut down in order, so the closing state of A is known.
return_without() {
	os_is B without writes bad
	a_green "$1"
	into_b
	booted_in_turn B B B A
	assert_eq "B's first boot" "$(found B | head -n 1)" "$A_STATE"
	a_is_back
	assert_some "what B wrote is kept" "$(backups '.name | startswith("adopted-")')"
}

# The same without an orderly shutdown of A: the beginning of B is unknown. No data is thrown away.
return_without_cut() {
	os_is B without writes
	a_green "$1"
	last_words
	deploy B
	powercut
	BOOTS=()
	power_on
	booted_in_turn B
	B_STATE=$(etcd_state)
	from_menu A
	holds "what B wrote" "$B_STATE"
}

# The data came with B, and A lacks it: B gives the data back before A boots.
return_hand_back() {
	os_is A without
	os_is B writes bad
	device "$1"
	power_on
	put_many base 10
	into_b
	booted_in_turn B B B A
	found_each B "$A_STATE"
	booted A
	holds "A's data" "$A_STATE"
}

# A person rolls back, and forward again: each system has its own data.
return_deliberate() {
	a_b_green "$1"
	put later "under B"
	B_STATE=$(etcd_state)
	roll_back_to A
	a_is_back
	put owner "A again"
	A_STATE=$(etcd_state)
	roll_back_to B
	assert_eq "B has its own data again" "$(found B | tail -n 1)" "$B_STATE"
	judged green
	roll_back_to A
	a_is_back
}

# A is booted from the menu "for a look": no data is rewound in any direction.
return_accidental() {
	a_b_green "$1"
	from_menu A
	booted A
	holds "A keeps the data" "$B_STATE"
	judged green
	put by "A, by accident"
	A_STATE=$(etcd_state)
	BOOTS=()
	reboot
	booted_in_turn B
	assert_eq "and so does B" "$(found B | tail -n 1)" "$A_STATE"
}

# Without greenboot there is no verdict, and no boot or update loses data.
return_nobody_judges() {
	local n

	os_is B writes
	os_is C next writes
	a_green "$1" none
	for n in 1 2; do
		put "boot/$n" A
		last_words
		reboot
		booted A
		holds "A's data" "$A_STATE"
	done
	into_b
	booted_in_turn B
	found_each B "$A_STATE"
	for n in 1 2; do
		B_STATE=$(etcd_state)
		reboot
		booted B
		assert_eq "B's data" "$(found B | tail -n 1)" "$B_STATE"
	done
	stage C
	B_STATE=$(etcd_state)
	BOOTS=()
	reboot
	booted_in_turn C
	found_each C "$B_STATE"
	assert_json .judged false status
	assert_some "backups at hand" "$(backups true)"
}

suite_begin "$@"
machine_begin
FS=${FS:-xfs} play return hang without without_cut hand_back deliberate accidental nobody_judges
machine_end
suite_end
