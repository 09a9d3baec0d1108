#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The operations of an administrator on the data and the store, with a real etcd, and the refusals of each. Played are
# backup, restore, undo, mark, pin, delete and prune.

# shellcheck disable=SC2317 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

DRY="Dry run: nothing is changed. Without --dry-run:"

# Makes a device after a green run of A, with etcd running.
running() {
	a_green "$1"
	put round 1
}

grade_of() { json ".[] | select(.name == \"$1\").grade" list; }

# A backup, a restore, undo, undo again: each gives exactly the earlier data.
there_and_back() {
	local one two displaced

	running "$1"
	stop_etcd
	[[ ${fragment_when_stopped:-} != yes ]] || fragment_data
	assert_exit 0 gbe --json backup first -d "before the experiment"
	assert_eq "name" "$(jq -r .name <<<"$OUT")" first
	case $1 in
	xfs | btrfs | btrfs-subvol) assert_eq "method" "$(jq -r .method <<<"$OUT")" "${2:-reflink}" ;;
	*) assert_eq "method" "$(jq -r .method <<<"$OUT")" copy ;;
	esac
	start_etcd
	one=$(etcd_state)
	put round 2
	put_many more 20
	two=$(etcd_state)
	stop_etcd
	assert_exit 0 gbe --json restore first
	displaced=$(jq -r .displaced <<<"$OUT")
	assert_json ".[] | select(.name == \"$displaced\").set_aside" true list
	start_etcd
	holds "restored" "$one"
	stop_etcd
	assert_exit 0 gbe undo
	start_etcd
	holds "undone" "$two"
	stop_etcd
	assert_exit 0 gbe undo
	start_etcd
	holds "undone again" "$one"
	# The next boot continues with the restored data.
	stop_etcd
	shutdown
	up A
	started
	holds "after a reboot" "$one"
}

# The data has more extents than cloning is worth: the program takes snapshots.
there_and_back_fragmented() {
	fragment_when_stopped=yes
	there_and_back btrfs-subvol snapshot
}

# etcd has the data open.
while_running() {
	running xfs
	assert_exit 4 gbe backup busy
	assert_match "stderr" "$ERR" "*etcd has /var/lib/etcd open*--stop*--live*"
	assert_exit 4 gbe backup busy --stop
	assert_match "stderr" "$ERR" "*below --root*"
	assert_json length 0 list
	etcd_running
}

restore_while_running() {
	running xfs
	stop_etcd
	gbe backup first
	start_etcd
	put round 2
	assert_exit 4 gbe restore first
	assert_match "stderr" "$ERR" "*etcd has /var/lib/etcd open*--stop*--next-boot*"
	assert_exit 4 gbe restore first --stop
	assert_exit 0 gbe restore first -n --stop
	assert_match "stdout" "$OUT" "$DRY"$'\n'"restores first; this loses *kept as *"
	# A wrong name is reported before the running etcd. A dry run prints the plan.
	assert_exit 1 gbe restore nope
	assert_match "stderr" "$ERR" "*no backup nope*"
	assert_exit 0 gbe restore first -n
	assert_match "stdout" "$OUT" "$DRY"$'\n'"restores first; this loses *kept as *"
	etcd_running
	stop_etcd
	assert_exit 0 gbe restore first
	assert_match "the loss" "$OUT" "restored first; this lost what etcd has written *since backup first*"
	assert_match "the way back" "$OUT" "*greenboot-etcd undo --stop*"
	start_etcd
	assert_exit 4 gbe undo
	assert_match "stderr" "$ERR" "*etcd has /var/lib/etcd open*--stop*--next-boot*"
	assert_exit 0 gbe undo -n
	assert_match "stdout" "$OUT" "$DRY"$'\n'"restores *; this loses *"
	assert_exit 0 gbe undo --next-boot
	assert_exit 0 gbe --json undo --cancel
	assert_eq "cancelled" "$(jq .cancelled <<<"$OUT")" true
	assert_exit 2 gbe undo --stop --next-boot
}

# undo at the next boot.
undo_next_boot() {
	local one

	running xfs
	stop_etcd
	gbe backup first
	start_etcd
	put round 2
	one=$(etcd_state)
	stop_etcd
	assert_exit 0 gbe restore first
	start_etcd
	assert_exit 0 gbe undo --next-boot
	reboot
	holds "undone" "$one"
}

