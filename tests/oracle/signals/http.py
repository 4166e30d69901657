"""Reads one HTTP response like the table of `tidegate::signal::http`."""

import re

from exact import MS, SECOND, within
from signals.codes import aws, http_status
from signals.dates import AT, IN, MOST, NUMBER, Garbage, behind_comma, moments, scaled, whole
from signals.limits import COUNTS, UNITS, Draft, name_of
from signals.names import header
from signals.structured import item

TOLD, COLLECTED = 4, 8


class Reading:
    def __init__(self, status):
        self.status, self.ignored = status, 0
        self.cached = self.concurrency = self.exhausted = False
        self.code = self.date = self.should_retry = None
        self.cooldown, self.fine, self.limits = Draft(), Draft(), []

    def header(self, name, value):
        known = header(name)
        if known is None:
            return
        twin = Reading(self.status)
        try:
            twin.read(known, value.strip(" \t"), self.code)
        except Garbage:
            self.ignored += 1
            return
        self.cached |= twin.cached
        if twin.should_retry is not None and self.should_retry is not False:
            self.should_retry = twin.should_retry
        self.concurrency |= twin.concurrency
        self.exhausted |= twin.exhausted
        self.code = twin.code
        if twin.date is not None:
            self.date = twin.date if self.date is None else max(self.date, twin.date)
        self.cooldown.merge(twin.cooldown)
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
        draft.count(qualifier, name if name in COUNTS else None if qualifier else "requests")
        if kind == "age":
            self.cached = whole(matched(NUMBER, value)) > 0
        elif kind == "retry":
            self.should_retry = matched("true|false", value.lower()) == "true"
        elif kind == "aws":
            said = aws(value)
            if code is None or said == "throttled":
                self.code = said
        elif kind == "reason":
            self.concurrency = matched("[!-~]*", value).endswith("concurrency") or name == "twilio"
        elif kind == "status":
            if matched("[!-~]*", value) == "rejected":
                self.exhausted = True
                draft.tell("left", 0)
        elif kind == "usage":
            share, regain = "call_count|total_cputime|total_time", "estimated_time_to_regain_access"
            numbers = f'"({share}|{regain})"[ \t]*:[ \t]*([0-9]*\\.?[0-9]*)'
            for key, number in re.findall(numbers, value):
                number = whole(matched(NUMBER, number))
                if key != regain:
                    draft.tell("limit", 100)
                    draft.tell("left", within(100 - number))
                elif number > 0:
                    draft.tell(IN, within(number * 60_000, MOST))
                    self.cooldown.tell(IN, draft.told[IN])
        elif kind == "period":
            draft.tell("period", within(scaled(matched(NUMBER, value), 0), MOST))
            if draft.told["period"] == 0:
                raise Garbage
        elif kind == "cost":
            draft.tell("cost", whole(matched(NUMBER, value)))
        elif kind == "utilization":
            draft.tell("limit", 1000)
            draft.tell("left", within(1000 - int(float(matched(NUMBER, value)) * 1000)))
        elif kind == "used/limit":
            named = f"(?:[A-Za-z]+[^=]*=({NUMBER})/({NUMBER})(?:[;,].*)?)|({NUMBER})/({NUMBER})"
            found = re.fullmatch(named, value, re.DOTALL)
            if not found:
                raise Garbage
            used, limit = (part for part in found.groups() if part is not None)
            used, limit = (whole(number) for number in (used, limit))
            draft.tell("limit", limit)
            draft.tell("left", within(limit - used))
        elif kind in ("service", "policy", "limit", "remaining"):
            self.list(kind, value, draft)
        else:
            scales = {"date": "any", "cooldown": "any", "fine": "millis", "reset": "size"}
            for part, value_of in moments(value, scales.get(kind, "seconds")).items():
                draft.tell(part, value_of)
        if kind == "date":
            if AT not in draft.told:
                raise Garbage
            self.date = draft.told[AT]
        elif kind in ("cooldown", "delay"):
            self.cooldown.merge(draft)
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
                if kind == "service" and not {IN, "limit"} & set(quota.told) and "period" in quota.told:
                    quota.tell(IN, quota.told.pop("period"))
                if kind == "policy" and "unit" not in quota.told:
                    quota.tell("unit", 0)
                self.limits.append(quota)
                told = True
            elif what == "member" and kind == "service":
                draft.merge(quota)
                told |= draft.tells()
            elif what == "number" and kind != "service":
                told = True
                number = whole(content)
                timed = needed == "limit" and "period" in quota.told
                if not named and not (timed and "limit" in draft.told):
                    draft.tell(needed, number)
                if timed:
                    quota.name, quota.loose = number, True
                    quota.tell("limit", number)
                    self.limits.append(quota)
            else:
                raise Garbage
            at = behind_comma(value, at)
        if named and not told:
            raise Garbage

    def finish(self, clock):
        now = self.date if clock is None or self.date is not None else within(clock // SECOND, MOST)
        limits = []
        if not self.cached:
            limits = self.joined()
            self.ignored += sum(draft.settle(now) for draft in self.limits)
            limits = sorted((draft for draft in limits if draft.tells()), key=Draft.slack)
        cooldown = self.waited(now)
        answers = [[UNITS[draft.get("unit", 0)], draft.hint()] for draft in limits]
        hint = next((dict(hint) for unit, hint in answers if unit == "requests"), {})
        answers = answers[:TOLD]
        hint.pop("cost", None)
        outcome = self.code or http_status(self.status)
        if self.code is None and self.status == 429 and self.exhausted:
            outcome = "exhausted"
        if (
            self.code is None
            and self.status == 403
            and (cooldown is not None or hint.get("left") == 0)
        ):
            outcome = "throttled"
        if cooldown is not None and outcome != "ok":
            hint["after"] = cooldown * MS
            if answers:
                answers[0][1]["after"] = cooldown * MS
        if self.should_retry is not None:
            hint["should_retry"] = self.should_retry
        if self.concurrency and outcome == "throttled":
            hint["concurrency"] = True
        return outcome, hint, answers, self.ignored

    def waited(self, now):
        """If two cooldowns differ by less than a second, the finer one. Otherwise the longer
        one."""
        self.ignored += self.cooldown.settle(now) + self.fine.settle(now)
        coarse, fine = self.cooldown.get(IN), self.fine.get(IN)
        if coarse is None or fine is None:
            return coarse if fine is None else fine
        return coarse if coarse - fine >= 1000 else fine

    def joined(self):
        """A quota without a name belongs to the limits with the same number of calls."""
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


def matched(pattern, value):
    if not re.fullmatch(pattern, value):
        raise Garbage
    return value
