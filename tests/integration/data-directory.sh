#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Data directories in unusual places and of unusual kinds: mounted read-only, replaced by another disk or another
# machine's data, or with the WAL elsewhere. Also symlinks, nested subvolumes and mounts, flags and attributes.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

extra_kind() { [[ $1 != btrfs-subvol ]] && echo "$1" || echo btrfs; }
store() { echo "$ROOT/var/lib/greenboot-etcd/backups"; }

# held_and_back WHY: expects that B does not get the data, with the reason WHY, and that greenboot brings A back to
# unchanged data.
held_and_back() {
	booted B
	held
	assert_match "what it says" "$(<"$PRERUN_LOG")" "*$1*"
	assert_match "motd" "$(<"$ROOT/run/motd.d/greenboot-etcd")" "*$1*"
	while [[ $BOOTED == B ]]; do
		judge red
		shutdown
		machine_on
	done
	assert_eq "prerun" "$PRERUN" 0
	start_etcd "${ETCD_OPTIONS[@]}"
	holds "A's data" "$A_STATE"
}

# ---- the WAL ----

# --wal-dir is on another path: a copy of the data directory alone would be half of a backup, so no backup is made.
place_wal_outside() {
	a_green "$1"
	stop_etcd
	mkdir -p "$ROOT/var/lib/etcd-wal"
	mv "$DATA/member/wal" "$ROOT/var/lib/etcd-wal/wal"
	config etcd wal-dir=/var/lib/etcd-wal/wal
	ETCD_OPTIONS=(--wal-dir="$ROOT/var/lib/etcd-wal/wal")
	power_on
	started
	assert_eq "key" "$(get owner)" A
	put last "word of A"
	A_STATE=$(etcd_state)
	stop_etcd
	assert_exit 5 gbe backup half
	assert_match "stderr" "$ERR" "*/var/lib/etcd-wal/wal*outside of /var/lib/etcd*data-dir*"
	assert_exit 5 gbe preflight
	assert_match "preflight" "$OUT" "*data*/var/lib/etcd-wal/wal*"
	update B
	shutdown
	machine_on
	held_and_back "*etcd-wal*"
	assert_eq "half a backup" "$(find "$(store)" -name data -newer "$ROOT/var/lib/etcd-wal")" ""
	# The log's mount is missing.
	stop_etcd
	mv "$ROOT/var/lib/etcd-wal" "$ROOT/var/lib/away"
	assert_exit 5 gbe backup half
	assert_match "stderr" "$ERR" "*/var/lib/etcd-wal/wal*not there*mount*"
}

# A symlink that leads out of the directory has the same effect.
place_wal_symlink() {
	a_green "$1"
	A_STATE=$(etcd_state)
	stop_etcd
	mkdir -p "$ROOT/var/lib/etcd-wal"
	mv "$DATA/member/wal" "$ROOT/var/lib/etcd-wal/wal"
	ln -s "$ROOT/var/lib/etcd-wal/wal" "$DATA/member/wal"
	assert_exit 5 gbe backup half
	assert_match "stderr" "$ERR" "*member/wal*symlink*data-dir*"
	assert_exit 5 gbe preflight
	assert_match "preflight" "$OUT" "*bad*data*member/wal*symlink*data-dir*"
	power_on
	started
	assert_match "what it says" "$(<"$PRERUN_LOG")" "*member/wal*symlink*data-dir*"
	holds "nothing was done to it" "$A_STATE"
	assert_eq "backups" "$(backups '.grade != "good"')" 0
	assert_match "status" "$(gbe status)" "Not protected: *member/wal*symlink*"
	# No process has the data open, and the message blames no process.
	update B
	shutdown
	machine_on
	! grep "data open" "$PRERUN_LOG" || fail "a process is said to have the data open"
	held_and_back "*member/wal*symlink*"
}

