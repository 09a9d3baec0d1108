#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The short reports about a device: status --check, the MOTD, preflight.

# shellcheck disable=SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"
# shellcheck source=tests/lib/container.sh
. "$(dirname "$0")/../lib/container.sh"

motd() { tr -s "\n " " " 2>/dev/null <"$ROOT/run/motd.d/greenboot-etcd" || true; }

# finding CHECK: prints its results, in order.
finding() { gbe --json preflight | jq -r ".findings[] | select(.check == \"$1\").result" | tr '\n' ' '; }
# ready STATUS
ready() { assert_exit "$1" gbe preflight; }

# a_protected KIND: makes a device that lacks nothing: its run is green, and it has a good backup.
a_protected() {
	a_green "$1"
	stop_etcd
	gbe backup one
	start_etcd
}

checks() {
	a_protected xfs
	assert_exit 0 gbe status --check
	assert_exit 0 gbe -q status --check
	assert_eq "motd" "$(motd)" ""
	stop_etcd
	assert_exit 6 gbe status --check
	assert_exit 0 gbe status
	start_etcd
	sed -i 's/"kind":"start"/"kind":"stort"/' "$ROOT/var/lib/greenboot-etcd/ledger"
	assert_exit 7 gbe status --check
	assert_match "warning" "$(gbe status)" "*a record of the ledger cannot be read*"
}

# says STATE LINE: expects that the first line, the JSON and the exit status agree.
says() {
	local status=6

	[[ $1 != protected ]] || status=0
	assert_exit "$status" gbe status --check
	assert_match "first line" "${OUT%%$'\n'*}" "$2"
	assert_json .protection.state "$1" status
	assert_exit 0 gbe status
}

# switched_off: expects that no text promises anything about a start in which the program does nothing.
switched_off() {
	says not-protected "Not protected: $1"
	assert_json .next.action null status
	assert_json .next.rule null status
	assert_match "next" "$(gbe status)" "*Next boot *unknown*"
}

answers() {
	local unit=systemd/system/greenboot-etcd-prerun.service store dir

	a_protected "$1"
	store=$ROOT/var/lib/greenboot-etcd/backups
	says protected Protected
	assert_ne "next" "$(json .next.action status)" null
	for dir in etc run; do
		mkdir -p "$ROOT/$dir/systemd/system"
		ln -s /dev/null "$ROOT/$dir/$unit"
		switched_off "*is masked*"
		ready 5
		assert_eq "prerun" "$(finding prerun)" "bad "
		rm "$ROOT/$dir/$unit"
	done
	config etcd service=
	switched_off "*service=*is empty*"
	config etcd service=nothing.service
	switched_off "there is no nothing.service*"
	unconfig etcd service
	says protected Protected
	echo "[Service]" >"$ROOT/etc/systemd/system/microshift.service"
	says not-protected "Not protected: microshift.service is here and not protected*"
	rm "$ROOT/etc/systemd/system/microshift.service"

	chattr +i "$store"
	says not-protected "Not protected: the store of backups*cannot be written*"
	ready 5
	assert_eq "store" "$(finding store)" "bad "
	chattr -i "$store"
	# On the system's own file system, the store would be made again. If a mount is missing: store_away.
	mv "$store" "$store.away"
	says not-protected "Not protected: there is no good backup*"
	assert_exit 0 gbe list
	assert_eq "list" "$OUT" "no backups"
	touch "$store"
	says not-protected "Not protected: *Not a directory*"
	assert_exit 7 gbe list
	rm "$store"
	mv "$store.away" "$store"
	says protected Protected

	stop_etcd
	says needs-you "Needs you: etcd is not healthy*"
	assert_match "the step" "$OUT" "*1. greenboot-etcd health*"
	gbe backup two
	start_etcd
	cp "$store/two/manifest.json" "$GBE_MEM/manifest"
	echo "{" >"$store/two/manifest.json"
	says needs-you "Needs you: the manifest of backup two cannot be read"
	assert_match "the step" "$OUT" "*1. greenboot-etcd delete --force two*"
	cp "$GBE_MEM/manifest" "$store/two/manifest.json"
	says protected Protected
	gbe mark bad one
	gbe mark bad two
	says not-protected "Not protected: there is no good backup"
	gbe mark good one

	stop_etcd
	mv "$DATA" "$DATA.away"
	touch "$DATA"
	says not-protected "Not protected: the data in /var/lib/etcd cannot be read*no directory*"
	rm "$DATA"
	mv "$DATA.away" "$DATA"
	start_etcd
	says protected Protected
}

# last TEXT: expects this in the line `Last`.
last() { assert_match "last" "$(gbe status | grep -A 1 "^  Last  ")" "  Last *: $1"; }

# The last operation is told in words, with the backup that it left.
last_operation() {
	local aside

	a_green "$1"
	stop_etcd
	gbe backup one
	last "backed up as one: *"
	gbe restore one
	aside=$(json .last_operation.set_aside status)
	assert_eq "set aside" "$(json '[.[] | select(.set_aside)][0].name' list)" "$aside"
	last "restored from one: asked for by hand"$'\n'" *the data that was there is kept as $aside"
	gbe undo
	last "undo restored $aside: *"
	gbe delete "$(json .last_operation.set_aside status)"
	assert_json .last_operation.set_aside null status
	last "deleted *"
	gbe mark bad one
	last "graded one*"
}

