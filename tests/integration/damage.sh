#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# A power cut, a person or a newer program left records in a strange state. etcd starts, nothing is lost, and each
# readable fact is reported.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

STATE_DIR=var/lib/greenboot-etcd

# spoil HOW FILE: damages FILE.
spoil() {
	local json
	case $1 in
	empty) : >"$2" ;;
	half) truncate -s $(($(stat -c %s "$2") / 2)) "$2" ;;
	zeros) dd if=/dev/zero of="$2" bs="$(stat -c %s "$2")" count=1 conv=notrunc 2>/dev/null ;;
	garbage) head -c 5000 /dev/urandom >"$2" ;;
	deep) printf '[%.0s' {1..20000} >"$2" ;;
	twice) printf '{"format": 1, "format": 1}\n' >"$2" ;;
	huge) truncate -s 3M "$2" ;;
	gone) rm -f "$2" ;;
	newer)
		# A later program wrote the records: a higher format and unknown keys, with valid checksums. The
		# ledger has unknown kinds of records.
		if [[ $2 == */ledger ]]; then
			ledger_line '{"sequence":4000,"kind":"from-the-future","a":[1]}' >>"$2"
			return
		fi
		json=$(sed '/^sha256 /d' "$2" | jq '. + {format: 7, from_the_future: {a: [1]}}')
		if grep -q '^sha256 ' "$2"; then
			json+=$'\n'"sha256 $(printf '%s\n' "$json" | sha256sum | cut -d' ' -f1)"
		fi
		printf '%s\n' "$json" >"$2"
		;;
	esac
}
EVERY_WAY="empty half garbage gone newer"
[[ ${LEVEL:-ci} == ci ]] || EVERY_WAY="empty half zeros garbage deep twice huge gone newer"

# This sequence must work with each of them: A's next boot, then an update that fails.
a_still_works() {
	reboot
	a_is_back
	judge green
	into_b
	b_writes
	fails_back
	judge green
}

# The nonce of a mature A: the ledger knows the tree.
nonce_mature() {
	a_green "$1"
	A_STATE=$(etcd_state)
	shutdown
	spoil "$2" "$DATA/.greenboot-etcd-owner"
	power_on
	a_is_back
	judge green
	into_b
	b_writes
	fails_back
}

# The nonce of B on trial: the same.
nonce_trial() {
	a_green "$1"
	into_b
	b_writes
	judge red
	shutdown
	spoil "$2" "$DATA/.greenboot-etcd-owner"
	power_on
	booted B
	started
	holds "the ledger knows that B is on trial" "$A_STATE"
	b_writes
	judge red
	shutdown
	spoil "$2" "$DATA/.greenboot-etcd-owner"
	make_default A
	power_on
	a_is_back
}

# Every record of the state at once, A mature.
state_mature() {
	local file

	a_green "$1"
	reboot
	judge green
	A_STATE=$(etcd_state)
	shutdown
	while read -r file; do
		spoil "$2" "$file"
	done < <(find "$ROOT/$STATE_DIR" -path '*/backups' -prune -o -type f ! -name lock -print)
	power_on
	a_is_back
	judge green
	A_STATE=$(etcd_state)
	a_still_works
}

# Every record of the state at once, B on trial: what is unknown undoes nothing under B.
state_trial() {
	local file

	a_green "$1"
	into_b
	b_writes
	judge red
	B_STATE=$(etcd_state)
	shutdown
	while read -r file; do
		spoil "$2" "$file"
	done < <(find "$ROOT/$STATE_DIR" -path '*/backups' -prune -o -type f ! -name lock -print)
	power_on
	booted B
	started
	if [[ $2 == newer ]]; then
		holds "a newer program's records say the same" "$A_STATE"
	else
		holds "B's data stays, or is the backup: nothing else" "$(either "$B_STATE" "$A_STATE")"
	fi
	b_writes
	judge red
	stop_etcd
	hook finalize || true
	make_default A
	power_on
	a_is_back
}

# either A B: prints which of the two states the running etcd has; A if unknown.
either() {
	local now
	now=$(etcd_state)
	if [[ $now == "$2" ]]; then echo "$2"; else echo "$1"; fi
}

# Damages the manifest of the backup that a return of B's trial would restore.
manifest() {
	local entry before

	a_green "$1"
	into_b
	b_writes
	judge red
	B_STATE=$(etcd_state)
	entry=$(json '[.[] | select(.deployment == "'"${DEPLOYMENT[A]}"'")][0].name' list)
	assert_ne "P(B)" "$entry" null
	entry=$ROOT/$STATE_DIR/backups/$entry
	assert_exists "$entry/manifest.json"
	before=$(tree_digest "$entry/data")
	shutdown
	spoil "$2" "$entry/manifest.json"
	power_on
	booted B
	started
	if [[ $2 == newer ]]; then
		holds "a newer program's backup is one" "$A_STATE"
	else
		holds "there is nothing to restore: B keeps its data" "$B_STATE"
		assert_eq "what does not parse is not touched" "$(tree_digest "$entry/data")" "$before"
	fi
	gbe list >/dev/null
	gbe status >/dev/null
}

