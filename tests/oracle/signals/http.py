"""What one HTTP response says, as the table of `tidegate::signal::http` has it."""

import re

from exact import SECOND, within
from record import fnv1a
from signals.codes import aws, http_status
from signals.dates import AT, IN, NUMBER, Garbage, behind_comma, moments, scaled
from signals.limits import UNITS, Draft, name_of
from signals.names import header
from signals.structured import item

TOLD, COLLECTED = 4, 8


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
        if (
            self.code is None
            and self.status == 403
            and (pause is not None or hint.get("left") == 0)
        ):
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
