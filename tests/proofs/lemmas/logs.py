"""The logarithms of `adaptive`. Solvers are slow with their polynomials, so all fractions of an
octave are tried instead."""

from math import log2

from lemma import U32, U64, clamp, lemma, step

OCTAVE = 2**24
I32 = 2**31 - 1
FRACTIONS = 2**16


def signed(word, bits=32):
    """Decodes two's complement."""
    return word - 2**bits if word >> bits - 1 & 1 else word


def sum32(a, b):
    return clamp(a + b, -I32 - 1, I32)


def fraction_of(part, slope=27_582):
    """log2(1 + part / 2^16), in 2^-24 octaves."""
    arch = part * (FRACTIONS - part) >> 16
    return (part << 8) + (arch * (slope - (10_249 * part >> 16)) >> 8)


@step("log", lambda dice: [dice.u64()])
def log_of(number):
    octave = max(number, 1).bit_length() - 1
    part = (number << 63 - octave) >> 47 & FRACTIONS - 1
    return octave * OCTAVE + fraction_of(part)


def mantissa_of(part, slope=19_928):
    """2^(part / 2^16), with 24 bits of fraction."""
    arch = part * (FRACTIONS - part) >> 16
    return OCTAVE + (part << 8) - (arch * (slope + (5_186 * part >> 16)) >> 8)


@step("span", lambda dice: [dice.choice([dice.number(0, 64 * OCTAVE), dice.u32()])])
def span_of(log):
    log = signed(log & U32)
    octave, mantissa = log >> 24, mantissa_of(log >> 8 & FRACTIONS - 1)
    return 0 if octave < 0 else U64 if octave >= 63 else mantissa << octave >> 24


@step("coarse", lambda dice: [dice.u32()])
def coarse(number):
    octave = max(number, 1).bit_length() - 1
    return octave << 8 | (number << 31 - octave) >> 23 & 255


@step("power", lambda dice: [dice.choice([dice.number(0, 32 << 8), dice.u32()])])
def power(log):
    log = signed(log & U32)
    octave, mantissa = log >> 8, 256 | log & 255
    if octave >= 23:
        return 2**31
    return mantissa << octave if octave >= 0 else mantissa >> min(-octave, 64)


@step("growth", lambda dice: [dice.choice([dice.randint(-8192, 2048) & U32, dice.u32()])])
def of_growth(growth):
    """`Log::of_growth`: the logarithm of a rate's growth by 2^growth."""
    return min(power(sum32(signed(growth & U32), 135 + 4096)), OCTAVE)


@step("cut", lambda dice: [dice.u32() >> dice.randrange(32)])
def of_cut(cut):
    """`Log::of_cut`: the logarithm of an interval's growth if its rate loses cut / 2^16."""
    return 16 * OCTAVE - log_of(65_536 - min(cut, 32_768))


def rises(values):
    return all(one <= next_one for one, next_one in zip(values, values[1:], strict=False))


@lemma("law/adaptive/log.rs Log::of", fraction=lambda part: fraction_of(part, 23_000))
def a_logarithm_is_right_to_a_900th_of_an_octave(given, fraction=fraction_of):
    """For any number, and monotonic. Only the first 17 bits of the number are used."""
    made = [fraction(part) for part in range(FRACTIONS)]
    exact = [log2(1 + part / FRACTIONS) * OCTAVE for part in range(FRACTIONS + 1)]
    near = all(
        abs(log - end) < OCTAVE / 900
        for part, log in enumerate(made)
        for end in exact[part : part + 2]
    )
    return near and rises([0, *made, OCTAVE])


@lemma("law/adaptive/log.rs Log::span", mantissa=lambda part: mantissa_of(part, 17_000))
def a_span_is_right_to_a_fiftieth_of_a_per_cent(given, mantissa=mantissa_of):
    """Except for rounding down to a nanosecond; and monotonic."""
    made = [mantissa(part) for part in range(FRACTIONS)]
    exact = [2 ** (part / FRACTIONS) * OCTAVE for part in range(FRACTIONS)]
    near = all(abs(one / other - 1) < 0.0002 for one, other in zip(made, exact, strict=True))
    return near and rises([OCTAVE, *made, 2 * OCTAVE])


@lemma("law/adaptive/log.rs power", back=lambda log: power(log + 1))
def a_coarse_logarithm_is_inverted_to_a_256th(given, back=power):
    """For every count below 2^23, rounded down."""

    def cooldowns(log):
        first = (256 | log & 255) << (log >> 8) >> 8
        counts = [count for count in (first, first + 1) if coarse(count) == log]
        return all(count * 255 < back(log) <= count * 256 for count in counts)

    return all(cooldowns(log) for log in range(23 << 8))


@lemma("law/adaptive/log.rs Log::of_cut", cut_of=lambda cut: 16 * OCTAVE - log_of(65_536 - cut))
def a_cut_is_an_octave_at_most(given, cut_of=of_cut):
    """For any loss. No cut makes a rate faster, and a deeper one never cuts less."""
    made = [cut_of(cut) for cut in range(49_153)]
    return rises([0, *made, OCTAVE])


@lemma("law/adaptive/blind.rs AdaptiveState::success", most=lambda flight: -1024)
def all_calls_in_flight_grow_a_rate_by_a_tenth_of_an_octave(
    given, most=lambda flight: -1024 - flight
):
    """In total, for any number of calls in flight: each adds at most a sixteenth of its share."""
    flights = range(16 << 8)
    return all(of_growth(most(flight)) * power(flight) <= 0.1 * OCTAVE * 256 for flight in flights)
