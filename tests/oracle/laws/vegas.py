"""`vegas`: a concurrency limit that follows latency in rounds. Times are microseconds, rounded
down."""

from math import isqrt

from exact import U16, U32, since, within
from laws.base import Law

ROUND, MOST, ROUNDS = 32, U16 // 4, 32


def whole(calls):
    """Calls with 8 bits of fraction, rounded up."""
    return min(-(-calls // 256), MOST)


class Vegas(Law):
    TAG = 8
    NAME = "vegas"
    FIELDS = "size u16 open flag throttled flag"
    NAMED = {
        "vegas": {"laws": [{"law": "vegas"}]},
    }

    def __init__(self, config, now):
        self.config = config
        self.open, self.throttled, self.size = True, False, 0
        self.bases, self.rounds = [U32, U32], 0  # Of the previous and the current period.
        self.begin(now)

    def begin(self, now):
        self.began, self.took, self.rate_limited = now, [], False

    def concurrency(self, now):
        return None if self.open or self.size == 0 else self.size

    def observe(self, pacing, sample, chance):
        if not sample.fresh or sample.outcome == "throttled":
            return None
        if sample.outcome != "ok":
            return self.throttle(sample.now)
        self.throttled = False
        if not self.took:
            self.began = max(self.began, sample.sent)
        self.took.append(min(since(sample.sent, sample.now) // 1000, U32))
        self.rate_limited |= sample.rate_limited
        if len(self.took) < max(ROUND, within(4 * self.size, U16)):
            return None
        began, took, rate_limited = self.began, self.took, self.rate_limited
        self.begin(sample.now)
        lasted = since(began, sample.now) // 1000
        return self.judge(took, lasted, rate_limited) if lasted > 0 else None

    def close_to(self, size):
        size = max(1, min(size, MOST))
        moved = self.open or size < self.size
        self.open, self.size = False, size
        return "slower" if moved else None

    def throttle(self, now):
        if self.throttled or self.size == 0:
            return None
        self.throttled = True
        self.begin(now)
        return self.close_to(within(3 * self.size, U16) // 4)

    def learn(self, mean, error):
        if self.rounds >= ROUNDS:
            self.bases, self.rounds = [self.bases[1], U32], 0
        self.rounds += 1
        self.bases[1] = min(self.bases[1], mean + 3 * error // 2)
        return min(self.bases)

    def judge(self, took, lasted, rate_limited):
        calls = len(took)
        mean = sum(took) // calls
        jumps = sum(abs(a - b) for a, b in zip(took, took[1:]))
        # The deviation divided by the square root of n, which has four bits of fraction.
        error = jumps // (calls - 1) * 16 // isqrt(calls * 256)

        def in_flight(micros):
            return (calls * micros * 256) // lasted

        flying = in_flight(mean)
        if self.open:
            self.size = whole(flying)
            if calls * 256 < 2 * flying:
                return None
        base = self.learn(mean, error)
        under_way = min(in_flight(base), flying)
        line = flying - under_way
        alpha = max(isqrt(min(flying, U32)) * 16 * 3 // 8, 256)
        allowed = alpha + in_flight(error)
        if line > allowed:
            if self.open and mean <= base + base // 4:
                return None
            return self.close_to(min(max(whole(under_way), self.size // 2), max(0, self.size - 1)))
        in_use = 2 * flying >= self.size * 256
        if self.open or not rate_limited or not in_use or self.size >= MOST:
            return None
        step = max(1, self.size // 8) if 2 * line < allowed else 1
        self.size = min(self.size + step, MOST)
        return "faster"

    def read(self, source):
        super().read(source)
        self.begin(source.then)

    def is_valid(self):
        return self.size <= MOST
