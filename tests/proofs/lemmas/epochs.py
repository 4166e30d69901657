"""The epochs of `adaptive`: how much it grows and cuts, and what a success weighs."""

from lemma import (
    U16,
    U32,
    all_of,
    clamp,
    div,
    implies,
    is_formula,
    ite,
    least,
    lemma,
    minus,
    most,
    step,
    within,
)
from lemmas.intervals import I32, OCTAVE, an_interval, log2_roughly, signed


def next_cut(cut, moved, successes):
    """`Epoch::next_cut`: what is remembered, and what is cut this time."""
    cut = clamp(div(within(cut * 7, U32), ite(moved < 23, 10, 5)), 4096, 16_384)
    early = div(65_536, within(successes + 2, U32))
    return clamp(early, cut, 32_768), cut


def an_epoch(dice):
    length = dice.choice([16, 32, 64, 128, dice.u16()])
    cut = dice.choice([4096, 8192, 16_384, dice.u16()])
    return [
        length,
        cut,
        dice.u32() >> dice.randrange(32),
        dice.u32() >> dice.randrange(32),
        dice.u16(),
        dice.u16(),
    ]


def a_cut(dice):
    """Often near where it was cut before, which makes the next cut smaller."""
    epoch, interval = an_epoch(dice), an_interval(dice)
    if dice.flag():
        epoch[4] = min((interval >> 16) + dice.randint(-30, 30), 2**15 - 1)
    return [*epoch, interval]


@step("epoch_cut", a_cut)
def epoch_cut(length, cut, progress, successes, hit, ignored, interval):
    moved = abs((interval >> 16) - signed(hit, 16))
    made, cut = next_cut(cut, moved, successes)
    return made, length, cut, progress, successes, hit, ignored


@step("epoch_length", lambda dice: [*an_epoch(dice), dice.flag()])
def epoch_length(length, cut, progress, successes, hit, ignored, longer):
    return another_length(length, longer), cut, progress, successes, hit, ignored


def another_length(length, longer):
    return ite(longer, least(within(length * 2, U16), 128), most(div(length, 2), 16))


def scaled(number, factor):
    return least(within(div(number * factor, 256), U32), 1 << 28)


def calm_of(weight, cut):
    calm = div(within(weight * cut, U32), 8192)
    return least(div(calm + weight, 2), weight)


def acceleration(length, progress):
    whole = length * 384
    if progress <= whole:
        return 256
    power = over(length, progress)
    for _ in range(4):
        power = scaled(power, power)
    return power


def over(length, progress):
    """How far an epoch is over, where it is, with 8 bits of fraction. The core shifts these bits, so
    that of a longer epoch than there are some are lost; of others none are, as a lemma says."""
    whole = length * 384
    so_far = least(progress, within(whole * 16, U32)) * 256
    if is_formula(whole):
        return div(so_far, whole)
    return (so_far & U32) // whole if whole else 0


@step("in_flight", lambda dice: [*an_epoch(dice), dice.u32()])
def weight_in_flight(length, cut, progress, successes, hit, ignored, calls):
    return in_flight(length, calls) if calls else 2


def in_flight(length, calls):
    return most(div(length * 16, calls), 2)


def counted_of(weight, calm, fast):
    return ite(fast, within(calm + div(within((weight - calm) * 3, U32), 8), U32), calm)


def growth(calm, cut, length, power, guard):
    made = div(within(calm * cut, U32), length) if not isinstance(length, int) or length else 0
    return least(scaled(made, power), guard)


def a_growth(dice):
    weight = dice.number(2, 4096)
    return [*an_epoch(dice), weight, dice.u32() >> dice.randrange(32), an_interval(dice)]


@step("epoch_grow", a_growth)
def epoch_grow(length, cut, progress, successes, hit, ignored, weight, guard, interval):
    calm = calm_of(weight, cut)
    progress = within(progress + counted_of(weight, calm, (interval >> 16) < 9443 - 640), U32)
    made = growth(calm, cut, length, acceleration(length, progress), guard)
    return made, length, cut, progress, successes, hit, ignored


