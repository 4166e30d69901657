"""What `adaptive` is asked with as a whole: a state, calls that leave, and answers with hints."""

from lemma import SECOND, U8, U64, step
from lemmas.calls import I16
from lemmas.epochs import an_epoch
from lemmas.hints import Adaptive
from lemmas.intervals import I32, MAX, MIN, an_interval, of_span, span_of
from lemmas.state import BLIND, BUSY, MIDDLE, OK, OPEN, PERIOD, THROTTLED

ANSWER, LEAVES, CORRECTED = range(3)


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
        [dice.number(0, I32), dice.number(0, 63)],
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
    return [*law, *dice.state(), ANSWER, *hint, *an_answer(dice, now, dice.flag())]


def a_told_level(dice):
    now, tier = a_moment(dice), dice.randrange(4)
    quota = None, None
    if dice.flag():
        quota = dice.choice([5000, dice.u64()]), dice.choice([3600 * SECOND, some(dice) << 20])
    left = dice.choice([dice.randint(0, 3), dice.randint(0, 3000), some(dice), dice.u64()])
    hint = told(None, left, None, *quota)
    return [*a_law(dice, tier, now), *dice.state(), ANSWER, *hint, *an_answer(dice, now, OK)]


def a_told_wait(dice):
    """A wait, some calls that are served after it, and another."""
    now = MIDDLE + dice.randint(0, 10**13)
    law = a_law(dice, dice.randrange(3), now)
    law[1], law[7], law[-2] = min(law[1], of_span(10**12)), 0, law[-2] >> 6
    own = 2 * max(span_of(law[1]), (law[-2] + 2**20) << 10)
    wait = own + dice.choice([SECOND + 1, 10 * SECOND, 10**4 * SECOND])
    answers = [ANSWER, *told(wait, *[None] * 4), *an_answer(dice, now, THROTTLED, 1)]
    answers[12] = now - dice.randint(0, 10**7)
    gap = dice.choice([10**6, 10**9, 10**11])
    now = now + dice.choice([SECOND, 3600 * SECOND])
    for _ in range(dice.choice([0, 1, 5, 20])):
        now += gap
        answers += [
            ANSWER,
            *told(*[None] * 5),
            *an_answer(dice, now, OK, 1, 0, dice.choice([0, 1, 1])),
        ]
    now += gap
    answers += [ANSWER, *told(2**60, *[None] * 4), *an_answer(dice, now, THROTTLED, 1)]
    return [*law, *dice.state(), *answers]


def a_life(dice):
    """Calls that leave; runs of successes, and of refusals and failures; here and there a hint."""
    now, outcomes, rest = MIDDLE + dice.randint(0, 10**13), [OK], 0
    law, events = a_law(dice, dice.choice([0, 1, 1, 1, 2, 3]), now), []
    gap = dice.choice([10**6, 10**9, 10**11])
    for _ in range(dice.choice([5, 20, 100])):
        if rest == 0:
            rest = dice.choice([dice.randint(1, 20), 40])
            outcomes = dice.choice([[OK], [OK], [THROTTLED], [THROTTLED, BUSY], range(4)])
        rest -= 1
        now += dice.choice([0, gap, gap, 30 * gap])
        kind = dice.choice([ANSWER, ANSWER, LEAVES, CORRECTED])
        if kind == LEAVES:
            events += [LEAVES, now, dice.choice([1, 1, 1, 3, 1000, some(dice)])]
        elif kind == CORRECTED:
            events += [CORRECTED, now, dice.choice([1, some(dice)]), dice.choice([0, some(dice)])]
        else:
            fresh, paced = dice.randrange(8) > 0, dice.randrange(4) > 0
            answer = an_answer(
                dice, now, dice.choice(outcomes), fresh, paced, dice.choice([1, 1, 9])
            )
            events += [ANSWER, *told(*a_hint(dice)), *answer]
    return [*law, *dice.state(), *events]


def some_cycles(dice):
    """Of a server that goes dark for a time, and then serves about as many as make a reading."""
    now = MIDDLE + dice.randint(0, 10**13)
    law, events = a_law(dice, dice.choice([OPEN, BLIND]), now), []
    gap = dice.choice([10**6, 10**9])
    law[1] = law[2] = of_span(dice.randint(gap, 4 * gap))  # About as fast as they leave.
    for _ in range(3):
        served = [OK] * dice.choice([dice.randint(3, 6), dice.randint(14, 20)])
        for outcome in [THROTTLED] * dice.randint(1, 6) + served:
            now += dice.choice([gap, dice.randint(0, 3 * gap)])
            events += [ANSWER, *told(*[None] * 5), *an_answer(dice, now, outcome, 1, None, 1)]
    return [*law, *dice.state(), *events]


def a_hint(dice):
    if dice.randrange(12):
        return [None] * 5
    quota = dice.choice([(None, None), (5000, 3600 * SECOND)])
    wait, left = dice.choice([None, 2 * SECOND, 10**13]), dice.choice([None, 0, 2, 3000])
    return [wait, left, dice.choice([None, None, 0, 60 * SECOND]), *quota]


def asked(*numbers):
    """The states after each event."""
    numbers = iter(numbers)
    next(numbers)
    law, states = Adaptive(numbers), []
    for event in numbers:
        if event == LEAVES:
            law.released(next(numbers), next(numbers))
        elif event == CORRECTED:
            law.corrected(next(numbers), next(numbers), next(numbers))
        else:
            hint = [(next(numbers), next(numbers)) for _ in range(5)]
            hint = [value if known else None for known, value in hint]
            now, sent, outcome, fresh, paced, _, cost = (next(numbers) for _ in range(7))
            law.observe(now, sent, outcome, fresh, paced, cost, hint)
        states += law.told()
    return tuple(states)


for name, draw in [
    ("adaptive_period", a_told_answer),
    ("adaptive_level", a_told_level),
    ("adaptive_wait", a_told_wait),
    ("adaptive_cycles", some_cycles),
    ("adaptive_life", a_life),
]:
    step(name, draw)(asked)
