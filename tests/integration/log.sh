#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
#
# The output of `greenboot-etcd log`: for A, B red, A; for requests of people; for a ledger with a hole.

# shellcheck disable=SC2317,SC2119 # cases are called by name
# shellcheck source=tests/lib/all.sh
. "$(dirname "$0")/../lib/all.sh"

LEDGER=var/lib/greenboot-etcd/ledger

# says TEXT ARG...: expects TEXT in a line of the log.
says() {
	local wanted=$1
	shift
	assert_exit 0 gbe log "$@"
	grep -qF -- "$wanted" <<<"$OUT" || fail "no \"$wanted\" in: $OUT"
}

# The first line with each text comes after the line of the text before.
in_order() {
	local wanted line at=0

	assert_exit 0 gbe log
	for wanted; do
		line=$(grep -nF -- "$wanted" <<<"$OUT" | cut -d: -f1 | awk -v at="$at" '$1 > at' | head -n 1)
		[[ $line ]] || fail "no \"$wanted\" after line $at of: $OUT"
		at=$line
	done
}

a_b_red_a() {
	a_green xfs
	into_b
	b_writes
	fails_back
}

update_that_failed() {
	a_b_red_a
	in_order "has the data" "is green, etcd healthy" "has the data; what was there before is" \
		"is red" "has the data, restored from"
	assert_exit 0 gbe --json log
	# The runs of A and B, then the restores: for B's further attempts (rule 9), and at last for A.
	assert_match "what was restored" \
		"$(jq -r '[.[] | select(.kind == "take-over") | .record.source != null] | @csv' <<<"$OUT")" \
		"false,false,true*"
	assert_eq "who has it" "$(jq -r 'last(.[] | select(.kind == "take-over")).deployment' <<<"$OUT")" \
		"${DEPLOYMENT[A]}"
	# Every listed backup has its story.
	while read -r name; do
		says "$name" --backup="$name"
	done < <(gbe list --names)
	assert_exit 0 gbe log --since=1h
	[[ $OUT == *"has the data"* ]] || fail "nothing in the last hour"
	assert_exit 0 gbe log --since=2999-01-01
	[[ $OUT == *"nothing is recorded of that kind"* ]] || fail "$OUT"
	assert_exit 2 gbe log --since=yesterdayish
}

asked_and_cancelled() {
	a_green xfs
	stop_etcd
	assert_exit 0 gbe backup one
	assert_exit 0 gbe restore one --next-boot
	assert_exit 0 gbe restore --cancel
	in_order "Backup one was made" "A person asked for one at the next boot" "The request was cancelled"
}

a_hole() {
	a_green xfs
	sed -i '2s/kind/kynd/' "$ROOT/$LEDGER"
	says "Line 2 of /var/lib/greenboot-etcd/ledger cannot be read"
	assert_exit 0 gbe --json log
	assert_eq "the hole" "$(jq '[.[] | select(.kind == "unreadable")][0].record.line' <<<"$OUT")" 2
}

# A device takes backups for a year without a start: the ledger stays short, and still names the data's owner.
stays_short() {
	local n

	a_green xfs
	A_STATE=$(etcd_state)
	stop_etcd
	{ set +x; } 2>/dev/null
	for ((n = 0; n < 200; n++)); do
		gbe backup often >/dev/null
		gbe delete often --force >/dev/null
	done
	set -x
	(($(wc -l <"$ROOT/$LEDGER") < 600)) || fail "$(wc -l <"$ROOT/$LEDGER") records"
	start_etcd
	into_b
	b_writes
	fails_back
	a_is_back
}

# A backup keeps the version of a removed system. `verify` has the order of `list`. `explain` begins with its answer.
named_systems() {
	OS_VERSION=([A]=42.20261127.0 [B]=43.20261203.0)
	a_b_red_a
	assert_eq "recorded" "$(json '[.[] | select(.grade == "bad") | .deployment_version] | unique | join(" ")' list)" 43.20261203.0
	assert_exit 0 gbe explain --booted=rollback
	assert_match "answer" "$OUT" "If ${DEPLOYMENT[B]} (rollback) boots next: *."*"  1. "*
	[[ $OUT != *trial* && $OUT != *Rule* ]] || fail "private words: $OUT"
	undeploy B
	assert_eq "of a system that is gone" \
		"$(json '[.[] | select(.present == "gone") | .deployment_version] | unique | join(" ")' list)" 43.20261203.0
	stop_etcd
	gbe --json verify >"$GBE_MEM/verified" || true
	assert_eq "the order of verify" "$(jq -r '.verified[] | select(.kind == "backup").name' "$GBE_MEM/verified")" "$(gbe list --names)"
	assert_exit 1 gbe log --backup=nope
}

suite_begin "$@"
run_case log-named-systems named_systems
run_case log-update-that-failed update_that_failed
run_case log-asked-and-cancelled asked_and_cancelled
run_case log-hole a_hole
run_case log-stays-short stays_short
suite_end
