"""The laws that sleep: `proportional` and `responsive`."""

from lemma import (
    LAST,
    U16,
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
    no,
    step,
    within,
)
from lemmas.chance import drawn
from lemmas.numbers import ceil_of, exponential, floor_of
from lemmas.windows import FAILED, OK, a_sample

EXPONENTIAL, GRADUAL, PROPORTIONAL, REMAINING = range(4)


def calmed(less, grown):
    """`calmed`, where `grown` is 1 - e^-z in parts of 2^32."""
    high, low = div(less, 2**32) * grown, (less % 2**32) * grown
    return within(high + div(low, 2**32)), [high, low]


def shorter(sleep, less, floor):
    """`Proportional::served`: the sleep after a success."""
    return most(minus(sleep, less), least(floor, sleep))


def longer(strategy, spares, first, sleep, add, more, sleep_times, more_times):
    """`Proportional::refused`, where it spares nothing: what it sleeps, and the sleep after that."""
    rung = ite(any_of(first, sleep == 0), add, sleep_times)
    slept = ite(strategy == EXPONENTIAL, rung, ite(spares, more_times, more))
    return slept, ite(strategy == EXPONENTIAL, rung, more_times)


def a_span(dice):
    return dice.u64() >> dice.randrange(64)


def a_proportional(dice):
    below = dice.u32(1) >> dice.randrange(32) or 1
    times = [dice.number(below, U32), below]
    law = [
        dice.randrange(4),
        a_span(dice),
        a_span(dice),
        a_span(dice) or 1,
        *times,
        a_span(dice),
        dice.u32(1),
    ]
    law += [*dice.ratio(most_one=True), dice.flag(), dice.flag(), dice.flag() and a_span(dice)]
    sample = [*map(int, a_sample(dice))]
    state = [a_span(dice), dice.choice([0, 1, U16]), dice.near(sample[0]), dice.near(sample[0])]
    return [
        *law,
        *state,
        *dice.state(),
        dice.flag(),
        dice.u32() if dice.flag() else dice.u64(),
        *sample,
    ]


