"""Pacing: GCRA, as the time up to which the calls so far are paid for.

A quota of count per period pays for a call per interval: period / count, in whole nanoseconds, rounded up.
A call is sent if what is not yet paid for, with the call, is at most the burst.
"""

from fractions import Fraction

from exact import DAY, LAST, MS, ceil, within

LATENESS = 2 * MS
"""How much of the lateness of a call that had to wait is made up."""


def lately(now):
    return within(now - LATENESS)


class Never(Exception):
    """A call that cannot be sent, with the reason."""

    def __init__(self, reason):
        super().__init__(reason)
        self.reason = reason


class Quota:
    def __init__(self, count, period, burst=1):
        self.interval, self.burst = ceil(Fraction(period, count)), burst

    def __eq__(self, other):
        return isinstance(other, Quota) and vars(self) == vars(other)


class Pacing:
    def __init__(self, now):
        self.paid = now  # Calls are paid for up to here. From LAST on, none is sent.
        self.cooldown = 0  # No call is sent before this time.

    def pay(self, at):
        self.paid = min(at, LAST)

    def due(self, cost, quota):
        """The earliest time at which the call may be sent; zero if nothing delays it."""
        if cost == 0:
            return 0
        if quota is None:
            return self.cooldown
        if cost > quota.burst:
            raise Never("too-big")
        if self.paid >= LAST:
            raise Never("never")
        # Later, this much and the call are no more than the burst.
        unpaid = (quota.burst - cost) * quota.interval
        return max(0, self.paid - unpaid, self.cooldown)

    def follow(self, now, old, new):
        """Another quota has room for the same number of calls, up to its burst, or the same debt. A part of a call takes
        no more time than before at a higher rate, and as much more as a call at a lower one."""
        if old == new:
            return
        if old is None or new is None:
            self.paid = now
            return
        calls, part = divmod(max(0, self.paid - now), old.interval)
        part = min(part + max(0, new.interval - old.interval) * (part > 0), new.interval)
        ahead = within(now + part + calls * new.interval, LAST)
        self.pay(max(now, ahead + (new.burst - old.burst) * new.interval))

    def correct(self, now, charged, used, quota):
        """A refund ends at the whole burst. A debt is paid within a day."""
        if quota is None:
            return
        by = (used - charged) * quota.interval
        if by > 0:
            most = now + quota.burst * quota.interval + DAY
            self.pay(max(self.paid, min(max(self.paid, now) + by, most)))
        else:
            self.paid = min(self.paid, max(self.paid + by, now))

    def charge(self, now, cost, quota):
        if quota is not None:
            self.pay(max(self.paid, now) + cost * quota.interval)

    def charge_late(self, now, waited, cost, quota):
        """A late timer loses nothing: a call that had to wait is charged as of its time, and so are those that
        the same timer delayed."""
        is_late = waited or self.paid > lately(now)
        self.charge(lately(now) if is_late else now, cost, quota)

    def delay(self, now, span):
        self.cooldown = max(self.cooldown, min(now + span, LAST))

    def write(self, out):
        out.put("instant", self.paid)
        out.put("instant", self.cooldown)

    def read(self, source):
        self.paid, self.cooldown = source.get("instant"), source.get("instant")
