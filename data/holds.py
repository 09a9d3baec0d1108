#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Write the table of holds (src/core/decide/hold.c) into the pages, between their marks: `make holds`.

usage: holds.py HOLDS.json DIRECTORY
"""
import json
import re
import sys

# The placeholders of a page for the facts of a device.
FACTS = {
    "service": "etcd", "mount": "UNIT", "end": "kill PID", "old": "DIRECTORY", "command": "VERB",
    "backup": "NAME", "spare": "NAME", "store": "UNIT", "reboot": "systemctl reboot", "newer": "rpm-ostree rollback",
}


def steps_of(way):
    return [re.sub(r"\{(\w+)\}", lambda place: FACTS[place.group(1)], step) for step in way]


def sentence(text):
    return text[0].upper() + text[1:] if not text.startswith(("etcd", "greenboot")) else text


def is_unprotected(steps):
    return steps[0].startswith("systemctl mask --runtime")


def markdown(holds):
    lines = ["| reason | why etcd waits | the way back |", "|---|---|---|"]
    for hold in holds:
        ways = []
        for steps in map(steps_of, hold["ways"]):
            way = "start etcd without protection, as below" if is_unprotected(steps) else ", then ".join(
                "`%s`" % step for step in steps)
            ways.append(way)
        lines.append("| %s | %s | %s |" % (sentence(hold["what"]), hold["safe"], ". Otherwise: ".join(ways)))
    return lines


def roff(holds):
    lines = []

    def plain(text):
        return text.replace("\\", "\\e").replace("-", "\\-")

    for hold in holds:
        lines += [".TP", ".B " + sentence(hold["what"]), hold["safe"]]
        for number, steps in enumerate(map(steps_of, hold["ways"])):
            if is_unprotected(steps):
                lines.append(("Otherwise start" if number else "Start") + " etcd without protection, as below.")
                continue
            lines.append("Otherwise:" if number else "The way back:")
            lines += [".RS", ".nf"] + ["# " + plain(step) for step in steps] + [".fi", ".RE"]
    return lines


PAGES = {
    "docs/operations.md": (markdown, "<!-- holds: begin (make holds) -->", "<!-- holds: end -->"),
    "data/man/greenboot-etcd-guide.7": (roff, '.\\" holds: begin (make holds)', '.\\" holds: end'),
}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        holds = json.load(file)
    for path, (make, begin, end) in PAGES.items():
        path = sys.argv[2] + "/" + path
        with open(path, encoding="utf-8") as file:
            text = file.read()
        before, rest = text.split(begin + "\n")
        after = rest.split(end + "\n")[1]
        text = before + begin + "\n" + "\n".join(make(holds)) + "\n" + end + "\n" + after
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main()
