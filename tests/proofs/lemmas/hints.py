"""`adaptive` where a server tells something: its state, an answer, and the state after it."""

from lemma import SECOND, U32, U64
from lemmas.blind import Blind
from lemmas.calls import PARTS, TWENTY, clipped, logarithm, parts_of, smoothed
from lemmas.chance import drawn
from lemmas.intervals import (
    MAX,
    MIN,
    OCTAVE,
    doubled,
    exp2,
    log2,
    log2_roughly,
    longer,
    of,
    of_calls,
    of_parts,
    of_span,
    span_of,
)
from lemmas.slots import around, due_after, held_until
from lemmas.state import (
    BLIND,
    BUSY,
    FAILED,
    KNOWN_BEFORE,
    KNOWN_SHARE,
    OK,
    OPEN,
    PERIOD,
    REMAINING,
    SPARE,
    THROTTLED,
    mixed,
    towards_zero,
)
from lemmas.told import (
    LONGEST_TOLD,
    believed,
    bounded,
    bucket_of,
    cycled,
    entered,
    even_of,
    factor_of,
    fair_of,
    portion,
    price_of,
    pulled,
    told_end,
)


class Adaptive(Blind):
    def observe(self, now, sent, outcome, fresh, paced, cost, hint):
        wait, left, reset, limit, period = hint
        self.round_trip = smoothed(self.round_trip, min(max(0, now - sent) >> 10, U32))
        if outcome == FAILED:
            self.untold(sent, now)
            return self.miss(now, outcome, fresh, True)
        name = min(limit or 0, U32)
        left, limit = self.in_calls(left), self.in_calls(limit)
        quota = (limit, period) if limit and period else None
        if quota:
            everybody = longer(of_calls(period, limit), TWENTY)
            self.quota = clipped(logarithm(everybody))
        wait = wait if outcome in (THROTTLED, BUSY) else None
        periodic = period is not None or self.tier == PERIOD or reset not in (0, SECOND)
        if left is not None and reset is not None and limit and periodic:
            return self.period(now, outcome == OK, cost, (name, limit, period, left, reset, wait))
        self.untold(sent, now)
        if wait is not None and self.is_blackout(now, fresh, min(wait, U64 - now)):
            return self.blackout(now, wait)
        if left is not None and self.remaining(now, outcome == OK, fresh, paced, cost, left, quota):
            return
        if outcome == OK:
            self.success(now, outcome, fresh, paced, cost)
        else:
            self.miss(now, outcome, fresh, False)

    def is_blackout(self, now, fresh, wait):
        own = self.trip() if self.tier == OPEN else span_of(self.interval)
        return fresh and self.misses == 0 and wait > min(2 * own, U64) and wait > SECOND

    def hold_until(self, end, spread):
        self.hold = held_until(self.hold, end, spread, self.word())
        self.slot = self.release = self.hold

    def period(self, now, served, cost, told):
        if self.tier != PERIOD:
            self.tier, self.known = PERIOD, [0] * 7
        share = Share(self.known)
        parts = parts_of(self.octave, cost) if served else 0
        then = share.hear(now, *told, parts, self.word)
        self.known = share.told()
        self.end_event()
        if then and then[0] == "pace":
            self.interval = then[1]
            self.slot, self.release = due_after(self.slot, self.release, now, then[2])
        elif then:
            self.interval = then[1]
            self.hold_until(told_end(then[2], now), span_of(self.interval))

    def untold(self, sent, now):
        if self.tier != PERIOD or believed(sent, self.known[0], now):
            return
        share = Share(self.known)
        limit = max(min(share.limit >> self.octave, U32), 1)
        everybody = of_calls(cycled(share.longest, 0)[1], limit)
        if self.quota:
            everybody = longer(of(self.quota << 16), -TWENTY)
        self.interval = self.target = min(self.interval, everybody)
        self.quota = 0
        self.restart_epoch()
        self.tier, self.known = BLIND, [0, 0]
        self.hasten(now)

    def remaining(self, now, served, fresh, paced, cost, left, quota):
        everybody = of_calls(quota[1], quota[0]) if quota else 0
        if self.tier == OPEN:
            if not served or not fresh or left > 2:
                return False
            self.interval = entered(self.sending(now), everybody, bool(quota))
            self.target = MAX
            self.begin(now + drawn(self.word(), 0, span_of(self.interval)))
            self.restart_epoch()
            self.restart_meter(now, 0)
            self.at = now
            self.tier, self.known = REMAINING, [left, 1, left]
            return True
        most, was_told, before = self.known if self.tier == REMAINING else (left, 0, 0)
        most = max(most, left)
        self.tier, self.known = REMAINING, [most, was_told, before] if served else [most, 1, 0]
        if not served or not fresh:
            return served
        threshold, full = bucket_of(quota[0] if quota else 0, most, bool(quota))
        if left > full // 2:
            self.reopen(now)
            self.end_event()
            return True
        if self.misses > 1:
            self.interval = min(self.in_force(now), doubled(self.interval, 2))
        self.end_event()
        self.count(cost)
        change = log2_roughly(left + 2) - log2_roughly(before + 2) if was_told else 0
        anchor = everybody if quota else of_span(SECOND)
        half = max(min(towards_zero(self.interval - anchor, 2), 3 * OCTAVE), -4 * OCTAVE)
        move = bounded(pulled(change, exp2(half + 8 * OCTAVE), price_of(threshold, left)))
        self.known = [most, 1, left]
        if move < 0 or paced:
            self.interval = longer(self.interval, log2(factor_of(move)) - 16 * OCTAVE)
        self.interval = min(self.interval, LONGEST_TOLD)
        return True

    def blackout(self, now, wait):
        end = told_end(min(now + wait, U64), now)
        if self.tier != OPEN:
            self.leaves_out_silence(now, span_of(self.in_force(now)))
        served, cycle = self.served, max(0, end - self.meter, 1000)
        if self.tier == OPEN:
            calls = log2(served) - log2(PARTS)
            bright = span_of(longer(self.sending(now), calls))
            cycle = min(cycle, max(0, end - now) + bright)
            self.restart_epoch()
            self.tier, self.known = BLIND, [0, 0]
        measured = of_parts(cycle, served) if served else doubled(of_span(cycle), 1)
        if self.interval == MIN or (served and not self.set):
            self.interval = longer(measured, SPARE)
        elif served:
            self.interval = longer(mixed(self.interval, measured, served), SPARE)
        self.target = self.interval
        self.cut, self.successes, self.progress, self.ignored = 4096, 0, 0, 0
        self.hit, self.length = clipped(logarithm(self.interval)), min(self.length * 2, 128)
        self.restart_meter(end, 0)
        self.at, self.misses, self.previous = end, 0, 4
        self.hold_until(end, min(span_of(self.interval), cycle))


