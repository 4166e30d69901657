"""`adaptive`: intervals by their logarithms, and events of many misses."""

from lemma import U8, U64, all_of, clamp, implies, ite, least, lemma, most, step, within

OCTAVE = 2**24
MIN, MAX = 6 * OCTAVE, 66 * OCTAVE
I32 = 2**31 - 1


def signed(word, bits=32):
    """Two's complement, taken back."""
    return word - 2**bits if word >> bits - 1 & 1 else word


def bent(x, coefficients):
    polynomial = 0
    for coefficient in coefficients:
        polynomial = (polynomial * x >> 24) + coefficient
    return x + ((x * (OCTAVE - x) >> 24) * polynomial >> 30)


def log2_of_1_and(part):
    return bent(part, [27_585_783, -104_369_674, 197_676_760, -296_964_243, 475_296_191])


@step("log2", lambda dice: [dice.u64()])
def log2(number):
    number = max(number, 1)
    zeros = 64 - number.bit_length()
    part = (number << zeros & U64) >> 39 & OCTAVE - 1
    return (63 - zeros) * OCTAVE | log2_of_1_and(part)


@step("log2_of_all")
def log2_of_all():
    """All fractions of an octave, tried: the least and the largest logarithm, and the furthest that
    one is below the one before it. So a number of n bits has a logarithm from n - 1 octaves to below
    n, whatever it is."""
    return 0, OCTAVE - 1, 0


@step("exp2", lambda dice: [dice.choice([dice.number(0, 70 * OCTAVE), dice.u32()])])
def exp2(octaves):
    octaves = signed(octaves)
    curve = bent(octaves % OCTAVE, [-2_036_310, -11_667_980, -71_595_235, -329_478_958])
    octave = octaves // OCTAVE
    if octave >= 63 or octave < 0:
        return U64 if octave > 0 else 0
    return (OCTAVE | curve) << octave >> 24


@step("exp2_of_all")
def exp2_of_all():
    """As of logarithms: the mantissa is from one to below two."""
    return OCTAVE, 2 * OCTAVE - 1, 0


@step("log2_roughly", lambda dice: [dice.u64()])
def log2_roughly(number):
    number = max(number, 1)
    octave = number.bit_length() - 1
    return octave << 8 | (number << 8 >> octave) & 255


def of(log):
    return clamp(log, MIN, MAX)


def sum32(a, b):
    return clamp(a + b, -I32 - 1, I32)


def longer(interval, octaves):
    return of(sum32(interval, octaves))


def of_span(span):
    return of(log2(span) + 8 * OCTAVE) if span else MIN


def of_calls(span, calls):
    return longer(of_span(span), -log2(calls))


def of_parts(span, parts):
    return doubled(of_calls(span, parts), 4)


def span_of(interval):
    """In whole nanoseconds, of which the shortest have none."""
    return exp2(max(0, interval - 8 * OCTAVE)) if interval >= 8 * OCTAVE else 0


def an_interval(dice):
    return dice.number(MIN, MAX)


@step("longer", lambda dice: [an_interval(dice), dice.u32()])
def longer_by(interval, octaves):
    return longer(interval, signed(octaves))


@step("doubled", lambda dice: [an_interval(dice), dice.number(0, 80)])
def doubled(interval, times):
    return longer(interval, OCTAVE * least(times, 64))


@step("faster", lambda dice: [an_interval(dice), dice.u32() >> dice.randrange(32)])
def faster(interval, growth):
    return longer(interval, -log2_of_1_and(min(growth, OCTAVE)))


@step("after_cut", lambda dice: [an_interval(dice), dice.u32() >> dice.randrange(32)])
def after_cut(interval, cut):
    return longer(interval, 16 * OCTAVE - log2(65_536 - min(cut, 32_768)))


@step("of_calls", lambda dice: [dice.u64() >> dice.randrange(64), dice.u32()])
def interval_of(span, calls):
    return of_calls(span, calls), of_parts(span, calls), span_of(of_calls(span, calls))


@lemma(
    "law/adaptive/interval.rs Interval::longer",
    add=lambda a, b: ite(a + b > I32, a + b - 2**32, a + b),
)
def an_interval_stays_in_its_range(given, add=sum32):
    """Whatever is added to its logarithm, the interval is from a quarter of a nanosecond to nine
    years; it moves the way that it is told, and no further. (Every interval is made by this.)"""
    interval = given.number("interval", MIN, MAX)
    octaves = given.number("octaves", -I32 - 1, I32)
    made = of(add(interval, octaves))
    up = all_of(made >= interval, made <= interval + octaves)
    down = all_of(made <= interval, made >= interval + octaves)
    return all_of(made >= MIN, made <= MAX, ite(octaves >= 0, up, down))


PROBE = of_span(20 * 10**9)


def probing(interval, misses, down, dark, capped=least):
    """`Event::interval`, where `dark` is a quarter of the time since the event began."""
    widest = most(PROBE, doubled(interval, 2))
    widest = ite(down, widest, most(widest, dark))
    longer = most(capped(doubled(interval, least(misses - 1, 20)), widest), interval)
    return ite(misses >= 2, longer, interval)


def an_event(dice):
    now = dice.instant()
    return [
        dice.near(now),
        dice.number(0, U8),
        dice.number(0, U8),
        dice.flag(),
        an_interval(dice),
        now,
    ]


@step("event_interval", an_event)
def event_interval(at, misses, previous, down, interval, now, word):
    return probing(interval, misses, bool(down), word)


@step("event_miss", lambda dice: an_event(dice)[:4])
def event_miss(at, misses, previous, down):
    return at, one_more(misses), previous, down


def one_more(misses):
    return least(within(misses + 1, U8), 40)


@lemma("law/adaptive/event.rs Event::miss", count=lambda misses: misses + 1)
def misses_are_counted_up_to_40(given, count=one_more):
    """However many there are, so that what is doubled for each of them has an end; up to there, each
    counts."""
    misses = given.number("misses", 0, U8)
    made = count(misses)
    return all_of(made >= 1, made <= 40, implies(misses < 40, made == misses + 1))


@lemma("law/adaptive/event.rs Event::interval", capped=lambda probe, widest: probe)
def probes_are_no_closer_than_the_interval_and_no_further_than_their_most(given, capped=least):
    """After every miss the interval in force, from half to three halves of which the next probe is
    drawn, is no shorter than the law's, and no longer than 20 s, four of the law's, or (but for an
    outage) a quarter of the time that the server has been refusing, whichever is longest."""
    interval, dark = given.numbers("interval dark", MIN, MAX)
    misses, down = given.number("misses", 0, U8), given.flag("down")
    made = probing(interval, misses, down, dark, capped)
    furthest = most(most(PROBE, doubled(interval, 2)), ite(down, MIN, dark))
    return all_of(made >= interval, made <= furthest)
