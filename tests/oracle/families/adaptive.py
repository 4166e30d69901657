"""`adaptive`: a script for each of its rules, and servers of every kind."""

from exact import DAY, END, HOUR, MS, SECOND, U32
from families.laws import scripts
from families.tools import DRAW_MAX, DRAW_MIN, Dice
from laws.adaptive import LATENESS, logs
from script import Script

CONFIGS = [
    ("by default", {"named": "adaptive"}),
    ("of a quota", {"laws": [{"law": "adaptive", "quota": [100, 60 * SECOND]}]}),
    ("of a quota with a burst", {"laws": [{"law": "adaptive", "quota": [7, 60 * SECOND, 3]}]}),
    ("of the largest quota", {"laws": [{"law": "adaptive", "quota": [2**40, 1]}]}),
    ("with a tolerance", {"laws": [{"law": "adaptive", "tolerance": [1, 8]}]}),
    (
        "of requests and tokens",
        {"laws": [{"law": "adaptive"}, {"law": "adaptive"}], "backoff": None},
    ),
    (
        "of requests and a quota of tokens",
        {"laws": [{"law": "adaptive"}, {"law": "adaptive", "quota": [600, SECOND, 1000]}], "backoff": None},
    ),
    ("beside vegas", {"laws": [{"law": "adaptive"}, {"law": "vegas"}]}),
]


NARROW = {"named": "adaptive", "concurrency": 32}
"""A narrow concurrency limit, so that a client without a limit also gets `Full`."""


EVIDENT = {"outcome": "throttled", "after": 0}
"""A rejection that ends slow start, because the server says that it is about the rate."""


def scripted(name, *flags, seed=7, now=SECOND, policy=None):
    return Script(f"adaptive, {name}", list(flags), policy or NARROW, seed, now)


def paced(name, *flags, interval=50 * MS, took=5 * MS, seed=7, policy=None):
    """A client after its first rejection, with about this interval."""
    script = scripted(name, *flags, seed=seed, policy=policy)
    script.calls(20, "ok", took, interval)
    script.calls(1, EVIDENT, took)
    script.calls(12, "ok", took)
    script.intervals()
    return script


def noise():
    """Rejections that do not depend on the rate, with several tolerances, and hints that end them."""
    for tolerance in ([0, 1], [1, 64], [1, 8], [7, 3]):
        for every in (5, 12, 30, 90):
            policy = {"laws": [{"law": "adaptive", "tolerance": tolerance}]}
            script = paced(f"one call in {every} rejected at any rate, {tolerance}", policy=policy, seed=every)
            dice = Dice(every)
            for turn in range(40):
                script.calls(1 + dice.below(2 * every), "ok", 5 * MS)
                script.calls(1 + (turn % 13 == 12), "throttled", 5 * MS)
                if turn % 10 == 9:
                    script.intervals()
                    script.save()
                    script.restore(now=script.now, away=0)
            script.calls(1, {"outcome": "throttled", "after": MS}, 5 * MS)
            script.calls(30, "ok", 5 * MS)
            script.calls(1, "throttled", 5 * MS)
            script.calls(5, {"outcome": "ok", "left": 900}, 5 * MS)
            script.calls(1, "throttled", 5 * MS)
            script.intervals()
            yield script


def throttled(**hint):
    return {"outcome": "throttled", **hint}


def told(**hint):
    return {"outcome": "ok", **hint}


# Servers.


class Bucket:
    """A server's bucket. It is refilled by one unit per interval or, with a window, all at once."""

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

    def hint(self, kind, now, served):
        after = self.at + self.window - now if self.window else 3 * self.interval
        quota = {"limit": self.size, "period": self.window or self.size * self.interval}
        return {
            "nothing": {},
            "retry-after": {} if served else {"after": after},
            "what is left": {"left": self.left},
            "all": {"left": self.left, **quota, "reset": after},
        }[kind]


SERVERS = [
    ("bucket of 4, a call an hour", lambda: Bucket(4, HOUR), 300 * MS, ["SlowRate"]),
    ("bucket of 4, a call in 8 s", lambda: Bucket(4, 8 * SECOND), 120 * MS, []),
    ("bucket of 30, 5000 a second", lambda: Bucket(30, 200_000), 5 * MS, []),
    ("window of 12 a minute", lambda: Bucket(12, 0, 60 * SECOND), 250 * MS, []),
    ("window of 6 in 2 s", lambda: Bucket(6, 0, 2 * SECOND), 60 * MS, []),
]


