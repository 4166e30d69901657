"""Servers that queue, for the laws that limit concurrency: rounds of slow responses."""

from exact import MS, SECOND
from families.tools import DRAW_MAX, Dice
from script import Script

LAWS = [
    ("vegas", {"named": "vegas"}),
    ("aimd-concurrency", {"named": "aimd-concurrency"}),
    ("adaptive beside vegas", {"laws": [{"law": "adaptive"}, {"law": "vegas"}]}),
]

# Workers of the server, callers in each phase, and the time of a call.
SERVERS = [
    ("one worker", 1, [1, 6, 2], lambda dice: 10 * MS),
    ("four workers", 4, [2, 16, 16], lambda dice: 40 * MS),
    ("workers that vary", 3, [2, 9, 9], lambda dice: 5 * MS + dice.below(60) * MS),
    ("workers faster than a microsecond", 2, [2, 8, 3], lambda dice: 300 + dice.below(900)),
]


def queue(script, workers, phases, work, rejects):
    """Callers wait in one queue, and the first free worker takes the first of them."""
    dice, line, free = Dice(workers), [], [script.now] * workers
    for callers in phases:
        for turn in range(42):
            while len(line) < callers:
                answer = script.poll()
                if answer[0] != "admit":
                    break
                worker = min(range(workers), key=lambda index: free[index])
                free[worker] = max(free[worker], script.now) + work(dice)
                line.append((free[worker], answer[1]))
            if not line:
                script.after(SECOND)
                continue
            done, permit = min(line)
            line.remove((done, permit))
            rejected = rejects and turn % 29 == 28
            script.settle(
                dice.of(["busy", "failed", "throttled"]) if rejected else "ok",
                max(script.now, done),
                permit,
            )
    script.save()
    script.restore(now=script.now, away=SECOND)
    script.poll()


def vectors():
    for law, policy in LAWS:
        for server, workers, phases, work in SERVERS:
            for rejects in (False, True):
                name = f"{law} before {server}{', which reject at times' if rejects else ''}"
                flags = ["LongRun", "BurstOfFailures"] if rejects else ["LongRun"]
                script = Script(name, flags, policy, DRAW_MAX, now=SECOND)
                queue(script, workers, phases, work, rejects)
                yield script.vector()
    yield from wide()
    yield from steady()
    yield from longer_ways()


def wide():
    """Limits that are large enough for rounds of more than 32 calls."""
    for workers, callers in ((8, 24), (20, 31), (14, 31)):
        script = Script(
            f"vegas before {workers} workers and {callers} callers",
            ["LongRun"],
            {"named": "vegas"},
            5,
        )
        script.calls(40, "ok", 10 * MS)
        queue(script, workers, [callers] * 4, lambda dice: 10 * MS, False)
        yield script.vector()


def steady():
    """Latencies as shown by a broken clock, and minima that expire after 64 rounds."""
    for took in (0, 999, 1000, 7 * MS, 5000 * SECOND, 2**64 - 1):
        script = Script(f"vegas, calls of {took} ns", ["LongRun", "ClockAtMax"], {"named": "vegas"})
        script.calls(100, "ok", 10 * MS)
        script.calls(2, "busy", 10 * MS)
        script.calls(70, "ok", took)
        script.calls(1, "failed", took)
        script.calls(33 * 40, "ok", min(took, 20 * MS))
        yield script.vector()


def longer_ways():
    """A path that becomes permanently slower: the old minimum is kept for 32 rounds of 32 calls,
    and for 64 rounds at most. And a server that recovers after long queues."""
    for callers, work, longer in ((6, 10 * MS, 3), (9, 700_000, 2), (3, 900, 40)):
        name = f"vegas, {callers} callers at a server that becomes {longer} times slower for good"
        script = Script(name, ["LongRun"], {"named": "vegas"}, callers)
        script.queue(33, 1, work)
        script.queue(200, callers, work)
        for _ in range(19):
            script.queue(128, callers, longer * work)
        script.queue(2, callers, work, "busy")
        for _ in range(4):
            script.queue(96, callers, work)
        yield script.vector()