# A file system that is mounted at the log's directory holds the log, so no message asks to unmount it.
place_wal_mount() {
	a_green "$1"
	A_STATE=$(etcd_state)
	stop_etcd
	mv "$DATA/member/wal" "$ROOT/var/lib/log"
	mkdir -m 0700 "$DATA/member/wal"
	mount --bind "$ROOT/var/lib/log" "$DATA/member/wal"
	start_etcd
	assert_exit 5 gbe preflight
	assert_match "preflight" "$OUT" "*bad*data*the WAL is on a mount point*move the WAL*"
	! grep unmount <<<"$OUT" || fail "the log is to be unmounted"
	assert_match "status" "$(gbe status)" "Not protected: *the WAL is on a mount point*"
	stop_etcd
	assert_exit 5 gbe backup half
	assert_match "stderr" "$ERR" "*the WAL is on a mount point*"
	start_etcd
	holds "the data" "$A_STATE"
	stop_etcd
	umount "$DATA/member/wal"
}

# Data and log lie below one data-dir: all of it is backed up and restored.
place_wal_inside() {
	device "$1"
	DATA=$ROOT/var/lib/etcd/data
	mkdir -p "$ROOT/var/lib/etcd/wal"
	chmod 0700 "$ROOT/var/lib/etcd"
	config etcd member-dir=data wal-dir=/var/lib/etcd/wal/w
	ETCD_OPTIONS=(--wal-dir="$ROOT/var/lib/etcd/wal/w")
	power_on
	put_many base 10
	judge green
	into_b
	assert_some "WAL in the backup" "$(find "$(store)" -path '*/data/wal/w/*.wal' | wc -l)"
	b_writes
	fails_back
}

# in_usr TREE: copies etcd and its tools into TREE, so that no test reaches the real ones.
in_usr() {
	local program

	mkdir -p "$1/usr/bin"
	for program in "$ETCD" "$ETCDCTL"; do
		cp --remove-destination "$(command -v "$program")" "$1/usr/bin/${program##*/}"
	done
}

# Every verb takes the log from [etcd] wal-dir. A verb of the help that this case does not know fails it. The suites
# of cluster, certs and run play those three.
place_wal_verbs() {
	local verb played=" cluster certs run help version "

	# ok VERB...: expects success, and counts the verb as played.
	ok() {
		assert_exit 0 gbe "$@"
		played+="$1 "
	}
	device "$1"
	config etcd wal-dir=/var/lib/etcd/wal
	config store directory=/var/offsite
	mkdir -m 0700 "$ROOT/var/offsite"
	ETCD_OPTIONS=(--wal-dir="$DATA/wal")
	in_usr "$ROOT"
	power_on
	put_many base 50
	judge green
	for verb in list explain log config health etcdctl\ --print-env endpoint\ status alarm\ list; do
		# shellcheck disable=SC2086 # a verb and its word
		ok $verb
	done
	! built cluster || ok member list
	ok snapshot save /var/saved.db
	put after snapshot
	A_STATE=$(etcd_state)
	ok backup live --live
	ok backup other --live
	! built store || ok store push
	ok diagnose /var/diagnosis.tar.gz
	stage B
	in_usr "$(deployment_dir B)"
	ok rehearse
	assert_match "rehearsed" "$OUT" "*passed*"
	ok status
	# The rehearsal's answer is in this file.
	ok preflight
	stop_etcd

	ok verify
	ok verify live --full
	ok show live
	ok export live /var/exported.db
	# Only the log has "after".
	assert_eq "keys that are exported" "$(json .total_keys snapshot status /var/exported.db)" \
		$(($(json .total_keys snapshot status /var/saved.db) + 1))
	ok import /var/saved.db from-a-file
	cp -a "$DATA" "$ROOT/var/copied"
	ok import /var/copied from-a-directory
	ok verify from-a-file from-a-directory --full
	rm -r "$ROOT/var/copied/wal"
	assert_exit 5 gbe import /var/copied torn
	assert_match "why not" "$ERR" "*/var/copied/wal has no log of etcd*wal-dir*"
	ok defrag live small
	ok verify small --full
	ok mark good live
	ok pin live
	ok unpin live
	ok delete other
	ok prune
	for verb in from-a-file from-a-directory small live; do
		ok restore "$verb" --force
		assert_some "log" "$(find "$DATA/wal" -name '*.wal' | wc -l)"
		start_etcd "${ETCD_OPTIONS[@]}"
		assert_ne "a key after restore $verb" "$(get base/49)" ""
		stop_etcd
	done
	start_etcd "${ETCD_OPTIONS[@]}"
	holds "A's data" "$A_STATE"
	stop_etcd
	ok undo
	for verb in $(gbe help | sed -nE 's/^  ([a-z]+)( .*)?$/\1/p'); do
		[[ $played == *" $verb "* ]] || fail "no wal-dir for the verb $verb"
	done
}

