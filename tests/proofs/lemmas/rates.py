"""The laws that move a rate: `aimd` and `cubic`."""

from lemma import (
    LAST,
    U8,
    U16,
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
from lemmas.chance import drawn
from lemmas.numbers import LAW_PERIOD, clamped, floor_of
from lemmas.pace import resized
from lemmas.windows import FAILED, OK, a_sample

ONE, FLOOR = 2**20, 2**19
BILLION = 10**9


def doubled(base, cuts):
    return within(base * 2**cuts) if cuts < 64 else U64


def aimd_after(law, state, pushed_back, served, fresh, paced, kept, doubled):
    """`Aimd::observe`, where `kept` is what a cut keeps and `doubled` the pause after so many
    cuts."""
    floor, ceiling, stride, every, pauses, longest, discount = law
    rate, successes, cuts, calm = state
    deeper = ite(doubled < longest, within(cuts + 1, U8), cuts)
    cut = most(kept, floor), 0, ite(pauses, deeper, cuts), ite(pauses, 0, calm)
    rests = all_of(pauses, cuts > 0)
    calmer = within(calm + 1, U16)
    less = all_of(rests, calmer >= discount)
    cuts = ite(less, minus(cuts, 1), cuts)
    calm = ite(rests, ite(less, 0, calmer), calm)
    more = within(successes + 1, U16)
    due = all_of(paced, more >= every)
    grown = ite(due, least(within(rate + stride), ceiling), rate)
    counted = ite(due, 0, ite(paced, more, successes))
    good = grown, counted, cuts, calm
    return ite(no(fresh), state, ite(pushed_back, cut, ite(served, good, state)))


def an_aimd(dice):
    floor, start, ceiling = sorted(dice.u64(1) for _ in range(3))
    below = dice.u32(1)
    base, longest = sorted([dice.u64(1) >> dice.randrange(64) or 1, dice.u64(1)])
    pause = [dice.flag(), base, longest, dice.u16(1)]
    every = dice.number(1, U16)
    law = [start, floor, ceiling, dice.u64(1), every, dice.number(0, below - 1), below, *pause]
    state = [dice.number(floor, ceiling), dice.choice([every - 1, dice.u16()]), dice.number(0, 70)]
    state += [dice.choice([pause[3] - 1, dice.u16()])]
    return [*law, *state, *dice.state(), *map(int, a_sample(dice))]


@step("aimd", an_aimd)
def aimd(start, floor, ceiling, stride, every, n, d, pauses, base, longest, discount, *rest):
    *state, _l, _h, now, sent, outcome, fresh, paced, attempt, word = rest
    law = floor, ceiling, stride, every, bool(pauses), longest, discount
    pushed = outcome not in (OK, FAILED)
    kept, cuts = floor_of(n, d, state[0]), state[2]
    after = aimd_after(
        law,
        tuple(state),
        pushed,
        outcome == OK,
        bool(fresh),
        bool(paced),
        kept,
        doubled(base, cuts),
    )
    top = min(doubled(base, after[2]), longest)
    until = min(now + drawn(word, top // 2, top), LAST) if pushed and fresh and pauses else 2
    return *after, until


@lemma(
    "law/aimd.rs Aimd::observe",
    after=lambda law, state, *of: (of[4], *aimd_after(law, state, *of)[1:]),
)
def the_rate_of_aimd_stays_between_its_floor_and_its_ceiling(given, after=aimd_after):
    """If the rate was between them, then so it is after an answer; the cuts that lengthen its pause
    are at most 64, and the calls that it counts below `every`. (The start is, as the constructor sees
    to.)"""
    law, state, kept, double = an_aimd_law(given)
    flags = [given.flag(name) for name in ("pushed_back", "served", "fresh", "paced")]
    new, counted, cuts, _ = after(law, state, *flags, kept, double)
    floor, ceiling, _, every = law[:4]
    return all_of(floor <= new, new <= ceiling, cuts <= 64, counted < every)


def an_aimd_law(given):
    """A law and a state of it, what a cut keeps of the rate, and the pause after so many cuts: after
    64 it is the longest that there is."""
    floor, ceiling, stride, rate = given.numbers("floor ceiling stride rate", 1, U64)
    kept, longest, double = given.numbers("kept longest double", 0, U64)
    every, discount = given.numbers("every discount", 1, U16)
    successes, calm = given.numbers("successes calm", 0, U16)
    cuts = given.number("cuts", 0, 64)
    given.that(floor <= rate, rate <= ceiling, kept < rate, successes < every)
    given.that(implies(cuts == 64, double == U64))
    law = floor, ceiling, stride, every, given.flag("pauses"), longest, discount
    return law, (rate, successes, cuts, calm), kept, double


@lemma(
    "law/aimd.rs Aimd::observe",
    after=lambda law, state, *of: (state[0], *aimd_after(law, state, *of)[1:]),
)
def a_refusal_slows_aimd_down_to_its_floor(given, after=aimd_after):
    """A fresh refusal leaves a lower rate, or the floor."""
    law, state, kept, double = an_aimd_law(given)
    new = after(law, state, True, False, True, given.flag("paced"), kept, double)[0]
    return any_of(new < state[0], all_of(state[0] == law[0], new == law[0]))


def filled(rate, tokens, passed, part):
    """`CubicState::fill`, where `part` is what the rate makes in the time that passed."""
    return least(within(tokens + part), most(rate, ONE))


def emptied(tokens, rate):
    """What is over the brim of another rate is lost."""
    return least(tokens, most(rate, ONE))


def measured_after(measured, responses, passed, kept, smooth):
    """`CubicState::measure` where half seconds have passed: a part of the old and of the latest."""
    return within(smooth + minus(measured, kept))


def cube(distance):
    """The cube of a time with 20 bits of fraction, with 20 bits of fraction, and its products."""
    square = div(distance * distance, ONE)
    high = div(square, ONE) * distance
    low = (square % ONE) * distance
    return within(high + div(low, ONE)), [distance * distance, high, low]


def root_turn(number, root, rest, shift):
    """One turn of `cube_root`."""
    root = 2 * root
    stride = 3 * root * (root + 1) + 1
    if rest >> shift >= stride:
        return root + 1, rest - (stride << shift)
    return root, rest


def cube_root(number):
    root, rest = 0, number
    for shift in range(63, -1, -3):
        root, rest = root_turn(number, root, rest, shift)
    return root


def cube_root_q20(number):
    up, down = 40, 0
    while up > 64 - number.bit_length() and up > 3:
        up, down = up - 3, down + 1
    return cube_root(number << up & U64) << down


class Cubic:
    def __init__(self, rate, on, tokens, counted, plateau, cut_at, measured, now):
        self.rate, self.on, self.tokens, self.counted = rate, on, tokens, counted
        self.plateau, self.cut_at, self.measured = plateau, cut_at, measured
        self.half, self.responses, self.level = now // (BILLION // 2), 0, 0

    def observe(self, now, pushed_back):
        self.responses = min(self.responses + 1, U32)
        half = now // (BILLION // 2)
        if half > self.half:
            latest = within(self.responses * 2 * ONE) // (half - self.half)
            kept, smooth = floor_of(8, 10, self.measured), floor_of(8, 10, latest)
            self.measured = measured_after(self.measured, self.responses, half, kept, smooth)
            self.responses, self.half = 0, half
        before, on = self.rate, self.on
        if not on:
            passed = min(max(0, now - self.counted), 2 * BILLION)
            self.tokens = filled(before, self.tokens, passed, floor_of(passed, BILLION, before))
            self.counted = max(self.counted, now)
        if pushed_back:
            self.plateau = min(self.measured, before) if on else self.measured
            self.cut_at, self.on = now, True
            aimed = floor_of(7, 10, self.plateau)
        else:
            aimed = self.curve(now)
        self.rate = bounded(aimed, self.measured)
        if on:
            self.level = resized(self.level, brim(before), brim(self.rate))
        elif self.on:
            self.level = minus(brim(self.rate), within(BILLION * self.tokens))
        else:
            self.tokens = emptied(self.tokens, self.rate)

    def curve(self, now):
        elapsed = floor_of(ONE, BILLION, max(0, now - self.cut_at))
        inflection = cube_root_q20(floor_of(3, 4, self.plateau))
        change = floor_of(4, 10, cube(min(abs(elapsed - inflection), 1800 * ONE))[0])
        up = elapsed >= inflection
        return within(self.plateau + change) if up else minus(self.plateau, change)


def brim(rate):
    return LAW_PERIOD * clamped(rate >> 20)


def bounded(aimed, measured):
    return most(least(aimed, within(measured * 2)), FLOOR)


def a_cubic(dice):
    rate = dice.number(FLOOR, U64) >> dice.randrange(44)
    now = 1 << 63
    state = [max(rate, FLOOR), dice.flag(), dice.u64() >> dice.randrange(64), dice.near(now)]
    state += [
        dice.u64() >> dice.randrange(64),
        dice.near(now, 100 * BILLION),
        dice.u64() >> dice.randrange(64),
    ]
    samples = []
    for _ in range(dice.randint(1, 12)):
        now = dice.near(now, BILLION) if dice.flag() else dice.near(now, 10**7)
        samples += map(int, a_sample(dice, now))
    return [*state, *samples]


@step("cubic", a_cubic)
def cubic(*numbers):
    law, told = Cubic(*numbers[:7], now=1 << 63), []
    for index in range(7, len(numbers), 6):
        law.observe(numbers[index], numbers[index + 2] in (1, 2))
        told += [
            law.rate,
            int(law.on),
            law.tokens,
            law.counted,
            law.plateau,
            law.cut_at,
            law.measured,
            law.level,
        ]
    return tuple(told)


@lemma("law/cubic.rs CubicState::curve", furthest=7_200 * ONE)
def no_product_of_the_curve_saturates(given, furthest=1_800 * ONE):
    """As far as half an hour from its inflection, where the core stops counting, the square and the
    cube of the time fit 64 bits."""
    distance = given.number("distance", 0, furthest)
    made, products = cube(distance)
    return all_of(*(product <= U64 for product in products), made < U64)


@lemma(
    "law/cubic.rs Cubic::observe", bound=lambda aimed, measured: least(aimed, within(measured * 2))
)
def the_rate_of_cubic_is_at_least_its_floor_and_at_most_twice_what_was_measured(
    given, bound=bounded
):
    """Whatever the curve says: half a call a second at least, and no more than twice what came
    back."""
    aimed, measured = given.numbers("aimed measured", 0, U64)
    rate = bound(aimed, measured)
    return all_of(rate >= FLOOR, rate <= most(2 * measured, FLOOR))


@lemma(
    "law/cubic.rs CubicState::fill", fill=lambda rate, tokens, passed, part: within(tokens + part)
)
def the_bucket_of_cubic_holds_a_second_of_its_rate(given, fill=filled):
    """Or one call, where a second has less: after it has been filled, and after every answer that
    leaves the law off."""
    rate, tokens, passed, part, new = given.numbers("rate tokens passed part new", 0, U64)
    full = fill(rate, tokens, passed, part)
    return all_of(full <= most(rate, ONE), emptied(full, new) <= most(new, ONE))


@lemma("law/cubic.rs CubicState::measure", bound=2**52)
def what_cubic_measures_fits_54_bits(given, bound=2**53):
    """Answers are counted with 32 bits, so no half second's rate is above 2^53, with 20 bits of
    fraction. If the mean was no more than one above that, then so it is with the next half second; so
    twice the mean, the most that the rate may be, fits 64 bits."""
    measured = given.number("measured", 0, bound + 1)
    responses, passed = given.number("responses", 1, U32), given.number("passed", 1, U64)
    latest = div(responses * 2 * ONE, passed)
    kept, smooth = floor_of(8, 10, measured), floor_of(8, 10, latest)
    after = measured_after(measured, responses, passed, kept, smooth)
    return all_of(after <= bound + 1, bounded(U64, after) <= 2 * bound + 2)


@lemma("law/cubic.rs cube_root", stride=lambda root: 3 * root * root + 1)
def a_turn_of_the_cube_root_keeps_it(given, stride=lambda root: 3 * root * (root + 1) + 1):
    """If the root of what was read so far was right, then so it is with three bits more: its cube is
    no more than what was read, and that of the next number is."""
    root, bits = given.number("root", 0, 2**21), given.number("bits", 0, 7)
    rest = given.number("rest", 0, U64)
    read = root * root * root + rest
    given.that(read < (root + 1) * (root + 1) * (root + 1))
    left, twice = 8 * rest + bits, 2 * root
    more = left >= stride(twice)
    new, over = ite(more, twice + 1, twice), ite(more, left - stride(twice), left)
    exact = new * new * new + over == 8 * read + bits
    return all_of(exact, over >= 0, 8 * read + bits < (new + 1) * (new + 1) * (new + 1))
