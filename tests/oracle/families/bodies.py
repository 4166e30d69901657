"""Response bodies: captured ones, every code at every path, and every number format."""

import json
import re
from pathlib import Path

from families.tools import Dice, vector
from signals.body import COST, DELAYS, ERRORS, GRAPHS, MEANS, MESSAGES, METAS, Body

CAPTURES = Path(__file__).resolve().parents[3] / "core/tests/public/signal_bodies.txt"
STATUSES = [429, 403, 400, 200, 503]
OTHERS = ["THROTTLED_", "throttled", "Rate_Limited", "", "null", "a#THROTTLED", "THROTTLED#", "##DAILY", "SlowDown:x"]
NUMBERS = "0|1|7|34.4s|34.4|1.2345s|1.|5s|5ss|s|.5|-3|1e3|4294967295|4294967296|99999999999.9999|0.0009|x".split("|")
TEXTS = [
    "You have exceeded a secondary rate limit", "SECONDARY RATE LIMIT.", "API rate limit exceeded for user ID 1",
    "api rate  limit exceeded", "too many concurrent requests", "Concurrency", "GenerateRequestsPerDay", "per day",
    "Your credit balance is too low to access", "secondary rate", "", "DEVICE rate limit reached",
    "ErrorCode:IotHubQuotaExceeded;Total number of messages",
]  # fmt: skip
WAITS = [
    "Please try again in 6.2s. Visit x", "Retry in 34.4s",
    "Please retry after 45 seconds. Please wait 1s", "try again in 114h18m0s", "wait 634.5ms", "wait a few minutes",
    "Wait 5 months, or try in 0s, or try in 1h5 months", "wait 30", "wait 2 min", "try in 99999999999d", "wait 2m",
]  # fmt: skip


def of(name, status, text):
    body = Body(text)
    told = {"outcome": body.outcome(status), "after": body.after(), "tokens": body.tokens(), "points": body.points()}
    return vector("body", f"{name} by {status}", status=status, body=text, **told)


def at(path, value, listed=False):
    """JSON with the value at this path, optionally with each object in a list."""
    for key in reversed(path.split(".")):
        value = {key: value}
        value = [value] if listed else value
    return value


def some(dice, items, count):
    left = list(items)
    return [left.pop(dice.below(len(left))) for _ in range(min(count, len(left)))]


def written(value, dice):
    """With or without spaces."""
    return json.dumps(value, ensure_ascii=False, indent=dice.of([None, 1]), separators=dice.of([(",", ":"), (" , ", " : ")]))


def captured():
    for index, capture in enumerate(CAPTURES.read_text().strip().split("\n\n")):
        lines = [line for line in capture.split("\n") if not line.startswith("# ")]
        statuses = next(line for line in lines if " = " in line).split(" = ")[0].split(" ")
        text = next(line for line in lines if line[0] in "{[")
        for status in sorted({*map(int, statuses), 200, 429}):
            yield of(f"captured {index}", status, text)


def codes(dice):
    paths = [*ERRORS, *GRAPHS, "data.errors.extensions.code", "error.code.x", "x.code", "errors.code"]
    for code in [*MEANS, *OTHERS]:
        for path in some(dice, paths, 5):
            listed = path.count(".") < 3 and dice.below(2) == 1
            yield of(f"{code!r} at {path}", dice.of(STATUSES), written(at(path, code, listed), dice))
    for number in [*sorted(METAS), 5, 79_999, 80_015, "4", "17s", 4.9]:
        yield of(f"{number!r} of Meta", 400, written({"error": {"code": number, "type": "OAuthException"}}, dice))


def texts(dice):
    for text in TEXTS:
        for path in [*MESSAGES, "data.message"]:
            for code in (None, "REQUEST_LIMIT_EXCEEDED", "overloaded_error"):
                body = at(path, text) | ({"errorCode": code} if code else {})
                status = dice.of(STATUSES)
                yield of(f"{text!r} at {path} with {code}", status, written(body, dice))


def numbers(dice):
    for text in WAITS:
        yield of(f"{text!r}", 429, written(at(dice.of(MESSAGES), text), dice))
    for number in NUMBERS:
        for path in DELAYS:
            bare = re.fullmatch(r"[0-9]+(\.[0-9]+)?", number) and dice.below(2)
            value = json.loads(number) if bare else number
            yield of(f"{number!r} at {path}", 429, written(at(path, value), dice))
        tokens = {"usage": {"input_tokens": number, "output_tokens": 5}, "usageMetadata": {"totalTokenCount": number}}
        yield of(f"tokens {number!r}", 200, written(tokens, dice))
    for index in range(80):
        names = ["maximumAvailable", "currentlyAvailable", "restoreRate"]
        status = {name: dice.of([0, 1, 50, 117, 999, 1000.0, 1001]) for name in some(dice, names, 1 + dice.below(3))}
        cost = {"requestedQueryCost": dice.of([1, 118, 502, 2000]), "actualQueryCost": dice.of([None, 0, 46, 501.7])}
        cost |= {"throttleStatus": status}
        body = at(COST[:-1], cost) | ({"errors": [{"extensions": {"code": "THROTTLED"}}]} if index % 2 else {})
        yield of(f"points {index}", 200, written(body, dice))


def vectors():
    dice = Dice(21)
    yield from captured()
    yield from codes(dice)
    yield from texts(dice)
    yield from numbers(dice)
    for index, text in enumerate(["", "null", '"THROTTLED"', "<Code>SlowDown</Code>", "error: THROTTLED", " ", "[]"]):
        yield of(f"none {index}", 429, text)