# ---- symlinks ----

# A symlink never counts as "no data", which would cause a restore or a fresh start.
place_member_symlink() {
	a_green "$1"
	config restore on-missing-data=restore
	A_STATE=$(etcd_state)
	stop_etcd
	mv "$DATA/member" "$ROOT/var/lib/member"
	ln -s "$ROOT/var/lib/member" "$DATA/member"
	reboot
	started
	assert_match "what it says" "$(<"$PRERUN_LOG")" "*member*symlink*"
	holds "nothing was done to it" "$A_STATE"
	stop_etcd
	assert_exit 7 gbe backup half
	assert_match "stderr" "$ERR" "*member*symlink*"
	# Without a backup, the update does not start.
	start_etcd
	update B
	reboot
	booted B
	held
	assert_match "what it says" "$(<"$PRERUN_LOG")" "*a file that etcd does not make, and another deployment had it last*member*symlink*"
	make_default A
	power_on
	booted A
	started
	holds "nothing was done to it" "$A_STATE"
}

place_data_symlink() {
	a_green "$1"
	A_STATE=$(etcd_state)
	stop_etcd
	gbe backup mine
	mv "$DATA" "$ROOT/var/lib/real"
	ln -s real "$DATA"
	power_on
	started
	assert_match "what it says" "$(<"$PRERUN_LOG")" "*/var/lib/etcd is a symlink*data-dir*"
	holds "nothing was done to it" "$A_STATE"
	assert_exit 5 gbe backup half
	assert_match "stderr" "$ERR" "*/var/lib/etcd is a symlink*data-dir*"
	# A person can put a backup in place of the link.
	stop_etcd
	assert_exit 5 gbe restore mine
	assert_match "stderr" "$ERR" "*is a symlink*--force*"
	assert_match "what lies there" "$(readlink "$DATA")" real
	assert_exit 0 gbe restore mine --force
	assert_match "what it says" "$OUT" "restored mine; this lost the link, and nothing of what it leads to"
	[[ ! -L $DATA && -d $DATA/member && -d $ROOT/var/lib/real/member ]] || fail "the link, or what it led to"
	start_etcd
	holds "the backup's data" "$A_STATE"
}

# Data reached through a link since the first start has no owner, and a backup could not restore it. prerun continues,
# and names the key to set. If the ledger has another deployment as the owner, its data may be where the link leads.
place_link_first() {
	device "$1"
	mkdir "$ROOT/var/lib/real"
	ln -s real "$DATA"
	assert_exit 0 gbe explain -v
	assert_match "explain" "$OUT" "*Rule 0: *var/lib/etcd is a symlink; set *data-dir*"
	assert_match "explain --json" "$(json .facts.data_why explain)" "*is a symlink; set *data-dir*"
	power_on
	started
	assert_match "what it says" "$(<"$PRERUN_LOG")" "*/var/lib/etcd is a symlink*data-dir*"
	put owner A
	A_STATE=$(etcd_state)
	assert_match "status" "$(gbe status)" "Not protected:*is a symlink; set *data-dir*"
	# The suggested setting helps.
	config etcd data-dir=/var/lib/real
	stop_etcd
	assert_exit 0 hook prerun
	start_etcd
	holds "A's data" "$A_STATE"
	reboot
	judge green
	holds "A's data" "$A_STATE"
	# The link again, and another deployment.
	update B
	reboot
	booted B
	put owner B
	make_default A
	shutdown
	config etcd data-dir=/var/lib/etcd
	MASKED=yes machine_on
	booted A
	config restore on-rollback=never
	assert_match "explain" "$(gbe explain -v)" "*hold *is a symlink*Rule 0: *another deployment had * last*"
	assert_exit 5 hook prerun
	assert_match "held" "$ERR" "*held back*another deployment had * last*"
	config restore on-rollback=restore
	assert_match "explain" "$(gbe explain -v)" "*Rule 10a:*"
	assert_exit 0 hook prerun
	start_etcd
	holds "A's data" "$A_STATE"
	[[ ! -L $DATA && -d $ROOT/var/lib/real/member ]] || fail "the link, or what it led to"
}

