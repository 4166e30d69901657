"""Base-2 logarithms, rounded as in the law.

A fine logarithm has 24 fractional bits, and its sums fit 32 bits. A coarse one has 8 fractional bits. The
interval between two calls is stored as the logarithm of its nanoseconds.
"""

from exact import U64

OCTAVE = 1 << 24


def fit(number, bits=32):
    """The nearest number that fits this many bits with a sign."""
    return max(-(1 << bits - 1), min(number, (1 << bits - 1) - 1))


def log(number):
    """Zero counts as one. Within an octave, the logarithm is approximated by its chord and an arch."""
    number = max(1, number)
    octave = number.bit_length() - 1
    part = (number << 16 >> octave) & 0xFFFF
    arch = part * (65_536 - part) >> 16
    return (octave << 24 | part << 8) + (arch * (27_582 - (10_249 * part >> 16)) >> 8)


def ratio(a, b):
    return log(a) - log(b)


def span(value):
    """Converts to nanoseconds, rounded down."""
    octave, part = value >> 24, value >> 8 & 0xFFFF
    arch = part * (65_536 - part) >> 16
    mantissa = OCTAVE + (part << 8) - (arch * (19_928 + (5_186 * part >> 16)) >> 8)
    if octave >= 63:
        return U64
    return mantissa << octave >> 24 if octave >= 0 else 0


def octaves(value, count):
    """Adds octaves."""
    return fit(value + fit(count * OCTAVE))


def add(a, b):
    return fit(a + b)


def coarse(value):
    return value >> 16


def fine(value):
    return fit(value * 65_536)


def rough(number):
    """The coarse logarithm of a count. The mantissa is used as its own logarithm."""
    number = max(1, number)
    octave = number.bit_length() - 1
    return octave << 8 | (number << 8 >> octave) & 255


def power(value):
    """2^value of a coarse value, with 8 fractional bits, at most 2^31."""
    octave, mantissa = value >> 8, 256 | value & 255
    if octave >= 23:
        return 1 << 31
    return mantissa << octave if octave >= 0 else mantissa >> min(-octave, 64)


def growth(value):
    """The gain of a rate that grows by the fraction 2^value, of a coarse value."""
    return min(power(value + 135 + (16 << 8)), OCTAVE)


def cut(part):
    """The growth of the interval if the rate loses part / 2^16, at most a half."""
    return ratio(65_536, 65_536 - min(part, 32_768))
