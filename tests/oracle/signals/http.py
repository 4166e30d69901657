"""What one HTTP response says, as the table of `tidegate::signal::http` has it."""

import re

from exact import SECOND, U32, U64, within
from record import fnv1a
from signals.codes import aws, http_status
from signals.dates import AT, IN, NUMBER, Garbage, behind_comma, moments, scaled

TOLD, COLLECTED = 4, 8
UNITS = ["requests", "tokens", "input", "output", "bytes", "in-flight", "other"]
PERIODS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400}
WORDS = ["token", "input", "output", "bytes", "concurrent", "req", "month", *PERIODS]

EXACT = {
    "date": "date",
    "age": "age",
    "retry-after-ms": "fine",
    "x-ms-retry-after-ms": "fine",
    "x-amz-retry-after": "fine",
    "retry-after": "pause",
    "x-ratelimit-retry-after": "delay",
    "x-rate-limit-retry-after-seconds": "delay",
    "ratelimit-policy": "policy",
    "ratelimit": "service",
    "x-shopify-shop-api-call-limit": "used/limit",
    "x-amzn-errortype": "aws",
    "x-should-retry": "retry",
    "stripe-should-retry": "retry",
}
FAMILIES = {
    "ratelimit-": "ratelimit",
    "x-ratelimit-": "x-ratelimit",
    "x-rate-limit-": "x-ratelimit",
    "anthropic-ratelimit-": "anthropic",
    "x-ms-ratelimit-": "x-ms",
}
NUMBERS = ["reset-after", "reset", "remaining", "limit"]
PARAMETERS = {
    **{number: number for number in NUMBERS},
    "pk": "partition",
    "qu": "unit",
    "q": "limit",
    "r": "remaining",
    "t": "reset",
    "w": "window",
}


def least(old, new):
    return new if old is None else min(old, new)


def most(old, new):
    return new if old is None else max(old, new)


CAREFUL = {"limit": least, "left": least, "unit": least, "period": most, IN: most, AT: most, "pk": most}


