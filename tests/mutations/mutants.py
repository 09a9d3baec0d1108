# SPDX-License-Identifier: LGPL-2.1-or-later
"""The mutants of a C file: small mistakes, each in one place.

mutants(text) yields (offset, length, replacement, line, kind). The kinds:
  negated    the condition of an if or a while
  operator   && and ||, == and !=
  off-by-one < and <=, > and >=
  truth      true and false after return
  removed    a call whose value is not used
  swapped    two neighboring arguments of a call
"""
import re

TOKEN = re.compile(r"""
    (?P<skip>\s+ | /\*.*?\*/ | //[^\n]* | (?<![^\n])\#(?:[^\n\\]|\\.)*)
  | (?P<string>"(?:[^"\\]|\\.)*" | '(?:[^'\\]|\\.)*')
  | (?P<word>[A-Za-z_]\w*)
  | (?P<number>\d[\w.]*)
  | (?P<mark>->|\+\+|--|<<=|>>=|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|\.\.\.|.)
""", re.X | re.S)

OPERATORS = {"&&": "||", "||": "&&", "==": "!=", "!=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
TRUTH = {"true": "false", "false": "true"}
CLOSERS = {"(": ")", "[": "]", "{": "}"}
NO_CALL = {"if", "while", "for", "switch", "return", "sizeof", "typeof", "GBE_EACH"}

# Unit tests cannot see that such a call is missing: `make asan` sees leaks, and assertions guard against bugs only.
UNSEEN = re.compile(r"""(g_)?(free|assert\w*|return_(val_)?if_fail|clear_\w+|close|unlock)$
    | \w+_(free|freep|unref|clear|close|closep|release|unlock)$ | gbe_fault\w* | GBE_FAULT\w* | static_assert""", re.X)
# The order of these arguments does not matter; that of a strcmp does not if the result is compared with 0.
SYMMETRIC = re.compile(r"\w*(_equal|_same(_\w+)?)$ | gbe_same_\w+ | MIN$ | MAX$", re.X)
COMPARE = re.compile(r"g_strcmp0$|str\w*cmp$|memcmp$")


class Token:
    __slots__ = ("text", "start", "end", "line", "kind", "pair")

    def __init__(self, text, start, line, kind):
        self.text, self.start, self.end, self.line, self.kind, self.pair = text, start, start + len(text), line, kind, None


def tokens(text):
    """The tokens without space, comments and the preprocessor's lines; brackets know their pair."""
    found, opened, line = [], [], 1
    for match in TOKEN.finditer(text):
        word = match.group()
        if match.lastgroup != "skip":
            token = Token(word, match.start(), line, match.lastgroup)
            if word in CLOSERS:
                opened.append(len(found))
            elif word in CLOSERS.values() and opened:
                other = opened.pop()
                token.pair, found[other].pair = other, len(found)
            found.append(token)
        line += word.count("\n")
    return found


def arguments(found, first):
    """(start, end) of each argument in the parentheses that begin at the token of this index."""
    parts, i = [], first + 1
    start = i
    while i <= found[first].pair:
        if i == found[first].pair or found[i].text == ",":
            if i > start:
                parts.append((found[start].start, found[i - 1].end))
            start = i + 1
        i = found[i].pair + 1 if found[i].text in CLOSERS and found[i].pair else i + 1
    return parts


def mutants(text):
    found = tokens(text)
    for i, token in enumerate(found[:-1]):
        after, before = found[i + 1], found[i - 1] if i else token
        if token.text in ("if", "while") and after.text == "(" and after.pair:
            end = found[after.pair].start
            yield after.end, end - after.end, "!(" + text[after.end:end] + ")", token.line, "negated"
        if token.kind == "mark" and token.text in OPERATORS and before.kind != "mark" or \
                token.text in OPERATORS and before.text in (")", "]"):
            kind = "off-by-one" if token.text[0] in "<>" else "operator"
            yield token.start, len(token.text), OPERATORS[token.text], token.line, kind
        if token.text in TRUTH and before.text == "return" and after.text == ";":
            yield token.start, len(token.text), TRUTH[token.text], token.line, "truth"
        # A name at the beginning of a line is that of the function which is defined there.
        if token.kind != "word" or after.text != "(" or not after.pair or token.text in NO_CALL or \
                text[token.start - 1:token.start] in ("", "\n"):
            continue
        last = found[after.pair + 1] if after.pair + 1 < len(found) else token
        if before.text in (";", "{", "}", ")", "else") and last.text == ";" and not UNSEEN.match(token.text):
            yield token.start, last.end - token.start, ";", token.line, "removed"
        symmetric = SYMMETRIC.match(token.text) or COMPARE.match(token.text) and last.text in ("==", "!=")
        parts = [] if symmetric or UNSEEN.match(token.text) else arguments(found, i + 1)
        for (a, b), (c, d) in zip(parts, parts[1:]):
            if text[a:b] != text[c:d] and "." not in (text[a], text[c]):  # .name = value may stand anywhere
                yield a, d - a, text[c:d] + text[b:c] + text[a:b], token.line, "swapped"
