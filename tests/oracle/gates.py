"""The other gates: cooldown, concurrency limit, retry budget."""

from exact import LAST, part, within

class Cooldown:
    def __init__(self):
        self.until = 0

    def raise_to(self, now, asked, policy, chance):
        ceiling, spread = policy
        spread = (spread[0] << 31) // spread[1]
        reach = part((spread, 1 << 31), min(asked, ceiling))
        if spread == 0:
            cooldown = min(asked, ceiling)
        elif asked < ceiling:  # A floor: jitter is added.
            cooldown = chance.between(asked, min(within(asked + reach), ceiling))
        else:  # Capped: jitter is subtracted.
            cooldown = chance.between(ceiling - reach, ceiling)
        self.until = max(self.until, min(within(now + cooldown), LAST))


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
