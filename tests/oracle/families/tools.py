"""Vectors without a script, and random numbers."""

from exact import HOUR, MS, SECOND, U32, U64


def vector(kind, name, **more):
    return {"name": f"{kind} {name}", "kind": kind, **more}


class Dice:
    """Consecutive outputs of SplitMix64, and numbers that are often extreme, or often equal."""

    def __init__(self, seed):
        self.state = seed
        self.step = None
        """If there is one, all spans are multiples of it."""

    def below(self, end):
        self.state = (self.state + 0x9E3779B97F4A7C15) & U64
        z = (self.state ^ self.state >> 30) * 0xBF58476D1CE4E5B9 & U64
        z = (z ^ z >> 27) * 0x94D049BB133111EB & U64
        return (z ^ z >> 31) % end

    def of(self, items):
        return items[self.below(len(items))]

    def number(self, most=U64):
        made = [
            lambda: self.below(4),
            lambda: self.below(1000),
            lambda: self.below(10) * 10 ** self.below(19),
            lambda: 1 << self.below(64),
            lambda: most - self.below(3),
            lambda: self.below(2**64) >> self.below(64),
        ]
        return min(self.of(made)(), most)

    def span(self):
        if self.step:
            return self.below(self.of([3, 12])) * self.step
        made = [lambda: self.below(1000) * MS] * 3 + [lambda: self.below(100) * SECOND] * 2
        return self.of([*made, lambda: self.below(400) * HOUR, self.number, self.number])()

    def some(self):
        return max(1, self.span())

    def ratio(self):
        wild = self.below(3) == 0
        top = self.number(U32) if wild else self.below(12)
        return [top, max(1, self.number(U32)) if wild else 1 + self.below(12)]

    def quota(self):
        return [1 + self.below(200) if self.below(4) else max(1, self.number()), self.some()]

    def burst(self):
        return self.quota() + ([1 + self.below(20)] if self.below(2) else [])
