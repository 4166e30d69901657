"""`autosleeper`: AutoSleeper, as in its source."""

from exact import MS, SECOND, U16, U64, part, within
from laws.base import Law, above_one, below_one


class Autosleeper(Law):
    TAG = 7
    NAME = "autosleeper"
    FIELDS = "now_delay u64 successes u16"
    DEFAULT = {
        "initial": 500 * MS,
        "most": 900 * SECOND,
        "up": [3, 2],
        "down": [9, 10],
        "threshold": 10,
        "spread": [3, 10],
        "most_spread": 120 * SECOND,
    }
    NAMED = {
        "autosleeper": {"laws": [{"law": "autosleeper"}], "backoff": None},
    }

    @staticmethod
    def wrong(config):
        errors = [
            ("AutosleeperInitial", config["initial"] == 0),
            ("AutosleeperUp", below_one(config["up"])),
            ("AutosleeperDown", above_one(config["down"])),
            ("AutosleeperSpread", above_one(config["spread"])),
        ]
        return next((error for error, is_wrong in errors if is_wrong), None)

    def __init__(self, config, now):
        self.config = config
        self.now_delay, self.successes = 0, 0

    def interval(self, now):
        return self.now_delay or None

    def scaled(self, factor, chance):
        delay = part(factor, self.now_delay)
        if self.config["spread"] == [0, 1]:
            return delay
        reach = min(part(self.config["spread"], delay), self.config["most_spread"])
        return chance.between(within(delay - reach), min(within(delay + reach), U64))

    def observe(self, pacing, sample, chance):
        moved = self.served(chance) if sample.outcome == "ok" else self.failed(chance)
        pacing.delay(sample.now, self.now_delay)
        return moved

    def failed(self, chance):
        if self.now_delay == 0:
            self.now_delay = self.config["initial"]
        else:
            self.now_delay = min(self.scaled(self.config["up"], chance), self.config["most"])
        return "slower"

    def served(self, chance):
        if self.now_delay == 0:
            return None
        self.successes = within(self.successes + 1, U16)
        if self.successes != self.config["threshold"]:
            return None
        self.successes = 0
        lower = self.scaled(self.config["down"], chance)
        self.now_delay = 0 if lower < self.config["initial"] else lower
        return "faster"
