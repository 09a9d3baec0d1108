# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# shellcheck disable=SC2034 # read by those who source this
#
# Steps that the stories of machines share. A is the old system, B the update. Sourced last.

A_STATE= # what A's etcd had when A stopped
B_STATE=

# holds WHAT STATE: the running etcd has exactly that: HashKV, revision, member, cluster, keys.
holds() { assert_eq "$1" "$(etcd_state)" "$2"; }
booted() { assert_eq "booted" "$BOOTED" "$1"; }
# booted_in_turn NAME...: checks which deployments booted since `BOOTS=()`.
booted_in_turn() { assert_eq "what was booted" "${BOOTS[*]}" "$*"; }
# found_each NAME STATE: checks that NAME booted, and that etcd had STATE in every boot of it.
found_each() {
	local state

	while read -r state; do
		assert_eq "what a boot of $1 came to" "$state" "$2"
	done < <(found "$1")
	assert_some "boots of $1 that used etcd" "$(found "$1" | wc -l)"
}

# judged COLOUR: checks that greenboot gave this verdict on the run, and that it is recorded.
judged() { assert_json .verdict "$1" status; }
backups() { json "[.[] | select($1)] | length" list; }

# journal UNIT [OPTION...]: prints the messages of UNIT in this boot. OPTION may choose another boot.
journal() {
	local unit=$1
	shift
	[[ $# != 0 ]] || set -- --boot
	inside journalctl --sync
	inside journalctl --no-pager -o cat -u "greenboot-etcd-$unit.service" "$@"
}
# rule: that prerun decided by in this boot, the last one. By the name that it gives itself: of a process that has gone by
# the time that it looks, journald does not know the unit.
rule() {
	inside journalctl --sync
	inside journalctl --boot --no-pager -o cat -t greenboot-etcd-prerun |
		sed -n 's/.*Decided by rule \([^:]*\):.*/\1/p' | tail -n 1
}

# a_green KIND [FLAVOUR]: leaves A up and green, with data in its etcd.
a_green() {
	device "$@"
	a_comes_up
}

# a_comes_up: does the same with an existing device.
a_comes_up() {
	power_on
	booted A
	put_many base 10
	put owner A
	[[ $FLAVOUR == none ]] || judged green
}

# config GROUP KEY=VALUE: writes a drop-in to the /etc of the running deployment, or of A before the first boot.
config() {
	local dir
	dir=$(deployment_dir "${BOOTED:-A}")/etc/greenboot-etcd/greenboot-etcd.conf.d
	mkdir -p "$dir"
	printf '[%s]\n%s\n' "$1" "$2" >"$dir/50-$1-${2%%=*}.conf"
	sync -f "$dir"
}

# last_words: lets A write until it stops.
last_words() {
	put last "word of A"
	A_STATE=$(etcd_state)
}

# into_b: stages B, shuts A down in order, and boots what GRUB chooses.
into_b() {
	stage B
	last_words
	BOOTS=()
	reboot
}

# a_b_green KIND [FLAVOUR]: leaves B up after both were green, with writes of B.
a_b_green() {
	os_is B writes
	a_green "$@"
	into_b
	booted_in_turn B
	found_each B "$A_STATE"
	judged green
	B_STATE=$(etcd_state)
	assert_ne "B's data" "$B_STATE" "$A_STATE"
}

a_is_back() {
	booted A
	holds "A's data" "$A_STATE"
	judged green
}

# fault DEPLOYMENT PROGRAM POINT: stops PROGRAM at POINT from its next start on. Without POINT, it no longer stops.
fault() {
	local dir

	dir=$(deployment_dir "$1")/etc/systemd/system/greenboot-etcd-$2.service.d
	rm -rf -- "$dir"
	if [[ ${3-} ]]; then
		mkdir -p "$dir"
		printf '[Service]\nEnvironment=GREENBOOT_ETCD_FAULT=%s=stop\n' "$3" >"$dir/fault.conf"
	fi
	sync -f "$ROOT"
}

# from_menu NAME: shuts the machine down in order, and boots that entry from GRUB's menu.
from_menu() {
	shutdown
	grub_choose
	boot "$1"
	settle
}
# roll_back_to NAME: does what a person does to roll back.
roll_back_to() {
	inside rpm-ostree rollback
	BOOTS=()
	reboot
	booted_in_turn "$1"
}
