#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# An update on a machine that boots alone: GRUB counts, and chooses. All cases begin with one machine, on which A was
# judged green, wrote, staged B and shut down. They differ in the result of B.

# shellcheck disable=SC2034,SC2119,SC2317 # cases are called by name
MACHINES=vm
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"

MAX_BOOT_ATTEMPTS=2

# staged KIND [FLAVOUR]: makes that machine.
staged() {
	local name=staged-$1-${2:-shell}

	if ! machine_kept "$name"; then
		a_green "$@"
		stage B
		last_words
		shutdown
		machine_keep "$name"
		root_free
	fi
	machine_again "$name"
}

# b_hangs: lets B hang before any service, from its next boot on. The unit is in B's /etc only.
b_hangs() {
	local dir
	dir=$(deployment_dir B)/etc/systemd/system
	mkdir -p "$dir/sysinit.target.wants"
	cat >"$dir/hang.service" <<-EOF
		[Unit]
		DefaultDependencies=no
		Before=sysinit.target
		[Service]
		Type=oneshot
		ExecStart=/bin/sleep infinity
	EOF
	ln -sf ../hang.service "$dir/sysinit.target.wants/"
}

update_green() {
	staged "$1"
	power_on
	booted_in_turn B
	found_each B "$A_STATE"
	judged green
	assert_eq "the key that B wrote" "$(with_etcd get owner)" B
	shutdown
	assert_eq "boot_counter" "$(grubenv_get boot_counter)" ""
	assert_eq "boot_success" "$(grubenv_get boot_success)" 1
}

# B's check fails at each boot: GRUB's countdown ends, and A has its data.
update_red() {
	local checks

	staged "$1"
	checks=$(deployment_dir B)/etc/greenboot/check/required.d
	mkdir -p "$checks"
	printf '#!/bin/bash\nexit 1\n' >"$checks/60_bad.sh"
	power_on
	booted_in_turn B B A
	found_each B "$A_STATE"
	a_is_back
	shutdown
	assert_eq "boot_counter" "$(grubenv_get boot_counter)" ""
	assert_eq "the default" "$(sysroot_list | head -n 1)" "${DEPLOYMENT[A]}"
}

# No hook ever runs: B writes and then its kernel panics. The next time B hangs before any service, and a person cuts
# the power.
update_lost() {
	local panic

	staged "$1"
	panic=$(deployment_dir B)/etc/systemd/system/workload.service.d
	mkdir -p "$panic"
	printf '[Service]\nExecStartPost=/bin/sh -c "echo c >/proc/sysrq-trigger"\n' >"$panic/panic.conf"
	boot
	machine_gone
	assert_eq "the end of B" "$ENDED" panic
	b_hangs
	boot
	booted B
	sleep 20
	assert_eq "B's state" "$(inside systemctl is-system-running)" initializing
	powercut
	assert_eq "B's boots" "${BOOTS[*]}" "B B"
	power_on
	booted_in_turn B B A
	found_each B "$A_STATE"
	a_is_back
}

suite_begin "$@"
machine_begin
run_case update-green@xfs update_green xfs
run_case update-red@xfs update_red xfs
if [[ ${LEVEL:-ci} != ci ]]; then
	run_case update-lost@xfs update_lost xfs
	run_case update-red@own-var update_red own-var
fi
machine_end
suite_end
