#!/usr/bin/python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""merge.py [--check] TABLES DIR: makes DIR/*.json from TABLES, the output of tests/schemas/answers.c.

Keys, their order, types, null, words and what is required come from the tables. The rest (title, description, pattern,
minimum, the words of a text, forms) is kept from the files, since only a person can say it. --check changes nothing and
says which file differs.
"""
import json
import os
import sys

MINE = ("type", "properties", "required", "items", "enum")


def merged(new, old):
    """The node @old with the structure of @new. The members keep their order."""
    node = {}
    # The words of a text, or its only value, are finer than its type.
    for key in ("enum", "const"):
        if key in old and "type" in new and fits(old[key] if key == "enum" else [old[key]], new["type"]):
            new = {k: v for k, v in new.items() if k != "type"}
            new[key] = old[key]
    if "enum" in new and "enum" in old and set(new["enum"]) == set(old["enum"]):
        new = dict(new, enum=old["enum"])
    for key in list(old) + [key for key in new if key not in old]:
        if key == "properties" and key in new:
            before = old.get(key, {})
            node[key] = {k: merged(v, before.get(k, {})) for k, v in new[key].items()}
        elif key == "items" and key in new:
            node[key] = merged(new[key], old.get(key, {}))
        elif key in new:
            node[key] = new[key]
        elif key not in MINE or new == {}:
            node[key] = old[key]
    return node


def fits(values, types):
    types = types if isinstance(types, list) else [types]
    python = {"string": str, "boolean": bool, "null": type(None), "integer": int}
    return "array" not in types and "object" not in types and ("null" in types) == (None in values) and all(
        any(type(value) is python.get(name) for name in types) for value in values)


def member(field):
    kind = field["kind"]
    null = not field["always"] and not field["later"]
    if kind == "string":
        return {"type": ["string", "null"] if null else "string"}
    if kind == "said":
        return {"type": "string"}
    if kind == "known":
        return {"type": ["integer", "null"] if null else "integer"}
    if kind in ("integer", "number", "boolean"):
        return {"type": kind}
    if kind == "tri":
        return {"type": ["boolean", "null"]}
    if kind == "word":
        return {"enum": [word for word in field["words"] if word is not None or null]}
    if kind in ("strings", "names"):
        return {"type": ["array", "null"] if kind == "names" and null else "array", "items": {"type": "string"}}
    if kind == "list":
        return {"type": "array", "items": structure([field["fields"]], False)}
    if kind in ("object", "maybe"):
        node = structure([field["fields"]], False)
        if kind == "maybe" and null or field["or_null"]:
            node["type"] = ["object", "null"]
        return node
    return {}


def structure(forms, answer):
    """An object that has one of the @forms, tables."""
    properties = {"schema": {"const": 1}} if answer else {}
    for fields in forms:
        for field in fields:
            properties.setdefault(field["key"], member(field))
    required = [key for key in properties if key == "schema" or all(
        any(field["key"] == key and not field["later"] for field in fields) for fields in forms)]
    return {"type": "object", "properties": properties, "required": required}


def with_more(new, old):
    """@new with the members of @old that no table has."""
    extra = {key: value for key, value in old.get("properties", {}).items() if key not in new["properties"]}
    required = [key for key in extra if key in old.get("required", [])]
    return dict(new, properties=dict(new["properties"], **extra), required=new["required"] + required)


def structures(tables):
    """File name -> structure. "and more": members that no table has are kept. None: written by hand. An answer made of
    other answers has key -> file name."""
    made, forms = {}, {}
    for answer in tables:
        name = answer["file"]
        if answer["form"] == "by hand":
            made[name] = None
        elif answer["form"] == "parts":
            words = answer["text"].split()
            made[name] = dict(zip(words[::2], words[1::2]))
        elif answer["form"] == "mixed":
            made[name] = dict(structure([answer["fields"]], True), **{"and more": True})
        else:
            forms[name] = forms.get(name, []) + [answer["fields"]]
            node = structure(forms[name], True)
            is_array = answer["form"] == "array" or made.get(name, {}).get("type") == "array"
            made[name] = {"type": "array", "items": node} if is_array else node
    return made


def main():
    check = sys.argv[1] == "--check"
    tables, directory = sys.argv[-2:]
    with open(tables) as file:
        made = structures(json.load(file))
    wrong = {name: "it is in no line of tests/schemas/answers.h" for name in (
        path[:-5] for path in os.listdir(directory) if path.endswith(".json")) if name not in made}
    whole = {}
    for name, new in sorted(made.items(), key=lambda item: (item[1] is not None and "type" not in item[1], item[0])):
        path = os.path.join(directory, name + ".json")
        before = "{}\n"
        if os.path.exists(path):
            with open(path) as file:
                before = file.read()
        whole[name] = json.loads(before)
        if new is not None and new.pop("and more", False):
            new = with_more(new, whole[name])
        if new is not None and "type" in new:
            whole[name] = merged(new, whole[name])
        elif new is not None:
            parts = {"schema": {"const": 1}}
            parts.update((key, {k: v for k, v in whole[part].items() if k not in ("$schema", "title")})
                         for key, part in new.items())
            whole[name].update(properties=parts, required=list(parts))
        after = json.dumps(whole[name], indent=2, ensure_ascii=False) + "\n"
        if after == before:
            continue
        if check:
            wrong[name] = "differs from its table: make schemas"
        else:
            with open(path, "w") as file:
                file.write(after)
    for name, why in sorted(wrong.items()):
        print("%s.json: %s" % (name, why))
    return 0


if __name__ == "__main__":
    sys.exit(main())
