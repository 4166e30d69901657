"""Ratios, products, and the numbers of quotas."""

from lemma import U32, U64, all_of, div, implies, ite, lemma, step, up, within

LAW_PERIOD = 10**9 << 20


def split(numerator, denominator, value):
    """`Ratio::split`: division first, so that no product leaves 64 bits."""
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


def in_parts(given):
    """A value as so many denominators and a rest, its share of the rest, and what is left of
    that."""
    numerator, rest, part, left = given.numbers("numerator rest part left", 0, U32)
    whole = given.number("whole", 0, U64)
    denominator = given.number("denominator", 1, U32)
    value = whole * denominator + rest
    given.that(rest < denominator, left < denominator, value <= U64)
    given.that(rest * numerator == part * denominator + left)
    return numerator, denominator, whole, rest, part, left, value


@lemma("fixed.rs Ratio::split", rounded=lambda exact: exact + 1)
def a_ratio_is_exact_to_its_remainder(given, rounded=lambda exact: exact):
    """The fraction rounded down, times the denominator, and the remainder are the whole product:
    nothing is lost by dividing first."""
    numerator, denominator, whole, rest, part, left, value = in_parts(given)
    floor = rounded(whole * numerator + part)
    return value * numerator == floor * denominator + left


@lemma("fixed.rs Ratio::split", bits=31)
def the_product_of_a_ratio_fits(given, bits=32):
    """The product of a remainder and a numerator, for which the core uses an instruction that
    wraps, is below 2^64."""
    rest, numerator = given.numbers("rest numerator", 0, U32)
    given.that(rest < U32)
    return rest * numerator < 1 << 2 * bits


@lemma("fixed.rs Ratio::ceil_of", more=lambda left: 1)
def a_ratio_rounds_up_by_less_than_one(given, more=lambda left: ite(left > 0, 1, 0)):
    """Rounded up is the least number that is no less than the fraction."""
    numerator, denominator, whole, rest, part, left, value = in_parts(given)
    ceil = whole * numerator + part + more(left)
    exact = value * numerator
    return all_of(ceil * denominator >= exact, (ceil - 1) * denominator < exact)


@step("product", lambda dice: [dice.u64(), dice.u64(), dice.u64(1)])
def mul_div_floor(a, b, divisor):
    """`mul_div_floor`, bit by bit."""
    whole, part = a // divisor, a % divisor
    quotient, rest = 0, 0
    for bit in range(63, -1, -1):
        quotient, rest = double_and_add(quotient, rest, b >> bit & 1, whole, part, divisor)
    return quotient


def add_below(x, y, modulus):
    """`add_below`: the sum of two numbers below the modulus, without the sum."""
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
    """Two numbers below a modulus add to the carry times the modulus and a rest below it, and
    nothing on the way leaves 64 bits."""
    modulus = given.number("modulus", 1, U64)
    x, y = given.numbers("x y", 0, U64)
    given.that(x < modulus, y < modulus)
    carry, rest = add(x, y, modulus)
    return all_of(x + y == carry * modulus + rest, rest >= 0, rest < modulus)


def doubled_only(quotient, rest, bit, whole, part, divisor):
    return double_and_add(quotient, rest, bit * 0, whole, part, divisor)


@lemma("fixed.rs mul_div_floor", turn=doubled_only)
def a_turn_of_double_and_add_keeps_the_product(given, turn=double_and_add):
    """As long as the quotient fits, each turn keeps: quotient times divisor and the rest are the
    product of what was read of b with a. After 64 turns that is the whole product."""
    divisor = given.number("divisor", 1, U64)
    whole, quotient, rest, part, read = given.numbers("whole quotient rest part read", 0, U64)
    bit = given.number("bit", 0, 1)
    a = whole * divisor + part
    given.that(rest < divisor, part < divisor, a <= U64)
    given.that(quotient * divisor + rest == a * read)
    after, left = turn(quotient, rest, bit, whole, part, divisor)
    exact = after * divisor + left == a * (2 * read + bit)
    return all_of(left < divisor, implies(after < U64, exact))


@lemma("fixed.rs mul_div_floor", turn=lambda *of: (double_and_add(*of)[0] - 1, 0))
def a_quotient_out_of_range_stays_there(given, turn=double_and_add):
    """A quotient that is at the largest number does not come back from there."""
    divisor = given.number("divisor", 1, U64)
    whole, rest, part = given.numbers("whole rest part", 0, U64)
    bit = given.number("bit", 0, 1)
    given.that(rest < divisor, part < divisor)
    return turn(U64, rest, bit, whole, part, divisor)[0] == U64


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
    """Below ln 2 every product of the series is below 2^64, and every partial sum is at most
    one."""
    rest = given.number("rest", 0, ln_2 - 1)
    total = given.number("total", 0, 2**32)
    claims = []
    for term in range(1, 13):
        part = div(rest * (2**32 // term), 2**32)
        claims += [rest * (2**32 // term) <= U64, part * total <= U64, part * total <= 2**64 - 1]
        claims += [horner(rest, term, total) <= 2**32, horner(rest, term, total) >= 0]
    return all_of(*claims)


@step("interval", lambda dice: dice.quota())
def interval(count, period, burst=1):
    return up(period, count)


@lemma("rate.rs Quota::interval", rounded=div)
def an_interval_is_no_shorter_than_the_quotas(given, rounded=up):
    """So many intervals as the quota counts cover its period, and with a nanosecond less they would
    not."""
    count, period, burst = given.quota()
    made = rounded(period, count)
    return all_of(made * count >= period, (made - 1) * count < period)


@step("law_rate", lambda dice: dice.quota())
def law_rate(count, period, burst=1):
    return max(1, within(count * LAW_PERIOD // period))


@lemma("rate.rs Quota::law_rate", rounded=lambda a, b: up(a, b) + 1)
def a_laws_rate_is_never_more_than_the_quotas(given, rounded=div):
    """In a law's numbers a quota is no faster than it was, nor slower by a 2^-20th of a call a
    second; but where it is slower than that, it is that."""
    count, period, burst = given.quota()
    rate = rounded(count * LAW_PERIOD, period)
    return all_of(rate * period <= count * LAW_PERIOD, (rate + 1) * period > count * LAW_PERIOD)


@step("law_quota", lambda dice: [dice.u64(), dice.u64()])
def law_quota(rate, burst):
    return max(rate, 1), LAW_PERIOD, clamped(burst)


def clamped(burst):
    fits = ite(burst <= U64 // LAW_PERIOD, burst, U64 // LAW_PERIOD)
    return ite(fits == 0, 1, fits)


@lemma("rate.rs LawBurst::clamped", clamp=lambda burst: within(burst, U32))
def a_laws_burst_of_periods_fits(given, clamp=clamped):
    """Whatever burst a law comes to, so many of its periods fit 64 bits, and at least one call may
    leave."""
    burst = given.number("burst", 0, U64)
    return all_of(clamp(burst) >= 1, clamp(burst) * LAW_PERIOD <= U64)
