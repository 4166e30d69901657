#!/usr/bin/env python3
"""Proves the lemmas, and compares their models with core.

cargo xtask test proofs                        # installs the solver and runs everything
python prove.py                                # compares the models with core, then proves the lemmas
python prove.py --mutate                       # refutes the wrong variant of each lemma
python prove.py --models                       # only compares the models with core
"""

import argparse
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True
ROOT = Path(__file__).resolve().parent.parent.parent
# Where `cargo xtask setup pip` installs the solver.
sys.path.append(str(ROOT / "target/pip"))

import lemmas  # noqa: F401  (they register themselves)
from dice import Dice
from lemma import LEMMAS, STEPS


def ask(lines):
    """What core's steps return, built from this source tree."""
    run = ["cargo", "run", "--quiet", "--package", "tidegate-steps"]
    asked = subprocess.run(run, cwd=ROOT, input="\n".join(lines) + "\n", stdout=subprocess.PIPE, text=True)
    if asked.returncode:
        sys.exit("prove.py: the steps do not build or failed; run `cargo build -p tidegate-steps`.")
    return [[int(word) for word in line.split()] for line in asked.stdout.splitlines()]


def difference(step, numbers, core_says):
    """How the model and core differ. `None` if they are alike."""
    # For a random step, core returns the drawn word first.
    words, core_says = core_says[: step.draws], core_says[step.draws :]
    answer = step.model(*numbers, *words)
    model_says = [int(number) for number in (answer if isinstance(answer, tuple) else (answer,))]
    if model_says == core_says:
        return None
    return f"{step.name} {numbers}: core returns {core_says}, the model {model_says}"


def compare_all(tries, seed):
    """Prints the first difference of each model. Whether there is none."""
    asked = []
    for step in STEPS:
        dice = Dice(f"{step.name} {seed}")
        asked += [(step, step.draw(dice)) for _ in range(tries)]
    answers = ask([" ".join(map(str, [step.name, *numbers])) for step, numbers in asked])
    differs = {}
    for (step, numbers), core_says in zip(asked, answers, strict=True):
        if found := difference(step, numbers, core_says):
            differs.setdefault(step.name, found)
    for found in differs.values():
        print(found)
    print(f"{len(STEPS) - len(differs)} of {len(STEPS)} models agree with core", flush=True)
    return not differs


def solve(job):
    index, wrong, seed = job
    since = time.monotonic()
    answer, why = LEMMAS[index].answer(wrong, seed)
    return index, answer, why, time.monotonic() - since


def prove_all(wrong, seed):
    expected, good = "refuted" if wrong else "proved", 0
    wide = max(len(lemma.name) for lemma in LEMMAS)
    # A process for each lemma: what a solver has solved before changes how it searches.
    with multiprocessing.Pool(min(2, os.cpu_count() or 1), maxtasksperchild=1) as pool:
        jobs = [(index, wrong, seed) for index in range(len(LEMMAS))]
        for index, answer, why, took in pool.imap(solve, jobs):
            lemma = LEMMAS[index]
            print(f"{lemma.name:<{wide}}  {lemma.place}  {answer} {took:.1f} s", flush=True)
            good += answer == expected
            if answer != expected:
                print(f"    {lemma.says}\n    it should be {expected}: {why}")
    print(f"{good} of {len(LEMMAS)} {'wrong variants refuted' if wrong else 'lemmas proved'}")
    return good == len(LEMMAS)


def main():
    read = argparse.ArgumentParser(description="Proves the lemmas about core's arithmetic.")
    read.add_argument("--models", action="store_true", help="only compare the models with core")
    read.add_argument("--lemmas", action="store_true", help="only prove the lemmas")
    read.add_argument("--mutate", action="store_true", help="refute the wrong variant of each lemma")
    read.add_argument("--tries", type=int, default=1000, help="comparisons per step")
    read.add_argument("--seed", type=int, default=0, help="the seed of the comparisons")
    options = read.parse_args()
    good = True
    if not (options.mutate or options.lemmas):
        good &= compare_all(options.tries, options.seed)
    if not options.models:
        good &= prove_all(options.mutate, options.seed)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
