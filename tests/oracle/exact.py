"""Whole numbers as a machine of 64 bits has them, and the rounding that the documents name.

Everything is worked out in Python's own integers and fractions, which have no end, and is cut to
what fits only where the documents say so: sums and products saturate, a difference ends at zero.
"""

from fractions import Fraction

SECOND = 10**9
MS, HOUR, DAY, YEAR = 10**6, 3600 * SECOND, 86_400 * SECOND, 365 * 86_400 * SECOND
U16, U32, U64 = 2**16 - 1, 2**32 - 1, 2**64 - 1
END = U64
"""The end of time. As a deadline it means that there is none."""
LAST = END - 1
"""How late a wait may end, so that it does end."""


def within(number, most=U64):
    """The nearest number from zero to the most."""
    return max(0, min(number, most))


def since(earlier, later):
    """How long `later` is after `earlier`; a clock that stepped back has earned nothing."""
    return max(0, later - earlier)


def floor(number):
    """Rounded down: credits."""
    return number.numerator // number.denominator


def ceil(number):
    """Rounded up: waits."""
    return -(-number.numerator // number.denominator)


def part(ratio, number):
    """The part of a number that a pair (numerator, denominator) names, rounded down."""
    return within(floor(Fraction(*ratio) * number))


def part_up(ratio, number):
    """The same, rounded up."""
    return within(ceil(Fraction(*ratio) * number))


def towards_zero(a, b):
    """A signed quotient without its fraction; nothing where the divisor is nothing."""
    return 0 if b == 0 else abs(a) // b * (1 if a >= 0 else -1)