# failed_with_backup KIND: B is red and down. The backup $entry of A exists, and $file is its database.
failed_with_backup() {
	a_green "$1"
	into_b
	b_writes
	judge red
	B_STATE=$(etcd_state)
	entry=$(json '[.[] | select(.deployment == "'"${DEPLOYMENT[A]}"'")][0].name' list)
	file=$(find "$ROOT/$STATE_DIR/backups/$entry/data/member/snap" -name db)
	shutdown
}

# The data of a backup differs from its manifest.
backup_data() {
	local entry file

	failed_with_backup "$1"
	[[ $1 != btrfs-subvol ]] || # a snapshot cannot be changed by accident
		btrfs property set -ts "$ROOT/$STATE_DIR/backups/$entry/data" ro false
	truncate -s -4096 "$file"
	power_on
	booted B
	started
	holds "a backup that does not validate is not restored" "$B_STATE"
	assert_json "[.[] | select(.name == \"$entry\")][0].grade" bad list
}

# A file is not damaged if the disk returns an error now, or if memory is missing.
backup_unreadable() { # KIND ERROR TEXT STATUS GRADE
	local entry file

	failed_with_backup "$1"
	TRACER=(strace -f -qq -o /dev/null -P "$file" -e trace=pread64 -e "inject=pread64:error=$2")
	power_on
	booted B
	assert_exit "$4" gbe restore -n "$entry"
	TRACER=()
	started
	assert_match "what prerun says" "$(<"$PRERUN_LOG")" "*$entry*$3*"
	holds "a backup that cannot be read is not restored" "$B_STATE"
	assert_json "[.[] | select(.name == \"$entry\")][0].grade" "$5" list
}

damage() { # KIND: every way, in turn
	local what=$1 how
	shift
	for how in $EVERY_WAY; do
		[[ $what != manifest || $how != gone ]] || continue
		run_case "damage-$what-$how@$1" "$what" "$1" "$how"
	done
}

# store_of_b KIND [gone]: B's configuration puts the backups elsewhere, and A's own store has an old backup. A gets
# its data, and not the old backup if its data cannot be read.
store_of_b() {
	a_green "$1"
	stop_etcd
	gbe backup old
	start_etcd
	config backup directory=/var/elsewhere at-shutdown=never
	into_b
	b_writes
	judge red
	shutdown
	unconfig backup directory
	[[ ! ${2-} ]] || mv "$ROOT/var/elsewhere" "$ROOT/var/gone"
	make_default A
	power_on
	[[ ! ${2-} ]] || {
		assert_eq "B's data stays" "$(get owner)" B
		assert_match "status" "$(gbe status 2>&1)" "*cannot be read now*"
		return
	}
	a_is_back
	assert_json '[.[] | select(.name == "old")] | length' 1 list
}

# The same with A's last state, which finalize backs up into A's store. B's further attempts, and an update on top of
# it, start from this state. A's backups stay listed.
store_of_retry() {
	a_green "$1"
	stop_etcd
	gbe backup old
	start_etcd
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	shutdown
	config backup directory=/var/elsewhere
	machine_on
	booted B
	start_etcd
	holds "the first attempt" "$A_STATE"
	b_writes
	assert_json '[.[] | select(.name == "old")] | length' 1 list
	judge red
	reboot
	booted B
	b_again
	assert_json '[.[] | select(.name == "old")] | length' 1 list
	judge red
	os_commit C
	update C
	reboot
	booted C
	started
	holds "the update on top" "$A_STATE"
	assert_exit 0 gbe verify old
}

suite_begin "$@"
run_case damage-store_of_retry@xfs store_of_retry xfs
damage nonce_mature xfs
damage nonce_trial ext4
damage state_mature xfs
damage state_trial xfs
damage manifest xfs
for kind in $(kinds "xfs ext4" "$OTHER_FS"); do
	[[ $kind == xfs ]] || run_case "damage-nonce_mature-empty@$kind" nonce_mature "$kind" empty
	run_case "damage-backup-data@$kind" backup_data "$kind"
done
run_case damage-backup-unreadable-disk@xfs backup_unreadable xfs EIO "Input/output error" 7 good
run_case damage-backup-unreadable-memory@xfs backup_unreadable xfs ENOMEM "cannot read*Cannot allocate memory" 7 good
run_case damage-store_of_b store_of_b ext4
run_case damage-store_of_b-gone store_of_b ext4 gone
suite_end
