"""The other gates: cooldown, concurrency limit, retry budget."""

from exact import LAST, part, within

class Cooldown:
    """A cooldown requested by the server."""

    def __init__(self):
        self.until = 0

    def raise_to(self, now, asked, policy, chance):
        ceiling, spread = policy
        reach = part(((spread[0] << 31) // spread[1], 1 << 31), min(asked, ceiling))
        if asked < ceiling:  # A floor: jitter is added.
            cooldown = chance.between(asked, min(within(asked + reach), ceiling))
        else:  # Capped: jitter is subtracted.
            cooldown = chance.between(ceiling - reach, ceiling)
        self.until = max(self.until, min(within(now + cooldown), LAST))


class Calls:
    """The calls in flight. Time is divided into periods of one expiry, and a call counts in its
    own period and the next.

    A period begins with the first call after the previous one has ended: at that end if it was
    less than an expiry ago, or else with the call.
    """

    def __init__(self, now, seed, policy):
        self.ends = within(now + policy[1])
        self.number = seed * 0x9E3779B97F4A7C15 % 2**64 >> 32
        self.sent = {}  # period: how many

    def counts(self, period):
        return (self.number - period) % 2**32 < 2

    def count(self):
        return sum(calls for period, calls in self.sent.items() if self.counts(period))

    def alive(self, now, policy):
        over = (now - self.ends) // policy[1]  # Whole expiry times since the end of the period.
        youngest = self.sent.get(self.number, 0)
        return self.count() if over < 0 else youngest if over == 0 else 0

    def is_full(self, now, policy):
        return self.count() >= policy[0] and self.alive(now, policy) >= policy[0]

    def add(self, now, policy):
        over = (now - self.ends) // policy[1]
        if over >= 0:
            began, skipped = (self.ends, 1) if over == 0 else (now, 2)
            self.ends, self.number = within(began + policy[1]), (self.number + skipped) % 2**32
        self.sent = {period: calls for period, calls in self.sent.items() if self.counts(period)}
        self.sent[self.number] = self.sent.get(self.number, 0) + 1
        return self.number

    def renew(self, now, expiry):
        """Changes the expiry. All calls keep their places for both expiry times at least."""
        self.ends = within(max(self.ends, now) + expiry)

    def remove(self, period):
        if self.counts(period):
            self.sent[period] = max(0, self.sent.get(period, 0) - 1)

    def ready_at(self, policy):
        """When enough expiry times have ended for one more call."""
        if self.count() < policy[0]:
            return None
        expiries = 1 if self.sent.get(self.number, 0) < policy[0] else 2
        return within(self.ends + (expiries - 1) * policy[1])


class RetryBudget:
    """The retry budget. Each success adds a part of a retry."""

    def __init__(self, policy):
        (self.earns, self.costs), reserve = policy
        self.most = self.costs * reserve
        self.saved = self.most

    def allows(self):
        return self.saved >= self.costs

    def earn(self):
        self.saved = min(self.saved + self.earns, self.most)

    def spend(self):
        self.saved = max(0, self.saved - self.costs)
