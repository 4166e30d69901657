"""`adaptive` as its record has it, and what the rules of all its tiers share."""

from lemma import U16, U32, U64
from lemmas.calls import I16, Open, clipped, logarithm, moved, parts_of, rescaled, usual
from lemmas.chance import turned, word_of
from lemmas.intervals import OCTAVE, exp2, log2, longer, of_span, probing, signed, span_of
from lemmas.numbers import floor_of
from lemmas.slots import advanced, backed_off, hastened, recorded, sooner
from lemmas.told import DAY, mixture, weight_of

OPEN, BLIND, REMAINING, PERIOD = range(4)
KNOWN_BEFORE, KNOWN_SHARE = 1, 2
OK, THROTTLED, BUSY, FAILED = range(4)
MIDDLE = 1 << 63
BEFORE = (
    "interval target slot release hold at misses previous down length cut progress successes hit "
    "ignored tier"
).split()
TIERS = [1, 2, 3, 7]
"""How many numbers each tier has."""
SPARE = log2(33) - log2(32)


def towards_zero(number, by):
    return number // by if number >= 0 else -(-number // by)


class State:
    """The numbers of the record, and of the meter and of the first block, which begin with it."""

    def __init__(self, numbers):
        for name in BEFORE:
            setattr(self, name, next(numbers))
        self.known = [next(numbers) for _ in range(TIERS[self.tier])]
        self.mean, self.octave, self.round_trip, self.quota = [next(numbers) for _ in range(4)]
        self.generator = next(numbers), next(numbers)
        self.meter, self.served, self.set = MIDDLE, 0, False
        self.open = Open(MIDDLE)
        if self.tier == OPEN:
            self.open.measured = self.known[0]

    def told(self):
        law = [getattr(self, name) for name in BEFORE]
        law[2:6] = map(recorded, law[2:6])
        known = [
            *map(recorded, self.known[: self.tier == PERIOD]),
            *self.known[self.tier == PERIOD :],
        ]
        return [self.tier, *law, *known, self.mean, self.octave, self.round_trip, self.quota]

    def word(self):
        word = word_of(self.generator[0])
        self.generator = turned(*self.generator)
        return word

    def in_calls(self, amount):
        return None if amount is None else min(amount >> self.octave, U32)

    def count(self, cost):
        self.successes = min(self.successes + 1, U32)
        self.served = min(self.served + parts_of(self.octave, cost), U32)

    def in_force(self, now):
        dark = of_span(max(0, now - self.at) >> 2)
        return probing(self.interval, self.misses, bool(self.down), dark)

    def end_event(self):
        self.previous, self.misses, self.down = self.misses, 0, 0

    def restart_epoch(self):
        self.length, self.progress, self.successes = 16, 0, 0
        self.hit = clipped(logarithm(self.interval))

    def restart_meter(self, now, served):
        self.meter, self.served, self.set = now, served, True

    def begin(self, at):
        self.slot = self.release = min(at, U64)

    def hasten(self, now):
        span, word = span_of(self.interval), self.word()
        self.slot, self.release = hastened(self.slot, self.release, now, span, word)

    def back_off(self, now):
        span, word = span_of(self.in_force(now)), self.word()
        self.slot, self.release = backed_off(self.slot, self.release, now, span, word)

    def trip(self):
        return self.round_trip << 10

    def sending(self, now):
        return self.open.interval(now, self.trip())

    def reopen(self, now):
        self.tier, self.known, self.open = OPEN, [0], Open(now)

    def leaves_out_silence(self, now, interval):
        silence = max(0, now - self.slot)
        long = silence >> 6 > interval
        if long:
            self.meter = max(self.meter, min(self.meter + silence, now))
        return long

    def released(self, now, cost):
        self.see_cost(cost)
        if self.tier == OPEN:
            self.open.released(now, parts_of(self.octave, cost), self.trip())
            self.known = [self.open.measured]
            return
        interval = self.takes(now, cost)
        if self.leaves_out_silence(now, interval):
            self.begin(now)
        slots, word = self.tier == BLIND, self.word()
        self.slot, self.release = advanced(self.slot, now, interval, slots, word)

    def takes(self, now, cost):
        return floor_of(cost, 1 << self.octave, span_of(self.in_force(now)))

    def see_cost(self, cost):
        octaves, self.mean, self.octave = usual(self.mean, self.octave, cost)
        octaves = signed(octaves, 64)
        if octaves == 0:
            return
        self.interval = longer(self.interval, octaves * OCTAVE)
        self.target = longer(self.target, octaves * OCTAVE)
        hit = signed(self.hit, 16) + octaves * 256
        self.hit = hit & U16 if -I16 <= hit + 1 <= I16 + 1 else I16
        self.served = rescaled(self.served, octaves)
        if self.quota:
            self.quota = moved(self.quota, octaves)
        if self.tier == OPEN:
            self.open.rescale(octaves)
            self.known = [self.open.measured]
        # What is counted in usual calls: the pool's most and latest, or the share's own and used, and
        # what was used before.
        for place in [[], [], [0, 2], [1, 2, 4]][self.tier]:
            if (self.tier, place) != (PERIOD, 4) or self.known[3] == KNOWN_BEFORE:
                self.known[place] = rescaled(self.known[place], octaves)

    def corrected(self, now, charged, used):
        if self.tier == OPEN:
            return
        difference = self.takes(now, abs(charged - used))
        if used > charged:
            debt = min(difference, DAY)
            self.slot, self.release = min(self.slot + debt, U64), min(self.release + debt, U64)
        else:
            self.slot = sooner(self.slot, now, difference)
            self.release = sooner(self.release, now, difference)


def mixed(own, measured, parts):
    """`mix_rates`."""
    own = max(own, longer(measured, -OCTAVE))
    quotient = min(exp2((own - measured + 16 * OCTAVE) & U32), 1 << 24)
    return longer(own, 24 * OCTAVE - log2(mixture(weight_of(parts), quotient)))