# Data of a failed update comes back only with --force, and no text advises it.
undo_after_failure() {
	local advice written

	a_green xfs
	into_b
	b_writes
	written=$(etcd_state)
	fails_back
	advice="$(motd) $(gbe status) $(<"$PRERUN_LOG")"
	[[ $advice != *"etcd undo"* ]] || fail "undo is advised: $advice"
	assert_exit 5 gbe undo -n
	assert_match "stderr" "$ERR" "*graded bad*failed update*--force"
	assert_exit 5 gbe undo --next-boot
	stop_etcd
	assert_exit 5 gbe undo
	assert_exit 0 gbe undo --force
	start_etcd
	holds "B's data" "$written"
	# A person asked for it.
	stop_etcd
	assert_exit 0 gbe undo
}

# undo fails after its backup was deleted.
undo_after_delete() {
	local displaced

	running xfs
	stop_etcd
	gbe backup first
	start_etcd
	put round 2
	stop_etcd
	assert_exit 0 gbe --json restore first
	displaced=$(jq -r .displaced <<<"$OUT")
	assert_exit 0 gbe delete --force "$displaced"
	assert_exit 1 gbe undo
	assert_match "stderr" "$ERR" "*nothing to undo*$displaced*was deleted*"
}

# The last good backup stays, although an unproven one is left.
last_good() {
	local name

	running xfs
	stop_etcd
	gbe backup one
	gbe mark good one
	start_etcd
	reboot
	put round 2
	stop_etcd
	gbe backup two
	for name in $(gbe list --names); do
		[[ $name == one || $name == two ]] || gbe delete --force "$name"
	done
	assert_eq "grades" "$(grade_of one) $(grade_of two)" "good unproven"
	assert_exit 5 gbe delete one
	assert_match "stderr" "$ERR" "*one is the last good one: *not protected*--force*"
	assert_exit 0 gbe delete one --force
	assert_match "stderr" "$ERR" "*last good*not protected*"
}

