"""Reads JSON bodies like the table of `tidegate::signal::body`, here with a complete parser."""

import json
import re
from fractions import Fraction
from math import ceil

from exact import MS, SECOND, U32, within
from signals.codes import AWS_THROTTLES

GRAVITY = [None, "busy", "throttled", "exhausted"]
CODES = {
    "busy": "overloaded_error temporary-reduced-capacity",
    "throttled": """userRateLimitExceeded rateLimitExceeded RATE_LIMIT_EXCEEDED rate_limit_exceeded rate_limit_error
        THROTTLED COMPLEXITY_BUDGET_EXHAUSTED RATELIMITED RATE_LIMITED rate_limited ratelimited rate_limit RATE_LIMIT
        RATE_LIMITS quota-exceeded abnormal-usage-detected""",
    "exhausted": """quotaExceeded dailyLimitExceeded insufficient_quota billing_hard_limit_reached billing_not_active
        billing_error DAILY REQUEST_LIMIT_EXCEEDED""",
}
MEANS = {code: outcome for outcome, codes in CODES.items() for code in codes.split()}
MEANS.update(dict.fromkeys(AWS_THROTTLES, "throttled"))
# Meta's codes: of an app, a user, a page, a single call, and of business use cases.
METAS = {4, 17, 32, 613, *range(80_000, 80_015)}

ERRORS = """error.code error.type response.error.code error.status error.errors.reason error.details.reason code Code __type error errorType
policyName errorCode type""".split()
GRAPHS = ["errors.extensions.code", "errors.type", "errors.extensions.type"]
MESSAGES = ["error.message", "response.error.message", "message", "Message", "error.details.violations.quotaId"]
DELAYS = ["error.details.retryDelay", "retry_after", "parameters.retry_after", "details.retryAfterSeconds",
          "errors.extensions.retry_in_seconds"]
COST = "extensions.cost."
BUCKET = COST + "throttleStatus."


def leaves(value, path=()):
    """Each string and number with its path of keys. Lists add nothing to the path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, path)
    elif isinstance(value, str):
        yield ".".join(path), value


# In seconds. Any time in a smaller unit than a millisecond counts as one.
UNITS = {"h": 3600, "m": 60, "s": 1}
PART = r"([0-9]+(?:\.[0-9]+)?)(ms|us|µs|μs|ns|h|m|s)(?![a-zµμ])"
SECONDS = {"sec": 1, "min": 60, "hour": 3600, "day": 86_400}


def stated(message):
    """The wait after the first phrase that a number follows, in milliseconds, if it is in the next 16 bytes."""
    found = re.search("(?:try in|try again in|try after|wait) (?=[0-9])", message.lower())
    text = message.lower()[found.end() :][:16] if found else ""
    if words := re.match(r"([0-9]+(?:\.[0-9]+)?) (sec|min|hour|day)", text):
        return within(ceil(Fraction(words[1]) * 1000) * SECONDS[words[2]], U32)
    wait = 0
    while part := re.match(PART, text):
        number, unit = Fraction(part[1]), part[2]
        least = ceil(number) if unit == "ms" else min(ceil(number), 1)
        wait += ceil(number * 1000) * UNITS[unit] if unit in UNITS else least
        text = text[part.end() :]
    return within(wait, U32 - 1)


def number(text):
    """Seconds as thousandths."""
    found = re.fullmatch(r"([0-9]+)(?:\.([0-9]*))?s?", text)
    if not found:
        return None
    whole, part = found.groups()
    return within(int(whole), U32) * 1000 + int(f"{part or '':0<3.3}")


class Body:
    def __init__(self, text):
        # Numbers as written.
        try:
            parsed = json.loads(text, parse_int=str, parse_float=str)
        except ValueError:
            parsed = None
        self.said = list(leaves(parsed)) if isinstance(parsed, (dict, list)) else []

    def all(self, *paths):
        return [text for path, text in self.said if path in paths]

    def latest(self, path):
        texts = self.all(path)
        found = number(texts[-1]) if texts else None
        return None if found is None else found // 1000

    def has(self, phrase):
        return any(phrase in text.lower() for text in self.all(*MESSAGES))

    def gravest(self, paths):
        codes = [MEANS.get(text.rpartition("#")[2]) for text in self.all(*paths)]
        if "error.code" in paths and any((number(code) or 0) // 1000 in METAS for code in self.all("error.code")):
            codes.append("throttled")
        return max(codes, key=GRAVITY.index, default=None)

    def outcome(self, status):
        is_error = 400 <= status <= 599
        found = self.gravest(GRAPHS)
        if is_error:
            found = max(found, self.gravest(ERRORS), key=GRAVITY.index)
            if found is None and any(map(self.has, ("secondary rate limit", "api rate limit exceeded", "rate limit reached"))):
                found = "throttled"
        if found == "exhausted" and self.has("concurren"):
            return "throttled"
        if is_error and self.has("request too large"):
            return "ok"
        if is_error and (self.has("credit balance is too low") or self.has("iothubquotaexceeded")):
            return "exhausted"
        return "exhausted" if status == 429 and self.has("perday") else found

    def after(self):
        """The requested wait, or the time until the bucket has what the call requests, in whole
        seconds. Without both, the wait that a message states."""
        waits = [within(number(text), U32) * MS for text in self.all(*DELAYS) if number(text) is not None]
        left, rate = self.latest(BUCKET + "currentlyAvailable"), self.latest(BUCKET + "restoreRate")
        requested = self.latest(COST + "requestedQueryCost")
        if None not in (left, rate, requested) and requested > left and rate:
            waits.append(within(-(-(requested - left) // rate) * 1000, U32) * MS)
        waits = waits or [wait * MS for wait in map(stated, self.all(*MESSAGES)) if wait]
        return max(waits, default=None)

    def tokens(self):
        whole = [self.latest("usage.total_tokens") or 0, self.latest("usageMetadata.totalTokenCount") or 0]
        parts = [self.latest("usage.input_tokens") or 0, self.latest("usage.output_tokens") or 0]
        return max(*whole, within(sum(parts), U32)) or None

    def points(self):
        limit, left = self.latest(BUCKET + "maximumAvailable") or None, self.latest(BUCKET + "currentlyAvailable")
        rate, hint = self.latest(BUCKET + "restoreRate"), {}
        if left is not None and (limit is None or left <= limit):
            hint["left"] = left
        if limit is not None:
            hint["limit"] = limit
            if rate and limit // rate:
                hint["period"] = limit // rate * SECOND
        return hint
