"""The random generator, and values derived from its words."""

import z3

from lemma import U32, U64, all_of, div, is_formula, lemma, minus, step, up, within


def rotated(word, by):
    if is_formula(word):
        return z3.RotateLeft(word, by)
    return (word << by | word >> 32 - by) & U32


def cut(word):
    """Truncates to 32 bits. Words of the solver already have 32."""
    return word if is_formula(word) else word & U32


def turned(low, high):
    """`Rng::next_u32`: the next state."""
    mixed = high ^ low
    return rotated(low, 26) ^ mixed ^ cut(mixed << 9), rotated(mixed, 13)


def word_of(low):
    return cut(rotated(cut(low * 0x9E3779BB), 5) * 5)


@step("draws", lambda dice: dice.state())
def draws(low, high):
    words = []
    for _ in range(3):
        words.append(word_of(low))
        low, high = turned(low, high)
    return tuple(words)


def mixed(seed, shift):
    made = (seed + 0x9E3779B97F4A7C15) & U64
    made = (made ^ shift(made, 30)) * 0xBF58476D1CE4E5B9 & U64
    made = (made ^ shift(made, 27)) * 0x94D049BB133111EB & U64
    return made ^ shift(made, 31)


@step("seed", lambda dice: [dice.u64()])
def seed(seed):
    made = mixed(seed, lambda word, by: word >> by) or 1
    return draws(made & U32, made >> 32)


def drawn(word, low, high):
    """`Rng::between`, in two halves that each fit 64 bits."""
    top = minus(high, low)
    upper = div(top, 2**32) * word
    lower = div((top % 2**32 + 1) * word, 2**32)
    return within(low + upper + lower)


def between(dice):
    low, high = sorted([dice.u64(), dice.u64()])
    return [*dice.state(), low, high]


@step("between", between)
def between_two(_low, _high, low, high, word):
    return drawn(word, low, high)


@lemma(
    "rng.rs Rng::between",
    draw=lambda word, low, high: low + div((high - low + 1) * (word + 1), 2**32),
)
def a_draw_is_never_out_of_range(given, draw=drawn):
    """For any word, the drawn value is from the minimum to the maximum."""
    low, high = given.numbers("low high", 0, U64)
    word = given.number("word", 0, U32)
    given.that(low <= high)
    return all_of(draw(word, low, high) >= low, draw(word, low, high) <= high)


def halves(upper, lower, word):
    return upper * word + div((lower + 1) * word, 2**32)


@lemma(
    "rng.rs Rng::between",
    reduced=lambda upper, lower, word: upper * word + div(lower * word, 2**32),
)
def a_draw_is_the_word_scaled_to_the_range(given, reduced=halves):
    """The two halves add up to the product of the word and the size of the range divided by
    2^32, rounded down, and neither exceeds 64 bits."""
    upper, lower, word = given.numbers("upper lower word", 0, U32)
    whole = (upper * 2**32 + lower + 1) * word
    made = reduced(upper, lower, word)
    fits = all_of(upper * word <= U64, (lower + 1) * word <= U64, made <= U64)
    return all_of(fits, made * 2**32 <= whole, (made + 1) * 2**32 > whole)


def first_word(size, value):
    """The first word that maps to a value or to a higher one."""
    return up(value * 2**32, size)


@lemma("rng.rs Rng::between", first=lambda size, value: first_word(size, value) + 1)
def value_frequencies_differ_by_at_most_one_word(given, first=first_word):
    """In a range of at most 2^32, a value is drawn by the words from its first word up to the
    first word of the next value. Their number is its equal share of the 2^32 words, rounded down
    or up, and that is the whole bias."""
    size = given.number("size", 1, 2**32)
    value, word = given.numbers("value word", 0, U32)
    given.that(value < size)
    begin, end = first(size, value), first(size, value + 1)
    draws = (drawn(word, 0, size - 1) == value) == all_of(begin <= word, word < end)
    count = end - begin
    return all_of(draws, count * size > 2**32 - size, count * size < 2**32 + size)


@lemma("rng.rs Rng::next_u32", turn=lambda low, high: (low & high, rotated(high, 13)))
def the_generator_loses_no_state(given, turn=turned):
    """No two states have the same next state, so all states lie on cycles."""
    low, high, other_low, other_high = given.bits("low high other_low other_high", 32)
    given.that(z3.Or(low != other_low, high != other_high))
    one, two = turn(low, high), turn(other_low, other_high)
    return z3.Or(one[0] != two[0], one[1] != two[1])


@lemma("rng.rs Rng::next_u32", turn=lambda low, high: (low & high, high))
def the_generator_never_reaches_zero(given, turn=turned):
    """No other state leads to the state of zeros, which would never change."""
    low, high = given.bits("low high", 32)
    given.that(z3.Or(low != 0, high != 0))
    after = turn(low, high)
    return z3.Or(after[0] != 0, after[1] != 0)