# labelled NAME (LABEL KEY)...: expects that `show` prints each value under its own label.
labelled() {
	local name=$1 text
	shift
	text=$(gbe show "$name")
	while (($#)); do
		assert_eq "$1" "$(sed -n "s/^ *$1: *//p" <<<"$text")" "$(json ".$2 // \"\"" show "$name")"
		shift 2
	done
}

# A live backup is consistent during any write of etcd. The backup has all writes that were acknowledged before it,
# and etcd starts on it and accepts writes.
live() {
	local before writer

	running "$1"
	put_many key 200
	before=$(revision)
	(for ((n = 0; ; n++)); do put "later/$n" "$n"; done) &
	writer=$!
	sleep 0.1
	assert_exit 0 gbe --json backup live --live
	assert_eq "grade" "$(jq -r .grade <<<"$OUT")" good
	assert_json .verified sanity show live
	labelled live Name name System deployment_version Deployment deployment Number sequence Grade grade Because grade_reason \
		Health health Origin origin Verified verified Method method Data data_dir etcd etcd_version \
		Storage storage_version Version data_version "Cluster id" cluster_id "Member id" member_id Revision revision \
		Rows total_keys Index consistent_index HashKV hash_kv Files files_count Path path
	assert_exit 0 gbe backup again --live
	kill "$writer"
	wait "$writer" || true
	(($(revision) > before)) || fail "no write happened during the backup"
	stop_etcd
	for name in live again; do
		assert_exit 0 gbe restore "$name"
		start_etcd
		(($(revision) >= before)) || fail "revision $(revision) < $before"
		assert_eq "keys in $name" "$(ctl get --prefix key/ --keys-only | grep -c .)" 200
		put after live
		stop_etcd
	done
}

live_without_clones() {
	running ext4
	assert_exit 5 gbe backup live --live
	assert_match "stderr" "$ERR" "*--live needs a file system that clones*--stop*"
	assert_json "[.[] | select(.name == \"live\")] | length" 0 list
}

# Names are made automatically, also for a second backup of the same run.
unnamed() {
	local first

	running xfs
	stop_etcd
	assert_exit 0 gbe --json backup
	first=$(jq -r .name <<<"$OUT")
	assert_match "name" "$first" "${DEPLOYMENT[A]}_*"
	assert_exit 0 gbe --json backup
	assert_match "second" "$(jq -r .name <<<"$OUT")" "${DEPLOYMENT[A]}_*~*"
	assert_ne "second" "$(jq -r .name <<<"$OUT")" "$first"
	assert_exit 0 gbe backup named
	assert_exit 1 gbe backup named
	assert_match "stderr" "$ERR" "*named is there already*"
	mkdir "$ROOT/var/lib/greenboot-etcd/backups/foreign"
	assert_exit 1 gbe backup foreign
	assert_match "stderr" "$ERR" "*foreign is there already*"
	assert_exit 1 gbe restore foreign
	assert_exists "$ROOT/var/lib/greenboot-etcd/backups/foreign"
}

# The identity of a backup is the digest of its manifest, which has the digest of each file.
summed() {
	local path file

	running "$1"
	stop_etcd
	assert_exit 0 gbe --json backup quick
	path=$(jq -r .path <<<"$OUT")
	assert_eq "path" "$path" /var/lib/greenboot-etcd/backups/quick
	assert_eq "SHA-256" "$(jq -r .sha256 <<<"$OUT")" "$(sha256sum <"$ROOT$path/manifest.json" | cut -c1-64)"
	# A clone takes a moment: no file was read for it.
	assert_eq "digests" "$(jq '[.files[] | select(.sha256)] | length' "$ROOT$path/manifest.json")" 0
	assert_exit 0 gbe backup read --digest
	path=/var/lib/greenboot-etcd/backups/read
	assert_match "text" "$OUT" \
		"*$path, SHA-256 of its manifest.json: $(sha256sum <"$ROOT$path/manifest.json" | cut -c1-64)"
	jq -r '.files[] | "\(.sha256)  \(.path)"' "$ROOT$path/manifest.json" >"$GBE_MEM/sums"
	(cd "$ROOT$path/data" && sha256sum --quiet -c "$GBE_MEM/sums") || fail "the digests are of something else"
	assert_eq "files" "$(wc -l <"$GBE_MEM/sums")" \
		"$(cd "$ROOT$path/data" && find . -type f ! -name .greenboot-etcd-owner | wc -l)"
	# A change of any single byte is noticed.
	file=$ROOT$path/data/member/snap/db
	flip "$file" -9
	assert_exit 6 gbe verify --full read
	assert_exit 0 gbe verify --full quick
	assert_exit 0 gbe --json backup -n never --digest
	assert_eq "dry run" "$(jq -r '[.path, .sha256] | join(" ")' <<<"$OUT")" \
		"/var/lib/greenboot-etcd/backups/never "
}

# two_rounds KIND: a backup "first" of the data in the state $one, and data in the state $two.
two_rounds() {
	running "$1"
	one=$(etcd_state)
	stop_etcd
	gbe backup first
	start_etcd
	put round 2
	two=$(etcd_state)
	stop_etcd
}

# The displaced data moves to a directory that the caller names, and does not become a backup.
keeping() {
	local one two count

	two_rounds "$1"
	count=$(json length list)
	mkdir -p "$ROOT/var/there" "$ROOT/mnt/other"
	# If the operation cannot succeed, nothing is changed.
	assert_exit 1 gbe restore first --keep-existing=/var/there
	assert_match "stderr" "$ERR" "*/var/there is there already*"
	assert_exit 1 gbe restore first --keep-existing=/var/nowhere/old
	assert_exit 5 gbe restore first --keep-existing=/var/lib/etcd/old
	assert_match "stderr" "$ERR" "*lies in /var/lib/etcd itself*"
	assert_exit 5 gbe restore first --keep-existing=/var/lib/greenboot-etcd/backups/old
	ln -s etcd "$ROOT/var/lib/link"
	assert_exit 5 gbe restore first --keep-existing=/var/lib/link/member/old
	mount -t tmpfs tmpfs "$ROOT/mnt/other"
	assert_exit 5 gbe restore first --keep-existing=/mnt/other/old
	assert_match "stderr" "$ERR" "*by one rename*"
	umount "$ROOT/mnt/other"
	assert_exit 2 gbe restore first --keep-existing=relative
	assert_exit 2 gbe restore first --keep-existing=/var/old --skip-backup
	assert_exit 2 gbe restore first --keep-existing=/var/old --next-boot
	assert_exit 0 gbe --json restore -n first --keep-existing=/var/old
	assert_eq "dry run" "$(jq -r .kept_existing <<<"$OUT")" /var/old
	assert_missing "$ROOT/var/old"
	assert_exit 0 gbe --json restore first --keep-existing=/var/old
	assert_eq "result" "$(jq -c '[.displaced, .kept_existing, .displaced_removed]' <<<"$OUT")" \
		'[null,"/var/old",false]'
	assert_eq "backups" "$(json length list)" "$count"
	assert_exit 1 gbe undo
	assert_match "stderr" "$ERR" "*nothing to undo*"
	start_etcd
	holds "restored" "$one"
	stop_etcd
	# etcd has the earlier content in that directory.
	assert_exit 0 gbe verify --full /var/old
	start_etcd --data-dir="$ROOT/var/old"
	holds "what was there" "$two"
	stop_etcd
	# If there is no data, nothing is kept.
	rm -rf "$DATA"
	assert_exit 0 gbe --json restore first --keep-existing=/var/older
	assert_eq "kept" "$(jq -r .kept_existing <<<"$OUT")" null
	assert_missing "$ROOT/var/older"
}

# The program dies on the way. The next start comes to the same result, or to a backup.
keeping_killed() {
	local one two point

	two_rounds "$1"
	shutdown
	for point in restore-cloned restore-intended restore-staged restore-exchanged \
		recover-existing-kept restore-tidied; do
		MASKED=yes boot A
		assert_exit 137 env GREENBOOT_ETCD_FAULT="$point=kill" "$BUILD_FAULTS/greenboot-etcd" \
			--root="$ROOT" restore first --keep-existing="/var/$point"
		up A
		started
		case $point in
		restore-cloned | restore-intended | restore-staged)
			holds "$point" "$two"
			assert_missing "$ROOT/var/$point"
			stop_etcd
			;;
		*)
			holds "$point" "$one"
			stop_etcd
			start_etcd --data-dir="$ROOT/var/$point"
			holds "kept at $point" "$two"
			stop_etcd
			rm -rf "$DATA"
			mv "$ROOT/var/$point" "$DATA"
			;;
		esac
		shutdown
	done
	# When the next start resumes, that path exists: the data becomes a backup.
	MASKED=yes boot A
	assert_exit 137 env GREENBOOT_ETCD_FAULT=restore-exchanged=kill "$BUILD_FAULTS/greenboot-etcd" \
		--root="$ROOT" restore first --keep-existing=/var/taken
	echo mine >"$ROOT/var/taken"
	up A
	started
	holds "restored" "$one"
	assert_eq "another user's file" "$(cat "$ROOT/var/taken")" mine
	stop_etcd
	assert_exit 0 gbe restore "$(json '[.[] | select(.set_aside)][0].name' list)"
	start_etcd
	holds "the backup" "$two"
}

