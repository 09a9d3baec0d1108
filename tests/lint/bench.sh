#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The bench: the spread of its rounds, and the age of the figures that docs/figures.md quotes.
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

# stale RESULTS FIGURES VERSION NOW: why the figures have to be taken again. NOW: seconds since 1970.
stale() {
	local date minor=${3%.*}

	date=$(grep -oEm 1 '^[0-9]{4}-[0-9]{2}-[0-9]{2}' "$1")
	[ -n "$date" ] || echo "$1: the date of the run is missing"
	[ $(($4 - $(date -ud "$date" +%s))) -le $((92 * 86400)) ] || echo "$1: the run of $date is older than three months"
	grep -qF "$date, greenboot-etcd $minor." "$1" || echo "$1: the run of $date is not of greenboot-etcd $minor"
	grep -qF "Measured on $date " "$2" || echo "$2: its figures are not those of $date"
}
# The commit's own date, so that an old commit stays as it was.
now=$(git log -1 --format=%ct 2>/dev/null || date +%s)
version=$(sed -n 's/^VERSION := //p' Makefile)
check bench-figures-are-current "$(stale tests/bench/RESULTS.md docs/figures.md "$version" "$now")"
for case in "2026-01-01 0.2.0 2026-04-30 0.2.9 older" "2026-01-01 0.2.0 2026-02-01 0.3.0 other" \
	"2026-01-01 0.2.0 2026-02-01 0.2.9 current"; do
	read -r date of today is why <<<"$case"
	echo "$date, greenboot-etcd $of, 2 x" >"$scratch/results"
	echo "Measured on $date in one run" >"$scratch/figures"
	found=$(stale "$scratch/results" "$scratch/figures" "$is" "$(date -ud "$today" +%s)")
	case $why in
	current) [ -z "$found" ] ;;
	older) [[ $found == *"older than three months" ]] ;;
	*) [[ $found == *"is not of greenboot-etcd 0.3" ]] ;;
	esac && ok "bench-figures-$why" || not_ok "bench-figures-$why" "${found:-nothing}"
done
finish
