"""`fixed`, and the laws without a rate: `none` and `backoff`."""

from exact import SECOND
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

    @staticmethod
    def wrong(config):
        return config["quota"] and quota_wrong(*config["quota"])

    def __init__(self, config, now):
        self.limit = Quota(*config["quota"]) if config["quota"] else None

    def settings(self):
        return self.NAME, self.limit

    def quota(self):
        return self.limit

    def observe(self, pacing, sample, chance):
        return None