# The displaced data is removed, but only after a green and healthy run on the restored data.
skipping() {
	local one two displaced

	two_rounds "$1"
	assert_exit 0 gbe --json restore first --skip-backup
	displaced=$(jq -r .displaced <<<"$OUT")
	assert_eq "removed" "$(jq -c '[.displaced_removed, .displaced_stays]' <<<"$OUT")" '[false,null]'
	assert_exit 0 gbe prune
	assert_json "[.[] | select(.name == \"$displaced\")] | length" 1 list
	# A start alone, or a red run, does not remove it.
	shutdown
	up A
	started
	holds "restored" "$one"
	judge red
	stop_etcd
	assert_exit 0 gbe prune
	assert_json "[.[] | select(.name == \"$displaced\")] | length" 1 list
	assert_exit 0 gbe undo
	start_etcd
	holds "undone" "$two"
	stop_etcd
	assert_exit 0 gbe --json restore first --skip-backup
	displaced=$(jq -r .displaced <<<"$OUT")
	shutdown
	up A
	started
	judge green
	holds "restored again" "$one"
	assert_json "[.[] | select(.name == \"$displaced\")] | length" 0 list
	assert_json '[.[] | select(.name == "first")] | length' 1 list
	# A pinned backup stays.
	stop_etcd
	assert_exit 0 gbe --json restore first --skip-backup
	displaced=$(jq -r .displaced <<<"$OUT")
	assert_exit 0 gbe pin "$displaced"
	shutdown
	up A
	started
	judge green
	assert_json "[.[] | select(.name == \"$displaced\")] | length" 1 list
}

