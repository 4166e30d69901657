"""Invalid policies, and attempts by default and past all counting."""

from exact import HOUR, MS, SECOND, U64, YEAR
from policy import NAMED, whole, wrong
from script import Script


def one(law, **config):
    return {"laws": [{"law": law, **config}]}


def schedule(*parts):
    return {**one("fixed"), "backoff": list(parts)}


POLICIES = [
    ("a base of nothing", schedule("constant", "none", 0, SECOND)),
    ("a base above the most", schedule("linear", "full", 5000 * MS, 1000 * MS)),
    ("a base at the most", schedule("linear", "full", SECOND, SECOND)),
    ("a factor below one", schedule(["exponential", 1, 2], "full", 1, SECOND)),
    ("a spread above one", schedule("linear", ["spread", 6, 5], 1, SECOND)),
    ("a cooldown of nothing", {**one("fixed"), "cooldown": [0, [0, 1]]}),
    ("a cooldown spread beyond itself", {**one("fixed"), "cooldown": [SECOND, [9, 8]]}),
    ("a retry budget without a reserve", {**one("fixed"), "retry_budget": [[1, 2], 0]}),
    ("a retry budget that earns nothing", {**one("fixed"), "retry_budget": [[0, 3], 4]}),
    ("a quota of nothing", one("fixed", quota=[0, SECOND])),
    ("a quota in no time", one("fixed", quota=[1, 0])),
    ("a burst of nothing", one("fixed", quota=[1, SECOND, 0])),
    ("a burst that just fits", one("fixed", quota=[1, HOUR, U64 // 4 // HOUR])),
    ("a burst that does not fit", one("fixed", quota=[1, HOUR, U64 // 4 // HOUR + 1])),
    ("adaptive of a quota", one("adaptive", quota=[5, SECOND])),
    ("aimd that keeps all", one("aimd", keep=[1, 1])),
    ("aimd that never grows", one("aimd", every=0)),
    ("aimd that starts below its floor", one("aimd", start=[1, HOUR])),
    ("aimd that starts above its ceiling", one("aimd", ceiling=[9, SECOND])),
    ("aimd with too large a burst", one("aimd", start=[10, SECOND, 76_860_261])),
    ("aimd with the largest burst", one("aimd", start=[10, SECOND, 76_860_260])),
    ("aimd with a cooldown above its most", one("aimd", cooldown=[2, 1, 1])),
    ("aimd with a cooldown of nothing", one("aimd", cooldown=[0, 1, 1])),
    ("aimd that never discounts", one("aimd", cooldown=[1, 1, 0])),
    ("tchannel that does not recover", one("tchannel", rate=0)),
    ("tchannel that adds nothing", one("tchannel", value=0)),
    ("tchannel that doubles", one("tchannel", rate=1)),
    ("tchannel by too much", one("tchannel", rate=15)),
    ("tchannel with too large a limit", one("tchannel", most=10_000_000)),
    ("aimd-concurrency that keeps all", one("aimd-concurrency", keep=[10, 9])),
    ("aimd-concurrency that starts above its most", one("aimd-concurrency", start=4, most=3)),
    ("heroku that shrinks", one("heroku", times=[1, 5])),
    ("heroku that is stuck", one("heroku", add=0)),
    ("exponential that is stuck", one("heroku", strategy="exponential", add=0, start=1, floor=1)),
    ("heroku in no calm", one("heroku", calm=0)),
    ("autosleeper from nothing", one("autosleeper", initial=0)),
    ("autosleeper that goes down on failure", one("autosleeper", up=[1, 2])),
    ("autosleeper that goes up on success", one("autosleeper", down=[2, 1])),
    ("autosleeper spread beyond itself", one("autosleeper", spread=[3, 2])),
    ("autosleeper with the base above the most", one("autosleeper", most=MS)),
    ("autosleeper without a threshold", one("autosleeper", threshold=0)),
]


def attempts():
    """Attempts are counted up to 65 535 and continue after that. The default is ten, and 64 for
    a call that has been throttled for less than two minutes."""
    for growth in ("linear", ["exponential", 2, 1]):
        policy = {"laws": [{"law": "fixed"}], "backoff": [growth, "full", MS, YEAR], "attempts": None}
        script = Script(f"attempts past all counting, {growth}", policy)
        for count in (1, 65_533, 1, 1, 3):
            script.retries(count, call=0 if count == 65_533 else 1 if script.events else 0, into=1)
        script.poll(call=1)
        yield script.vector()
    for name in NAMED:
        script = Script(f"attempts by default, {name}", {"named": name})
        script.retries(12, call=0)
        script.retry(1, reply="failed")
        script.retry(1, now=script.now + 119 * SECOND)
        script.retry(1, into=2, now=script.now + SECOND)
        script.retries(60, call=1, reply="throttled", now=script.now - SECOND)
        yield script.vector()


def vectors():
    yield from attempts()
    for name, policy in POLICIES:
        yield {"name": f"policy: {name}", "kind": "policy", "policy": policy, "error": wrong(whole(policy))}
