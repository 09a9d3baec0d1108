#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The pages have the table of holds as the programs have it: `make holds` would change nothing. A case of the integration
# suites executes the way back from each kind.
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
# without_case: the kinds whose way back no case executes.
without_case() {
	local kind

	for kind in $(jq -r '.[].kind' "$scratch/holds.json") "$@"; do
		grep -rqE "^[[:space:]]*way_back $kind( |\$)" tests/integration || echo "$kind: a case has to execute its way back (tests/integration/holds.sh)"
	done
}
check holds-cases "$(without_case)"
[ "$(without_case other | wc -l)" -gt "$(without_case | wc -l)" ] && ok holds-cases-can-fail || not_ok holds-cases-can-fail "a kind without a case was not noticed"
finish
