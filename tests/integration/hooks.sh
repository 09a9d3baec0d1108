#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The programs that systemd and greenboot start, one by one: their messages, their records, and the result of a start
# whose worker does not finish.

# shellcheck disable=SC2034,SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

state() { echo "$ROOT/var/lib/greenboot-etcd/$1"; }
# Prints the records of runs as "1.green 2.none": sequence and verdict.
runs() {
	# shellcheck disable=SC2016 # jq's
	ledger '. as $all | [.[] | select(.kind == "take-over").sequence] | to_entries | map(.value as $of |
		"\(.key + 1).\([$all[] | select(.kind == "verdict" and .of == $of).verdict][-1] // "none")") | join(" ")'
}
# run_field KEY: prints a field of the newest run's record.
run_field() {
	ledger "[.[] | select(.kind == \"verdict\")][-1].$1"
}
# Prints all written files, except those that each start writes.
fingerprint() {
	(cd "$ROOT/var/lib" && find greenboot-etcd etcd/.greenboot-etcd-owner -type f ! -name lock \
		-exec sha256sum {} + | sort)
}
faulty() { # POINT=WHAT NAME
	GREENBOOT_ETCD_FAULT=$1 BUILD=$BUILD_FAULTS hook "$2"
}

# ---- health ----

hooks_health_waits() {
	device "$1"
	machine_on
	started
	config health timeout=60s
	(
		sleep 1
		start_etcd
		# Only this subshell ends.
		echo "$ETCD_PID" >"$GBE_MEM/late"
	) &
	assert_exit 0 hook health
	ETCD_PID=$(<"$GBE_MEM/late")
	assert_match "stderr" "$ERR" "*etcd is healthy*"
	assert_eq "runs" "$(runs)" "1.judging"
	assert_eq "health" "$(run_field health)" healthy
	assert_match "version" "$(run_field etcd_version)" "3.*"
}

hooks_health_down() {
	a_green "$1"
	into_b
	stop_etcd
	config health timeout=1s request-timeout=1s
	assert_exit 1 hook health
	assert_match "stderr" "$ERR" "<2>*not healthy*does not answer*"
	assert_match "runs" "$(runs)" "*.judging"
	assert_eq "health" "$(run_field health)" unhealthy
	# The second question finds it.
	start_etcd
	assert_exit 0 hook health
	assert_eq "health" "$(run_field health)" healthy
	assert_match "identity" "$(run_field member_id)/$(run_field cluster_id)" \
		"????????????????/????????????????"
	assert_eq "revision" "$(run_field revision)" "$(revision)"
	assert_eq "voters" "$(run_field voters)" 1
	# greenboot 0.16 does not use priorities.
	greenboot_install rust
	assert_exit 0 hook health
	assert_match "stderr" "$ERR" "greenboot-etcd-health: *"
}

# The deadline counts from the end of prerun: a late caller does not wait the full time again.
hooks_health_late() {
	local began
	device "$1"
	machine_on
	config health timeout=1h request-timeout=1s timeout-scale=no
	jq '.monotonic_usec = 1' "$ROOT/run/greenboot-etcd/prerun-done" >"$GBE_MEM/done"
	cp "$GBE_MEM/done" "$ROOT/run/greenboot-etcd/prerun-done"
	# The machine has been up for less than an hour, so a second is enough.
	config health timeout=1s
	began=$SECONDS
	assert_exit 1 hook health
	((SECONDS - began < 5)) || fail "it waited for $((SECONDS - began)) s"
}

# If prerun holds etcd back, the answer is known at once, and only a trial justifies a rollback.
hooks_health_held() {
	local began=$SECONDS
	a_green "$1"
	config health timeout=60s
	update B
	shutdown
	: >"$(state ledger)"
	MASKED=yes machine_on
	booted B
	mkdir -p "$ROOT/run/greenboot-etcd"
	echo '{"held": true, "reason": "because of this test"}' >"$ROOT/run/greenboot-etcd/prerun-done"
	assert_exit 0 hook health
	assert_match "stderr" "$ERR" "<2>*Cannot tell*because of this test*"
	start_prerun
	started
	echo '{"held": true, "reason": "because of this test"}' >"$ROOT/run/greenboot-etcd/prerun-done"
	assert_exit 1 hook health
	assert_match "stderr" "$ERR" "<2>*not healthy*because of this test*"
	((SECONDS - began < 50)) || fail "it waited"
}

