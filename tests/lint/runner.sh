#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The runner of the suites finds each failure. A suite that crashes, hangs, prints nothing or skips in CI does not pass,
# and the totals add up.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

suite() {
	printf '#!/bin/bash\n%s\n' "$2" >"$scratch/$1.sh"
	chmod +x "$scratch/$1.sh"
}

# expect NAME STATUS LAST-LINE CI SUITE...: runs the suites, wants that status and last line.
expect() {
	local name=$1 status=$2 last=$3 ci=$4 got output
	shift 4

	output=$(env -u TEST -u NO_SUITE_IS_FINE TOP="$TOP" CI="$ci" TEST_LOGS="$scratch/logs" V=0 JOBS=2 \
		SUITE_TIMEOUT=2 tests/run-suites "${kind:-fake}" "${@/#/$scratch/}" 2>&1)
	got=$?
	if [ "$got" -eq "$status" ] && [ "$(tail -n 1 <<<"$output")" = "$last" ]; then
		ok "runner-$name"
	else
		not_ok "runner-$name" "status $got, said: $(tail -n 1 <<<"$output")"
	fi
}

suite good 'echo ok a; echo ok b: with text'
suite bad 'echo ok a; echo not ok b: because; exit 1'
suite polite 'echo not ok b: but exits 0'
suite mute 'exit 0'
suite crash 'echo ok a; kill -SEGV $$'
suite hang 'echo ok a; sleep 60'
suite skips 'echo ok a; echo skip b: no luck'
suite optional 'echo ok a; echo skip b: optional: not here'
suite unit 'echo "50%: Checks: 4, Failures: 1, Errors: 1"; exit 1'
suite checked 'echo "100%: Checks: 7, Failures: 0, Errors: 0"'

expect adds-up 0 '2 passed, 0 failed' false good.sh
expect failure 1 '3 passed, 1 failed' false good.sh bad.sh
expect exit-0-is-not-enough 1 '0 passed, 1 failed' false polite.sh
expect says-nothing 1 '0 passed, 1 failed' false mute.sh
expect crash 1 '1 passed, 1 failed' false crash.sh
expect hang 1 '1 passed, 1 failed' false hang.sh
expect is-not-there 1 '0 passed, 1 failed' false nobody.sh
expect no-suite 1 '0 passed, 1 failed' false
expect skip 0 '1 passed, 0 failed, 1 skipped' false skips.sh
expect skip-in-ci 1 '1 passed, 1 failed, 1 skipped' true skips.sh
expect optional-skip-in-ci 0 '1 passed, 0 failed, 1 skipped' true optional.sh
expect unit-failures 1 '2 passed, 2 failed' false unit.sh
expect unit 0 '7 passed, 0 failed' false checked.sh

# A failed case is played a second time alone, if AGAIN allows it, if the case can be chosen, and at most AGAIN times.
# shellcheck disable=SC2016 # the suite expands it
slow='if [ "${CASE-}" = b@x ]; then echo ok b@x; else echo ok a; echo "not ok b@x: slow"; exit 1; fi'
suite slow "$slow"
suite slower "${slow//b@x/c}"
suite wrong 'echo "not ok b: wrong"; exit 1'
export AGAIN=1
kind=integration expect again 0 '4 passed, 0 failed' true good.sh slow.sh
kind=integration expect again-wrong 1 '2 passed, 1 failed' true good.sh wrong.sh
kind=integration expect again-mute 1 '2 passed, 1 failed' true good.sh mute.sh
kind=integration expect again-too-many 1 '2 passed, 2 failed' true slow.sh slower.sh
kind=unit expect never-again 1 '1 passed, 1 failed' true slow.sh
unset AGAIN
kind=integration expect not-again 1 '1 passed, 1 failed' true slow.sh

mkdir -p "$scratch/x" "$scratch/y"
echo '3 0 1' >"$scratch/x/totals"
total=$(tests/run-totals "$scratch/x" "$scratch/x") && [ "$total" = '6 passed, 0 failed, 2 skipped' ] &&
	ok totals-add-up || not_ok totals-add-up "$total"
total=$(tests/run-totals "$scratch/x" "$scratch/y") &&
	not_ok totals-missing-part "a part that left no total passed" || ok totals-missing-part
finish
