"""The random generator: SplitMix64 for the seed, xoroshiro64** 1.0 for the draws, as published.

Source: Blackman and Vigna, prng.di.unimi.it: `splitmix64.c` and `xoroshiro64starstar.c`.
"""

from exact import U32, U64, within


def splitmix64(seed):
    z = (seed + 0x9E3779B97F4A7C15) & U64
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & U64
    z = (z ^ z >> 27) * 0x94D049BB133111EB & U64
    return z ^ z >> 31


def rotl(word, by):
    return (word << by | word >> 32 - by) & U32


class Chance:
    def __init__(self, seed):
        # The first output of the mixer, low half first. A state of zeros would never change.
        mixed = splitmix64(seed) or 1
        self.s = [mixed & U32, mixed >> 32]

    def word(self):
        s0, s1 = self.s
        result = rotl(s0 * 0x9E3779BB & U32, 5) * 5 & U32
        s1 ^= s0
        self.s = [rotl(s0, 26) ^ s1 ^ (s1 << 9 & U32), rotl(s1, 13)]
        return result

    def between(self, least, most):
        """A uniform integer from `least` to `most`."""
        count = max(0, most - least) + 1
        return within(least + (count * self.word() >> 32))
