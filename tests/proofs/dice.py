"""Random numbers: edge cases, and any others."""

import random

from lemma import SECOND, U16, U32, U64


class Dice(random.Random):
    def number(self, low, high):
        """From `low` to `high`: an end, near a power of two, small or large."""
        kind = self.randrange(6)
        if kind == 0:
            made = self.choice([low, high, low + 1, high - 1])
        elif kind == 1:
            made = (1 << self.randrange(high.bit_length() or 1)) + self.randrange(-1, 2)
        elif kind == 2:
            made = low + self.randrange(100)
        elif kind == 3:
            made = 1 << self.randrange(high.bit_length() or 1)
            made = self.randrange(made, 2 * made)
        else:
            return self.randint(low, high)
        return min(max(made, low), high)

    def u16(self, low=0):
        return self.number(low, U16)

    def u32(self, low=0):
        return self.number(low, U32)

    def u64(self, low=0):
        return self.number(low, U64)

    def flag(self):
        return self.randrange(2)

    def instant(self):
        """An instant that a record stores exactly, often within the first hours."""
        if self.flag():
            return self.randint(2, 10_000 * SECOND)
        return self.number(2, U64 - 3)

    def near(self, instant, reach=10 * SECOND):
        return min(max(2, instant + self.randint(-reach, reach)), U64 - 3)

    def ratio(self, most_one=False):
        below = self.number(1, U32) if self.flag() else self.randint(1, 20)
        return [self.number(0, below if most_one else U32), below]

    def quota(self):
        if self.flag():  # Typical values.
            period = self.choice([1, 60, 3600, 86_400]) * SECOND
            return [self.randint(1, 5000), period, self.randint(1, 50)]
        count, period = self.u64(1), self.u64(1)
        return [count, period, self.number(1, max(1, min(U32, U64 // 4 // -(-period // count))))]

    def state(self):
        """Any generator state except zero, which does not occur."""
        return [self.u32(), self.u32(1)]