# Unknown health does not justify a rollback, and the check does not wait until the deadline.
hooks_health_cannot_tell() {
	local metrics
	device "$1"
	machine_on
	# Ports below those of etcd_ports, and below those that the kernel hands out.
	metrics=$((18000 + RANDOM % 2000))
	while ! port_free "$metrics"; do metrics=$((metrics + 1)); done
	start_etcd --listen-metrics-urls="http://127.0.0.1:$metrics"
	config health request-timeout=1s timeout=2s
	# A server answers, but the port is not etcd's client port.
	config etcd endpoint="http://127.0.0.1:$metrics"
	assert_exit 0 hook health
	assert_match "stderr" "$ERR" "<2>*Cannot tell*does not answer as etcd*"
	assert_eq "health" "$(run_field health)" cannot-tell
	# A certificate of an unknown issuer.
	config etcd endpoint="https://127.0.0.1:$ETCD_PORT"
	assert_exit 0 hook health
	assert_match "stderr" "$ERR" "<2>*Cannot tell*"
}

hooks_off() {
	device "$1"
	config etcd service=
	assert_exit 0 hook prerun
	rm -rf "$ROOT/var/lib/greenboot-etcd"
	for name in health green red finalize; do
		assert_exit 0 hook "$name"
	done
	assert_missing "$(state ledger)"
	assert_missing "$(state owner)"
}

# ---- green and red ----

hooks_verdict_once_and_again() {
	local before
	device "$1"
	power_on
	assert_eq "runs" "$(runs)" "1.none"
	assert_exit 0 hook health
	assert_exit 0 hook green
	assert_match "stderr" "$ERR" "<5>*judged green*"
	assert_eq "runs" "$(runs)" "1.green"
	before=$(fingerprint)
	# The program is installed in both roots of greenboot, so it runs twice.
	assert_exit 0 hook green
	assert_eq "after the second" "$(fingerprint)" "$before"
	assert_json .verdict green status
	assert_exit 0 hook red
	assert_eq "runs" "$(runs)" "1.red"
	assert_exit 0 hook red
	assert_eq "runs" "$(runs)" "1.red"
	assert_json .verdict red status
}

# The check did not run: green itself looks once.
hooks_green_asks() {
	device "$1"
	power_on
	assert_exit 0 hook green
	assert_eq "runs" "$(runs)" "1.green"
	assert_eq "health" "$(run_field health)" healthy
	assert_match "version" "$(run_field etcd_version)" "3.*"
	reboot
	assert_match "prerun" "$(<"$PRERUN_LOG")" "*rule 6*"
}

hooks_green_and_down() {
	local began=$SECONDS
	device "$1"
	power_on
	stop_etcd
	assert_exit 0 hook green
	assert_eq "runs" "$(runs)" "1.green"
	assert_eq "health" "$(run_field health)" unhealthy
	((SECONDS - began < 40)) || fail "it took $((SECONDS - began)) s"
}

# A fresh start has no tree until a program finds the data.
hooks_fresh_is_adopted() {
	local name
	for name in health green red finalize; do
		device "$1"
		machine_on
		assert_exit 0 hook green
		assert_missing "$ROOT/var/lib/etcd/.greenboot-etcd-owner"
		start_etcd
		put a b
		[[ $name != finalize ]] || stop_etcd
		assert_exit 0 hook "$name"
		assert_eq "nonce after $name" "$(jq -r .nonce "$ROOT/var/lib/etcd/.greenboot-etcd-owner")" \
			"$(ledger '.[] | select(.kind == "tree").nonce')"
		assert_eq "mode" "$(stat -c %a "$ROOT/var/lib/etcd/.greenboot-etcd-owner")" 600
		assert_ne "tree" "$(ledger '.[] | select(.kind == "tree").tree')" null
		kill_etcd
		root_free
	done
}

