#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Staged updates whose etcd is started automatically next to the running system, confined by systemd.

# shellcheck disable=SC2034,SC2317,SC2119,SC2120,SC2016 # cases are called by name; scripts that others run
# shellcheck source=tests/lib/system.sh
. "$(dirname "$0")/../lib/system.sh"
# shellcheck source=tests/lib/rehearsals.sh
. "$GBE_LIB/rehearsals.sh"

rehearse_passes() {
	a_green "$1"
	rehearsed B passed null
	assert_json .rehearsal.goes_back true status
	inside journalctl --sync
	assert_match "journal" "$(inside journalctl --boot --no-pager -o cat -t greenboot-etcd-preflight)" "*The etcd of the update works on today's data*"
	last_words
	BOOTS=()
	reboot
	booted_in_turn B
	found_each B "$A_STATE"
	judged green
}

# A failed update is locked, also after a reboot. Another update that is staged instead is not locked.
rehearse_locked() {
	a_green "$1"
	config preflight on-failed-rehearsal=lock
	etcd_is <<<'echo "panic: no" >&2; exit 2'
	rehearsed B failed "etcd ended (exit-code): panic: no"
	assert_json .rehearsal.locked true status
	assert_match "MOTD" "$(inside cat /run/motd.d/greenboot-etcd)" "*does not work on*Run \`*\`*"
	last_words
	BOOTS=()
	reboot
	booted_in_turn A
	holds "A's data" "$A_STATE"
	OS_OVER=()
	rehearsed C passed null
	last_words
	BOOTS=()
	reboot
	booted_in_turn C
	found_each C "$A_STATE"
}

# The attack fails: a success would be in the last line.
rehearse_hostile() {
	a_green "$1"
	inside systemd-run --unit=live-socket --quiet bash -c 'exec 3<>/dev/null; touch /run/live; sleep 600'
	etcd_is <<-'END'
		got=
		try() { if "$@" >/dev/null 2>&1; then got="$got $*;"; fi; }
		try bash -c 'echo > /dev/tcp/127.0.0.1/2379'
		for path in /etc /usr /run /tmp /var/lib/etcd /var/tmp /dev/shm /sysroot / /var /proc/sys/kernel; do
			try touch "$path/hostile"
		done
		for path in /var/lib/etcd/member /run/systemd/private /run/live /sysroot/ostree /proc/1/environ \
			/var/lib/greenboot-etcd /run/ostree ../../data/.. /dev/loop0 /run/dbus; do
			[ "$path" = ../../data/.. ] || try cat "$path/."
			[ "$path" = ../../data/.. ] || try test -e "$path"
		done
		try mount -t tmpfs none /tmp
		try unshare --user true
		try unshare --net true
		try chown 0:0 data
		[ $$ = 1 ] || try kill -0 1
		[ "$(id -u)" != 0 ] || [ "$(stat -c %u data)" = 0 ] || got="$got root;"
		echo "got:$got"
		exit 1
	END
	rehearsed B failed "etcd ended (exit-code): got:"
}

# hostile_is VERSION: makes a program that attacks every process of the system the etcd of the next image.
hostile_is() {
	etcd_is </dev/null
	${CC:-cc} -DVERSION="\"$1\"" -o "${OS_OVER[0]}/usr/bin/etcd" "$GBE_LIB/hostile-etcd.c"
}
# live_etcd: prints the user and the process.
live_etcd() { inside sh -c 'ps -o user=,pid= -p "$(systemctl show -P MainPID etcd.service)"'; }

# attacked NAME PATTERN: expects that no attack succeeds in its rehearsal, with the live etcd running as its user and
# as root.
attacked() {
	local before

	# One process has the first of the users that a rehearsal takes.
	inside systemd-run --quiet --unit=taken -p DynamicUser=yes -p User=65520 sleep 600
	before=$(live_etcd)
	rehearsed "$1" failed "$2"
	assert_eq "the live etcd" "$(live_etcd)" "$before"
	inside systemctl stop etcd.service
	inside chown -R root:root /var/lib/etcd
	inside mkdir -p /run/systemd/system/etcd.service.d
	inside sh -c 'printf "[Service]\nUser=root\n" >/run/systemd/system/etcd.service.d/root.conf'
	inside systemctl daemon-reload
	inside systemctl start etcd.service
	before=$(live_etcd)
	assert_match "the live etcd" "$before" "root *"
	inside greenboot-etcd rehearse >/dev/null || true
	assert_match "as root" "$(json .rehearsal.reason status)" "$2"
	assert_eq "the live etcd" "$(live_etcd)" "$before"
	nothing_left
}

rehearse_attacks() {
	a_green "$1"
	hostile_is 3.4.23
	attacked B "*uid 65521, pid 1, got:"
	# etcd's tool also has such a user, and none of its files keeps it as the owner.
	inside greenboot-etcd snapshot save /var/tmp/snapshot
	inside greenboot-etcd import /var/tmp/snapshot
	assert_exit 0 gbe show imported-snapshot
	assert_eq "files of that user" "$(inside find /var -xdev -uid 65521)" ""
}

# Without two programs of util-linux, the hostile etcd sees process ids of the system. It still reaches no process.
rehearse_attacks_alone() {
	a_green "$1"
	hostile_is 3.4.23
	touch "${OS_OVER[0]}/usr/bin/setpriv"
	attacked B "*uid 65521, pid of the system, got:"
}

# A later systemd separates process ids itself.
rehearse_attacks_next() {
	os_is A next
	os_is B next
	a_green "$1"
	hostile_is 3.5.16
	attacked B "*uid 65521, pid 1, got:"
	os_is C next
	OS_OVER=()
	rehearsed C passed null
}

# tests/vm/rehearse.sh plays an etcd that takes memory and processes without a limit.
rehearse_greedy() {
	a_green "$1"
	etcd_is <<<'yes without end'
	rehearsed B failed "etcd prints without end"
	etcd_is <<<'exec dd if=/dev/zero of=data/large bs=1M count=20000'
	rehearsed C failed "etcd *"
	etcd_is </dev/null
	echo nonsense >"${OS_OVER[0]}/usr/bin/etcd"
	rehearsed D failed "the update's etcd does not run, and today's does: *cannot be executed: *"
}

suite_begin "$@"
machine_begin
FS=${FS:-xfs ext4 btrfs-subvol} play rehearse passes
FS=${FS:-xfs} play rehearse locked hostile attacks attacks_alone attacks_next greedy
machine_end
suite_end
