"""What every law answers to the controller, where it has nothing of its own to say."""

from exact import MS, U64

PER = 10**9 << 20
"""Laws count calls a second with 20 bits of fraction: that is calls per this many nanoseconds."""
MOST_BURST = U64 // PER


PUSHBACK = ("throttled", "busy")


def below_one(ratio):
    return ratio[0] < ratio[1]


def above_one(ratio):
    return ratio[0] > ratio[1]


def quota_wrong(count, period, burst=1):
    if count == 0:
        return "ZeroCount"
    if period == 0:
        return "ZeroPeriod"
    if burst == 0:
        return "ZeroBurst"
    return "BurstTooLarge" if period * burst > U64 else None


class Law:
    NAME = ""
    DEFAULT = {}
    """What a configuration leaves out."""
    NAMED = {}
    """The policies that go by a name."""
    LATE = 2 * MS
    """How much of what a call is sent late its bucket makes up for."""
    SITUATIONS = []
    """What every client plays with: every configuration that has an arithmetic of its own."""

    @classmethod
    def whole(cls, config):
        return {**cls.DEFAULT, **config}

    @staticmethod
    def wrong(config):
        """What is wrong with a whole configuration, by the name of the error."""
        return None

    def quota(self):
        return None

    def late(self, now):
        return min(now, self.LATE)

    def check(self, now, in_flight):
        """The instant from which on the law admits a call."""
        return 0

    def concurrency(self, now):
        return None

    def widens_at(self, now):
        """When the concurrency limit is next wider by time."""
        return None

    def interval(self, now):
        quota = self.quota()
        return None if quota is None else -(-quota.period // quota.count)

    def released(self, pacing, now, cost, chance):
        pass

    def corrected(self, now, charged, used):
        pass
