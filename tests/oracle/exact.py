"""Integers of a 64-bit machine, and the documented rounding.

Everything is computed with Python's unbounded integers and fractions, and limited only where the
documentation says so: sums and products saturate, a difference is at least zero.
"""

from fractions import Fraction

SECOND = 10**9
MS, HOUR, DAY, YEAR = 10**6, 3600 * SECOND, 86_400 * SECOND, 365 * 86_400 * SECOND
U16, U32, U64 = 2**16 - 1, 2**32 - 1, 2**64 - 1
END = U64
"""The largest instant. As a deadline it means none."""
LAST = END - 1
"""The latest end of a wait."""


def within(number, most=U64):
    """The nearest number from zero to `most`."""
    return max(0, min(number, most))


def since(earlier, later):
    """How long `later` is after `earlier`. Zero if the clock stepped back."""
    return max(0, later - earlier)


def floor(number):
    """Rounded down, for credits."""
    return number.numerator // number.denominator


def ceil(number):
    """Rounded up, for waits."""
    return -(-number.numerator // number.denominator)


def part(ratio, number):
    """The part of a number given by a pair (numerator, denominator), rounded down."""
    return within(floor(Fraction(*ratio) * number))


def part_up(ratio, number):
    """The same, rounded up."""
    return within(ceil(Fraction(*ratio) * number))
