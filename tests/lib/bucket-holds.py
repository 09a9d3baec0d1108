#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""bucket-holds.py OBJECTS CACHE [NAME=SHA256...]: reads the snapshots in a bucket of bucket-server.py from its files.
Prints the name of each snapshot that has a meta file. Fails if a snapshot is not whole: its data must end with etcd's
checksum, and must have the given SHA-256."""
import gzip
import hashlib
import json
import os
import sys

objects, cache = sys.argv[1:3]
wanted = dict(pair.split("=") for pair in sys.argv[3:])
files, bad = {}, []
seen = json.load(open(cache)) if os.path.exists(cache) else {}
for name in os.listdir(objects):
    if name.endswith(".json"):
        with open(objects + "/" + name) as facts:
            files[json.load(facts)["key"]] = objects + "/" + name[:-5]


def digest(path):
    facts = os.stat(path)
    key = "%s %d %d" % (path, facts.st_mtime_ns, facts.st_ino)
    if key not in seen:
        with gzip.open(path) as file:
            data = file.read()
        if hashlib.sha256(data[:-32]).digest() != data[-32:]:
            raise ValueError("it is no whole snapshot")
        seen[key] = hashlib.sha256(data).hexdigest()
    return seen[key]


for key in sorted(files):
    if not key.endswith("/_etcd_backup.meta"):
        continue
    entry = key[:-len("/_etcd_backup.meta")]
    name = entry.rpartition("/")[2]
    try:
        with open(files[key]) as meta:
            json.load(meta)["etcdVersion"]
        if wanted.get(name, "-") not in ("-", digest(files[entry + "/etcd.backup.gz"])):
            raise ValueError("it is another snapshot")
        print(name)
    except (OSError, EOFError, ValueError, KeyError) as error:
        bad.append("%s: %r" % (name, error))
with open(cache + ".new", "w") as file:
    json.dump(seen, file)
os.rename(cache + ".new", cache)
if bad:
    sys.exit("called complete, and it is not: " + "; ".join(bad))
