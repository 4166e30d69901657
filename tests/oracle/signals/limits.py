"""Limits while their numbers are collected, and their names."""

import re

from exact import MS, U32, within
from record import fnv1a
from signals.dates import AT, IN

UNITS = ["requests", "tokens", "input", "output", "bytes", "in-flight", "other"]
PERIODS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
WORDS = ["token", "input", "output", "bytes", "concurrent", "req", "month", *PERIODS]


def least(old, new):
    return new if old is None else min(old, new)


def most(old, new):
    return new if old is None else max(old, new)


CAREFUL = {
    "limit": least,
    "left": least,
    "unit": least,
    "period": most,
    IN: most,
    AT: most,
    "pk": most,
    "cost": most,
}
# What a limit counts if its name does not say, and whether it is daily.
COUNTS = {
    "x-ms": ("requests", False),
    "api-usage": ("requests", True),
    "app-limit-24hour": ("requests", True),
    "user-limit-24hour": ("requests", True),
    "daily": ("requests", True),
    "minute": ("tokens", False),
    "tokens-minute": ("tokens", False),
    "complexity": ("other", False),
    "twilio": ("in-flight", False),
    "usage": ("other", False),
}


class Draft:
    """A limit while its numbers are collected. Of two values of a kind the more conservative
    counts."""

    def __init__(self, name=0):
        self.name, self.told, self.loose = name, {}, False

    def tell(self, part, number):
        self.told[part] = CAREFUL[part](self.told.get(part), number)

    def get(self, part, default=None):
        return self.told.get(part, default)

    def merge(self, other):
        for part, number in other.told.items():
            self.tell(part, number)
        self.loose |= other.loose

    def tells(self):
        return self.loose or bool(set(self.told) - {"unit", "pk"})

    def count(self, name, counts=None):
        """What is counted and in which period, as far as a name says, and what else is known."""
        unit, is_daily = COUNTS.get(counts, (counts, False))
        seen = {{"requests": "req", "tokens": "token", "in-flight": "concurrent"}.get(unit)}
        if is_daily:
            self.tell("period", PERIODS["day"] * 1000)
        for word in re.findall("[A-Za-z]+", name):
            known = next((known for known in WORDS if word.lower().startswith(known)), None)
            seen.add(known)
            if known in PERIODS:
                self.tell("period", PERIODS[known] * 1000)
        if "token" in seen:
            unit = "input" if "input" in seen else "output" if "output" in seen else "tokens"
        elif "concurrent" in seen:
            unit = "in-flight"
        elif "bytes" in seen:
            unit = "bytes"
        elif seen & {"req", "month", *PERIODS}:
            unit = "requests"
        else:
            unit = "other"
        self.tell("unit", UNITS.index(unit))

    def settle(self, now):
        """Makes the numbers consistent. Returns how many were invalid."""
        ignored = 0
        limit = self.get("limit", U32)
        if limit == 0:
            del self.told["limit"]
            ignored += 1
        if self.get("left", 0) > limit:
            del self.told["left"]
            ignored += 1
        if AT in self.told and IN not in self.told:
            if now is None:
                del self.told[AT]
                ignored += 1
            else:
                self.told[IN] = within(self.told[AT] - now, U32 // 1000) * 1000
        # A period that does not fit is unknown: a shorter one would be too fast.
        if self.told.get("period") == U32 - 1:
            del self.told["period"]
        if "period" in self.told and IN in self.told:
            self.told[IN] = min(self.told[IN], self.told["period"])
        return ignored

    def slack(self):
        left, limit = self.get("left"), self.get("limit")
        if left is None:
            share = 2**33
        elif left == 0:
            share = 0
        elif limit is None:
            share = 2**32
        else:
            share = 1 + min(left * 2**31 // limit, 2**31 - 1)
        fewest = min(U32 if left is None else left, U32 if limit is None else limit)
        return share, fewest, -self.get(IN, -1), -self.get("period", 0), self.name

    def hint(self):
        parts = [("left", "left"), ("reset", IN), ("limit", "limit"), ("period", "period"), ("cost", "cost")]
        scale = {IN: MS, "period": MS}
        return {name: self.told[part] * scale.get(part, 1) for name, part in parts if part in self.told}


def name_of(text):
    return fnv1a(text.encode("latin-1"))
