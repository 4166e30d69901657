"""The law that counts by the second: `busy`."""

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
    no,
    step,
    within,
)
from lemmas.windows import a_sample

ONE = 2**36
STREAK = 8


def grown(limit, number, by_rate, faithful):
    """`Busy::grown`."""
    times = limit * ite(faithful, number + 1, number)
    return within(ite(by_rate, times, limit + number * ONE))


def halved(limit, times):
    return limit >> times


def next_second(law, state, halved=halved):
    """`Busy::next_second`: limit, sent, busy, streak, quiet."""
    widest, number, by_rate, faithful = law
    limit, sent, busy, streak, quiet = state
    more = grown(limit, number, by_rate, faithful)
    kept = most(least(halved(more, least(busy, 20)), widest), 1), streak, quiet
    longer = least(streak + 1, STREAK)
    cut = most(least(within(sent * (ONE // 2)), widest), ONE), longer, longer
    rest = limit, streak, minus(quiet, 1)
    up = least(more, widest), 0, quiet
    limit, streak, quiet = ite(faithful, kept, ite(busy > 0, cut, ite(quiet > 0, rest, up)))
    return limit, 0, 0, streak, quiet


def room(limit, sent):
    return minus(div(limit, ONE), sent)


def raised(limit, number, seconds, widest):
    """By so many seconds at once."""
    return least(within(limit + within(number * ONE * seconds)), widest)


def at(law, second, state, now):
    """`Busy::at`: every second that has ended, or all at once."""
    widest, number, by_rate, faithful = law
    ended = max(0, now - second) // SECOND
    second = within(second + ended * SECOND)
    while ended > 0:
        ended -= 1
        state = next_second(law, state)
        limit, sent, busy, streak, quiet = state
        if limit == widest and streak == 0:
            break
        if not by_rate and quiet == 0:
            limit = raised(limit, number, ended, widest)
            state = limit, sent, busy, 0 if ended > 0 else streak, quiet
            break
    return second, state


def a_busy(dice):
    widest = dice.number(1, 9_999_999)
    by_rate, faithful = dice.flag(), dice.flag()
    number = dice.number(2 - faithful, 14) if by_rate else dice.number(1, U32)
    limit = dice.choice([widest * ONE, dice.number(1, widest * ONE), dice.number(1, widest * ONE)])
    times = [0, 0] if faithful else [dice.randrange(9), dice.randrange(9)]
    second = dice.instant()
    reach = dice.choice([SECOND, 10 * SECOND, 100 * SECOND])
    now = min(second + dice.randrange(reach), U64 - 3) if dice.flag() else dice.near(second)
    sent = dice.choice([0, dice.u32(), limit // ONE])
    state = [second, limit, sent, dice.choice([0, 0, 1, 19, 20, 21, U32]), *times]
    return [widest, by_rate, number, faithful, *state, dice.flag(), *map(int, a_sample(dice, now))]


@step("busy", a_busy)
def busy(widest, by_rate, number, faithful, second, *rest):
    *state, leaves, now, sent, outcome, fresh, paced, attempt = rest
    law = widest * ONE, number, bool(by_rate), bool(faithful)
    second, (limit, gone, refusals, streak, quiet) = at(law, second, tuple(state), now)
    kind, until = 0, 0
    if room(limit, gone) == 0:
        until = within(
            second + seconds_to_room(law, (limit, gone, refusals, streak, quiet)) * SECOND
        )
        kind, until = (7, 0) if until == U64 else (1, until)
    if leaves:
        gone = min(gone + 1, U32)
    elif outcome in (1, 2) and (fresh or faithful):
        refusals = min(refusals + 1, U32)
    return kind, until, second, limit, gone, refusals, streak, quiet


def seconds_to_room(law, state):
    """`Busy::next_room`: at most 64."""
    for second in range(1, 65):
        state = next_second(law, state)
        if room(state[0], state[1]) > 0:
            break
    return second


def a_law(given, faithful=None):
    widest = given.number("widest", ONE, 9_999_999 * ONE)
    by_rate = given.flag("by_rate")
    faithful = given.flag("faithful") if faithful is None else faithful
    number = given.number("number", 1, U32)
    given.that(implies(by_rate, number <= 14), implies(all_of(by_rate, no(faithful)), number >= 2))
    return widest, number, by_rate, faithful


def a_state(given, law):
    limit, sent = given.number("limit", 1, U64), given.number("sent", 0, U32)
    streak, quiet = given.numbers("streak quiet", 0, STREAK)
    busy = given.number("busy", 0, U32)
    given.that(limit <= law[0], implies(no(law[3]), limit >= ONE))
    return limit, sent, busy, streak, quiet


def some_halving(given, left="left"):
    """Whatever halving leaves, it is no more; without a refusal it is all."""
    left = given.number(left, 0, U64)

    def halve(limit, times):
        given.that(left <= limit, implies(times == 0, left == limit))
        return left

    return halve


@lemma("law/busy.rs Busy::next_second", turn=lambda law, state, halved: (state[0] * 2, 0, 0, 9, 0))
def the_limit_of_busy_stays_from_a_grain_to_its_most(given, turn=next_second):
    """If it was, as it is at the start, then so it is after a second, and after many at once: never
    nothing, which would not grow back, and where the text is followed never below one call. A
    recovery waits 8 seconds at most."""
    law = a_law(given)
    state = a_state(given, law)
    limit, sent, busy, streak, quiet = turn(law, state, halved=some_halving(given))
    bounds = all_of(limit >= 1, limit <= law[0], implies(no(law[3]), limit >= ONE))
    many = raised(limit, law[1], given.number("seconds", 0, U64), law[0])
    counts = all_of(streak <= STREAK, quiet <= STREAK, sent == 0, busy == 0)
    return all_of(bounds, counts, limit <= many, many <= law[0])


@lemma("law/busy.rs Busy::grown", rate=30)
def the_limit_of_busy_times_its_rate_fits(given, rate=14):
    """24 bits of limit, 4 of rate and 36 of fraction are 64: no growth by a rate saturates on its
    way. (One by a value does only far above the most, to which it is cut.)"""
    limit = given.number("limit", 1, 9_999_999 * ONE)
    return all_of(limit * rate <= U64, limit * (rate + 1) <= U64)


@lemma(
    "law/busy.rs Busy::next_second", turn=lambda law, state, halved: (div(state[0], 2), 0, 0, 0, 0)
)
def a_quiet_second_of_busy_never_lowers_the_limit(given, turn=next_second):
    """Without a refusal the limit stays or grows; once the recovery has been waited for it doubles
    at least, or grows by a call, or is at its most."""
    law = a_law(given)
    limit, sent, _, streak, quiet = a_state(given, law)
    after = turn(law, (limit, sent, 0, streak, quiet), halved=some_halving(given))[0]
    grows = any_of(after >= 2 * limit, after >= limit + ONE, after == law[0])
    return all_of(after >= limit, implies(any_of(quiet == 0, law[3]), grows))


@lemma("law/busy.rs Busy::next_room", turn=lambda law, state, halved: (state[0], 0, 0, state[3], 0))
def a_wait_of_busy_ends_within_64_seconds(given, turn=next_second):
    """Where the text is followed, there is room in the second after any. Else a grain is left of a
    call at least, which each second without a refusal doubles, up to a call: after the second that
    the wait begins in, 36 more make room, and the loop that looks for it makes 64 turns."""
    law = a_law(given)
    limit, sent, busy, streak, quiet = a_state(given, law)
    after = turn(law, (limit, sent, busy, streak, quiet), halved=some_halving(given))[0]
    part = given.number("part", 1, ONE)
    given.that(part <= limit)
    quiet_one = turn(law, (limit, 0, 0, 0, 0), halved=some_halving(given, "left in quiet"))[0]
    grain = all_of(after >= 1, quiet_one >= least(2 * part, ONE), 1 + 36 < 64, 2**36 >= ONE)
    return ite(law[3], grain, room(after, 0) >= 1)
