# SPDX-License-Identifier: LGPL-2.1-or-later
"""Asks the programs whether they accept the calls of greenboot-etcd that messages and pages advise.

hints.py BUILD FILE...: prints "FILE:LINE: CALL: WHY" for each call that BUILD/greenboot-etcd refuses. With --version, the
program checks a whole call and does nothing. Of C, a call is between backquotes, or begins a string literal. Of other
files it also begins a line of an example, or is in a font of a man page. A name without arguments or options, as
`restore`, is not a call on a page, but in a message.
"""
import functools
import os
import re
import shlex
import subprocess
import sys

from language import literals_of_c

PROGRAM = "greenboot-etcd"
PLACEHOLDER = "placeholder"
# A call ends before these words and signs of a shell.
ENDS = re.compile(r"\s(?:[|&;<>]|2>|#\s).*|[;,.:]$|;\s.*")


def main():
    build = sys.argv[1]
    for path in sys.argv[2:]:
        for line, call in sorted(set(calls(path, verbs(build)))):
            why = refusal(build, call, path.endswith((".c", ".h")))
            if why:
                print("%s:%d: %s: %s" % (path, line, call, why))


def run(build, *words):
    return subprocess.run([os.path.join(build, PROGRAM), *words], capture_output=True, text=True, check=False)


@functools.lru_cache(None)
def verbs(build):
    """The verbs of all programs."""
    printed = run(build, "help", "--lines").stdout
    found = set(re.findall(r"^  ([a-z]+)", printed, flags=re.M))
    if not found:
        sys.exit("%s: help --lines printed no verb" % build)
    return frozenset(found)


@functools.lru_cache(None)
def refusal(build, call, complete):
    """Why the program refuses @call, or "". Without @complete, arguments may be missing."""
    try:
        words = shlex.split(call)[1:]
    except ValueError:
        return "cannot be split into words"
    if not words or words[0].startswith(PLACEHOLDER) or "VERB" in words:
        return ""
    why = refused(build, words)
    # "mark %s NAME": any of the words that are possible.
    choice = re.search(r'takes (\w+) or .* not "%s"' % PLACEHOLDER, why)
    if choice:
        words[words.index(PLACEHOLDER)] = choice.group(1)
        why = refused(build, words)
    return why if complete or "needs its argument" not in why else ""


def refused(build, words):
    done = run(build, "--version", *words)
    return done.stderr.strip().removeprefix(PROGRAM + ": ") if done.returncode else ""


def calls(path, known):
    """(line, call) of a file, with the name of the program first and a word instead of each placeholder."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    for line, found in spans_of(path, text, known):
        found = ENDS.sub("", re.sub(r"\s+", " ", found).strip())
        words = found.split(" ")
        if words[0] in known and len(words) > 1 and re.match(r"[a-z]+$|-|%s|@|/|[A-Z]", words[1]):
            words.insert(0, PROGRAM)
        if words[0] == PROGRAM and len(words) > 1:
            yield line, " ".join(plain(words))


def plain(words):
    """A word instead of each placeholder: N, %s, ${name}. A list of alternatives becomes the first of them."""
    call = re.sub(r"\$\{[^}]*\}|%(?:s|u|i|\([a-z]+\)s)|\{[a-z]+\}", PLACEHOLDER, " ".join(words))
    call = re.sub(r"\[[^]]*\]|\.\.\.", "", call)
    return [word.split("|")[0] if "://" not in word else word for word in call.split()]


def spans_of(path, text, known):
    if path.endswith((".c", ".h")):
        for line, literal in literals_of_c(text):
            literal = literal.replace("\\n", "\n").replace('\\"', '"')
            for span in re.findall(r"`([^`]*)`", literal):
                yield line, span
            bare = re.fullmatch(PROGRAM + r" ([a-z-]+)( [-a-zA-Z{}%]+)*", literal)
            if bare and bare.group(1) in known:
                yield line, literal
    elif re.search(r"\.[1-8]$", path):
        yield from spans_of_man(text)
    else:
        yield from spans_of_text(text, path.endswith(".md"))


def spans_of_man(text):
    example = False
    for number, line in enumerate(text.split("\n"), 1):
        line = line.replace("\\-", "-").replace("\\(aq", "'").replace("\\&", "").replace("\\e", "\\")
        example = line.startswith((".EX", ".nf")) or example and not line.startswith((".EE", ".fi"))
        if example and re.match(r"(# )?%s " % PROGRAM, line):
            yield number, line.removeprefix("# ")
        for span in re.findall(r"\\fB(.*?)\\f[RP]", line):
            yield number, span
        font = re.match(r"\.B (.*)|\.BR \"([^\"]*)\"", line)
        if font:
            yield number, (font.group(1) or font.group(2)).strip('"')


def spans_of_text(text, markdown):
    rest, code = [], False
    for number, line in enumerate(text.split("\n"), 1):
        fence = markdown and line.strip().startswith("```")
        code = code != fence
        example = re.match(r"\s*(?:[#$] )?(?:sudo )?(%s .*)" % PROGRAM, line)
        if example and (code or line.startswith("    ")):
            yield number, example.group(1)
        rest.append("" if code or fence else line)
    rest = "\n".join(rest)
    for match in re.finditer(r"`([^`]+)`", rest):
        yield rest.count("\n", 0, match.start()) + 1, match.group(1)


if __name__ == "__main__":
    main()
