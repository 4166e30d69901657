"""Tick counters."""

from lemma import U32, U64, all_of, any_of, div, ite, lemma, step, up, within

BILLION = 10**9


def to_ticks(hertz, span, rounded=up):
    """`Ticks::to_ticks_ceil`, by whole seconds and the rest."""
    whole, rest = div(span, BILLION), span % BILLION
    return within(within(whole * hertz) + rounded(rest * hertz, BILLION))


@step("ticks", lambda dice: [dice.u32(1), dice.u64()])
def ticks(hertz, span):
    return to_ticks(hertz, span)


def ahead(latest, reading):
    """`Ticks::extend`: the number of ticks ahead, unless the reading is a late one."""
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
    """A timer set for this many ticks never fires early, and less than a tick late. If they
    exceed 64 bits, they saturate."""
    hertz, span = given.number("hertz", 1, U32), given.number("span", 0, U64)
    count = to_ticks(hertz, span, rounded)
    covers = all_of(count * BILLION >= span * hertz, (count - 1) * BILLION < span * hertz)
    return ite(count < U64, covers, all_of(count == U64, (U64 - 1) * BILLION < span * hertz))


@lemma("time.rs Ticks::extend", later=lambda latest, reading: div(latest, 2**32) * 2**32 + reading)
def ticks_never_run_backwards(given, later=ahead):
    """For any reading, the count never decreases, and advances by less than half the counter's
    range. If it advances, it ends with the reading, as far as it fits 64 bits."""
    latest = given.number("latest", 0, U64)
    reading = given.number("reading", 0, U32)
    after = later(latest, reading)
    ends = any_of(after == latest, after == U64, after % 2**32 == reading)
    return all_of(after >= latest, after <= latest + 2**31 - 1, ends)


@lemma("time.rs Ticks::extend", instant=lambda hertz, count: count % hertz * BILLION)
def no_instant_of_ticks_wraps_nor_runs_backwards(given, instant=instant_of):
    """A later count is never an earlier instant, and the rest of a second, in ticks, times a
    billion fits 64 bits."""
    hertz = given.number("hertz", 1, U32)
    count, later = given.numbers("count later", 0, U64)
    given.that(count <= later)
    fits = (count % hertz) * BILLION <= U64
    return all_of(
        fits, instant(hertz, count) <= instant(hertz, later), instant(hertz, later) <= U64
    )
