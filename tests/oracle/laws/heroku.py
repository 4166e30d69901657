"""`heroku-gradual`, `heroku-proportional`, `heroku-remaining`: the Heroku client's strategies."""

from exact import MS, U16, U32, part, since, within
from laws.base import Law, below_one

ONE = 1 << 32
LN_2 = 2_977_044_472


def exp_neg(x, y):
    """2^32 e^(-x / y) with the documented rounding: twelve terms, each product rounded down."""
    if x // y >= 23:
        return 0
    z = x * ONE // y
    total, rest = ONE, z % LN_2
    for term in range(12, 0, -1):
        total = ONE - (rest * (ONE // term) // ONE) * total // ONE
    return total >> z // LN_2


class Heroku(Law):
    TAG = 6
    NAME = "heroku"
    FIELDS = "sleep u64 run u16 raised instant rejected_at instant"
    DEFAULT = {
        "strategy": "remaining",
        "start": 0,
        "add": 800 * MS,
        "times": [6, 5],
        "floor": 0,
        "divisor": 4500,
        "jitter": [1, 10],
        "spare_first": False,
        "once_per_event": False,
        "calm": None,
    }
    NAMED = {
        "heroku-gradual": {
            "laws": [{"law": "heroku", "strategy": ["gradual", 800 * MS]}],
            "backoff": None,
        },
        "heroku-proportional": {
            "laws": [{"law": "heroku", "strategy": "proportional"}],
            "backoff": None,
        },
        "heroku-remaining": {"laws": [{"law": "heroku"}], "backoff": None},
    }

    @staticmethod
    def wrong(config):
        if below_one(config["times"]):
            return "HerokuTimes"
        stays = config["start"] > 0 and config["floor"] > 0 and config["strategy"] != "exponential"
        if config["add"] == 0 and not stays:
            return "HerokuStart"
        return "HerokuCalm" if config["calm"] == 0 else None

    def __init__(self, config, now):
        self.config, self.sleep, self.run = config, config["start"], 0
        self.raised = self.rejected_at = now

    def interval(self, now):
        return self.sleep or None

    def observe(self, pacing, sample, chance):
        sleep, moved = self.sleep, None
        if sample.outcome == "ok":
            moved = self.served(sample)
            sleep = self.sleep
        elif sample.outcome in ("throttled", "busy"):
            sleep, moved = self.throttled(sample)
        most = within(sleep + part(self.config["jitter"], sleep))
        pacing.delay(sample.now, chance.between(sleep, most))
        return moved

    def throttled(self, sample):
        config = self.config
        if config["once_per_event"] and not sample.fresh:
            return self.sleep, None
        first = self.run == 0
        together = config["once_per_event"] and sample.sent < self.rejected_at
        self.rejected_at = sample.now
        self.run = within(self.run + 1, U16)
        if config["spare_first"] and sample.attempt == 0 and (first or together):
            return self.sleep, None
        self.raised = sample.now
        if config["strategy"] == "exponential":
            if first or self.sleep == 0:
                self.sleep = config["add"]
            else:
                self.sleep = part(config["times"], self.sleep)
            return self.sleep, "slower"
        more = within(self.sleep + config["add"])
        self.sleep = part(config["times"], more)
        return (self.sleep if config["spare_first"] else more), "slower"

    def served(self, sample):
        self.run = 0
        strategy, divisor, sleep = self.config["strategy"], self.config["divisor"], self.sleep
        if strategy == "exponential":
            less = sleep
        elif strategy == "proportional":
            less = sleep // divisor
        elif strategy == "remaining":
            left = sample.hint.left
            less = 0 if left is None else sleep if left > U32 else part((left, divisor), sleep)
        else:
            less = strategy[1]
        if self.config["calm"] is not None:
            decayed = exp_neg(since(self.raised, sample.now), self.config["calm"])
            less = less * (ONE - decayed) // ONE
        self.sleep = max(within(sleep - less), min(self.config["floor"], sleep))
        return "faster" if self.sleep < sleep else None
