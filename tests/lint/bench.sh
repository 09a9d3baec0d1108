#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the bench says of the spread of its rounds.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"
# shellcheck source=tests/bench/measure.sh
. tests/bench/measure.sh

# The ranks of the sign test at 95 %, as its tables have them: rounds, lower, upper.
SAMPLES=$scratch
while read -r rounds low high; do
	seq "$rounds" | shuf >"$SAMPLES/ours"
	yes 1 | head -n "$rounds" >"$SAMPLES/theirs"
	got=$(interval ours theirs)
	if [ "$got" = "${low:+$low.00 to $high.00}" ]; then
		ok "bench-interval-of-$rounds"
	else
		not_ok "bench-interval-of-$rounds" "$got instead of $low to $high"
	fi
done <<-END
	5
	6 1 6
	9 2 8
	20 6 15
	31 10 22
	40 14 27
END
finish
