"""The generator, and what is made of its words."""

import z3

from lemma import U32, U64, all_of, div, is_formula, lemma, minus, step, up, within


def rotated(word, by):
    if is_formula(word):
        return z3.RotateLeft(word, by)
    return (word << by | word >> 32 - by) & U32


def cut(word):
    """To 32 bits; the solver's words have no more."""
    return word if is_formula(word) else word & U32


def turned(low, high):
    """`Rng::next_u32`: the state after it."""
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
    """Whatever the word, what is drawn is from the least to the most."""
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
    """The two halves add to the product of the word and the size of the range over 2^32, rounded
    down, and neither leaves 64 bits."""
    upper, lower, word = given.numbers("upper lower word", 0, U32)
    whole = (upper * 2**32 + lower + 1) * word
    made = reduced(upper, lower, word)
    fits = all_of(upper * word <= U64, (lower + 1) * word <= U64, made <= U64)
    return all_of(fits, made * 2**32 <= whole, (made + 1) * 2**32 > whole)


def first_word(size, value):
    """The first of the words that are reduced to a value or to a higher one."""
    return up(value * 2**32, size)


@lemma("rng.rs Rng::between", first=lambda size, value: first_word(size, value) + 1)
def no_value_is_drawn_by_more_than_one_word_more_than_another(given, first=first_word):
    """In a range of no more than 2^32, a value is drawn by the words from its first to before the
    first of the next, and these are its equal part of the 2^32 words, rounded down or up: that is
    the whole bias."""
    size = given.number("size", 1, 2**32)
    value, word = given.numbers("value word", 0, U32)
    given.that(value < size)
    begin, end = first(size, value), first(size, value + 1)
    draws = (drawn(word, 0, size - 1) == value) == all_of(begin <= word, word < end)
    count = end - begin
    return all_of(draws, count * size > 2**32 - size, count * size < 2**32 + size)


@lemma("rng.rs Rng::next_u32", turn=lambda low, high: (low & high, rotated(high, 13)))
def the_generator_loses_no_state(given, turn=turned):
    """Two states have never the same state after them, so all lie on cycles and none is a trap."""
    low, high, other_low, other_high = given.bits("low high other_low other_high", 32)
    given.that(z3.Or(low != other_low, high != other_high))
    one, two = turn(low, high), turn(other_low, other_high)
    return z3.Or(one[0] != two[0], one[1] != two[1])


@lemma("rng.rs Rng::next_u32", turn=lambda low, high: (low & high, high))
def the_generator_never_comes_to_rest(given, turn=turned):
    """From no other state does it come to the one of zeros, which it would never be sent."""
    low, high = given.bits("low high", 32)
    given.that(z3.Or(low != 0, high != 0))
    after = turn(low, high)
    return z3.Or(after[0] != 0, after[1] != 0)
