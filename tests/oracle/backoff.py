"""The backoff schedules between the attempts of a call."""

from exact import SECOND, part, part_up, within

DEFAULT = [["exponential", 2, 1], "full", SECOND // 10, 20 * SECOND]


class Backoff:
    """Capped before jitter is applied, and never above the maximum. Delays are rounded up."""

    def __init__(self, growth, jitter, base, most):
        self.growth, self.jitter, self.base, self.most = growth, jitter, base, most

    def climb(self, rung, chance):
        if self.growth == "decorrelated":
            return chance.between(self.base, min(within(3 * max(rung, self.base)), self.most))
        if self.growth == "constant":
            up = self.base
        elif self.growth == "linear":
            up = rung + self.base
        else:
            up = part_up(self.growth[1:], rung)
        return min(max(up, self.base), self.most)

    def delay(self, rung, chance):
        if self.growth == "decorrelated" or self.jitter == "none":
            return rung
        if self.jitter == "full":
            return chance.between(0, rung)
        if self.jitter == "equal":
            return chance.between(rung // 2, rung)
        reach = part(self.jitter[1:], rung)
        return chance.between(within(rung - reach), min(within(rung + reach), self.most))
