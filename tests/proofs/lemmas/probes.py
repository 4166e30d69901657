"""`adaptive`: how the rate grows between two congestion events, and how much an event cuts."""

from lemma import (
    U8,
    U16,
    U32,
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
from lemmas.logs import I32, OCTAVE, coarse, of_cut, of_growth, power, signed, sum32

MOST, LIMIT = 8, 16 << 8


def depth_of(length):
    return -(length // 2)


def next_length(length, ripe):
    """`Probe::cut`: the learned length of the next epoch."""
    return ite(ripe, most(length, least(length + 1, MOST)), least(length, MOST))


def taught(length, flight):
    """`Probe::in_proportion`: log2 of the K that hits have taught, coarsely."""
    return 256 * length + 16 * flight


def learned(length, window, flight, base):
    """`Probe::learned`: log2 of the K that hits or a window have taught, coarsely."""
    calls = clamp(64 * window - (base >> 16), 0, LIMIT) if window else 0
    return max(taught(length, flight), calls)


def depth(length, window, flight, base):
    """`Probe::depth`: L as a logarithm, coarsely."""
    return depth_of(min(learned(length, window, flight, base), taught(MOST, flight)))


def aim(length, window, shortest, flight, base):
    """`Probe::length`: log2 of K, coarsely."""
    return max(learned(length, window, flight, base), 16 * shortest)


def tail(length, window, shortest, flight, cooldowns, base):
    """`Probe::tail`: log2 of the K of growth above the plateau, coarsely."""
    return max(learned(length, window, flight, base), 16 * shortest - 256 * max(cooldowns - 3, 0))


def taken_back(base, interval, gained):
    """Three quarters of the rise of the rate since the previous hit, of which at most `gained` counts."""
    above = clamp(base - interval, 0, gained)
    return above - div(above, 4)


def a_log(dice):
    """A logarithm as in a record: below 64 octaves."""
    return dice.choice([1, -1]) * dice.number(0, 63 * OCTAVE) & U32


def a_probe(dice):
    return [
        dice.number(4, 16),
        dice.choice([0, dice.number(0, U8)]),
        dice.choice([0, dice.number(0, U8)]),
        dice.choice([0, dice.number(0, U8)]),
        dice.u32() >> dice.randrange(32),
        dice.u16() >> dice.randrange(16),
        dice.choice([0, dice.number(0, U8)]),
        dice.number(1, 6),
        a_log(dice),
    ]


@step(
    "probe_cut",
    lambda dice: [
        *a_probe(dice),
        a_log(dice),
        dice.randint(-4096, 8192) & U32,
        dice.choice([OCTAVE // 2, 2 * OCTAVE]),
    ],
)
def probe_cut(
    length, window, shortest, flight, progress, _successes, _gap, cooldowns, base, interval, coming, gained
):
    base, interval = signed(base), signed(interval)
    ripe = progress >= power(aim(length, window, shortest, flight, base) - 768)
    length = next_length(length, ripe)
    flight = min(max(signed(coming) - 1024, 0) >> 4, U8)
    cut = of_cut(power(depth(length, window, flight, base) + 2048))
    back = taken_back(base, interval, gained)
    grown, base = sum32(back, cut) & U32, sum32(interval, back) & U32
    return grown, length, window, shortest, flight, 0, 0, 0, cooldowns, base


def deepened(part, taken):
    """`Probe::deepen`: half of the way from what the cut took to the part that was rejected."""
    return div(most(part - taken, 0), 2)


@step("probe_deepen", lambda dice: [*a_probe(dice), dice.number(0, U8)])
def probe_deepen(length, window, _shortest, flight, _progress, successes, _gap, _cooldowns, base, rejected):
    part = (rejected << 16) // (rejected + successes + 1)
    taken = power(depth(length, window, flight, signed(base)) + 2048)
    return deepened(of_cut(part), of_cut(taken))


@step(
    "probe_grow",
    lambda dice: [*a_probe(dice), dice.randint(-512, 512) & U32, dice.randint(-8192, 0) & U32],
)
def probe_grow(length, window, shortest, flight, progress, successes, gap, cooldowns, base, weight, most):
    weight, most = signed(weight), signed(most)
    progress = within(progress + power(weight), U32)
    probe = length, window, shortest, flight, progress, successes, gap, cooldowns, base
    goal = aim(length, window, shortest, flight, signed(base))
    if progress == power(goal):
        return 0, *probe
    rise = depth(length, window, flight, signed(base))
    if progress > power(goal):
        rise = max(rise, -4 * 256)
    elif gap:
        rise = max(rise, coarse(gap) - 1_159)
    scale = goal if progress < power(goal) else tail(length, window, shortest, flight, cooldowns, signed(base))
    distance = 2 * (coarse(abs(progress - power(goal))) - 2048 - scale)
    return of_growth(min(distance + 406 + rise + weight - scale, most)), *probe


@step("usual", lambda dice: [dice.u32() >> dice.randrange(32), dice.number(0, 27), dice.u32()])
def usual(mean, octave, cost):
    latest = min(cost, U32 >> 4) << 4
    if latest == mean:
        return 0, mean, octave
    mean = usual_mean(mean, latest)
    call = 16 << octave
    if mean < min(call * 3, U32) and mean >= call // 4 * 3:
        return 0, mean, octave
    new = max(mean, 16).bit_length() - 1 - 4
    return new - octave & U32, mean, new


def usual_mean(mean, latest):
    """`Usual::see`: the mean after a call."""
    up, down = within(mean + div(latest - mean, 16), U32), minus(mean, div(mean - latest, 16))
    return ite(mean == 0, latest, ite(latest > mean, up, down))


@lemma("law/adaptive/probe.rs Probe::cut", back=lambda base, interval, _: base - interval)
def a_hit_never_makes_a_rate_faster(given, back=taken_back):
    """It takes back at most one and a half octaves, and then cuts by at most a half: two and a half
    octaves in total."""
    base, interval = given.numbers("base interval", -I32 - 1, I32)
    cut, gained = given.number("cut", 0, OCTAVE), given.number("gained", 0, 2 * OCTAVE)
    grown = sum32(back(base, interval, gained), cut)
    return all_of(grown >= cut, 2 * grown <= 5 * OCTAVE, sum32(interval, grown) >= interval)


@lemma("law/adaptive/probe.rs Probe::deepen", deeper=lambda part, taken: part)
def a_cut_becomes_at_most_half_of_an_octave_deeper(given, deeper=deepened):
    """And with what it took, no deeper than the part that was rejected."""
    part, taken = given.number("part", 0, OCTAVE), given.number("taken", 0, OCTAVE)
    more = deeper(part, taken)
    return all_of(more >= 0, 2 * more <= OCTAVE, taken + more <= most(part, taken))


@lemma("law/adaptive/probe.rs Probe::cut", turned=lambda length, ripe: length + 1)
def a_hit_at_most_doubles_the_length_of_an_epoch(given, turned=next_length):
    """From 2^4 to 2^16 calls."""
    length, ripe = given.number("length", 4, 16), given.flag("ripe")
    made = turned(length, ripe)
    return all_of(made >= ite(ripe, length, 4), made <= 16, made <= length + 1)


@lemma("law/adaptive/cost.rs Usual::see", mean_of=lambda mean, latest: mean + latest)
def the_mean_cost_lies_between_its_ends(given, mean_of=usual_mean):
    """After any call the mean is between the previous mean and the call's cost. So it fits 32 bits with 4
    fractional bits, and is below 2^28: its octave, rounded down, is at most 27."""
    mean, latest = given.number("mean", 0, U32 - 15), given.number("latest", 0, U32 - 15)
    after = mean_of(mean, latest)
    low = ite(mean == 0, latest, least(mean, latest))
    return all_of(after >= low, after <= most(mean, latest), after < 16 * 2**28)
