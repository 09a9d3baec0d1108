#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The commands of greenboot-etcd-guide(7), typed as they stand there, on devices that a real systemd
# boots: recovery by hand, a device whose etcd is held back, and a new machine in the place of one that
# is lost.

# shellcheck disable=SC2317,SC2119 # cases are called by name; arguments that are optional
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"
# shellcheck source=tests/lib/container.sh
. "$(dirname "$0")/../lib/container.sh"

PAGE=$GBE_TOP/data/man/greenboot-etcd-guide.7
ELSEWHERE=$GBE_MEM/elsewhere # what is mounted at /mnt

# block NAME: the commands of one block of the page.
block() {
	local commands
	commands=$(sed -n "/^\\.\\\\\" run: $1\$/,/^\\.fi\$/s/^# //p" "$PAGE" | sed 's/\\-/-/g')
	[[ $commands ]] || fail "the page has no block $1"
	echo "$1" >>"$GBE_MEM/played"
	printf '%s\n' "$commands"
}

# person NAME COMMANDS: what somebody does on a machine of that deployment. look WORD there writes down
# what etcd has.
person() {
	mkdir -p "$ELSEWHERE"
	populate "$1" "set -eux
		ETCDCTL=etcdctl ETCD_PORT=2379
		$(declare -f ctl etcd_state)
		look() { etcd_state >/mnt/\$1; }
		$2
		: >/mnt/done"
	rm -f "$ELSEWHERE/done"
	run "$1" --bind="$ELSEWHERE:/mnt"
	[[ -e $ELSEWHERE/done ]] || fail "$(grep -E 'bash\[' "$LOG" | tail -n 2 | cut -c 16- | tr '\n' ' ')"
}
looked() { cat "$ELSEWHERE/$1"; }

# configure NAME GROUP KEY=VALUE
configure() {
	local dir
	dir=$(deployment_dir "$1")/etc/greenboot-etcd/greenboot-etcd.conf.d
	mkdir -p "$dir"
	printf '[%s]\n%s\n' "$2" "$3" >"$dir/50-$2-${3%%=*}.conf"
}

by_hand() {
	container_device
	deploy A
	person A "etcdctl put k right
		greenboot-etcd mark good
		look right"
	person A "etcdctl put k wrong
		etcdctl put more wrong
		look wrong
		$(block by-hand)
		look restored
		$(block undo)
		look undone"
	assert_eq "restored" "$(looked restored)" "$(looked right)"
	assert_eq "undone" "$(looked undone)" "$(looked wrong)"
}

held() {
	container_device
	deploy A
	configure A backup directory=/var/spare/store
	configure A backup on-upgrade-failure=refuse
	mkdir -p "$VAR/spare"
	person A "etcdctl put k v
		greenboot-etcd mark good
		look before"
	# Not mounted any more.
	mv "$VAR/spare" "$VAR/not-mounted"
	deploy B
	cp -a "$(deployment_dir A)/etc/greenboot-etcd" "$(deployment_dir B)/etc/"
	person B "systemctl is-active etcd && exit 1
		$(block held)
		$(block unprotected)
		look unprotected"
	in_order "prerun.*held back" "Dependency failed for etcd" "rule 11" "Starting etcd"
	assert_eq "etcd without protection" "$(looked unprotected)" "$(looked before)"
	# The mask was of that boot; what lifts the hold is the store.
	mv "$VAR/not-mounted" "$VAR/spare"
	person B "look after"
	in_order "prerun.*Backed up" "Starting etcd"
	assert_eq "with the store" "$(looked after)" "$(looked before)"
}

new_machine() {
	container_device
	deploy A
	configure A backup keep-good=3
	person A "etcdctl put first value
		greenboot-etcd mark good"
	person A "for n in \$(seq 50); do etcdctl put key/\$n value-\$n; done
		etcdctl del key/7
		look old
		$(block spare)
		etcdctl put later lost"
	root_free
	# Another machine, another system on it; its etcd has been in use.
	container_device another-os
	deploy B
	person B "etcdctl put own value
		look own"
	assert_ne "the new machine's own" "$(looked own)" "$(looked old)"
	person B "$(block new-1)
		$(block new-2)
		$(block new-3)
		look new
		greenboot-etcd --json list >/mnt/list"
	assert_eq "on the new machine" "$(looked new)" "$(looked old)"
	assert_eq "configuration" "$(cat "$(deployment_dir B)"/etc/greenboot-etcd/*.d/50-backup-keep-good.conf)" \
		$'[backup]\nkeep-good=3'
	assert_eq "what it had" "$(jq '[.[] | select(.set_aside)] | length' "$ELSEWHERE/list")" 1
	person B "look again"
	in_order "prerun.*rule [67]" "Starting etcd"
	assert_eq "after a reboot" "$(looked again)" "$(looked old)"
}

# None of the page's blocks is left out above.
every_block() {
	local page
	page=$(sed -n 's/^\.\\" run: //p' "$PAGE" | sort)
	assert_eq "blocks played" "$(sort -u "$GBE_MEM/played" | tr '\n' ' ')" "$(tr '\n' ' ' <<<"$page")"
}

suite_begin "$@"
need_nspawn
run_case by-hand by_hand
run_case held held
run_case new-machine new_machine
[[ ${CASE:-*} != '*' ]] || run_case every-block every_block
suite_end
