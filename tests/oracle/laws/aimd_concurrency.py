"""`aimd-concurrency`."""

from exact import part
from laws.base import Law, below_one


class AimdConcurrency(Law):
    """A concurrency limit that grows by one after a limit's worth of successes."""

    TAG = 3
    NAME = "aimd-concurrency"
    FIELDS = "open u16 successes u16"
    DEFAULT = {"start": 4, "most": 1000, "keep": [9, 10]}
    NAMED = {
        "aimd-concurrency": {"laws": [{"law": "aimd-concurrency"}]},
    }

    @staticmethod
    def wrong(config):
        if not below_one(config["keep"]):
            return "AimdConcurrencyKeep"
        return "AimdConcurrencyStart" if config["start"] > config["most"] else None

    def __init__(self, config, now):
        self.config, self.open, self.successes = config, config["start"], 0

    def concurrency(self, now):
        return self.open

    def observe(self, pacing, sample, chance):
        if not sample.fresh:
            return None
        if sample.outcome != "ok":
            self.open, self.successes = max(1, part(self.config["keep"], self.open)), 0
            return "slower"
        if not sample.rate_limited or self.open >= self.config["most"]:
            return None
        self.successes += 1
        if self.successes < self.open:
            return None
        self.open, self.successes = self.open + 1, 0
        return "faster"

    def is_valid(self):
        return 1 <= self.open <= self.config["most"]
