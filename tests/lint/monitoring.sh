#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The program, the documentation, the alert rules and the dashboard have the same metrics. Each alert fires in a unit
# test of promtool.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/lib.bash"

check monitoring-names "$(python3 tests/lint/monitoring.py 2>&1)"
if command -v promtool >/dev/null; then
	cp data/monitoring/alerts.yml "$scratch/alerts.yml"
	cp tests/lint/alerts.yml "$scratch/test.yml"
	python3 tests/lint/monitoring.py --rules >"$scratch/dashboard.yml"
	check monitoring-rules "$(promtool check rules "$scratch/alerts.yml" 2>&1 >/dev/null)"
	check monitoring-alerts "$(cd "$scratch" && promtool test rules test.yml 2>&1 | grep -v -e SUCCESS -e '^Unit Testing' -e '^ *$')"
	check monitoring-dashboard "$(promtool check rules "$scratch/dashboard.yml" 2>&1 >/dev/null)"
	sed -i 's/> 30 \* 86400/> 32 * 86400/' "$scratch/alerts.yml"
	! (cd "$scratch" && promtool test rules test.yml) >/dev/null 2>&1 && ok monitoring-alerts-can-fail ||
		not_ok monitoring-alerts-can-fail "a wrong limit was not found"
else
	skip monitoring-rules "promtool is not installed: make deps-all"
fi

# The guard guards: a metric that was renamed is missing from the page, the rules and the dashboard.
mkdir -p "$scratch/tree"
cp -r --parents src/app/monitor/metrics.c docs/monitoring.md data/man/greenboot-etcd-monitor.8 data/monitoring \
	tests/lint/alerts.yml "$scratch/tree/"
sed -i 's/{"protected"/{"guarded"/' "$scratch/tree/src/app/monitor/metrics.c"
found=$(cd "$scratch/tree" && python3 "$TOP/tests/lint/monitoring.py" | cut -d: -f1 | sort -u | paste -sd' ')
[ "$found" = "data/man/greenboot-etcd-monitor.8 data/monitoring/alerts.yml data/monitoring/dashboard.json docs/monitoring.md tests/lint/alerts.yml" ] &&
	ok monitoring-can-fail || not_ok monitoring-can-fail "found: $found"
finish