# A snapshot is restored into another directory, and etcd uses that directory, as handbooks teach. That data is not
# protected.
place_restored_elsewhere() {
	a_green "$1"
	assert_exit 0 gbe health
	assert_exit 0 gbe preflight
	etcdctl --endpoints="http://$ETCD_HOST:$ETCD_PORT" snapshot save "$ROOT/var/snapshot.db"
	stop_etcd
	# The same name and the same token: the same ids.
	etcdctl snapshot restore "$ROOT/var/snapshot.db" --data-dir="$ROOT/var/lib/restored" --name=default \
		--initial-cluster="default=http://$ETCD_HOST:$((ETCD_PORT + 1))" \
		--initial-advertise-peer-urls="http://$ETCD_HOST:$((ETCD_PORT + 1))"
	ETCD_OPTIONS=(--data-dir="$ROOT/var/lib/restored")
	start_etcd "${ETCD_OPTIONS[@]}"
	assert_exit 7 gbe health
	assert_match "health" "$OUT$ERR" "*does not have /var/lib/etcd open*data-dir=*"
	assert_match "status" "$(gbe status)" "Not protected:*does not have*open*"
	assert_exit 5 gbe preflight
	assert_match "preflight" "$OUT" "*bad *etcd *does not have /var/lib/etcd open*"
	judge green
	reboot
	judge green
	put later word
	assert_match "status" "$(gbe status)" "Not protected:*"
	assert_eq "good backups of the dead directory" "$(backups '.run == "'"$(json .run status)"'" and .grade == "good"')" 0
	# The setting is older than the update, so the update is not at fault.
	into_b
	judge green
	# The update's own configuration names that directory.
	ETCD_OPTIONS=()
	config etcd data-dir=/var/lib/restored
	stop_etcd
	assert_exit 0 hook prerun
	start_etcd --data-dir="$ROOT/var/lib/restored"
	assert_exit 0 gbe health
	judge green
	# An update that leads etcd away from its data is at fault.
	stop_etcd
	os_commit C
	update C
	shutdown
	machine_on
	booted C
	start_etcd --data-dir="$ROOT/var/lib/astray"
	assert_exit 6 gbe health
	assert_match "health" "$OUT$ERR" "*as it had before the update*data-dir=*"
}

# The update's configuration lost the key, or has a typo in it. A's data is not given up for an empty directory.
place_typo() {
	a_green "$1"
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	shutdown
	config etcd data-dir=/var/lib/etdc
	machine_on
	booted B
	held
	assert_match "what it says" "$(<"$PRERUN_LOG")" "*(/var/lib/etcd, and data-dir= is /var/lib/etdc)*data-dir=%s*"
	assert_match "explain" "$(gbe explain)" "*still lies where another data-dir= had it*"
	mkdir "$ROOT/var/lib/etdc"
	assert_exit 5 hook prerun
	# etcd gets the data that a person has put there.
	cp -a "$DATA/member" "$ROOT/var/lib/etdc/"
	assert_exit 0 hook prerun
	rm -rf "$ROOT/var/lib/etdc"
	config etcd data-dir=/var/lib/etcd
	assert_exit 0 hook prerun
	start_etcd
	holds "A's data" "$A_STATE"
}

# The update moves, copies or links the data, its configuration names the new place, and it fails. A's configuration
# names the old place, and A gets its data there.
place_moved_by_update() {
	local how old new

	a_green "$1"
	old=$DATA new=$ROOT/var/lib/etcd-new
	for how in moved copied linked; do
		update B
		put last "word of A, $how"
		A_STATE=$(etcd_state)
		shutdown
		rm -rf "$new"
		case $how in
		copied) cp -a "$old" "$new" ;;
		*) mv "$old" "$new" ;;
		esac
		[[ $how != linked ]] || ln -s etcd-new "$old"
		config etcd data-dir=/var/lib/etcd-new
		DATA=$new
		machine_on
		booted B
		started
		start_etcd
		holds "$how: B's data" "$A_STATE"
		b_writes
		judge red
		shutdown
		make_default A
		config etcd data-dir=/var/lib/etcd
		DATA=$old
		machine_on
		booted A
		started
		start_etcd
		holds "$how: A's data" "$A_STATE"
		judge green
	done
}

