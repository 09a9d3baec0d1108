#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Every way back from every kind of hold, taken from the text that `status` shows. etcd is held back, the printed steps
# are run, and etcd is healthy.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# ---- the steps' commands, on the device ----

greenboot-etcd() { gbe "$@"; }

systemctl() {
	case "$*" in
	"start etcd.service")
		start_prerun
		[[ ${PRERUN:-0} == 0 ]] || return 0
		start_etcd "${ETCD_OPTIONS[@]}"
		# systemd would report a running service, which ends a hold. Below a root, systemd is not asked.
		[[ -z ${MASKED:-} ]] || sed -i 's,"held" *: *true,"held":false,' "$ROOT/run/greenboot-etcd/prerun-done"
		;;
	"start "*.mount) comes_back "$2" ;;
	"mask --runtime greenboot-etcd-prerun.service") MASKED=yes ;;
	daemon-reload) DATA=$ROOT$(gbe --json config | jq -r '.settings[] | select(.group == "etcd" and .key == "data-dir").value') ;;
	reboot) reboot ;;
	*) fail "systemctl $*" ;;
	esac
}

rpm-ostree() {
	assert_eq "rpm-ostree" "$*" rollback
	make_default "$OTHER"
}

# goes_away UNIT DIRECTORY: removes the mount until `systemctl start UNIT`.
declare -A AWAY
goes_away() {
	AWAY[$1]=$2
	mkdir -p "$GBE_MEM/$1"
	mount --bind "$2" "$GBE_MEM/$1"
	umount "$2"
}
comes_back() { mount --move "$GBE_MEM/$1" "${AWAY[$1]}"; }

# in_etc: makes this case's /etc/greenboot-etcd the device's.
in_etc() {
	mkdir -p /etc/greenboot-etcd
	mount --bind "$ROOT/etc/greenboot-etcd" /etc/greenboot-etcd
}
no_etc() {
	umount /etc/greenboot-etcd
	rmdir --ignore-fail-on-non-empty /etc/greenboot-etcd
}

# ---- the shown text ----

shown_steps() { gbe status | sed -n 's/^  [0-9]\. //p'; }

# The first step of each way, where a kind has more than one.
declare -A FIRST=(
	[open 1]="kill *" [open 2]="systemctl start etcd.service"
	[failed-update 1]="greenboot-etcd restore *" [failed-update 2]="systemctl mask *"
	[unusable 1]="greenboot-etcd restore *" [unusable 2]="systemctl reboot" [unusable 3]="rpm-ostree rollback"
	[room 1]="greenboot-etcd delete *" [room 2]="systemctl mask *"
	[backup 1]="systemctl start *.mount" [backup 2]="systemctl mask *"
	[restore 1]="greenboot-etcd restore *" [restore 2]="systemctl start etcd.service"
)

