"""The part of structured fields (RFC 9651) that the `RateLimit` fields use."""

import re

from exact import within
from signals.dates import IN, MOST, NUMBER, Garbage, scaled, whole
from signals.limits import name_of
from signals.names import NUMBERS

PARAMETERS = {
    **{number: number for number in NUMBERS},
    "pk": "partition",
    "qu": "unit",
    "q": "limit",
    "r": "remaining",
    "t": "reset",
    "w": "window",
    "a": "remaining",
    "c": "cost",
}


TOKEN = "[!#-+\\--:<>-~]+"
STRING = re.compile(r'"((?:[ !#-\[\]-~]|\\.)*)"', re.DOTALL)
# Base 64 is enclosed in colons. A backslash is parsed as in quotes.
BYTES = re.compile(r':((?:[ -9;-\[\]-~]|\\.)*):', re.DOTALL)


def bare(text, at):
    """A value without its parameters: its kind, the value, and the rest of the text."""
    for pattern in (STRING, BYTES):
        found = pattern.match(text, at)
        if found:
            return "text", found.group(1), found.end()
    found = re.compile(NUMBER).match(text, at)
    if found:
        if text[found.end() : found.end() + 1] == "." and "." not in found.group():
            raise Garbage
        return "number", found.group(), found.end()
    found = re.compile(f"(?![0-9:]){TOKEN}").match(text, at)
    if found:
        return "text", found.group(), found.end()
    raise Garbage


def parameter(text, at, key, draft):
    kind, value = "other", None
    if text[at : at + 1] == "=":
        kind, value, at = bare(text, at + 1)
    term = PARAMETERS.get(key.lower())
    if term is None:
        return at
    if kind == "number" and term in ("limit", "remaining"):
        draft.tell({"remaining": "left"}.get(term, term), whole(value))
    elif kind == "number" and term in ("reset", "reset-after"):
        draft.tell(IN, within(scaled(value, 3), MOST))
    elif kind == "number" and term == "window" and within(scaled(value, 3), MOST) > 0:
        draft.tell("period", within(scaled(value, 3), MOST))
    elif kind == "number" and term == "cost":
        draft.tell("cost", whole(value))
    elif kind == "text" and term == "unit":
        draft.count(value)
    elif kind == "text" and term == "partition":
        draft.tell("pk", name_of(value))
    else:
        raise Garbage
    return at


def item(text, at, draft):
    kind, value, at = bare(text, at)
    if kind == "text" and text[at : at + 1] == "=":
        return "member", None, parameter(text, at, value, draft)
    while text[at : at + 1] == ";":
        at = re.compile("[ \t]*").match(text, at + 1).end()
        if text[at : at + 1] == '"':
            kind, value, at = bare(text, at)
            continue
        found = re.compile(TOKEN).match(text, at)
        if not found:
            raise Garbage
        at = parameter(text, found.end(), found.group(), draft)
    return kind, value, at
