"""`adaptive` before servers of every kind: what they tell chooses the tier."""

from exact import END, SECOND, U32
from families.laws import scripts
from families.tools import DAY, DRAW_MAX, DRAW_MIN, HOUR, MS, Dice
from script import Script

CONFIGS = [
    ("by default", {"named": "adaptive"}),
    ("of a quota", {"laws": [{"law": "adaptive", "quota": [100, 60 * SECOND]}]}),
    ("of the largest quota", {"laws": [{"law": "adaptive", "quota": [2**40, 1]}]}),
    (
        "of requests and tokens",
        {"laws": [{"law": "adaptive"}, {"law": "adaptive"}], "backoff": None},
    ),
    ("beside vegas", {"laws": [{"law": "adaptive"}, {"law": "vegas"}]}),
]


class Bucket:
    """A server's bucket, refilled by a unit each interval; or, with a window, all at once."""

    def __init__(self, size, interval, window=None):
        self.size, self.interval, self.window = size, interval, window
        self.left, self.at = size, 0

    def take(self, now, cost):
        if self.window:
            begun = now // self.window * self.window
            if begun > self.at:
                self.left, self.at = self.size, begun
        else:
            new = (now - self.at) // self.interval
            self.left, self.at = min(self.size, self.left + new), self.at + new * self.interval
        served = self.left >= cost
        self.left -= cost if served else 0
        return served

    def reset(self, now):
        if self.window:
            return self.at + self.window - now
        return (self.size - self.left) * self.interval

    def period(self):
        return self.window or self.size * self.interval


def told_nothing(bucket, now, served):
    return {}


def told_a_pause(bucket, now, served):
    return (
        {}
        if served
        else {"after": max(bucket.reset(now), 2 * SECOND) if bucket.window else 3 * bucket.interval}
    )


def told_what_is_left(bucket, now, served):
    return {"left": bucket.left}


def told_what_is_left_and_the_quota(bucket, now, served):
    return {"left": bucket.left, "limit": bucket.size, "period": bucket.period()}


def told_all(bucket, now, served):
    return {**told_what_is_left_and_the_quota(bucket, now, served), "reset": bucket.reset(now)}


def told_all_but_the_period(bucket, now, served):
    return {"left": bucket.left, "limit": bucket.size, "reset": bucket.reset(now)}


def told_all_now_and_then(bucket, now, served):
    return told_all(bucket, now, served) if now // MS % 3 else {}


TELLERS = [
    ("that tells nothing", told_nothing),
    ("that tells pauses", told_a_pause),
    ("that tells what is left", told_what_is_left),
    ("that tells what is left of a quota", told_what_is_left_and_the_quota),
    ("that tells all", told_all),
    ("that tells all but the period", told_all_but_the_period),
    ("that tells all now and then", told_all_now_and_then),
]

SERVERS = [
    ("bucket of 4, a call an hour", lambda: Bucket(4, HOUR), 300 * MS, ["SlowRate"]),
    ("bucket of 4, a call in 8 s", lambda: Bucket(4, 8 * SECOND), 120 * MS, []),
    ("bucket of 10, 10 a second", lambda: Bucket(10, 100 * MS), 40 * MS, []),
    ("bucket of 30, 5000 a second", lambda: Bucket(30, 200_000), 5 * MS, []),
    ("window of 12 a minute", lambda: Bucket(12, 0, 60 * SECOND), 250 * MS, []),
    ("window of 6 in 2 s", lambda: Bucket(6, 0, 2 * SECOND), 60 * MS, []),
]


def worlds():
    turn = 0
    for server, make, trip, flags in SERVERS:
        for teller, tell in TELLERS:
            for workers in (1, 3):
                turn += 1
                seed, extra = [(turn, []), (DRAW_MIN, ["DrawMin"]), (DRAW_MAX, ["DrawMax"])][
                    turn % 3
                ]
                name = f"adaptive at a {server}, {teller}, {workers} at a time"
                script = Script(name, flags + extra, {"named": "adaptive"}, seed, now=DAY)
                world(script, make(), tell, trip, workers)
                yield script.vector()


