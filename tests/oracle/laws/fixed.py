"""`fixed`, and the laws without a rate: `none` and `backoff`."""

from exact import DAY, MS, SECOND
from laws.base import Law, quota_wrong
from pacing import Quota


class Fixed(Law):
    """A constant rate, or none."""

    TAG = 5
    NAME = "fixed"
    DEFAULT = {"quota": None}
    NAMED = {
        "none": {"laws": [{"law": "fixed"}], "backoff": None},
        "backoff": {"laws": [{"law": "fixed"}]},
        "fixed": {"laws": [{"law": "fixed", "quota": [10, SECOND]}]},
    }
    SITUATIONS = [
        ("none", {"named": "none"}),
        ("backoff", {"named": "backoff"}),
        ("ten a second", {"named": "fixed"}),
        ("7 a minute, burst 3", {"laws": [{"law": "fixed", "quota": [7, 60 * SECOND, 3]}]}),
        ("10 a day", {"laws": [{"law": "fixed", "quota": [10, DAY]}]}),
        ("100000 a second", {"laws": [{"law": "fixed", "quota": [100_000, SECOND, 100]}]}),
        (
            "requests and tokens",
            {
                "laws": [
                    {"law": "fixed", "quota": [3, SECOND, 3]},
                    {"law": "fixed", "quota": [90, 60 * SECOND, 90]},
                ]
            },
        ),
        (
            "with a retry budget and all limits of a call",
            {
                "laws": [{"law": "fixed", "quota": [20, SECOND]}],
                "retry_budget": [[1, 3], 2],
                "attempts": 4,
                "elapsed": 3 * SECOND,
                "concurrency": 3,
                "cooldown": [60 * SECOND, [1, 2]],
                "backoff": [["exponential", 3, 2], ["spread", 1, 5], 100 * MS, SECOND],
            },
        ),
    ]

    @staticmethod
    def wrong(config):
        return config["quota"] and quota_wrong(*config["quota"])

    def __init__(self, config, now):
        self.limit = Quota(*config["quota"]) if config["quota"] else None

    def quota(self):
        return self.limit

    def observe(self, pacing, sample, chance):
        return None

    def write(self, out):
        pass

    def read(self, source):
        pass
