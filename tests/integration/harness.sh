#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The stage of all other suites, without greenboot-etcd: real file systems, ostree, etcd, and the stand-in for
# greenboot, which counts boots as both flavours do. A failure that a test sees must come from the program, not from
# the stage.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# In these cases, the images lack the program.
has_program() { return 1; }

bare_device() {
	root_new "$1"
	sysroot_init "${3-}"
	etcd_ports
	config_write
	greenboot_install "$2"
	os_commit A --without-program
	os_commit B --without-program
	deploy A
}

seen() { echo "$BOOTED:$(grubenv_get boot_counter)"; }

# The data survives an update and the way back as the last system left it. The program solves this problem.
data_follows_nobody() {
	local before

	bare_device "$1" shell
	power_on
	put_many key 250
	before=$(etcd_state)
	assert_match "state" "$before" "hash=[1-9]*/* revision=4 member=* cluster=*"
	assert_eq "keys" "$(key_count)" 250
	update B
	reboot
	assert_eq "booted" "$BOOTED" B
	assert_eq "an orderly reboot keeps the data" "$(etcd_state)" "$before"
	put key/1 changed
	del --prefix key/2
	stop_etcd
	finalize_staged
	boot A
	start_etcd
	assert_ne "A's etcd" "$(etcd_state)" "$before"
	assert_eq "a changed key" "$(get key/1)" changed
}

# reference: 3 failing boots of the new deployment, whose hooks see 2, 1, 0.
shell_counts() {
	local trace=

	bare_device xfs shell
	power_on
	update B
	assert_eq "staging sets the counter" "$(grubenv_get boot_counter)" 3
	reboot
	while [[ $BOOTED == B ]]; do
		trace+=" $(seen)"
		judge red
		assert_eq "after red" "$AFTER" reboot
		reboot
	done
	assert_eq "boots" "$trace" " B:2 B:1 B:0"
	assert_eq "booted" "$BOOTED" A
	assert_eq "counter" "$(grubenv_get boot_counter)" ""
	assert_eq "A is the default entry again" "$(deployment_index A)" 0
	judge red
	assert_eq "nothing is counted: it stays up" "$AFTER" stay
}

# reference: 4 failing boots, whose hooks see unset, 2, 1, 0. The last one makes the rollback.
rust_counts() {
	local trace=

	bare_device xfs rust
	power_on
	update B
	assert_eq "staging sets nothing" "$(grubenv_get boot_counter)" ""
	reboot
	while [[ $BOOTED == B ]]; do
		trace+=" $(seen)"
		judge red
		assert_eq "after red" "$AFTER" reboot
		reboot
	done
	assert_eq "boots" "$trace" " B: B:2 B:1 B:0"
	assert_eq "A is the default entry again" "$(deployment_index A)" 0
	assert_eq "next deployment" "$(grubenv_get greenboot_next_deployment_id)" ""
	judge green
	assert_eq "grubenv's size" "$(stat -c %s "$ROOT/boot/grub2/grubenv")" 1024
}

rust_gives_up() {
	bare_device xfs rust
	power_on
	for _ in 1 2 3; do
		judge red
		assert_eq "after red" "$AFTER" reboot
		reboot
	done
	judge red
	assert_eq "without an update" "$AFTER" stay
}

# Ids, serials and handles are those of ostree.
deployments() {
	local handle

	bare_device xfs shell "${1-}"
	power_on
	update B
	reboot
	deploy A.1 A
	assert_match "same commit, next serial" "${DEPLOYMENT[A.1]}" "${DEPLOYMENT[A]%.0}.1"
	assert_eq "order" "$(deployment_index A.1) $(deployment_index B) $(deployment_index A)" "0 1 2"
	make_default A
	assert_eq "order" "$(deployment_index A) $(deployment_index A.1) $(deployment_index B)" "0 1 2"
	handle=$(stat -c %i "$(deployment_dir A.1)")
	undeploy A.1
	assert_exit 1 deployment_index A.1
	mkdir "$ROOT/keep-inode-busy"
	deploy again A
	assert_eq "the serial comes again" "${DEPLOYMENT[again]}" "${DEPLOYMENT[A]%.0}.1"
	echo "inode $handle, then $(stat -c %i "$(deployment_dir again)")"
	pin A
	assert_match "pinned" "$(ostree admin --sysroot="$ROOT" status)" "*Pinned: yes*"
}

# The disk keeps what was synced, and may have lost what was only in memory.
power_cut() {
	local before n

	bare_device "$1" none
	# The file system may write on its own in that moment, but rarely.
	for n in 1 2 3; do
		power_on
		put key "value $n"
		before=$(etcd_state)
		echo unsynced >"$ROOT/var/unsynced-$n"
		powercut
		[[ -e $ROOT/var/unsynced-$n ]] || break
	done
	assert_missing "$ROOT/var/unsynced-$n"
	power_on
	assert_eq "what etcd had acknowledged" "$(etcd_state)" "$before"
}

soft_reboot() {
	local id

	bare_device xfs none
	power_on
	id=$(<"$ROOT/proc/sys/kernel/random/boot_id")
	touch "$ROOT/run/stays"
	stop_etcd
	boot A --soft
	assert_eq "boot id" "$(<"$ROOT/proc/sys/kernel/random/boot_id")" "$id"
	assert_eq "count" "$(<"$ROOT/run/greenboot-etcd/soft-reboots")" 1
	assert_exists "$ROOT/run/stays"
	power_on
	assert_ne "boot id" "$(<"$ROOT/proc/sys/kernel/random/boot_id")" "$id"
	assert_missing "$ROOT/run/stays"
}

# A test must be able to fail, and the runner must not hide a failure. In this case an error makes bash leave a
# function without traps or set -e.
aborts() {
	local n="1 2"
	echo $((n + 1))
}

runner_sees_failures() {
	local out

	out=$(
		CASES_FAILED=0 CASE='*'
		exec 2>/dev/null
		set +e
		run_case broken false
		run_case abort aborts
		run_case told fail "the reason"
		run_case left skip_case "not here"
		run_case fine true
		echo "failed: $CASES_FAILED"
	)
	assert_eq "lines" "$(cut -d: -f1 <<<"$out" | paste -sd,)" \
		"not ok broken,not ok abort,not ok told,skip left,ok fine,failed"
	assert_match "reason" "$out" "*not ok told: the reason*failed: 3"
}

suite_begin "$@"
for kind in $(kinds "xfs ext4 none" "$OTHER_FS"); do
	run_case "stage-data-follows-nobody@$kind" data_follows_nobody "$kind"
done
for kind in $(kinds "xfs ext4" btrfs); do
	run_case "stage-power-cut@$kind" power_cut "$kind"
done
run_case stage-shell-counts shell_counts
run_case stage-rust-counts rust_counts
run_case stage-rust-gives-up rust_gives_up
run_case stage-deployments deployments
run_case stage-stateroot-with-dots deployments "a_b-c.d"
run_case stage-soft-reboot soft_reboot
run_case stage-runner-sees-failures runner_sees_failures
suite_end
