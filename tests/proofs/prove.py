#!/usr/bin/env python3
"""Proves the lemmas, and compares their models with core.

cargo xtask test proofs                        # installs the solver and runs everything
python prove.py                                # compares the models with core, then proves the lemmas
python prove.py --mutate                       # refutes the wrong variant of each lemma
python prove.py --models                       # only compares the models with core
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

import lemmas  # noqa: F401  (they register themselves)
from dice import Dice
from lemma import LEMMAS, STEPS

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent


def program():
    """Core's steps, built from this source tree."""
    build = ["cargo", "build", "--quiet", "--package", "tidegate-steps", "--message-format", "json"]
    built = subprocess.run(build, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if built.returncode:
        sys.exit(
            "prove.py: the steps do not build; run `cargo build -p tidegate-steps`."
        )
    messages = (json.loads(line) for line in built.stdout.splitlines())
    return [message["executable"] for message in messages if message.get("executable")][-1]


def plain(answer):
    return [int(number) for number in (answer if isinstance(answer, tuple) else (answer,))]


def ask(core, lines):
    asked = subprocess.run([core], input="\n".join(lines) + "\n", capture_output=True, text=True)
    if asked.returncode:
        sys.exit(f"prove.py: the steps failed: {asked.stderr.strip()}")
    return [[int(word) for word in line.split()] for line in asked.stdout.splitlines()]


def compare(core, step, tries, seed):
    """The first difference between the model and core, if there is one."""
    dice = Dice(f"{step.name} {seed}")
    asked = [step.draw(dice) for _ in range(tries)] if step.draw else [[]]
    hinted = ask(core, [" ".join(map(str, [step.name, *numbers])) for numbers in asked])
    for numbers, core_says in zip(asked, hinted, strict=True):
        # For a random step, core returns the drawn word first.
        words = core_says[: step.draws]
        model_says = plain(step.model(*numbers, *words))
        core_says = core_says[step.draws :]
        if model_says != core_says:
            return f"{step.name} {numbers}: core returns {core_says}, the model {model_says}"
    return None


def compare_all(core, most, seed, tell):
    rows = []
    for step in STEPS:
        since, tries = time.monotonic(), most if step.draw else 1
        differs = compare(core, step, tries, seed)
        rows.append({"step": step.name, "tries": tries, "differs": differs})
        tell(f"{step.name:<16} {tries:>6} {'differs' if differs else 'alike':<8} {seconds(since)}")
        if differs:
            tell(f"    {differs}")
    return rows


def solve(job):
    index, wrong, seed = job
    since = time.monotonic()
    answer, why = LEMMAS[index].answer(wrong, seed)
    return index, answer, why, time.monotonic() - since


def prove_all(wrong, seed, tell):
    expected = "refuted" if wrong else "proved"
    rows = []
    # A process for each lemma: what a solver has solved before changes how it searches.
    with multiprocessing.Pool(min(2, os.cpu_count() or 1), maxtasksperchild=1) as pool:
        jobs = [(index, wrong, seed) for index in range(len(LEMMAS))]
        for index, answer, why, took in pool.imap(solve, jobs):
            lemma = LEMMAS[index]
            good = answer == expected
            row = {"lemma": lemma.name, "place": lemma.place, "says": lemma.says}
            rows.append(
                {**row, "answer": answer, "why": why, "good": good, "seconds": round(took, 2)}
            )
            tell(line(lemma.name, lemma.place, answer, f"{took:5.1f} s"))
            if not good:
                tell(f"    {lemma.says}\n    it should be {expected}: {why}")
    return rows


def line(name, place, answer, took):
    """A line of the table of lemmas."""
    wide = max(len(lemma.name) for lemma in LEMMAS)
    places = max(len(lemma.place) for lemma in LEMMAS)
    return f"{name:<{wide}}  {place:<{places}}  {answer:<8} {took}".rstrip()


def seconds(since):
    return f"{time.monotonic() - since:5.1f} s"


def main():
    read = argparse.ArgumentParser(description="Proves the lemmas about core's arithmetic.")
    read.add_argument("--models", action="store_true", help="only compare the models with core")
    read.add_argument("--lemmas", action="store_true", help="only prove the lemmas")
    read.add_argument("--mutate", action="store_true", help="refute the wrong variant of each lemma")
    read.add_argument("--tries", type=int, default=1000, help="comparisons per step")
    read.add_argument("--seed", type=int, default=0, help="the seed of the comparisons")
    read.add_argument("--json", action="store_true", help="print a JSON object")
    options = read.parse_args()

    def tell(line):
        print(line, file=sys.stderr if options.json else sys.stdout, flush=True)

    since = time.monotonic()
    compared, proved = [], []
    if not (options.mutate or options.lemmas):
        tell(f"{'model':<16} {'tries':>6} {'and core':<8}")
        compared = compare_all(program(), options.tries, options.seed, tell)
    if not options.models:
        tell("\n" + line("wrong variant of" if options.mutate else "lemma", "of core/src", "", ""))
        proved = prove_all(options.mutate, options.seed, tell)
    if not compared and not proved:
        sys.exit("prove.py: nothing was checked.")
    failed = [row for row in compared if row["differs"]] + [
        row for row in proved if not row["good"]
    ]
    if options.json:
        print(json.dumps({"models": compared, "lemmas": proved, "failed": len(failed)}, indent=1))
    what = "wrong variants refuted" if options.mutate else "lemmas proved"
    good = sum(row["good"] for row in proved)
    alike = sum(not row["differs"] for row in compared)
    said = [f"{alike} of {len(compared)} models agree with core"] if compared else []
    said += [f"{good} of {len(proved)} {what}"] if proved else []
    tell(f"\n{'; '.join(said)} ({seconds(since).strip()})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
