"""The default answers of a law to the controller."""

from exact import U64

PER = 10**9 << 20
"""Laws count calls a second with 20 bits of fraction: calls per this many nanoseconds."""


PUSHBACK = ("throttled", "busy")


def below_one(ratio):
    return ratio[0] < ratio[1]


def above_one(ratio):
    return ratio[0] > ratio[1]


def quota_wrong(count, period, burst=1):
    if count == 0:
        return "QuotaCount"
    if period == 0:
        return "QuotaPeriod"
    if burst == 0:
        return "QuotaBurst"
    return "QuotaBurstTooLong" if burst_wrong(-(-period // count), burst) else None


def burst_wrong(interval, burst):
    """A burst takes at most 146 years."""
    return burst > 1 and interval * burst > U64 // 4


class Law:
    NAME = ""
    DEFAULT = {}
    """The defaults of a configuration."""
    NAMED = {}
    """The policies with names."""
    SITUATIONS = []
    """The configurations with separate arithmetic, which every client is tested with."""

    @classmethod
    def whole(cls, config):
        return {**cls.DEFAULT, **config}

    @staticmethod
    def wrong(config):
        """The error of a complete configuration, by name."""
        return None

    def quota(self):
        return None

    def check(self, now, in_flight, retry=False):
        """The instant from which the law admits a call, or a retry."""
        return 0

    def concurrency(self, now):
        return None

    def widens_at(self, now):
        """When the concurrency limit next grows with time."""
        return None

    def interval(self, now):
        quota = self.quota()
        return None if quota is None else quota.interval

    def shorten(self, latest):
        """The longest cooldown became shorter: nothing waits beyond `latest`."""

    def released(self, now, cost, attempt, chance):
        pass

    def corrected(self, now, charged, used):
        pass
