"""Ratios, products, and quotas."""

from lemma import U32, U64, all_of, div, implies, ite, lemma, most, step, up, within

LAW_PERIOD = 10**9 << 20


def split(numerator, denominator, value):
    """`Ratio::split`: divides first, so that no product exceeds 64 bits."""
    whole, rest = div(value, denominator), value % denominator
    product = rest * numerator
    return within(within(whole * numerator) + div(product, denominator)), product % denominator


def floor_of(numerator, denominator, value):
    return split(numerator, denominator, value)[0]


def ceil_of(numerator, denominator, value):
    floor, rest = split(numerator, denominator, value)
    return within(floor + ite(rest > 0, 1, 0))


@step("ratio", lambda dice: [*dice.ratio(), dice.u64()])
def ratio(numerator, denominator, value):
    return floor_of(numerator, denominator, value), ceil_of(numerator, denominator, value)


def rounded_up_first(numerator, denominator, value):
    return within(up(value, denominator) * numerator), 0


@lemma("fixed.rs Ratio::split", split=rounded_up_first)
def a_ratio_is_exact_to_its_remainder_or_the_largest_number(given, split=split):
    """The quotient, rounded down, times the denominator plus the remainder is the whole product:
    dividing first loses nothing. If the quotient does not fit 64 bits, it is the largest number
    that does."""
    ratio, value = a_fraction(given)
    floor, rest = split(*ratio, value)
    exact = value * ratio[0] == floor * ratio[1] + rest
    fits = all_of(rest >= 0, rest < ratio[1], floor <= U64)
    return all_of(fits, implies(floor < U64, exact), most_of(*ratio, value, floor))


def a_fraction(given):
    ratio = given.number("numerator", 0, U32), given.number("denominator", 1, U32)
    return ratio, given.number("value", 0, U64)


def most_of(numerator, denominator, value, made):
    """It is the largest number only if the quotient is at least that."""
    return implies(made == U64, value * numerator > (U64 - 1) * denominator)


@lemma("fixed.rs Ratio::split", bits=31)
def the_product_of_a_ratio_fits(given, bits=32):
    """The product of a remainder and a numerator, which core computes with a wrapping
    instruction, is below 2^64."""
    rest, numerator = given.numbers("rest numerator", 0, U32)
    given.that(rest < given.number("denominator", 1, U32))
    return rest * numerator < 1 << 2 * bits


@lemma("fixed.rs Ratio::ceil_of", ceil=lambda *of: floor_of(*of) + 1)
def a_ratio_rounds_up_by_less_than_one(given, ceil=ceil_of):
    """Rounded up is the smallest number that is at least the quotient, or the largest number if
    that does not fit 64 bits."""
    ratio, value = a_fraction(given)
    made, exact = ceil(*ratio, value), value * ratio[0]
    covers = all_of(made * ratio[1] >= exact, (made - 1) * ratio[1] < exact)
    return all_of(made <= U64, implies(made < U64, covers), most_of(*ratio, value, made))


@lemma("fixed.rs Ratio::floor_of", floor=lambda *of: split(*of)[0] + 1)
def a_ratio_preserves_the_order_relative_to_one(given, floor=floor_of):
    """With a ratio of at most one the result is never more than the value, below one it is less,
    and with one or more never less, rounded down or up. (Laws' factors are such ratios, as their
    constructors check.)"""
    ratio, value = a_fraction(given)
    made = floor(*ratio, value)
    part = implies(ratio[0] <= ratio[1], made <= value)
    less = implies(all_of(ratio[0] < ratio[1], value > 0), made < value)
    factor = all_of(made >= value, ceil_of(*ratio, value) >= value)
    return all_of(part, less, implies(ratio[0] >= ratio[1], factor))


@step("product", lambda dice: [dice.u64(), dice.u64(), dice.u64(1)])
def mul_div_floor(a, b, divisor):
    """`mul_div_floor`, bit by bit."""
    whole, part = a // divisor, a % divisor
    quotient, rest = 0, 0
    for bit in range(63, -1, -1):
        quotient, rest = double_and_add(quotient, rest, b >> bit & 1, whole, part, divisor)
    return quotient


def add_below(x, y, modulus):
    """`add_below`: adds two numbers below the modulus without an overflow."""
    missing = modulus - x
    return ite(y >= missing, 1, 0), ite(y >= missing, y - missing, within(x + y))


def double_and_add(quotient, rest, bit, whole, part, divisor):
    carry, rest = add_below(rest, rest, divisor)
    quotient = within(within(quotient * 2) + carry)
    carry, added = add_below(rest, part, divisor)
    more = within(within(quotient + whole) + carry)
    return ite(bit == 1, more, quotient), ite(bit == 1, added, rest)


def added_with_a_gap(x, y, modulus):
    missing = modulus - x
    return ite(y > missing, 1, 0), ite(y > missing, y - missing, within(x + y))


