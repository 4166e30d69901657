"""Logarithms to the base of two as the documents round them, and intervals that are kept as such.

A number of octaves has 24 bits of fraction. Within an octave the logarithm is its chord and an arch,
x + x (1 - x) p(x), where p is a polynomial with 30 bits of fraction; every product is rounded down.
"""

from decimal import Decimal, getcontext

from exact import U32, U64

OCTAVE = 1 << 24
LOG_ARCH = [27_585_783, -104_369_674, 197_676_760, -296_964_243, 475_296_191]
EXP_ARCH = [-2_036_310, -11_667_980, -71_595_235, -329_478_958]


def bent(x, coefficients):
    p = 0
    for coefficient in coefficients:
        p = (p * x >> 24) + coefficient
    return x + ((x * (OCTAVE - x) >> 24) * p >> 30)


def log2_of_1_and(part):
    return bent(part, LOG_ARCH)


def log2(number):
    """Of zero as of one. Bits behind the 24 that follow the first are dropped."""
    number = max(1, number)
    octave = number.bit_length() - 1
    fraction = (number << 64 >> octave + 40) - OCTAVE
    return octave * OCTAVE + log2_of_1_and(fraction)


def ratio(a, b):
    return log2(a) - log2(b)


def exp2(octaves):
    """Rounded down, as far as it fits 64 bits."""
    octave, fraction = divmod(octaves, OCTAVE)
    if octave >= 63:
        return U64
    return (OCTAVE + bent(fraction, EXP_ARCH) << octave >> 24) if octave >= 0 else 0


def log2_roughly(number):
    """With 8 bits of fraction; the mantissa stands for its own logarithm."""
    number = max(1, number)
    octave = number.bit_length() - 1
    return octave * 256 + (number << 64 >> octave + 56) - 256


def exp2_roughly(octaves):
    """With 8 bits of fraction, and at most 2^31."""
    octave, fraction = divmod(octaves, 256)
    if octave >= 23:
        return 1 << 31
    return (256 + fraction) << octave if octave >= 0 else (256 + fraction) >> min(-octave, 64)


def clip(octaves):
    """What two bytes hold; nothing comes near their least."""
    return min(octaves, 2**15 - 1)


# Intervals: log2 of a time in units of 2^-8 ns, from a quarter of a nanosecond to nine years.

UNIT = 8 * OCTAVE
SHORTEST, LONGEST = 6 * OCTAVE, 66 * OCTAVE


def bounded(interval):
    return max(SHORTEST, min(interval, LONGEST))


def of_span(nanos):
    return SHORTEST if nanos == 0 else bounded(log2(nanos) + UNIT)


def of_calls(nanos, calls):
    return bounded(of_span(nanos) - log2(calls))


def of_parts(nanos, parts):
    """Of so many sixteenths of a call."""
    return bounded(of_calls(nanos, parts) + 4 * OCTAVE)


def span(interval):
    return exp2(interval - UNIT)


def count_in(interval, nanos):
    return 0 if nanos == 0 else min(exp2(log2(nanos) + UNIT - interval), U32)


def faster(interval, growth):
    """The interval of a rate that is faster by growth / 2^24, at most by all of it."""
    return bounded(interval - log2_of_1_and(min(growth, OCTAVE)))


def after_cut(interval, cut):
    """The interval of a rate that keeps all but cut / 2^16, at least a half."""
    return bounded(interval + 16 * OCTAVE - log2(65_536 - min(cut, 32_768)))


def coarse(interval):
    """With 8 bits of fraction."""
    return interval >> 16


def check():
    """Holds the rounding above to the bounds that the documents name."""
    getcontext().prec = 40
    ln_2 = Decimal(2).ln()
    for number in [1, 2, 3, 5, 7, 1000, 999_983, 2**31 - 1, 2**40 + 12_345, 10**18, U64]:
        exact = Decimal(number).ln() / ln_2
        assert abs(Decimal(log2(number)) / OCTAVE - exact) < Decimal(8) / 10**6
    for octaves in range(30 * OCTAVE, 40 * OCTAVE, 1_234_567):
        exact = (Decimal(octaves) / OCTAVE * ln_2).exp()
        assert abs(Decimal(exp2(octaves)) / exact - 1) < Decimal(10) ** -6


check()
