"""`aws-cubic`: the AWS SDKs' client rate limiter. Rates have 20 bits of fraction, rounded down."""

from fractions import Fraction

from exact import SECOND, U32, U64, floor, part, since, within
from laws.base import MOST_BURST, PER, Law
from pacing import Quota
from record import Rejected

ONE = 1 << 20
FLOOR = ONE // 2
HALF_SECOND = SECOND // 2


def cube_root(number):
    """The integer cube root, rounded down."""
    low, high = 0, 1
    while high**3 <= number:
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**3 <= number else (low, middle)
    return low


def cube_root_q20(number):
    """The cube root of the number times 2^40 if that fits 64 bits, else with three bits less per
    bit of the root."""
    up, down = 40, 0
    while up > 64 - number.bit_length() and up > 3:
        up, down = up - 3, down + 1
    return cube_root(number << up) << down


def quota(rate):
    """A rate and its bucket: a second's worth, but at least one call."""
    return Quota(rate, PER, max(1, min(rate >> 20, MOST_BURST)))


class AwsCubic(Law):
    TAG = 4
    LATE = 0
    NAME = "aws-cubic"
    NAMED = {
        "aws-cubic": {"laws": [{"law": "aws-cubic"}]},
    }
    SITUATIONS = [
        ("by default", {"named": "aws-cubic"}),
        ("beside a concurrency limit", {"laws": [{"law": "aws-cubic"}, {"law": "aimd-concurrency"}]}),
    ]

    def __init__(self, config, now):
        self.rate, self.on, self.tokens, self.counted = ONE, False, 0, now
        self.plateau, self.cut_at, self.measured, self.responses = 0, now, 0, 0
        # The sources start with the last whole second.
        self.half_second = now // HALF_SECOND // 2 * 2

    def quota(self):
        return quota(self.rate) if self.on else None

    def measure(self, now):
        self.responses = within(self.responses + 1, U32)
        passed = now // HALF_SECOND - self.half_second
        if passed <= 0:
            return
        latest = self.responses * 2 * ONE // passed
        kept = self.measured - part((8, 10), self.measured)
        self.measured = part((8, 10), latest) + kept
        self.responses, self.half_second = 0, now // HALF_SECOND

    def curve(self, now):
        """plateau + 0.4 (t - K)^3, with K the cube root of 0.3 plateau / 0.4."""
        elapsed = since(self.cut_at, now) * ONE // SECOND
        turn = cube_root_q20(part((3, 4), self.plateau))
        distance = min(abs(elapsed - turn), 1800 * ONE)
        square = distance * distance >> 20
        change = part((4, 10), within(square * distance >> 20))
        return within(self.plateau + (change if elapsed >= turn else -change))

    def observe(self, pacing, sample, chance):
        pacing.drain(sample.now, self.quota())
        self.measure(sample.now)
        before, was_on = self.rate, self.on
        rejected = sample.outcome in ("throttled", "busy")
        if not was_on:
            passed = min(since(self.counted, sample.now), 2 * SECOND)
            filled = self.tokens + floor(Fraction(passed * self.rate, SECOND))
            self.tokens = min(filled, max(self.rate, ONE))
            self.counted = max(self.counted, sample.now)
        if rejected:
            self.plateau = min(self.measured, before) if was_on else self.measured
            self.cut_at, self.on = sample.now, True
            aimed = part((7, 10), self.plateau)
        else:
            aimed = self.curve(sample.now)
        self.rate = max(FLOOR, min(aimed, within(2 * self.measured)))
        new = quota(self.rate)
        if was_on:
            # The room in the bucket is kept as far as possible.
            room = quota(before).burst - pacing.fill
            pacing.fill = max(Fraction(0), min(new.burst - room, Fraction(U64, PER)))
        elif self.on:
            pacing.fill = max(Fraction(0), new.burst - Fraction(self.tokens, ONE))
        else:
            self.tokens = min(self.tokens, max(self.rate, ONE))
            return None
        return "slower" if rejected else "faster" if self.rate > before else None

    def write(self, out):
        out.u64(self.rate)
        out.u8(self.on)
        out.u64(self.tokens)
        out.instant(self.counted)
        out.u64(self.plateau)
        out.instant(self.cut_at)
        out.u64(self.measured)

    def read(self, source):
        self.rate, self.on, self.tokens = source.u64(), source.flag(), source.u64()
        self.counted, self.plateau = source.instant(), source.u64()
        self.cut_at, self.measured = source.instant(), source.u64()
        self.half_second, self.responses = source.then // HALF_SECOND, 0
        if self.rate < FLOOR:
            raise Rejected("OtherPolicy")