# is_held KIND [WAY]: expects a hold that each place shows once, with the same way back, which is the WAYth of its kind.
is_held() {
	local step status

	assert_eq "prerun" "$PRERUN" 5
	assert_eq "kind" "$(jq -r .hold "$ROOT/run/greenboot-etcd/prerun-done")" "$1"
	status=$(gbe status)
	echo "$status" >&2
	assert_match "first line" "${status%%$'\n'*}" "Needs you: etcd is held back: *"
	assert_eq "told" "$(grep -c "is held back" <<<"$status")" 1
	assert_json .protection.state needs-you status
	mapfile -t STEPS < <(shown_steps)
	assert_ne "steps" "${#STEPS[@]}" 0
	assert_match "first step" "${STEPS[0]}" "${FIRST[$1 ${2:-1}]-*}"
	assert_eq "in JSON" "$(gbe --json status | jq -r '.protection.steps[]')" "$(printf '%s\n' "${STEPS[@]}")"
	for step in "${STEPS[@]}"; do
		grep -qF "\`$step\`" "$PRERUN_LOG" || fail "the journal lacks: $step"
	done
	assert_match "motd" "$(tr '\n' ' ' <"$ROOT/run/motd.d/greenboot-etcd")" "*etcd is held back*Run \`*"
	((${#STEPS[@]} > 1)) || grep -qF "$step" "$ROOT/run/motd.d/greenboot-etcd" || fail "the MOTD lacks: $step"
}

# way_back KIND [WAY]: runs the shown steps until the hold ends. One round of steps may lead to another hold with steps of
# its own.
way_back() {
	local round step

	is_held "$@"
	for round in 1 2 3 4; do
		for step in "${STEPS[@]}"; do
			echo "step: $step" >&2
			eval "$step" || fail "the step failed: $step"
		done
		[[ ${PRERUN:-0} == 5 ]] || break
		mapfile -t STEPS < <(shown_steps)
	done
	assert_ne "prerun" "$PRERUN" 5
	assert_exit 0 gbe health
	! grep -q "etcd is held back" <<<"$(gbe status | head -n 1)" || fail "status: still held back"
}

# no_backups: removes every backup of the device.
no_backups() {
	local name

	for name in $(gbe list --names); do
		gbe delete --force "$name" >/dev/null
	done
}

# bad_backups: marks every backup as bad.
bad_backups() {
	local name

	for name in $(gbe list --names); do
		gbe mark bad "$name" >/dev/null
	done
}

# b_boots: boots B and runs its prerun.
b_boots() {
	machine_on
	booted B
}

# ---- the kinds ----

hold_mount() {
	device "$1"
	mkdir -p "$DATA"
	mount -t tmpfs -o mode=0700 tmpfs "$DATA"
	power_on
	put owner A
	judge green
	A_STATE=$(etcd_state)
	shutdown
	goes_away var-lib-etcd.mount "$DATA"
	machine_on
	way_back mount
	holds "A's data" "$A_STATE"
}

hold_open() {
	a_green "$1"
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	shutdown
	start_etcd
	b_boots
	way_back open
	holds "B's data" "$A_STATE"
}

# The holder has the log open without a process id, as a program in another container has.
hold_open_unnamed() {
	local holder

	a_green "$1"
	update B
	A_STATE=$(etcd_state)
	shutdown
	python3 - "$(find "$DATA/member/wal" -name '*.wal' | sort | tail -n 1)" "$GBE_MEM/locked" <<-'EOF' &
		import fcntl, struct, sys, time
		file = open(sys.argv[1], "r+b")
		F_OFD_SETLK = 37
		fcntl.fcntl(file, F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0))
		open(sys.argv[2], "w").close()
		time.sleep(3600)
	EOF
	holder=$!
	while [[ ! -e $GBE_MEM/locked ]]; do
		kill -0 "$holder"
		sleep 0.05
	done
	b_boots
	is_held open 2
	kill "$holder"
	wait "$holder" || true
	way_back open 2
	holds "B's data" "$A_STATE"
}

# snap_format NUMBER: gives the inode of member/snap that format, on the disk of the data. 1 is sound.
snap_format() {
	umount "$DATA"
	xfs_db -x -c "inode $SNAP" -c "write -d core.format $1" "$DISK"
	mount -o loop "$DISK" "$DATA"
}

# The disk cannot read one directory, until a repair.
hold_unread() {
	device "$1"
	DISK=$GBE_MEM/disk
	fs_format xfs "$DISK"
	mkdir -p "$DATA"
	mount -o loop "$DISK" "$DATA"
	chmod 0700 "$DATA"
	power_on
	put owner A
	judge green
	update B
	A_STATE=$(etcd_state)
	shutdown
	SNAP=$(stat -c %i "$DATA/member/snap")
	snap_format 7
	b_boots
	is_held unread
	assert_eq "the error is told" "$(gbe status | grep -c "Structure needs cleaning")" 1
	snap_format 1
	way_back unread
	holds "B's data" "$A_STATE"
}

hold_deformed() {
	a_green "$1"
	stop_etcd
	gbe backup mine
	start_etcd
	A_STATE=$(etcd_state)
	update B
	shutdown
	(cd "$DATA" && rm member/snap/db && mkfifo member/snap/db)
	b_boots
	way_back deformed
	holds "B's data" "$A_STATE"
}

# hold_linked KIND TARGET
hold_linked() {
	a_green "$1"
	update B
	A_STATE=$(etcd_state)
	shutdown
	mv "$DATA" "$ROOT/var/lib/real"
	ln -s "$2" "$DATA"
	in_etc
	b_boots
	way_back linked
	no_etc
	holds "B's data" "$A_STATE"
}

hold_elsewhere() {
	a_green "$1"
	update B
	A_STATE=$(etcd_state)
	shutdown
	config etcd data-dir=/var/lib/etdc
	in_etc
	b_boots
	way_back elsewhere
	no_etc
	holds "B's data" "$A_STATE"
}

# hold_log GRADE: with a good backup, and with an unproven one, which --last-good does not choose.
hold_log() {
	a_green "$1"
	[[ $2 == good ]] || gbe mark bad >/dev/null
	update B
	stop_etcd
	gbe backup mine
	start_etcd
	A_STATE=$(etcd_state)
	# Otherwise the backup from the shutdown would be restored.
	config backup at-shutdown=never
	shutdown
	rm -r "$DATA/member/wal"
	b_boots
	way_back log
	holds "B's data" "$A_STATE"
}

# etcd cannot start on corrupt data. If all backups are bad, no step is shown, and the guide has the way.
hold_corrupt_guide() {
	local status

	a_green "$1"
	stop_etcd
	gbe backup mine
	gbe mark bad mine
	start_etcd
	A_STATE=$(etcd_state)
	config backup at-shutdown=never
	shutdown
	config restore on-corrupt-data=refuse
	for at in 32 4128; do
		printf '\377\377\377' | dd of="$DATA/member/snap/db" bs=1 seek="$at" conv=notrunc 2>/dev/null
	done
	machine_on
	booted A
	assert_eq "prerun" "$PRERUN" 5
	status=$(gbe status)
	assert_match "first line" "${status%%$'\n'*}" "Needs you: read ETCD IS HELD BACK in greenboot-etcd-guide(7): etcd is held back: *"
	assert_match "journal" "$(<"$PRERUN_LOG")" "*read ETCD IS HELD BACK in greenboot-etcd-guide(7)*"
	assert_eq "steps" "$(shown_steps)" ""
	gbe restore mine --stop --force
	systemctl start etcd.service
	assert_exit 0 gbe health
	holds "A's data" "$A_STATE"
}

hold_corrupt() {
	a_green "$1"
	[[ $2 == good ]] || gbe mark bad >/dev/null
	stop_etcd
	gbe backup mine
	[[ $2 == good ]] || ! gbe list | grep -q good || fail "there is a good backup"
	start_etcd
	A_STATE=$(etcd_state)
	shutdown
	config restore on-corrupt-data=refuse
	for at in 32 4128; do
		printf '\377\377\377' | dd of="$DATA/member/snap/db" bs=1 seek="$at" conv=notrunc 2>/dev/null
	done
	machine_on
	booted A
	way_back corrupt
	holds "A's data" "$A_STATE"
}

hold_failed_update() {
	a_green "$1"
	config restore on-upgrade-from-failed=refuse
	into_b
	b_writes
	judge red
	os_commit C
	update C
	shutdown
	machine_on
	booted C
	way_back failed-update
	holds "the data from before the updates" "$A_STATE"
}

hold_failed_update_unprotected() {
	local state

	a_green "$1"
	config restore on-upgrade-from-failed=refuse
	into_b
	b_writes
	state=$(etcd_state)
	judge red
	os_commit C
	update C
	shutdown
	bad_backups
	machine_on
	booted C
	way_back failed-update 2
	holds "what the failed update wrote" "$state"
}

# A has an older etcd, and on-rollback=never keeps it from taking the backup automatically.
hold_unusable_restore() {
	etcd_next_of B
	a_green "$1"
	config restore on-rollback=never
	into_b
	b_writes
	judge green
	make_default A
	reboot
	booted A
	way_back unusable 1
	holds "what A had" "$A_STATE"
}

# A person chose A in the boot menu, so the next boot is the newer system again.
hold_unusable_reboot() {
	etcd_next_of B
	a_green "$1"
	into_b
	b_writes
	judge green
	B_STATE=$(etcd_state)
	no_backups
	shutdown
	no_backups
	grub_choose
	boot A
	greenboot_check_fallback
	booted A
	way_back unusable 2
	booted B
	holds "B's data" "$B_STATE"
}

hold_unusable() {
	etcd_next_of B
	a_green "$1"
	into_b
	b_writes
	judge green
	B_STATE=$(etcd_state)
	no_backups
	mkdir -p "$ROOT/usr/bin"
	: >"$ROOT/usr/bin/rpm-ostree"
	OTHER=B
	make_default A
	reboot
	booted A
	way_back unusable 3
	booted B
	holds "B's data" "$B_STATE"
}

# The update was green and has a newer etcd; the store refuses writes when its user goes back to A.
hold_restore() {
	etcd_next_of B
	a_green "$1"
	into_b
	b_writes
	judge green
	make_default A
	shutdown
	chattr +i "$ROOT/var/lib/greenboot-etcd/backups"
	machine_on
	booted A
	is_held restore
	chattr -i "$ROOT/var/lib/greenboot-etcd/backups"
	way_back restore
	holds "what A had" "$A_STATE"
}

# The backup that a person requested is bad, so no step names it: the start does the restore again.
hold_restore_again() {
	etcd_next_of B
	a_green "$1"
	into_b
	b_writes
	judge green
	bad_backups
	gbe restore --next-boot --force "$(gbe list --names | tail -n 1)"
	make_default A
	config backup at-shutdown=never
	shutdown
	chattr +i "$ROOT/var/lib/greenboot-etcd/backups"
	machine_on
	booted A
	is_held restore 2
	chattr -i "$ROOT/var/lib/greenboot-etcd/backups"
	way_back restore 2
	holds "what A had" "$A_STATE"
}

hold_room_unprotected() {
	a_green "$1"
	update B
	A_STATE=$(etcd_state)
	config backup at-shutdown=never
	shutdown
	no_backups
	# Room for etcd's next log, and not for a copy.
	head -c 120M /dev/urandom >"$DATA/ballast"
	disk_room 100
	b_boots
	way_back room 2
	holds "B's data" "$A_STATE"
}

hold_room() {
	a_green "$1"
	stop_etcd
	# Without the spare backup, etcd also has room to start.
	head -c 60M /dev/urandom >"$DATA/ballast"
	gbe backup spare
	rm "$DATA/ballast"
	gbe mark bad spare
	start_etcd
	update B
	A_STATE=$(etcd_state)
	shutdown
	disk_room 40
	b_boots
	way_back room
	holds "B's data" "$A_STATE"
}

hold_backup() {
	a_green "$1"
	config backup directory=/var/store
	mkdir "$ROOT/var/store"
	mount -t tmpfs tmpfs "$ROOT/var/store"
	reboot
	judge green
	stop_etcd
	gbe backup mine
	start_etcd
	update B
	A_STATE=$(etcd_state)
	shutdown
	goes_away var-store.mount "$ROOT/var/store"
	b_boots
	way_back backup
	holds "B's data" "$A_STATE"
}

# The store is on the data's file system and refuses the backup.
hold_backup_unprotected() {
	a_green "$1"
	config backup at-shutdown=never
	update B
	A_STATE=$(etcd_state)
	shutdown
	chattr +i "$ROOT/var/lib/greenboot-etcd/backups"
	b_boots
	way_back backup 2
	chattr -i "$ROOT/var/lib/greenboot-etcd/backups"
	holds "B's data" "$A_STATE"
}

# The data has a pipe, which no backup can have, and next to which etcd can start.
hold_backup_pipe() {
	a_green "$1"
	update B
	A_STATE=$(etcd_state)
	shutdown
	mkfifo "$DATA/pipe"
	b_boots
	way_back backup 2
	holds "B's data" "$A_STATE"
}

hold_record() {
	a_green "$1"
	update B
	A_STATE=$(etcd_state)
	shutdown
	chattr +i "$ROOT/var/lib/greenboot-etcd/ledger" "$ROOT/var/lib/greenboot-etcd"
	b_boots
	way_back record
	chattr -i "$ROOT/var/lib/greenboot-etcd/ledger" "$ROOT/var/lib/greenboot-etcd"
	holds "B's data" "$A_STATE"
}

# faulty POINT=WHAT: runs a prerun that ends at POINT.
faulty() {
	PRERUN=0
	GREENBOOT_ETCD_FAULT=$1 BUILD=$BUILD_FAULTS hook prerun >"$PRERUN_LOG" 2>&1 || PRERUN=$?
	cat "$PRERUN_LOG" >&2
}

hold_half() {
	a_green "$1"
	into_b
	b_writes
	judge red
	shutdown
	MASKED=yes b_boots
	MASKED=
	faulty restore-cloned=kill
	way_back half
	holds "what A had" "$A_STATE"
}

hold_crash() {
	a_green "$1"
	update B
	A_STATE=$(etcd_state)
	shutdown
	MASKED=yes b_boots
	MASKED=
	faulty prerun-started=kill
	way_back crash
	holds "B's data" "$A_STATE"
}

hold_unfinished() {
	a_green "$1"
	A_STATE=$(etcd_state)
	update B
	config backup at-shutdown=never
	shutdown
	MASKED=yes b_boots
	MASKED=
	faulty backup-cloned=kill
	faulty backup-cloned=kill
	start_prerun
	way_back unfinished
	holds "B's data" "$A_STATE"
}

suite_begin "$@"
run_case hold-mount hold_mount xfs
run_case hold-open hold_open xfs
run_case hold-open-unnamed hold_open_unnamed xfs
run_case hold-unread hold_unread xfs
run_case hold-deformed hold_deformed xfs
run_case hold-linked hold_linked xfs /var/lib/real
run_case hold-linked-relative hold_linked xfs real
run_case hold-elsewhere hold_elsewhere xfs
run_case hold-log-good hold_log xfs good
run_case hold-log-unproven hold_log xfs unproven
run_case hold-corrupt-good hold_corrupt xfs good
run_case hold-corrupt-unproven hold_corrupt xfs unproven
run_case hold-corrupt-guide hold_corrupt_guide xfs
run_case hold-failed-update hold_failed_update xfs
run_case hold-failed-update-unprotected hold_failed_update_unprotected xfs
run_case hold-unusable hold_unusable xfs
run_case hold-unusable-restore hold_unusable_restore xfs
run_case hold-unusable-reboot hold_unusable_reboot xfs
run_case hold-restore hold_restore xfs
run_case hold-restore-again hold_restore_again xfs
run_case hold-room hold_room ext4
run_case hold-room-unprotected hold_room_unprotected ext4
run_case hold-backup hold_backup xfs
run_case hold-backup-unprotected hold_backup_unprotected xfs
run_case hold-backup-pipe hold_backup_pipe xfs
run_case hold-record hold_record ext4
run_case hold-half hold_half xfs
run_case hold-crash hold_crash xfs
run_case hold-unfinished hold_unfinished xfs
suite_end