# etcd has another log setting, which this program lacks.
place_log_elsewhere() {
	a_green "$1"
	stop_etcd
	mv "$DATA/member/wal" "$ROOT/var/lib/wal"
	ETCD_OPTIONS=(--wal-dir="$ROOT/var/lib/wal")
	start_etcd "${ETCD_OPTIONS[@]}"
	assert_exit 0 gbe health
	assert_match "health" "$OUT$ERR" "*its log elsewhere*wal-dir=*"
	assert_match "status" "$(gbe status)" "Not protected:*log elsewhere*wal-dir=*"
	assert_exit 5 gbe preflight
	assert_match "preflight" "$OUT" "*bad *etcd *log elsewhere*wal-dir=*"
	put owner "A, with its log elsewhere"
	A_STATE=$(etcd_state)
	reboot
	booted A
	started
	holds "A's data is not rewound" "$A_STATE"
}

# ---- mounts ----

mounted() {
	device "$1"
	fs_at "$(extra_kind "$1")" "$DATA"
	chmod 0700 "$DATA"
	power_on
	put_many base 10
	judge green
	put last "word of A"
	A_STATE=$(etcd_state)
}

# No file can be written, not even a take-over: the same system continues, and another one does not get the data.
place_read_only() {
	local digest

	mounted "$1"
	shutdown
	digest=$(tree_digest "$DATA")
	mount -o remount,ro "$DATA"
	machine_on
	booted A
	assert_eq "prerun" "$PRERUN" 0
	assert_match "what it says" "$(<"$PRERUN_LOG")" "*/var/lib/etcd*ead-only*"
	update B
	shutdown
	machine_on
	booted B
	held
	assert_match "what it says" "$(<"$PRERUN_LOG")" "*ead-only*"
	assert_eq "the data" "$(tree_digest "$DATA")" "$digest"
	mount -o remount,rw "$DATA"
	start_prerun
	started
	start_etcd
	holds "B's data" "$A_STATE"
}

# The store's file system has a mount below it (a subvolume that fstab mounts): clones work there, renames do not. If
# the data directory is a mount point, its owner can rename the entries in it, also this program's directory. The
# program finds its directory by its identity, and moves the replacement away.
place_renamed_store() {
	local decoy hidden listed

	mounted "$1"
	hidden=$DATA/.greenboot-etcd
	for decoy in ${DECOYS-nothing fifo}; do
		A_STATE=$(etcd_state)
		if [[ $decoy == nothing ]]; then into_b; else update B && reboot && booted B; fi
		b_writes
		judge red
		listed=$(json '[.[].name] | sort | join(" ")' list)
		mv "$hidden" "$DATA/aside"
		case $decoy in
		directory) mkdir "$hidden" && chown 65534:65534 "$hidden" ;;
		link) ln -s aside "$hidden" ;;
		fifo) mkfifo "$hidden" ;;
		file) echo text >"$hidden" ;;
		esac
		assert_eq "what is listed" "$(json '[.[].name] | sort | join(" ")' list)" "$listed"
		assert_match "explain" "$(gbe explain -v --booted="${DEPLOYMENT[A]}")" "*Rule 10a:*"
		until [[ $BOOTED == A ]]; do
			shutdown
			machine_on
			[[ $PRERUN == 0 ]] || fail "prerun: $PRERUN"
			start_etcd
			[[ $BOOTED == A ]] || judge red
		done
		a_is_back
		[[ -d $hidden/backups && ! -L $hidden ]] || fail "$decoy: the store has no name"
		judge green
	done
	# Before the store is made, another entry has its name.
	stop_etcd
	rm -rf "$hidden" "$DATA"/aside
	rm -rf "$ROOT/var/lib/greenboot-etcd"
	mkfifo "$hidden"
	power_on
	started
	holds "A's data" "$A_STATE"
	[[ -d $hidden/backups ]] || fail "the FIFO did not make way"
	# A directory of the owner's is also not used, and its content stays.
	stop_etcd
	rm -rf "$hidden"
	mkdir "$hidden"
	echo text >"$hidden/file"
	chown -R 65534:65534 "$hidden"
	power_on
	started
	[[ -d $hidden/backups && -e $hidden.not-ours-1/file ]] || fail "the directory did not make way"
}

