"""`adaptive`: the rules of its own documentation, tier by tier."""

from exact import SECOND, U32, since, within
from laws.adaptive import octaves as oct
from laws.adaptive import epoch, parts, tiers
from laws.adaptive.blind import Blind, RetryAfter
from laws.adaptive.epoch import BlindTier
from laws.adaptive.octaves import OCTAVE
from laws.adaptive.period import Period, Share, Told
from laws.adaptive.remaining import Remaining
from laws.base import Law
from record import Refused

DAY = 86_400 * SECOND
PUSHBACK = ("throttled", "busy")


class Adaptive(Blind, RetryAfter, Remaining, Period, Law):
    TAG = 0

    def __init__(self, config, now):
        self.pacer, self.event, self.epoch = parts.Pacer(), parts.Event(now), epoch.Epoch()
        self.meter, self.usual = parts.Meter(now), parts.Usual()
        self.tier = parts.Open(now)
        self.trip = 0  # The smoothed round trip, in 1024 ns.
        self.anchor = 0  # log2 of twenty intervals of the limit that all share.
        if config["quota"]:
            count, period = config["quota"][:2]
            self.anchor = epoch.anchor_of_quota(min(count, U32), period)

    def round_trip(self):
        return self.trip << 10

    def is_open(self):
        return isinstance(self.tier, parts.Open)

    def current(self, now):
        """The interval in force, in nanoseconds."""
        return oct.span(self.event.interval(self.pacer.interval, now))

    def interval(self, now):
        return None if self.is_open() else self.current(now)

    def check(self, now):
        pacer = self.pacer
        instant = pacer.hold if self.is_open() else max(pacer.hold, pacer.release)
        return pacer.until(instant, now)

    def see_cost(self, cost):
        by = self.usual.see(cost)
        if by == 0:
            return
        pacer = self.pacer
        pacer.interval = oct.bounded(pacer.interval + by * OCTAVE)
        pacer.target = oct.bounded(pacer.target + by * OCTAVE)
        self.epoch.hit = oct.clip(self.epoch.hit + by * 256)
        self.meter.served = parts.rescaled(self.meter.served, by)
        if self.anchor != 0:
            self.anchor = oct.clip(max(1, self.anchor + by * 256))
        self.tier.rescale(by)

    def released(self, pace, now, cost, chance):
        self.see_cost(cost)
        if self.is_open():
            self.tier.released(now, self.usual.parts_of(cost), self.round_trip())
            return
        interval = self.usual.interval_of(cost, self.current(now))
        silence = since(self.pacer.slot, now)
        if silence // 64 > interval:
            self.meter.skip(silence, now)
            self.pacer.begin(now)
        self.pacer.advance(now, interval, isinstance(self.tier, BlindTier), chance)

    def corrected(self, now, charged, used):
        if self.is_open():
            return
        difference = self.usual.interval_of(abs(charged - used), self.current(now))
        if used > charged:
            self.pacer.postpone(min(difference, DAY))
        else:
            self.pacer.advance_by(now, difference)

    def see_round_trip(self, took):
        latest = min(took >> 10, U32)
        if self.trip == 0:
            self.trip = latest
        elif latest > self.trip:
            self.trip += (latest - self.trip) // 16
        else:
            self.trip -= (self.trip - latest) // 16

    def observe(self, pace, sample, chance):
        now, hint = sample.now, sample.hint
        self.see_round_trip(since(sample.sent, now))
        if sample.outcome == "failed":
            self.untold(sample.sent, now, chance)
            return self.miss(sample, True, chance)
        pushed = sample.outcome in PUSHBACK
        left = None if hint.left is None else self.usual.calls_in(hint.left)
        limit = None if hint.limit is None else self.usual.calls_in(hint.limit)
        quota = (limit, hint.period) if limit and hint.period else None
        if quota:
            self.anchor = epoch.anchor_of_quota(*quota)
        if left is not None and hint.reset is not None and limit:
            # None or a whole second may stand for any time up to that.
            periodic = isinstance(self.tier, Share) or hint.reset not in (0, SECOND)
            if hint.period is not None or periodic:
                told = Told(hint, limit, left, hint.after if pushed else None)
                return self.period(sample, told, chance)
        self.untold(sample.sent, now, chance)
        if hint.after is not None and pushed and sample.fresh and self.event.misses == 0:
            own = self.round_trip() if self.is_open() else oct.span(self.pacer.interval)
            if hint.after > within(own * 2) and hint.after > SECOND:
                self.blackout(now, hint.after, chance)
                return "slower"
        if left is not None:
            answered, moved = self.remaining(sample, left, quota, chance)
            if answered:
                return moved
        return (
            self.success(sample, chance)
            if sample.outcome == "ok"
            else self.miss(sample, False, chance)
        )

    def write(self, out):
        pacer, event, own = self.pacer, self.event, self.epoch
        out.i32(pacer.interval)
        out.i32(pacer.target)
        for instant in (pacer.slot, pacer.release, pacer.hold, event.at):
            out.instant(instant)
        out.u8(event.misses)
        out.u8(event.previous)
        out.u8(event.down)
        out.u16(own.length)
        out.u16(own.cut)
        out.u32(own.progress)
        out.u32(own.successes)
        out.i16(own.hit)
        out.u16(own.ignored)
        out.variant(
            tiers.BYTES, tiers.TAGS[type(self.tier)], lambda out: tiers.write(self.tier, out)
        )
        out.u32(self.usual.mean)
        out.u8(self.usual.octave)
        out.u32(self.trip)
        out.i16(self.anchor)

    def read(self, source):
        pacer, event, own = self.pacer, self.event, self.epoch
        pacer.interval = oct.bounded(source.signed(4))
        pacer.target = oct.bounded(source.signed(4))
        pacer.slot, pacer.release = source.instant(), source.instant()
        pacer.hold, event.at = source.instant(), source.instant()
        event.misses, event.previous, event.down = source.u8(), source.u8(), source.flag()
        own.length, own.cut = source.u16(), source.u16()
        own.progress, own.successes = source.u32(), source.u32()
        own.hit, own.ignored = source.signed(2), source.u16()
        self.tier = source.variant(tiers.BYTES, tiers.READERS)
        self.usual.mean, self.usual.octave = source.u32(), source.u8()
        if self.usual.octave >= 28:
            raise Refused("OtherPolicy")
        self.trip, self.anchor = source.u32(), source.signed(2)
        self.meter = parts.Meter(source.then)
