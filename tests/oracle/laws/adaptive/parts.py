"""What the law's tiers share: the pacer, the event, the epoch, habits, the meter, the usual call."""

from exact import END, SECOND, U32, part, since, towards_zero, within
from laws.adaptive import octaves as oct
from laws.adaptive.octaves import OCTAVE
from pace import Never

PARTS = 16
LONGEST_HOLD = 3600 * SECOND
PROBE = oct.of_span(20 * SECOND)
BLACKOUT = 3


def rescaled(count, by):
    """A count, when the usual call has become so many octaves larger."""
    return min(count << -by, U32) if by < 0 else count >> by


class Pacer:
    def __init__(self):
        self.interval = self.target = oct.SHORTEST
        self.slot = self.release = self.hold = 0

    @staticmethod
    def until(instant, now):
        if instant == END and now < instant:
            raise Never("never")
        return instant

    def begin(self, at):
        self.slot = self.release = at

    def advance(self, now, interval, slots, chance):
        start = max(self.slot, within(now - interval))
        if slots:
            # Anywhere in a slot about the grid, which the draw does not move.
            self.slot = within(start + interval)
            draw = chance.between(0, interval)
            self.release = within(within(self.slot - interval // 2) + draw)
        else:
            step = chance.between(within(interval - interval // 8), within(interval + interval // 8))
            self.begin(within(start + step))

    def back_off(self, now, interval, chance):
        half = interval // 2
        draw = chance.between(half, within(interval + half))
        self.slot = max(self.slot, within(now + interval))
        self.release = max(self.release, within(now + draw))

    def hasten(self, now, chance):
        soon = within(now + chance.between(0, oct.span(self.interval)))
        self.slot, self.release = min(self.slot, soon), min(self.release, soon)

    def due_after(self, now, draw):
        due = within(now + draw)
        if self.slot > due or self.slot < now:
            self.begin(due)

    def postpone(self, debt):
        self.slot, self.release = within(self.slot + debt), within(self.release + debt)

    def advance_by(self, now, refund):
        def sooner(instant):
            return min(instant, max(within(instant - refund), now))

        self.slot, self.release = sooner(self.slot), sooner(self.release)

    def hold_until(self, end, spread, chance):
        draw = chance.between(0, min(spread, LONGEST_HOLD))
        self.hold = max(self.hold, within(end + draw))
        self.begin(self.hold)


class Event:
    """A run of misses."""

    def __init__(self, at, misses=0, previous=0, down=False):
        self.at, self.misses, self.previous, self.down = at, misses, previous, down

    def interval(self, interval, now):
        """Doubled for each miss after the first, up to 20 s, four intervals, or a quarter of it all."""
        if self.misses <= 1:
            return interval
        most = max(PROBE, oct.bounded(interval + 2 * OCTAVE))
        if not self.down:
            most = max(most, oct.of_span(since(self.at, now) // 4))
        doubled = oct.bounded(interval + OCTAVE * min(self.misses - 1, 20))
        return max(min(doubled, most), interval)

    def miss(self):
        self.misses = min(self.misses + 1, 40)

    def end(self):
        self.previous, self.misses, self.down = self.misses, 0, False


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
        return min(scaled(growth, self.acceleration()), guard, GROWTH_MOST)

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
        return max(1, div(self.length << 4, in_flight))


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


class Meter:
    def __init__(self, since_when, served=0, is_set=False):
        self.start, self.served, self.set = since_when, served, is_set

    def restart(self, at, served):
        self.start, self.served, self.set = at, served, True

    def count(self, parts):
        self.served = within(self.served + parts, U32)

    def skip(self, silence, now):
        self.start = max(self.start, min(within(self.start + silence), now))

    def cycle(self, now):
        return since(self.start, now)

    def is_ripe(self):
        return self.set and self.served >= 16 * PARTS

    def reading(self, now):
        return oct.of_parts(self.cycle(now), max(self.served, PARTS))


class Usual:
    """The mean cost of about sixteen calls, with 4 bits of fraction, and its octave."""

    def __init__(self):
        self.mean = self.octave = 0

    def see(self, cost):
        latest = min(cost, U32 >> 4) << 4
        if latest == self.mean:
            return 0
        if self.mean == 0:
            self.mean = latest
        elif latest > self.mean:
            self.mean += (latest - self.mean) // 16
        else:
            self.mean -= (self.mean - latest) // 16
        usual = PARTS << self.octave
        if usual // 4 * 3 <= self.mean < within(usual * 3, U32):
            return 0
        before = self.octave
        self.octave = max(self.mean, PARTS).bit_length() - 5
        return self.octave - before

    def interval_of(self, cost, interval):
        return part((cost, 1 << self.octave), interval)

    def parts_of(self, cost):
        return max(1, min(cost * PARTS >> self.octave, U32))

    def calls_in(self, amount):
        return min(amount >> self.octave, U32)


class Open:
    """Measures how fast calls leave, in blocks of 16 calls and a round trip at least."""

    def __init__(self, now):
        self.block, self.latest, self.measured, self.sends = now, now, 0, 0

    def released(self, now, parts, round_trip):
        if (self.sends == 0 and self.measured == 0) or self.is_silent(now, round_trip):
            self.block, self.sends = now, 0
        self.latest = now
        self.sends = within(self.sends + parts, U32)
        lasted = since(self.block, now)
        if self.sends >= 16 * PARTS and round_trip > 0 and lasted >= round_trip:
            self.measured = oct.clip(oct.coarse(oct.of_parts(lasted, self.sends)))
            self.sends, self.block = 0, now

    def is_silent(self, now, round_trip):
        silence = since(self.latest, now)
        if (self.measured == 0 and self.sends <= PARTS) or silence <= round_trip:
            return False
        usual = oct.coarse(self.interval(self.latest, round_trip))
        return oct.log2_roughly(silence // 64) + (8 << 8) > usual

    def interval(self, now, round_trip):
        if self.measured > 0:
            return oct.bounded(self.measured * 65_536)
        lasted = max(since(self.block, now), round_trip // 2, 1000)
        return min(oct.of_parts(lasted, max(self.sends, PARTS)), oct.of_span(20 * SECOND))

    def rescale(self, by):
        self.sends = rescaled(self.sends, by)
        if self.measured != 0:
            self.measured = oct.clip(max(1, self.measured + by * 256))
