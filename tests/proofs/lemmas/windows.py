"""The laws that move a window: `crowd` and `vegas`."""

from math import isqrt

from lemma import (
    U16,
    U32,
    U64,
    all_of,
    clamp,
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
from lemmas.numbers import floor_of

OK, THROTTLED, BUSY, FAILED = range(4)
MOST = U16 // 4


def a_sample(dice, now=None, outcomes=4):
    now = dice.instant() if now is None else now
    sent = dice.near(now)
    return [
        now,
        sent,
        dice.randrange(outcomes),
        dice.randrange(4) != 0,
        dice.randrange(4) != 0,
        dice.randrange(3),
    ]


def crowd_after(window, successes, kept, widest, served, fresh, paced):
    """`Crowd::observe`, where `kept` is what a cut keeps."""
    cut = ite(kept == 0, 1, kept), 0
    more = within(successes + 1, U16)
    grown = ite(more < window, window, within(window + 1, U16)), ite(more < window, more, 0)
    held = window, successes
    grows = all_of(paced, window < widest)
    return ite(no(fresh), held, ite(no(served), cut, ite(grows, grown, held)))


def a_crowd(dice):
    widest = dice.number(1, U16)
    below = dice.u32(1)
    keep = [dice.number(0, below - 1), below]
    window = dice.number(1, widest)
    state = [window, dice.choice([window - 1, dice.u16()])]
    return [dice.number(1, widest), widest, *keep, *state, *map(int, a_sample(dice))]


@step("crowd", a_crowd)
def crowd(start, widest, n, d, window, successes, now, sent, outcome, fresh, paced, attempt):
    kept = floor_of(n, d, window)
    return crowd_after(window, successes, kept, widest, outcome == OK, bool(fresh), bool(paced))


@lemma("law/crowd.rs Crowd::observe", after=lambda *of: (crowd_after(*of)[0] + 1, 0))
def the_window_of_crowd_stays_from_one_to_its_most(given, after=crowd_after):
    """If the window was from one to its most, and the successes that are counted below the window,
    then so they are after an answer. (The start is, as the constructor sees to.)"""
    window, widest = given.numbers("window widest", 1, U16)
    successes, kept = given.numbers("successes kept", 0, U16)
    given.that(window <= widest, successes < window, kept < window)
    flags = [given.flag(name) for name in ("served", "fresh", "paced")]
    new, counted = after(window, successes, kept, widest, *flags)
    return all_of(new >= 1, new <= widest, counted < new)


def reading(total, differences, calls, took, root):
    """`Round::read`: the mean, and how far it may be off."""
    return div(total, calls), div(within(div(differences, calls - 1) * 16), root)


def in_flight(calls, took, micros):
    return div(calls * micros * 256, took)


def whole(calls):
    return least(within(div(within(calls + 255), 256), U16), MOST)


def closed(window, is_open, to):
    """`VegasState::close_to`: the window after it."""
    return clamp(to, 1, MOST)


def refused(window, is_open, close=closed):
    """`VegasState::refuse`, where it cuts: three quarters of the window."""
    return close(window, is_open, div(within(window * 3, U16), 4))


def judged(
    window, is_open, flying, under_way, line, allowed, calls, mean, base, paced, close=closed
):
    """`VegasState::judge` behind the base: the window, and whether it is open."""
    size = ite(is_open, whole(flying), window)
    early = all_of(is_open, calls * 256 < within(flying * 2))
    steady = all_of(is_open, mean <= within(base + div(base, 4)))
    fewer = minus(size, 1)
    narrow = close(size, is_open, least(most(whole(under_way), div(size, 2)), fewer))
    in_use = within(flying * 2) >= size * 256
    stride = ite(within(line * 2) < allowed, most(div(size, 8), 1), 1)
    wide = least(within(size + stride, U16), MOST)
    grows = all_of(no(is_open), paced, in_use, size < MOST)
    queues = line > allowed
    after = ite(queues, ite(steady, size, narrow), ite(grows, wide, size))
    shut = all_of(queues, no(steady))
    return ite(early, size, after), ite(all_of(no(early), shut), False, is_open)


class Vegas:
    """The law from its start; what a round knows is in no record."""

    def __init__(self, now):
        self.window, self.open, self.refused = 0, True, False
        self.before, self.latest, self.rounds = U32, U32, 0
        self.begin(now)

    def begin(self, now):
        self.began, self.took, self.paced = now, [], False

    def observe(self, now, sent, outcome, paced):
        if outcome in (BUSY, FAILED):
            if not self.refused and self.window:
                self.refused = True
                self.begin(now)
                self.window, self.open = refused(self.window, self.open), False
            return
        if outcome != OK:
            return
        self.refused = False
        if not self.took:
            self.began = max(self.began, sent)
        self.took.append(min(max(0, now - sent) // 1000, U32))
        self.paced |= paced
        if len(self.took) < round_of(self.window):
            return
        began, took, paced = self.began, self.took, self.paced
        self.begin(now)
        lasted = max(0, now - began) // 1000
        if lasted:
            self.judge(took, lasted, paced)

    def judge(self, took, lasted, paced):
        calls = len(took)
        jumps = sum(abs(one - two) for one, two in zip(took, took[1:]))
        mean, error = reading(sum(took), jumps, calls, lasted, isqrt(calls * 256))
        flying = in_flight(calls, lasted, mean)
        if self.open and calls * 256 < flying * 2:
            self.window = whole(flying)
            return
        if self.rounds >= 32:
            self.before, self.latest, self.rounds = self.latest, U32, 0
        self.rounds += 1
        self.latest = min(self.latest, mean + error * 3 // 2)
        base = min(self.latest, self.before)
        under_way = min(in_flight(calls, lasted, base), flying)
        alpha = max(isqrt(min(flying, U32)) * 16 * 3 // 8, 256)
        allowed = alpha + in_flight(calls, lasted, error)
        line = flying - under_way
        state = self.window, self.open
        self.window, self.open = judged(
            *state, flying, under_way, line, allowed, calls, mean, base, paced
        )


def some_calls(dice):
    numbers = [dice.randint(SECONDS, 2 * SECONDS)]
    for _ in range(dice.randint(1, 40)):
        gap = dice.choice([0, 1, 999, 10**6, dice.randint(1, 10**9)])
        took = dice.choice([gap, dice.randint(1, 10**10), dice.randint(1, 10**6)])
        calls = dice.choice([32, 40, 40, 300])
        numbers += [
            calls,
            gap,
            took,
            dice.choice([0, 0, took // 5]),
            dice.choice([0] * 12 + [1, 2, 3]),
            dice.flag(),
        ]
    return numbers


SECONDS = 3600 * 10**9


@step("vegas", some_calls)
def vegas(now, *phases):
    law, told = Vegas(now), []
    for index in range(0, len(phases), 6):
        calls, gap, first, more, outcome, paced = phases[index : index + 6]
        for call in range(calls):
            now = min(now + gap, U64)
            law.observe(now, max(0, now - (first + more * (call % 7))), outcome, bool(paced))
        told += [law.window, int(law.open), int(law.refused)]
    return tuple(told)


def round_of(window):
    """So many calls a round has."""
    return most(32, within(window * 4, U16))


@lemma("law/vegas.rs Reading::in_flight", latency=2**33)
def no_number_of_vegas_leaves_64_bits(given, latency=U32):
    """A round is judged before its calls are more than 16 bits hold. Its latencies have 32 bits, so
    the sums of them and of their differences have 48, and the products with 8 bits of fraction are
    below 2^56."""
    calls, window = given.number("calls", 2, U16), given.number("window", 0, MOST)
    micros, root = given.number("micros", 0, latency), given.number("root", 1, 2**16)
    total, took = given.number("total", 0, U64), given.number("took", 1, U64)
    given.that(calls - 1 < round_of(window), total <= calls * micros)
    mean, error = reading(total, total, calls, took, root)
    return all_of(
        calls < U16,
        total < 2**48,
        calls * micros * 256 < 2**56,
        mean <= U32,
        error <= 2**38,
        calls * error * 256 <= U64,
    )


@lemma("law/vegas.rs VegasState::judge", close=lambda window, is_open, to: to)
def the_window_of_vegas_is_never_nothing(given, close=closed):
    """If the window was from one to its most, or open and no more than that, then so it is after a
    round, and after a refusal."""
    window, calls = given.numbers("window calls", 0, U16)
    flying, under_way, line, allowed, mean, base = given.numbers(
        "flying under_way line allowed mean base", 0, U64
    )
    is_open, paced = given.flag("is_open"), given.flag("paced")
    given.that(window <= MOST, under_way <= flying, line == flying - under_way)
    given.that(implies(no(is_open), window >= 1))
    new, still = judged(
        window, is_open, flying, under_way, line, allowed, calls, mean, base, paced, close=close
    )
    cut = refused(window, is_open, close)
    return all_of(new <= MOST, implies(no(still), new >= 1), cut >= 1, cut <= MOST)


@lemma("law/vegas.rs VegasState::judge", close=lambda window, is_open, to: clamp(to + 2, 1, MOST))
def a_line_at_the_server_narrows_the_window(given, close=closed):
    """A window that is closed and not yet one is narrower after a round with more in line than is
    allowed."""
    window, calls = given.number("window", 2, MOST), given.number("calls", 32, U16)
    flying, under_way, line, allowed, mean, base = given.numbers(
        "flying under_way line allowed mean base", 0, U64
    )
    given.that(line > allowed, under_way <= flying, line == flying - under_way)
    paced = given.flag("paced")
    return (
        judged(
            window, False, flying, under_way, line, allowed, calls, mean, base, paced, close=close
        )[0]
        < window
    )
