#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""monitoring.py: compares the metrics of the program with docs/monitoring.md, greenboot-etcd-monitor(8), the alert rules,
their unit tests and the dashboard. Prints each difference. With --rules: prints the queries of the dashboard as recording
rules, for promtool."""

import json
import re
import sys

PROGRAM = "src/app/monitor/metrics.c"
PAGE = "docs/monitoring.md"
MAN = "data/man/greenboot-etcd-monitor.8"
RULES = "data/monitoring/alerts.yml"
TESTS = "tests/lint/alerts.yml"
DASHBOARD = "data/monitoring/dashboard.json"


def text(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def table():
    """The table in the program: {name: (labels, help)}."""
    rows = re.findall(r'\[METRIC_\w+\] = \{"(\w+)",\s*"([\w,]*)",\s*((?:"[^"]*"\s*)+)\}', text(PROGRAM))
    return {name: (labels, "".join(re.findall(r'"([^"]*)"', words))) for name, labels, words in rows}


def queries():
    """("PANEL", query) of each query of the dashboard, and of the query of a variable."""
    dashboard = json.loads(text(DASHBOARD))
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield panel["title"], target["expr"]
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query":
            label_values = re.fullmatch(r"label_values\((.*), \w+\)", variable["query"]["query"])
            yield variable["name"], label_values.group(1)


def page_findings(metrics):
    page = text(PAGE)
    rows = dict(re.findall(r"^\| `([a-z_]+(?:\{[\w,]+\})?)` \| ([^|]*?) \|", page, re.M))
    named = {}
    for name, (labels, words) in metrics.items():
        named[name + ("{%s}" % labels if labels else "")] = words
    for name, words in named.items():
        if name not in rows:
            yield f"{PAGE}: {name} is missing"
        elif rows[name] != words:
            yield f"{PAGE}: {name}: the program says: {words}"
    for name in rows.keys() - named.keys():
        yield f"{PAGE}: {name}: the program has no such metric"
    man = text(MAN).partition(".SH METRICS")[2].partition(".SH FILES")[0]
    for name in metrics:
        if not re.search(rf"(?<![\w]){name}(?![\w])", man):
            yield f"{MAN}: {name} is missing"


def name_findings(metrics):
    """Names and labels that are used but not written."""
    free = {"job", "instance"}
    for path in (RULES, TESTS, PAGE):
        for name in re.findall(r"greenboot_etcd_([a-z_]+[a-z])", text(path)):
            if name not in metrics:
                yield f"{path}: {name}: the program has no such metric"
    for where, query in queries():
        used = re.findall(r"greenboot_etcd_(\w+)(?:\{([^}]*)\})?", query)
        if not used:
            yield f"{DASHBOARD}: {where}: no metric in {query}"
        for name, matchers in used:
            labels = set(re.findall(r'(\w+)(?:=~|!~|!=|=)"', matchers))
            if name not in metrics:
                yield f"{DASHBOARD}: {where}: {name}: the program has no such metric"
            elif not labels <= free | set(metrics[name][0].split(",")):
                yield f"{DASHBOARD}: {where}: {name} has no label {', '.join(labels)}"


def alert_findings():
    alerts = set(re.findall(r"- alert: (\w+)", text(RULES)))
    shown = set(re.findall(r"^\| `(Greenboot\w+)` \|", text(PAGE), re.M))
    fired = set(re.findall(r'alertname="(\w+)"', text(TESTS)))
    for name in sorted(alerts ^ shown):
        yield f"{PAGE}: {name}: the page and {RULES} differ"
    for name in sorted(alerts - fired):
        yield f"{TESTS}: {name} never fires"


def main():
    if sys.argv[1:] == ["--rules"]:
        rules = [{"record": f"q{n}", "expr": query} for n, (_, query) in enumerate(queries())]
        json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, sys.stdout)
        return
    metrics = table()
    if len(metrics) < 20:
        print(f"{PROGRAM}: only {len(metrics)} metrics were found")
    for finding in (*page_findings(metrics), *name_findings(metrics), *alert_findings()):
        print(finding)


main()
