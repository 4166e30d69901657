"""Remaining: a bucket whose level the server tells."""

from exact import SECOND, U32, within
from laws.adaptive import octaves as oct
from laws.adaptive import parts
from laws.adaptive.octaves import OCTAVE
from laws.adaptive.parts import Open


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
                pacer.interval = min(oct.bounded(slowest + 2 * OCTAVE), parts.SLOWEST_TOLD)
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
        steered = self.tier.steer(before, bucket, left, sample.paced)
        pacer.interval = min(steered, parts.SLOWEST_TOLD)
        return True, "faster" if pacer.interval < before else None
