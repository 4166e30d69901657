"""What every law answers to the controller, where it has nothing of its own to say."""

PER = 10**9 << 20
"""Laws count calls a second with 20 bits of fraction: that is calls per this many nanoseconds."""
MOST_BURST = (2**64 - 1) // PER


class Law:
    def quota(self):
        return None

    def check(self, now, in_flight):
        """The instant from which on the law lets a call leave."""
        return 0

    def window(self, now):
        return None

    def widens_at(self, now):
        """When the window is next wider by time."""
        return None

    def interval(self, now):
        quota = self.quota()
        return None if quota is None else -(-quota.period // quota.count)

    def released(self, pace, now, cost, chance):
        pass

    def corrected(self, now, charged, used):
        pass
