"""Servers that queue, for the laws that limit concurrency."""

from exact import MS, SECOND, U64
from families.tools import Dice
from script import Script

LAWS = {
    "vegas": {"named": "vegas"},
    "aimd-concurrency": {"named": "aimd-concurrency"},
    "adaptive beside vegas": {"laws": [{"law": "adaptive"}, {"law": "vegas"}]},
}


def workers(name, policy, number):
    """Callers wait in one queue, and the first free worker takes the first of them."""
    dice = Dice(number)
    free, line, took = [0] * (1 + dice.below(8)), [], dice.of([300, 10 * MS, 40 * MS])
    script = Script(f"{name} before {len(free)} workers, {number}", policy, number, SECOND)
    script.calls(dice.of([0, 40]), "ok", took)
    for callers in (1 + dice.below(4), 4 + dice.below(28), 1 + dice.below(28)):
        for _ in range(14):
            while len(line) < callers and (answer := script.poll())[0] == "admit":
                worker = min(range(len(free)), key=lambda index: free[index])
                free[worker] = max(free[worker], script.now) + took + dice.below(took)
                line.append((free[worker], answer[1]))
            if line:
                done, permit = min(line)
                line.remove((done, permit))
                outcome = "ok" if dice.below(30) else dice.of(["busy", "failed", "throttled"])
                script.settle(outcome, max(script.now, done), permit)
    return script


def slower(number):
    """A server that becomes slower for good: the old minimum is kept for 32 rounds of 32 calls. And one that recovers."""
    dice = Dice(number)
    callers, work, longer = 2 + dice.below(9), dice.of([900, 700_000, 10 * MS]), dice.of([2, 3, 40])
    script = Script(f"vegas, {callers} callers at a server that becomes {longer} times slower, {number}", {"named": "vegas"}, number)
    script.queue(33, 1, work)
    script.queue(200, callers, work)
    for _ in range(19):
        script.queue(128, callers, longer * work)
    script.queue(2, callers, work, "busy")
    for _ in range(4):
        script.queue(96, callers, work)
    return script


def broken(took):
    """Latencies as shown by a broken clock, and minima that expire after 64 rounds."""
    script = Script(f"vegas, calls of {took} ns", {"named": "vegas"})
    for count, outcome, takes in ((100, "ok", 10 * MS), (2, "busy", 10 * MS), (70, "ok", took), (1, "failed", took), (1320, "ok", min(took, 20 * MS))):
        script.calls(count, outcome, takes)
    return script


def vectors():
    scripts = [workers(name, policy, number) for name, policy in LAWS.items() for number in range(8)]
    scripts += [*map(slower, range(8)), *map(broken, (0, 999, 1000, 7 * MS, 5000 * SECOND, U64))]
    for script in scripts:
        yield script.vector()
