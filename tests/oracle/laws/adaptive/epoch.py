"""The epoch, from one cut to the next, and the weight of a success in it."""

from exact import U32, towards_zero, within
from laws.adaptive import octaves as oct

CUT_LEAST, CUT_MOST, CALM = 65_536 // 16, 65_536 // 4, 65_536 // 8
SAME = 23
ANCHOR = 9_443
KNEE_SLOW, KNEE_FAST = 896, 640
GROWTH_MOST = (1 << 24) // 16


def scaled(number, factor):
    """A factor with 8 bits of fraction; 2^28 is out of all bounds."""
    return min(number * factor >> 8, 1 << 28)


def div(a, b):
    return 0 if b == 0 else a // b


class Epoch:
    def __init__(self):
        self.length, self.cut, self.progress, self.successes = 16, 8_192, 0, 0
        self.hit = self.ignored = 0

    def restart(self, at):
        self.length, self.progress, self.successes = 16, 0, 0
        self.hit = oct.clip(oct.coarse(at))

    def begin(self, hit):
        self.hit = oct.clip(oct.coarse(hit))
        self.successes = self.progress = self.ignored = 0

    def lengthen(self):
        self.length = min(self.length * 2, 128)

    def shorten(self):
        self.length = max(self.length // 2, 16)

    def settle_at(self, interval):
        self.cut = CUT_LEAST
        self.begin(interval)
        self.lengthen()

    def next_cut(self, at):
        """L times 0.7 where hits repeat, else 1.4, from a sixteenth to a quarter; early ones deeper."""
        moved = abs(oct.coarse(at) - self.hit)
        self.cut = max(CUT_LEAST, min(self.cut * 7 // (10 if moved < SAME else 5), CUT_MOST))
        early = 65_536 // within(self.successes + 2, U32)
        return max(self.cut, min(early, 32_768))

    def grow(self, weight, guard, interval):
        calm = min((within(weight * self.cut, U32) // CALM + weight) // 2, weight)
        counted = calm
        if oct.coarse(interval) < ANCHOR - KNEE_FAST:
            counted += (weight - calm) * 3 // 8
        self.progress = within(self.progress + counted, U32)
        growth = div(within(calm * self.cut, U32), self.length)
        return min(scaled(growth, self.acceleration()), guard)

    def acceleration(self):
        """How far an epoch and a half are over, to the sixteenth power, with 8 bits of fraction."""
        whole = self.length * 384
        if self.progress <= whole:
            return 256
        over = div(min(self.progress, whole * 16) << 8 & U32, whole)
        for _ in range(4):
            over = scaled(over, over)
        return over

    def weight_in_flight(self, in_flight):
        return max(2, div(self.length << 4, in_flight))


class Habit:
    def __init__(self, mean=0, epochs=0):
        self.mean, self.epochs = mean, epochs

    def note(self, successes):
        length = min(successes, 60_000) + 1 << 8
        if self.epochs == 0:
            self.mean = length
        else:
            change = towards_zero(length - self.mean, self.epochs + 1)
            self.mean = max(within(self.mean + change, U32), 256)
        self.epochs = min(self.epochs + 1, 63)

    def weight(self, interval):
        distance = oct.coarse(interval) - ANCHOR
        log = slope(distance)
        return max(4, min(oct.exp2_roughly(log + self.correction(log)), 16 << 8))

    def correction(self, log):
        if self.epochs == 0:
            return 0
        mean = oct.log2_roughly(max(self.mean, 256)) - (8 << 8)
        distance = log - ((7 << 8) - mean)
        weighed = towards_zero(distance * self.epochs, self.epochs + 8)
        return max(-(3 << 8), min(weighed >> 1, 3 << 8))


class BlindTier(Habit):
    """Refusals are all that is known."""

    def rescale(self, by):
        pass


def slope(distance):
    middle = max(-KNEE_FAST, min(distance, KNEE_SLOW))
    slower, faster = max(distance - KNEE_SLOW, 0), min(distance + KNEE_FAST, 0)
    return middle * 96 + slower * 80 + faster * 128 >> 8


ANCHOR_OF_QUOTA = oct.ratio(20, 1)


def anchor_of_quota(limit, period):
    return oct.clip(oct.coarse(oct.bounded(oct.of_calls(period, limit) + ANCHOR_OF_QUOTA)))


def interval_of_quota(anchor):
    return oct.bounded(oct.bounded(anchor * 65_536) - ANCHOR_OF_QUOTA)


def weight_of_quota(interval, anchor):
    return max(8, oct.exp2_roughly(max(-1_280, min(oct.coarse(interval) - anchor, 768))))
