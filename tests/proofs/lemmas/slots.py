"""The pacer of `adaptive`: when the next call leaves, slot by slot."""

from lemma import (
    SECOND,
    U32,
    U64,
    all_of,
    any_of,
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
from lemmas.chance import drawn
from lemmas.intervals import an_interval, exp2

LATENESS = 2_000_000
HOUR = 3_600 * SECOND


def caught_up(slot, now, interval):
    """Where the grid goes on: what a late timer has missed is caught up, or one interval."""
    return most(slot, minus(now, most(interval, LATENESS)))


def advanced(slot, now, interval, slots, word, start_of=caught_up):
    """`Pacer::advance`: the slot after a call, and when the next is due."""
    start = start_of(slot, now, interval)
    grid = within(start + interval)
    drawn_at = within(minus(grid, div(interval, 2)) + drawn(word, 0, interval))
    stride = within(start + around(interval, div(interval, 8), word))
    return ite(slots, grid, stride), ite(slots, drawn_at, stride)


def around(middle, reach, word):
    """`Rng::within`."""
    return drawn(word, minus(middle, reach), within(middle + reach))


def a_pacer(dice):
    now = dice.instant()
    interval = dice.u64() >> dice.randrange(64)
    pacer = [an_interval(dice), an_interval(dice), dice.near(now), dice.near(now), dice.near(now)]
    return pacer, now, interval


def with_chance(dice):
    pacer, now, interval = a_pacer(dice)
    return [*pacer, *dice.state(), now, interval]


def told(short, target, slot, release, hold):
    return short, target, recorded(slot), recorded(release), recorded(hold)


def recorded(instant):
    """The end of time is kept as such; what is nearer to either end than a record reaches is
    not."""
    return instant if instant == U64 else min(max(instant, 2), U64 - 1)


@step("pacer_advance", lambda dice: [*with_chance(dice), dice.flag()])
def pacer_advance(short, target, slot, release, hold, _l, _h, now, interval, slots, word):
    return told(short, target, *advanced(slot, now, interval, bool(slots), word), hold)


def backed_off(slot, release, now, interval, word):
    """`Pacer::back_off`."""
    half = div(interval, 2)
    wait = drawn(word, half, within(interval + half))
    return most(slot, within(now + interval)), most(release, within(now + wait))


@step("pacer_back_off", with_chance)
def pacer_back_off(short, target, slot, release, hold, _l, _h, now, interval, word):
    return told(short, target, *backed_off(slot, release, now, interval, word), hold)


def hastened(slot, release, now, span, word):
    """`Pacer::hasten`, where `span` is the interval."""
    due = within(now + drawn(word, 0, span))
    return least(slot, due), least(release, due)


@step("pacer_hasten", lambda dice: with_chance(dice)[:-1])
def pacer_hasten(short, target, slot, release, hold, _l, _h, now, word):
    span = exp2(max(0, short - (8 << 24))) if short >= 8 << 24 else 0
    return told(short, target, *hastened(slot, release, now, span, word), hold)


def due_after(slot, release, now, draw):
    """`Pacer::due_after`."""
    due = within(now + draw)
    anew = any_of(slot > due, slot < now)
    return ite(anew, due, slot), ite(anew, due, release)


def with_span(dice):
    pacer, now, span = a_pacer(dice)
    return [*pacer, now, span]


@step("pacer_due_after", with_span)
def pacer_due_after(short, target, slot, release, hold, now, draw):
    return told(short, target, *due_after(slot, release, now, draw), hold)


@step("pacer_postpone", lambda dice: [*a_pacer(dice)[0], a_pacer(dice)[2]])
def pacer_postpone(short, target, slot, release, hold, debt):
    return told(short, target, within(slot + debt), within(release + debt), hold)


def sooner(instant, now, refund):
    """`Pacer::advance_by`."""
    return least(instant, most(minus(instant, refund), now))


@step("pacer_refund", with_span)
def pacer_refund(short, target, slot, release, hold, now, refund):
    return told(short, target, sooner(slot, now, refund), sooner(release, now, refund), hold)


def held_until(hold, end, spread, word):
    """`Pacer::hold_until`: the hold, where the slot and the release are too."""
    return most(hold, within(end + drawn(word, 0, least(spread, HOUR))))


@step("pacer_hold", with_chance)
def pacer_hold(short, target, slot, release, hold, _l, _h, end, spread, word):
    hold = held_until(hold, end, spread, word)
    return told(short, target, hold, hold, hold)


def a_check(dice):
    pacer, now, _ = a_pacer(dice)
    return [*pacer, dice.choice([now, pacer[3], pacer[4]])]


@step("pacer_check", a_check)
def pacer_check(short, target, slot, release, hold, now):
    until = max(release, hold)
    return (1, until) if until > now else (0, 0)


def a_moment(given):
    """A pacer's slot and release, the time, an interval, and a word: of all widths."""
    return *given.numbers("slot release now interval", 0, U64), given.number("word", 0, U32)


@lemma("law/adaptive/pacer.rs Pacer::advance", start_of=lambda slot, now, interval: slot)
def each_call_takes_an_interval_and_a_silence_earns_a_late_timers_calls(given, start_of=caught_up):
    """On the grid, the slot moves by an interval for each call, and to no more than 4 ms before the
    clock, or to the clock where an interval is longer: n calls in a row take n - 1 intervals but for
    4 ms, however long it was silent before. The next is due within half an interval of its slot. (As
    far as the clock reaches.)"""
    slot, _, now, interval, word = a_moment(given)
    after, due = advanced(slot, now, interval, True, word, start_of)
    ahead = all_of(after >= within(slot + interval), after >= least(now, now - LATENESS + interval))
    held = implies(slot >= now, after == within(slot + interval))
    half = div(interval, 2)
    near = all_of(due >= minus(after, half), due <= within(minus(after, half) + interval))
    return all_of(ahead, held, near, due <= U64)


@lemma("law/adaptive/pacer.rs Pacer::advance", start_of=lambda slot, now, interval: now)
def off_the_grid_a_call_takes_seven_eighths_of_an_interval_at_least(given, start_of=caught_up):
    """And nine eighths at most, from the slot, or from 4 ms or an interval before now, whichever is
    later. (As far as the clock reaches.)"""
    slot, _, now, interval, word = a_moment(given)
    after, due = advanced(slot, now, interval, False, word, start_of)
    start, eighth = caught_up(slot, now, interval), div(interval, 8)
    low, high = within(start + interval - eighth), within(start + interval + eighth)
    return all_of(after >= low, after <= high, after >= slot, due == after)


@lemma(
    "law/adaptive/pacer.rs Pacer::back_off",
    back_off=lambda slot, release, now, interval, word: (slot, now),
)
def after_a_miss_half_an_interval_passes_at_least(given, back_off=backed_off):
    """And no more than one and a half, but for what was to be waited for already: a refusal brings
    no call nearer."""
    slot, release, now, interval, word = a_moment(given)
    new_slot, due = back_off(slot, release, now, interval, word)
    half = div(interval, 2)
    low, high = within(now + half), most(release, within(now + interval + half))
    return all_of(due >= low, due <= high, due >= release, new_slot >= slot)


@lemma("law/adaptive/pacer.rs Pacer::hasten", hasten=lambda *of: (of[0], within(of[2] + of[3])))
def after_a_recovery_the_next_call_is_due_within_an_interval(given, hasten=hastened):
    """And never later than it was, nor, but for what was due already, before now."""
    slot, release, now, interval, word = a_moment(given)
    new_slot, due = hasten(slot, release, now, interval, word)
    soon = all_of(due <= release, due <= within(now + interval), new_slot <= slot)
    return all_of(soon, due >= least(release, now), new_slot >= least(slot, now))


@lemma("law/adaptive/pacer.rs Pacer::due_after", due=lambda *of: (of[0], within(of[2] + of[3])))
def what_a_server_tells_lets_the_next_slot_end_from_now_to_its_draw(given, due=due_after):
    """A slot that is over, or further off than the draw, begins anew with the draw."""
    slot, release, now, draw, _ = a_moment(given)
    after, _ = due(slot, release, now, draw)
    return all_of(after >= now, after <= within(now + draw))


@lemma(
    "law/adaptive/pacer.rs Pacer::advance_by",
    refund=lambda instant, now, refund: most(minus(instant, refund), now),
)
def a_refund_brings_a_call_no_nearer_than_now_and_never_further(given, refund=sooner):
    """It leaves sooner by no more than the refund, and not at all where it was due already."""
    slot, _, now, span, _ = a_moment(given)
    after = refund(slot, now, span)
    no_more = all_of(after >= minus(slot, span), after >= least(slot, now))
    return all_of(after <= slot, no_more)


@lemma(
    "law/adaptive/pacer.rs Pacer::hold_until",
    hold=lambda hold, end, spread, word: most(hold, within(end + drawn(word, 0, spread))),
)
def no_wish_of_a_server_holds_for_more_than_two_hours(given, hold=held_until):
    """A hold ends no sooner than it did or was asked for, and no later than an hour after the end
    that was asked for, whatever the interval is; and that is cut to an hour from now. So whoever
    knows nothing but the latest wish is held for two hours at most."""
    before, wish, now, spread, word = a_moment(given)
    end = least(wish, within(now + HOUR))
    after = hold(before, end, spread, word)
    return all_of(after >= before, after >= end, after <= most(before, within(now + 2 * HOUR)))
