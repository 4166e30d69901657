"""Clients of `adaptive`: calls one after the other in many phases, and calls that are in flight together."""

from exact import DAY, HOUR, MS, SECOND
from families.tools import Dice
from script import Script

INTERVALS = [30_000, 2 * MS, 20 * MS, 50 * MS, 50 * MS, 500 * MS, 11 * SECOND, HOUR, DAY, 30 * DAY]
QUOTAS = [(12, 60 * SECOND), (50, SECOND), (50, 15 << 26), (1, 5 * SECOND), (1, HOUR), (9000, 60 * SECOND), (7, 40 * DAY)]
CHANGES = [(1, 1)] * 6 + [(21, 20), (16, 15), (3, 2), (4, 1), (1, 4), (1, 9), (40, 1)]
WAITS = [0, MS, SECOND, 3 * SECOND, 9 * SECOND, HOUR, 2 * DAY]
SERVED = [1, 2, 3, 4, 5, 8, 9, 16, 17, 17, 30, 61, 200]
MISSED = [1] * 9 + [2, 2, 3, 4, 5, 5, 9, 45]
TOLERANCES = [[0, 1], [1, 8], [7, 3]]
EVIDENT = {"outcome": "throttled", "after": 0}
"""A rejection that ends slow start, because the server says that it is about the rate."""


