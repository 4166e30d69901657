"""The random generator, and values derived from its words."""

from lemma import U32, U64, all_of, div, lemma, minus, step, within


def rotated(word, by):
    return (word << by | word >> 32 - by) & U32


def turned(low, high):
    """`Rng::next_u32`: the next state."""
    mixed = high ^ low
    return rotated(low, 26) ^ mixed ^ mixed << 9 & U32, rotated(mixed, 13)


def word_of(low):
    return rotated(low * 0x9E3779BB & U32, 5) * 5 & U32


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