@step("proportional", a_proportional)
def proportional(
    strategy, gradual, start, add, n, d, floor, divisor, jn, jd, spares, once, calm, *rest
):
    (
        sleep,
        run,
        raised,
        refused,
        _l,
        _h,
        told,
        left,
        now,
        sent,
        outcome,
        fresh,
        paced,
        attempt,
        word,
    ) = rest
    slept = sleep
    if outcome == OK:
        run = 0
        by_hint = floor_of(left, divisor, sleep) if left <= U32 else sleep
        less = [sleep, gradual, sleep // divisor, by_hint if told else 0][strategy]
        if calm:
            less = calmed(less, 2**32 - exponential(max(0, now - raised), calm))[0]
        sleep = slept = shorter(sleep, less, floor)
    elif outcome != FAILED and not (once and not fresh):
        first, together = run == 0, once and sent < refused
        spared = spares and attempt == 0 and (first or together)
        refused, run = now, min(run + 1, U16)
        if not spared:
            raised = now
            more = within(sleep + add)
            times = floor_of(n, d, sleep), floor_of(n, d, more)
            slept, sleep = longer(strategy, spares, first, sleep, add, more, *times)
    longest = within(slept + floor_of(jn, jd, slept))
    return sleep, run, raised, refused, min(now + drawn(word, slept, longest), LAST)


@lemma("law/proportional.rs calmed", times=2**33)
def a_calmed_decrease_is_no_larger_and_none_of_its_products_wraps(given, times=2**32):
    """What calm makes of a decrease is never more than it was."""
    less, grown = given.number("less", 0, U64), given.number("grown", 0, times)
    made, products = calmed(less, grown)
    return all_of(made <= less, *(product <= U64 for product in products))


@lemma(
    "law/proportional.rs Proportional::served",
    cut=lambda sleep, less, floor: most(minus(sleep, less), floor),
)
def a_success_never_lengthens_the_sleep(given, cut=shorter):
    """Nor does it shorten it below the floor, unless it was there already."""
    sleep, less, floor = given.numbers("sleep less floor", 0, U64)
    after = cut(sleep, less, floor)
    return all_of(after <= sleep, after >= least(floor, sleep))


@lemma(
    "law/proportional.rs Proportional::observe", cut=lambda sleep, less, floor: minus(sleep, less)
)
def the_sleep_of_proportional_stays_above_its_floor_or_its_start(given, cut=shorter):
    """Nothing bounds the sleep from above, as in the source, but 64 bits, at which it stays. From
    below: if it was no shorter than the floor and than the start, whichever is shorter, then so it is
    after a success, and after a refusal, which lengthens it by what is added at least. The
    exponential strategy begins each run at its first rung instead, which is above nothing."""
    strategy, times = given.number("strategy", 0, 3), given.numbers("n d", 1, U32)
    start, floor, sleep, add, less = given.numbers("start floor sleep add less", 0, U64)
    spares, first = given.flag("spares"), given.flag("first")
    given.that(times[0] >= times[1], sleep >= least(start, floor))
    given.that(implies(strategy == EXPONENTIAL, add > 0))
    more = within(sleep + add)
    grown = floor_of(*times, sleep), floor_of(*times, more)
    slept, grown = longer(strategy, spares, first, sleep, add, more, *grown)
    rungs = all_of(slept == grown, grown > 0, any_of(first, sleep == 0, grown >= sleep))
    others = all_of(slept >= more, grown >= more, grown <= U64)
    served = cut(sleep, less, floor) >= least(start, floor)
    return all_of(served, ite(strategy == EXPONENTIAL, rungs, others))


def higher(delay, raised, initial, longest):
    """`Responsive::higher` with its cap, where `raised` is the delay times the factor."""
    return least(ite(delay == 0, initial, raised), longest)


def or_none(delay, initial):
    return ite(delay < initial, 0, delay)


def mended_after(law, state, served, fresh, paced, raised, lowered, now):
    """`Responsive::observe_mended`, and whether it is slower."""
    initial, longest, threshold = law
    delay, successes, quiet_from = state
    slower = all_of(fresh, no(served))
    counts = all_of(fresh, served, delay > 0, paced)
    more = within(successes + 1, U16)
    due = all_of(counts, more >= threshold)
    delay = ite(
        slower, higher(delay, raised, initial, longest), ite(due, or_none(lowered, initial), delay)
    )
    successes = ite(any_of(slower, due), 0, ite(counts, more, successes))
    return delay, successes, slower


def a_responsive(dice):
    initial, longest = sorted([a_span(dice) or 1, a_span(dice) or 1])
    below = dice.u32(1) >> dice.randrange(32) or 1
    up, down = [dice.number(below, U32), below], dice.ratio(most_one=True)
    threshold = dice.number(1, U16)
    law = [
        initial,
        longest,
        *up,
        *down,
        threshold,
        *dice.ratio(most_one=True),
        a_span(dice),
        dice.flag(),
    ]
    sample = [*map(int, a_sample(dice))]
    delay = dice.choice([0, dice.number(initial, longest)])
    # Near what a success or a silence needs to lower it, once and again.
    successes = dice.choice([max(0, threshold - 2), threshold - 1, dice.u16()])
    silence = dice.choice([1, 3 * delay * threshold, 10**12])
    quiet_from = max(2, sample[0] - dice.randint(-(10**9), silence))
    state = [delay, successes, min(quiet_from, U64 - 3)]
    return [*law, *state, *dice.state(), dice.flag(), *sample]


@step("responsive", a_responsive)
def responsive(initial, longest, un, ud, dn, dd, threshold, sn, sd, most_spread, faithful, *rest):
    (
        delay,
        successes,
        quiet_from,
        _l,
        _h,
        leaves,
        now,
        sent,
        outcome,
        fresh,
        paced,
        attempt,
        word,
    ) = rest

    def spread(delay, top):
        reach = min(floor_of(sn, sd, delay), most_spread)
        return (
            delay if sn == 0 else drawn(word, minus(delay, reach), min(within(delay + reach), top))
        )

    until = 2
    if leaves and not faithful:
        silence = max(0, now - quiet_from)
        for _ in range(256):
            stretch = within(delay * threshold)
            if delay == 0 or silence < stretch:
                break
            silence -= stretch
            delay = or_none(floor_of(dn, dd, delay), initial)
        pause = spread(delay, longest)
        until = min(now + pause, LAST)
        quiet_from = max(quiet_from, within(now + pause))
    elif not leaves and not faithful:
        law, state = (initial, longest, threshold), (delay, successes, quiet_from)
        raised, lowered = ceil_of(un, ud, delay), floor_of(dn, dd, delay)
        delay, successes, slower = mended_after(
            law, state, outcome == OK, bool(fresh), bool(paced), raised, lowered, now
        )
        if slower:
            pause = spread(delay, longest)
            until = min(now + pause, LAST)
            quiet_from = max(quiet_from, within(now + pause))
        quiet_from = max(quiet_from, now)
    elif not leaves:
        if outcome != OK:
            delay = initial if delay == 0 else min(spread(floor_of(un, ud, delay), U64), longest)
        elif delay:
            successes = min(successes + 1, U16)
            if successes == threshold:
                successes, delay = 0, or_none(spread(floor_of(dn, dd, delay), U64), initial)
        until = min(now + delay, LAST)
    return delay, successes, quiet_from, until


def a_delay_of_responsive(given):
    initial, longest, threshold = given.numbers("initial longest threshold", 1, U64)
    delay, lowered, raised = given.numbers("delay lowered raised", 0, U64)
    successes, now = given.number("successes", 0, U16), given.number("now", 0, U64)
    given.that(initial <= longest, any_of(delay == 0, all_of(initial <= delay, delay <= longest)))
    given.that(lowered <= delay, raised >= delay)
    flags = [given.flag(name) for name in ("served", "fresh", "paced")]
    return (initial, longest, threshold), (delay, successes, now), *flags, raised, lowered, now


@lemma(
    "law/responsive.rs Responsive::observe_mended",
    after=lambda *of: (ite(of[3], of[5], of[6]), 0, True),
)
def the_delay_of_responsive_is_none_or_from_its_first_to_its_longest(given, after=mended_after):
    """As it is mended: if the delay was none, as at the start, or from the first delay to the longest,
    then so it is after an answer, and after a stretch of silence. (The faithful one has no bound but
    64 bits.)"""
    step = a_delay_of_responsive(given)
    (initial, longest, _), lowered = step[0], step[6]
    delays = after(*step)[0], or_none(lowered, initial)
    none = [any_of(delay == 0, all_of(initial <= delay, delay <= longest)) for delay in delays]
    return all_of(*none)


@lemma("law/responsive.rs Responsive::spread", top=lambda delay, reach, longest: delay + reach)
def a_spread_delay_is_at_most_the_longest(
    given, top=lambda delay, reach, longest: least(within(delay + reach), longest)
):
    """Chance moves a delay by no more than its reach, and never past the longest."""
    delay, longest, reach = given.numbers("delay longest reach", 0, U64)
    word = given.number("word", 0, U32)
    given.that(delay <= longest, reach <= delay)
    made = drawn(word, delay - reach, top(delay, reach, longest))
    return all_of(made >= delay - reach, made <= longest, made <= delay + reach)