place_own_mount() {
	device "$1"
	mkdir -p "$DATA"
	chmod 0700 "$DATA"
	mount --bind "$DATA" "$DATA"
	power_on
	put_many base 10
	put owner A
	judge green
	into_b
	b_writes
	fails_back
	stop_etcd
	gbe restore --last-good --force
	gbe undo --force
	assert_eq "displaced trees" "$(find "$DATA/.greenboot-etcd/backups" -mindepth 2 -maxdepth 2 -name data | wc -l)" 3
	assert_eq "waiting" "$(find "$DATA/.greenboot-etcd" "$(store)" -name '.pending-*' -o -name '.restore-*')" ""
	start_etcd
	holds "A's data" "$A_STATE"
}

# The disk is empty: a fresh start, and the data on the other disk is kept.
place_other_disk() {
	mounted "$1"
	shutdown
	mkdir -p "$GBE_MEM/aside"
	mount --bind "$DATA" "$GBE_MEM/aside"
	umount "$DATA"
	fs_at "$(extra_kind "$1")" "$DATA"
	chmod 0700 "$DATA"
	power_on
	started
	assert_eq "keys" "$(key_count)" 0
	put on "the other disk"
	shutdown
	umount "$DATA"
	mount --move "$GBE_MEM/aside" "$DATA"
	power_on
	started
	holds "A's disk again" "$A_STATE"
}

# The data is another machine's, of the same images: etcd uses it, and no backup of this machine is restored over it.
place_other_machine() {
	local theirs

	a_green "$1"
	put of "the other machine"
	theirs=$(etcd_state)
	shutdown
	cp -a --sparse=always "$DATA" "$GBE_MEM/theirs"
	root_free
	a_green "$1"
	judge green
	shutdown
	find "$DATA" -mindepth 1 -delete
	cp -a --sparse=always "$GBE_MEM/theirs/." "$DATA/"
	rm -rf "$GBE_MEM/theirs"
	power_on
	started
	holds "their data" "$theirs"
	judge green
	assert_eq "good backups" "$(backups '.grade == "good" and .present == "booted"')" \
		"$(fs_clones "$1" && echo 1 || echo 0)"
	into_b
	b_writes
	fails_back
	assert_eq "key" "$(get of)" "the other machine"
}

# ---- entries that the data must not have ----

refused_by_name() {
	assert_exit 5 gbe backup with
	assert_match "stderr" "$ERR" "*member/extra*$1*"
	power_on
	started
	holds "a plain reboot" "$A_STATE"
	update B
	shutdown
	machine_on
	held_and_back "*member/extra*$1*"
}

place_nested_mount() {
	a_green "$1"
	A_STATE=$(etcd_state)
	shutdown
	mkdir "$DATA/member/extra"
	mount -t tmpfs tmpfs "$DATA/member/extra"
	echo precious >"$DATA/member/extra/file"
	refused_by_name "mount point"
	assert_eq "what is mounted there" "$(<"$DATA/member/extra/file")" precious
}

place_nested_subvolume() {
	a_green "$1"
	A_STATE=$(etcd_state)
	shutdown
	btrfs -q subvolume create "$DATA/member/extra"
	echo precious >"$DATA/member/extra/file"
	refused_by_name "subvolume"
	assert_eq "what is in it" "$(<"$DATA/member/extra/file")" precious
}

# ---- properties that are kept ----

