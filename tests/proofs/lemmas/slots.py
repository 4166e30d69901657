"""The pacer of `adaptive`: when the next call leaves, slot by slot."""

from lemma import U32, U64, all_of, div, ite, lemma, minus, most, step, within
from lemmas.adaptive import an_interval
from lemmas.chance import drawn


def advanced(slot, now, interval, slots, word):
    """`Pacer::advance`: the slot after a call, and when the next is due."""
    start = most(slot, minus(now, interval))
    grid = within(start + interval)
    drawn_at = within(minus(grid, div(interval, 2)) + drawn(word, 0, interval))
    reach = div(interval, 8)
    stride = within(start + drawn(word, minus(interval, reach), within(interval + reach)))
    return ite(slots, grid, stride), ite(slots, drawn_at, stride)


def a_pacer(dice):
    now = dice.instant()
    interval = dice.u64() >> dice.randrange(64)
    pacer = [an_interval(dice), an_interval(dice), dice.near(now), dice.near(now), dice.near(now)]
    return pacer, now, interval


def advances(dice):
    pacer, now, interval = a_pacer(dice)
    return [*pacer, *dice.state(), now, interval, dice.flag()]


@step("pacer_advance", advances)
def pacer_advance(short, target, slot, release, hold, _l, _h, now, interval, slots, word):
    slot, release = advanced(slot, now, interval, bool(slots), word)
    return short, target, recorded(slot), recorded(release), hold


def recorded(instant):
    """The end of time is kept as such; what is nearer to either end than a record reaches is
    not."""
    return instant if instant == U64 else min(max(instant, 2), U64 - 1)


def backed_off(slot, release, now, interval, word):
    """`Pacer::back_off`."""
    half = div(interval, 2)
    wait = drawn(word, half, within(interval + half))
    return most(slot, within(now + interval)), most(release, within(now + wait))


def backs_off(dice):
    pacer, now, interval = a_pacer(dice)
    return [*pacer, *dice.state(), now, interval]


@step("pacer_back_off", backs_off)
def pacer_back_off(short, target, slot, release, hold, _l, _h, now, interval, word):
    slot, release = backed_off(slot, release, now, interval, word)
    return short, target, recorded(slot), recorded(release), hold


def a_check(dice):
    pacer, now, _ = a_pacer(dice)
    return [*pacer, dice.choice([now, pacer[3], pacer[4]])]


@step("pacer_check", a_check)
def pacer_check(short, target, slot, release, hold, now):
    until = max(release, hold)
    return (1, until) if until > now else (0, 0)


@lemma(
    "law/adaptive/pacer.rs Pacer::advance",
    advance=lambda slot, now, interval, slots, word: (most(slot, now), now),
)
def each_call_takes_an_interval_and_a_silence_earns_one_at_most(given, advance=advanced):
    """On the grid, the slot moves by an interval for each call and is never behind the clock: n
    calls take n - 1 intervals, however long it was silent before. The next is due within half an
    interval of its slot."""
    slot, now = given.numbers("slot now", 0, 2**63)
    interval, word = given.number("interval", 2, 2**60), given.number("word", 0, U32)
    after, due = advance(slot, now, interval, True, word)
    near = all_of(due >= after - div(interval, 2), due <= after - div(interval, 2) + interval)
    return all_of(after >= slot + interval, after >= now, near)


@lemma(
    "law/adaptive/pacer.rs Pacer::advance",
    advance=lambda slot, now, interval, slots, word: (most(slot, now), now),
)
def off_the_grid_a_call_takes_seven_eighths_of_an_interval_at_least(given, advance=advanced):
    """And nine eighths at most, from the slot or from an interval before now, whichever is
    later."""
    slot, now = given.numbers("slot now", 0, 2**63)
    interval, word = given.number("interval", 8, 2**60), given.number("word", 0, U32)
    after, due = advance(slot, now, interval, False, word)
    start = most(slot, minus(now, interval))
    eighth = div(interval, 8)
    return all_of(
        after >= start + interval - eighth, after <= start + interval + eighth, due == after
    )


@lemma(
    "law/adaptive/pacer.rs Pacer::back_off",
    back_off=lambda slot, release, now, interval, word: (slot, now),
)
def after_a_miss_half_an_interval_passes_at_least(given, back_off=backed_off):
    """And no more than one and a half, but for what was to be waited for already: a refusal brings
    no call nearer."""
    slot, release, now = given.numbers("slot release now", 0, 2**63)
    interval, word = given.number("interval", 2, 2**60), given.number("word", 0, U32)
    new_slot, due = back_off(slot, release, now, interval, word)
    half = div(interval, 2)
    bounds = all_of(due >= now + half, due <= most(release, now + interval + half))
    return all_of(bounds, due >= release, new_slot >= slot)
