#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The pages have the table of holds as the programs have it: `make holds` would change nothing. A case of the integration
# suites executes each way back from each kind.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

pages=(docs/operations.md data/man/greenboot-etcd-guide.7)
if [ "$PROGRAMS" != "store certs cluster" ]; then
	skip holds "optional: the table is printed by a program that needs all programs"
	finish
fi
# changes FILE: the pages that differ from the table in FILE.
changes() {
	local page

	for page in "${pages[@]}"; do
		mkdir -p "$scratch/$(dirname "$page")"
		cp "$page" "$scratch/$page"
	done
	python3 data/holds.py "$1" "$scratch" || echo "data/holds.py: failed"
	for page in "${pages[@]}"; do
		cmp -s "$page" "$scratch/$page" || echo "$page: not what src/core/decide/hold.c says; run make holds"
	done
}
"$BUILD/tests/schemas/answers" holds >"$scratch/holds.json" || not_ok holds "the program does not print them"
check holds "$(changes "$scratch/holds.json")"
sed 's/a restore is half done/a restore is whole/' "$scratch/holds.json" >"$scratch/other.json"
[ -n "$(changes "$scratch/other.json")" ] && ok holds-can-fail || not_ok holds-can-fail "another text was not noticed"
# without_case: the ways back that no case executes. The first way is the default.
without_case() {
	local kind way rest

	while read -r kind way; do
		rest="( $way)?"
		((way == 1)) || rest=" $way"
		grep -rqE "^[[:space:]]*way_back $kind$rest( \"|\$)" tests/integration ||
			echo "$kind, way $way: a case has to execute this way back (tests/integration/holds.sh)"
	done < <(jq -r '.[] | .kind as $kind | range(.ways | length) | "\($kind) \(. + 1)"' "$1")
}
check holds-cases "$(without_case "$scratch/holds.json")"
jq '(.[] | select(.kind == "corrupt").ways) += [["reboot"]] | . + [{kind: "other", ways: [["reboot"]]}]' "$scratch/holds.json" >"$scratch/other.json"
[ "$(without_case "$scratch/other.json" | cut -d: -f1 | paste -sd' ')" = "corrupt, way 2 other, way 1" ] && ok holds-cases-can-fail || not_ok holds-cases-can-fail "a way without a case was not noticed"
finish
