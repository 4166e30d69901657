"""Blind: refusals are all that is known; and a Retry-After, which is a blackout whose end is told."""

from exact import U16, U32, since, within
from laws.adaptive import octaves as oct
from laws.adaptive import epoch, parts
from laws.adaptive.epoch import BlindTier, Habit
from laws.adaptive.octaves import OCTAVE
from laws.adaptive.parts import BLACKOUT, PARTS
from laws.adaptive.period import Share


class Blind:
    """What a law does that is told nothing."""

    def miss(self, sample, down, chance):
        now = sample.now
        if not sample.fresh:
            self.survey(sample.outcome)
            return None
        if self.is_open():
            interval = self.tier.interval(now, self.round_trip())
            self.pacer.interval = interval
            self.pacer.begin(now)
            self.epoch.restart(interval)
            self.event.previous = 0
            self.event.down |= down
            self.tier = BlindTier()
            if not down:
                self.cut(now, False)
                self.pacer.begin(within(now + self.round_trip()))
            self.event.misses = 1
        else:
            if self.event.misses == 0:
                if not down and self.is_bad_luck():
                    self.pacer.back_off(now, self.current(now), chance)
                    self.event.misses = 1
                    return None
                self.epoch.lengthen()
                if not down:
                    self.cut(now, True)
            self.event.down |= down or (sample.outcome == "busy" and self.event.misses >= BLACKOUT)
            self.event.miss()
        self.pacer.back_off(now, self.current(now), chance)
        return "slower"

    def survey(self, outcome):
        """Of the calls on their way at the first refusal, the part served tells the capacity."""
        searching = isinstance(self.tier, BlindTier) and self.tier.epochs < 2
        if not searching or self.event.misses != 1 or self.event.down:
            return
        if outcome == "throttled":
            self.epoch.ignored = within(self.epoch.ignored + 1, U16)
        served = within(self.epoch.successes + 1, U32)
        share = oct.ratio(within(served + self.epoch.ignored, U32), served)
        self.pacer.interval = oct.bounded(self.pacer.target + share)

    def is_bad_luck(self):
        refused = self.epoch.ignored + 1
        searching = isinstance(self.tier, BlindTier) and self.tier.epochs == 0
        if searching or self.epoch.successes >= 3 or refused > self.epoch.successes:
            return False
        self.epoch.ignored = within(self.epoch.ignored + 1, U16)
        return True

    def cut(self, now, end_of_epoch):
        ripe = self.meter.is_ripe()
        hit, cut = self.pacer.interval, self.epoch.next_cut(self.pacer.interval)
        reading = self.meter.reading(now)
        slower = oct.bounded(self.pacer.interval + oct.ratio(5, 4))
        if ripe and self.event.previous >= BLACKOUT and reading > slower:
            hit, cut = reading, epoch.CUT_LEAST
        if ripe or not self.meter.set:
            self.meter.restart(now, 0)
        if isinstance(self.tier, BlindTier) and end_of_epoch:
            self.tier.note(self.epoch.successes)
        self.epoch.begin(hit)
        self.pacer.interval = self.pacer.target = oct.after_cut(hit, cut)
        self.event.at = now

    def success(self, sample, chance):
        self.epoch.successes = within(self.epoch.successes + 1, U32)
        self.meter.count(self.usual.parts_of(sample.cost))
        if self.is_open():
            return None
        if not sample.fresh:
            self.survey(sample.outcome)
        elif self.event.misses > 0:
            self.recover(sample.now, chance)
        if isinstance(self.tier, Share) or not sample.paced or self.event.misses > 0:
            return None
        # A server that tells what is left with some answers only is blind with the others.
        habit = self.tier if isinstance(self.tier, BlindTier) else Habit()
        interval = self.pacer.interval
        in_flight = oct.count_in(interval, self.round_trip())
        guard = epoch.GROWTH_MOST // max(in_flight, 1)
        if interval > self.pacer.target:
            self.pacer.interval = max(oct.faster(interval, guard << 2), self.pacer.target)
            return "faster"
        if self.anchor == 0:
            weight = habit.weight(interval)
        else:
            weight = epoch.weight_of_quota(interval, self.anchor)
        if in_flight > 0:
            weight = min(weight, self.epoch.weight_in_flight(in_flight))
        self.pacer.interval = oct.faster(interval, self.epoch.grow(weight, guard, interval))
        return "faster"

    def recover(self, now, chance):
        misses, pacer = self.event.misses, self.pacer
        if misses >= 2:
            probing = self.event.interval(pacer.interval, now)
            pacer.target = pacer.interval
            if self.event.down:
                pacer.interval = oct.bounded(pacer.interval + OCTAVE)
            else:
                if misses < 4:
                    self.epoch.shorten()
                else:
                    self.read_meter_after_blackout(now)
                slower = {2: oct.ratio(23, 16), 3: oct.ratio(3, 2)}.get(misses, 2 * OCTAVE)
                pacer.interval = max(oct.bounded(pacer.interval + slower), pacer.target)
                new = isinstance(self.tier, BlindTier) and self.tier.epochs == 0
                if new and misses >= BLACKOUT:
                    pacer.interval = max(pacer.interval, probing)
            self.epoch.progress = 0
            pacer.hasten(now, chance)
        self.event.end()

    def read_meter_after_blackout(self, now):
        cycle, dark = self.meter.cycle(now), since(self.event.at, now)
        if self.meter.served > 4 * PARTS and dark > cycle // 4:
            served = self.meter.served - PARTS
            measured = oct.bounded(oct.of_parts(cycle, served) + oct.ratio(33, 32))
            self.pacer.target = max(self.pacer.target, mix(self.pacer.target, measured, served))
            self.meter.restart(now, PARTS)


def mix(own, measured, served):
    """The mean of two rates, of which the measured one weighs a quarter to three quarters."""
    weight = max(64, min(served, 192))
    own = max(own, oct.bounded(measured - OCTAVE))
    quotient = min(oct.exp2(own - measured + 16 * OCTAVE), 1 << 24)
    divisor = (256 - weight << 16) + weight * quotient
    return oct.bounded(own + 24 * OCTAVE - oct.log2(divisor))


class RetryAfter:
    """A blackout whose end is told."""

    def blackout(self, now, wait, chance):
        end = min(within(now + wait), within(now + parts.LONGEST_HOLD))
        served, pacer = self.meter.served, self.pacer
        silence = since(pacer.slot, now)
        if not self.is_open() and silence // 64 > self.current(now):
            self.meter.skip(silence, now)
        cycle = max(self.meter.cycle(end), 1000)
        if self.is_open():
            calls = oct.ratio(served, PARTS)
            bright = oct.span(oct.bounded(self.tier.interval(now, self.round_trip()) + calls))
            cycle = min(cycle, within(since(now, end) + bright))
            self.epoch.restart(pacer.interval)
            self.tier = BlindTier()
        if served == 0:
            measured = oct.bounded(oct.of_span(cycle) + OCTAVE)
        else:
            measured = oct.of_parts(cycle, served)
        own, spare = pacer.interval, oct.ratio(33, 32)
        if own > oct.SHORTEST and served == 0:
            pacer.interval = own
        elif own > oct.SHORTEST and self.meter.set:
            pacer.interval = oct.bounded(mix(own, measured, served) + spare)
        else:
            pacer.interval = oct.bounded(measured + spare)
        pacer.target = pacer.interval
        self.epoch.settle_at(pacer.interval)
        self.meter.restart(end, 0)
        self.event = parts.Event(end, 0, 4, self.event.down)
        pacer.hold_until(end, min(oct.span(pacer.interval), cycle), chance)