# Without a boot id, each text says so once.
no_boot_id() {
	a_protected "$1"
	echo none >"$ROOT/proc/sys/kernel/random/boot_id"
	assert_exit 7 gbe status --check
	assert_match "first line" "${OUT%%$'\n'*}" "Needs you: cannot identify this boot: /proc/sys/kernel/random/boot_id does not hold a boot id"
	assert_eq "told" "$(grep -c "boot id" <<<"$OUT")" 1
	assert_eq "warnings" "$(json '.warnings | length' status)" 1
	assert_exit 7 gbe restore --next-boot one
	assert_match "stderr" "$ERR" "greenboot-etcd: cannot identify this boot: /proc/* does not hold a boot id, so a restore cannot be scheduled *"
	assert_eq "told" "$(grep -o "cannot identify" <<<"$ERR" | wc -l)" 1
	assert_exit 5 gbe mark good
	assert_eq "told" "$(grep -o "cannot identify" <<<"$ERR" | wc -l)" 1
}

# A warning that names a command has this command as its step.
step_of_warning() {
	a_protected "$1"
	sed -i 's/"kind":"start"/"kind":"stort"/' "$ROOT/var/lib/greenboot-etcd/ledger"
	assert_eq "steps" "$(json '.protection.steps | tojson' status)" '["greenboot-etcd log"]'
	assert_match "status" "$(gbe status)" "Needs you: a record of the ledger*1. greenboot-etcd log*"
	# A ledger that cannot be read also stops retention, and its error is told once.
	rm "$ROOT/var/lib/greenboot-etcd/ledger"
	mkdir "$ROOT/var/lib/greenboot-etcd/ledger"
	assert_exit 0 gbe status
	assert_match "first line" "${OUT%%$'\n'*}" "Needs you: the ledger cannot be read: *is no regular file"
	assert_eq "told" "$(grep -c "no regular file" <<<"$OUT")" 1
}

# The configuration has a password in etcd's address. No other place has it.
password() {
	local planted=N0-B0DY-5-BUS1NE55 verb

	a_green xfs
	config etcd "endpoint=http://root:$planted@127.0.0.1:1"
	hook monitor >&2 || true
	assert_match "motd" "$(motd)" "*http://(left out)@127.0.0.1:1*"
	! grep -r "$planted" "$ROOT/run" || fail "the password is in /run"
	for verb in status "--json status" "health -v" "--json health" "endpoint status" "member list" "alarm list" \
		"snapshot save /var/s.db" "defrag" config "--json config" preflight; do
		# shellcheck disable=SC2086
		! gbe $verb 2>&1 | grep "$planted" || fail "$verb shows the password"
	done
	config etcd "endpoint=https//root:$planted @127.0.0.1"
	assert_exit 2 gbe backup one
	assert_match "stderr" "$ERR" "*left out?@127.0.0.1*"
	! grep "$planted" <<<"$ERR" || fail "a message shows the password"
}

# Only systemd knows these facts: an order, a mask of this boot, another unit.
on_systemd() {
	need_nspawn
	container_device
	deploy A
	populate A "line() { echo \"person \$1: \$(greenboot-etcd status | head -n 1)\"; }
		line before
		systemctl mask --runtime greenboot-etcd-prerun.service; line mask
		systemctl unmask --runtime greenboot-etcd-prerun.service; line unmask
		mkdir -p /etc/systemd/system-generators
		ln -s /dev/null /etc/systemd/system-generators/greenboot-etcd-generator
		systemctl daemon-reload; line order
		rm /etc/systemd/system-generators/greenboot-etcd-generator
		systemctl daemon-reload; line again
		systemctl stop etcd
		cp /etc/systemd/system/etcd.service /run/systemd/system/mine.service
		systemctl daemon-reload; systemctl start mine; line other"
	run A
	in_order "person before: Not protected: greenboot is not installed" \
		"person mask: Not protected: greenboot-etcd-prerun.service is masked" \
		"person unmask: Not protected: greenboot is not installed" \
		"person order: Not protected: etcd.service does not wait for greenboot-etcd-prerun.service" \
		"person again: Not protected: greenboot is not installed" \
		"person other: Not protected: etcd \\(pid [0-9]+, mine.service\\) has etcd's data open"
}

# An update failed: the MOTD says what was put back, until the next boot.
rolled_back() {
	a_green xfs
	into_b
	b_writes
	fails_back
	assert_match "motd" "$(motd)" "*data was replaced by backup*"
	[[ $(motd) != *undo* ]] || fail "undo is advised after a failed update"
	assert_match "status" "$(gbe status)" "*Last *restored from *the update failed*"
	judge green
	reboot
	assert_eq "motd" "$(motd)" ""
}