@lemma(
    "law/adaptive/epoch.rs Epoch::next_cut",
    cut_of=lambda cut, moved, successes: (65_536 // 2 + cut, cut * 2),
)
def a_cut_takes_from_a_sixteenth_to_a_half(given, cut_of=next_cut):
    """However the epochs went, what a cut takes is a sixteenth of the rate at least and a half at
    most, and what is remembered of it a sixteenth to a quarter."""
    cut, moved = given.numbers("cut moved", 0, U16)
    made, kept = cut_of(cut, moved, given.number("successes", 0, U32))
    return all_of(made >= 4096, made <= 32_768, kept >= 4096, kept <= 16_384)


@lemma(
    "law/adaptive/epoch.rs Epoch::lengthen",
    change=lambda length, longer: ite(longer, length * 2, div(length, 2)),
)
def an_epoch_is_from_16_to_128_calls_long(given, change=another_length):
    """If it was, as it is at the start, then so it is however often it is lengthened or shortened."""
    length = given.number("length", 16, 128)
    made = change(length, given.flag("longer"))
    return all_of(made >= 16, made <= 128)


@lemma(
    "law/adaptive/epoch.rs Epoch::grow",
    grow=lambda calm, cut, length, power, guard: scaled(div(calm * cut, length), power),
)
def a_step_up_is_at_most_a_sixteenth_of_an_octave_and_what_its_guard_allows(given, grow=growth):
    """Whatever the weight, the cut, the length and the acceleration. And the weight, once it is
    calmed, is never more, nor is what of it is counted, and no product of it is cut off."""
    weight, power = given.number("weight", 2, 4096), given.number("power", 256, 1 << 28)
    cut, length = given.number("cut", 4096, 16_384), given.number("length", 16, 128)
    guard = given.number("guard", 0, OCTAVE // 16)
    calm = calm_of(weight, cut)
    made = grow(calm, cut, length, power, guard)
    counted = counted_of(weight, calm, given.flag("fast"))
    fits = all_of(weight * cut <= U32, calm * cut <= U32)
    bounds = all_of(made <= guard, made <= OCTAVE // 16)
    return all_of(bounds, calm <= weight, calm <= counted, counted <= weight, fits)


ANCHOR, SLOW, FAST = 9443, 896, 640


def slope(distance):
    middle, slower = clamp(distance, -FAST, SLOW) * 96, most(distance - SLOW, 0) * 80
    return shifted(middle + slower + least(distance + FAST, 0) * 128, 8)


def shifted(number, bits):
    """Down, of numbers that may be below zero."""
    return number / 2**bits if is_formula(number) else number >> bits


def exp2_roughly(octaves):
    """By its 31 octaves, one after the other."""
    mantissa, power = 256 + octaves % 256, 1 << 31
    for octave in range(22, -9, -1):
        scaled = mantissa * 2**octave if octave >= 0 else div(mantissa, 2**-octave)
        power = ite(shifted(octaves, 8) == octave, scaled, power)
    return ite(octaves < -8 * 256, 0, power)


def weighed(distance, correction, slope=slope):
    """`Habit::weight`, where `correction` is what its epochs take back."""
    return clamp(exp2_roughly(slope(distance) + correction), 4, 4096)


def towards_zero(number, by):
    return number // by if number >= 0 else -(-number // by)


@step(
    "habit_weight",
    lambda dice: [dice.u32() >> dice.randrange(32), dice.number(0, 63), an_interval(dice)],
)
def habit_weight(mean, epochs, interval):
    distance = (interval >> 16) - ANCHOR
    log = slope(distance)
    asked = 1792 - (log2_roughly(max(mean, 256)) - 2048)
    moved = towards_zero((log - asked) * epochs, epochs + 8) >> 1
    return weighed(distance, clamp(moved, -768, 768) if epochs else 0)


@step("quota_weight", lambda dice: [an_interval(dice), dice.number(1, 2**15 - 1)])
def quota_weight(interval, anchor):
    return weighed_of_quota((interval >> 16) - anchor)


def weighed_of_quota(log):
    return most(exp2_roughly(clamp(log, -1280, 768)), 8)


@lemma(
    "law/adaptive/epoch.rs Habit::weight",
    slope=lambda distance: slope(ite(distance > 0, 0, distance)),
)
def a_slow_client_weighs_more_than_a_fast_one_and_no_more_than_1024_times_as_much(
    given, slope=slope
):
    """With the same correction, a success of a client whose interval is longer never weighs less,
    and at the longest interval more than at the shortest; whatever the correction, it weighs a 64th to
    sixteen."""
    short, long = given.numbers("short long", 1536 - ANCHOR, 16_896 - ANCHOR)
    correction = given.number("correction", -768, 768)
    given.that(short <= long)
    light, heavy = weighed(short, correction, slope), weighed(long, correction, slope)
    ends = weighed(1536 - ANCHOR, 0, slope) < weighed(16_896 - ANCHOR, 0, slope)
    steep = slope(long) - slope(short) >= div((long - short) * 80, 256)
    return all_of(light >= 4, heavy <= 4096, light <= heavy, ends, steep)


@lemma("law/adaptive/epoch.rs weight_of_quota", weigh=exp2_roughly)
def the_weight_of_a_known_quota_is_from_a_32nd_to_eight(given, weigh=weighed_of_quota):
    """And rises with the interval."""
    short, long = given.numbers("short long", -(2**15), 2**15)
    given.that(short <= long)
    light, heavy = weigh(short), weigh(long)
    return all_of(light >= 8, heavy <= 2048, light <= heavy)


def noted(mean, epochs, length):
    """`Habit::note`: the mean moves by its part of the difference, towards zero."""
    part = div(ite(length >= mean, length - mean, mean - length), epochs + 1)
    moved = ite(length >= mean, within(mean + part, U32), minus(mean, part))
    return ite(epochs == 0, length, most(moved, 256)), least(epochs + 1, 63)


@step("habit", lambda dice: [dice.number(0, I32), dice.number(0, 63), dice.u32()])
def habit(mean, epochs, successes):
    return noted(mean, epochs, min(successes, 60_000) + 1 << 8)


@lemma("law/adaptive/epoch.rs Epoch::acceleration", scale=lambda a, b: div(a * b, 256))
def an_epoch_that_is_over_hastens_growth_without_end_but_2_to_the_20(given, scale=scaled):
    """What is taken to the sixteenth power is from one to sixteen, and nothing of it is shifted out of
    32 bits; each of the four squares keeps a number from one to 2^20 there (with 8 bits of
    fraction)."""
    length, progress = given.number("length", 16, 128), given.number("progress", 0, U32)
    power = given.number("power", 256, 1 << 28)
    given.that(progress > length * 384)
    first, square = over(length, progress), scale(power, power)
    bounds = all_of(first >= 256, first <= 4096, length * 384 * 16 * 256 <= U32)
    return all_of(bounds, square >= 256, square <= 1 << 28)


@lemma(
    "law/adaptive/epoch.rs Epoch::weight_in_flight",
    weigh=lambda length, calls: div(length * 16, calls),
)
def what_is_in_flight_takes_no_weight_away_entirely(given, weigh=in_flight):
    """A success weighs something however many calls are in flight, and no more than eight."""
    made = weigh(given.number("length", 16, 128), given.number("calls", 1, U32))
    return all_of(made >= 2, made <= 8 * 256)


@lemma(
    "law/adaptive/epoch.rs Habit::note",
    note=lambda mean, epochs, length: (mean + length - mean * 2, epochs + 1),
)
def the_mean_of_the_epochs_lies_between_its_ends(given, note=noted):
    """Between what it was and the latest, or the latest where there was none; so it is from one call
    to the 60001 that the longest epoch counts. The count of epochs ends at 63."""
    mean, length = given.numbers("mean length", 256, 60_001 << 8)
    epochs = given.number("epochs", 0, 63)
    after, count = note(mean, epochs, length)
    first = implies(epochs == 0, after == length)
    between = all_of(after >= least(mean, length), after <= most(mean, length))
    return all_of(first, between, count >= 1, count <= 63)
