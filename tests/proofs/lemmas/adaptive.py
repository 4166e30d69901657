"""`adaptive`: intervals by their logarithms, events, epochs, and the slots of its pacer."""

from lemma import (
    U8,
    U16,
    U32,
    U64,
    all_of,
    clamp,
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

OCTAVE = 2**24
MIN, MAX = 6 * OCTAVE, 66 * OCTAVE
I32 = 2**31 - 1


def signed(word, bits=32):
    """Two's complement, taken back."""
    return word - 2**bits if word >> bits - 1 & 1 else word


def bent(x, coefficients):
    polynomial = 0
    for coefficient in coefficients:
        polynomial = (polynomial * x >> 24) + coefficient
    return x + ((x * (OCTAVE - x) >> 24) * polynomial >> 30)


@step("log2", lambda dice: [dice.u64()])
def log2(number):
    number = max(number, 1)
    zeros = 64 - number.bit_length()
    part = (number << zeros & U64) >> 39 & OCTAVE - 1
    curve = bent(part, [27_585_783, -104_369_674, 197_676_760, -296_964_243, 475_296_191])
    return (63 - zeros) * OCTAVE | curve


@step("exp2", lambda dice: [dice.number(0, 70 * OCTAVE)])
def exp2(octaves):
    curve = bent(octaves % OCTAVE, [-2_036_310, -11_667_980, -71_595_235, -329_478_958])
    octave = octaves // OCTAVE
    if octave >= 63:
        return U64
    return (OCTAVE | curve) << octave >> 24


def of(log):
    return clamp(log, MIN, MAX)


def sum32(a, b):
    return clamp(a + b, -I32 - 1, I32)


def longer(interval, octaves):
    return of(sum32(interval, octaves))


def an_interval(dice):
    return dice.number(MIN, MAX)


@step("longer", lambda dice: [an_interval(dice), dice.u32()])
def longer_by(interval, octaves):
    return longer(interval, signed(octaves))


@step("doubled", lambda dice: [an_interval(dice), dice.number(0, 80)])
def doubled(interval, times):
    return longer(interval, OCTAVE * least(times, 64))


@lemma(
    "law/adaptive/interval.rs Interval::longer",
    add=lambda a, b: ite(a + b > I32, a + b - 2**32, a + b),
)
def an_interval_stays_in_its_range(given, add=sum32):
    """Whatever is added to its logarithm, the interval is from a quarter of a nanosecond to nine
    years, and it is no shorter for having been lengthened."""
    interval = given.number("interval", MIN, MAX)
    octaves = given.number("octaves", -I32, I32)
    made = of(add(interval, octaves))
    return all_of(made >= MIN, made <= MAX, implies(octaves >= 0, made >= interval))


PROBE = of(log2(20 * 10**9) + 8 * OCTAVE)


def probing(interval, misses, down, dark, capped=least):
    """`Event::interval`, where `dark` is a quarter of the time since the event began."""
    widest = most(PROBE, doubled(interval, 2))
    widest = ite(down, widest, most(widest, dark))
    longer = most(capped(doubled(interval, least(misses - 1, 20)), widest), interval)
    return ite(misses >= 2, longer, interval)


def an_event(dice):
    now = dice.instant()
    return [
        dice.near(now),
        dice.number(0, U8),
        dice.number(0, U8),
        dice.flag(),
        an_interval(dice),
        now,
    ]


@step("event_interval", an_event)
def event_interval(at, misses, previous, down, interval, now, word):
    return probing(interval, misses, bool(down), word)


@step("event_miss", lambda dice: an_event(dice)[:4])
def event_miss(at, misses, previous, down):
    return at, one_more(misses), previous, down


def one_more(misses):
    return least(within(misses + 1, U8), 40)


@lemma("law/adaptive/event.rs Event::miss", count=lambda misses: misses + 1)
def misses_are_counted_up_to_40(given, count=one_more):
    """However many there are, so that what is doubled for each of them has an end."""
    misses = given.number("misses", 0, 40)
    return all_of(count(misses) >= 1, count(misses) <= 40, count(misses) >= misses)


@lemma("law/adaptive/event.rs Event::interval", capped=lambda probe, widest: probe)
def probes_are_no_closer_than_the_interval_and_no_further_than_their_most(given, capped=least):
    """After every miss the interval in force, from half to twice of which the next probe is drawn, is
    no shorter than the law's, and no longer than 20 s, four of the law's, or a quarter of the time
    that the server has been refusing, whichever is longest."""
    interval, dark = given.numbers("interval dark", MIN, MAX)
    misses, down = given.number("misses", 0, 40), given.flag("down")
    made = probing(interval, misses, down, dark, capped)
    furthest = most(most(PROBE, doubled(interval, 2)), ite(down, MIN, dark))
    return all_of(made >= interval, made <= furthest)


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
    power = (min(progress, min(whole * 16, U32)) << 8 & U32) // whole if whole else 0
    for _ in range(4):
        power = scaled(power, power)
    return power


def counted_of(weight, calm, fast):
    return ite(fast, within(calm + div(within((weight - calm) * 3, U32), 8), U32), calm)


def growth(calm, cut, length, power, guard):
    made = div(within(calm * cut, U32), length) if not isinstance(length, int) or length else 0
    return least(least(scaled(made, power), guard), OCTAVE // 16)


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
    most, and what is remembered of it a quarter at most."""
    cut, moved = given.number("cut", 4096, 16_384), given.number("moved", 0, 2**15)
    made, kept = cut_of(cut, moved, given.number("successes", 0, U32))
    return all_of(made >= 4096, made <= 32_768, kept >= 4096, kept <= 16_384)


@lemma(
    "law/adaptive/epoch.rs Epoch::lengthen",
    change=lambda length, longer: ite(longer, length * 2, div(length, 2)),
)
def an_epoch_is_from_16_to_128_calls_long(given, change=another_length):
    """However often it is lengthened or shortened."""
    length = given.number("length", 16, 128)
    made = change(length, given.flag("longer"))
    return all_of(made >= 16, made <= 128)


@lemma(
    "law/adaptive/epoch.rs Epoch::grow",
    grow=lambda calm, cut, length, power, guard: scaled(div(calm * cut, length), power),
)
def a_step_up_is_at_most_a_sixteenth_of_an_octave_and_what_its_guard_allows(given, grow=growth):
    """Whatever the weight, the cut, the length and the acceleration. And the weight, once it is
    calmed, is never more, and no product of it is cut off."""
    weight, power = given.number("weight", 2, 4096), given.number("power", 256, 1 << 28)
    cut, length = given.number("cut", 4096, 16_384), given.number("length", 16, 128)
    guard = given.number("guard", 0, 2**20)
    calm = calm_of(weight, cut)
    made = grow(calm, cut, length, power, guard)
    return all_of(
        made <= guard, made <= OCTAVE // 16, calm <= weight, weight * cut <= U32, calm * cut <= U32
    )


def noted(mean, epochs, length):
    """`Habit::note`: the mean moves by its part of the difference, towards zero."""
    part = div(ite(length >= mean, length - mean, mean - length), epochs + 1)
    moved = ite(length >= mean, within(mean + part, U32), minus(mean, part))
    return ite(epochs == 0, length, most(moved, 256)), least(epochs + 1, 63)


@step("habit", lambda dice: [dice.number(0, I32), dice.number(0, 63), dice.u32()])
def habit(mean, epochs, successes):
    return noted(mean, epochs, min(successes, 60_000) + 1 << 8)


@lemma(
    "law/adaptive/epoch.rs Habit::note",
    note=lambda mean, epochs, length: (mean + length - mean * 2, epochs + 1),
)
def the_mean_of_the_epochs_lies_between_its_ends(given, note=noted):
    """From 256 to what the longest epoch has, and between what it was and the latest; the count of
    epochs ends at 63."""
    mean, length = given.numbers("mean length", 256, 60_001 << 8)
    epochs = given.number("epochs", 0, 63)
    after, count = note(mean, epochs, length)
    return all_of(
        after >= least(mean, length), after <= most(mean, length), count >= 1, count <= 63
    )


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
    """After any call the mean is between what it was and what the call cost, so it fits 32 bits and
    its octave is at most 27."""
    mean, latest = given.number("mean", 0, U32 - 15), given.number("latest", 0, U32 - 15)
    after = mean_of(mean, latest)
    low = ite(mean == 0, latest, least(mean, latest))
    return all_of(after >= low, after <= most(mean, latest), after < 2**32)
