"""Counters of ticks."""

from lemma import U32, U64, all_of, div, ite, lemma, step, up, within

BILLION = 10**9


def to_ticks(hertz, span, rounded=up):
    """`Ticks::to_ticks_ceil`, by whole seconds and the rest."""
    whole, rest = div(span, BILLION), span % BILLION
    return within(within(whole * hertz) + rounded(rest * hertz, BILLION))


@step("ticks", lambda dice: [dice.u32(1), dice.u64()])
def ticks(hertz, span):
    return to_ticks(hertz, span)


def ahead(latest, reading):
    """`Ticks::extend`: how many ticks it is, if the reading is not a late one."""
    low = latest % 2**32
    passed = ite(reading >= low, reading - low, reading + 2**32 - low)
    return ite(passed > U32 // 2, latest, within(latest + passed))


def instant_of(hertz, count):
    seconds, rest = div(count, hertz), count % hertz
    return within(within(seconds * BILLION) + div(rest * BILLION, hertz))


@step("extend", lambda dice: [dice.u32(1), *[dice.u32() for _ in range(dice.randint(1, 12))]])
def extend(hertz, first, *readings):
    count, instants = first, [instant_of(hertz, first)]
    for reading in readings:
        count = ahead(count, reading)
        instants.append(instant_of(hertz, count))
    return tuple(instants)


@lemma("time.rs Ticks::to_ticks_ceil", rounded=div)
def ticks_cover_a_span_and_one_less_does_not(given, rounded=up):
    """A timer set for so many ticks never fires early, and never a tick late."""
    hertz = given.number("hertz", 1, U32)
    whole = given.number("whole", 0, U32)
    rest = given.number("rest", 0, BILLION - 1)
    count = whole * hertz + rounded(rest * hertz, BILLION)
    span = whole * BILLION + rest
    return all_of(count * BILLION >= span * hertz, (count - 1) * BILLION < span * hertz)


@lemma("time.rs Ticks::extend", later=lambda latest, reading: div(latest, 2**32) * 2**32 + reading)
def ticks_never_run_backwards(given, later=ahead):
    """Whatever the reading, the count is no less than before, and ahead by less than half its
    range."""
    latest = given.number("latest", 0, U64)
    reading = given.number("reading", 0, U32)
    after = later(latest, reading)
    return all_of(after >= latest, after <= latest + 2**31 - 1)


@lemma("time.rs Ticks::extend", factor=BILLION * 10)
def no_instant_of_ticks_wraps(given, factor=BILLION):
    """The rest of a second, in ticks, times a billion fits 64 bits."""
    hertz = given.number("hertz", 1, U32)
    rest = given.number("rest", 0, U32)
    given.that(rest < hertz)
    return all_of(rest * factor <= U64, div(rest * factor, hertz) < factor)
