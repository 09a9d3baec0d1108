#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Updates, good and bad, on machines that boot by themselves: the units, both greenboots, ostree, etcd.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"

# a_green KIND [FLAVOUR]: A is up and green, its etcd has data.
a_green() {
	device "$@"
	power_on
	assert_eq "booted" "$BOOTED" A
	put_many base 10
	put owner A
}

upgrade_try() {
	a_green "$1" shell
	os_is B writes bad
	stage B
	grubenv_text
	put last word
	A_STATE=$(etcd_state)
	reboot
	assert_eq "boots" "${BOOTS[*]}" "A B B B A"
	inside journalctl -b -u greenboot-etcd-prerun -u etcd -u greenboot-healthcheck -u greenboot-task-runner -n 80 --no-pager; inside systemctl --failed; gbe status; unit_time greenboot-etcd-prerun.service
	found B
	grubenv_text
	etcd_state
}

suite_begin "$@"
machine_begin
for flavour in shell rust; do run_case try_$flavour upgrade_try xfs $flavour; done
machine_end
suite_end
