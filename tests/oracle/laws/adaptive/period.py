"""Period: the server tells what is left, and when there will be more."""

from exact import END, SECOND, U16, U32, since, within
from laws.adaptive import octaves as oct
from laws.adaptive import epoch, parts
from laws.adaptive.octaves import OCTAVE
from laws.adaptive.parts import PARTS

DAY = 86_400 * SECOND
MS = 10**6


class Told:
    """A period as one answer describes it."""

    def __init__(self, hint, limit, left, after):
        self.name, self.limit, self.left = min(hint.limit, U32), limit, left
        self.period, self.reset, self.after = hint.period, hint.reset, after


NOTHING, BEFORE, SHARE = range(3)


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
        fair = min(oct.bounded(oct.of_calls(period, told.limit) + longer), parts.SLOWEST_TOLD)
        mine = within(told.left * share, U32)
        lot = chance.word() >> 16
        if told.after is not None:
            return "pause", fair, within(now + told.after)
        if served == 0 or mine == 0 or lot > mine:
            return "pause", fair, self.end
        left = max(since(now, self.end), 50 * MS)
        even = oct.bounded(oct.of_calls(left, told.left) + longer)
        interval = min(max(even, oct.bounded(fair - OCTAVE)), parts.SLOWEST_TOLD)
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
            everybody = epoch.interval_of_quota(self.anchor)
        self.pacer.interval = min(self.pacer.interval, everybody)
        self.anchor = 0
        self.pacer.target = self.pacer.interval
        self.epoch.restart(self.pacer.interval)
        self.tier = epoch.BlindTier()
        self.pacer.hasten(now, chance)
