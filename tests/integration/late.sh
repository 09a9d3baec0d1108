#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Runs in which etcd has the data although prerun took nothing over, because prerun was masked or failed. They are
# recorded late, and no later boot takes their writes back.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

late_records() { ledger '[.[] | select(.kind == "take-over" and .late)] | length'; }

# b_fails_to_last KIND [FLAVOUR]: B is red in its last boot. The next boot is A's.
b_fails_to_last() {
	a_green "$@"
	into_b
	b_writes
	judge red
	while [[ $(grubenv_get boot_counter) != 0 ]]; do
		reboot
		b_again
		judge red
	done
}

# a_masked: boots A without prerun on B's data.
a_masked() {
	local b
	b=$(etcd_state)
	MASKED=yes
	reboot
	MASKED=
	booted A
	holds "B's data, with prerun masked" "$b"
}

a_weeks() {
	put weeks "of A"
	put_many of-a 5
	A_STATE=$(etcd_state)
}

# goes_on: expects that A keeps its writes over a reboot and a failed update.
goes_on() {
	booted A
	started
	holds "A's weeks" "$A_STATE"
	assert_eq "take-overs recorded late" "$(late_records)" 1
	judge green
	os_commit C
	update C
	reboot
	booted C
	started
	put owner C
	fail_until_rollback put owner C
	booted A
	started
	holds "A's weeks, after a failed update" "$A_STATE"
}

late_judged() {
	b_fails_to_last "$1"
	a_masked
	judge green
	assert_eq "recorded by the checks" "$(late_records)" 1
	assert_match "status" "$(gbe status)" "*nothing was backed up*"
	a_weeks
	reboot
	goes_on
}

# No hook ran: finalize notices that etcd has written.
late_closed() {
	b_fails_to_last "$1"
	a_masked
	a_weeks
	reboot
	goes_on
}

late_cut() {
	b_fails_to_last "$1"
	a_masked
	judge green
	a_weeks
	sync -f "$ROOT"
	powercut
	power_on
	goes_on
}

# The timer of a system without greenboot records the run.
late_used() {
	b_fails_to_last "$1"
	a_masked
	greenboot_disable
	hook used
	assert_eq "recorded by used" "$(late_records)" 1
	a_weeks
	greenboot_enable
	reboot
	goes_on
}

# B wrote no data, and no check ran: B failed, and A gets its own data in the next boot.
late_unused() {
	b_fails_to_last "$1"
	MASKED=yes
	shutdown
	machine_on
	MASKED=
	booted A
	start_finalize
	assert_eq "nothing to record" "$(late_records)" 0
	power_on
	a_is_back
}

# The update itself runs once without prerun: only a person may take back its writes.
late_update() {
	local b

	a_green "$1"
	update B
	put last "word of A"
	MASKED=yes
	reboot
	MASKED=
	booted B
	b_writes
	judge red
	assert_eq "recorded by the checks" "$(late_records)" 1
	b=$(etcd_state)
	reboot
	booted B
	started
	holds "no retry without a backup" "$b"
	fail_until_rollback true
	booted A
	started
	holds "the data continues under A" "$b"
}

# The same deployment is on trial: one masked boot leaves it on trial, and its base comes back.
late_own_trial() {
	a_green "$1"
	into_b
	b_writes
	MASKED=yes
	reboot
	MASKED=
	booted B
	judge red
	assert_eq "recorded by the checks" "$(late_records)" 1
	reboot
	booted B
	started
	fail_until_rollback true
	a_is_back
}

# The exchange is done and its record fails: etcd starts without a record. green writes it, and the run counts.
late_exchanged() {
	b_fails_to_last "$1"
	shutdown
	grub_choose
	export GREENBOOT_ETCD_FAULT=restore-tidied=EIO
	BUILD=$BUILD_FAULTS boot A
	unset GREENBOOT_ETCD_FAULT
	greenboot_check_fallback
	started
	assert_eq "no record of it" "$(ledger 'last(.[] | select(.kind == "intent" or .kind == "take-over")) | .kind')" intent
	start_etcd
	holds "the exchange was done" "$A_STATE"
	judge green
	assert_eq "the verdict counts" \
		"$(ledger '[.[] | select(.kind == "verdict")] | last | .verdict')" green
	a_weeks
	reboot
	booted A
	started
	holds "A's weeks" "$A_STATE"
	update C B
	reboot
	put owner C
	fail_until_rollback put owner C
	a_is_back
}

# One look-up of the booted deployment fails: it is repeated in the same start.
looked_again() { # PASS KIND
	b_fails_to_last "$2"
	shutdown
	MASKED=yes machine_on
	booted A
	GREENBOOT_ETCD_FAULT=booted-looked@$1=EIO BUILD=$BUILD_FAULTS hook prerun
	start_etcd
	holds "A's data" "$A_STATE"
	judge green
	assert_eq "take-overs recorded late" "$(late_records)" 0
}
late_first_look() { looked_again 1 "$1"; }
late_second_look() { looked_again 2 "$1"; }

suite_begin "$@"
play late first_look second_look
play late judged closed cut used unused update own_trial exchanged
suite_end
