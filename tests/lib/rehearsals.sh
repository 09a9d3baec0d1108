# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2016 # scripts that others run
#
# Updates whose etcd a machine rehearses automatically. Sourced after system.sh.

# etcd_is [VERSION]: makes the script on stdin the etcd of the next image.
etcd_is() {
	OS_OVER=("$(mktemp -d "$GBE_MEM/over.XXXXXX")")
	chmod 0755 "${OS_OVER[0]}"
	mkdir -p "${OS_OVER[0]}/usr/bin"
	{
		printf '#!/bin/bash\n[ "$1" != --version ] || { echo "etcd Version: %s"; exit 0; }\n' "${1:-3.4.23}"
		cat
	} >"${OS_OVER[0]}/usr/bin/etcd"
	chmod 0755 "${OS_OVER[0]}/usr/bin/etcd"
}

# Prints the state of the live data, without the changes of a running etcd.
live() {
	inside find /var/lib/etcd -printf '%P %i %u %m\n' | sort
	etcd_state
}

# rehearsed NAME RESULT PATTERN: stages NAME, and waits for the automatic rehearsal and its RESULT.
rehearsed() {
	local before n
	before=$(live)
	stage "$1"
	for ((n = 0; n < START_LIMIT; n++)); do
		[[ $(json .rehearsal.deployment status) != "${DEPLOYMENT[$1]}" ||
			$(inside systemctl is-active greenboot-etcd-preflight.service) != inactive ]] || break
		sleep "${POLL:-1}"
	done
	assert_eq "result" "$(json .rehearsal.result status)" "$2"
	assert_match "reason" "$(json .rehearsal.reason status)" "$3"
	assert_eq "the live data" "$(live)" "$before"
	nothing_left
}

nothing_left() {
	assert_eq "left in the store" "$(inside find /var -xdev -name '.partial-*')" ""
	assert_eq "units" "$(inside systemctl list-units --all --no-legend greenboot-etcd-copy.service)" ""
}
