#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""many.py DIRECTORY DEPLOYMENT: many.list and many.log: 1,000 backups of 200 runs, as list and log would have them."""
import json
import sys

RUNS, OF_EACH, NOW = 200, 5, 1700000000
directory, present = sys.argv[1:]
lanes = [present] + ["fedora-iot-%064x.%d" % (0xabc000 + n, n % 2) for n in range(5)]
backups, log = [], []
for n in range(RUNS):
    lane, run, at = lanes[n // 7 % len(lanes)], "%032x" % (n + 1), NOW + n * 86400
    log.append({"schema": 1, "sequence": len(log) + 1, "time": at, "kind": "take-over", "deployment": lane, "run": run,
                "text": "%s has the data" % lane, "detail": False,
                "record": {"source": backups[-3]["name"] if n % 10 == 9 else None, "asked": n % 20 == 9}})
    log.append({"schema": 1, "sequence": len(log) + 1, "time": at + 60, "kind": "verdict", "deployment": lane, "run": run,
                "text": "The run is green", "detail": False,
                "record": {"verdict": ("green", "red", "none")[n % 3], "health": "healthy", "by_hand": False}})
    for m in range(OF_EACH):
        name = "%s_%s%s" % (lane, run, "~%d" % (m + 1) if m else "")
        log.append({"schema": 1, "sequence": len(log) + 1, "time": at + 90 + m, "kind": "backup", "deployment": lane, "run": run,
                    "text": "Backup %s was made" % name, "detail": False, "record": {"backup": name}})
        backups.append({
            "schema": 1, "name": name, "deployment": lane, "run": run, "sequence": len(log), "grade": ("good", "unproven", "bad")[m % 3],
            "verdict": "green", "health": "healthy", "created": at + 90 + m, "etcd_version": "3.5", "revision": len(log) * 100,
            "cluster_id": "ac3dbb102d1ed3fb", "member_id": "8fe7e3875a8a425a", "size": 64028672, "db_size": 25165824 + 4096 * m, "exclusive": 4096 * m, "method": "reflink",
            "pinned": m == 4, "set_aside": False, "consumed": False, "present": "booted" if lane == present else "gone",
            "description": None, "origin": "automatic", "state": "complete", "why": None})
for name, entries in (("list", backups[::-1]), ("log", log)):
    with open("%s/many.%s" % (directory, name), "w", encoding="utf-8") as out:
        json.dump(entries, out)