class Server:
    """What a server says beside the outcome: its quota, what is left of it, how long to wait."""

    def __init__(self, dice):
        self.dice, self.quota = dice, dice.of(QUOTAS)
        self.says = [part for part in ("quota", "left", "after") if dice.below(3) == 0]

    def reply(self, outcome):
        dice, (limit, period), told = self.dice, self.quota, {"outcome": outcome}
        if "quota" in self.says and dice.below(8):
            times, parts = dice.of(CHANGES)
            told |= {"limit": limit, "period": max(1, period * times // parts)}
        if "left" in self.says and dice.below(8):
            told["left"] = dice.below(dice.of([2, 8, limit + 1]))
        if "after" in self.says and outcome in ("throttled", "busy") and dice.below(2):
            told |= dice.of([{"after": dice.of(WAITS)}, {"left": 0, "reset": 4 * SECOND}])
        return told


def phases(number):
    """Calls one after the other, some served and some not, in turn."""
    dice = Dice(number)
    interval, server = dice.of(INTERVALS), Server(dice)
    took = dice.of([0, MS, 5 * MS, 20 * MS, interval // 3, interval * 7])
    settings = [{}, {}, {"tolerance": dice.of(TOLERANCES)}, {"quota": [*server.quota, 3]}]
    longest = dice.of([SECOND, 20 * SECOND, HOUR, HOUR, 400 * DAY])
    policy = {"laws": [{"law": "adaptive", **dice.of(settings)}], "backoff": None, "cooldown": [longest, [0, 1]]}
    script = Script(f"adaptive, phases {number}", policy, number, SECOND)
    script.calls(dice.of([0, 3, 7, 17, 40]), "ok", took, interval)
    if dice.below(4):
        script.calls(1, EVIDENT, took)
    typical = dice.of(SERVED)
    for _ in range(11):
        script.calls(dice.of([typical, dice.of(SERVED)]), server.reply("ok"), took, dice.of([0, 0, 0, 0, interval, 3 * interval]))
        missed = dice.of(["throttled", "throttled", "throttled", "busy", "failed"])
        script.calls(dice.of(MISSED), server.reply(missed), dice.of([took, took, took, 40 * took, 4 * SECOND]))
        if dice.below(3) == 0:
            script.intervals()
        if dice.below(12) == 0:
            script.after(dice.of([1, 64, 200]) * interval)
        if dice.below(12) == 0:
            script.save()
            script.restore(script.now, 0)
    script.calls(5, "ok", took)
    return script


def noise(number):
    """Rejections that come at any rate, at almost equal distances."""
    dice = Dice(number)
    every, tolerance = dice.of([5, 12, 30]), dice.of([[1, 64], [1, 8], [7, 3]])
    script = Script(f"adaptive, noise {number}", {"laws": [{"law": "adaptive", "tolerance": tolerance}]}, number, SECOND)
    script.calls(20, "ok", 5 * MS, 50 * MS)
    script.calls(1, EVIDENT, 5 * MS)
    for turn in range(30):
        script.calls(1 + dice.below(2 * every), "ok", 5 * MS)
        script.calls(1 + (turn % 13 == 12), "throttled", 5 * MS)
    script.calls(1, {"outcome": "throttled", "after": MS}, 5 * MS)
    script.intervals()
    return script


def windows(number):
    """Calls of which some of those in flight together are served."""
    dice = Dice(number)
    server, took = Server(dice), dice.of([MS, 20 * MS, SECOND])
    places, bad = dice.of([0, 1, 2, 3, 10, 17]), dice.of(["throttled", "busy", "busy"])
    policy = {"named": "adaptive", "concurrency": dice.of([32, 300])}
    script = Script(f"adaptive, windows {number}", policy, number, SECOND)
    for turn in range(7):
        script.polls()
        script.next_at()
        script.after(took)
        script.settles(dice.of([places, dice.below(64)]), server.reply("ok"))
        script.settles(64, server.reply(dice.of(["ok", bad, bad])))
        script.intervals()
        script.after(dice.of([0, 0, 2**28, 2**29, SECOND]))
        if turn == 3 and dice.below(2):
            script.calls(dice.of([20, 200]), "ok", 10 * MS, 10 * MS)
    return script


def pools():
    """What remains limits slow start if it is less than half of the most that ever remained: an eighth of a large pool."""
    few = (0, 1, 3, 4, 5, 6)
    for most, lefts in ((9, few), (10, few), (32, (15, 16)), (33, (7, 15, 16, 17)), (900, (440, 450))):
        for left in lefts:
            script = Script(f"adaptive, {left} left of {most}", {"named": "adaptive", "concurrency": 600}, 7, SECOND)
            script.call({"outcome": "ok", "left": most}, 20 * MS)
            for wait in (20 * MS, 2**29):
                script.polls()
                script.after(wait)
                script.settles(1, {"outcome": "ok", "left": left})
            script.polls()
            yield script


def dark_times():
    """The first dark time of one second to a minute is no window; a later one much shorter or longer than it is not read."""
    for tenths in (4, 8, 12, 17, 30, 200, 450, 550, 650, 900, 3000):
        script = Script(f"adaptive, dark for {tenths} tenths of a second", {"named": "adaptive"}, tenths, SECOND)
        script.calls(20, "ok", MS, 5 * MS)
        script.calls(1, EVIDENT, MS)
        for part in (1, 1, 2, 5, 1):
            script.calls(200, "ok", MS)
            script.calls(5, "throttled", tenths * SECOND // 50 // part)
            script.calls(1, "ok", MS)
        yield script


def quotas():
    """Where each rejection costs many calls, growth ends below the quota that the server tells."""
    for limit, period in ((50, SECOND), (200, SECOND), (9000, 60 * SECOND), (12, 60 * SECOND)):
        quota = {"limit": limit, "period": period}
        script = Script(f"adaptive, told {limit} in {period} ns", {"named": "adaptive"}, limit, SECOND)
        script.calls(20, {"outcome": "ok", **quota}, 5 * MS, period // limit)
        for served in (3, 300, 2000, 3):
            script.calls(1, {"outcome": "throttled", "after": 3 * SECOND, **quota}, 5 * MS)
            script.calls(served, {"outcome": "ok", **quota}, 5 * MS)
            script.intervals()
        yield script


def long_epochs():
    """A hit soon after a long epoch shortens it to 256 calls."""
    for served in (300, 700, 3000):
        script = Script(f"adaptive, a wait after {served} calls", {"named": "adaptive"}, served, SECOND)
        script.calls(served, "ok", MS, MS)
        script.calls(1, {"outcome": "throttled", "after": 9 * SECOND}, MS)
        for later in (5, 20, 100, 5):
            script.calls(later, "ok", MS)
            script.calls(1, "throttled", MS)
        yield script


def slower():
    """A rejection of a client that is slower than its rate counts if the retry or another call is rejected too."""
    for attempt, reply in ((1, "ok"), (0, "throttled"), (1, "throttled"), (2, "throttled")):
        script = Script(f"adaptive, {reply} at attempt {attempt} after a rejection", {"named": "adaptive"}, attempt, SECOND)
        script.calls(20, "ok", MS, 5 * MS)
        script.calls(1, EVIDENT, MS)
        script.calls(40, "ok", MS)
        for _ in range(4):
            script.after(100 * MS)
            script.call("throttled", MS)
            again = 0
            for into in range(1, attempt + 1):
                again = script.retry(again, into=into)
            script.after(2 * SECOND)
            script.call(reply, MS, again)
            script.retry(into=3)
            script.calls(9, "ok", MS)
            script.intervals()
        yield script


def cooldowns():
    """Epochs last more cooldowns as hits repeat; above the plateau, the rate grows as in an epoch of eight."""
    for hits in (1, 3, 4, 5, 7):
        script = Script(f"adaptive, a second after each of {hits} hits", {"named": "adaptive"}, hits, SECOND)
        script.calls(20, "ok", 5 * MS, 50 * MS)
        script.calls(1, EVIDENT, 5 * MS)
        for hit in range(hits):
            script.calls(40 << hit, "ok", 5 * MS)
            script.calls(1, {"outcome": "throttled", "after": SECOND}, 5 * MS)
        for _ in range(4):
            script.calls(500, "ok", 5 * MS)
            script.intervals()
        yield script


def places():
    """Rejections with more calls in flight than at successes limit their number. One more is tried after 256."""
    for served in (250, 254, 260, 288, 600):
        script = Script(f"adaptive, one more call in flight after {served}", {"named": "adaptive"}, served, SECOND)
        script.calls(20, "ok", MS, 5 * MS)
        script.calls(1, EVIDENT, MS)
        for others, between in (*[(2, 12)] * 9, (1, 12), (0, 12), (2, 12), (4, 12), (4, served), (3, 12), (2, 12), (0, 12), (0, 12)):
            script.calls(between, "ok", MS)
            while len(script.outs) < others and (answer := script.poll())[0] != "full":
                script.after(answer[1] - script.now if answer[0] == "wait" else 0)
            script.calls(1, "throttled", MS)
            script.settles(1 if others == 4 else 9, "ok")
        script.save()
        script.restore(script.now, 0)
        script.polls()
        yield script


def vectors():
    scripts = [*map(phases, range(110)), *map(noise, range(8)), *map(windows, range(60))]
    scripts += [*pools(), *dark_times(), *quotas(), *long_epochs(), *cooldowns(), *slower(), *places()]
    for script in scripts:
        yield script.vector()
