"""`adaptive`: when the next call is sent, and how long a cooldown can be."""

from lemma import (
    SECOND,
    U8,
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
    step,
    within,
)
from lemmas.chance import drawn
from lemmas.logs import I32, OCTAVE, log_of, signed, span_of, sum32
from lemmas.probes import depth_of

LATENESS = 2_000_000
DAY = 86_400 * SECOND
LEAST, PROBE = log_of(SECOND), log_of(20 * SECOND)
SIXTH = log_of(6) - log_of(1)
DOUBLING = 2**28
PACED = 22  # The numbers of a state before its meter.
INTERVAL_END, RELEASE, INTERVAL, EVENT = range(PACED + 6, PACED + 10)
CEILING, SERVER, MISSES, CALLS, OWN = range(PACED + 11, PACED + 16)
FRESH, MISSED = range(PACED + 18, PACED + 20)
FAILING = 3  # The server fails in this state and in the next one.
WIDEST = 1024


def a_client(dice):
    """A state that paces calls, as in its record, and the time."""
    now = dice.instant()
    interval = dice.number(0, 62 * OCTAVE)
    interval_end, fresh_at, event = (dice.near(now, 100 * SECOND) for _ in range(3))
    least, misses = dice.number(0, U8), dice.choice([1, 2, 5, dice.number(1, 40)])
    calls, own = dice.choice([misses, dice.number(1, misses)]), dice.choice([0, dice.number(1, 4)])
    release = dice.choice([fresh_at, dice.near(now, 100 * SECOND)])
    ceiling = dice.number(0, 2**14)
    flight = dice.choice([0, dice.number(0, 255)])
    paced = [2, interval, dice.number(4, 16), 0, least, flight, *[0] * (PACED - 6)]
    meter = [event, 0, 0, event, 0, 0]
    server = dice.choice([1 + (misses >= 4), FAILING + (calls >= 4)])
    hinted = [0, 0, U32, 0, 0, 16, 0]
    missed = [server, misses, calls, own, 0, 0, fresh_at, event]
    return [*paced, *meter, interval_end, release, interval, event, 0, ceiling, *missed, 16, 0, 255, 0, 0, *hinted], now


def parts(state):
    """The learned length of an epoch as it counts for L, the interval's end, the release and the interval."""
    return min(state[2], 8) * 256 + state[5] * 16, state[INTERVAL_END], state[RELEASE], state[INTERVAL]


def recorded(*instants):
    """The end of time is kept; other instants are limited to the range of a record."""
    return [instant if instant == U64 else min(max(instant, 2), U64 - 1) for instant in instants]


def caught_up(interval_end, now, interval):
    """Where the grid continues: a late timer is made up for, or one interval."""
    return most(interval_end, minus(now, most(interval, LATENESS)))


def longest_wait(interval, ceiling):
    """`AdaptiveState::longest_wait`, in logarithms."""
    return span_of(interval + OCTAVE if interval > ceiling else ceiling)


def advanced(interval_end, now, silence, interval, width, longest, word, start_of=caught_up, latest_of=least, retry=0):
    """`AdaptiveState::advance`: the interval after a call, and when the next is due. While a `retry` waits, it
    is not silent."""
    interval_end = ite(minus(now, most(interval_end, retry)) > silence, now, interval_end)
    grid = within(start_of(interval_end, now, interval) + interval)
    due = within(minus(grid, div(width, 2)) + drawn(word, 0, width))
    return grid, latest_of(due, within(now + longest))


def with_chance(dice):
    state, now = a_client(dice)
    return [*state, *dice.state(), now]


def calm(dice):
    asked = with_chance(dice)
    asked[SERVER] = asked[MISSES] = asked[CALLS] = 0
    return asked


@step("advance", calm)
def advance(*numbers):
    *state, _low, _high, now, word = numbers
    length, interval_end, retry, interval = parts(state)
    silence = most(span_of(interval + 6 * OCTAVE), LATENESS)
    width = span_of(interval + depth_of(length) * 2**16 - 2 * OCTAVE)
    longest = longest_wait(interval, state[CEILING] * 2**16)
    grid, due = advanced(interval_end, now, silence, span_of(interval), width, longest, word, retry=retry)
    # A retry that has missed delays others.
    release = max(state[RELEASE], due) if state[OWN] else due
    return tuple(recorded(grid, release, due))


