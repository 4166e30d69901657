"""The parts of the law: the usual cost, the meter, slow start, and the search for the rate."""

from exact import SECOND, U16, U32, since, within
from laws.adaptive import logs
from laws.adaptive.logs import OCTAVE, fit, log

SLOWEST = 52 * OCTAVE

RIPE = 16
"""The number of calls that is enough for a reading."""
FEW = 8
"""From this many calls on, what was served in a cycle is better evidence than a guess."""


class Usual:
    """The mean cost of about sixteen calls, with 4 fractional bits, and its octave."""

    FIELDS = "mean u32 octave u8"

    def __init__(self):
        self.mean = self.octave = 0

    def see(self, cost):
        """By how many octaves the usual cost has grown."""
        latest = min(cost, U32 >> 4) << 4
        if latest == self.mean:
            return 0
        change = abs(latest - self.mean) // 16
        if self.mean == 0:
            self.mean = latest
        else:
            self.mean += change if latest > self.mean else -change
        usual = 16 << self.octave
        if usual // 4 * 3 <= self.mean < within(usual * 3, U32):
            return 0
        before = self.octave
        self.octave = max(self.mean, 16).bit_length() - 5
        return self.octave - before

    def interval_of(self, cost, interval):
        if cost == 1 << self.octave:
            return interval
        return logs.octaves(fit(interval + log(cost)), -self.octave)

    def calls_in(self, amount):
        return min(amount >> self.octave, U32)


class Meter:
    """What was served in the present epoch and in the present cycle, and the rate of the previous epoch."""

    FIELDS = "start instant served u32 unit i32 cycle_start instant in_cycle u32 dark i16"

    def __init__(self, start):
        self.start, self.cycle_start = start, start
        self.served = self.unit = self.in_cycle = self.dark = 0

    def count(self, cost):
        self.served, self.in_cycle = (within(amount + cost, U32) for amount in (self.served, self.in_cycle))

    def skip(self, silence, now):
        self.start, self.cycle_start = (
            min(within(start + silence), now) for start in (self.start, self.cycle_start)
        )

    def is_empty(self):
        return self.in_cycle == self.dark == 0

    def begin(self, now, unit=0):
        self.start, self.served, self.unit = now, 0, unit

    def turn(self, now, usual, first):
        ripe = usual.calls_in(self.served) >= RIPE
        if ripe or first:
            self.begin(now, log(since(self.start, now)) - log(self.served) if ripe else 0)

    def end_dark(self, now, dark, usual):
        """The length of the cycle, its calls, and if it was not the first, unless this dark time is of another window than the previous one."""
        before, dark = self.dark, fit(max(1, logs.coarse(log(dark))), 16)
        if dark < fit(before - 512, 16):
            self.dark = fit(before - 8, 16)
            self.begin(now)
            return None
        read = self.cycle(now), self.calls(usual), before > 0
        self.__init__(now)
        self.dark = dark
        return read if before == 0 or dark <= fit(before + 512, 16) else None

    def calls(self, usual):
        return usual.calls_in(self.in_cycle)

    def cycle(self, end):
        return since(self.cycle_start, end)

    def mean(self, now, usual):
        """The mean interval of a usual call in the cycle; 0 if it has too few calls."""
        calls = self.calls(usual)
        return log(self.cycle(now)) - log(calls) if calls >= RIPE else 0

    def reading_before(self, usual):
        return logs.octaves(min(self.unit, SLOWEST), usual.octave) if self.unit else None


def limit(wide, passed):
    """The limit on calls in flight at this time after doubling began; it doubles every 2^28 ns."""
    wide <<= min(passed >> 28, 10)
    return wide if 0 < wide < 1024 else None


def doubles_after(passed):
    """When it next doubles, from when doubling began; `None` if it does not."""
    doublings = min(passed >> 28, 10)
    return doublings + 1 << 28 if doublings < 10 else None


class Cap:
    """The server's limit on calls in flight: another call is tried after 2^length successes for each."""

    FIELDS = "successes u16 length u8 grew flag"

    def __init__(self):
        self.successes, self.length, self.grew = 0, 3, False

    def grow(self, wide):
        self.successes = within(self.successes + 1, U16)
        if self.successes >> (self.length & 15) < wide:
            return wide
        if self.grew:
            self.length = max(self.length - 1, 3)
        self.successes, self.grew = 0, True
        return within(wide + 1, U16)

    def reject(self, fresh):
        self.length = min(self.length + fresh, 6)
        self.successes, self.grew = 0, False