# Backups that cannot be deleted, and others that can.
deleting() {
	local last

	running xfs
	stop_etcd
	gbe backup one
	gbe backup two
	assert_exit 0 gbe pin one two
	assert_exit 0 gbe pin one
	assert_json '[.[] | select(.pinned)] | length' 2 list
	assert_exit 5 gbe delete one
	assert_match "stderr" "$ERR" "*one is pinned*unpin one*--force*"
	assert_exit 0 gbe unpin one
	assert_exit 1 gbe pin one nobody
	assert_json '[.[] | select(.pinned)] | length' 1 list
	assert_exit 0 gbe delete -n one
	assert_json '[.[] | select(.name == "one")] | length' 1 list
	assert_exit 0 gbe delete one
	assert_exit 1 gbe delete one
	gbe unpin two
	# Only two backups are left, and two is the last valid one.
	for last in $(gbe list --names); do
		[[ $last == two ]] || gbe delete --force "$last"
	done
	assert_exit 5 gbe delete two
	assert_match "stderr" "$ERR" "*two is the last valid one*--force*"
	# Two backups that together are the last ones cannot be deleted.
	gbe backup three
	assert_exit 5 gbe rm two three
	assert_json length 2 ls
	assert_exit 0 gbe rm --force two three
	assert_json length 0 ls
}

# The first of two names succeeds, and the second fails: status 3, and the message lists the first.
half_done() {
	local two

	running xfs
	stop_etcd
	gbe backup one
	gbe backup two
	gbe backup three
	two=$(dirname "$(data_of two)")
	chattr +i "$two"
	assert_exit 1 gbe pin two one
	assert_match "nothing is done" "$ERR" "*manifest of two*"
	assert_json '[.[] | select(.pinned)] | length' 0 list
	assert_exit 3 gbe pin one two
	assert_match "stderr" "$ERR" "*backup one is pinned, but: *two*not permitted*"
	assert_json '[.[] | select(.pinned) | .name] | join(" ")' one list
	assert_exit 1 gbe delete two one --force
	assert_json '[.[] | select(.name == "one" or .name == "two")] | length' 2 list
	assert_exit 3 gbe delete one two --force
	assert_match "stderr" "$ERR" "*backup one is deleted, but: *two*not permitted*"
	assert_json '[.[] | select(.name == "one" or .name == "two") | .name] | join(" ")' two list
	chattr -i "$two"
	# The backup has been renamed, and its files cannot be removed: the next operation removes them.
	assert_exit 3 env GREENBOOT_ETCD_FAULT=store-remove-renamed=EIO "$BUILD_FAULTS/greenboot-etcd" \
		--root="$ROOT" delete two
	assert_match "stderr" "$ERR" "*backup two is deleted, but its files are not all removed: *"
	assert_json '[.[] | select(.name == "two")] | length' 0 list
	assert_exists "$(dirname "$two")/.partial-two"
	assert_exit 0 gbe pin three
	[[ ! -e $(dirname "$two")/.partial-two ]] || fail "what is left of backup two is not swept"
}

# A verdict by hand counts like greenboot's, and so does a grade.
marking() {
	local name

	device xfs
	power_on
	put_many base 5
	assert_exit 0 gbe mark good --reason "looks fine"
	assert_json .verdict green status
	assert_json .health healthy status
	assert_json .trial false status
	assert_exit 0 gbe mark bad
	assert_json .verdict red status
	assert_exit 0 gbe mark good
	shutdown
	assert_json '.[0].grade' good list
	name=$(json '.[0].name' list)
	assert_exit 0 gbe mark bad "$name" --reason "it is not"
	assert_json '.grade_reason' "it is not" show "$name"
	assert_exit 5 gbe restore "$name"
	assert_match "stderr" "$ERR" "*graded bad (it is not)*--force*"
	assert_exit 0 gbe restore --force "$name"
	assert_exit 0 gbe mark good "$name"
	assert_eq "grade" "$(grade_of "$name")" good
	assert_exit 1 gbe mark good nobody
	# In another run the data has another owner.
	MASKED=yes boot A
	assert_exit 5 gbe mark good
	assert_match "stderr" "$ERR" "*another run*"
}

