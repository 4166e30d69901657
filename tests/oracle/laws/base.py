"""The default answers of a law to the controller."""

from exact import U64
from record import Rejected

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


def fields(thing):
    words = thing.FIELDS.split()
    return zip(words[::2], words[1::2])


class Law:
    NAME = ""
    DEFAULT = {}
    """The defaults of a configuration."""
    NAMED = {}
    """The policies with names."""
    FIELDS = ""
    """The values in a record, each with its kind."""

    @classmethod
    def whole(cls, config):
        return {**cls.DEFAULT, **config}

    @staticmethod
    def wrong(config):
        """The error of a complete configuration, by name."""
        return None

    def write(self, out):
        for name, kind in fields(self):
            out.put(kind, getattr(self, name))

    def read(self, source):
        for name, kind in fields(self):
            setattr(self, name, source.get(kind))
        if not self.is_valid():
            raise Rejected("OtherPolicy")

    def is_valid(self):
        return True

    def settings(self):
        """What must be equal for two policies to have the same law."""
        return self.NAME, self.config

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

    def released(self, now, cooldown_end, cost, attempt, chance):
        pass

    def corrected(self, now, charged, used):
        pass
