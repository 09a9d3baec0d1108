#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The request of a person in GRUB's menu: the initramfs runs it once, before the system starts.

# shellcheck disable=SC2034,SC2119,SC2317 # cases are called by name
MACHINES=vm
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"

initramfs_said() { inside journalctl --boot --no-pager -o cat -u greenboot-etcd-restore.service; }

restore_once() { # KIND BACKUP
	local snap word=rd.greenboot-etcd.restore=$2

	a_green "$1"
	snap=$(etcd_state)
	gbe backup snap --stop
	last_words
	assert_ne "A's data" "$A_STATE" "$snap"
	shutdown
	power_on "$word"
	holds "restored" "$snap"
	assert_match "the initramfs" "$(initramfs_said)" "*Restored*"
	[[ $(journal prerun) != *Restored* ]] || fail "prerun restored as well: $(journal prerun)"
	put after restore
	A_STATE=$(etcd_state)
	shutdown
	power_on "$word"
	holds "once" "$A_STATE"
	[[ $(initramfs_said) != *Restored* ]] || fail "the initramfs restored again: $(initramfs_said)"
}

suite_begin "$@"
machine_begin
# /var is the stateroot's, or mounted by the initramfs as the system's fstab has it. If backups are clones, the last
# good one is that of the shutdown.
[[ ${LEVEL:-ci} == ci ]] || run_case restore-once@xfs restore_once xfs snap
run_case restore-once@own-var restore_once own-var last-good
machine_end
suite_end
