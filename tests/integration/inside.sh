#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The effect of etcd's own files on decisions, retention and restores: damage between two boots, damaged backups,
# unknown formats.

# shellcheck disable=SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

newest_log() { find "$1/member/wal" -name '*.wal' | sort | tail -n 1; }
# Damages the record that the member reads at its start, well before the end of the log. etcd does not start on it.
spoil_log() {
	local log
	log=$(newest_log "$1")
	flip "$log" "$(grep -obUa -m 1 attributes "$log" | sed 's/:.*//;q')"
}
# Damages both meta pages.
spoil_db() {
	local at
	for at in 32 4128; do
		printf '\377\377\377' | dd of="$1/member/snap/db" bs=1 seek="$at" conv=notrunc 2>/dev/null
	done
}
# lose_log DIR: ends the log before the database's last write. etcd starts on it and reports good health, but no write
# ever ends.
lose_log() {
	local log
	log=$(newest_log "$1")
	truncate -s 120 "$log"
	truncate -s 64000000 "$log"
}

# ready KIND: A was green twice, with a backup of each run. Its third run has written, and lost power.
ready() {
	a_green "$1"
	config backup at-boot=always keep-good=3
	put_many more 300
	reboot
	judge green
	put before damage
	reboot
	judge green
	started
	assert_eq "good backups" "$(backups '.grade == "good"')" 2
	put later work
	powercut
}

# The newest backup replaces the data. The displaced data has the reason and is no longer a candidate.
boot_restores() { # KIND HOW
	ready "$1"
	"$2" "$DATA"
	power_on
	started
	assert_match "what prerun says" "$(<"$PRERUN_LOG")" "*rule 5a*"
	etcd_running
	assert_eq "key" "$(get before)" damage
	assert_eq "what was written later" "$(get later)" ""
	put after repair
	assert_eq "good backups" "$(backups '.grade == "good"')" 2
	assert_eq "bad backups" "$(backups '.grade == "bad"')" 1
	assert_match "its reason" \
		"$(json .grade_reason show "$(backup_name '.grade == "bad"')")" "member/*"
	judge green
	reboot
	started
	assert_eq "key" "$(get after)" repair
}

boot_refuses() { # KIND HOW
	ready "$1"
	config restore on-corrupt-data=refuse
	"$2" "$DATA"
	power_on
	held
	assert_match "what prerun says" "$(<"$PRERUN_LOG")" "*rule 5a*"
	assert_eq "backups" "$(backups true)" 2
	# The command from the message ends the hold.
	assert_exit 0 gbe restore --last-good
	power_on
	started
	assert_eq "key" "$(get before)" damage
}

# M5: the damaged data is backed up, as no better copy of it exists, and never counts as good.
boot_keeps() { # KIND HOW
	local good

	ready "$1"
	config restore on-corrupt-data=keep
	config backup keep-good=1
	good=$(backup_name '.grade == "good"')
	"$2" "$DATA"
	machine_on
	started
	assert_match "what prerun says" "$(<"$PRERUN_LOG")" "*rule 5a*"
	assert_some "bad backups" "$(backups '.grade == "bad"')"
	assert_eq "the good one" "$(backups ".name == \"$good\" and .grade == \"good\"")" 1
	kill_etcd
	assert_exit 6 gbe verify "$(backup_name '.grade == "bad"')"
	assert_exit 0 gbe verify "$good"
	assert_exit 0 gbe restore "$good"
	power_on
	started
	assert_eq "key" "$(get before)" damage
}

# The newest candidate is damaged: the backup before it is restored, and a message says so.
next_candidate() { # KIND
	local newest older

	ready "$1"
	config backup keep-bad=5
	newest=$(json '[.[] | select(.grade == "good")][0].name' list)
	older=$(json '[.[] | select(.grade == "good")][1].name' list)
	spoil_log "$(data_of "$newest")"
	spoil_log "$DATA"
	power_on
	started
	assert_match "what prerun says" "$(<"$PRERUN_LOG")" "*$newest*does not validate*"
	assert_json '.last_operation.backup' "$older" status
	assert_eq "grade of the rotted one" "$(backups ".name == \"$newest\" and .grade == \"bad\"")" 1
	etcd_running
	assert_eq "what the older one lacks" "$(get before)" ""
	put after repair
}

# No candidate is sound: the data stays.
no_candidate() { # KIND
	local name

	ready "$1"
	for name in $(json '.[].name' list); do
		spoil_db "$(data_of "$name")"
	done
	spoil_log "$DATA"
	sha256sum "$DATA/member/snap/db" >"$GBE_MEM/sum"
	machine_on
	started
	assert_eq "good backups" "$(backups '.grade == "good"')" 0
	sha256sum --quiet -c "$GBE_MEM/sum" || fail "the data was replaced"
}

# A later format is unknown, and changes no decision.
unknown_format() { # KIND
	ready "$1"
	python3 - "$DATA/member/snap/db" <<'PYTHON'
import struct, sys
with open(sys.argv[1], "r+b") as db:
    for page in (0, 1):
        db.seek(page * 4096 + 16)
        meta = bytearray(db.read(64))
        meta[4:8] = struct.pack("<I", 3)
        h = 0xcbf29ce484222325
        for byte in meta[:56]:
            h = ((h ^ byte) * 0x100000001b3) % (1 << 64)
        meta[56:64] = struct.pack("<Q", h)
        db.seek(page * 4096 + 16)
        db.write(meta)
PYTHON
	assert_exit 7 gbe verify --data
	sha256sum "$DATA/member/snap/db" >"$GBE_MEM/sum"
	machine_on
	started
	assert_match "what prerun says" "$(<"$PRERUN_LOG")" "*rule 6*"
	sha256sum --quiet -c "$GBE_MEM/sum" || fail "the data was replaced"
	assert_eq "bad backups" "$(backups '.grade == "bad"')" 0
}

