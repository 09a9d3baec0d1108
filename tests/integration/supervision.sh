#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# prerun itself fails: it crashes, hangs on a disk that takes no writes, or cannot read its configuration, three times
# in a row. The same system continues. Another system does not get the data without its backup, unless a person
# decides so.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

state() { echo "$ROOT/var/lib/greenboot-etcd/$1"; }
faulty() { # POINT=WHAT NAME
	GREENBOOT_ETCD_FAULT=$1 BUILD=$BUILD_FAULTS hook "$2"
}
motd() { tr "\n" " " <"$ROOT/run/motd.d/greenboot-etcd"; }

# B's prerun dies, etcd starts on B's data, B writes more and fails permanently: A has its earlier data.
starts_then_the_base() {
	a_green "$1"
	into_b
	b_writes
	judge red
	shutdown
	MASKED=yes machine_on
	booted B
	assert_exit 0 faulty prerun-started=kill prerun
	assert_match "stderr" "$ERR" "*not changed*"
	start_etcd
	put more "of B"
	stop_etcd
	make_default A
	power_on
	a_is_back
}

# The data was copied to another directory, and the old one stayed. The owner is that of the data that etcd will open,
# not of the default directory.
starts_elsewhere() {
	a_green "$1"
	update B
	shutdown
	cp -a "$DATA" "$ROOT/var/lib/elsewhere"
	DATA=$ROOT/var/lib/elsewhere
	config etcd data-dir=/var/lib/elsewhere
	power_on
	booted B
	b_writes
	judge green
	make_default A
	shutdown
	MASKED=yes machine_on
	booted A
	assert_exit 5 faulty prerun-started=kill prerun
	assert_match "stderr" "$ERR" "*held back*another deployment*"
	assert_exit 0 hook prerun
}

# Three starts of an upgrade crash with an unfinished restore of an attempt: the fourth does not begin an operation.
starts_three_unchanged() {
	local digest n

	a_green "$1"
	into_b
	b_writes
	judge red
	shutdown
	digest=$(tree_digest "$DATA")
	MASKED=yes machine_on
	booted B
	for n in 1 2; do
		assert_exit 5 faulty restore-cloned=kill prerun
		assert_match "stderr" "$ERR" "*held back*open*systemctl*"
		assert_eq "the data after $n" "$(tree_digest "$DATA")" "$digest"
	done
	assert_exit 0 hook prerun
	assert_match "stderr" "$ERR" "*two starts in a row*"
	assert_eq "the data" "$(tree_digest "$DATA")" "$digest"
	assert_eq "left over" "$(find "$ROOT/var/lib" -name '.restore-*' -o -name intent)" ""
	start_etcd
	assert_eq "B continues" "$(get owner)" B
	judge red
	stop_etcd
	make_default A
	power_on
	a_is_back
}

# An upgrade whose backup crashes is held back each time. The third message says what to do, and A comes back.
starts_three_changed() {
	local digest

	a_green "$1"
	put last "word of A"
	A_STATE=$(etcd_state)
	update B
	config backup at-shutdown=never
	shutdown
	digest=$(tree_digest "$DATA")
	MASKED=yes machine_on
	booted B
	for _ in 1 2; do
		assert_exit 5 faulty backup-cloned=kill prerun
		assert_match "stderr" "$ERR" "*held back*another deployment*systemctl*"
		assert_match "motd" "$(motd)" "*held back*another deployment*"
	done
	assert_exit 5 hook prerun
	assert_match "stderr" "$ERR" "*two starts in a row*without a backup*systemctl start*"
	assert_eq "the data" "$(tree_digest "$DATA")" "$digest"
	assert_exit 0 hook prerun
	start_etcd
	holds "B's data" "$A_STATE"
	b_writes
	fails_back
}

# One file cannot be read, and one has a word too many.
starts_configuration() {
	local file what

	a_green "$1"
	A_STATE=$(etcd_state)
	shutdown
	file=$ROOT/etc/greenboot-etcd/greenboot-etcd.conf.d/99-bad.conf
	for what in directory zeros typo loop; do
		rm -rf "$file"
		case $what in
		directory) mkdir "$file" ;;
		zeros) head -c 5000 /dev/zero >"$file" ;;
		typo) printf '[backup]\nkeep-good=lots\n' >"$file" ;;
		loop) ln -s 99-bad.conf "$file" ;;
		esac
		power_on
		a_is_back
		assert_match "what it says" "$(<"$PRERUN_LOG")" "*99-bad.conf*"
		shutdown
	done
	power_on
	into_b_with "$file"
}

# An update with the same file: A's recorded configuration does not count for B, so the files are read without the
# faulty keys.
into_b_with() {
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	reboot
	booted B
	started
	holds "B's data" "$A_STATE"
	b_writes
	fails_back
}

# The disk takes no more writes, like after the failure of its controller. Reads work, every write waits for ever, and
# a waiting process cannot be killed. The supervisor ends within minutes, with the right answer.
starts_dead_disk() {
	local began=$SECONDS rc=0

	a_green "$1"
	A_STATE=$(etcd_state)
	shutdown
	MASKED=yes machine_on
	booted A
	fsfreeze -f "$ROOT"
	hook prerun >"$GBE_MEM/prerun.out" 2>&1 || rc=$?
	fsfreeze -u "$ROOT"
	cat "$GBE_MEM/prerun.out" >&2
	assert_eq "prerun" "$rc" 0
	assert_match "what it says" "$(<"$GBE_MEM/prerun.out")" "*no progress for 60 s*not changed*"
	((SECONDS - began < 110)) || fail "it took $((SECONDS - began)) s"
	assert_exit 0 hook prerun
	start_etcd
	holds "A's data" "$A_STATE"
}

unreadable() {
	mv "$(state backups)" "$(state away)"
	: >"$(state backups)"
	assert_exit "$2" hook prerun
	assert_match "stderr" "$ERR" "$1"
	rm "$(state backups)"
	mv "$(state away)" "$(state backups)"
}

# The ledger and the store cannot be read, so no backup can be made. The same system continues. Another one gets the
# data only after a repair.
starts_cannot_tell() {
	local digest

	a_green "$1"
	put last "word of A"
	A_STATE=$(etcd_state)
	shutdown
	MASKED=yes machine_on
	unreadable "*cannot determine*Not a directory*not changed*" 0
	start_etcd
	holds "A's data" "$A_STATE"
	update B
	config backup at-shutdown=never
	shutdown
	digest=$(tree_digest "$DATA")
	MASKED=yes machine_on
	booted B
	unreadable "*held back*cannot determine*Not a directory*another deployment*systemctl*" 5
	assert_eq "the data" "$(tree_digest "$DATA")" "$digest"
	assert_exit 0 hook prerun
	start_etcd
	holds "B's data" "$A_STATE"
	b_writes
	fails_back
}

suite_begin "$@"
FS=${FS:-xfs} play starts then_the_base elsewhere three_unchanged configuration
FS=${FS:-ext4} play starts cannot_tell
FS=${FS:-ext4} play starts three_changed
# 80 s of waiting
[[ ${LEVEL:-ci} == ci ]] || FS=${FS:-ext4} play starts dead_disk
suite_end
