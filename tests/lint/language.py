# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks the English of texts against tests/lint/language.words.

language.py FILE...: prints "FILE:LINE: WHAT: TEXT" for each finding. The kind of a file decides how it is read:

  Markdown, man pages, the catalog, HTML    as a person sees them: without markup, code and the rules of tables
  C, JavaScript                             comments and string literals
  shell                                     comments, and the quoted words of commands that print
  Python                                    comments and docstrings
  JSON, YAML                                titles and descriptions
  make, units, packages, settings           comments and descriptions

language.allow has the exceptions, each with a reason.
"""
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
WORDS_MOST = 25


def rules():
    """(pattern, advice) of each line of language.words: "PATTERN -> ADVICE"."""
    with open(os.path.join(HERE, "language.words"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                pattern, advice = line.rstrip("\n").split(" -> ")
                yield re.compile(pattern), advice


def allowed():
    """"FILE: TEXT" of each exception."""
    found = set()
    with open(os.path.join(HERE, "language.allow"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                found.add(line.split(" # ")[0].strip())
    return found


def blocks_of_markdown(text):
    """(line, text) of each paragraph, list item, heading and cell."""
    code = False
    start, parts = 0, []
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if re.match(r"(```|~~~)", stripped):
            code = not code
            stripped = ""
        elif code or line.startswith("    ") and not parts or stripped.startswith("<"):
            stripped = ""
        starts = re.match(r"([-*+]|\d+\.|#+|\||>)\s", stripped) or not stripped
        if starts and parts:
            yield start, " ".join(parts)
            parts = []
        if not stripped:
            continue
        if stripped.startswith("|"):
            for cell in stripped.strip("|").split(" | "):
                if not re.fullmatch(r"[-: ]*", cell):
                    yield number, cell
            continue
        if not parts:
            start = number
        parts.append(re.sub(r"^([-*+]|\d+\.|#+|>)\s+", "", stripped))
    if parts:
        yield start, " ".join(parts)


def plain_markdown(text):
    text = re.sub(r"``[^`]*``|`[^`]*`", "CODE", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\*\*|__|<[^>]*>", "", text)


def blocks_of_man(text):
    """Macros end a paragraph, but for those that only choose a font."""
    start, parts, code, tag = 0, [], False, False
    for number, line in enumerate(text.split("\n"), 1):
        # A term follows .TP.
        if tag:
            tag = False
            continue
        tag = line.startswith(".TP")
        if line.startswith((".EX", ".nf")):
            code = True
        font = re.match(r"\.(B|I|BR|RB|BI|IB|RI|IR|MR)\s+(.*)", line)
        ends = line.startswith(".") and not font or not line.strip() or code
        if ends and parts:
            yield start, " ".join(parts)
            parts = []
        if line.startswith((".EE", ".fi")):
            code = False
        if ends or line.startswith("'"):
            continue
        if not parts:
            start = number
        if font:
            macro, words = font.group(1), re.findall(r'"[^"]*"|\S+', font.group(2))
            words = [word.strip('"') for word in words]
            if len(macro) == 1:
                parts.append("CODE" if macro == "B" or len(words) < 3 else " ".join(words))
            else:
                shown = "".join(words)
                parts.append(re.sub(r"^\S*?([.,;:)]*)$", r"CODE\1", shown) if " " not in shown else shown)
        else:
            parts.append(line)
    if parts:
        yield start, " ".join(parts)


def plain_man(text):
    text = re.sub(r"\\f[BI](.*?)\\f[RP]", "CODE", text)
    text = re.sub(r"\\f.|\\&|\\%", "", text)
    return text.replace("\\-", "-").replace("\\(aq", "'").replace("\\(bu", "").replace("\\e", "\\")


def literals_of_c(text):
    """(line, text) of each run of adjacent string literals."""
    text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    text = re.sub(r"(?m)^\s*#\s*include.*$", "", text)
    literal = r'"(?:[^"\\\n]|\\.)*"'
    for run in re.finditer(r"(?:%s|[A-Z][A-Z0-9_]+)?\s*%s(?:\s*(?:%s|PRI\w+|[A-Z][A-Z0-9_]{3,}))*" % (literal, literal, literal), text):
        joined = "".join(
            part[1:-1] if part.startswith('"') else "N" for part in re.findall(r'%s|[A-Z][A-Z0-9_]{3,}' % literal, run.group())
        )
        yield text.count("\n", 0, run.start()) + 1, joined


def comments_of_c(text):
    """(line, text) of each paragraph of a comment. A line with columns, and one that is indented, begins another one."""
    literal = r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\''
    for comment in re.finditer(r"%s|/\*(.*?)\*/" % literal, text, flags=re.S):
        if comment.group(1) is None:
            continue
        start, parts = 0, []
        first = text.count("\n", 0, comment.start()) + 1
        for number, line in enumerate(comment.group(1).split("\n"), first):
            line = re.sub(r"^\s*\*? ?", "", line) if number > first else line
            own = not line.strip() or re.search(r"\S {3}|^ {2}", line) or re.match(r"\s*(-|@\w+:|\d+ )", line)
            if own and parts:
                yield start, " ".join(parts)
                parts = []
            if line.strip(" -"):
                start = start if parts else number
                parts.append(line.strip(" -"))
        if parts:
            yield start, " ".join(parts)


def comments_of_lines(text, mark):
    """(line, text) of each paragraph of comments that begin with MARK. Columns, and an indented line, begin another."""
    start, parts, margin = 0, [], None
    for number, line in enumerate([*text.split("\n"), ""], 1):
        comment = re.match(r"(\s*)%s(?!!)(?:\s(.*)|)$" % mark, line)
        words = (comment.group(2) or "") if comment else ""
        own = re.search(r"\S {3}|^ {2}|\t", words) or re.match(r"\s*(-|\d+ |SPDX|shellcheck)", words)
        if parts and (not words.strip() or own or comment.group(1) != margin):
            yield start, " ".join(parts)
            parts = []
        if words.strip(" -=") and not re.match(r"SPDX|shellcheck", words):
            start, margin = (start if parts else number), comment.group(1)
            parts.append(words.strip(" -"))


def comments_at_ends(text):
    """(line, text) of each comment of three words or more after code."""
    for match in re.finditer(r"^[^#\n]*[^#\s][^#\n]*[ \t]# (?!shellcheck)([^\n]*)$", text, flags=re.M):
        if len(match.group(1).split()) > 2 and match.group().count('"', 0, match.start(1) - match.start()) % 2 == 0:
            yield text.count("\n", 0, match.start()) + 1, match.group(1)


def messages_of_shell(text):
    """(line, text) of messages: of quoted words after a command that prints or fails, and of a command's first words."""
    says = r"\b(?:echo|printf|say|note|fail|die|broken|told|skip|skip_case|not_ok)\b(?: [^\"'\n|;&()]*)? |(?:^|[;&|{(!])\s*\w+ "
    quoted = r"""(?:"((?:[^"\\\n`]|\\.|\$\([^)\n]*\))*)"|'([^'\n]*)')"""
    for match in re.finditer("(?:%s)%s" % (says, quoted), text, flags=re.M):
        words = re.sub(r"\$\([^)]*\)|\$\{[^}]*\}|\$\w+|%[sdu]", "N", match.group(1) or match.group(2) or "")
        for part in words.split("\\n"):
            if len(part.split()) > 2:
                yield text.count("\n", 0, match.start()) + 1, part


