"""What `adaptive` counts in: the usual call, and how fast calls leave before the first refusal."""

from lemma import (
    SECOND,
    U32,
    U64,
    all_of,
    div,
    implies,
    ite,
    least,
    lemma,
    minus,
    most,
    step,
    within,
)
from lemmas.intervals import (
    MAX,
    MIN,
    log2,
    log2_roughly,
    longer,
    of,
    of_calls,
    of_parts,
    of_span,
    signed,
)
from lemmas.numbers import floor_of

I16 = 2**15 - 1
PARTS = 16


def usual_mean(mean, latest):
    """`Usual::see`: the mean after a call."""
    slower = minus(mean, div(mean - latest, 16))
    return ite(
        mean == 0, latest, ite(latest > mean, within(mean + div(latest - mean, 16), U32), slower)
    )


@step("usual", lambda dice: [dice.u32() >> dice.randrange(32), dice.number(0, 27), dice.u32()])
def usual(mean, octave, cost):
    latest = min(cost, U32 >> 4) << 4
    if latest == mean:
        return 0, mean, octave
    mean = usual_mean(mean, latest)
    call = 16 << octave
    if mean < min(call * 3, U32) and mean >= min(call // 4 * 3, U32):
        return 0, mean, octave
    new = max(mean, 16).bit_length() - 1 - 4
    return new - octave & U64, mean, new


@lemma("law/adaptive/cost.rs Usual::see", mean_of=lambda mean, latest: mean + latest)
def the_mean_cost_lies_between_its_ends(given, mean_of=usual_mean):
    """After any call the mean is between what it was and what the call cost, so it fits the 32 bits
    that it has with 4 of fraction, and is below 2^28: its octave, once rounded down, is at most 27."""
    mean, latest = given.number("mean", 0, U32 - 15), given.number("latest", 0, U32 - 15)
    after = mean_of(mean, latest)
    low = ite(mean == 0, latest, least(mean, latest))
    return all_of(after >= low, after <= most(mean, latest), after < 16 * 2**28)


@step(
    "usual_call",
    lambda dice: [dice.u32(), dice.number(0, 27), dice.u32(), dice.u64(), dice.u64()],
)
def usual_call(mean, octave, cost, interval, amount):
    takes = floor_of(cost, 1 << octave, interval)
    return takes, parts_of(octave, cost), min(amount >> octave, U32)


def parts_of(octave, cost):
    return max(min(cost * PARTS >> octave, U32), 1)


@step("rescaled", lambda dice: [dice.u32(), dice.randint(-40, 40) & U64])
def rescaled_count(count, octaves):
    return rescaled(count, signed(octaves, 64))


def rescaled(count, octaves):
    if octaves < 0:
        return min(count << min(-octaves, 32), U32)
    return count >> octaves


def clipped(log):
    """`octaves::clip`."""
    return least(log, I16)


def logarithm(interval):
    """`Interval::log2`."""
    return div(interval, 2**16)


def moved(log, octaves):
    """Of an interval that is known, when the usual call has become larger."""
    return clipped(most(log + octaves * 256, 1))


TWENTY = log2(20)


@step("quota_anchor", lambda dice: [dice.u32(), dice.u64() >> dice.randrange(64)])
def quota_anchor(limit, period):
    anchor = clipped(logarithm(longer(of_calls(period, limit), TWENTY)))
    return anchor, longer(of(anchor << 16), -TWENTY)


@lemma("law/adaptive/mod.rs AdaptiveState::see_cost", moved=lambda log, by: clipped(log + by * 256))
def what_is_known_of_a_rate_is_never_taken_for_nothing(given, moved=moved):
    """Two logarithms say with zero that nothing is known: of the quota, and of the rate at which calls
    left before the first refusal. One that is known is above zero and fits its 16 bits, and so it is
    when the usual call has become larger or smaller by as many octaves as there are."""
    interval, log = given.number("interval", MIN, MAX), given.number("log", 1, I16)
    made, after = clipped(logarithm(interval)), moved(log, given.number("octaves", -27, 27))
    return all_of(made == logarithm(interval), made >= 1, after >= 1, after <= I16)


SLOWEST = of_span(20 * SECOND)


def sending(measured, lasted, slowest=SLOWEST):
    """`Open::interval`, where `lasted` is what the calls so far make."""
    return ite(measured >= 1, of(measured * 2**16), least(lasted, slowest))


def smoothed(before, latest):
    """`AdaptiveState::see_round_trip`."""
    part = div(ite(latest > before, latest - before, before - latest), 16)
    nearer = ite(latest > before, within(before + part, U32), minus(before, part))
    return ite(before == 0, latest, nearer)


@lemma("law/adaptive/mod.rs AdaptiveState::see_round_trip", smooth=lambda old, new: old + new)
def the_mean_round_trip_lies_between_its_ends(given, smooth=smoothed):
    """After any answer it is between what it was and the latest, or the latest where there was
    none."""
    before, latest = given.numbers("before latest", 0, U32)
    after = smooth(before, latest)
    between = all_of(after >= least(before, latest), after <= most(before, latest))
    return ite(before == 0, after == latest, between)


class Open:
    """Calls that leave before the first refusal; what a block knows is in no record."""

    def __init__(self, now):
        self.begin(now)
        self.latest, self.measured = now, 0

    def begin(self, now):
        self.block_from, self.sends = now, 0

    def interval(self, now, round_trip):
        lasted = max(0, now - self.block_from, round_trip // 2, 1000)
        return sending(self.measured, of_parts(lasted, max(self.sends, PARTS)))

    def is_silent(self, now, round_trip):
        silence = max(0, now - self.latest)
        if not (self.measured or self.sends > PARTS) or silence <= round_trip:
            return False
        usual = logarithm(self.interval(self.latest, round_trip))
        return log2_roughly(silence >> 6) + 2048 > usual

    def released(self, now, parts, round_trip):
        if (self.sends, self.measured) == (0, 0) or self.is_silent(now, round_trip):
            self.begin(now)
        self.latest, self.sends = now, min(self.sends + parts, U32)
        lasted = max(0, now - self.block_from)
        if self.sends >= 16 * PARTS and lasted >= round_trip > 0:
            self.measured = clipped(logarithm(of_parts(lasted, self.sends)))
            self.begin(now)

    def rescale(self, octaves):
        self.sends = rescaled(self.sends, octaves)
        if self.measured:
            self.measured = moved(self.measured, octaves)


def some_releases(dice):
    round_trip = dice.choice([0, 10**6, 10**8, dice.u64() >> dice.randrange(64)])
    numbers = [dice.instant(), round_trip]
    for _ in range(dice.randint(1, 60)):
        gap = dice.choice([0, 10**6, 10**7, dice.u64() >> dice.randrange(10, 64)])
        parts = dice.choice([16, 16, 64, dice.u32() >> dice.randrange(32)])
        numbers += [gap, parts, dice.choice([0] * 20 + [1, 5, -3 & U64])]
    return numbers


@step("open", some_releases)
def leave_before_a_refusal(now, round_trip, *calls):
    law, told = Open(now), []
    for gap, parts, octaves in zip(*[iter(calls)] * 3, strict=True):
        now = min(now + gap, U64)
        law.released(now, parts, round_trip)
        law.rescale(signed(octaves, 64))
        told += [law.measured, law.interval(now, round_trip)]
    return tuple(told)


@lemma("law/adaptive/open.rs Open::interval", slowest=MAX)
def less_than_a_block_of_calls_is_no_rate_below_one_in_20_seconds(given, slowest=SLOWEST):
    """What the first refusal finds is an interval in range; and where no block of 16 calls was full,
    two calls with a day between them are no rate."""
    measured, lasted = given.number("measured", 0, I16), given.number("lasted", MIN, MAX)
    made = sending(measured, lasted, slowest)
    return all_of(made >= MIN, made <= MAX, implies(measured == 0, made <= SLOWEST))
