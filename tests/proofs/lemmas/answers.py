"""What `adaptive` is asked with where servers tell: a state, answers with their hints, and chance."""

from lemma import SECOND, U8, U64, step
from lemmas.calls import I16
from lemmas.epochs import an_epoch
from lemmas.hints import MIDDLE, OK, PERIOD, THROTTLED, Adaptive
from lemmas.intervals import MAX, MIN, an_interval, of_span, span_of


def a_law(dice, tier, now):
    """Its state before, as numbers."""
    interval = dice.choice([MIN, MAX, an_interval(dice), of_span(dice.randint(10**6, 10**12))])
    pacer = [interval, an_interval(dice), *(dice.near(now) for _ in range(3))]
    event = [dice.near(now), dice.choice([0, 0, 1, 2, 5, U8]), dice.number(0, U8), dice.flag()]
    kind = dice.randrange(3)
    share = [dice.near(now), some(dice), some(dice), kind]
    share += [[0, dice.u32(), dice.u16()][kind], some(dice), dice.choice([50, 0, dice.u32()])]
    left = dice.flag()
    known = [
        [dice.choice([0, dice.number(1536, 16_896)])],
        [dice.u32(), dice.number(0, 63)],
        [some(dice), left, left and some(dice)],
        share,
    ]
    usual = [dice.u32(), dice.choice([0, 0, dice.number(0, 27)])]
    quota = dice.choice([0, dice.number(1, I16)])
    return [tier, *pacer, *event, *an_epoch(dice), tier, *known[tier], *usual, some(dice), quota]


def some(dice):
    return dice.u32() >> dice.randrange(32)


def told(*numbers):
    """Each number of a hint after whether it is told."""
    return [part for number in numbers for part in ((0, 0) if number is None else (1, number))]


def an_answer(dice, now, outcome, fresh=None, paced=None, cost=None):
    fresh = dice.randrange(4) > 0 if fresh is None else fresh
    paced = dice.flag() if paced is None else paced
    return [
        now,
        dice.near(now),
        outcome,
        int(fresh),
        int(paced),
        0,
        cost or dice.choice([1, some(dice)]),
    ]


def a_moment(dice):
    return dice.choice([dice.instant(), MIDDLE + dice.randint(0, 10**13)])


def a_told_period(dice):
    now, tier = a_moment(dice), dice.randrange(4)
    limit = dice.choice([50, dice.randint(1, 5000) << 27, dice.u64(1)])
    left = dice.choice([0, dice.randint(0, limit), dice.u64()])
    period = dice.choice([None, 60 * SECOND, dice.u64() >> dice.randrange(64)])
    reset = dice.choice([0, 30 * SECOND, dice.u64() >> dice.randrange(64)])
    if period is None and tier != PERIOD and reset in (0, SECOND):
        reset += 1
    law = a_law(dice, tier, now)
    if tier != PERIOD:
        law[-3] = 0  # So that the limit is at least one usual call.
    return law, now, limit, left, period, reset


def a_told_answer(dice):
    law, now, limit, left, period, reset = a_told_period(dice)
    wait = dice.choice([None, dice.u64() >> dice.randrange(64)])
    limit <<= law[-3]
    hint = told(wait, left, reset, min(limit, U64), period)
    return [*law, *dice.state(), *hint, *an_answer(dice, now, dice.flag())]


def a_told_level(dice):
    now, tier = a_moment(dice), dice.randrange(4)
    quota = None, None
    if dice.flag():
        quota = dice.choice([5000, dice.u64()]), dice.choice([3600 * SECOND, some(dice) << 20])
    left = dice.choice([dice.randint(0, 3), dice.randint(0, 3000), some(dice), dice.u64()])
    hint = told(None, left, None, *quota)
    return [*a_law(dice, tier, now), *dice.state(), *hint, *an_answer(dice, now, OK)]


def a_told_wait(dice):
    """A wait, some calls that are served after it, and another."""
    now = MIDDLE + dice.randint(0, 10**13)
    law = a_law(dice, dice.randrange(3), now)
    law[1], law[7], law[-2] = min(law[1], of_span(10**12)), 0, law[-2] >> 6
    own = 2 * max(span_of(law[1]), (law[-2] + 2**20) << 10)
    wait = own + dice.choice([SECOND + 1, 10 * SECOND, 10**4 * SECOND])
    answers = [*told(wait, *[None] * 4), *an_answer(dice, now, THROTTLED, 1)]
    answers[11] = now - dice.randint(0, 10**7)
    gap = dice.choice([10**6, 10**9, 10**11])
    now = now + dice.choice([SECOND, 3600 * SECOND])
    for _ in range(dice.choice([0, 1, 5, 20])):
        now += gap
        answers += [*told(*[None] * 5), *an_answer(dice, now, OK, 1, 0, dice.choice([0, 1, 1]))]
    now += gap
    answers += [*told(2**60, *[None] * 4), *an_answer(dice, now, THROTTLED, 1)]
    return [*law, *dice.state(), *answers]


def asked(numbers, words):
    """The states after each answer."""
    numbers = iter(numbers)
    next(numbers)
    law, states = Adaptive(numbers, words), []
    next(numbers), next(numbers)
    for knows in numbers:
        hint = [next(numbers)] + [next(numbers) for _ in range(8)]
        flags = [knows, *hint[1::2]]
        wait, left, reset, limit, period = (
            value if known else None for known, value in zip(flags, hint[::2], strict=True)
        )
        now, sent, outcome, fresh, paced, _, cost = (next(numbers) for _ in range(7))
        law.paced = paced
        law.observe(now, sent, outcome, fresh, cost, wait, left, reset, limit, period)
        states += law.told()
    return tuple(states)


@step("told_period", a_told_answer)
def told_period(*numbers):
    *numbers, word, second_word, third_word = numbers
    return asked(numbers, [word, second_word, third_word])


@step("told_left", a_told_level)
def told_left(*numbers):
    *numbers, word, second_word, third_word = numbers
    return asked(numbers, [word, second_word, third_word])


@step("told_wait", a_told_wait)
def told_wait(*numbers):
    *numbers, word, second_word, third_word = numbers
    return asked(numbers, [word, second_word, third_word])
