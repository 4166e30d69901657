"""Backoff schedules, the random generator, wrapping counters, and invalid policies."""

from backoff import Backoff
from chance import Chance
from exact import END, HOUR, MS, SECOND, U32, U64, YEAR
from families.tools import DRAW_MAX, DRAW_MIN, SEEDS
from policy import NAMED, whole, wrong
from script import Script

GROWTHS = [
    "constant",
    "linear",
    ["exponential", 1, 1],
    ["exponential", 2, 1],
    ["exponential", 3, 2],
    ["exponential", 1_000_001, 1_000_000],
    ["exponential", U32, 1],
    ["exponential", U32, U32 - 1],
    "decorrelated",
]
JITTERS = ["none", "full", "equal", ["spread", 0, 1], ["spread", 1, 3], ["spread", 1, 1]]
BOUNDS = [
    ("as by default", 100 * MS, 20 * SECOND, []),
    ("a nanosecond", 1, 1, []),
    ("a nanosecond to the end", 1, END, ["AttemptSaturates"]),
    ("the base at the most", HOUR, HOUR, ["BaseOverCap"]),
    ("an odd base", 333_333_333, SECOND, []),
    ("beyond half of all time", END // 2 + 1, END, ["AttemptSaturates"]),
]


def backoffs():
    for growth in GROWTHS:
        for jitter in JITTERS:
            for bound, base, most, flags in BOUNDS:
                for draw, draw_flags, seed in SEEDS:
                    schedule, chance = Backoff(growth, jitter, base, most), Chance(seed)
                    rung, delays = 0, []
                    for _ in range(7):
                        rung = schedule.climb(rung, chance)
                        delays.append([rung, schedule.delay(rung, chance)])
                    yield {
                        "name": f"backoff {growth}, jitter {jitter}, {bound}, {draw}",
                        "kind": "backoff",
                        "flags": flags + draw_flags,
                        "backoff": [growth, jitter, base, most],
                        "seed": seed,
                        "rung": 0,
                        "delays": delays,
                    }


def draws():
    for seed in [0, 1, 2, 3, 2**32, 2**53, U64, DRAW_MIN, DRAW_MAX]:
        chance = Chance(seed)
        drawn = [chance.word() for _ in range(8)]
        for least, most in [
            (0, 0),
            (0, 1),
            (0, U32),
            (0, U64),
            (5, 4),
            (U64, U64),
            (U64, 0),
            (1, U64),
            (SECOND, 2 * SECOND),
            (2**32 - 1, 2**33),
        ]:
            drawn.append([least, most, chance.between(least, most)])
        yield {
            "name": f"draws of seed {seed}",
            "kind": "chance",
            "flags": ["DrawMin", "DrawMax"],
            "seed": seed,
            "draws": drawn,
        }


def counters():
    for hertz in (1, 1000, 32_768, 1_000_000, 84_000_000, U32):
        for name, readings in [
            ("that wraps", [U32 - 1, U32, 0, 1, 2**31, U32, 5]),
            ("read late and out of order", [100, 90, 101, 2**31 + 101, 2**31 + 100, 50, 50]),
            ("that wraps many times", [number * (2**31 - 1) % 2**32 for number in range(12)]),
        ]:
            count, instants = None, []
            for reading in readings:
                if count is None:
                    count = reading
                else:
                    # A reading less than half the range ahead is ahead. One that is behind counts
                    # as the latest.
                    ahead = (reading - count) % 2**32
                    count += ahead if ahead < 2**31 else 0
                instants.append([reading, min(count * SECOND // hertz, U64)])
            spans = [0, 1, 999, SECOND - 1, SECOND, SECOND + 1, YEAR, END]
            yield {
                "name": f"a counter of {hertz} Hz {name}",
                "kind": "ticks",
                "flags": ["CounterWraps"],
                "hertz": hertz,
                "readings": instants,
                "spans": [[span, min(-(-span * hertz // SECOND), U64)] for span in spans],
            }


def one(law, **config):
    return {"laws": [{"law": law, **config}]}


def schedule(*parts):
    return {**one("fixed"), "backoff": list(parts)}


POLICIES = [
    ("a base of nothing", ["BaseOverCap"], schedule("constant", "none", 0, SECOND)),
    ("a base above the most", ["BaseOverCap"], schedule("linear", "full", 5000 * MS, 1000 * MS)),
    ("a base at the most", ["BaseOverCap"], schedule("linear", "full", SECOND, SECOND)),
    ("a factor below one", [], schedule(["exponential", 1, 2], "full", 1, SECOND)),
    ("a spread above one", [], schedule("linear", ["spread", 6, 5], 1, SECOND)),
    ("a cooldown of nothing", [], {**one("fixed"), "cooldown": [0, [0, 1]]}),
    ("a cooldown spread beyond itself", [], {**one("fixed"), "cooldown": [SECOND, [9, 8]]}),
    ("a retry budget without a reserve", [], {**one("fixed"), "retry_budget": [[1, 2], 0]}),
    ("a retry budget that earns nothing", [], {**one("fixed"), "retry_budget": [[0, 3], 4]}),
    ("a quota of nothing", [], one("fixed", quota=[0, SECOND])),
    ("a quota in no time", [], one("fixed", quota=[1, 0])),
    ("a burst of nothing", [], one("fixed", quota=[1, SECOND, 0])),
    ("a burst that just fits", ["HugeCost"], one("fixed", quota=[1, HOUR, U64 // 4 // HOUR])),
    ("a burst that does not fit", ["HugeCost"], one("fixed", quota=[1, HOUR, U64 // 4 // HOUR + 1])),
    ("adaptive of a quota", [], one("adaptive", quota=[5, SECOND])),
    ("aimd that keeps all", [], one("aimd", keep=[1, 1])),
    ("aimd that never grows", [], one("aimd", every=0)),
    ("aimd that starts below its floor", [], one("aimd", start=[1, HOUR])),
    ("aimd that starts above its ceiling", [], one("aimd", ceiling=[9, SECOND])),
    ("aimd with too large a burst", ["HugeCost"], one("aimd", start=[10, SECOND, 76_860_261])),
    ("aimd with the largest burst", ["HugeCost"], one("aimd", start=[10, SECOND, 76_860_260])),
    ("aimd with a cooldown above its most", ["BaseOverCap"], one("aimd", cooldown=[2, 1, 1])),
    ("aimd with a cooldown of nothing", [], one("aimd", cooldown=[0, 1, 1])),
    ("aimd that never discounts", [], one("aimd", cooldown=[1, 1, 0])),
    ("tchannel that does not recover", [], one("tchannel", rate=0)),
    ("tchannel that adds nothing", [], one("tchannel", value=0)),
    ("tchannel that doubles", [], one("tchannel", rate=1)),
    ("tchannel by too much", [], one("tchannel", rate=15)),
    ("tchannel with too large a limit", [], one("tchannel", most=10_000_000)),
    ("aimd-concurrency that keeps all", [], one("aimd-concurrency", keep=[10, 9])),
    ("aimd-concurrency that starts above its most", [], one("aimd-concurrency", start=4, most=3)),
    ("heroku that shrinks", [], one("heroku", times=[1, 5])),
    ("heroku that is stuck", [], one("heroku", add=0)),
    (
        "exponential that is stuck",
        [],
        one("heroku", strategy="exponential", add=0, start=1, floor=1),
    ),
    ("heroku in no calm", [], one("heroku", calm=0)),
    ("autosleeper from nothing", [], one("autosleeper", initial=0)),
    ("autosleeper that goes down on failure", [], one("autosleeper", up=[1, 2])),
    ("autosleeper that goes up on success", [], one("autosleeper", down=[2, 1])),
    ("autosleeper spread beyond itself", [], one("autosleeper", spread=[3, 2])),
    ("autosleeper with the base above the most", ["BaseOverCap"], one("autosleeper", most=MS)),
    ("autosleeper without a threshold", [], one("autosleeper", threshold=0)),
]


def policies():
    for name, flags, policy in POLICIES:
        yield {
            "name": f"policy: {name}",
            "kind": "policy",
            "flags": flags,
            "policy": policy,
            "error": wrong(whole(policy)),
        }


def attempts():
    """Attempts are counted up to 65 535 and continue after that. The default is ten, and 64 for
    a call that has been throttled for less than two minutes."""
    for growth in ("constant", "linear", ["exponential", 2, 1], "decorrelated"):
        policy = {"laws": [{"law": "fixed"}], "backoff": [growth, "full", MS, YEAR], "attempts": None}
        script = Script(
            f"attempts past all counting, {growth}", ["AttemptSaturates", "Retries"], policy
        )
        for count in (1, 65_533, 1, 1, 3):
            script.retries(count, call=0 if count == 65_533 else 1 if script.events else 0, into=1)
        script.poll(call=1)
        yield script.vector()
    for name in NAMED:
        script = Script(f"attempts by default, {name}", ["Retries"], {"named": name})
        script.retries(12, call=0)
        script.retry(1, reply="failed")
        script.retry(1, now=script.now + 119 * SECOND)
        script.retry(1, into=2, now=script.now + SECOND)
        script.retries(60, call=1, reply="throttled", now=script.now - SECOND)
        yield script.vector()


def vectors():
    for family in (attempts, backoffs, draws, counters, policies):
        yield from family()
