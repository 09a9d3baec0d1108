#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Power cuts at the worst moments, on a machine that boots on its own: in B's first prerun, and then in A's, during the
# restore. Data that the kernel had not written by then is lost.

# shellcheck disable=SC2034,SC2119,SC2317 # cases are called by name
MACHINES=vm
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"

MAX_BOOT_ATTEMPTS=2

# cut_at: waits until prerun's worker (not its supervisor) stops at its point, and cuts the power.
cut_at() {
	inside timeout "$START_LIMIT" bash -c 'until ps -o stat= -C prerun | grep -q ^T; do sleep 2; done' ||
		fail "prerun never came to the point"
	powercut
}

# B's first boot is cut and counts. Its second fails. A's first boot is cut in the restore.
cut_twice() { # KIND UPGRADE-POINT RESTORE-POINT
	os_is A faults
	os_is B faults writes bad
	a_green "$1"
	stage B
	last_words
	shutdown
	fault B prerun "$2"
	fault A prerun "$3"
	BOOTS=()
	boot
	cut_at
	assert_eq "what uses etcd in B" "$(found B)" ""
	fault B prerun
	boot
	! settle || fail "B stays up"
	assert_eq "the end of B" "$ENDED" reboot
	boot
	booted A
	cut_at
	fault A prerun
	power_on
	booted_in_turn B B A A
	found_each B "$A_STATE"
	a_is_back
}

suite_begin "$@"
machine_begin
run_case cut-twice@xfs cut_twice xfs execute-taken-over exchange-exchanged
machine_end
suite_end