def docstrings(text):
    """(line, text) of each paragraph of the docstrings of Python."""
    for match in re.finditer(r'^\s*"""(.*?)"""', text, flags=re.M | re.S):
        lines = re.sub(r"\n(?: {4}(?=\S))?", "\n# ", match.group(1))
        for number, part in comments_of_lines("# " + lines, "#"):
            yield text.count("\n", 0, match.start(1)) + number, part


def descriptions(text):
    """(line, text) of each description: of a package of Debian or Fedora, of a unit, of JSON and YAML."""
    found = (
        r"^(?:Description: |Description=|Summary: +)([^\n]*)(?:\n((?: [^\n]*\n)+))?|^%description[^\n]*\n((?:[^%\n][^\n]*\n)+)"
        r"|^\s*\"?(?:title|summary|description)\"?: \"([^\n]*)\",?$"
    )
    for match in re.finditer(found, text, flags=re.M):
        for group in match.groups(default=""):
            for part in re.split(r"\n *\.?\n", group):
                yield text.count("\n", 0, match.start()) + 1, part.replace('\\"', '"')


def literals_of_javascript(text):
    """(line, text) of each string of two words or more. A template's text counts without its values."""
    text = re.sub(r"(?<![:\w\"'`])//[^\n]*", "", re.sub(r"/\*.*?\*/", lambda m: "\n" * m.group().count("\n"), text, flags=re.S))
    for match in re.finditer(r'"(?:[^"\\\n]|\\.)*"|`(?:[^`\\$]|\\.|\$\{[^}`]*\}|\$)*`', text):
        words = re.sub(r"\$\{[^}]*\}", "N", match.group()[1:-1]) if match.group()[0] == "`" else match.group()[1:-1]
        if len(words.split()) > 1:
            yield text.count("\n", 0, match.start()) + 1, words