class Share:
    """`Share`, of a period."""

    def __init__(self, known):
        self.end, self.own, self.used, self.kind, self.value, self.longest, self.limit = known

    def told(self):
        kept = self.kind, self.value, self.longest, self.limit
        return [self.end, self.own, self.used, *kept]

    def latest(self, others):
        before = self.value if self.kind == KNOWN_BEFORE else 0
        return portion(self.own, min(max(0, self.used - before) + others, U32))

    def next_period(self, end):
        if self.own:
            latest = self.latest(0)
            seen = self.kind == KNOWN_SHARE
            self.kind, self.value = KNOWN_SHARE, (self.value + latest) // 2 if seen else latest
        elif self.kind == KNOWN_BEFORE:
            self.value = 0
        self.end, self.own, self.used, self.longest = end, 0, 0, self.longest // 2

    def hear(self, now, name, limit, period, left, reset, wait, served, draw_word):
        another = name != self.limit
        if another and self.limit and now < self.end and served and left:
            self.own = min(self.own + served, U32)
            return None
        self.limit = name
        if period is None:
            self.longest, period = cycled(self.longest, reset)
        end = min(now + min(reset, period), U64)
        if self.end == 0 or abs(end - self.end) > period // 2 or another:
            self.next_period(end)
        self.own = min(self.own + served, U32)
        self.used = min(max(0, limit - left) * PARTS, U32)
        if self.kind == 0:
            self.kind, self.value = KNOWN_BEFORE, max(0, self.used - self.own)
        share = max(self.value, 1) if self.kind == KNOWN_SHARE else max(self.latest(48), 64)
        octaves = 16 * OCTAVE - log2(share)
        fair = fair_of(of_calls(period, limit), octaves)
        mine, lot = min(left * share, U32), draw_word() >> 16
        if wait is not None:
            return "pause", fair, min(now + wait, U64)
        if not served or mine == 0 or lot > mine:
            return "pause", fair, self.end
        rest = max(0, self.end - now, SECOND // 20)
        interval = even_of(longer(of_calls(rest, left), octaves), fair)
        span = span_of(interval)
        draw = around(span, span // 4, draw_word())
        if min(now + draw, U64) >= self.end:
            return "pause", fair, self.end
        return "pace", interval, draw
