"""The tiers: what the law does with what a server tells."""

from exact import END, SECOND, U16, U32, since, within
from laws.adaptive import octaves as oct
from laws.adaptive import parts
from laws.adaptive.octaves import OCTAVE
from laws.adaptive.parts import BLACKOUT, PARTS, Habit, Open

DAY = 86_400 * SECOND
MS = 10**6


class BlindTier(Habit):
    """Refusals are all that is known."""

    def rescale(self, by):
        pass


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
            hit, cut = reading, parts.CUT_LEAST
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
        guard = (1 << 20) // max(in_flight, 1)
        if interval > self.pacer.target:
            self.pacer.interval = max(oct.faster(interval, guard << 2), self.pacer.target)
            return "faster"
        if self.anchor == 0:
            weight = habit.weight(interval)
        else:
            weight = parts.weight_of_quota(interval, self.anchor)
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


class Pool:
    """A bucket whose level the server tells."""

    def __init__(self, most, previous):
        self.most, self.previous = most, previous

    def rescale(self, by):
        self.most = parts.rescaled(self.most, by)
        if self.previous is not None:
            self.previous = parts.rescaled(self.previous, by)

    def steer(self, interval, bucket, left, paced):
        threshold, _, anchor = bucket
        damping = 0
        if self.previous is not None:
            change = oct.log2_roughly(left + 2) - oct.log2_roughly(self.previous + 2)
            damping = max(-64, min(change * 177 >> 9, 64)) * 256
        price = min((threshold << 9) // (2 * left + 1), 2_048)
        over = interval - anchor
        half = (abs(over) // 2) * (1 if over >= 0 else -1)
        weight = oct.exp2(max(-4 * OCTAVE, min(half, 3 * OCTAVE)) + 8 * OCTAVE)
        pull = max(-1_024, min(weight - price, 1_024)) * 16
        step = max(-26_214, min(damping + pull, 14_418))
        self.previous = left
        if step >= 0 and not paced:
            return interval
        factor = 65_536 - step + (step * step >> 17)
        return oct.bounded(interval + oct.log2(factor) - 16 * OCTAVE)


class Remaining:
    """Steers by the calls that are left."""

    def remaining(self, sample, left, quota, chance):
        """Whether that is an answer, and what moved."""
        now, served, pacer = sample.now, sample.outcome == "ok", self.pacer
        if self.is_open():
            if not served or not sample.fresh or left > 2:
                return False, None
            sending = self.tier.interval(now, self.round_trip())
            if quota:
                limit, period = quota
                slowest = max(sending, oct.of_calls(period, limit))
                pacer.interval = oct.bounded(slowest + 2 * OCTAVE)
            else:
                pacer.interval = oct.bounded(sending + OCTAVE)
            pacer.target = oct.LONGEST
            pacer.begin(within(now + chance.between(0, oct.span(pacer.interval))))
            self.epoch.restart(pacer.interval)
            self.meter.restart(now, 0)
            self.event.at = now
            self.tier = Pool(left, left)
            return True, "slower"
        if not isinstance(self.tier, Pool):
            self.tier = Pool(left, None)
        self.tier.most = max(self.tier.most, left)
        if not served:
            self.tier.previous = 0
            return False, None
        if not sample.fresh:
            return True, None
        if quota:
            limit, period = quota
            bucket = (max(limit // 16, 4), limit, oct.of_calls(period, limit))
        else:
            most = self.tier.most
            bucket = (max(4, min(most // 32, 256)), max(most, 64), oct.of_span(SECOND))
        if left > bucket[1] // 2:
            self.tier = Open(now)
            self.event.end()
            return True, "faster"
        if self.event.misses > 1:
            probing = self.event.interval(pacer.interval, now)
            pacer.interval = min(probing, oct.bounded(pacer.interval + 2 * OCTAVE))
        self.event.end()
        self.epoch.successes = within(self.epoch.successes + 1, U32)
        self.meter.count(self.usual.parts_of(sample.cost))
        before = pacer.interval
        pacer.interval = self.tier.steer(before, bucket, left, sample.paced)
        return True, "faster" if pacer.interval < before else None


class Told:
    """A period as one answer describes it."""

    def __init__(self, hint, limit, left, after):
        self.name, self.limit, self.left = min(hint.limit, U32), limit, left
        self.period, self.reset, self.after = hint.period, hint.reset, after


NOTHING, BEFORE, SHARE = range(3)
SLOWEST = oct.of_span(DAY)


class Share:
    """This client's share of what is left, spread over what is left of the period."""

    def __init__(self):
        self.end = self.own = self.used = self.longest = self.limit = 0
        self.known = (NOTHING, 0)

    def rescale(self, by):
        self.own, self.used = parts.rescaled(self.own, by), parts.rescaled(self.used, by)
        if self.known[0] == BEFORE:
            self.known = (BEFORE, parts.rescaled(self.known[1], by))

    def longest_reset(self, reset):
        self.longest = max(self.longest, min(reset >> 20, U32))
        return max(self.longest << 20, 50 * MS)

    def latest(self, others):
        before = self.known[1] if self.known[0] == BEFORE else 0
        used = within(within(self.used - before) + others, U32)
        return min((self.own << 16) // max(used, self.own, 1), U16)

    def next_period(self, end):
        if self.own > 0:
            latest = self.latest(0)
            if self.known[0] == SHARE:
                latest = (self.known[1] + latest) // 2
            self.known = (SHARE, latest)
        elif self.known[0] == BEFORE:
            self.known = (BEFORE, 0)
        self.end, self.own, self.used, self.longest = end, 0, 0, self.longest // 2

    def hear(self, now, told, served, chance):
        """What to do next: ("keep",), ("pace", interval, draw) or ("pause", interval, end)."""
        another = told.name != self.limit
        if another and self.limit != 0 and now < self.end and served > 0 and told.left > 0:
            self.own = within(self.own + served, U32)
            return ("keep",)
        self.limit = told.name
        period = self.longest_reset(told.reset) if told.period is None else told.period
        end = within(now + min(told.reset, period))
        if self.end == 0 or abs(end - self.end) > period // 2 or another:
            self.next_period(end)
        self.own = within(self.own + served, U32)
        self.used = within(max(0, told.limit - told.left) * PARTS, U32)
        if self.known[0] == NOTHING:
            self.known = (BEFORE, within(self.used - self.own))
        share = max(self.known[1], 1) if self.known[0] == SHARE else max(self.latest(3 * PARTS), 64)
        longer = 16 * OCTAVE - oct.log2(share)
        fair = min(oct.bounded(oct.of_calls(period, told.limit) + longer), SLOWEST)
        mine = within(told.left * share, U32)
        lot = chance.word() >> 16
        if told.after is not None:
            return "pause", fair, within(now + told.after)
        if served == 0 or mine == 0 or lot > mine:
            return "pause", fair, self.end
        left = max(since(now, self.end), 50 * MS)
        even = oct.bounded(oct.of_calls(left, told.left) + longer)
        interval = min(max(even, oct.bounded(fair - OCTAVE)), SLOWEST)
        middle = oct.span(interval)
        draw = chance.between(within(middle - middle // 4), within(middle + middle // 4))
        if within(now + draw) >= self.end:
            return "pause", fair, self.end
        return "pace", interval, draw


class Period:
    """Remaining and reset: a fixed period whose end and whose rest the server tells."""

    def period(self, sample, told, chance):
        now, served, pacer = sample.now, sample.outcome == "ok", self.pacer
        if not isinstance(self.tier, Share):
            self.tier = Share()
        amount = self.usual.parts_of(sample.cost) if served else 0
        what, *numbers = self.tier.hear(now, told, amount, chance)
        self.event.end()
        before = pacer.interval
        if what == "pace":
            pacer.interval, draw = numbers
            pacer.due_after(now, draw)
        elif what == "pause":
            pacer.interval, end = numbers
            end = min(end, within(now + parts.LONGEST_HOLD))
            pacer.hold_until(end, oct.span(pacer.interval), chance)
        if not served and sample.fresh:
            return "slower"
        return "faster" if pacer.interval < before else None

    def untold(self, sent, now, chance):
        """A server that has stopped telling does not bind for good."""
        share = self.tier
        if not isinstance(share, Share):
            return
        if sent <= share.end <= min(now + DAY, END):
            return
        if self.anchor == 0:
            limit = max(1, self.usual.calls_in(share.limit))
            everybody = oct.of_calls(share.longest_reset(0), limit)
        else:
            everybody = parts.interval_of_quota(self.anchor)
        self.pacer.interval = min(self.pacer.interval, everybody)
        self.anchor = 0
        self.pacer.target = self.pacer.interval
        self.epoch.restart(self.pacer.interval)
        self.tier = BlindTier()
        self.pacer.hasten(now, chance)


BYTES = 30
TAGS = {Open: 0, BlindTier: 1, Pool: 2, Share: 3}


def write(tier, out):
    if isinstance(tier, Open):
        out.i16(tier.measured)
    elif isinstance(tier, BlindTier):
        out.u32(tier.mean)
        out.u8(tier.epochs)
    elif isinstance(tier, Pool):
        out.u32(tier.most)
        known = tier.previous is not None
        out.variant(5, known, lambda out: out.u32(tier.previous) if known else None)
    else:
        out.instant(tier.end)
        out.u32(tier.own)
        out.u32(tier.used)
        kind, number = tier.known
        size = {NOTHING: 0, BEFORE: 4, SHARE: 2}[kind]
        out.variant(5, kind, lambda out: out.number(number, size))
        out.u32(tier.longest)
        out.u32(tier.limit)


def read_open(source):
    tier = Open(source.then)
    tier.measured = source.signed(2)
    return tier


def read_pool(source):
    most = source.u32()
    return Pool(most, source.variant(5, {0: lambda source: None, 1: lambda source: source.u32()}))


def read_share(source):
    tier = Share()
    tier.end, tier.own, tier.used = source.instant(), source.u32(), source.u32()
    kinds = {NOTHING: lambda source: 0, BEFORE: lambda source: source.u32(), SHARE: lambda source: source.u16()}
    kinds = {tag: lambda source, tag=tag, read=read: (tag, read(source)) for tag, read in kinds.items()}
    tier.known = source.variant(5, kinds)
    tier.longest, tier.limit = source.u32(), source.u32()
    return tier


READERS = {
    0: read_open,
    1: lambda source: BlindTier(source.u32(), source.u8()),
    2: read_pool,
    3: read_share,
}
