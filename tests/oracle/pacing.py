"""Pacing: GCRA, counted in fractions of calls.

The bucket holds calls. Every call adds its cost when all of it fits, and a quota of count per period
drains count / period of a call per nanosecond. The implementation counts in units of 1/period of a call,
so that integers are exact; a record contains that integer.
"""

from fractions import Fraction
from math import floor

from exact import DAY, END, LAST, U64, ceil, since, within


class Never(Exception):
    """A call that cannot be sent, with the reason."""

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason


class Quota:
    def __init__(self, count, period, burst=1):
        self.count, self.period, self.burst = count, period, burst

    def __eq__(self, other):
        return isinstance(other, Quota) and vars(self) == vars(other)

    def drains(self, nanos):
        return Fraction(self.count * nanos, self.period)


class Pacing:
    def __init__(self, now):
        self.fill = Fraction(0)
        self.seen = now  # The latest instant.
        self.cooldown = 0  # No call is sent before this time.

    def fill_at(self, now, quota):
        return max(Fraction(0), self.fill - quota.drains(since(self.seen, now)))

    def due(self, now, cost, quota):
        """The earliest time at which the call may be sent; zero if nothing delays it."""
        if cost == 0:
            return 0
        if quota is None:
            return self.cooldown
        if cost > quota.burst:
            raise Never("too-big")
        over = self.fill_at(now, quota) + cost - quota.burst
        if over <= 0:
            return self.cooldown
        at = max(now, self.seen) + ceil(over * quota.period / quota.count)
        if at > END:
            raise Never("never")
        return max(at, self.cooldown)

    def drain(self, now, quota):
        self.fill = Fraction(0) if quota is None else self.fill_at(now, quota)
        self.seen = max(self.seen, now)

    def follow(self, old, new):
        """Another quota's bucket has room for the same number of calls, up to its burst, or the same debt."""
        if old is None or new is None:
            self.fill = Fraction(0)
            return
        room = old.burst - self.fill
        units = floor(room * new.period) if room >= 0 else -floor(-room * new.period) - 1
        self.fill = min(Fraction(U64, new.period), new.burst - min(new.burst, Fraction(units, new.period)))

    def correct(self, now, charged, used, quota):
        """A refund ends at an empty bucket. A debt is paid within a day."""
        self.drain(now, quota)
        if quota is not None:
            most = min(Fraction(U64, quota.period), quota.burst + quota.drains(DAY))
            most = max(most, self.fill)
            self.fill = max(Fraction(0), min(most, self.fill + used - charged))

    def charge(self, now, cost, quota):
        self.correct(now, 0, cost, quota)

    def charge_late(self, now, late, cost, quota):
        """A late timer loses nothing: a call that had to wait is charged as of its time."""
        if quota is None:
            return
        waited = self.fill + cost > quota.burst
        fits = waited and (self.fill + cost) * quota.period <= U64
        self.charge(now - late if fits else now, cost, quota)

    def delay(self, now, span):
        self.cooldown = max(self.cooldown, min(within(max(now, self.seen) + span), LAST))

    def away(self, span, quota):
        """Time before the start of the present clock also drains the bucket."""
        if quota is not None:
            self.fill = self.fill_at(within(self.seen + span), quota)

    def write(self, out, quota, now):
        out.u64(0 if quota is None else int(self.fill_at(now, quota) * quota.period))
        out.instant(max(self.seen, now))
        out.instant(self.cooldown)

    def read(self, source):
        """The record counts in units of 1/period of a call, which depends on the law."""
        level = source.u64()
        self.seen, self.cooldown = source.instant(), source.instant()
        return level

    def pour_again(self, level, quota):
        self.fill = Fraction(0) if quota is None else Fraction(level, quota.period)
