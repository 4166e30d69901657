#!/usr/bin/env python3
"""Random vectors, to explore beyond the committed ones.

    python3 tests/oracle/search.py SEED COUNT FOLDER
"""

import sys
from pathlib import Path

sys.dont_write_bytecode = True

from families import clients, signals
from families.tools import Dice
from laws import LAWS
from script import line


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    seed, count, folder = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    folder.mkdir(parents=True, exist_ok=True)
    dice = Dice(seed)
    makers = {"clients": lambda number: clients.client(dice, dice.of(list(LAWS)), number)}
    makers["responses"] = lambda number: signals.any_response(dice, number)
    for name, make in makers.items():
        with (folder / f"{name}.jsonl").open("w") as file:
            for number in range(count):
                print(line(make(number)), file=file)
        print(f"{count} {name}", flush=True)


main()