def in_force(interval, misses, down, dark, ceiling, capped=least):
    """`AdaptiveState::doubled`, after so many misses, where `dark` is the time since the first one."""
    doublings = minus(misses, ite(down, 3, 1))
    short = clamp(interval + 7 * OCTAVE, LEAST, PROBE)
    widest = ite(down, least(dark - SIXTH, PROBE), most(dark - 2 * OCTAVE, short))
    widest = most(widest, interval + 2 * OCTAVE)
    doubled = least(interval + doublings * OCTAVE, I32)
    probing = capped(least(doubled, widest), ceiling)
    return ite(doublings > 0, most(probing, interval), interval)


def in_force_at(state, now, misses, ceiling):
    missed, down = state[MISSED], state[SERVER] >= FAILING
    dark = log_of(max(now - missed, 0))
    return span_of(in_force(state[INTERVAL], misses, down, dark, ceiling))


@step("in_force", lambda dice: [*a_client(dice)[0], dice.instant()])
def in_force_of(*numbers):
    *state, now = numbers
    return in_force_at(state, now, state[CALLS], state[CEILING] * 2**16)


def backed_off(interval_end, fresh_at, now, interval, cooldown, longest, word, latest_of=least):
    """`AdaptiveState::back_off` of first attempts, where no new wait is longer than `longest`."""
    half = div(interval, 2)
    wait = most(drawn(word, minus(interval, half), within(interval + half)), cooldown)
    due = latest_of(within(now + wait), within(now + longest))
    return most(interval_end, within(now + most(interval, cooldown))), most(fresh_at, due)


@step("back_off", lambda dice: [*with_chance(dice), dice.u64()])
def back_off(*numbers):
    *state, _low, _high, now, ceiling, word = numbers
    _, interval_end, release, learnt = parts(state)
    ceiling = ((log_of(ceiling) >> 16) - 1) * 2**16
    interval = in_force_at(state, now, min(state[CALLS] + 1, 40), ceiling)
    longest = longest_wait(learnt, ceiling)
    end, due = backed_off(interval_end, state[FRESH], now, interval, 0, longest, word)
    return tuple(recorded(end, max(release, due), due))


def sooner(instant, now, refund):
    return least(instant, most(minus(instant, refund), now))


def put_off(instant, now, debt, longest=least):
    """Where a call is due that was to be sent at `instant`, with a debt of at most a day."""
    return most(instant, longest(within(instant + debt), within(now + DAY)))


@step("shift", lambda dice: [*calm(dice), dice.flag()])
def shift(*numbers):
    *state, _low, _high, now, later = numbers
    _, interval_end, release, interval = parts(state)
    move, by = put_off if later else sooner, span_of(interval)
    return tuple(recorded(*(move(instant, now, by) for instant in (interval_end, release, state[FRESH]))))


def held(now, end, spread, ceiling, word, latest_of=least):
    """`AdaptiveState::cooldown`: when a cooldown ends."""
    latest = within(now + ceiling)
    after = latest_of(within(end + drawn(word, 0, spread)), latest)
    before = minus(latest, drawn(word, 0, least(spread, div(ceiling, 8))))
    return ite(end < latest, after, before)