class Draft:
    """A limit while its numbers come together; of two of a kind the more careful one counts."""

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

    def count(self, name, calls):
        """What is counted, and in which period, as far as a name tells."""
        seen = set()
        for word in re.findall("[A-Za-z]+", name):
            known = next((known for known in WORDS if word.lower().startswith(known)), None)
            seen.add(known)
            if known in PERIODS:
                self.tell("period", PERIODS[known] * SECOND)
        if "token" in seen:
            unit = "input" if "input" in seen else "output" if "output" in seen else "tokens"
        elif "concurrent" in seen:
            unit = "in-flight"
        elif "bytes" in seen:
            unit = "bytes"
        elif calls or seen & {"req", "month", *PERIODS}:
            unit = "requests"
        else:
            unit = "other"
        self.tell("unit", UNITS.index(unit))

    def settle(self, now):
        """Makes the numbers agree; the answer is how many made no sense."""
        ignored = 0
        limit = self.get("limit", U64)
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
                self.told[IN] = within(self.told[AT] - now)
        if "period" in self.told and IN in self.told:
            self.told[IN] = min(self.told[IN], self.told["period"])
        return ignored

    def slack(self):
        left, limit = self.get("left"), self.get("limit")
        if left is None:
            share = 2**34
        elif left == 0:
            share = 0
        elif limit is None:
            share = 2**33
        else:
            share = 2**32 + min(left * 2**32 // limit, U32)
        fewest = min(U64 if left is None else left, U64 if limit is None else limit)
        return share, fewest, -self.get(IN, 0), -self.get("period", 0), self.name

    def hint(self):
        parts = [("left", "left"), ("reset", IN), ("limit", "limit"), ("period", "period")]
        return {name: self.told[part] for name, part in parts if part in self.told}


def name_of(text):
    return fnv1a(text.encode("latin-1"))


def header(name):
    """What a header is about, the name of its limit, and the word that qualifies it."""
    name = name.lower()
    if name in EXACT:
        kind = EXACT[name]
        return kind, "shopify" if kind == "used/limit" else "ratelimit", ""
    taken = [known for known in EXACT if name.startswith(known) and known + "-" not in FAMILIES]
    if taken or name.startswith("x-ms-ratelimit-remaining-resource"):
        return None
    family = next((family for family in FAMILIES if name.startswith(family)), None)
    if family is None:
        return None
    rest = name[len(family) :]
    for number in NUMBERS:
        if rest == number:
            return number, FAMILIES[family], ""
        if rest.startswith(number):
            if rest.startswith(number + "-"):
                return number, FAMILIES[family], rest[len(number) + 1 :]
            break
    qualifier, dash, number = rest.rpartition("-")
    return (number, FAMILIES[family], qualifier) if dash and number in NUMBERS else None


TOKEN = "[!#-+\\--:<>-~]*"
STRING = re.compile(r'"((?:[ !#-\[\]-~]|\\["\\])*)"')
# Base 64 stands between colons; a backslash is judged as it is between quotes.
BYTES = re.compile(r':((?:[ -9;-\[\]-~]|\\["\\])*):')


def bare(text, at):
    """A value without its parameters: its kind, the value, and what follows."""
    for pattern in (STRING, BYTES):
        found = pattern.match(text, at)
        if found:
            return "text", found.group(1), found.end()
    found = re.compile(NUMBER).match(text, at)
    if found:
        if text[found.end() : found.end() + 1] == "." and "." not in found.group():
            raise Garbage
        return "number", found.group(), found.end()
    found = re.compile(f"(?=[A-Za-z*]){TOKEN}").match(text, at)
    if found:
        return "text", found.group(), found.end()
    found = re.compile(f"[-?@]-?{NUMBER}").match(text, at)
    if found:
        return "other", None, found.end()
    raise Garbage


def parameter(text, at, key, draft):
    kind, value = "other", None
    if text[at : at + 1] == "=":
        kind, value, at = bare(text, at + 1)
    term = PARAMETERS.get(key.lower())
    if term is None:
        return at
    if kind == "number" and term in ("limit", "remaining"):
        draft.tell({"remaining": "left"}.get(term, term), scaled(value.partition(".")[0], 0))
    elif kind == "number" and term in ("reset", "reset-after"):
        draft.tell(IN, scaled(value, 9))
    elif kind == "number" and term == "window" and scaled(value, 9) > 0:
        draft.tell("period", scaled(value, 9))
    elif kind == "text" and term == "unit":
        draft.count(value, False)
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
        found = re.compile(f"(?=[a-z*]){TOKEN}").match(text, at)
        if not found:
            raise Garbage
        at = parameter(text, found.end(), found.group(), draft)
    return kind, value, at


class Reading:
    def __init__(self, status, profile):
        self.status, self.profile, self.ignored = status, profile, 0
        self.cached = self.no_retry = False
        self.code = self.date = None
        self.pause, self.fine, self.limits = Draft(), Draft(), []

    def header(self, name, value):
        known = header(name)
        if known is None:
            return
        twin = Reading(self.status, self.profile)
        try:
            twin.read(known, value.strip(" \t"), self.code)
        except Garbage:
            self.ignored += 1
            return
        self.cached |= twin.cached
        self.no_retry |= twin.no_retry
        self.code = twin.code
        if twin.date is not None:
            self.date = twin.date if self.date is None else max(self.date, twin.date)
        self.pause.merge(twin.pause)
        self.fine.merge(twin.fine)
        for draft in twin.limits:
            self.add(draft)

    def add(self, draft):
        for known in self.limits:
            if known.name == draft.name:
                return known.merge(draft)
        if len(self.limits) == COLLECTED:
            self.ignored += 1
        else:
            fresh = Draft(draft.name)
            fresh.merge(draft)
            self.limits.append(fresh)
        return None

    def read(self, known, value, code):
        kind, name, qualifier = known
        self.code = code
        draft = Draft(name_of(qualifier or name))
        draft.count(qualifier, not qualifier or name == "x-ms")
        if kind == "age":
            self.cached = scaled(whole(NUMBER, value).partition(".")[0], 0) > 0
        elif kind == "retry":
            self.no_retry = whole("true|false", value) == "false"
        elif kind == "aws":
            said = aws(value)
            if code is None or said == "throttled":
                self.code = said
        elif kind == "used/limit":
            used, limit = whole(f"{NUMBER}/{NUMBER}", value).split("/")
            used, limit = (scaled(number.partition(".")[0], 0) for number in (used, limit))
            draft.tell("limit", limit)
            draft.tell("left", within(limit - used))
        elif kind in ("service", "policy", "limit", "remaining"):
            self.list(kind, value, draft)
        else:
            profile = {"date": None, "pause": None, "fine": "delta-millis", "reset": self.profile}
            for part, nanos in moments(value, profile.get(kind, "delta")).items():
                draft.tell(part, nanos)
        if kind == "date":
            if AT not in draft.told:
                raise Garbage
            self.date = draft.told[AT]
        elif kind in ("pause", "delay"):
            self.pause.merge(draft)
        elif kind == "fine":
            self.fine.merge(draft)
        elif draft.tells():
            self.limits.append(draft)

    def list(self, kind, value, draft):
        named, told, at = kind in ("service", "policy"), False, 0
        needed = "left" if kind in ("service", "remaining") else "limit"
        while at is not None:
            quota = Draft()
            what, content, at = item(value, at, quota)
            if what == "text" and named and needed in quota.told:
                quota.name = name_of(content)
                if kind == "policy" and "unit" not in quota.told:
                    quota.tell("unit", 0)
                self.limits.append(quota)
                told = True
            elif what == "member" and kind == "service":
                draft.merge(quota)
                told |= draft.tells()
            elif what == "number" and kind != "service":
                told = True
                number = scaled(content.partition(".")[0], 0)
                timed = needed == "limit" and "period" in quota.told
                if not named and not (timed and "limit" in draft.told):
                    draft.tell(needed, number)
                if timed:
                    both = number.to_bytes(8, "little") + quota.told["period"].to_bytes(8, "little")
                    quota.name, quota.loose = fnv1a(both), True
                    quota.tell("limit", number)
                    self.limits.append(quota)
            else:
                raise Garbage
            at = behind_comma(value, at)
        if named and not told:
            raise Garbage

    def finish(self, clock):
        now = clock if self.date is None else self.date
        limits = []
        if not self.cached:
            limits = self.joined()
            self.ignored += sum(draft.settle(now) for draft in limits)
            limits = sorted((draft for draft in limits if draft.tells()), key=Draft.slack)[:TOLD]
        pause = self.waited(now)
        answers = [[UNITS[draft.get("unit", 0)], draft.hint()] for draft in limits]
        hint = next((dict(hint) for unit, hint in answers if unit == "requests"), {})
        outcome = self.code or http_status(self.status)
        if self.code is None and self.status == 403 and (pause is not None or hint.get("left") == 0):
            outcome = "throttled"
        if pause is not None and outcome != "ok":
            hint["after"] = pause
            if answers:
                answers[0][1]["after"] = pause
        if self.no_retry:
            hint["no_retry"] = True
        return outcome, hint, answers, self.ignored

    def waited(self, now):
        """Of two pauses that differ by less than a second the finer one, else the longer one."""
        self.ignored += self.pause.settle(now) + self.fine.settle(now)
        coarse, fine = self.pause.get(IN), self.fine.get(IN)
        if coarse is None or fine is None:
            return coarse if fine is None else fine
        return coarse if coarse - fine >= SECOND else fine

    def joined(self):
        """A quota without a name belongs to the limits of as many calls."""
        loose = [draft for draft in self.limits if draft.loose]
        for draft in self.limits:
            if "period" not in draft.told:
                for quota in loose:
                    if quota.told["limit"] == draft.get("limit"):
                        draft.tell("period", quota.told["period"])
        named = [draft for draft in self.limits if not draft.loose]

        def tells_nothing_new(quota):
            same = ("limit", "period")
            return any(all(draft.get(k) == quota.told[k] for k in same) for draft in named)

        return [draft for draft in self.limits if not (draft.loose and tells_nothing_new(draft))]


def whole(pattern, value):
    if not re.fullmatch(pattern, value):
        raise Garbage
    return value