# A backup that is not what its manifest says.
damaged() {
	local before store

	running xfs
	stop_etcd
	gbe backup whole
	gbe backup torn
	store=$ROOT/var/lib/greenboot-etcd/backups
	before=$(tree_digest "$DATA")
	truncate -s 4096 "$store/torn/data/member/snap/db"
	assert_exit 6 gbe restore -n torn
	assert_eq "grade" "$(grade_of torn)" good
	assert_exit 6 gbe restore torn
	assert_match "stderr" "$ERR" "*torn*"
	assert_eq "grade" "$(grade_of torn)" bad
	assert_exit 5 gbe restore torn
	assert_exit 6 gbe mark good torn
	assert_eq "the data" "$(tree_digest "$DATA")" "$before"
	echo "{" >"$store/torn/manifest.json"
	assert_exit 6 gbe restore torn
	assert_exit 1 gbe show torn
	assert_json '.[-1] | "\(.name) \(.grade) \(length)"' "torn unreadable 5" list
	assert_exit 0 gbe --json list
	fits list
	assert_exit 0 gbe list --grade=unreadable
	assert_match "list" "$OUT" "*torn*unreadable*"
	assert_match "status" "$(gbe status)" "*torn*delete --force torn*"
	assert_exit 6 gbe delete torn
	assert_exit 0 gbe delete --force torn
	assert_missing "$store/torn"
	assert_exit 0 gbe restore whole
}

# A request for the next boot.
next_boot() {
	local one two

	running xfs
	one=$(etcd_state)
	stop_etcd
	gbe backup first
	start_etcd
	put round 2
	two=$(etcd_state)
	assert_exit 1 gbe restore --next-boot nobody
	assert_exit 0 gbe restore --next-boot first
	assert_json .next.action restore status
	assert_json .next.backup first status
	assert_json '.rule' 2 explain
	assert_exit 0 gbe --json restore --cancel
	assert_eq "cancelled" "$(jq .cancelled <<<"$OUT")" true
	assert_exit 0 gbe --json restore --cancel
	assert_eq "cancelled" "$(jq .cancelled <<<"$OUT")" false
	assert_exit 0 gbe restore --next-boot first
	shutdown
	up A
	started
	holds "as requested" "$one"
	assert_exit 0 gbe restore --cancel
	shutdown
	assert_exit 0 gbe undo
	up A
	holds "undone" "$two"
	# A later restore by hand replaces the request.
	assert_exit 0 gbe restore --next-boot first
	stop_etcd
	gbe backup second
	assert_exit 0 gbe restore second
	assert_match "stderr" "$ERR" "*next boot*cancelled*"
	start_etcd
	[[ $(json .next.action status) != restore ]] || fail "a restore still waits"
	shutdown
	up A
	holds "the later wish" "$two"
	assert_exit 0 gbe restore --next-boot first
	stop_etcd
	assert_exit 0 gbe undo
	shutdown
	up A
	holds "what undo brought" "$two"
}

# Another operation holds the lock: the message names it.
locked() {
	local pid

	running xfs
	stop_etcd
	flock "$ROOT/var/lib/greenboot-etcd/lock" sleep 60 &
	pid=$!
	sleep 0.2
	assert_exit 4 gbe backup late
	kill "$pid"
	assert_match "stderr" "$ERR" "*another operation*lock*"
	assert_exit 0 gbe status
}