# A verdict is about data: for data of another run, or without an owner, nothing is written.
hooks_verdict_of_a_late_run() {
	a_green "$1"
	shutdown
	MASKED=yes machine_on
	# Without etcd, a run does not own the data.
	assert_exit 0 hook red
	assert_match "stderr" "$ERR" "*evidence only*another run*"
	start_etcd
	assert_exit 0 hook health
	assert_match "stderr" "$ERR" "*belongs to*its start took nothing over*"
	assert_exit 0 hook green
	assert_match "runs" "$(runs)" "*.green*"
}

# prerun cleans up after an operation. No backup is pruned before that.
hooks_verdict_survives_the_power() {
	a_green "$1"
	into_b
	assert_exit 0 hook red
	powercut
	machine_on
	assert_match "runs" "$(runs)" "*.red*"
}

hooks_state_away() {
	device "$1"
	power_on
	mv "$ROOT/var/lib/greenboot-etcd" "$ROOT/var/lib/elsewhere"
	echo "not a directory" >"$ROOT/var/lib/greenboot-etcd"
	assert_exit 1 hook green
	assert_exit 1 hook red
	assert_exit 0 hook health
	assert_match "stderr" "$ERR" "*etcd is healthy*"
}

# ---- starts that do not finish ----

hooks_prerun_dies_unchanged() {
	local what
	a_green "$1"
	put more words
	A_STATE=$(etcd_state)
	shutdown
	for what in kill abort EIO; do
		assert_exit 0 faulty "prerun-started=$what" prerun
		assert_match "stderr" "$ERR" "*prerun *has not changed*"
	done
	# After three failed starts in a row, the fourth starts etcd anyway, and finishes.
	power_on
	started
	holds "A's data" "$A_STATE"
	assert_missing "$(state starts)"
}

hooks_prerun_dies_changed() {
	a_green "$1"
	update B
	put last "word of A"
	A_STATE=$(etcd_state)
	shutdown
	MASKED=yes machine_on
	booted B
	assert_exit 5 faulty "prerun-started=kill" prerun
	assert_match "stderr" "$ERR" "*held back*another deployment*systemctl*"
	assert_eq "held" "$(jq .held "$ROOT/run/greenboot-etcd/prerun-done")" true
	assert_exit 5 faulty "prerun-locked=abort" prerun
	assert_exit 0 hook prerun
	assert_eq "held" "$(jq .held "$ROOT/run/greenboot-etcd/prerun-done")" false
	start_etcd
	holds "B's data" "$A_STATE"
}

# If prerun is killed before it identifies the boot, the following programs do not need ostree's list.
hooks_prerun_dies_with_a_typo() {
	a_green "$1"
	shutdown
	echo "[etcd" >"$ROOT/etc/greenboot-etcd/greenboot-etcd.conf.d/99-typo.conf"
	assert_exit 0 faulty "prerun-started=kill" prerun
	assert_exit 0 hook prerun
	assert_match "stderr" "$ERR" "*configuration is wrong*99-typo.conf*"
}

# A crash of the check or of finalize does no harm.
hooks_others_die() {
	a_green "$1"
	assert_exit 0 faulty "health-recorded=kill" health
	assert_exit 1 faulty "verdict-judged=kill" green
	assert_match "runs" "$(runs)" "*.green"
	stop_etcd
	assert_exit 1 faulty "finalize-closed=kill" finalize
	power_on
	started
}

# ---- the monitor ----

metric() { sed -n "s/^greenboot_etcd_$1 //p" "$ROOT/var/lib/node/etcd.prom"; }
needs() {
	sed -nE 's/^greenboot_etcd_needs_person[{]reason="(.*)"[}] 1$/\1/p' "$ROOT/var/lib/node/etcd.prom" | sort |
		paste -sd' '
}

