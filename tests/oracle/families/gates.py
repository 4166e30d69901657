"""The gates separately: pacing alone, and the others with a law that sets no rate."""

import policy as policies
from controller import Controller
from exact import DAY, END, HOUR, MS, SECOND, U32, U64, YEAR
from families.tools import DRAW_MAX, DRAW_MIN, SEEDS, Dice
from pacing import Never, Pacing, Quota
from script import Script

QUOTAS = [
    ("one a second", [1, SECOND], []),
    ("ten a second, burst 5", [10, SECOND, 5], []),
    ("3 in 7 ns", [3, 7], []),
    ("7 a minute, burst 2", [7, 60 * SECOND, 2], []),
    ("4500 an hour, burst 4500", [4500, HOUR, 4500], []),
    ("10 a day", [10, DAY], ["SlowRate"]),
    ("one an hour, burst 10", [1, HOUR, 10], ["SlowRate"]),
    ("100000 a second, burst 100", [100_000, SECOND, 100], []),
    ("700 million a second", [700_000_000, SECOND], []),
    ("more than one a nanosecond", [U64, 3], []),
    ("one in 584 years", [1, U64], ["SlowRate"]),
    ("the largest burst of an hour", [1, HOUR, U64 // 4 // HOUR], ["HugeCost"]),
    ("the largest burst there is", [2, 5, U32], ["HugeCost"]),
    ("no quota", None, []),
]

# The instants of calls, as functions of the clock.
CLOCKS = [
    ("all together", [], lambda now, turn, wait: now),
    ("as told", [], lambda now, turn, wait: wait or now),
    (
        "a nanosecond early",
        ["PollTooOften"],
        lambda now, turn, wait: wait - 1 if wait and wait > now + 1 else wait or now,
    ),
    ("a millisecond apart", [], lambda now, turn, wait: now + MS),
    (
        "stepping back",
        ["TimeBackwards"],
        lambda now, turn, wait: max(0, now - SECOND) if turn % 2 else (wait or now + MS),
    ),
    ("a year apart", ["Silence"], lambda now, turn, wait: now + YEAR),
    ("at the end of time", ["ClockAtMax"], lambda now, turn, wait: END - max(0, 6 - turn)),
]

COSTS = [
    ("of one", [], lambda burst, turn: 1),
    ("of nothing and of the burst", ["ZeroCost"], lambda burst, turn: burst * (turn % 2)),
    ("beyond the burst", ["HugeCost"], lambda burst, turn: min(burst + turn % 2, U32)),
    (
        "of any size",
        ["HugeCost"],
        lambda burst, turn: [1, U32, 2, 5_124_097, 3, burst, 65_536][turn % 7],
    ),
]


def pacing_answer(pacing, now, cost, quota):
    try:
        due = pacing.due(cost, quota)
    except Never as never:
        return [never.reason]
    return ["wait", due] if due > now else ["admit"]


class PacingScript:
    """A script of a controller with pacing only."""

    def __init__(self, name, flags, quota, now):
        self.name, self.flags, self.told, self.start = name, flags, quota, now
        self.quota = Quota(*quota) if quota else None
        self.pacing, self.events = Pacing(now), []

    def query(self, verb, now, cost):
        answer = pacing_answer(self.pacing, now, cost, self.quota)
        if verb == "take" and answer == ["admit"]:
            self.pacing.charge(now, cost, self.quota)
        self.events.append([verb, now, cost, answer])
        return answer

    def do(self, verb, now, *numbers):
        if verb in ("charge", "correct"):
            getattr(self.pacing, verb)(now, *numbers, self.quota)
        else:
            self.pacing.delay(now, *numbers)
        self.events.append([verb, now, *numbers])

    def vector(self):
        return {
            "name": self.name,
            "kind": "pacing",
            "flags": self.flags,
            "quota": self.told,
            "now": self.start,
            "events": self.events,
        }


def pacings():
    for quota_name, quota, quota_flags in QUOTAS:
        burst = (quota + [1])[2] if quota else 1
        for clock_name, clock_flags, clock in CLOCKS:
            for cost_name, cost_flags, cost in COSTS:
                name = f"pacing {quota_name}, calls {clock_name}, costs {cost_name}"
                flags = sorted({*quota_flags, *clock_flags, *cost_flags})
                script = PacingScript(name, flags, quota, 0)
                now, wait = 0, None
                for turn in range(7):
                    now = clock(now, turn, wait)
                    verb = "take" if quota and turn % 3 else "check"
                    answer = script.query(verb, now, cost(burst, turn))
                    if verb == "check" and answer == ["admit"]:
                        script.do("charge", now, cost(burst, turn))
                    wait = answer[1] if answer[0] == "wait" else None
                yield script.vector()
        yield corrections(quota_name, quota, quota_flags)
        yield delays(quota_name, quota, quota_flags)


def corrections(name, quota, flags):
    """A refund never exceeds the burst, and a debt is limited."""
    script = PacingScript(f"pacing {name}, costs corrected", [*flags, "CostCorrected"], quota, 5)
    for charged, used in [
        (0, 1),
        (1, 0),
        (3, 1),
        (1, 4),
        (0, U32),
        (U32, 0),
        (0, U32),
        (0, U32),
        (5, 5),
    ]:
        script.do("correct", 5, charged, used)
        script.query("check", 5, 1)
        script.query("check", YEAR, 1)
    return script.vector()


def delays(name, quota, flags):
    """A law's cooldown is independent of the rate, and ends before the largest instant."""
    script = PacingScript(f"pacing {name}, cooldowns", [*flags, "ClockAtMax"], quota, 9)
    for now, span in [(9, 100), (50, 10), (40, 90), (60, END), (END - 5, 3)]:
        script.do("delay", now, span)
        script.query("check", now, 1)
        if quota:
            script.query("take", now, 1)
        script.query("check", now, 0)
    script.query("check", END - 1, 1)
    script.query("check", END, 1)
    return script.vector()


FREE = {"laws": [{"law": "fixed"}], "backoff": None}


def limits():
    for limit in (1, 2, 3, 32, 65_535):
        script = Script(f"at most {limit} calls in flight", [], {**FREE, "concurrency": limit}, now=SECOND)
        for turn in range(min(limit, 32) + 1):
            script.poll(script.now + (turn % 3 == 0))
        script.next_at()
        script.why()
        for permit in script.outs[: 3 if limit > 3 else 1]:
            script.settle("abandoned" if permit % 2 else "ok", permit=permit)
        script.poll(script.now + DAY)
        script.forget(2)
        script.poll()
        script.next_at()
        script.set_concurrency(max(1, limit // 2))
        script.poll()
        script.next_at()
        script.forget(9)
        script.poll(END)
        yield script.vector()
    dice = Dice(5)
    for number in range(30):
        policy = {**FREE, "concurrency": 1 + dice.below(5)}
        script = Script(f"concurrency limit at random, {number}", ["LatePermit"], policy)
        for _ in range(16):
            script.after(dice.below(SECOND))
            if dice.below(3):
                script.poll()
            elif dice.below(4):
                permit = dice.of(script.outs) if script.outs else None
                script.settle(dice.of(["ok", "failed", "abandoned"]), permit=permit)
            else:
                script.forget(1)
            if dice.below(4) == 0:
                script.next_at()
        yield script.vector()


def cooldowns():
    for ceiling in (1, SECOND, HOUR, END):
        for spread in ([0, 1], [1, 8], [1, 1], [4_294_967_294, 4_294_967_295]):
            for draw, flags, seed in SEEDS:
                name = f"hold of {ceiling} ns at most, spread {spread}, {draw}"
                script = Script(
                    name, ["HostileHint", *flags], {**FREE, "cooldown": [ceiling, spread]}, seed, SECOND
                )
                for asked in (0, 1, ceiling - 1, ceiling, SECOND, 100 * YEAR, END):
                    script.poll(script.now + MS)
                    script.settle(
                        {"outcome": "throttled", "after": max(0, asked)},
                        permit=script.outs[-1] if script.outs else None,
                    )
                    script.next_at()
                script.why()
                script.poll(END - 1)
                yield script.vector()


def retry_budgets():
    for ratio in ([1, 10], [1, 3], [2, 5], [1, 1], [7, 2], [U32, 1], [1, U32]):
        for reserve in (1, 3, U32):
            name = f"budget of {ratio}, {reserve} saved"
            script = Script(
                name, ["Retries"], {**FREE, "retry_budget": [ratio, reserve], "backoff": None}
            )
            script.poll()
            script.settle("failed")
            retry = script.retry(0, "failed", into=1)
            for turn in range(6):
                if script.poll(call=retry)[0] == "admit":
                    script.settle("ok" if turn % 3 == 2 else "failed")
            for _ in range(3):
                script.poll()
                script.settle("ok")
            script.poll(call=retry)
            script.why(retry)
            yield script.vector()


def records():
    """Records at any distance between clocks, and modified records."""
    policy = {**FREE, "laws": [{"law": "fixed", "quota": [1, HOUR, 3]}], "retry_budget": [[1, 2], 4]}
    for wrote in (0, SECOND, DAY, END - DAY):
        for reads in (0, 1, HOUR, END - 1, END):
            for away in (0, 1, HOUR, 300 * YEAR, END):
                name = f"record written at {wrote}, read at {reads}, {away} ns later"
                script = Script(name, ["RestoreAfterReboot"], policy, now=wrote)
                for _ in range(3):
                    script.poll()
                    script.settle(
                        {"outcome": "throttled", "after": 2 * HOUR},
                        permit=script.outs[-1] if script.outs else None,
                    )
                script.save()
                script.restore(now=reads, away=away)
                script.next_at()
                script.poll()
                script.why()
                yield script.vector()
    gate = Controller(policies.whole(policy), 7, DAY)
    for place in range(0, len(gate.record(DAY)) - 4):
        for byte in (1, 255):
            script = Script(
                f"record with {byte} at byte {place}", ["HostileRecord"], policy, now=DAY
            )
            script.poll()
            script.save()
            script.restore(now=DAY, away=0, damage=[["put", place, byte]])
            script.poll(DAY + SECOND)
            script.next_at()
            if place < 60 or place % 10 == 0:
                yield script.vector()


def unstated():
    """Calls that do not state what they cost of the second limit cost what such calls used."""
    requests = {"law": "fixed", "quota": [100, SECOND, 100]}
    tokens = {"law": "fixed", "quota": [1_000, SECOND, 1_000]}
    hints = {"hints": [{}, {"left": 900, "limit": 1_000}]}
    for second, said in ((tokens, {}), ({"law": "adaptive"}, hints), ({"law": "adaptive"}, {})):
        for stated, estimated in ((0, True), (1, True), (2, True), (0, False), (1, False)):
            kind = "an estimated cost" if estimated else "a cost"
            name = f"{kind} of {stated} of {second['law']}, and {'a hint' if said else 'no hint'}"
            script = Script(name, ["CostCorrected"], {**FREE, "laws": [requests, second]}, now=DAY)
            script.describe(1, [1, stated], estimated=estimated)
            heavy = script.describe(2, [1, 700], deadline=DAY + MS)
            # What is learned does not depend on the cost that was charged, and a failed call teaches nothing.
            for outcome, used in (("ok", 250), ("throttled", 0), ("ok", 90), ("abandoned", 7), ("ok", 0), ("ok", U32)):
                script.admit(1)
                if script.outs:
                    script.settle({"outcome": outcome, "used": [1, used], **said})
                script.intervals()
            # The end of a stream says what it used.
            for outcome, length, used in (("ok", SECOND, 40), ("throttled", 1, 90), ("ok", DAY, 3), ("ok", 0, U32)):
                script.admit(1)
                if script.outs:
                    script.stream({"outcome": outcome, **said}, script.now + length, [1, used])
                script.intervals()
            script.next_at()
            script.poll(call=heavy)
            script.why(heavy)
            script.retry(1, {"outcome": "throttled", "hints": [{}, {"after": SECOND}]}, into=3)
            script.save()
            script.restore(now=DAY, away=MS)
            script.after(DAY)
            for _ in range(3):
                script.admit(1, most=2)
            script.set_policy({"laws": [requests, {"law": "fixed", "quota": [3, SECOND, 2]}]})
            script.poll(call=1)
            yield script.vector()


def extremes():
    """The smallest and the largest draw from each range that a caller can choose."""
    for draw, seed in (("DrawMin", DRAW_MIN), ("DrawMax", DRAW_MAX)):
        for jitter in ("full", "equal", ["spread", 1, 1], ["spread", 1, 2]):
            for most in (SECOND, END):
                policy = {
                    "laws": [{"law": "fixed"}],
                    "backoff": [["exponential", 2, 1], jitter, SECOND, most],
                }
                script = Script(
                    f"{draw} of a backoff, {jitter}, at most {most}",
                    [draw],
                    policy,
                    seed,
                    END - 3 * SECOND,
                )
                for _ in range(4):
                    script.retry(0, "failed", into=0)
                    script.poll()
                yield script.vector()


def vectors():
    for family in (pacings, limits, cooldowns, retry_budgets, records, unstated, extremes):
        yield from family()
