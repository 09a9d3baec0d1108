#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""fits.py SCHEMAS DIR: compares DIR/fits.json with a schema, many times. Each line of the pipe DIR/fits names a schema.
Each answer is a line in the pipe DIR/fitting: the difference, or an empty line. One process answers all questions of a
suite, since its start takes much longer than an answer."""
import json
import sys

import jsonschema


def once(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError("a key twice: " + str(keys))
    return dict(pairs)


def complaint(name):
    try:
        with open("%s/%s.json" % (sys.argv[1], name)) as file:
            schema = json.load(file)
        with open(sys.argv[2] + "/fits.json") as file:
            value = json.load(file, object_pairs_hook=once)
        validator = jsonschema.Draft7Validator(schema)
        return "; ".join("%s %s" % (list(error.absolute_path), error.message) for error in validator.iter_errors(value))
    except Exception as error:
        return repr(error)


while True:
    with open(sys.argv[2] + "/fits") as pipe:
        name = pipe.readline().strip()
    if name:
        answer = complaint(name).replace("\n", " ")
        with open(sys.argv[2] + "/fitting", "w") as pipe:
            pipe.write(answer + "\n")
