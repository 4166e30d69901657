"""Tools for the families of vectors: dice, seeds of extreme draws, clocks, servers."""

from chance import Chance
from exact import END, SECOND, U32, U64, YEAR


class Dice:
    """Random numbers for secondary parameters: consecutive outputs of SplitMix64."""

    def __init__(self, seed):
        self.state = seed

    def below(self, end):
        self.state = (self.state + 0x9E3779B97F4A7C15) & U64
        z = (self.state ^ self.state >> 30) * 0xBF58476D1CE4E5B9 & U64
        z = (z ^ z >> 27) * 0x94D049BB133111EB & U64
        return (z ^ z >> 31) % end

    def of(self, items):
        return items[self.below(len(items))]


def unshift(word, by, bits):
    """The inverse of xoring a word with itself shifted right."""
    made = word
    for _ in range(bits // by + 1):
        made = word ^ made >> by
    return made


def seed_of(low, high):
    """The seed that mixes to this state. Every step of SplitMix64 is invertible."""
    z = unshift(high << 32 | low, 31, 64)
    z = z * pow(0x94D049BB133111EB, -1, 2**64) & U64
    z = unshift(z, 27, 64) * pow(0xBF58476D1CE4E5B9, -1, 2**64) & U64
    return unshift(z, 30, 64) - 0x9E3779B97F4A7C15 & U64


def first_of(word):
    """The half of a state that produces this word."""
    turned = word * pow(5, -1, 2**32) & U32
    turned = (turned >> 5 | turned << 27) & U32
    return turned * pow(0x9E3779BB, -1, 2**32) & U32


def seed_that_draws(first, second):
    """The seed whose first two words are these."""
    low = first_of(first)
    turned = (low << 26 | low >> 6) & U32
    # The next half is turned ^ mixed ^ mixed << 9. Solve for mixed.
    mixed, wanted = 0, first_of(second) ^ turned
    for bit in range(32):
        below = mixed >> bit - 9 & 1 if bit >= 9 else 0
        mixed |= ((wanted >> bit & 1) ^ below) << bit
    seed = seed_of(low, mixed ^ low)
    drawn = Chance(seed)
    assert [drawn.word(), drawn.word()] == [first, second]
    return seed


# Two smallest words would require the state of zeros, which never occurs.
DRAW_MIN = seed_that_draws(0, 1)
DRAW_MAX = seed_that_draws(U32, U32)
SEEDS = [
    ("seed 1", [], 1),
    ("least draw", ["DrawMin"], DRAW_MIN),
    ("largest draw", ["DrawMax"], DRAW_MAX),
]

# Hostile hints.
HOSTILE = [
    ("a century", {"after": 100 * YEAR}),
    ("for ever", {"after": END}),
    ("no time at all", {"after": 0}),
    ("nothing left until the end of time", {"left": 0, "reset": END}),
    ("more left than there can be", {"left": END, "reset": 0, "limit": 1, "period": 1}),
    ("a limit of nothing", {"left": 0, "reset": SECOND, "limit": 0, "period": SECOND}),
    ("a period of nothing", {"left": 5, "reset": SECOND, "limit": 10, "period": 0}),
    ("the largest numbers", {"left": END, "reset": END, "limit": END, "period": END}),
    ("a reset beyond the period", {"left": 1, "reset": YEAR, "limit": 10, "period": SECOND}),
]