def plain_javascript(text):
    return re.sub(r"\$[0-9]", "N", text.replace('\\"', '"'))


def text_of_html(text):
    """(line, text) between tags, and of attributes that people read."""
    text = re.sub(r"<!.*?>", lambda m: "\n" * m.group().count("\n"), text, flags=re.S)
    for match in re.finditer(r'>([^<>]+)<|(?:title|alt|aria-label|placeholder)="([^"]*)"', text):
        if (match.group(1) or match.group(2) or "").strip():
            yield text.count("\n", 0, match.start()) + 1, match.group(1) or match.group(2)


def plain_c(text):
    text = re.sub(r"`[^`]*`", "CODE", text).replace("\\n", " ").replace('\\"', '"')
    return re.sub(r"%[-#0-9.*]*(?:l|ll|z|h)?[a-zA-Z]", "N", text)


def words_of(text):
    return len(re.findall(r"[A-Za-z0-9][\w'/.@=-]*", text))


def sentences(text, ends=".!?"):
    """Each sentence. A message's hint follows a semicolon."""
    text = re.sub(r"\s+", " ", text).strip()
    return re.split(r"(?<=[%s])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)\s+" % ends, text)


def check(path, table, exceptions):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if path.endswith(".css"):
        blocks, plain = comments_of_c(text), plain_c
    elif path.endswith((".c", ".h")):
        # A long literal of a test is a script or a document.
        literals = literals_of_c(text)
        if path.startswith("tests/"):
            literals = [run for run in literals if words_of(plain_c(run[1])) <= WORDS_MOST]
        blocks, plain = [*literals, *comments_of_c(text)], plain_c
    elif path.endswith((".js", ".mjs")):
        blocks, plain = [*literals_of_javascript(text), *comments_of_c(text)], plain_javascript
    elif path.endswith((".html", ".xml")):
        blocks, plain = text_of_html(text), str
    elif re.search(r"\.[1-8]$", path):
        blocks, plain = blocks_of_man(text), plain_man
    elif path.endswith((".md", ".catalog")) or os.path.dirname(path) == "data/examples":
        blocks, plain = blocks_of_markdown(text), plain_markdown
    elif path.endswith(".json"):
        blocks, plain = descriptions(text), plain_markdown
    elif path.endswith(".py") or re.match(r"#!.*python", text):
        blocks, plain = [*comments_of_lines(text, "#"), *docstrings(text)], plain_markdown
    elif path.endswith((".sh", ".bash")) or re.match(r"#!.*\b(ba)?sh\b", text):
        blocks, plain = [*comments_of_lines(text, "#+"), *comments_at_ends(text), *messages_of_shell(text)], plain_markdown
    elif path.endswith(".cil"):
        blocks, plain = comments_of_lines(text, ";"), plain_markdown
    else:
        blocks, plain = [*comments_of_lines(text, "#+"), *descriptions(text)], plain_markdown
    for line, block in blocks:
        shown = plain(block)
        if path.endswith((".c", ".h")) and len(shown.split()) < 3:
            continue
        for sentence in sentences(shown, ".!?;" if plain is plain_c else ".!?"):
            found = []
            for pattern, advice in table:
                match = pattern.search(sentence)
                if match:
                    found.append("%r: %s" % (match.group().strip(), advice))
            words = words_of(sentence)
            if words > WORDS_MOST:
                found.append("%d words" % words)
            if found and not any("%s: %s" % (path, part) in exceptions for part in (sentence, sentence[:60])):
                for what in found:
                    print("%s:%d: %s: %s" % (path, line, what, sentence[: 100 if not os.environ.get("WHOLE") else None]))


def main():
    table, exceptions = list(rules()), allowed()
    for path in sys.argv[1:]:
        check(path, table, exceptions)


if __name__ == "__main__":
    main()
