#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# `rehearse` with real and false etcds in a staged tree, without systemd's walls (tests/system/rehearse.sh plays
# those).

# shellcheck disable=SC2034,SC2317,SC2119,SC2016 # cases are called by name; scripts that others run
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

# ready KIND: A is up with some data, B is staged. TREE is B's.
ready() {
	a_green "$1"
	put_many base 300
	etcd_in "$ROOT" "$ETCD"
	stage B
	TREE=$(deployment_dir B)
}
# etcd_in TREE FILE: makes FILE the /usr/bin/etcd there.
etcd_in() {
	mkdir -p "$1/usr/bin"
	rm -f "$1/usr/bin/etcd"
	[[ $2 == */* ]] || set -- "$1" "$(command -v "$2")"
	cp "$2" "$1/usr/bin/etcd"
	chmod 0755 "$1/usr/bin/etcd"
}
# etcd_is: makes the script on stdin B's etcd, with an answer to --version.
etcd_is() {
	{
		printf '#!/bin/sh\n[ "$1" != --version ] || { echo "etcd Version: %s"; exit 0; }\n' "${1:-3.4.23}"
		cat
	} >"$GBE_MEM/etcd"
	etcd_in "$TREE" "$GBE_MEM/etcd"
}
# live: prints every file of the data, except those that the running etcd changes.
live() {
	find "$DATA" -printf '%P %i %u %m\n' | sort
	etcd_state
}
# rehearsed STATUS RESULT PATTERN [OPTION...]: rehearses, and checks the result.
rehearsed() {
	local status=$1 result=$2 pattern=$3 before
	shift 3
	before=$(live)
	assert_exit "$status" gbe --json rehearse --timeout=8s "$@"
	fits rehearse
	assert_eq "result" "$(jq -r .result <<<"$OUT")" "$result"
	assert_match "reason" "$(jq -r .reason <<<"$OUT")" "$pattern"
	assert_eq "the live data" "$(live)" "$before"
	nothing_left
	assert_eq "status" "$(json .rehearsal.result status)" "$result"
}
nothing_left() {
	assert_eq "left in the store" "$(find "$ROOT/var" "$ROOT/.greenboot-etcd" -name '.partial-*' 2>/dev/null || true)" ""
	assert_eq "etcds left" "$(pgrep -fc 'unix://client:1' || true)" 0
}

same_etcd() { # KIND
	ready "$1"
	etcd_in "$TREE" "$ETCD"
	rehearsed 0 passed null
	assert_eq "goes back" "$(jq -r .goes_back <<<"$OUT")" true
	assert_match "status" "$(gbe status)" "*Rehearsal*passed, etcd 3.4*to 3.4*"
	assert_exit 0 gbe preflight
	assert_match "preflight" "$OUT" "*ok *rehearsal *works on today's data*"
	assert_eq "explain" "$(json .facts.rehearsal explain)" passed
}

next_etcd() { # KIND
	need_etcd_next
	ready "$1"
	etcd_in "$TREE" "$ETCD_NEXT"
	config preflight rehearse=full
	rehearsed 0 passed null
	assert_eq "goes back" "$(jq -r .goes_back <<<"$OUT")" false
	assert_match "why not" "$(jq -r .goes_back_reason <<<"$OUT")" "today's etcd: *"
	unconfig preflight rehearse
	rehearsed 0 passed null
	assert_match "why not" "$(jq -r .goes_back_reason <<<"$OUT")" "*a rollback restores the backup*"
	assert_exit 0 gbe preflight
}

stopped() {
	ready xfs
	etcd_in "$TREE" "$ETCD"
	stop_etcd
	sum=$(find "$DATA" -type f -exec sha256sum {} + -printf '%P %i %T@\n' | sort)
	assert_exit 0 gbe rehearse --timeout=20s
	assert_eq "the data" "$(find "$DATA" -type f -exec sha256sum {} + -printf '%P %i %T@\n' | sort)" "$sum"
	nothing_left
}

versions() {
	ready xfs
	etcd_is 3.3.9 <<<'touch started'
	rehearsed 5 failed "*etcd 3.3 of the update refuses data of etcd 3.4*"
	assert_exit 5 gbe preflight
	assert_match "preflight" "$OUT" "*bad *rehearsal *does not work on today's data*"
	assert_match "MOTD" "$(tr -s "\n " " " <"$ROOT/run/motd.d/greenboot-etcd")" "*the etcd of the update*"
	etcd_is 3.6.1 <<<'touch started'
	rehearsed 5 failed "*a minor is left out*boot an update with etcd 3.5 first*"
	config preflight rehearse=versions
	etcd_is 3.5.1 <<<'touch started'
	rehearsed 7 not-rehearsed "only the versions were compared*"
}

false_etcds() {
	ready xfs
	etcd_is <<<'echo "panic: no such thing" >&2; exit 2'
	rehearsed 5 failed "etcd ended with status 2: panic: no such thing"
	etcd_is <<<'kill -SEGV $$'
	rehearsed 5 failed "etcd was killed*"
	etcd_is <<<'echo waiting; exec sleep 600'
	rehearsed 5 failed "etcd is not done within 2 s (--timeout): waiting" --timeout=2s
	# A link in place of the socket leads to another etcd.
	etcd_is <<<'ln -s /run/other client:1; exec sleep 600'
	rehearsed 5 failed "etcd is not done*" --timeout=2s
	etcd_is <<-END
		rm -rf data/member; exec $(command -v "$ETCD") "\$@"
	END
	rehearsed 5 failed "etcd says that it is another member or cluster"
	# The etcd answers well, and damages its data at the end.
	etcd_is <<-END
		$(command -v "$ETCD") "\$@" & child=\$!
		trap 'kill \$child; wait \$child; head -c 40000 /dev/zero | dd of=data/member/snap/db conv=notrunc; exit 0' TERM
		wait \$child
	END
	rehearsed 5 failed "*"
}

# The record of a user of etcd cannot be read, and authentication is off. Today's etcd and verify never read this
# record. The next etcd reads it at its start.
only_a_start() {
	need_etcd_next
	ready xfs
	etcd_in "$TREE" "$ETCD_NEXT"
	ctl user add nobody:secret >/dev/null
	# etcd commits its applied entries a little later.
	python3 - "$DATA/member/snap/db" <<'PYTHON'
import re, sys, time
with open(sys.argv[1], "r+b", buffering=0) as db:
    found = []
    for _ in range(600):
        db.seek(0)
        found = [match.start() for match in re.finditer(b"\\x0a\\x06nobody\\x12", db.read())]
        if found:
            break
        time.sleep(0.1)
    # No other file changed: etcd keeps writing.
    for at in found:
        db.seek(at)
        db.write(b"\x0f")
PYTHON
	rehearsed 5 failed "etcd ended*: panic: *"
}

# On a busy processor a hanging etcd cannot be distinguished from a waiting one.
busy() {
	local spinner rc=0
	ready xfs
	etcd_is <<<'while :; do :; done'
	taskset -c 0 timeout 120 bash -c 'while :; do :; done' &
	spinner=$!
	OUT=$(
		{ taskset -pc 0 "$BASHPID" && renice -n 19 -p "$BASHPID"; } >/dev/null
		gbe --json rehearse --timeout=6s
	) || rc=$?
	kill "$spinner"
	assert_eq "exit status" "$rc" 7
	assert_match "reason" "$(jq -r .reason <<<"$OUT")" "etcd is not done within 6 s (--timeout), as the device is busy"
	assert_json .rehearsal.result not-rehearsed status
}

# The disk becomes full: by this etcd, or by another program. The second does not count against the update.
full_disk() {
	local filler

	ready xfs
	etcd_is <<<'exec dd if=/dev/zero of=data/large bs=1M'
	rehearsed 5 failed "*etcd fills the disk" --timeout=60s
	etcd_is <<<'exec sleep 60'
	{
		until pgrep -fx 'sleep 60' >/dev/null; do nap 0.05; done
		fallocate -l "$(($(stat -f -c '%a * %S' "$ROOT/var") - (10 << 20)))" "$ROOT/var/large"
	} &
	filler=$!
	rehearsed 7 not-rehearsed "other programs fill the disk while etcd runs" --timeout=60s
	wait "$filler"
	rm "$ROOT/var/large"
}

# The update's etcd does not run, and today's does: the device is not at fault.
does_not_run() {
	local why="the update's etcd does not run, and today's does: "
	ready xfs
	rehearsed 5 failed "${why}*/usr/bin/etcd*"
	echo nonsense >"$GBE_MEM/etcd"
	etcd_in "$TREE" "$GBE_MEM/etcd"
	rehearsed 5 failed "${why}*"
	# The dynamic linker is missing; then a library is missing.
	sed 's|/ld-linux|/ld-lost!|' "$(command -v jq)" >"$GBE_MEM/etcd"
	etcd_in "$TREE" "$GBE_MEM/etcd"
	rehearsed 5 failed "${why}*"
	sed 's|libc.so.6|libc.so.0|' "$(command -v jq)" >"$GBE_MEM/etcd"
	etcd_in "$TREE" "$GBE_MEM/etcd"
	rehearsed 5 failed "${why}*libc.so.0*"
	printf '#!/bin/sh\nkill -SEGV $$\n' >"$GBE_MEM/etcd"
	etcd_in "$TREE" "$GBE_MEM/etcd"
	rehearsed 5 failed "${why}*was killed*"
	rm "$TREE/usr/bin/etcd"
	mkdir "$TREE/usr/bin/etcd"
	rehearsed 5 failed "${why}*is no program"
	# The command of the update names a missing program.
	rmdir "$TREE/usr/bin/etcd"
	config preflight "rehearse-command=/usr/bin/lost --data-dir=%d"
	rehearsed 5 failed "${why}*/usr/bin/lost*"
	unconfig preflight rehearse-command
	# The update has a configuration of its own.
	mkdir -p "$TREE/usr/lib/greenboot-etcd"
	printf '[etcd]\nbinary=/usr/bin/other\n' >"$TREE/usr/lib/greenboot-etcd/greenboot-etcd.conf"
	rehearsed 5 failed "${why}*/usr/bin/other*"
	rm "$TREE/usr/lib/greenboot-etcd/greenboot-etcd.conf"
	# Today's etcd also does not run.
	mv "$ROOT/usr/bin/etcd" "$ROOT/usr/bin/whole-etcd"
	rehearsed 7 not-rehearsed "the update's etcd: *"
}

not_rehearsed() {
	ready xfs
	etcd_is <<<'exit 1'
	sed -i 's/etcd Version/a version/' "$TREE/usr/bin/etcd"
	rehearsed 7 not-rehearsed "*prints no version"
	assert_exit 0 gbe preflight
	assert_match "preflight" "$OUT" "*note *rehearsal *is not rehearsed*"
	# The update has a configuration of its own.
	mkdir -p "$TREE/usr/lib/greenboot-etcd"
	echo nonsense >"$TREE/usr/lib/greenboot-etcd/greenboot-etcd.conf"
	rehearsed 7 not-rehearsed "*greenboot-etcd.conf*"
	unstage
	assert_exit 7 gbe rehearse
	assert_match "why" "$ERR" "*staged: no deployment has this place*"
	assert_exit 7 gbe rehearse --deployment=nothing
	assert_exit 2 gbe rehearse --timeout=soon
}

own_command() {
	ready xfs
	etcd_in "$TREE" "$ETCD"
	mv "$TREE/usr/bin/etcd" "$TREE/usr/bin/whole-etcd"
	config etcd binary=/usr/bin/whole-etcd
	rehearsed 7 not-rehearsed "*is not etcd itself; *rehearse-command=*"
	config preflight "rehearse-command=/usr/bin/whole-etcd --data-dir=%d --listen-client-urls=unix://%s --advertise-client-urls=unix://%s --listen-peer-urls=unix://peer:1"
	rehearsed 0 passed null
}

no_clones() {
	ready ext4
	etcd_in "$TREE" "$ETCD"
	rehearsed 0 passed null
	config preflight rehearse-copy-max=1k
	rehearsed 7 not-rehearsed "*does not clone, and a copy takes *"
}

by_itself() {
	local at
	ready xfs
	etcd_is <<<'echo "no, not this one" >&2; exit 1'
	config preflight on-failed-rehearsal=lock
	assert_exit 5 hook preflight
	assert_eq "result" "$(json .rehearsal.result status)" failed
	assert_json .rehearsal.locked true status
	assert_exists "$ROOT/run/ostree/staged-deployment-locked"
	at=$(json .rehearsal.duration status)
	assert_exit 5 hook preflight
	assert_eq "not twice" "$(json .rehearsal.duration status)" "$at"
	# This program no longer locks the next update.
	os_commit C
	stage C
	: >"$ROOT/run/ostree/staged-deployment-locked"
	TREE=$(deployment_dir C)
	etcd_in "$TREE" "$ETCD"
	hook preflight
	assert_eq "result" "$(json .rehearsal.result status)" passed
	assert_missing "$ROOT/run/ostree/staged-deployment-locked"
}

never_locks() {
	ready xfs
	rm "$ROOT/usr/bin/etcd"
	config preflight on-failed-rehearsal=lock
	hook preflight
	assert_eq "result" "$(json .rehearsal.result status)" not-rehearsed
	assert_missing "$ROOT/run/ostree/staged-deployment-locked"
}

two_at_once() {
	local first
	ready xfs
	etcd_is <<<'exec sleep 600'
	gbe rehearse --timeout=8s >/dev/null 2>&1 &
	first=$!
	sleep 1
	assert_exit 4 gbe rehearse
	assert_match "who" "$ERR" "*rehearse*"
	wait "$first" || true
	nothing_left
}

killed() {
	local point before
	ready xfs
	etcd_in "$TREE" "$ETCD"
	before=$(live)
	BUILD=$BUILD_FAULTS
	for point in rehearse-made rehearse-cloned rehearse-started rehearse-asked rehearse-ended; do
		GREENBOOT_ETCD_FAULT=$point=kill assert_exit 137 gbe rehearse --timeout=20s
		assert_eq "the live data after $point" "$(live)" "$before"
		assert_json .rehearsal null status
		assert_exit 0 gbe prune
		nothing_left
		GREENBOOT_ETCD_FAULT=$point=EIO assert_exit 7 gbe rehearse --timeout=20s
		nothing_left
		rm -f "$ROOT/var/lib/greenboot-etcd/rehearsal"
	done
	assert_exit 0 gbe rehearse --timeout=20s
}

kept() {
	ready xfs
	etcd_in "$TREE" "$ETCD"
	assert_exit 0 gbe rehearse --keep --timeout=20s
	assert_some "kept" "$(find "$ROOT/var" -path '*/rehearsal.kept/etcd/data/member/snap/db' | wc -l)"
	assert_exit 0 gbe rehearse --keep --timeout=20s
	assert_exit 0 gbe list
}

suite_begin "$@"
for kind in $(kinds "xfs btrfs"); do
	run_case "rehearse-same@$kind" same_etcd "$kind"
	run_case "rehearse-next@$kind" next_etcd "$kind"
done
run_case rehearse-stopped stopped
run_case rehearse-versions versions
run_case rehearse-false false_etcds
run_case rehearse-start only_a_start
run_case rehearse-busy busy
run_case rehearse-full-disk full_disk
run_case rehearse-does-not-run does_not_run
run_case rehearse-not not_rehearsed
run_case rehearse-command own_command
run_case rehearse-copies no_clones
run_case rehearse-itself by_itself
run_case rehearse-never-locks never_locks
run_case rehearse-two two_at_once
run_case rehearse-killed killed
run_case rehearse-kept kept
suite_end