class Open:
    """Slow start, and the server's limit on calls in flight if rejections have shown it."""

    FIELDS = (
        "wide u16 sends u16 measured i16 together flag cap cap left u16 heard u16 refilled u16"
        " told flag sooner u8"
    )

    def __init__(self, together=False, probing=False):
        self.wide = 2 if together else 10
        self.sends = self.measured = 0
        self.probing, self.together = probing, together
        self.cap = None
        self.left = self.heard = self.refilled = 0
        self.told = False  # Whether the latest two responses told the same quota.
        self.sooner = 0  # Calls in a row that came much sooner than those of the last full block.

    def limit(self, passed):
        """The limit on calls in flight at this time after doubling began."""
        if self.probing:
            return 1
        return (self.wide or None) if self.cap else limit(self.wide, passed)

    def serve(self, in_flight):
        if self.cap and in_flight + 1 >= self.wide:
            self.wide = self.cap.grow(self.wide)

    def reject(self, passed):
        """Whether a rejection restarts doubling, from the present limit."""
        if self.cap is None:
            self.wide = self.limit(passed) or 1024
        return self.cap is None

    def restart(self):
        """Slow start begins again after an outage."""
        if self.cap is None:
            self.wide = 10

    def see_left(self, left, calls):
        """Handles what a response reports to remain in the pool. If more remains than 16 responses, or
        those of a round trip, would have left, the pool was refilled: as many more calls may be in flight."""
        self.heard = within(self.heard + 1, U16)
        if self.heard < max(calls, 16):
            return
        left = min(left, U16)
        back = max(0, min(within(self.heard + left, U16) - self.left, self.heard))
        self.refilled = back if calls >= 16 else back * calls // 16
        if left - self.left > self.heard // 2:  # a new window
            self.refilled = 0
        self.left, self.heard = left, 0

    def too_busy(self, in_flight, fresh):
        """Whether a rejection as busy can mean that `in_flight` is the server's limit on calls in flight."""
        if in_flight == 0:
            return False
        self.cap = self.cap or Cap()
        self.cap.reject(fresh)
        self.wide = min(self.wide, in_flight)
        return True

    def is_new(self):
        """Whether no measured call was sent."""
        return self.sends == 0 and self.measured == 0

    def send(self, start, now, round_trip):
        """Counts a call in the block that began at `start`; returns the start of the present block."""
        if self.is_new():
            start = now
        self.sends = within(self.sends + 1, U16)
        lasted = since(start, now)
        if self.sends >= 16 and 0 < round_trip <= lasted:
            self.measured = fit(max(1, logs.coarse(log(lasted) - log(self.sends))), 16)
            start, self.sends = now, 0
        return start

    def rises(self, gap, round_trip):
        """Whether the load has risen: eight calls in a row came after less than a quarter of the mean interval of
        the last full block, which is longer than a round trip."""
        octave = max(self.measured, 0) >> 8
        soon = gap >> max(octave - 2, 0) == 0 and round_trip >> octave == 0
        self.sooner = within(self.sooner + 1, 255) if soon else 0
        return self.sooner >= 8

    def measure_again(self):
        self.sends = self.measured = self.sooner = 0

    def is_silence(self, silence, usual, round_trip):
        knows = self.measured != 0 or self.sends > 1
        return knows and silence // 2 > round_trip and log(silence) > logs.octaves(usual, 6)

    def rescale(self, octaves):
        if self.measured != 0:
            self.measured = fit(max(1, self.measured + octaves * 256), 16)

    def interval(self, start, now, round_trip):
        """The mean interval of the last full block, or that of the calls so far."""
        if self.measured != 0:
            return logs.fine(self.measured)
        lasted = max(since(start, now), round_trip // 2, 1000)
        return min(log(lasted) - log(max(1, self.sends)), log(20 * SECOND))


class Places:
    """The server's limit on calls in flight, if there are more of them at rejections than at successes."""

    FIELDS = "most u8 last u8 evidence u8"

    def __init__(self):
        self.most, self.last, self.evidence = 255, 0, 0

    def serve(self, in_flight, successes):
        self.last = min(in_flight, 254)
        if self.most <= self.last + 1 and successes > 0 and successes % 256 == 0:
            self.most = min(self.most + 1, 255)

    def reject(self, in_flight, successes):
        """Whether the first rejection of a run is that of one more call than before."""
        in_flight = min(in_flight, 254)
        full, more = self.most <= in_flight + 1, in_flight > self.last
        if more:
            self.evidence = min(self.evidence + 2, 28)
        elif in_flight < self.last or in_flight > 0:
            self.evidence = max(self.evidence - (3 if in_flight < self.last else 1), 0)
        if self.evidence == 0:
            self.most = 255
        elif in_flight > 0 and (full or (more and self.evidence >= 24)):
            self.most = min(self.most, in_flight)
        return more and full and successes >= 256 and successes % 256 < 32


class Noise:
    """The share of calls that are rejected at every rate, with 12 fractional bits, and a credit of rejections."""

    FIELDS = "share u16 credit u16 apart u16 began i16 early u8 calls i8 rejected i8"

    def __init__(self):
        self.share = self.credit = 0
        self.apart = 0  # The mean number of successes between two hits, in eighths.
        self.began = self.early = 0  # The evidence, in sixteenths of an octave, and the interval when it began.
        self.calls = self.rejected = 0  # The mean sides of successes, and of rejections beyond that.

    @staticmethod
    def nearer(mean, latest, shift):
        return fit(mean + (latest - mean >> shift), 8)

    def serve(self, paced):
        if self.share > 0:
            self.credit = min(self.credit + self.share, 4 << 12)
            self.calls = self.nearer(self.calls, paced.side(), 4)

    def rescale(self, octaves):
        self.began = fit(self.began + (octaves << 8), 16)

    def judge(self, interval, paced, tolerance):
        """Whether the first rejection of a run is noise; a number is the interval to return to."""
        at = fit(logs.coarse(interval), 16)
        if self.share > 0:
            self.rejected = self.nearer(self.rejected, paced.side() - self.calls, 3)
            if self.rejected > 56:  # They come at the higher rates.
                self.rejected = self.early = 0
                self.share, self.began = self.share // 2, at
        if self.credit >= 1 << 12 and at >= self.began:
            self.credit -= 1 << 12
            return True
        served = min(paced.successes, 8_000)
        self.apart = within(self.apart - self.apart // 8 + served, U16) if self.apart else served * 8
        if served < 4:
            return False
        if self.early == 0:
            self.began = at
        sooner = paced.aim() - logs.rough(paced.progress >> 8) - (2 << 8)
        early = self.early + max(sooner >> 4, -32)
        self.early = max(0, min(early, 255))
        if early <= 0:
            self.share -= -(-self.share // 64)
        if early <= 64:
            return False
        self.early = 0
        found = within((8 << 12) // self.apart if self.apart else 0, U16)
        if self.share + found > tolerance:
            return False
        self.share = min(self.share + found + found // 2, tolerance)
        self.credit = max(self.credit, 1 << 12)
        return at > self.began and logs.fine(self.began)


class Paced:
    """The cubic search for the rate: an epoch lasts from one cut to the next, and aims at K successes,
    which are 2^length or more. The shortest time is in quarters of an octave, the least length in sixteenths."""

    FIELDS = (
        "target i32 length u8 window u8 least u8 flight u8 progress u32 successes u16 gap u8 cooldowns u8"
        " base i32 noise noise rejected u8 searching flag unused u8 refuted flag"
    )

    def __init__(self, target):
        self.target, self.length, self.least, self.cooldowns = target, 4, 0, 1
        self.flight = self.window = 0
        self.progress = self.successes = self.rejected = self.gap = self.base = 0
        self.searching, self.unused, self.refuted = True, 1, False
        self.noise = Noise()

    def aim(self):
        """K, as a coarse logarithm."""
        return max(self.learned(), self.least << 4)

    def tail(self):
        """The K of growth above the plateau: an epoch of more than 2^3 cooldowns counts as one of as many."""
        return max(self.learned(), (self.least << 4) - (max(self.cooldowns - 3, 0) << 8))

    def learned(self):
        """The K that was learned, as a coarse logarithm."""
        taught = self.taught(self.length)
        if self.window == 0:
            return taught
        windows = (self.window << 6) - logs.coarse(self.base)
        return max(taught, min(max(windows, 0), 16 << 8))

    def taught(self, length):
        return fit((length << 8) + (self.flight << 4), 16)

    def depth(self):
        """How much a hit cuts, as a coarse logarithm."""
        return -(min(self.learned(), self.taught(8)) // 2)

    def side(self):
        """Whether the rate is near its plateau or above, after a quarter of K."""
        return 127 if self.progress >= logs.power(fit(self.aim() - (2 << 8), 16)) else -127

    def begin_at(self, interval):
        """Begins an epoch at its plateau."""
        self.progress = self.successes = self.gap = 0
        self.base = interval

    def is_past_plateau(self):
        return self.progress >= logs.power(self.aim())

    def deepen(self, rejected):
        """By how much the interval grows if so many were rejected since the cut, beside those that were served."""
        part = logs.cut((rejected << 16) // (rejected + self.successes + 1))
        return max(part - logs.cut(logs.power(self.depth() + (8 << 8))), 0) >> 1

    def is_ripe(self):
        return self.progress >= logs.power(fit(self.aim() - (3 << 8), 16))

    def succeed(self):
        self.successes = within(self.successes + 1, U16)

    def grow(self, weight, most):
        """By how much the interval shrinks after a success that had waited for the law."""
        self.progress = within(self.progress + logs.power(weight), U32)
        length = logs.power(self.aim())
        distance = abs(self.progress - length)
        if distance == 0:
            return 0
        rise = self.depth()
        if self.progress > length:
            rise = max(rise, -(4 << 8))
        elif self.gap:
            # A sixteenth of an octave is a fraction of log(2) / 16.
            rise = max(rise, logs.rough(self.gap) - 1_159)
        aim = self.tail() if self.progress > length else self.aim()
        cubic = 2 * (logs.rough(distance) - (8 << 8) - aim) + 406
        return logs.growth(min(cubic + rise + weight - aim, most))

    def cut(self, interval, flight, gained):
        """By how much the interval grows after a hit with 2^flight calls in flight. At most `gained` of
        what the rate has gained since the previous hit counts."""
        if self.is_ripe():
            self.length = max(self.length, min(self.length + 1, 8))
        else:
            self.length = min(self.length, 8)
        self.flight = min(max(flight - (4 << 8), 0) >> 4, 255)
        deep = logs.power(self.depth() + (8 << 8))
        self.progress = self.successes = self.rejected = self.gap = 0
        above = max(0, min(fit(self.base - interval), gained))
        back = above - (above >> 2)
        self.base = fit(interval + back)
        return back + logs.cut(deep)

    def fall(self, below):
        """The epoch begins this far below its plateau."""
        self.gap = min(logs.coarse(below) >> 4, 255)

    def cover(self, calls):
        """An epoch has about this many calls."""
        self.length = max(self.length, min(logs.rough(calls) >> 8, 16))

    def cover_windows(self, window, interval):
        """An epoch lasts for four windows of this length, and its plateau is this interval."""
        self.window = min(logs.coarse(logs.octaves(window, 2)) >> 6, 255)
        self.base = interval

    def cover_cooldowns(self, lost, ripe):
        """An epoch lasts at least several cooldowns, of 2^lost calls each."""
        if ripe:
            self.cooldowns = min(self.cooldowns + 3, 6)
        self.least = min(max(lost + (self.cooldowns << 8), 0) >> 4, 255)


UNKNOWN = U32
APP_LIMITED = 16


def unit_of(limit, period):
    """The time per unit of a quota; a rate may exceed it by an eighth."""
    return max(fit(log(period) - log(limit) - logs.ratio(8, 7)), OCTAVE)


class Hinted:
    """The server's latest hints."""

    FIELDS = "unit i32 limit u32 left u32 most u32 stale u16 busy u8 lasts flag"

    def __init__(self):
        self.left, self.busy = UNKNOWN, APP_LIMITED
        self.unit = self.limit = self.most = self.stale = 0
        self.lasts = False

    def knows(self):
        return self.left != UNKNOWN or self.unit != 0 or self.limit > 0 or self.lasts

    def is_low(self):
        """Whether less than a quarter of the pool is left."""
        return self.left < (self.most + 3) // 4

    def is_full(self):
        """Whether at most a sixteenth of the pool is used."""
        return self.left != UNKNOWN and self.left > 0 and self.left >= self.most - self.most // 16

    def calls_left(self, refilled, starts):
        """The limit on calls in flight if what remains has to last, or is less than half. Slow start leaves room."""
        binds = self.lasts or self.left < (self.most + 1) // 2
        return min(max(1, self.left // (8 if starts and self.most > 32 else 1) + refilled), U16) if binds and self.left <= U16 else None

    def has_room(self, in_flight):
        return self.busy == 0 and self.leaves_room(in_flight)

    def leaves_room(self, in_flight):
        return self.left != UNKNOWN and self.left > within(self.most // 8 + in_flight, U32)


