"""Pacing: a leaky bucket, in fractions of calls."""

from lemma import (
    LAST,
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
    up,
    within,
)

ADMIT, WAIT, TOO_BIG, NEVER = 0, 1, 6, 7
DAY = 86_400 * 10**9


def level_at(level, at, now, count):
    """`Pacing::level_at`: a clock that goes back earns nothing."""
    return minus(level, within(minus(now, at) * count))


def due(level, at, until, now, cost, count, period, burst, rounded=up, room_of=None):
    """`Pacing::due`, as (whether it can ever fit, when)."""
    room = period * (burst - cost) if room_of is None else room_of(period, burst, cost)
    excess = minus(level_at(level, at, now, count), room)
    earliest = ite(excess == 0, 0, most(at, now) + rounded(excess, count))
    return cost <= burst, ite(cost > 0, most(earliest, until), 0)


def check(level, at, until, now, cost, count, period, burst, **how):
    """`Pacing::check`: the kind of the verdict, and the instant of a wait."""
    fits, then = due(level, at, until, now, cost, count, period, burst, **how)
    fits = any_of(fits, cost == 0)
    kind = ite(no(fits), TOO_BIG, ite(then > U64, NEVER, ite(then > now, WAIT, ADMIT)))
    return kind, ite(kind == WAIT, then, 0)


def take(level, at, until, now, cost, count, period, burst):
    """`Pacing::take`, with the short path if possible."""
    drained = minus(now, at) * count
    new = minus(level, drained) + period * cost
    short = all_of(until <= now, cost <= burst, at <= now, drained <= U64)
    short = all_of(short, new <= U64, new <= period * burst)
    kind, then = check(level, at, until, now, cost, count, period, burst)
    slow = poured(level, at, now, 0, cost, count, period)
    goes = kind == ADMIT
    slowly = kind, then, ite(goes, slow, level), ite(goes, most(at, now), at)
    return ite(short, (ADMIT, 0, new, now), slowly)


def poured(level, at, now, charged, used, count, period):
    """`Pacing::correct`."""
    more, less = within(period * minus(used, charged)), within(period * minus(charged, used))
    return minus(within(level_at(level, at, now, count) + more), less)


def a_pacing(dice):
    quota = dice.quota()
    brim = quota[1] * quota[2]
    at = dice.instant()
    until = dice.choice([2, dice.near(at), dice.near(at)])
    now = dice.choice([at, dice.near(at), dice.near(at, 10**6), dice.instant()])
    level = dice.number(0, U64 if dice.randrange(8) == 0 else brim)
    return [level, at, until], now, dice.number(0, min(quota[2] + 1, U32)), quota


def asked(dice):
    pacing, now, cost, quota = a_pacing(dice)
    return [*pacing, now, cost, *quota]


@step("pacing_check", asked)
def pacing_check(level, at, until, now, cost, count, period, burst):
    return *check(level, at, until, now, cost, count, period, burst), level, at, until


@step("pacing_take", asked)
def pacing_take(level, at, until, now, cost, count, period, burst):
    return *take(level, at, until, now, cost, count, period, burst), until


def corrected(dice):
    pacing, now, cost, quota = a_pacing(dice)
    return [*pacing, now, cost, dice.u32(), *quota]


@step("pacing_correct", corrected)
def pacing_correct(level, at, until, now, charged, used, count, period, burst):
    before = level_at(level, at, now, count)
    most_owed = max(before, within(period * burst + within(count * DAY)))
    return min(poured(level, at, now, charged, used, count, period), most_owed), max(at, now), until


@step(
    "pacing_delay", lambda dice: [*a_pacing(dice)[0], dice.instant(), dice.u64() >> dice.randrange(64)]
)
def pacing_delay(level, at, until, now, span):
    return level, at, delayed(at, until, now, span)


def delayed(at, until, now, span):
    return most(until, within(most(now, at) + span, LAST))


def a_question(given):
    """A level within the bucket, a call that fits, and any time."""
    count, period, burst = given.quota()
    level, at, until, now = given.numbers("level at until now", 0, U64)
    cost = given.number("cost", 1, U32)
    given.that(cost <= burst, level <= period * burst)
    return level, at, until, now, cost, count, period, burst


@lemma("gate/pacing.rs Pacing::check", rounded=div)
def the_announced_wait_is_long_enough(given, rounded=up):
    """At the instant that a wait names, the same call is admitted."""
    level, at, until, now, *call = a_question(given)
    kind, then = check(level, at, until, now, *call, rounded=rounded)
    given.that(kind == WAIT)
    return check(level, at, until, then, *call)[0] == ADMIT