# Each metric is described once, before its values, and each value is a number (Prometheus' text format).
well_formed() {
	if command -v promtool >/dev/null; then
		promtool check metrics <"$ROOT/var/lib/node/etcd.prom" >"$GBE_MEM/promtool" 2>&1 ||
			fail "promtool: $(<"$GBE_MEM/promtool")"
	fi
	awk '/^# HELP / { if (help[$3]++) bad = 1; next }
		/^# TYPE [a-z_]+ gauge$/ { if (!help[$3] || type[$3]++) bad = 1; next }
		{ name = $1; sub(/[{].*/, "", name); if (!type[name] || $NF !~ /^[0-9]+$/) bad = 1 }
		bad { print FILENAME ":" FNR ": " $0; exit 1 }' "$ROOT/var/lib/node/etcd.prom" ||
		fail "not well formed"
}

hooks_monitor() {
	local before
	a_green "$1"
	mkdir -p "$ROOT/var/lib/node"
	config metrics textfile=/var/lib/node/etcd.prom
	before=$(fingerprint)
	assert_exit 0 hook monitor
	assert_eq "fingerprint" "$(fingerprint)" "$before"
	assert_eq "healthy" "$(metric healthy)" 1
	assert_eq "health" "$(metric 'health{health="healthy"}')" 1
	assert_eq "verdict" "$(metric 'verdict{verdict="green"}')" 1
	assert_eq "version" "$(metric 'build_info{version="'"$(make -s -C "$GBE_TOP" print-version)"'"}')" 1
	assert_eq "held" "$(metric 'held{reason="open"}')" 0
	# The value equals the first line of status.
	assert_eq "protected" "$(metric protected)" \
		"$(jq 'if .status.protection.state == "protected" then 1 else 0 end' "$ROOT/run/greenboot-etcd/status.json")"
	assert_eq "reasons" "$(needs)" "$(jq -r '.status.protection.needs | sort | join(" ")' \
		"$ROOT/run/greenboot-etcd/status.json")"
	assert_eq "no backup" "$(metric 'needs_person{reason="store"}')" 1
	assert_eq "etcd" "$(metric 'needs_person{reason="etcd"}')" 0
	assert_eq "next boot" "$(metric next_boot_rewinds)" 0
	assert_eq "alarm" "$(metric 'alarm{alarm="NOSPACE"}')" 0
	assert_eq "revision" "$(metric revision)" "$(revision)"
	assert_eq "backups" "$(metric 'backups{grade="good"}')" 0
	assert_eq "restores" "$(metric restores)" 0
	((${#ERR} == 0)) || fail "it said: $ERR"
	assert_eq "quota" "$(metric quota_bytes)" $((2 << 30))
	(($(metric db_in_use_bytes) <= $(metric db_size_bytes))) || fail "in use: $(metric db_in_use_bytes)"
	well_formed
	assert_eq "status.json" "$(jq .status.etcd.revision "$ROOT/run/greenboot-etcd/status.json")" \
		"$(revision)"
	assert_missing "$ROOT/run/motd.d/greenboot-etcd"
	# etcd is down: a message says so, and no verdict changes.
	stop_etcd
	assert_exit 0 hook monitor
	assert_match "stderr" "$ERR" "*etcd is not healthy*"
	assert_match "motd" "$(<"$ROOT/run/motd.d/greenboot-etcd")" "*etcd is not healthy*"
	assert_eq "healthy" "$(metric healthy)" 0
	assert_eq "etcd" "$(metric 'needs_person{reason="etcd"}')" 1
	assert_eq "protected" "$(metric protected)" 0
	assert_eq "revision" "$(metric revision)" ""
	assert_eq "fingerprint" "$(fingerprint)" "$before"
	# The message comes once.
	assert_exit 0 hook monitor
	assert_eq "stderr" "$ERR" ""
	assert_eq "size" "$(metric db_size_bytes)" ""
	well_formed
	# The recovery is also reported once.
	start_etcd
	assert_exit 0 hook monitor
	assert_match "stderr" "$ERR" "*etcd is healthy*"
	assert_missing "$ROOT/run/motd.d/greenboot-etcd"
	assert_exit 0 hook monitor
	assert_eq "stderr" "$ERR" ""
	# A missing directory is reported, and the others are still written.
	config metrics textfile=/var/lib/nowhere/etcd.prom
	stop_etcd
	assert_exit 1 hook monitor
	assert_match "stderr" "$ERR" "*/var/lib/nowhere/etcd.prom*"
	assert_match "motd" "$(<"$ROOT/run/motd.d/greenboot-etcd")" "*etcd is not healthy*"
	assert_eq "fingerprint" "$(fingerprint)" "$before"
	config metrics textfile=/var/lib/node/etcd.prom
	# If the device cannot be observed, etcd's part is still written, and the rest is unknown.
	mv "$ROOT/var/lib/etcd" "$ROOT/var/lib/etcd.real"
	: >"$ROOT/var/lib/etcd"
	rm -f "$ROOT/var/lib/node/etcd.prom"
	assert_exit 1 hook monitor
	assert_match "stderr" "$ERR" "*/var/lib/etcd*"
	assert_eq "healthy" "$(metric healthy)" 0
	assert_eq "protected" "$(metric protected)" ""
	assert_eq "needs" "$(grep -c needs_person "$ROOT/var/lib/node/etcd.prom")" 0
	rm "$ROOT/var/lib/etcd"
	mv "$ROOT/var/lib/etcd.real" "$ROOT/var/lib/etcd"
	# The monitor is switched off.
	rm -f "$ROOT/var/lib/node/etcd.prom"
	config health monitor=0
	assert_exit 0 hook monitor
	assert_missing "$ROOT/var/lib/node/etcd.prom"
}

# The message names restored data as such. While prerun holds etcd back, the hold is the reason.
hooks_monitor_after_a_restore() {
	a_green "$1"
	mkdir -p "$ROOT/var/lib/node"
	config metrics textfile=/var/lib/node/etcd.prom
	into_b
	b_writes
	fails_back
	a_is_back
	assert_exit 0 hook monitor
	assert_eq "restored" "$(metric restored)" 1
	assert_eq "restores" "$(metric restores)" 1
	assert_eq "verdict" "$(metric 'verdict{verdict="none"}')" 1
	assert_eq "bad" "$(metric 'backups{grade="bad"}')" 1
	assert_match "last" "$(grep "last_operation_time_seconds{" "$ROOT/var/lib/node/etcd.prom")" \
		'*operation="restore",result="done"*'
	well_formed
	stop_etcd
	echo '{"held": true, "hold": "open", "why": "because of this test", "reason": "because of this test"}' >"$ROOT/run/greenboot-etcd/prerun-done"
	assert_exit 0 hook monitor
	assert_match "motd" "$(<"$ROOT/run/motd.d/greenboot-etcd")" "*because of this test*"
	assert_eq "cannot tell" "$(metric 'health{health="cannot-tell"}')" 1
	assert_eq "held" "$(metric 'held{reason="open"}')" 1
	assert_eq "not for another reason" "$(metric 'held{reason="unknown"}')" 0
}

# ---- the shims ----

hooks_shims() {
	local shim name
	device "$1"
	power_on
	for shim in "$GBE_TOP"/greenboot.d/{check/required.d,green.d,red.d}/*.sh; do
		name=$(basename "$shim" .sh)
		name=${name#40_etcd_}
		assert_eq "$shim" "$(sed -n 2p "$shim")" "exec /usr/libexec/greenboot-etcd/$name"
		assert_eq "$shim" "$(wc -l <"$shim")" 2
		# Both flavours start it in this way: bash, noclobber, no arguments, an empty HOME.
		sed "s|/usr/libexec/greenboot-etcd/$name|$(program "$name") --root='$ROOT'|" \
			"$shim" >"$GBE_MEM/shim.sh"
		assert_exit 0 env -u HOME bash -C "$GBE_MEM/shim.sh" </dev/null
		assert_exit 0 env -u HOME bash -C "$GBE_MEM/shim.sh" </dev/null
	done
	assert_eq "runs" "$(runs)" "1.red"
}

suite_begin "$@"
FS=${FS:-xfs} play hooks health_waits health_down health_late health_held health_cannot_tell monitor monitor_after_a_restore off \
	verdict_once_and_again green_asks green_and_down fresh_is_adopted verdict_of_a_late_run \
	verdict_survives_the_power state_away prerun_dies_unchanged prerun_dies_changed \
	prerun_dies_with_a_typo others_die shims
suite_end
