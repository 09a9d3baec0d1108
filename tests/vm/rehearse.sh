#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Staged updates whose etcd is rehearsed, on a machine that boots on its own, with a kernel that counts memory and
# tasks.

# shellcheck disable=SC2016,SC2034,SC2119,SC2120,SC2317 # cases are called by name; scripts that others run
MACHINES=vm
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"
# shellcheck source=tests/lib/rehearsals.sh
. "$GBE_LIB/rehearsals.sh"

if [[ ${LEVEL:-ci} == ci ]]; then
	echo "skip rehearse: optional at LEVEL=ci, as it takes some ten minutes; tests/system/rehearse.sh plays it in containers"
	exit 0
fi
MAX_BOOT_ATTEMPTS=2

# image_with_etcd NAME [VERSION]: makes the image NAME with the script on stdin as its etcd.
image_with_etcd() {
	local OS_OVER=()
	etcd_is "${@:2}"
	os_commit "$1"
}

# An update that cannot read today's data is refused and locked, also after a reboot. Another update that is staged
# instead is not locked.
rehearse_locked() { # KIND
	device "$1"
	config preflight on-failed-rehearsal=lock
	image_with_etcd C 3.2.32 <<<'exit 2'
	a_comes_up
	rehearsed C failed "*3.2*"
	assert_json .rehearsal.locked true status
	last_words
	BOOTS=()
	reboot
	booted_in_turn A
	holds "A's data" "$A_STATE"
	rehearsed B passed null
	last_words
	BOOTS=()
	reboot
	booted_in_turn B
	found_each B "$A_STATE"
	judged green
	shutdown
}

# An etcd takes memory and processes without a limit, and the power fails while it runs: nothing happens to the
# device.
rehearse_greedy() { # KIND
	device "$1"
	image_with_etcd C <<<'head -c 10G /dev/zero | tail >data/all; echo survived; exit 1'
	image_with_etcd D <<-'END'
		for n in {1..400}; do sleep 60 & done 2>/dev/null
		echo "children: $(jobs -r | wc -l)"
		exit 1
	END
	image_with_etcd E <<<'sleep 600'
	a_comes_up
	rehearsed C not-rehearsed "etcd needs more memory *"
	rehearsed D failed "etcd ended (*"
	[[ $(json .rehearsal.reason status) != *"children: 400"* ]] || fail "400 children"
	last_words
	stage E
	inside timeout "$START_LIMIT" bash -c \
		'until [[ $(systemctl is-active greenboot-etcd-copy.service) == active ]]; do sleep 1; done'
	BOOTS=()
	powercut
	power_on
	booted_in_turn A
	holds "A's data" "$A_STATE"
	judged green
	nothing_left
	shutdown
}

suite_begin "$@"
machine_begin
FS=${FS:-xfs} play rehearse locked greedy
machine_end
suite_end
