"""Lemmas, and the arithmetic of their models.

A model is a function of numbers. With integers it computes the same result as core. With solver
variables it builds the formula of the lemma. So one definition serves both."""

import z3

U8, U16, U32, U64 = 2**8 - 1, 2**16 - 1, 2**32 - 1, 2**64 - 1
END, LAST = U64, U64 - 1
"""The largest instant, and the instant before it."""
SECOND = 10**9

EFFORT = 20_000_000
"""The most steps of the solver for a lemma, on any machine. All lemmas together take 12 million."""

STEPS, LEMMAS = [], []


def is_formula(*values):
    return any(z3.is_expr(value) for value in values)


def ite(condition, then, other):
    """One of two values, or of two tuples of values."""
    if not is_formula(condition):
        return then if condition else other
    if isinstance(then, tuple):
        return tuple(ite(condition, one, two) for one, two in zip(then, other, strict=True))
    return z3.If(condition, then, other)


def all_of(*conditions):
    return z3.And(*conditions) if is_formula(*conditions) else all(conditions)


def any_of(*conditions):
    return z3.Or(*conditions) if is_formula(*conditions) else any(conditions)


def no(condition):
    return z3.Not(condition) if is_formula(condition) else not condition


def implies(condition, claim):
    return z3.Implies(condition, claim)


def div(a, b):
    """Rounded down, for non-negative numbers."""
    return a / b if is_formula(a, b) else a // b


def up(a, b):
    """Rounded up."""
    return div(a + b - 1, b)


def least(a, b):
    return ite(a <= b, a, b)


def most(a, b):
    return ite(a >= b, a, b)


def within(number, bound=U64):
    """Saturates at the largest number."""
    return least(number, bound)


def minus(a, b):
    """Saturates at zero."""
    return ite(a > b, a - b, 0)


def clamp(number, low, high):
    return least(most(number, low), high)


class Given:
    """The variables of a lemma, and the assumptions about them."""

    def __init__(self):
        self.facts = []

    def number(self, name, low, high):
        made = z3.Int(name)
        self.facts += [made >= low, made <= high]
        return made

    def numbers(self, names, low, high):
        return [self.number(name, low, high) for name in names.split()]

    def flag(self, name):
        return z3.Bool(name)

    def that(self, *facts):
        self.facts += facts

    def quota(self):
        """A valid quota of a policy, as its interval and its burst: the burst of intervals fits 64 bits."""
        interval = self.number("interval", 1, U64)
        burst = self.number("burst", 1, U32)
        self.that(interval * burst <= U64)
        return interval, burst


class Lemma:
    """A claim about a model, and a wrong model that must violate it."""

    def __init__(self, claim, place, wrong):
        self.claim, self.place, self.wrong = claim, place, wrong
        self.name = claim.__name__.replace("_", " ")
        self.says = " ".join(claim.__doc__.split())

    def answer(self, wrong, seed=0):
        """`proved`, `refuted` with a counterexample, or `unknown` with the reason. `seed` is the
        solver's random seed, which must not matter."""
        given = Given()
        claim = self.claim(given, **(self.wrong if wrong else {}))
        solver = z3.Solver()
        solver.set("rlimit", EFFORT)
        solver.set("random_seed", seed)
        solver.add(*given.facts, z3.Not(claim))
        found = solver.check()
        if found == z3.unsat:
            return "proved", ""
        if found == z3.sat:
            model = solver.model()
            numbers = sorted(f"{name} = {model[name]}" for name in model.decls())
            return "refuted", ", ".join(numbers)
        return "unknown", solver.reason_unknown()


def lemma(place, **wrong):
    """Registers a claim about the function `place` of core. `wrong` names the parts of the model
    to replace in order to see that the claim can fail."""
    assert wrong, "a lemma needs a wrong variant"

    def register(claim):
        LEMMAS.append(Lemma(claim, place, wrong))
        return claim

    return register


class Step:
    """A model and core's function of that name, which must return the same."""

    def __init__(self, name, model, draw):
        self.name, self.model, self.draw = name, model, draw
        code = model.__code__
        known = code.co_varnames + code.co_cellvars
        self.draws = int("word" in known)


def step(name, draw):
    """Registers a model. `draw` generates arguments. If core draws at random, the model takes a last
    argument `word`, the drawn word, which core returns first. (A model that takes the generator draws
    by itself.)"""

    def register(model):
        STEPS.append(Step(name, model, draw))
        return model

    return register
