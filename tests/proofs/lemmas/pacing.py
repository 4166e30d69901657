"""Pacing: a theoretical arrival time."""

from lemma import (
    LAST,
    SECOND,
    U32,
    U64,
    all_of,
    div,
    implies,
    ite,
    least,
    lemma,
    minus,
    most,
    step,
    up,
    within,
)

ADMIT, WAIT, TOO_BIG, NEVER = 0, 1, 6, 7
DAY = 86_400 * SECOND
LATENESS = 2 * 10**6


def room_after(interval, burst, cost):
    """How much earlier than the theoretical arrival time a call may come."""
    return interval * (burst - cost)


def check(next, until, now, cost, interval, burst, room=room_after, due=minus):
    """`Pacing::check`: the kind of the verdict, and the instant of a wait."""
    then = most(due(next, room(interval, burst, cost)), until)
    kind = ite(next >= LAST, NEVER, ite(then > now, WAIT, ADMIT))
    kind = ite(cost == 0, ADMIT, ite(cost > burst, TOO_BIG, kind))
    return kind, ite(kind == WAIT, then, 0)


def charged(next, now, cost, interval):
    """`Pacing::charge`."""
    return within(most(next, now) + within(interval * cost), LAST)


def corrected(next, now, before, used, interval, burst):
    """`Pacing::correct`."""
    latest = within(within(now + interval * burst) + DAY)
    more = least(within(most(next, now) + within(interval * minus(used, before))), latest)
    less = minus(next, within(interval * minus(before, used)))
    return ite(used > before, most(next, least(more, LAST)), least(next, most(less, now)))


def delayed(until, now, span):
    """`Pacing::delay`."""
    return most(until, within(now + span, LAST))


def part_at(part, old, new):
    """The time of a part of a call at another rate."""
    return least(part + ite(part > 0, minus(new, old), 0), new)


def followed(next, now, old, old_burst, new, burst, part_at=part_at):
    """`Pacing::follow`."""
    calls = div(minus(next, now), old)
    part = minus(next, now) - calls * old
    scaled = within(now + within(calls * new) + part_at(part, old, new), LAST)
    then = minus(within(scaled + within(new * minus(burst, old_burst))), within(new * minus(old_burst, burst)))
    kept = all_of(old == new, burst == old_burst)
    return ite(kept, next, within(most(then, now), LAST))


def a_pacing(dice):
    count, period, burst = dice.quota()
    next = dice.instant()
    until = dice.choice([2, dice.near(next), dice.near(next)])
    now = dice.choice([next, dice.near(next), dice.near(next, 10**6), dice.instant()])
    cost = dice.number(0, min(burst + 1, U32))
    return [next, until], now, cost, [count, period, burst]


def asked(dice):
    pacing, now, cost, quota = a_pacing(dice)
    return [*pacing, now, cost, *quota]


@step("pacing_check", asked)
def pacing_check(next, until, now, cost, count, period, burst):
    return *check(next, until, now, cost, up(period, count), burst), next, until


@step("pacing_take", asked)
def pacing_take(next, until, now, cost, count, period, burst):
    interval = up(period, count)
    kind, then = check(next, until, now, cost, interval, burst)
    return kind, then, ite(kind == ADMIT, charged(next, now, cost, interval), next), until


def a_correction(dice):
    pacing, now, cost, quota = a_pacing(dice)
    return [*pacing, now, cost, dice.u32(), *quota]


@step("pacing_correct", a_correction)
def pacing_correct(next, until, now, before, used, count, period, burst):
    return corrected(next, now, before, used, up(period, count), burst), until


@step("pacing_delay", lambda dice: [*a_pacing(dice)[0], dice.instant(), dice.u64() >> dice.randrange(64)])
def pacing_delay(next, until, now, span):
    return next, delayed(until, now, span)


def a_change(dice):
    pacing, now, _, quota = a_pacing(dice)
    return [*pacing, now, *quota, *dice.choice([quota, dice.quota(), [quota[0], quota[1], 1]])]


@step("pacing_follow", a_change)
def pacing_follow(next, until, now, count, period, burst, new_count, new_period, new_burst):
    old, new = up(period, count), up(new_period, new_count)
    return followed(next, now, old, burst, new, new_burst), until


def a_question(given):
    """A call that fits, and any times."""
    interval, burst = given.quota()
    next, until, now = given.numbers("next until now", 0, U64)
    cost = given.number("cost", 1, U32)
    given.that(cost <= burst)
    return next, until, now, cost, interval, burst


@lemma("gate/pacing.rs Pacing::check", due=lambda next, room: minus(next, room + 1))
def the_announced_wait_is_long_enough(given, due=minus):
    """At the instant that a wait names, the same call is admitted."""
    next, until, now, *call = a_question(given)
    kind, then = check(next, until, now, *call, due=due)
    given.that(kind == WAIT)
    return check(next, until, then, *call)[0] == ADMIT