pruning() {
	local n

	running xfs
	stop_etcd
	for n in 1 2 3 4; do
		gbe backup
	done
	gbe backup kept
	n=$(json length list)
	assert_exit 0 gbe --json prune -n
	assert_json length "$n" list
	n=$((n - $(jq '.deleted | length' <<<"$OUT")))
	assert_exit 0 gbe prune
	assert_json length "$n" list
	assert_exit 0 gbe prune
	assert_match "stdout" "$OUT" "nothing to remove*"
	assert_json '[.[] | select(.name == "kept")] | length' 1 list
}

# Without ostree, all operations by hand work.
plain_system() {
	local one

	root_new ext4
	etcd_ports
	config_write
	mkdir -p "$ROOT/var/lib"
	cat /proc/sys/kernel/random/uuid >"$ROOT/proc/sys/kernel/random/boot_id"
	start_etcd
	put_many key 10
	one=$(etcd_state)
	stop_etcd
	assert_exit 0 gbe backup first
	assert_exit 0 gbe backup
	start_etcd
	del --prefix key
	stop_etcd
	assert_exit 0 gbe restore first
	start_etcd
	holds "restored" "$one"
	stop_etcd
	assert_exit 0 gbe undo
	assert_exit 7 gbe prune
	assert_match "stderr" "$ERR" "*not an ostree system*"
}

# On a full disk, nothing is lost and the message says how much is missing.
full() {
	local before

	running ext4
	stop_etcd
	before=$(tree_digest "$DATA")
	disk_fill
	assert_exit 1 gbe backup big
	assert_match "stderr" "$ERR" "*room*"
	disk_free
	assert_eq "the data" "$(tree_digest "$DATA")" "$before"
	assert_json '[.[] | select(.name == "big")] | length' 0 list
	assert_exit 0 gbe backup big
}

# With a read-only parent of the state, or as another user.
unprivileged() {
	running xfs
	assert_exit 0 gbe_as_user --json status
	assert_eq "booted" "$(jq -r .booted <<<"$OUT")" "${DEPLOYMENT[A]}"
	assert_eq "etcd" "$(jq -r .etcd.healthy <<<"$OUT")" true
	assert_exit 0 gbe_as_user --json list
	assert_eq "list" "$(jq -c 'map(.name)' <<<"$OUT")" "$(json 'map(.name) | tostring' list)"
	for verb in explain log "show x" backup "restore x" undo "mark good" diagnose prune "pin x" "delete x"; do
		# shellcheck disable=SC2086
		assert_exit 1 gbe_as_user $verb
		assert_match "$verb" "$ERR" "greenboot-etcd: *root*"
		assert_eq "lines of $verb" "$(wc -l <"$GBE_MEM/err")" 1
		assert_eq "stdout of $verb" "$OUT" ""
	done
	rm "$ROOT/run/greenboot-etcd/status.json"
	assert_exit 1 gbe_as_user status
	assert_match "stderr" "$ERR" "*status.json*root*"
}

suite_begin "$@"
for kind in $(kinds "xfs btrfs-subvol ext4" "xfs-noreflink btrfs"); do
	run_case "hand-there-and-back@$kind" there_and_back "$kind"
done
run_case "hand-there-and-back-fragmented@btrfs-subvol" there_and_back_fragmented
run_case hand-while-running while_running
run_case hand-restore-while-running restore_while_running
run_case hand-undo-next-boot undo_next_boot
run_case hand-undo-after-failure undo_after_failure
run_case hand-undo-after-delete undo_after_delete
run_case hand-last-good last_good
for kind in $(kinds "xfs btrfs-subvol"); do
	run_case "hand-live@$kind" live "$kind"
done
run_case hand-live-without-clones live_without_clones
for kind in $(kinds "xfs ext4"); do
	run_case "hand-digest@$kind" summed "$kind"
done
for kind in $(kinds "xfs btrfs-subvol"); do
	run_case "hand-keep-existing@$kind" keeping "$kind"
	run_case "hand-keep-existing-killed@$kind" keeping_killed "$kind"
done
run_case hand-skip-backup skipping xfs
run_case hand-names unnamed
run_case hand-delete deleting
run_case hand-half half_done
run_case hand-mark marking
run_case hand-damaged damaged
run_case hand-next-boot next_boot
run_case hand-locked locked
run_case hand-prune pruning
run_case hand-plain-system plain_system
run_case hand-full-disk full
run_case hand-unprivileged unprivileged
suite_end
