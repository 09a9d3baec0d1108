#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The power fails in each phase of an update that fails in the end: A has its data again.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"

# cut_at PROGRAM: waits until PROGRAM stops at its point, and cuts the power.
cut_at() {
	local n

	for ((n = 0; n < 1000; n++)); do
		# shellcheck disable=SC2046 # numbers
		if halted $(pgrep --ns "$LEADER" --nslist pid -f "libexec/greenboot-etcd/$1"); then
			powercut
			return 0
		fi
		machine_running || break
		nap 0.05
	done
	fail "$1 never came to the point"
}

# next_boot: boots GRUB's choice, until systemd is up.
next_boot() {
	grub_choose
	boot "$(deployment_name "$(sysroot_list | sed -n "$((GRUB_INDEX + 1))p")")"
}

b_fails() {
	os_is A faults
	os_is B faults writes bad
	a_green "$1" shell
}

# B is staged and not yet finalized: B is gone.
cut_staged() {
	b_fails "$1"
	stage B
	last_words
	powercut
	BOOTS=()
	power_on
	booted_in_turn A
	a_is_back
}

cut_finalize_at() { # POINT KIND
	b_fails "$2"
	stage B
	last_words
	fault A finalize "$1"
	inside systemctl daemon-reload
	inside systemctl --no-block reboot
	cut_at finalize
	fault A finalize
	BOOTS=()
	power_on
	booted_in_turn A
	a_is_back
}
cut_finalize_copy() { cut_finalize_at backup-cloned "$1"; }
cut_finalize_stamped() { cut_finalize_at finalize-closed "$1"; }

# The cut is in B's prerun, which stops there once.
cut_upgrade_at() { # POINT KIND
	b_fails "$2"
	stage B
	last_words
	inside systemctl reboot
	machine_gone
	fault B prerun "$1"
	BOOTS=()
	next_boot
	cut_at prerun
	fault B prerun
	power_on
	booted_in_turn B B B A
	found_each B "$A_STATE"
	a_is_back
}
cut_upgrade_observed() { cut_upgrade_at prerun-observed "$1"; }
cut_upgrade_stamped() { cut_upgrade_at execute-taken-over "$1"; }

# The cut comes while B runs, after one verdict.
cut_running() {
	b_fails "$1"
	stage B
	last_words
	inside systemctl reboot
	machine_gone
	BOOTS=()
	next_boot
	until grep -q "^B " "$VAR/log/found" 2>/dev/null; do nap 0.1; done
	powercut
	power_on
	assert_match "what was booted" "${BOOTS[*]}" "B B B A"
	a_is_back
}

# The cut is in A's prerun, on the way back.
cut_restore_at() { # POINT KIND
	local n

	b_fails "$2"
	stage B
	last_words
	inside systemctl reboot
	machine_gone
	# Later than this: ostree passes A's /etc on to B.
	fault A prerun "$1"
	BOOTS=()
	for n in 1 2 3; do
		next_boot
		booted B
		! settle || fail "B stays up"
	done
	next_boot
	booted A
	cut_at prerun
	fault A prerun
	power_on
	booted_in_turn B B B A A
	found_each B "$A_STATE"
	a_is_back
}
cut_restore_staged() { cut_restore_at restore-staged "$1"; }
cut_restore_exchanged() { cut_restore_at exchange-exchanged "$1"; }
cut_restore_displaced() { cut_restore_at restore-tidied "$1"; }

suite_begin "$@"
machine_begin this
# LEVEL=ci: each of the others lies between two of these; tests/crash plays every one.
more=()
[[ ${LEVEL:-ci} == ci ]] || more=(finalize_stamped upgrade_observed restore_exchanged)
FS=${FS:-xfs} play cut staged finalize_copy upgrade_stamped running restore_staged restore_displaced "${more[@]}"
FS=${FS:-mount} play cut restore_exchanged
machine_end
suite_end
