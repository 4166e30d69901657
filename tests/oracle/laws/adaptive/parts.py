"""What the law's tiers share: the pacer, the event, the meter, the usual call, and being open."""

from exact import END, SECOND, U32, part, since, within
from laws.adaptive import octaves as oct
from laws.adaptive.octaves import OCTAVE
from pace import Never

PARTS = 16
LONGEST_HOLD = 3600 * SECOND
LATENESS = SECOND // 500
SLOWEST_TOLD = oct.of_span(86_400 * SECOND)
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
        # What a late timer has missed is caught up, or one interval.
        start = max(self.slot, within(now - max(interval, LATENESS)))
        if slots:
            # Anywhere in a slot about the grid, which the draw does not move.
            self.slot = within(start + interval)
            draw = chance.between(0, interval)
            self.release = within(within(self.slot - interval // 2) + draw)
        else:
            step = chance.between(
                within(interval - interval // 8), within(interval + interval // 8)
            )
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