# The data's mount is missing: etcd is held back, every place says so, and the mount ends the hold.
held_back() {
	device xfs
	mkdir -p "$DATA"
	mount -t tmpfs -o mode=0700 tmpfs "$DATA"
	power_on
	put owner A
	judge green
	stop_etcd
	hook finalize >&2
	umount "$DATA"
	MASKED='' boot A
	assert_eq "prerun" "$PRERUN" 5
	assert_match "motd" "$(motd)" "*etcd is held back*mount*"
	assert_json .last_operation.result held status
	assert_json .next.action hold status
	assert_match "status" "$(gbe status)" "*HOLDS etcd BACK*"
	assert_exit 6 gbe status --check
	assert_exit 1 gbe restore -n --last-good
	# The mount is back (empty, in this case), and the hold ends.
	mount -t tmpfs -o mode=0700 tmpfs "$DATA"
	start_prerun
	assert_eq "prerun" "$PRERUN" 0
	assert_eq "motd" "$(motd | grep -c 'held back' || true)" 0
}

store_away() {
	a_green xfs
	stop_etcd
	gbe backup one
	start_etcd
	config backup "directory=/var/store"
	mkdir "$ROOT/var/store"
	mount -t tmpfs tmpfs "$ROOT/var/store"
	reboot
	started
	judge green
	umount "$ROOT/var/store"
	assert_match "status" "$(gbe status)" "Not protected: *store of backups /var/store is not there*"
	shutdown
	assert_exit 5 gbe backup two
	assert_match "stderr" "$ERR" "*/var/store*mount*"
	assert_exit 5 gbe restore one
	assert_exit 5 gbe preflight
	assert_eq "store" "$(finding store)" "bad "
}

# Compares all files except those that etcd itself writes.
files() { find "$ROOT" -xdev -path "$DATA" -prune -o -type f -printf '%p %s %T@\n' | sort | sha256sum; }

preflights() {
	local before

	a_green ext4
	ready 0
	assert_eq "space" "$(finding space)" "ok "
	before=$(files)
	ready 0
	assert_eq "the files" "$(files)" "$before"
	# ---- the verdict ----
	greenboot_disable
	ready 5
	assert_eq "greenboot" "$(finding greenboot)" "bad "
	greenboot_enable
	ready 0
	mv "$ROOT/boot/grub2/grubenv" "$ROOT/boot/grub2/away"
	ready 5
	assert_eq "greenboot" "$(finding greenboot)" "bad "
	mv "$ROOT/boot/grub2/away" "$ROOT/boot/grub2/grubenv"
	# ---- etcd ----
	stop_etcd
	ready 5
	assert_eq "etcd" "$(finding etcd)" "bad "
	start_etcd
	# ---- files that cannot be copied ----
	mkfifo "$DATA/pipe"
	ready 5
	assert_match "data" "$OUT" "*bad *data *pipe*"
	rm "$DATA/pipe"
	# ---- room ----
	disk_fill
	ready 5
	assert_eq "space" "$(finding space)" "bad "
	disk_free
	ready 0
	# ---- an unknown key ----
	config backup keep-bed=1
	ready 5
	assert_eq "configuration" "$(finding configuration)" "bad "
	unconfig backup keep-bed
}

# The program that runs when an update is staged leaves a line for people. A good update removes the line.
preflight_motd() {
	a_green xfs
	greenboot_disable
	hook preflight >&2 || assert_eq "preflight" "$?" 5
	assert_match "motd" "$(motd)" "*next update: greenboot is not enabled*"
	greenboot_enable
	hook preflight >&2
	assert_eq "motd" "$(motd)" ""
	stage B
	assert_match "preflight" "$(gbe preflight)" "*note *staged *${DEPLOYMENT[B]}*"
	touch "$ROOT/run/ostree/staged-deployment-locked"
	assert_match "preflight" "$(gbe preflight)" "*staged *locked*"
	assert_match "status" "$(gbe status)" "*Warning *${DEPLOYMENT[B]} is locked*"
	rm "$ROOT/run/ostree/staged-deployment-locked"
	unstage
	os_commit C --without-program
	stage C
	ready 5
	assert_match "preflight" "$OUT" "*bad *staged *does not carry greenboot-etcd*"
	# Without the program there, no backup is promised.
	assert_match "explain" "$(gbe explain --booted=staged)" "*: the data is kept.*does not carry greenboot-etcd*"
	assert_json '[.rule, (.actions | map(.action)), .branches] | tojson' '["skip",["keep"],[]]' explain --booted=staged
	assert_json '.next | [.rule, .action, .backup] | tojson' '["skip","keep",null]' status
}

suite_begin "$@"
run_case status-check checks
for kind in $(kinds "xfs ext4"); do
	run_case "status-first-line@$kind" answers "$kind"
done
run_case status-last last_operation xfs
run_case status-no-boot-id no_boot_id xfs
run_case status-step-of-warning step_of_warning xfs
run_case status-systemd on_systemd
run_case status-password password
run_case status-rolled-back rolled_back
run_case status-held-back held_back
run_case status-store-away store_away
run_case preflight-findings preflights
run_case preflight-motd preflight_motd
suite_end