def world(script, bucket, tell, trip, workers, cost=lambda: (0, 1)):
    """Workers call at once, and hear one after the other what became of it."""
    bucket.at = script.now if not bucket.window else script.now // bucket.window * bucket.window
    calls = 0
    while calls < 14:
        replies = []
        for _ in range(workers):
            ask, price = cost()
            if script.go(ask, most=3)[0] == "go":
                served = bucket.take(script.now, price)
                outcome = "ok" if served else "throttled"
                replies.append({"outcome": outcome, **tell(bucket, script.now, served)})
            calls += 1
        script.after(trip)
        for reply in replies:
            script.settle(reply)
            script.after(trip // 10)
    script.intervals()


def tokens():
    """Costs that rise and fall by orders of magnitude."""
    for number in range(24):
        dice = Dice(number)
        script = Script(
            f"adaptive of tokens, {number}", ["HugeCost"], {"named": "adaptive"}, number, now=SECOND
        )
        prices = [1, 2, 3, 48, 900, 5000, 70_000, U32][: 3 + number % 6]
        asks = [(script.ask(index + 1, [price]), price) for index, price in enumerate(prices)]
        bucket = Bucket(200_000, 20_000)
        tell = TELLERS[number % len(TELLERS)][1]
        world(script, bucket, tell, 80 * MS, 1 + number % 2, lambda: dice.of(asks))
        script.settle({"outcome": "ok", "used": [77]})
        yield script.vector()


def long_runs():
    """What shows only after hundreds of calls: long epochs, small cuts, calm, acceleration, outages."""
    for spacing in (0, 1000, 20 * MS, 700 * MS, 9 * SECOND, HOUR):
        for between in (3, 40, 400):
            for ending in ("throttled", "failed", "busy"):
                name = f"adaptive, calls of {spacing} ns, {between} served for each {ending}"
                script = Script(name, ["LongRun"], {"named": "adaptive"}, between, now=SECOND)
                for turn in range(5):
                    script.calls(between, "ok", spacing)
                    script.calls(1 + turn, ending, spacing)
                    script.intervals()
                script.calls(2 * between, "ok", spacing)
                script.save()
                script.restore(now=script.now + HOUR, away=HOUR)
                script.calls(between, "ok", spacing)
                yield script.vector()


def paces():
    """Epochs of every length at every rate, for the slopes and the knees between them."""
    intervals = [
        30_000,
        2 * MS,
        20 * MS,
        60 * MS,
        90 * MS,
        120 * MS,
        500 * MS,
        2 * SECOND,
        6 * SECOND,
        11 * SECOND,
        40 * SECOND,
        HOUR,
    ]
    for interval in intervals:
        for took in (0, MS, interval // 3, interval * 7):
            name = f"adaptive, a call in {interval} ns that takes {took} ns, epochs of any length"
            script = Script(name, ["LongRun"], {"named": "adaptive"}, interval, now=SECOND)
            script.calls(40, "ok", took, interval)
            script.calls(1, "throttled", took)
            for served, refused in [
                (5, 1),
                (61, 1),
                (2, 1),
                (30, 2),
                (300, 1),
                (9, 3),
                (90, 1),
                (700, 5),
                (40, 1),
                (17, 1),
            ]:
                script.calls(served, "ok", took)
                script.intervals()
                script.calls(refused, "throttled", took)
            script.calls(20, "ok", took)
            yield script.vector()


def blackouts():
    """How much must be served between two dark times before the cycle is believed."""
    for served in (3, 4, 5, 6, 14, 15, 16, 17, 60):
        for dark in (2, 3, 4, 5, 9):
            name = f"adaptive, {served} served between {dark} refused in a row"
            script = Script(
                name, ["LongRun", "RefusedForEver"], {"named": "adaptive"}, dark, now=SECOND
            )
            script.calls(20, "ok", 5 * MS, 95 * MS)
            for turn in range(6):
                script.calls(dark, "throttled", 5 * MS)
                script.calls(served, "ok", 5 * MS, 40 * MS * (turn % 3))
            script.calls(1, "throttled", 5 * MS)
            script.intervals()
            script.calls(3, {"outcome": "throttled", "after": 9 * SECOND}, 5 * MS)
            script.calls(served, "ok", 5 * MS)
            yield script.vector()


def mixed_costs():
    """A usual call that becomes larger and smaller in every tier."""
    hints = [
        {},
        {"left": 4},
        {"left": 40, "limit": 90, "period": HOUR},
        {"left": 900, "limit": 9000, "period": 60 * SECOND, "reset": 9 * SECOND},
    ]
    for hint in hints:
        for costs in ([1, 3, 1], [1, 1000, 20], [64, 1, 64], [5000, 70_000, 2], [2**31, 1, U32]):
            script = Script(
                f"adaptive told {hint}, costs {costs}",
                ["HugeCost", "LongRun"],
                {"named": "adaptive"},
                costs[1],
                now=SECOND,
            )
            script.calls(20, "ok", MS, 50 * MS)
            script.call({"outcome": "throttled", **hint}, MS)
            for index, cost in enumerate(costs):
                script.ask(index + 1, [cost])
                script.calls(40, {"outcome": "ok", **hint}, 3 * MS, ask=index + 1)
                script.intervals()
                script.calls(1, {"outcome": "throttled", **hint}, 3 * MS, ask=index + 1)
                script.calls(
                    6, {"outcome": "ok", **hint, "used": [cost // 2 + 1]}, 3 * MS, ask=index + 1
                )
            yield script.vector()


def corrections():
    """What a call used of its cost, seen by the call after it."""
    for took in (MS, 700 * MS):
        for cost in (1, 20):
            for used in (0, 1, 2, 19, 20, 21, 40, 10_000, U32):
                name = f"adaptive, {cost} asked and {used} used, calls of {took} ns"
                script = Script(name, ["HugeCost"], {"named": "adaptive"}, used, now=SECOND)
                script.ask(1, [cost])
                script.calls(20, "ok", took, 50 * MS, ask=1)
                script.calls(1, "throttled", took, ask=1)
                script.calls(20, "ok", took, ask=1)
                for _ in range(3):
                    script.go(1)
                    script.after(MS)
                    script.settle({"outcome": "ok", "used": [used]})
                    script.poll(ask=1)
                    script.settle()
                yield script.vector()


def wishes():
    """A wait that a server asks for, about the shortest that is taken for a period."""
    for took in (0, 20 * MS, 700 * MS):
        twice = (took >> 10 << 10) * 2
        for wish in sorted({SECOND, twice, twice + SECOND}):
            for after in (wish - 1, wish, wish + 1):
                for served in (0, 5):
                    if after < 0:
                        continue
                    name = f"adaptive, {after} ns asked for, {served} served in {took} ns each"
                    script = Script(name, ["ServerPause"], {"named": "adaptive"}, now=SECOND)
                    script.calls(served, "ok", took, 10 * MS)
                    for _ in range(2):
                        script.call({"outcome": "throttled", "after": after}, took)
                        script.poll()
                        script.settle()
                        script.intervals()
                        script.calls(3, "ok", took)
                    yield script.vector()


def outages():
    """A server that fails or is busy in the middle of an epoch, and what is left of the epoch then."""
    for took in (MS, 300 * MS):
        for served in (10, 150):
            for ending in ("failed", "busy"):
                name = f"adaptive, {ending} after {served} served in {took} ns each"
                script = Script(name, ["LongRun"], {"named": "adaptive"}, served, now=SECOND)
                script.calls(20, "ok", took, 50 * MS)
                script.calls(1, "throttled", took)
                for misses in (2, 1, 3, 7):
                    script.calls(served, "ok", took)
                    script.calls(misses, ending, took)
                    script.intervals()
                script.calls(served, "ok", took)
                script.calls(1, "throttled", took)
                yield script.vector()


def crossings():
    """Calls that were on their way at a refusal, in the first epochs and in later ones."""
    for workers in (2, 3, 6):
        for taken in (2, 3):
            name = f"adaptive, {workers} on their way at each refusal, one in {taken} served"
            script = Script(name, ["LatePermit"], {"named": "adaptive"}, workers, now=SECOND)
            script.calls(20, "ok", 20 * MS, 10 * MS)
            for turn in range(5):
                for _ in range(workers):
                    script.go()
                script.after(20 * MS)
                for number in range(workers):
                    script.settle("ok" if number % taken == 1 else "throttled")
                    script.after(MS)
                script.intervals()
                script.calls(12, "ok", 20 * MS)
            yield script.vector()


def steered():
    """The level of a bucket, held, falling and rising, for as long as it takes to settle."""
    for limit in (None, 2, 60, 5000, U32):
        for period in (SECOND, HOUR):
            for left in (0, 1, 2, 5, 29, 2600):
                quota = {} if limit is None else {"limit": limit, "period": period}
                name = f"adaptive with {left} left of {limit} in {period} ns"
                script = Script(name, ["LongRun"], {"named": "adaptive"}, left, now=SECOND)
                for level in (0, left, 1, left // 2, left):
                    script.calls(25, {"outcome": "ok", "left": level, **quota}, 30 * MS)
                    script.call({"outcome": "throttled", "left": 0, **quota}, 30 * MS)
                    script.intervals()
                if limit is None or left <= limit:
                    yield script.vector()


def periods():
    """A period heard from its beginning, from its end, too long, too short, and from two limits."""
    for limit in (1, 10, 5000, U32):
        for period in (1, SECOND, HOUR, DAY + HOUR, END):
            for stated in (True, False):
                name = f"adaptive, {limit} in {period} ns, {'stated' if stated else 'given away by resets'}"
                script = Script(name, ["LongRun"], {"named": "adaptive"}, limit, now=SECOND)
                quota = {"limit": limit, "period": period} if stated else {"limit": limit}
                for left, reset in [
                    (limit, period),
                    (limit // 2, period // 2),
                    (1, period // 9),
                    (0, 1),
                    (limit - 1, period),
                ]:
                    script.calls(
                        4, {"outcome": "ok", **quota, "left": left, "reset": reset}, 20 * MS
                    )
                    script.intervals()
                script.call(
                    {
                        "outcome": "throttled",
                        **quota,
                        "left": 0,
                        "reset": SECOND,
                        "after": 3 * SECOND,
                    },
                    MS,
                )
                other = {"limit": 7, "period": 10 * SECOND, "left": 3, "reset": 9 * SECOND}
                script.calls(2, {"outcome": "ok", **other}, MS)
                script.calls(2, {"outcome": "ok", **other, "left": 0}, MS)
                script.after(2 * DAY)
                script.calls(3, "ok", MS)
                script.call("failed", MS)
                script.intervals()
                yield script.vector()


def two_limits():
    """A server with two limits, of which each answer tells one: now this one, now that."""
    day = {"limit": 900, "period": DAY, "left": 600, "reset": DAY // 2}
    for gap in (20 * MS, SECOND // 3):
        for left in (0, 1, 2, 8):
            name = f"adaptive, {left} left of one of two limits, {gap} ns apart"
            script = Script(name, ["LongRun"], {"named": "adaptive"}, left, now=SECOND)
            for turn in range(6):
                second = {"limit": 10, "left": left, "reset": 2 * SECOND - turn * gap}
                script.calls(3, {"outcome": "ok", **second}, gap)
                script.calls(2, {"outcome": "ok", **day}, gap)
                script.call({"outcome": "throttled", **day}, gap)
                script.intervals()
                script.calls(2, {"outcome": "ok", **second, "left": 9 - turn}, gap)
                script.call({"outcome": "ok", **day, "left": 0}, gap)
                script.intervals()
                script.after(3 * SECOND)
            yield script.vector()


def moves():
    """A client that moves with what it knows, whatever a server has told it."""
    second = {"limit": 50, "reset": SECOND}
    told = {
        "nothing": [{}],
        "what is left": [{"left": 30}, {"left": 29}],
        "one period": [{**second, "left": 40}, {**second, "left": 38, "reset": SECOND // 2}],
        "two periods": [{**second, "left": 40}, {**second, "left": 45, "reset": 4 * SECOND}],
    }
    for name, hints in told.items():
        for first in ("ok", "throttled"):
            for away in (0, 90 * SECOND):
                name = f"adaptive, told {name}, {first} at first, that moves for {away} ns"
                script = Script(name, ["LongRun"], {"named": "adaptive"}, 5, now=SECOND)
                script.call(first, 20 * MS)
                for hint in hints:
                    script.calls(9, {"outcome": "ok", **hint}, 30 * MS)
                script.intervals()
                script.save()
                script.restore(now=script.now + away, away=away)
                script.intervals()
                for hint in hints:
                    script.calls(9, {"outcome": "ok", **hint}, 30 * MS)
                    script.intervals()
                script.calls(9, "ok", 30 * MS)
                script.intervals()
                yield script.vector()


def seldom_told():
    """A server that tells what is left with some answers only: between them it is guessed."""
    for every in (2, 5, 40):
        for left in (2, 9):
            name = f"adaptive, told by one answer in {every} that {left} are left"
            script = Script(name, ["LongRun"], {"named": "adaptive"}, every + left)
            script.calls(20, "ok", 20 * MS)
            script.call({"outcome": "ok", "left": 1}, 20 * MS)
            for turn in range(12):
                script.calls(every - 1, "ok", 20 * MS)
                script.intervals()
                script.calls(1, {"outcome": "ok", "left": left + turn % 3}, 20 * MS)
            script.calls(1, "throttled", MS)
            script.calls(30, "ok", 20 * MS)
            yield script.vector()


def vectors():
    yield from scripts("adaptive", CONFIGS)
    yield from seldom_told()
    yield from two_limits()
    yield from moves()
    for family in (
        worlds,
        tokens,
        long_runs,
        paces,
        blackouts,
        mixed_costs,
        corrections,
        wishes,
        outages,
        crossings,
        steered,
        periods,
    ):
        yield from family()