# An update fails: the old system gets all of it back, to the last attribute.
place_attributes() {
	local digest file

	a_green "$1"
	file=$DATA/keep
	mkdir "$file" "$file/sub"
	head -c 300000 /dev/urandom >"$file/a"
	ln "$file/a" "$file/sub/hard"
	truncate -s 20M "$file/sparse"
	head -c 4096 /dev/urandom | dd of="$file/sparse" bs=4096 seek=1000 conv=notrunc 2>/dev/null
	setfattr -n user.note -v kept "$file/a"
	setfattr -n security.selinux -v system_u:object_r:etcd_var_lib_t:s0 "$file/a"
	setfattr -n security.selinux -v system_u:object_r:etcd_var_lib_t:s0 "$file"
	setfattr -n trusted.note -v kept "$file/sub"
	setfacl -m u:1234:rw,g:4321:r "$file/sparse"
	setfacl -d -m u:1234:rwx "$file/sub"
	chown -h 1234:4321 "$file/a" "$file/sub"
	chmod 2750 "$file/sub"
	ln -s "/nowhere \\ at all" "$file/link"
	mkdir "$file/empty"
	touch -d '2001-02-03 04:05:06.789' "$file/a" "$file/sub"
	if [[ $1 == btrfs* ]]; then
		mkdir "$file/nocow"
		chattr +C "$file/nocow"
		head -c 300000 /dev/urandom >"$file/nocow/file"
	fi
	digest=$(tree_digest "$file")
	into_b
	rm -rf "${file:?}"
	b_writes
	fails_back
	assert_eq "everything" "$(tree_digest "$file")" "$digest"
	assert_eq "one inode" "$(stat -c %h "$file/a")" 2
	assert_eq "holes" "$(($(stat -c %b "$file/sparse") < 100))" 1
	[[ $1 != btrfs* ]] || assert_match "flags" "$(lsattr "$file/nocow/file")" "*C*"
}

# of_project ID: expects that every directory and file of the data is charged to it. A backup outside of the data is
# not charged.
of_project() {
	assert_eq "projects" "$(find "$DATA" -name .greenboot-etcd -prune -o \( -type d -o -type f \) \
		-exec xfs_io -r -c lsproj {} \; | sort -u)" "projid = $1"
	assert_eq "projects of the backups" "$(find "$(store)" \
		-path '*/data/*' -type f -exec xfs_io -r -c lsproj {} \; 2>/dev/null | sed "s/projid = 0//" | sort -u)" ""
	assert_match "it is handed down" "$(lsattr -pd "$DATA/member")" "*$1*P*"
}

# The project of the data's directory, by which XFS limits its space, and the sizes of extents.
place_project() { # KIND [MOUNT]
	local file

	device "$1"
	mkdir -p "$DATA"
	chmod 0700 "$DATA"
	[[ ! ${2-} ]] || mount --bind "$DATA" "$DATA"
	file=$DATA/keep
	xfs_io -r -c 'chproj 77' -c 'chattr +P' "$DATA"
	power_on
	put_many base 10
	put owner A
	judge green
	mkdir "$file" "$file/sub"
	xfs_io -r -c 'extsize 64k' "$file/sub"
	: >"$file/own"
	xfs_io -c 'extsize 32k' "$file/own"
	echo content >"$file/own"
	gbe backup hand --live
	of_project 77
	into_b
	rm -rf "${file:?}"
	b_writes
	fails_back
	assert_match "of a directory" "$(xfs_io -r -c extsize "$file/sub")" "*65536*"
	assert_match "of a file" "$(xfs_io -r -c extsize "$file/own")" "*32768*"
	of_project 77
}
place_project_of_mount() { place_project "$1" mount; }

# Immutable files are copied, restored over, and pruned. (The flag itself is for the live tree alone.)
place_immutable() {
	local left

	a_green "$1"
	echo precious >"$DATA/fixed"
	chattr +i "$DATA/fixed"
	into_b
	b_writes
	chattr +i "$DATA/member"
	chattr -i "$DATA/member"
	fails_back
	assert_eq "file" "$(<"$DATA/fixed")" precious
	judge green
	gbe backup fixed-too --live || { stop_etcd && gbe backup fixed-too; }
	gbe delete fixed-too --force
	left=$(lsattr -R "$ROOT/var/lib" 2>/dev/null | grep -c -- '^----i.*fixed$' || true)
	assert_match "immutable files" "$left" "[01]"
	lsattr -R "$ROOT/var/lib" 2>/dev/null | sed -n 's/^----i[^ ]* //p' | xargs -r chattr -i
}

suite_begin "$@"
FS=${FS:-xfs} play place wal_verbs project project_of_mount wal_outside wal_symlink wal_mount member_symlink data_symlink link_first restored_elsewhere log_elsewhere typo moved_by_update
play place wal_inside other_disk immutable
# Without clones, finalize takes no backup there.
FS=${FS:-ext4} play place read_only
FS=${FS:-"xfs btrfs-subvol"} play place own_mount renamed_store other_machine nested_mount
FS=${FS:-"btrfs btrfs-subvol"} play place nested_subvolume
FS=${FS:-"xfs ext4 btrfs"} play place attributes
suite_end