@lemma("gate/pacing.rs Pacing::check", due=lambda next, room: minus(next + 1, room))
def the_announced_wait_is_no_longer_than_needed(given, due=minus):
    """At any instant from now until the one that a wait names, the call still waits, for the same instant."""
    next, until, now, *call = a_question(given)
    sooner = given.number("sooner", 0, U64)
    kind, then = check(next, until, now, *call, due=due)
    given.that(kind == WAIT, now <= sooner, sooner < then)
    again, same = check(next, until, sooner, *call)
    return all_of(again == WAIT, same == then)


@lemma("gate/pacing.rs Pacing::check", room=lambda interval, burst, cost: interval * burst)
def an_admitted_call_does_not_exceed_the_burst(given, room=room_after):
    """After an admitted call, no more than the burst is ahead of the clock."""
    next, until, now, cost, interval, burst = a_question(given)
    kind, _ = check(next, until, now, cost, interval, burst, room=room)
    given.that(kind == ADMIT)
    return charged(next, now, cost, interval) <= now + interval * burst


@lemma("gate/pacing.rs Pacing::charge", charge=lambda next, now, cost, interval: least(next, now) + interval * cost)
def a_clock_that_steps_back_earns_nothing(given, charge=charged):
    """At an earlier instant, a call that waits also waits, and an admitted call costs no less."""
    next, until, now, cost, interval, burst = a_question(given)
    earlier = given.number("earlier", 0, U64)
    given.that(earlier <= now)
    waits, still = (check(next, until, at, cost, interval, burst)[0] == WAIT for at in (now, earlier))
    costs = charge(next, earlier, cost, interval) >= within(next + interval * cost, LAST)
    return all_of(implies(waits, still), costs)


@lemma("gate/pacing.rs Pacing::charge", charge=lambda next, now, cost, interval: charged(next, now, 0, interval))
def no_more_is_admitted_than_the_burst_and_the_rate_allow(given, charge=charged):
    """What was admitted since any instant is covered by the theoretical arrival time: each admitted call
    keeps that, even if it is charged as of the time that a late timer makes up. So in every stretch of time no
    more is admitted than the burst and the rate times the time and the lateness."""
    next, until, now, cost, interval, burst = a_question(given)
    start, admitted = given.numbers("start admitted", 0, U64)
    begin = start - LATENESS
    given.that(start >= LATENESS, start <= now, admitted <= most(next, begin) - begin)
    given.that(check(next, until, now, cost, interval, burst)[0] == ADMIT)
    new = charge(next, now - LATENESS, cost, interval)
    given.that(new < LAST)
    return all_of(admitted + interval * cost <= new - begin, new <= now + interval * burst)


@lemma("gate/pacing.rs Pacing::correct", correct=lambda *of: corrected(*of) - 1)
def a_correction_equals_the_right_charge(given, correct=corrected):
    """Charged for one cost and corrected at once to a smaller one, the pacing is as if it had charged the
    smaller cost: a refund returns no more than was charged."""
    interval, burst = given.quota()
    next, now = given.numbers("next now", 0, U64)
    before, used = given.numbers("before used", 0, U32)
    given.that(used <= before, before <= burst, most(next, now) + interval * before <= LAST)
    new = charged(next, now, before, interval)
    return correct(new, now, before, used, interval, burst) == charged(next, now, used, interval)


@lemma(
    "gate/pacing.rs Pacing::correct",
    correct=lambda next, now, before, used, interval, burst: charged(next, now, used - before, interval),
)
def a_debt_is_paid_within_a_day(given, correct=corrected):
    """No cost that a server reports makes a call wait longer than before, or than a day and one interval."""
    interval, burst = given.quota()
    next, now = given.numbers("next now", 0, U64)
    before, used = given.numbers("before used", 0, U32)
    given.that(before < used)
    new = correct(next, now, before, used, interval, burst)
    return all_of(new >= least(next, LAST), new <= most(next, now + interval * burst + DAY))


@lemma("gate/pacing.rs Pacing::follow", part_at=lambda part, old, new: least(part, new))
def a_change_of_the_rate_makes_no_room(given, part_at=part_at):
    """At another rate with the same burst, what is ahead of the clock is worth at least as many calls, and less
    than one more."""
    old, new = given.numbers("old new", 1, U64)
    part = given.number("part", 0, U64)
    given.that(new != old, part < old)
    kept = part_at(part, old, new)
    return all_of(kept * old >= part * new, (kept - new) * old < part * new)


@lemma("gate/pacing.rs Pacing::delay", delay=lambda until, now, span: within(now + span, LAST))
def a_delay_is_never_shortened_and_always_ends(given, delay=delayed):
    """A cooldown ends no earlier than before, no earlier than the new one requires, and before the end of
    time."""
    now, span = given.numbers("now span", 0, U64)
    until = given.number("until", 0, LAST)
    new = delay(until, now, span)
    return all_of(new >= until, new >= least(now + span, LAST), new <= LAST)