@lemma("gate/pacing.rs Pacing::check", rounded=lambda a, b: div(a, b) + 1)
def the_announced_wait_is_no_longer_than_needed(given, rounded=up):
    """At any instant from now until the one that a wait names, the call still waits, for the same instant."""
    level, at, until, now, *call = a_question(given)
    sooner = given.number("sooner", 0, U64)
    kind, then = check(level, at, until, now, *call, rounded=rounded)
    given.that(kind == WAIT, now <= sooner, sooner < then)
    again, same = check(level, at, until, sooner, *call)
    return all_of(again == WAIT, same == then)


@lemma("gate/pacing.rs Pacing::bucket_due", room_of=lambda period, burst, cost: period * burst)
def an_admitted_call_does_not_overflow_the_bucket(given, room_of=None):
    """An admitted call fits into the bucket."""
    level, at, until, now, cost, count, period, burst = a_question(given)
    kind, _ = check(level, at, until, now, cost, count, period, burst, room_of=room_of)
    given.that(kind == ADMIT)
    return poured(level, at, now, 0, cost, count, period) <= period * burst


@lemma("gate/pacing.rs Pacing::take", way=lambda *of: (*take(*of)[:2], of[0], of[1]))
def both_paths_of_take_give_the_same_result(given, way=take):
    """`take` answers like `check`, and charges like `charge`, on both paths."""
    level, at, until, now, cost, count, period, burst = a_question(given)
    kind, then, new, seen = way(level, at, until, now, cost, count, period, burst)
    right, instant = check(level, at, until, now, cost, count, period, burst)
    charged = poured(level, at, now, 0, cost, count, period)
    left = implies(kind == ADMIT, all_of(new == charged, seen == most(at, now)))
    return all_of(kind == right, then == instant, left)


@lemma(
    "gate/pacing.rs Pacing::drain",
    drain=lambda level, at, now, count: minus(level, (now - at) * count + 1),
)
def a_split_refill_grants_no_more_than_one(given, drain=level_at):
    """Drained twice, first until some instant between, the bucket has the same level as drained at once:
    more frequent calls earn nothing."""
    count = given.number("count", 1, U64)
    level, at, between, now = given.numbers("level at between now", 0, U64)
    given.that(at <= between, between <= now)
    return drain(drain(level, at, between, count), between, now, count) == drain(
        level, at, now, count
    )


@lemma("gate/pacing.rs Pacing::level_at", since=lambda now, at: ite(now > at, now - at, at - now))
def a_clock_that_steps_back_earns_nothing(given, since=minus):
    """At an instant before the latest one seen, the level is unchanged."""
    count = given.number("count", 1, U64)
    level, at, now = given.numbers("level at now", 0, U64)
    given.that(now <= at)
    return minus(level, within(since(now, at) * count)) == level


def after_a_call(level, at, now, cost, count, period):
    return poured(level, at, now, 0, cost, count, period)


@lemma(
    "gate/pacing.rs Pacing::charge",
    pour=lambda level, at, now, cost, count, period: poured(
        level, at, now, cost, cost, count, period
    ),
)
def no_more_leaves_than_the_burst_and_the_rate_allow(given, pour=after_a_call):
    """What has left since any instant is covered by the level and by what has drained since: each
    call that goes keeps that. As no call fills the bucket past its brim, in every stretch of time
    no more leaves than the burst and the rate times the time."""
    count, period, burst = given.quota()
    level, at, now, start, left = given.numbers("level at now start left", 0, U64)
    cost = given.number("cost", 1, U32)
    given.that(cost <= burst, level <= period * burst, start <= at)
    given.that(left <= level + count * (at - start))
    given.that(level_at(level, at, now, count) <= period * (burst - cost))
    new = pour(level, at, now, cost, count, period)
    return left + period * cost <= new + count * (most(at, now) - start)


@lemma("gate/pacing.rs Pacing::correct", correct=lambda level, less: minus(level, less) + 1)
def a_correction_equals_the_right_charge(given, correct=minus):
    """Charged for one cost and corrected at once to a smaller one, the bucket is as full as if it had been
    charged the smaller cost: a refund returns no more than was charged."""
    count, period, burst = given.quota()
    level = given.number("level", 0, U64)
    charged, used = given.numbers("charged used", 0, U32)
    given.that(used <= charged, charged <= burst, level + period * charged <= U64)
    return correct(level + period * charged, period * (charged - used)) == level + period * used


@lemma("gate/pacing.rs Pacing::delay", delay=lambda at, until, now, span: within(now + span, LAST))
def a_delay_is_never_shortened_and_always_ends(given, delay=delayed):
    """A cooldown ends no earlier than before, no earlier than the new one requires, and before the end of
    time."""
    at, now, span = given.numbers("at now span", 0, U64)
    until = given.number("until", 0, LAST)
    new = delay(at, until, now, span)
    return all_of(new >= until, new >= least(most(now, at) + span, LAST), new <= LAST)
