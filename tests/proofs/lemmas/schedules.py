"""Backoff: rungs and delays."""

from lemma import U32, U64, all_of, any_of, div, ite, least, lemma, minus, most, step, within
from lemmas.chance import drawn
from lemmas.numbers import ceil_of, floor_of

CONSTANT, LINEAR, EXPONENTIAL, DECORRELATED = range(4)
NONE, FULL, EQUAL, SPREAD = range(4)


def climbed(growth, grown, base, longest, rung, word):
    """`Backoff::climb`, where `grown` is the rung times the factor."""
    start = most(rung, base)
    top = least(within(within(start + start) + start), longest)
    next_one = ite(growth == CONSTANT, base, ite(growth == LINEAR, within(rung + base), grown))
    return ite(growth == DECORRELATED, drawn(word, base, top), least(most(next_one, base), longest))


def delayed(jitter, reach, longest, rung, word):
    """`Backoff::delay`, where `reach` is the jitter's share of the rung."""
    low = ite(jitter == FULL, 0, ite(jitter == EQUAL, div(rung, 2), minus(rung, reach)))
    high = ite(jitter == SPREAD, least(within(rung + reach), longest), rung)
    return ite(jitter == NONE, rung, drawn(word, low, high))


def a_schedule(dice, rung):
    base, longest = sorted([dice.u64(1) >> dice.randrange(64) or 1, dice.u64(1)])
    below = dice.u32(1) >> dice.randrange(32) or 1
    factor = [dice.number(below, U32), below]
    part = dice.ratio(most_one=True)
    schedule = [dice.randrange(4), *factor, dice.randrange(4), *part, base, longest]
    return [*schedule, *dice.state(), rung(dice, base, longest)]


@step("climb", lambda dice: a_schedule(dice, lambda dice, base, longest: dice.number(0, longest)))
def climb(growth, n, d, jitter, part_n, part_d, base, longest, _l, _h, rung, word):
    return climbed(growth, ceil_of(n, d, rung), base, longest, rung, word)


@step(
    "delay", lambda dice: a_schedule(dice, lambda dice, base, longest: dice.number(base, longest))
)
def delay(growth, n, d, jitter, part_n, part_d, base, longest, _l, _h, rung, word):
    if growth == DECORRELATED:
        return rung
    return delayed(jitter, floor_of(part_n, part_d, rung), longest, rung, word)


@lemma(
    "backoff.rs Backoff::climb",
    climbing=lambda growth, grown, base, longest, rung, word: most(grown, base),
)
def a_rung_is_from_the_base_to_the_maximum(given, climbing=climbed):
    """For any previous rung and any factor."""
    growth = given.number("growth", 0, 3)
    grown, rung = given.numbers("grown rung", 0, U64)
    base, longest = given.numbers("base longest", 1, U64)
    word = given.number("word", 0, U32)
    given.that(base <= longest)
    made = climbing(growth, grown, base, longest, rung, word)
    return all_of(made >= base, made <= longest)


@lemma("backoff.rs Backoff::delay", spread=lambda jitter, reach, longest, rung, word: rung + reach)
def a_delay_is_within_its_jitter_and_below_the_maximum(given, spread=delayed):
    """Jitter changes a rung by at most its configured share, and never beyond the maximum."""
    jitter = given.number("jitter", 0, 3)
    rung, longest, reach = given.numbers("rung longest reach", 0, U64)
    word = given.number("word", 0, U32)
    given.that(rung <= longest, reach <= rung)
    made = spread(jitter, reach, longest, rung, word)
    low = ite(jitter == FULL, 0, ite(jitter == EQUAL, div(rung, 2), rung))
    low = ite(jitter == SPREAD, rung - reach, low)
    high = ite(jitter == SPREAD, rung + reach, rung)
    return all_of(made >= low, made <= high, made <= longest)


@lemma("backoff.rs Backoff::climb", rounded=floor_of)
def an_exponential_schedule_with_a_factor_above_one_grows(given, rounded=ceil_of):
    """With a factor above one, rounded up, every rung is above the previous one until it reaches
    the maximum."""
    n, d = given.numbers("n d", 1, U32)
    base, longest, rung = given.numbers("base longest rung", 1, U64)
    given.that(n > d, base <= longest, rung <= longest)
    made = climbed(EXPONENTIAL, rounded(n, d, rung), base, longest, rung, 0)
    return any_of(made > rung, all_of(rung == longest, made == longest))