# The manifest's facts about the files match etcd's.
recorded() { # KIND
	local kv cluster

	a_green "$1"
	put_many more 50
	config backup verify=full
	kv=$(ctl endpoint hashkv -w json | jq '.[0].HashKV.hash')
	stop_etcd
	assert_exit 0 gbe --json backup mine
	(($(jq .look_usec <<<"$OUT") > 0)) || fail "etcd's files were not read"
	assert_json .verified full show mine
	assert_json .hash_kv "$kv" show mine
	assert_json .voters 1 show mine
	assert_json .storage_version "3.4.0" show mine
	assert_exit 0 gbe --json verify --data --full
	assert_eq revision "$(json .revision show mine)" \
		"$(jq '.verified[0].db.revision' <<<"$OUT")"
	assert_eq keys "$(json .total_keys show mine)" "$(jq '.verified[0].db.total_keys' <<<"$OUT")"
	assert_eq index "$(json .consistent_index show mine)" \
		"$(jq '.verified[0].db.consistent_index' <<<"$OUT")"
	cluster=$(jq -r '.verified[0].cluster_id' <<<"$OUT")
	assert_json .cluster_id "$cluster" show mine
	assert_json .member_id "$(jq -r '.verified[0].member_id' <<<"$OUT")" show mine
	unconfig backup verify
	assert_exit 0 gbe backup plain
	assert_json .verified sanity show plain
	assert_json .hash_kv null show plain
	assert_json .revision "$(json .revision show mine)" show plain
	assert_json .cluster_id "$cluster" show plain
}

# One bit of a value is flipped: etcd does not notice. HashKV notices it if the hash was recorded and verify-budget
# allows to read every row.
hash_tells() {
	local at

	a_green xfs
	put secret "a value that nobody else has"
	# The newest row is also compared with the log.
	put last "of all"
	config backup verify=full
	stop_etcd
	assert_exit 0 gbe backup mine
	grep -obUa "a value that nobody" "$(data_of mine)/member/snap/db" | while IFS=: read -r at _; do
		printf b | dd of="$(data_of mine)/member/snap/db" bs=1 seek="$at" conv=notrunc 2>/dev/null
	done
	unconfig backup verify
	config restore verify-budget=1s
	TRACER=(strace -f -qq -o /dev/null -P "$(data_of mine)/member/snap/db" -e trace=pread64
		-e inject=pread64:delay_enter=1500000)
	assert_exit 0 gbe restore mine -n
	TRACER=()
	assert_match "stderr" "$ERR" "*mine is not read in full within the 1 s of*verify-budget*"
	config restore verify-budget=0s
	assert_exit 0 gbe restore mine -n
	assert_eq "stderr" "$(grep -c budget <<<"$ERR" || true)" 0
	unconfig restore verify-budget
	assert_exit 6 gbe restore mine -n
	assert_json .grade good show mine
	assert_exit 6 gbe restore mine
	assert_match "stderr" "$ERR" "*HashKV*"
	assert_json .grade bad show mine
	assert_exit 5 gbe restore mine
}

# Only a full reading notices the damage of the last good backup: it is graded bad, and the next backup is restored.
next_last_good() { # KIND
	local newest older

	ready "$1"
	machine_on
	stop_etcd
	newest=$(json '[.[] | select(.grade == "good")][0].name' list)
	older=$(json '[.[] | select(.grade == "good")][1].name' list)
	lose_row "$(data_of "$newest")/member/snap/db"
	assert_exit 0 gbe verify "$newest"
	assert_exit 0 gbe --json restore --last-good -n
	assert_eq "what it would take" "$(jq -r .name <<<"$OUT")" "$older"
	assert_json .grade good show "$newest"
	assert_exit 0 gbe --json restore --last-good
	assert_eq "what it took" "$(jq -r .name <<<"$OUT")" "$older"
	assert_match "stderr" "$ERR" "*$newest does not validate*"
	assert_json .grade bad show "$newest"
	assert_eq "the ledger" \
		"$(ledger "[.[] | select(.kind == \"graded\" and .backup == \"$newest\")][-1].grade")" bad
}

suite_begin "$@"
for kind in $(kinds "xfs ext4"); do
	for how in log db; do
		run_case "inside-restore-$how@$kind" boot_restores "$kind" "spoil_$how"
		run_case "inside-refuse-$how@$kind" boot_refuses "$kind" "spoil_$how"
		run_case "inside-keep-$how@$kind" boot_keeps "$kind" "spoil_$how"
	done
	run_case "inside-next-candidate@$kind" next_candidate "$kind"
done
run_case inside-restore-lost-log@btrfs-subvol boot_restores btrfs-subvol lose_log
run_case inside-no-candidate no_candidate xfs
run_case inside-unknown-format unknown_format xfs
run_case inside-recorded@ext4 recorded ext4
run_case inside-recorded@xfs recorded xfs
run_case inside-hash-tells hash_tells
run_case inside-next-last-good next_last_good xfs
suite_end