@lemma("fixed.rs add_below", add=added_with_a_gap)
def a_sum_below_a_modulus_is_its_carry_and_its_rest(given, add=add_below):
    """Two numbers below a modulus add up to the carry times the modulus plus a remainder below
    it, and no intermediate value exceeds 64 bits."""
    modulus = given.number("modulus", 1, U64)
    x, y = given.numbers("x y", 0, U64)
    given.that(x < modulus, y < modulus)
    carry, rest = add(x, y, modulus)
    return all_of(x + y == carry * modulus + rest, rest >= 0, rest < modulus)


def doubled_only(quotient, rest, bit, whole, part, divisor):
    return double_and_add(quotient, rest, bit * 0, whole, part, divisor)


@lemma("fixed.rs mul_div_floor", turn=doubled_only)
def a_step_of_double_and_add_keeps_the_product(given, turn=double_and_add):
    """If the quotient times the divisor plus the remainder is the product of a with the bits of
    b read so far, or the quotient is saturated and the product is at least that, then it is so
    with one more bit. (It holds at the start with no bits read, and 64 steps read all of b.)"""
    divisor = given.number("divisor", 1, U64)
    whole, quotient, rest, part, read = given.numbers("whole quotient rest part read", 0, U64)
    bit = given.number("bit", 0, 1)
    a = whole * divisor + part
    given.that(rest < divisor, part < divisor, a <= U64)
    given.that(is_product(quotient, rest, divisor, a * read))
    after, left = turn(quotient, rest, bit, whole, part, divisor)
    return all_of(left >= 0, left < divisor, is_product(after, left, divisor, a * (2 * read + bit)))


def is_product(quotient, rest, divisor, product):
    exact, beyond = quotient * divisor + rest == product, product >= U64 * divisor
    return ite(quotient < U64, exact, all_of(quotient == U64, beyond))


@step("exponential", lambda dice: [dice.u64(), dice.u64(1)])
def exponential(x, y):
    if x // y >= 23:
        return 0
    z = x * 2**32 // y
    total = 2**32
    for term in range(12, 0, -1):
        total = horner(z % 2_977_044_472, term, total)
    return total >> z // 2_977_044_472


def horner(rest, term, total):
    part = div(within(rest * (2**32 // term)), 2**32)
    return 2**32 - div(within(part * total), 2**32)


@lemma("fixed.rs exp_neg_q32", ln_2=2**33)
def no_product_of_the_exponential_saturates(given, ln_2=2_977_044_472):
    """Below ln 2 every product of the series is below 2^64, and every partial sum is from zero
    to one. (A test checks how near the sum is to e^-z.)"""
    rest = given.number("rest", 0, ln_2 - 1)
    total = given.number("total", 0, 2**32)
    claims = []
    for term in range(1, 13):
        part = div(rest * (2**32 // term), 2**32)
        claims += [rest * (2**32 // term) <= U64, part * total <= U64]
        claims += [horner(rest, term, total) <= 2**32, horner(rest, term, total) >= 0]
    return all_of(*claims)


@step("interval", lambda dice: dice.quota())
def interval(count, period, burst=1):
    return up(period, count)


@lemma("rate.rs Quota::per", rounded=div)
def an_interval_is_no_shorter_than_the_quotas(given, rounded=up):
    """As many intervals as the quota's calls cover its period, and with a nanosecond less they
    would not."""
    count, period = given.numbers("count period", 1, U64)
    made = rounded(period, count)
    return all_of(made * count >= period, (made - 1) * count < period)


@step("law_rate", lambda dice: dice.quota())
def law_rate(count, period, burst=1):
    return rate_of(up(period, count))


def rate_of(interval):
    return most(1, div(LAW_PERIOD, interval))


@lemma("rate.rs Quota::law_rate", rate=lambda interval: rate_of(interval) + 1)
def a_laws_rate_is_never_more_than_the_quotas(given, rate=rate_of):
    """In the numbers of laws, from 2^-20 calls a second, a quota is never faster than it was, nor slower by
    2^-20 or more. Smaller quotas become the smallest."""
    interval = given.number("interval", 1, U64)
    made = rate(interval)
    slower = implies(made > 1, made * interval <= LAW_PERIOD)
    return all_of(made >= 1, made <= LAW_PERIOD, slower, (made + 1) * interval > LAW_PERIOD)


@step("law_interval", lambda dice: [dice.u64()])
def law_interval(rate):
    return div(LAW_PERIOD, most(rate, 1))


@lemma("rate.rs law_interval", interval_of=lambda rate: div(LAW_PERIOD, rate + 1))
def a_laws_interval_is_never_shorter_than_the_quotas(given, interval_of=law_interval):
    """At the law's rate of a quota, calls are no closer together than the quota allows."""
    interval = given.number("interval", 1, LAW_PERIOD)
    rate = given.number("rate", 1, LAW_PERIOD)
    given.that(rate * interval <= LAW_PERIOD)
    return interval_of(rate) >= interval