def a_cooldown(dice):
    wait = dice.u64() >> dice.randrange(34)
    return [*dice.state(), min(dice.instant(), U64 // 2), max(wait, SECOND + 1), dice.u64()]


@step("cool_down", a_cooldown)
def cool_down(_low, _high, now, wait, ceiling, word):
    ceiling = span_of(((log_of(ceiling) >> 16) - 1) * 2**16)
    wait = min(within(now + wait) - now, ceiling)
    return recorded(held(now, within(now + wait), wait // 8, ceiling, word))[0]


def wide_after(wide, doublings):
    """`Open::limit`, after this many doublings: 0, for none, from 1024 calls on."""
    wide <<= min(doublings, 10)
    return wide if wide < WIDEST else 0


def doubles_after(since):
    """`open::doubles_after`, with 0 for never."""
    doublings = min(since // DOUBLING, 10)
    return (doublings + 1) * DOUBLING if doublings < 10 else 0


def rejected(wide, since):
    """`Open::reject`: the number of calls in flight when doubling begins again."""
    return wide_after(wide, since // DOUBLING) or WIDEST


def an_open(dice):
    """A state without a known limit on calls in flight."""
    wide = dice.choice([10, dice.number(1, WIDEST + 1)])
    return [wide, dice.u16(), dice.number(0, 2**15 - 1), dice.flag(), 0, 0, 0, 0, *refill(dice)]


def refill(dice):
    """What remained in a pool, the responses since, and what it refills."""
    return [dice.u16(), dice.u16(), dice.u16()]


def a_while(dice):
    return dice.choice([dice.randint(0, 12 * DOUBLING), dice.u64()])


@step("open", lambda dice: [*an_open(dice), a_while(dice)])
def open_for(wide, *rest):
    since = rest[-1]
    return wide_after(wide, since // DOUBLING), doubles_after(since)


@step("reject", lambda dice: [*an_open(dice), a_while(dice)])
def reject(wide, *rest):
    *others, since = rest
    return 1, rejected(wide, since), *others


def a_moment(given):
    """An interval and a release, the time, an interval, and a word: all of any width."""
    return *given.numbers("slot release now interval", 0, U64), given.number("word", 0, U32)


@lemma("law/adaptive/paced.rs AdaptiveState::advance", start_of=lambda interval_end, now, interval: interval_end)
def each_call_takes_an_interval_and_silence_earns_one_or_a_late_timers(given, start_of=caught_up):
    """The interval advances by one interval per call, and to at most 2 ms before the clock, or to the
    clock if an interval is longer. The next call is due within a 32nd of an interval of its interval, and
    not before the interval begins. No wait is longer than the longest one, which no interval exceeds.
    (Within the range of the clock.)"""
    interval_end, _, now, interval, word = a_moment(given)
    silence, width, longest = given.numbers("silence width longest", 0, U64)
    # The draws are at most a quarter of a quarter of it.
    given.that(silence >= interval, width * 16 <= interval, longest >= interval)
    after, due = advanced(interval_end, now, silence, interval, width, longest, word, start_of)
    latest = within(now + longest)
    ahead = all_of(after >= within(interval_end + interval), after >= least(now, now - LATENESS + interval))
    kept = implies(interval_end >= now, after == within(interval_end + interval))
    near = all_of(
        due >= least(minus(after, div(interval, 32)), latest),
        due <= after + div(interval, 32) + 1,
        due <= latest,
    )
    return all_of(ahead, kept, near, due >= least(minus(after, interval), latest), due <= U64)


@lemma(
    "law/adaptive/paced.rs AdaptiveState::back_off",
    latest_of=lambda due, latest: due,
)
def after_a_miss_half_an_interval_passes_at_least(given, latest_of=least):
    """And the server's cooldown. At most one and a half intervals or that cooldown, unless an earlier wait
    was longer: a rejection makes no call due earlier. No wait that it adds is longer than the longest one,
    which no interval in force exceeds."""
    interval_end, fresh_at, now, interval, word = a_moment(given)
    cooldown, longest = given.numbers("pause longest", 0, U64)
    given.that(longest >= interval)
    new_interval_end, due = backed_off(interval_end, fresh_at, now, interval, cooldown, longest, word, latest_of)
    half, latest = div(interval, 2), within(now + longest)
    low = all_of(due >= within(now + half), due >= within(now + least(cooldown, longest)))
    no_nearer = all_of(due >= fresh_at, new_interval_end >= interval_end)
    high = most(fresh_at, least(within(now + most(interval + half, cooldown)), latest))
    return all_of(low, no_nearer, due <= high)


@lemma(
    "law/adaptive/paced.rs AdaptiveState::shift",
    refund=lambda instant, now, refund: most(minus(instant, refund), now),
)
def a_refund_brings_a_call_no_nearer_than_now_and_never_further(given, refund=sooner):
    """It is sent earlier by at most the refund, and not earlier if it was already due."""
    interval_end, _, now, span, _ = a_moment(given)
    after = refund(interval_end, now, span)
    no_more = all_of(after >= minus(interval_end, span), after >= least(interval_end, now))
    return all_of(no_more, after <= interval_end, implies(interval_end <= now, after == interval_end))


@lemma("law/adaptive/paced.rs AdaptiveState::shift", longest=lambda due, latest: due)
def no_reported_cost_delays_a_call_by_more_than_a_day(given, longest=least):
    """Whatever a server reports, the next call is due within a day, unless it was due later before."""
    interval_end, _, now, span, _ = a_moment(given)
    after = put_off(interval_end, now, span, longest)
    return all_of(after >= interval_end, after <= most(interval_end, within(now + DAY)))


@lemma("law/adaptive/blind.rs AdaptiveState::doubled", capped=lambda probe, ceiling: probe)
def probes_are_no_closer_than_the_interval_and_no_further_than_the_ceiling(given, capped=least):
    """And at most four intervals or, if that is longer, a sixth of the time since the first miss in an outage
    (at most 20 s), and otherwise a quarter of it (at least 128 intervals, or 1 s to 20 s). If the interval is longer than the
    ceiling, it is the interval."""
    interval, dark = given.numbers("interval dark", -2 * OCTAVE, 64 * OCTAVE)
    ceiling = given.number("ceiling", 0, 64 * OCTAVE)
    misses, down = given.number("misses", 0, U8), given.flag("down")
    made = in_force(interval, misses, down, dark, ceiling, capped)
    short = clamp(interval + 7 * OCTAVE, LEAST, PROBE)
    furthest = ite(down, least(dark - SIXTH, PROBE), most(short, dark - 2 * OCTAVE))
    furthest = most(furthest, interval + 2 * OCTAVE)
    return all_of(made >= interval, made <= most(interval, ceiling), made <= furthest)


@lemma("law/adaptive/cooldown.rs AdaptiveState::wait_until", latest_of=lambda until, latest: until)
def no_cooldown_is_longer_than_the_ceiling(given, latest_of=least):
    """And not shorter than the server asked for, except by an eighth of the ceiling if it asked for that
    or more. (Within the range of the clock.)"""
    now, spread, ceiling, wait = given.numbers("now spread ceiling wait", 0, U64)
    word = given.number("word", 0, U32)
    given.that(now + ceiling <= U64)
    end = within(now + least(wait, ceiling))
    until = held(now, end, spread, ceiling, word, latest_of)
    short = minus(within(now + ceiling), div(ceiling, 8))
    return all_of(until <= within(now + ceiling), until >= least(end, short), until >= now)


@lemma(
    "law/adaptive/open.rs doubles_after",
    after=lambda since: doubles_after(since) + DOUBLING,
)
def a_window_that_grows_says_when(given, after=doubles_after):
    """Until then the limit is as now, and then it is larger or absent."""

    def cooldowns(wide, since):
        now, change = wide_after(wide, since // DOUBLING), after(since)
        if change == 0:
            return now == 0
        kept = wide_after(wide, (change - 1) // DOUBLING) == now
        wider = wide_after(wide, change // DOUBLING)
        return change > since and kept and (wider == 0 or wider > now)

    sinces = [number * DOUBLING + part for number in range(13) for part in (0, 1, DOUBLING - 1)]
    return all(cooldowns(wide, since) for wide in range(1, WIDEST + 2) for since in sinces)


@lemma(
    "law/adaptive/open.rs Open::reject",
    after=lambda wide, since: wide,
)
def a_rejection_makes_a_window_no_narrower(given, after=rejected):
    """It keeps the limit, and postpones the next doubling by a full doubling time."""
    return all(
        wide_after(after(wide, doublings * DOUBLING + part), 0) == wide_after(wide, doublings)
        for wide in range(1, WIDEST + 2)
        for doublings in range(13)
        for part in (0, 1, DOUBLING - 1)
    )