def worlds():
    turn = 0
    for server, make, trip, flags in SERVERS:
        for kind in ("nothing", "retry-after", "what is left", "all"):
            for workers in (1, 3, 14):
                turn += 1
                draws = [(turn, []), (DRAW_MIN, ["DrawMin"]), (DRAW_MAX, ["DrawMax"])]
                seed, extra = draws[turn % 3]
                name = f"at a {server}, that tells {kind}, {workers} at a time"
                script = scripted(name, *flags, *extra, seed=seed, now=DAY)
                world(script, make(), kind, trip, workers)
                yield script


def world(script, bucket, kind, trip, workers, price=lambda: (0, 1)):
    """Workers that call at the same time and get their responses one after the other."""
    bucket.at = script.now if not bucket.window else script.now // bucket.window * bucket.window
    for _ in range(28 // workers + 1):
        replies = []
        for _ in range(workers):
            call, cost = price()
            if script.admit(call, most=3)[0] == "admit":
                served = bucket.take(script.now, cost)
                outcome = "ok" if served else "throttled"
                replies.append({"outcome": outcome, **bucket.hint(kind, script.now, served)})
        script.after(trip)
        for reply in replies:
            script.settle(reply)
            script.after(trip // 10)
    script.intervals()


def tokens():
    """Costs that rise and fall by orders of magnitude."""
    for number in range(8):
        dice, kind = Dice(number), ["nothing", "retry-after", "what is left", "all"][number % 4]
        script = scripted(f"of tokens, {number}", "HugeCost", seed=number)
        prices = [1, 2, 3, 48, 900, 5000, 70_000, U32][: 3 + number % 6]
        described = [(script.describe(index + 1, [price]), price) for index, price in enumerate(prices)]
        bucket = Bucket(200_000, 20_000)
        world(script, bucket, kind, 80 * MS, 1 + number % 2, lambda: dice.of(described))
        yield script


GRID = [*range(160), 269]  # In the last, a dark time lasts exactly a second.


def grid():
    """Calls at multiples of one span, with hints that are multiples of it, so that what the law compares is often equal."""
    for seed in GRID:
        dice = Dice(seed)
        step, size = dice.of([2**18, 2**28, 2**30, SECOND]), dice.of([8, 16, 20])
        script = scripted(f"at multiples of {step} ns, {seed}", "LongRun", seed=seed, now=step)
        hints = {
            "after": lambda: dice.below(12) * step,
            "left": lambda: dice.below(size + 1),
            "limit": lambda: dice.of([size, 2 * size]),
            "period": lambda: (1 + dice.below(8)) * step,
            "reset": lambda: dice.below(8) * step,
        }
        named = [name for name in hints if dice.below(2)]

        def reply(outcome):
            return {"outcome": outcome, **{name: hints[name]() for name in named if dice.below(3)}}

        for _ in range(24):
            script.after(-script.now % step)
            took, many = dice.below(3) * step, 1 + dice.below(20)
            outcome = dice.of(["throttled", "throttled", "busy", "failed"])
            deed = dice.below(8)
            if deed < 3:
                script.calls(many, reply("ok"), took, dice.below(2) * step)
            elif deed < 5:
                script.calls(1 + many // 5, reply(outcome), took)
            elif deed < 7:
                while len(script.outs) < many and script.poll()[0] == "admit":
                    pass
                script.after(took)
                while script.outs:
                    script.settle(reply(dice.of(["ok", "ok", outcome])))
            else:
                script.after(many * many * step)
        script.intervals()
        yield script


def boundaries():
    """Times that are chosen so that what the law compares is equal to the nanosecond."""
    # The last block of slow start is exactly four times as fast as what was served.
    step, took = 2**26, 2**20
    script = scripted("slow start at four times the served rate", "LongRun", now=2**30)
    for steps in [7] * 14 + [10] + [1] * 19:
        script.calls(1, "ok", took, steps * step - took)
    script.calls(3, "throttled", took)
    yield script
    for interval, longest in ((10_000, "a late timer"), (50 * MS, "64 intervals")):
        script = paced(f"silences as long as {longest}", "Silence", interval=interval, took=interval // 3)
        law = script.gate.limits[0].law
        for _ in range(3):
            silence = max(LATENESS, logs.span(logs.octaves(law.current(script.now), 6)))
            script.call(now=law.interval_end + silence, took=MS)
        script.intervals()
        yield script
    script = paced("a cooldown of half an epoch", "ServerCooldown", interval=20 * MS)
    script.calls(1, "throttled", MS)
    script.calls(20, "ok", MS, 200 * MS)
    script.calls(1, "throttled", MS)
    script.calls(8, "ok", MS)
    script.admit()
    script.after(MS)
    script.settle(throttled(after=(script.now - script.gate.limits[0].law.meter.start) // 2))
    script.intervals()
    script.calls(3, "ok", MS)
    yield script


# Slow start.


def fill(script):
    """Sends as many calls as may be sent."""
    script.polls()
    script.next_at()


def slow_start():
    for outcome in ("ok", "busy", "failed"):
        script = scripted(f"slow start, and calls that end {outcome}", "LawWidens")
        fill(script)
        # Each success admits another call.
        script.after(20 * MS)
        for _ in range(4):
            script.settle("ok")
        fill(script)
        # The number doubles with time; a response before that does not change it.
        for wait in (2**28 - 20 * MS - 1, 1, 2**20, 2**27):
            script.after(wait)
            fill(script)
            script.settle(outcome)
        yield script
    script = scripted("slow start for an hour", "Silence", "LawWidens")
    fill(script)
    for wait in (SECOND, 4 * SECOND, HOUR):
        script.after(wait)
        fill(script)
    script.settle("throttled")
    script.intervals()
    yield script


def at_once():
    """A server with a limit on calls in flight, for one client or for all."""
    for places in (0, 1, 2, 3, 17):
        for seed in (1, 2):
            script = scripted(f"at a server of {places} calls at once, {seed}", seed=seed)
            for _ in range(90 // (places + 1) + 4):
                sent = 0
                while script.poll()[0] == "admit":
                    sent += 1
                script.next_at()
                script.after(2 * MS)
                # The first calls sent are served; the others return sooner.
                for index in range(sent - 1, -1, -1):
                    if index == places - 1:
                        script.after(20 * MS)
                    script.settle("ok" if index < places else "busy", permit=script.outs[index])
                if sent == 0:
                    script.after(SECOND // 4)
            script.intervals()
            yield script


def few_left():
    """What remains limits slow start if it is less than half of the most that ever remained: an eighth of a large pool."""
    few = (0, 1, 3, 4, 5, 6)
    for most, lefts in ((9, few), (10, few), (32, (15, 16)), (33, (7, 15, 16, 17)), (900, (440, 450))):
        for left in lefts:
            script = scripted(f"slow start, and {left} left of {most}", "LawWidens")
            script.call(told(left=most), 20 * MS)
            fill(script)
            script.after(20 * MS)
            script.settle(told(left=left))
            fill(script)
            script.after(2**29)
            fill(script)
            while script.outs:
                script.settle(told(left=left))
            fill(script)
            yield script


def two_windows():
    """A limit of which a call costs nothing does not limit its calls in flight."""
    two = {"laws": [{"law": "adaptive"}, {"law": "adaptive"}], "backoff": None}
    for costs in ([1, 0], [0, 1], [1, 1], [0, 0]):
        name = f"costs {costs}, and little left of the first limit"
        script = scripted(name, "LawWidens", policy=two)
        script.describe(1, costs)
        for left in (20, 3):
            script.admit()
            script.after(20 * MS)
            script.settle(told(hints=[{"left": left}, {}]))
        for call in (1, 0):
            script.polls(call)
            script.why(call)
            script.next_at()
        for _ in range(4):
            script.after(20 * MS)
            script.settle()
            script.poll(call=1)
        yield script


def weeks():
    """Intervals of weeks, and the longest learned interval."""
    for gap in (DAY, 30 * DAY, 90 * DAY):
        for ending in ({}, {"after": 2 * DAY}):
            policy = {"named": "adaptive", "cooldown": [400 * DAY, [0, 1]]}
            name = f"a call each {gap} ns, and rejected with {ending}"
            script = scripted(name, "LongRun", "SlowRate", policy=policy)
            script.calls(17, "ok", 20 * MS, gap)
            for served in (1, 20, 3):
                script.calls(1, throttled(**ending), 20 * MS)
                script.intervals()
                script.calls(served, "ok", 20 * MS)
                script.intervals()
                script.calls(5, throttled(**ending), 20 * MS)
                script.calls(1, "ok", 20 * MS)
                script.intervals()
            yield script
    policy = {"named": "adaptive", "cooldown": [400 * DAY, [0, 1]]}
    script = scripted("calls that become years apart", "LongRun", "SlowRate", policy=policy)
    for gap, calls in ((1000 * SECOND, 17), (15 * HOUR, 17), (30 * DAY, 17), (200 * DAY, 40)):
        script.calls(calls, "ok", 20 * MS, gap)
    script.call(throttled(after=10 * DAY), 20 * MS)
    script.call("ok", 20 * MS)
    script.intervals()
    for calls in (20, 3):
        script.calls(calls, "ok", 20 * MS, 300 * DAY)
        script.calls(5, "throttled", 20 * MS)
        script.calls(1, "ok", 20 * MS)
        script.intervals()
    yield script


def rescaled():
    """A quota with a longer period slows no client to more than the longest cooldown."""
    for ceiling in (SECOND, 20 * SECOND, HOUR):
        policy = {"named": "adaptive", "cooldown": [ceiling, [0, 1]]}
        for interval in (5 * SECOND, 12 * SECOND):
            name = f"a call each {interval} ns, {ceiling} ns at most, and a longer period"
            script = paced(name, interval=interval, policy=policy)
            for period in (SECOND, 4 * SECOND, 16 * SECOND, 4 * SECOND):
                script.calls(3, told(limit=1, period=period), 5 * MS)
                script.intervals()
            # A call that did not wait does not change the target.
            script.after(100 * SECOND)
            script.call(told(limit=1, period=16 * SECOND), 5 * MS)
            script.calls(1, throttled(limit=1, period=16 * SECOND), 5 * MS)
            script.calls(9, told(limit=1, period=64 * SECOND), 5 * MS)
            script.intervals()
            yield script


def room():
    """When another call may be in flight: when a law widens."""
    two = [{"law": "adaptive"}, {"law": "aimd-concurrency", "start": 1}]
    for laws in ([{"law": "adaptive"}], two):
        script = scripted(f"slow start that is full, and {len(laws)} limits", "LawWidens", policy={"laws": laws, "backoff": None})
        for wait in (0, MS, 5 * SECOND):
            script.after(wait)
            fill(script)
        yield script


def silences():
    """Silence of any length while open."""
    for days in (0, 1, 25, 27, 51, 53, 400):
        for calls in (1, 7, 40):
            script = scripted(f"{days} days of silence after {calls} calls", "Silence", "LongRun")
            script.calls(calls, "ok", 20 * MS, 10 * MS)
            script.after(days * DAY + SECOND)
            script.calls(calls, "ok", 20 * MS, 5 * MS)
            script.calls(1, EVIDENT, 20 * MS)
            script.intervals()
            script.calls(5, "ok", 20 * MS)
            script.after(days * DAY)
            script.calls(3, "ok", 20 * MS)
            yield script


def first_rejections():
    """The first rate: after full blocks and partial blocks, with sequential and concurrent calls."""
    for took in (0, 20 * MS, 700 * MS):
        for gap in (0, 1000, 70 * MS, HOUR):
            for calls in (0, 3, 40):
                script = scripted(f"rejected after {calls} calls of {took} ns, each {gap} ns")
                script.calls(calls, "ok", took, gap)
                script.call(EVIDENT, took)
                script.intervals()
                # The search for the first rate starts above the limit.
                script.calls(2, "throttled", took)
                script.calls(9, "ok", took)
                script.intervals()
                yield script
    for workers in (2, 6):
        for taken in (2, 3):
            script = scripted(f"{workers} in flight at each rejection, 1 in {taken} served",
                              "BurstOfFailures")  # fmt: skip
            script.calls(20, "ok", 20 * MS, 10 * MS)
            for _ in range(4):
                for _ in range(workers):
                    script.admit()
                script.after(20 * MS)
                for number in range(workers):
                    script.settle("ok" if number % taken == 1 else "throttled")
                    script.after(MS)
                script.intervals()
                script.calls(9, "ok", 20 * MS)
            yield script


# Paced.


def epochs():
    """Growth before, at and after the plateau, at every rate, and hits of every kind: in time, late, above
    the previous one, and shortly after it."""
    for interval in (30_000, 2 * MS, 60 * MS, 500 * MS, 11 * SECOND, HOUR):
        for took in (0, MS, interval // 3, interval * 7):
            name = f"a call each {interval} ns that takes {took} ns, epochs of any length"
            script = paced(name, "LongRun", interval=interval, took=took, seed=interval)
            for served, rejected in [(5, 1), (61, 1), (2, 1), (30, 2), (300, 1), (9, 1), (500, 5),
                                     (40, 1), (17, 1)]:  # fmt: skip
                script.calls(served, "ok", took)
                script.intervals()
                script.calls(rejected, "throttled", took)
            script.calls(20, "ok", took)
            yield script


def cycles():
    """A dark time much shorter or longer than the previous one is no reading; the next one like it may be."""
    for tenths in (2, 3, 10, 39, 41, 45, 600):
        script = paced(f"a dark time {tenths} tenths as long as the previous one", "LongRun")
        for dark in (20 * SECOND, 2 * SECOND * tenths, 2 * SECOND * tenths, 20 * SECOND):
            script.calls(40, "ok", 5 * MS)
            script.calls(5, "throttled", dark // 5)
            script.calls(1, "ok", 5 * MS)
            script.intervals()
        yield script


def deep_cuts():
    """With many calls in flight: the more of those from before a cut are rejected, the deeper it becomes."""
    wide = {"named": "adaptive", "concurrency": 300}
    for count, tenths in [(60, 0), (60, 2), (60, 3), (60, 6), (20, 9), (60, 10), (120, 7)]:
        name = f"{tenths} of 10 of the {count} calls from before a cut are rejected"
        script = paced(name, "LongRun", interval=10 * MS, policy=wide)
        for served in (True, False, False):
            for _ in range(count):
                script.admit()
            script.settle("ok" if served else "throttled")
            for index in range(count - 1):
                script.settle("ok" if served or index * tenths % 10 >= tenths else "throttled")
            script.intervals()
            script.call("ok", SECOND)
            script.intervals()
        script.calls(9, "ok", SECOND)
        yield script
    for rejected, more in ((15, 0), (16, 0), (90, 2), (90, 3)):
        name = f"{rejected} of 120 calls from before a cut are rejected, and {more} later ones"
        script = paced(name, interval=10 * MS, policy=wide)
        for cut in (False, True):
            for _ in range(120):
                script.admit()
            script.settle("throttled" if cut else "ok")
            for index in range(119):
                script.settle("throttled" if cut and index < rejected else "ok")
            script.calls(more if cut else 0, "throttled", SECOND)
            script.call("ok", SECOND)
            script.intervals()
        yield script


def chance():
    """Rejections shortly after a cut: while they are at most as many as the served calls, nothing changes."""
    for served in (1, 2, 3, 4, 7, 8):
        script = paced(f"a rejection for each {served} served")
        script.calls(1, "throttled", MS)
        for _ in range(4):
            script.calls(served, "ok", MS)
            script.calls(1, "throttled", MS)
            script.intervals()
            script.calls(1, throttled(after=400 * MS), MS)
        yield script


def misses():
    """Consecutive misses, and the rate after the first success that follows."""
    for served in (3, 16, 17, 60):
        for count in (2, 3, 4, 9, 45):
            for ending in ("throttled", "busy", "failed"):
                name = f"{served} served for each {count} that end {ending}"
                script = paced(name, "Outage", "ThrottledForEver", took=8 * MS, seed=count)
                for _ in range(3):
                    script.calls(count, ending, 8 * MS)
                    script.next_at()
                    script.intervals()
                    script.calls(served, "ok", 8 * MS)
                yield script
    for rejected in (1, 2, 4, 6):
        script = scripted(f"nothing served before {rejected} rejections and a failure", "Outage")
        script.calls(1, EVIDENT, 30 * MS)
        script.calls(rejected - 1, "throttled", 30 * MS)
        script.calls(3, "ok", 30 * MS)
        script.calls(1, "failed", 30 * MS)
        script.calls(3, "ok", 30 * MS)
        yield script


def one_call():
    """A call that is not served, attempt after attempt, among others that are: it stops none of them, until so
    many of its attempts were rejected that they are evidence, or one is served."""
    for phase in ("open", "paced"):
        for ending in ("throttled", "busy", "failed"):
            for others, attempts in [(0, 6), (1, 1), (1, 7), (1, 24), (3, 12)]:
                name = f"{phase}, a call that ends {ending} {attempts} times, and {others} served for each"
                policy = {"named": "adaptive", "attempts": 100}
                script = (scripted if phase == "open" else paced)(name, "Retries", policy=policy, seed=attempts)
                script.call("ok", 20 * MS)
                script.admit()
                for _ in range(attempts):
                    script.after(20 * MS)
                    script.settle(ending)
                    script.retry(call=1 if 1 in script.described else 0, reply=ending, into=1)
                    for _ in range(others):
                        script.call("ok", 20 * MS)
                    script.poll(call=1)
                    script.next_at()
                    if not script.outs:
                        script.admit(call=1)
                script.after(20 * MS)
                script.settle("ok")
                script.intervals()
                script.calls(9, "ok", 20 * MS)
                script.intervals()
                yield script
    for rejected in (1, 2, 4, 5, 15, 16):
        for served in (0, 1, 2, 3, 4):
            script = scripted(f"{served} served before each of {rejected} rejections", "Retries")
            for number in range(rejected):
                script.calls(served, "ok", 20 * MS)
                script.calls(1, "busy" if number % 5 == 1 else "throttled", 20 * MS)
            script.intervals()
            # A failed call is served when it is tried again, and then slow start meets the limit.
            script.retry(reply="failed", into=1)
            script.call("ok", 20 * MS, call=1)
            script.intervals()
            script.calls(6, "throttled", 20 * MS)
            script.intervals()
            yield script


def lower_ceilings():
    """Nothing waits longer than a ceiling that the policy lowers, and a higher one changes nothing."""
    for phase in ("open", "paced"):
        for before, after in [(HOUR, 10 * SECOND), (HOUR, 1), (SECOND, HOUR)]:
            name = f"{phase}, a ceiling of {before} ns that becomes {after} ns"
            of = lambda ceiling: {"named": "adaptive", "cooldown": [ceiling, [0, 1]]}
            script = (scripted if phase == "open" else paced)(name, "ServerCooldown", policy=of(before))
            script.calls(1, throttled(after=DAY), 20 * MS)
            script.poll()
            script.set_policy(of(after))
            script.poll()
            script.calls(3, "ok", 20 * MS)
            script.intervals()
            yield script


def retry_afters():
    """A silence of the program, a late timer, and a program that is slower than its rate."""
    for gap in (0, MS, 3 * MS, 60 * MS, SECOND, HOUR):
        for interval in (MS // 4, 50 * MS):
            name = f"a rate of a call each {interval} ns, and {gap} ns between calls"
            script = paced(name, "Silence", interval=interval, took=MS)
            script.calls(20, "ok", MS, gap)
            script.calls(1, "throttled", MS)
            script.calls(20, "ok", MS, gap)
            script.after(gap * 64)
            script.calls(5, "ok", MS)
            yield script


# Hints.


def cooldowns():
    """Cooldowns while open, after few calls and many, and while paced; and waits that are too short."""
    for took in (0, 20 * MS, 700 * MS):
        twice = (took >> 10 << 10) * 2
        for after in sorted({SECOND, SECOND + 1, twice, twice + 1, 9 * SECOND, HOUR, END}):
            for served in (0, 5, 8, 40):
                name = f"{after} ns asked for after {served} calls of {took} ns"
                script = scripted(name, "ServerCooldown", seed=served)
                script.calls(served, "ok", took, 10 * MS)
                for _ in range(2):
                    script.call(throttled(after=after), took)
                    script.next_at()
                    script.call("throttled" if served == 8 else "ok", took)
                    script.call("ok", took)
                    script.intervals()
                script.calls(3, "ok", took)
                yield script
    for served in (7, 8, 9):
        script = scripted(f"two cooldowns, each after {served} calls", "ServerCooldown")
        for _ in range(2):
            script.calls(served, "ok", 20 * MS, 10 * MS)
            script.call(throttled(after=9 * SECOND), 20 * MS)
            script.call("ok", 20 * MS)
            script.intervals()
        yield script
    script = scripted("a cooldown after a call of hardly any cost", "ServerCooldown", "HugeCost")
    for cost in (1, 10_000):
        script.describe(cost, [cost])
        script.call(throttled(after=9 * SECOND), 20 * MS, call=cost)
        script.call("ok", 20 * MS, call=cost)
        script.intervals()
    yield script
    for served in (2, 16, 90):
        script = paced(f"cooldowns after each {served} calls", "ServerCooldown", "LongRun")
        for outcome in ("throttled", "busy"):
            for request in ({"after": 3 * SECOND}, {"left": 0, "reset": 4 * SECOND}):
                script.calls(served, "ok", 5 * MS)
                script.calls(2, {"outcome": outcome, **request}, 5 * MS)
                script.intervals()
        script.calls(served, "ok", 5 * MS)
        yield script
    script = scripted("a cooldown while others are in flight", "ServerCooldown", "LatePermit")
    for _ in range(5):
        script.admit()
    script.after(20 * MS)
    for reply in (throttled(after=5 * SECOND), "ok", throttled(after=9 * SECOND), "busy", "failed"):
        script.settle(reply)
    script.calls(4, "ok", 20 * MS)
    yield script


def ceilings():
    """No cooldown and no wait of a probe exceeds the policy's maximum."""
    for ceiling in (1, 30 * MS, 5 * SECOND, HOUR, END):
        for draw, seed in (("DrawMin", DRAW_MIN), ("DrawMax", DRAW_MAX)):
            policy = {"named": "adaptive", "cooldown": [ceiling, [0, 1]]}
            name = f"{ceiling} ns at most, {draw}"
            script = scripted(name, "ServerCooldown", draw, policy=policy, seed=seed)
            for _ in range(2):
                script.calls(1, throttled(after=7 * SECOND), 9 * MS)
                script.calls(12, "ok", 9 * MS)
                script.calls(7, "throttled", 9 * MS)
                script.next_at()
                script.calls(1, throttled(after=2 * DAY), 9 * MS)
                script.calls(2, "ok", 9 * MS)
            yield script


def quotas():
    """A quota with its period, then with another period, with another limit, and no longer reported."""
    for limit, period in ((50, SECOND), (50, 15 << 26), (1, HOUR), (9000, 60 * SECOND), (7, 40 * DAY), (U32, 1)):
        for times in ((21, 20), (16, 15), (3, 2), (1, 9), (40, 1)):
            name = f"{limit} in {period} ns, and then {times[0]}/{times[1]} of that time"
            script = paced(name, "LongRun", interval=5 * MS)
            quota = {"limit": limit, "period": period}
            other = {"limit": limit, "period": max(1, period * times[0] // times[1])}
            for hint in ({"limit": limit}, quota, other, {"limit": 2 * limit, "period": period}, {}):
                script.calls(30, told(**hint), 5 * MS)
                script.intervals()
                script.calls(1, throttled(**hint), 5 * MS)
            script.calls(5, "ok", 5 * MS)
            yield script


def remaining():
    """What remains: if there is room for another call, nothing waits, and below a quarter of it growth is
    slow after the plateau."""
    for limit in (None, 12, 5000):
        for left in (0, 1, 2, 5, 9, 29, 2600):
            quota = {} if limit is None else {"limit": limit, "period": 60 * SECOND}
            script = paced(f"{left} left of {limit}", "LongRun", interval=20 * MS)
            for level in (left, 3 * left, left):
                hint = {"left": level if limit is None else min(level, limit), **quota}
                script.calls(40, told(**hint), 9 * MS, 200 * MS)
                for _ in range(4):
                    script.poll()
                script.next_at()
                while script.outs:
                    script.settle(told(**hint))
                script.calls(60, told(**hint), 9 * MS)
                script.intervals()
                script.calls(1, throttled(**hint), 9 * MS)
            yield script


# Costs.


def mixed_costs():
    """A usual cost that rises and falls, while open and while paced."""
    for hint in ({}, {"left": 40, "limit": 9000, "period": HOUR}):
        for costs in ([1, 3, 1], [1, 1000, 20], [64, 1, 64], [5000, 70_000, 2], [2**31, 1, U32]):
            script = scripted(f"told {hint}, costs {costs}", "HugeCost", "LongRun")
            for index, cost in enumerate(costs):
                script.describe(index + 1, [cost])
                script.calls(40, told(**hint), 3 * MS, 10 * MS, call=index + 1)
            for index in (1, 2, 3):
                script.calls(1, throttled(**hint), 3 * MS, call=index)
                script.calls(40, told(**hint), 3 * MS, call=index)
                script.intervals()
            yield script


def corrections():
    """The actual cost of a call, and its effect on the next call."""
    for cost in (1, 20, 21):
        for used in (0, 2, 19, 22, 40, 10_000, U32):
            script = scripted(f"{cost} asked and {used} used", "CostCorrected", "HugeCost")
            script.describe(1, [cost])
            script.calls(20, told(used=[used]), MS, 50 * MS, call=1)
            script.calls(1, EVIDENT, MS, call=1)
            script.calls(20, "ok", MS, call=1)
            for _ in range(3):
                script.admit(1)
                script.after(MS)
                script.settle(told(used=[used]))
                script.poll(call=1)
                script.settle()
            yield script


# Records.


def at_work(script, phase):
    script.calls(25, told(left=90, limit=100, period=9 * SECOND), 20 * MS, 10 * MS)
    if phase == "in a cooldown":
        script.calls(1, throttled(after=5 * SECOND), 20 * MS)
    elif phase != "open":
        script.calls(1, EVIDENT, 20 * MS)
        script.calls(0 if phase == "paced" else 4, "throttled", 20 * MS)
        script.calls(9 if phase == "paced" else 0, "ok", 20 * MS)


def moves():
    """Restores from a record in every phase, and from records of unknown origin."""
    for phase in ("open", "in a cooldown", "paced", "dark"):
        for away in (0, 90 * SECOND, 40 * DAY):
            script = scripted(f"restored {phase}, {away} ns later", "RestoreAfterReboot")
            at_work(script, phase)
            script.poll()
            script.save()
            script.restore(now=script.now + away, away=away)
            script.next_at()
            script.calls(3, "ok", 30 * MS)
            script.calls(1, "throttled", 30 * MS)
            script.calls(3, "ok", 30 * MS)
            script.intervals()
            yield script
    # The law's own bytes follow the gates, the pacing, and the tag of the law.
    for phase in ("open", "paced"):
        for place in range(40, 174, 1 if phase == "paced" else 2):
            script = scripted(f"restored {phase} with another byte {place}", "HostileRecord")
            at_work(script, phase)
            script.save()
            script.restore(now=script.now, away=0, damage=[["put", place, 255 if (place - 11) % 4 < 3 else 1]])
            script.next_at()
            script.calls(3, "ok", 30 * MS)
            script.call(throttled(after=3 * SECOND), 30 * MS)
            script.calls(2, {"outcome": "ok", "used": [9]}, 30 * MS)
            script.calls(4, "throttled", 30 * MS)
            script.calls(2, "ok", 30 * MS)
            script.intervals()
            yield script


def vectors():
    yield from scripts("adaptive", CONFIGS)
    for family in (worlds, tokens, grid, boundaries, slow_start, at_once, few_left, two_windows, weeks, rescaled, room, silences,
                   first_rejections, epochs, noise, cycles, deep_cuts, chance, misses, one_call, lower_ceilings, retry_afters, cooldowns, ceilings, quotas, remaining,
                   mixed_costs, corrections, moves):  # fmt: skip
        for script in family():
            yield script.vector()
