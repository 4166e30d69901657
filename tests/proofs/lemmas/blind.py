"""`adaptive` where refusals are all that is known."""

from lemma import U16, U32, all_of, implies, ite, least, lemma, most, no
from lemmas.calls import logarithm
from lemmas.epochs import (
    epoch_grow,
    habit_weight,
    in_flight,
    next_cut,
    noted,
    weighed_of_quota,
)
from lemmas.intervals import (
    MAX,
    MIN,
    OCTAVE,
    after_cut,
    exp2,
    faster,
    log2,
    longer,
    of_parts,
    one_more,
    signed,
)
from lemmas.state import BLIND, BUSY, OPEN, PERIOD, SPARE, THROTTLED, State, mixed

BLACKOUT = 3
FIVE_QUARTERS = log2(5) - log2(4)


class Blind(State):
    def miss(self, now, outcome, fresh, down):
        if not fresh:
            return self.survey(outcome)
        if self.tier == OPEN:
            self.interval = self.sending(now)
            self.begin(now)
            self.restart_epoch()
            self.previous, self.down = 0, int(self.down or down)
            self.tier, self.known = BLIND, [0, 0]
            if not down:
                self.cut_rate(now, False)
                self.begin(now + self.trip())
            self.misses = 1
        else:
            if self.misses == 0:
                if not down and self.is_bad_luck():
                    self.back_off(now)
                    self.misses = 1
                    return
                self.length = min(self.length * 2, 128)
                if not down:
                    self.cut_rate(now, True)
            busy = outcome == BUSY and self.misses >= BLACKOUT
            self.down = int(self.down or down or busy)
            self.misses = one_more(self.misses)
        self.back_off(now)

    def survey(self, outcome):
        if self.tier != BLIND or self.known[1] >= 2 or self.misses != 1 or self.down:
            return
        if outcome == THROTTLED:
            self.ignored = min(self.ignored + 1, U16)
        served = min(self.successes + 1, U32)
        every = min(served + self.ignored, U32)
        self.interval = longer(self.target, log2(every) - log2(served))

    def is_bad_luck(self):
        refused = self.ignored + 1
        new = self.tier == BLIND and self.known[1] == 0
        if new or self.successes >= 3 or refused > self.successes:
            return False
        self.ignored = min(refused, U16)
        return True

    def cut_rate(self, now, end_of_epoch):
        ripe = self.set and self.served >= 256
        moved = abs(logarithm(self.interval) - signed(self.hit, 16))
        cut, self.cut = next_cut(self.cut, moved, self.successes)
        reading = of_parts(max(0, now - self.meter), max(self.served, 16))
        exact = ripe and self.previous >= BLACKOUT
        hit, exact = hit_at(self.interval, reading, exact)
        if ripe or not self.set:
            self.restart_meter(now, 0)
        if self.tier == BLIND and end_of_epoch:
            self.known = list(noted(*self.known, min(self.successes, 60_000) + 1 << 8))
        self.hit = logarithm(hit)
        self.successes = self.progress = self.ignored = 0
        self.interval = self.target = after_cut(hit, 4096 if exact else cut)
        self.at = now

    def success(self, now, outcome, fresh, paced, cost):
        self.count(cost)
        if self.tier == OPEN:
            return
        if not fresh:
            self.survey(outcome)
        if self.misses and fresh:
            self.recover(now)
        if self.tier == PERIOD or not paced or self.misses:
            return
        habit = self.known if self.tier == BLIND else [0, 0]
        flying = count_in(self.interval, self.trip())
        guard = (OCTAVE // 16) // max(flying, 1)
        if self.interval > self.target:
            self.interval = most(faster(self.interval, guard << 2), self.target)
            return
        weight = habit_weight(*habit, self.interval)
        if self.quota:
            weight = weighed_of_quota(logarithm(self.interval) - self.quota)
        if flying:
            weight = min(weight, in_flight(self.length, flying))
        epoch = self.length, self.cut, self.progress, self.successes, self.hit, self.ignored
        made, _, _, self.progress, *_ = epoch_grow(*epoch, weight, guard, self.interval)
        self.interval = faster(self.interval, made)

    def recover(self, now):
        if self.misses >= 2:
            probe, self.target = self.in_force(now), self.interval
            slower = SLOWER.get(self.misses, 2 * OCTAVE)
            if self.down:
                self.interval = longer(self.interval, OCTAVE)
            else:
                if self.misses < 4:
                    self.length = max(self.length // 2, 16)
                else:
                    self.read_meter(now)
                new = self.tier == BLIND and self.known[1] == 0 and self.misses >= BLACKOUT
                self.interval = recovered(self.interval, self.target, slower, probe, new)
            self.progress = 0
            self.hasten(now)
        self.end_event()

    def read_meter(self, now):
        cycle = max(0, now - self.meter)
        if self.served > 64 and max(0, now - self.at) > cycle >> 2:
            parts = self.served - 16
            measured = longer(of_parts(cycle, parts), SPARE)
            self.target = max(self.target, mixed(self.target, measured, parts))
            self.restart_meter(now, 16)


SLOWER = {2: log2(23) - log2(16), 3: log2(3) - log2(2)}


def count_in(interval, span):
    """`Interval::count_in`."""
    return min(exp2((log2(span) + 8 * OCTAVE - interval) & U32), U32) if span else 0


def hit_at(interval, reading, ripe):
    """What a cut is of: what was measured, where that is known to be slower, or the interval."""
    exact = all_of(ripe, reading > longer(interval, FIVE_QUARTERS))
    return ite(exact, reading, interval), exact


def recovered(interval, target, slower, probe, new):
    """The interval after a blackout, from which the law goes back to its target."""
    made = most(longer(interval, slower), target)
    return ite(new, most(made, probe), made)


LEAST_CUT = after_cut(MIN, 4096) - MIN


@lemma("law/adaptive/blind.rs AdaptiveState::cut", hit=lambda *of: (of[1], True))
def a_cut_never_makes_the_law_faster(given, hit=hit_at):
    """It takes a sixteenth of the rate at least, and a half at most, but where the meter has read
    less; that is believed only where it is slower by a quarter. (A cut has so many octaves as what
    it takes, which is from a sixteenth to a half.)"""
    interval, reading = given.numbers("interval reading", MIN, MAX)
    cut, ripe = given.number("cut", LEAST_CUT, OCTAVE), given.flag("ripe")
    start, exact = hit(interval, reading, ripe)
    made = longer(start, ite(exact, LEAST_CUT, cut))
    slower = made >= least(interval + LEAST_CUT, MAX)
    half = implies(reading <= interval, made <= interval + OCTAVE)
    return all_of(slower, half, implies(no(ripe), made <= interval + OCTAVE))


@lemma(
    "law/adaptive/blind.rs AdaptiveState::recover",
    recover=lambda interval, target, slower, probe, new: ite(new, probe, longer(interval, slower)),
)
def a_recovery_never_begins_faster_than_it_means_to_end(given, recover=recovered):
    """Nor faster than before the refusals; what it returns to is the interval of before, or a slower
    one that was measured. Where nothing else is known, it begins no faster than the probe that was
    served. (After an outage it begins at half the rate of before.)"""
    interval, target, probe = given.numbers("interval target probe", MIN, MAX)
    slower, new = given.number("slower", 0, 2 * OCTAVE), given.flag("new")
    given.that(target >= interval)
    made = recover(interval, target, slower, probe, new)
    begins = all_of(made >= interval, made >= target, implies(new, made >= probe))
    return all_of(begins, made <= MAX)


@lemma("law/adaptive/blind.rs AdaptiveState::success", end=lambda interval, target: interval)
def a_ramp_ends_at_its_target(given, end=most):
    """From a slower rate the law grows to that of its target and no further, and by one answer to no
    more than twice what it was."""
    interval, target = given.numbers("interval target", MIN, MAX)
    given.that(interval > target)
    octaves = given.number("octaves", 0, OCTAVE)
    made = end(longer(interval, -octaves), target)
    return all_of(made >= target, made <= interval, made >= least(interval - OCTAVE, target))
