#!/usr/bin/env python3
"""Random vectors, to explore beyond the families of vectors.

    python3 tests/oracle/search.py SEED COUNT FOLDER
"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True

import policy as policies
from exact import DAY, END, HOUR, MS, SECOND, U32, U64
from families import signals
from families.tools import Dice
from laws import LAWS
from script import Script, line

OUTCOMES = ["ok"] * 6 + ["throttled", "throttled", "busy", "failed", "abandoned", "exhausted"]


class Chaos(Dice):
    """Random numbers that prefer extreme values."""

    def number(self, most=U64):
        made = [
            lambda: self.below(4),
            lambda: self.below(1000),
            lambda: self.below(10) * 10 ** self.below(19),
            lambda: 1 << self.below(64),
            lambda: most - self.below(3),
            lambda: self.below(2**64) >> self.below(64),
        ]
        return min(self.of(made)(), most)

    def span(self):
        made = [lambda: self.below(1000) * MS] * 3 + [lambda: self.below(100) * SECOND] * 2
        return self.of([*made, lambda: self.below(400) * HOUR, self.number, self.number])()

    def some(self):
        return max(1, self.span())

    def ratio(self):
        wild = self.below(3) == 0
        top = self.number(U32) if wild else self.below(12)
        return [top, max(1, self.number(U32)) if wild else 1 + self.below(12)]

    def quota(self):
        return [1 + self.below(200) if self.below(4) else max(1, self.number()), self.some()]

    def burst(self):
        return self.quota() + ([1 + self.below(20)] if self.below(2) else [])


def config(dice):
    few = lambda: 1 + dice.below(5)
    settings = {
        "fixed": {"quota": dice.burst},
        "adaptive": {"quota": dice.quota, "tolerance": dice.ratio},
        "aimd": {
            "start": lambda: [1 + dice.below(30), SECOND, few()],
            "floor": lambda: [1, SECOND],
            "ceiling": lambda: [30 + dice.below(30), SECOND],
            "step": dice.quota,
            "every": few,
            "keep": dice.ratio,
            "cooldown": lambda: dice.of([None, [dice.some(), min(END, SECOND + dice.span()), few()]]),
        },
        "tchannel": {
            "most": lambda: 1 + dice.below(30),
            dice.of(["rate", "value"]): lambda: 1 + dice.below(14),
            "over": lambda: "reject",
        },
        "aimd-concurrency": {"start": few, "most": lambda: 5 + dice.below(30), "keep": dice.ratio},
        "autosleeper": {
            "initial": dice.some,
            "most": dice.span,
            "up": dice.ratio,
            "down": dice.ratio,
            "threshold": lambda: dice.below(5),
            "spread": dice.ratio,
            "most_spread": dice.span,
        },
        "heroku": {
            "strategy": lambda: dice.of(["exponential", "proportional", ["gradual", dice.span()]]),
            "start": dice.span,
            "add": dice.span,
            "times": dice.ratio,
            "floor": dice.span,
            "divisor": lambda: 1 + dice.below(50),
            "jitter": dice.ratio,
            "spare_first": lambda: True,
            "once_per_event": lambda: True,
            "calm": dice.some,
        },
    }
    law = dice.of(list(LAWS))
    made = settings.get(law, {}).items()
    return {"law": law, **{name: make() for name, make in made if dice.below(2)}}


def policy(dice, limits):
    """Invalid policies are discarded."""
    while True:
        made = {"laws": [config(dice) for _ in range(limits)]}
        rules = {
            "cooldown": lambda: [dice.some(), dice.ratio()],
            "concurrency": lambda: 1 + dice.below(6),
            "retry_budget": lambda: [dice.ratio(), 1 + dice.below(4)],
            "backoff": lambda: backoff(dice),
            "attempts": lambda: 1 + dice.below(5),
            "elapsed": dice.span,
        }
        made.update({name: make() for name, make in rules.items() if dice.below(3) == 0})
        if policies.wrong(policies.whole(made)) is None:
            return made


def backoff(dice):
    growth = dice.of(["constant", "linear", "decorrelated", ["exponential", *dice.ratio()]])
    jitter = dice.of(["none", "full", "equal", ["spread", *dice.ratio()]])
    return dice.of([None, [growth, jitter, dice.some(), dice.span()]])


def hint(dice):
    makers = {"after": dice.span, "left": lambda: dice.of([dice.number(), dice.below(40)])}
    makers.update({"reset": dice.span, "period": dice.span, "no_retry": lambda: dice.below(4) == 0, "concurrency": lambda: dice.below(4) == 0})
    makers["limit"] = lambda: dice.of([dice.number(), dice.below(100)])
    return {name: make() for name, make in makers.items() if dice.below(3) == 0}


def reply(dice, limits):
    told = {"outcome": dice.of(OUTCOMES)}
    if dice.below(2):
        told.update({"hints": [hint(dice) for _ in range(limits)]} if dice.below(2) else hint(dice))
    if dice.below(6) == 0:
        told["used"] = [dice.of([dice.number(U32), dice.below(5)]) for _ in range(limits)]
    return told


def client(dice, number):
    """Random actions of a caller, in any order, at any time."""
    limits = dice.of([1, 1, 2])
    start = dice.of([0, SECOND, DAY, dice.number(), END - 10 * SECOND])
    script = Script(f"client {number}", [], policy(dice, limits), dice.number(), start)
    calls = [0]

    def described():
        script.describe(
            1,
            [dice.of([dice.number(U32), dice.below(6)]) for _ in range(limits)],
            dice.of([END, min(END, script.now + dice.span())]),
        )
        calls.append(1)

    def looked():
        script.next_at()
        script.why(dice.of(calls))
        script.intervals()

    def tried_again():
        if script.retry(dice.of(calls), reply(dice, limits), into=2) is not None:
            calls.append(2)

    def restored():
        script.save()
        other = policy(dice, limits) if dice.below(5) == 0 else None
        damage = (
            [["put", dice.below(len(script.saved) - 4), dice.below(256)]]
            if dice.below(4) == 0
            else None
        )
        script.restore(
            dice.of([script.now, dice.number()]), dice.span(), dice.number(), damage, other
        )

    steps = [lambda: script.poll(call=dice.of(calls))] * 7
    steps += [
        lambda: script.outs and script.settle(reply(dice, limits), permit=dice.of(script.outs))
    ] * 6
    steps += [described, looked, tried_again, restored]
    steps += [lambda: script.set_concurrency(1 + dice.below(5)), lambda: script.forget(1 + dice.below(3))]
    steps += [
        lambda: script.calls(
            1 + dice.below(60), reply(dice, limits), dice.span(), dice.span(), dice.of(calls)
        )
    ]
    steps += [lambda: dice.below(4) or script.set_policy(policy(dice, limits))]
    for _ in range(8 + dice.below(40)):
        if dice.below(2):
            script.after(dice.span())
        if dice.below(25) == 0:
            script.now = max(0, script.now - dice.span())
        dice.of(steps)()
    return script.vector()


LETTERS = '0123456789 \t,;:=.-+"\\abqrtwpkhmsunsGMTZ*?@\xc2\xb5\xce\xbc\xb0\x00\x7f/'
FORMS = [
    ("Retry-After", signals.MOMENTS + "|" + signals.DATES),
    ("Date", signals.DATES),
    ("RateLimit", signals.SERVICES),
    ("RateLimit-Policy", signals.POLICIES),
    ("RateLimit-Limit", signals.COUNTS),
    ("X-RateLimit-Remaining", signals.COUNTS),
    ("X-RateLimit-Reset", signals.MOMENTS + "|" + signals.DATES),
    ("retry-after-ms", signals.MOMENTS),
]


def misspelt(dice, text):
    letters = list(text)
    for _ in range(dice.below(4)):
        place = dice.below(len(letters) + 1)
        letters[place : place + dice.below(3)] = [dice.of(LETTERS)] * dice.below(3)
    return "".join(letters)


def response(dice, number):
    """Headers of every format, misspelt."""
    headers = []
    for _ in range(1 + dice.below(4)):
        name, values = dice.of(FORMS)
        name = dice.of([name, name, name, misspelt(dice, dice.of(signals.items(signals.NAMES)))])
        headers.append((name, misspelt(dice, dice.of(signals.items(values)))))
    status, clock = dice.of([200, 429, 403, 503]), dice.of([None, signals.CLOCK])
    return signals.vector(f"response {number}", [], status, headers, clock)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    seed, count, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    dice = Chaos(seed)
    for name, make in (("clients", client), ("responses", response)):
        with (folder / f"{name}.jsonl").open("w") as file:
            for number in range(count):
                print(line(make(dice, number)), file=file)
        print(f"{count} {name}", flush=True)


main()
