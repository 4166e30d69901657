"""The retry budget and the cooldown."""

from lemma import LAST, U32, U64, all_of, implies, ite, least, lemma, minus, most, step, within
from lemmas.chance import drawn
from lemmas.numbers import floor_of


def deposit(saved, numerator, brim):
    return ite(within(saved + numerator) < brim, within(saved + numerator), brim)


def a_retry_budget(dice):
    numerator, denominator, reserve = dice.u32(1), dice.u32(1), dice.u32(1)
    return [
        numerator,
        denominator,
        reserve,
        dice.choice([dice.u64(), dice.randrange(5 * denominator)]),
    ]


@step("retry_budget", a_retry_budget)
def retry_budget(numerator, denominator, reserve, saved):
    brim = denominator * reserve
    goes = int(saved >= denominator)
    return goes, brim, deposit(saved, numerator, brim), minus(saved, denominator)


@lemma("gate/retry_budget.rs account", put=lambda saved, numerator, brim: saved + numerator)
def the_budget_never_exceeds_its_reserve(given, put=deposit):
    """It starts full, never exceeds its reserve, and is never negative."""
    numerator, denominator, reserve = given.numbers("numerator denominator reserve", 1, U32)
    saved = given.number("saved", 0, U64)
    brim = denominator * reserve
    given.that(saved <= brim)
    after = put(saved, numerator, brim)
    return all_of(brim <= U64, after <= brim, minus(saved, denominator) <= brim)


@lemma("gate/retry_budget.rs account", enough=lambda saved, cost: saved > 0)
def successes_pay_for_retries(given, enough=lambda saved, cost: saved >= cost):
    """The cost of the retries so far is at most the reserve plus what successes have added: if
    this holds, it still holds after each admitted retry and each success."""
    numerator, cost = given.numbers("numerator denominator", 1, U32)
    brim, saved = given.number("brim", 1, U64), given.number("saved", 0, U64)
    spent, paid = given.numbers("spent paid", 0, 2**128)
    given.that(saved <= brim, saved + spent <= paid)
    retried = minus(saved, cost) + spent + cost <= paid
    served = deposit(saved, numerator, brim) + spent <= paid + numerator
    return all_of(implies(enough(saved, cost), retried), served)


@lemma("gate/retry_budget.rs account", put=lambda saved, more, brim: saved + more)
def a_split_deposit_pays_no_more_than_one(given, put=deposit):
    """Two successes in sequence add the same as both at once."""
    one, two = given.numbers("one two", 1, U32)
    brim = given.number("brim", 1, U32 * U32)
    saved = given.number("saved", 0, U64)
    given.that(saved <= brim)
    return put(put(saved, one, brim), two, brim) == least(saved + one + two, brim)


def spread(asked, ceiling, reach, word):
    """`CooldownPolicy::cooldown`: upward from what the server asked for, downward from the
    ceiling."""
    below = asked < ceiling
    low = ite(below, asked, minus(ceiling, reach))
    high = ite(below, least(within(asked + reach), ceiling), ceiling)
    return drawn(word, low, high)


def raised(until, now, span):
    return most(until, least(within(now + span), LAST))


def a_cooldown(dice):
    ceiling = dice.u64(1) >> dice.randrange(64) or 1
    asked = dice.choice([dice.u64(), dice.number(0, ceiling), max(0, ceiling - 1)])
    part = dice.ratio(most_one=True)
    return [ceiling, *part, dice.instant(), *dice.state(), dice.instant(), asked]


@step("cooldown", a_cooldown)
def cooldown(ceiling, numerator, denominator, until, _l, _h, now, asked, word):
    reach = floor_of((numerator << 31) // denominator, 2**31, min(asked, ceiling))
    return raised(until, now, spread(asked, ceiling, reach, word))


@lemma(
    "gate/cooldown.rs CooldownPolicy::cooldown",
    wait=lambda asked, ceiling, reach, word: drawn(word, asked, asked + reach),
)
def a_cooldown_is_as_long_as_the_server_asks_and_below_the_ceiling(given, wait=spread):
    """A Retry-After below the ceiling is a floor, and one above it is reduced to the ceiling. So
    no server can stop the client for longer than the policy allows."""
    asked, ceiling, reach = given.numbers("asked ceiling reach", 0, U64)
    word = given.number("word", 0, U32)
    given.that(reach <= least(asked, ceiling))
    made = wait(asked, ceiling, reach, word)
    floor = ite(asked < ceiling, asked, ceiling - reach)
    return all_of(made >= floor, made <= ceiling)


@lemma("gate/cooldown.rs Cooldown::raise", longer=lambda until, now, span: within(now + span))
def a_cooldown_is_never_shortened_and_always_ends(given, longer=raised):
    """A second cooldown does not end the first one earlier, and none lasts until the largest
    instant."""
    now, span = given.numbers("now span", 0, U64)
    until = given.number("until", 0, LAST)
    after = longer(until, now, span)
    return all_of(after >= until, after <= LAST)
