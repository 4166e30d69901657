#!/usr/bin/env python3
"""Breaks the core line by line, and tells who notices.

    cargo xtask breaks                  # all of breaks.toml, and tests/golden/breaks.md
    cargo xtask breaks --only vegas     # those whose names hold the word; no table

Each break is made in a copy of this tree, with a target folder of its own.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

sys.dont_write_bytecode = True

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent
PLACE = ROOT / "target/breaks"
COPY = PLACE / "tree"
TABLE = ROOT / "tests/golden/breaks.md"
PACKAGES = ["tidegate-conformance", "tidegate-steps", "tidegate-exhaustive"]
LONGEST = 90
"""Seconds for a witness: a break that makes it run for ever is noticed, too."""
TRIES = "300"


def fail(sentence):
    sys.exit(f"breaks: {sentence}")


def copy():
    """This tree as it is, without what git ignores. Files that are the same keep their times, so that
    cargo builds again only what has changed."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout
    wanted = {name for name in names.decode().split("\0") if name and (ROOT / name).is_file()}
    for name in wanted:
        source, target = ROOT / name, COPY / name
        if not target.exists() or target.read_bytes() != source.read_bytes():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)
    for path in COPY.rglob("*"):
        if path.is_file() and str(path.relative_to(COPY)) not in wanted:
            path.unlink()


def run(command, seconds=None, errors=subprocess.STDOUT):
    """Its exit status and what it says; no status where its time was up."""
    # Half of building is what debuggers would read.
    own = {"CARGO_TARGET_DIR": str(PLACE / "target"), "CARGO_PROFILE_DEV_DEBUG": "0"}
    environment = os.environ | own
    with subprocess.Popen(
        command,
        cwd=COPY,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as program:
        try:
            said, _ = program.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            # With all that it has started: a broken core may go round for ever in one of those.
            os.killpg(program.pid, signal.SIGKILL)
            return None, ""
        except BaseException:
            os.killpg(program.pid, signal.SIGKILL)
            raise
    return program.returncode, said


def build():
    packages = [word for package in PACKAGES for word in ("--package", package)]
    return run(["cargo", "build", "--quiet", *packages])


def program(name):
    return str(PLACE / "target/debug" / name)


def vectors():
    """How many of the oracle's answers are not the core's."""
    status, said = run([program("tidegate-conformance"), str(COPY / "tests/vectors")], LONGEST)
    if status is None:
        return "never end"
    sums = [line.split() for line in said.splitlines() if line.startswith("all ")]
    if not sums:
        return "stop"
    return f"{sums[0][3]} differ" if sums[0][3] != "0" else None


def models():
    """Which models of the lemmas are the core's no more."""
    prove = [sys.executable, str(COPY / "tests/proofs/prove.py"), "--models", "--json"]
    status, said = run([*prove, "--tries", TRIES], LONGEST, subprocess.DEVNULL)
    if status is None:
        return "never end"
    if not said:
        return "stop"
    rows = json.loads(said)["models"]
    return ", ".join(row["step"] for row in rows if row["differs"]) or None


def exhaustive():
    """Which promise a small policy breaks."""
    status, said = run([program("tidegate-exhaustive"), "--quick"], LONGEST)
    if status is None:
        return "never ends"
    if status == 0:
        return None
    broken = [line for line in said.splitlines() if line.startswith("broken: ")]
    return broken[0].removeprefix("broken: ") if broken else "stops"


WITNESSES = {"vectors": vectors, "models": models, "exhaustive": exhaustive}


def try_one(broken):
    """What each witness says of the break."""
    path = COPY / "core/src" / broken["file"]
    whole = path.read_text()
    if whole.count(broken["old"]) != 1:
        fail(
            f"`{broken['name']}` finds its old text {whole.count(broken['old'])} times in "
            f"core/src/{broken['file']}: bring breaks.toml up to date with it."
        )
    path.write_text(whole.replace(broken["old"], broken["new"]))
    try:
        status, said = build()
        if status:
            fail(f"`{broken['name']}` does not build: mend `new` in breaks.toml.\n{said}")
        return {name: witness() for name, witness in WITNESSES.items()}
    finally:
        path.write_text(whole)


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def table(rows):
    caught = [row for row in rows if row["caught"]]
    lines = [
        "# What notices a broken line",
        "",
        "Made by `cargo xtask breaks`, from `tests/breaks/breaks.toml`: single lines of the core's",
        "arithmetic, each broken by hand as somebody might break it. `vectors` are the oracle's",
        "(`tests/vectors`), `models` those of the lemmas, which must answer as the core does",
        "(`tests/proofs`), `exhaustive` the walk through all that small policies can come to",
        "(`tests/exhaustive`). A dash is a witness that noticed nothing.",
        "",
        f"{len(rows)} breaks: {len(caught)} noticed, {len(rows) - len(caught)} not.",
        "",
        "| break | in core/src | vectors | models | exhaustive |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        told = [cell(row[name] or "–") for name in WITNESSES]
        lines.append(f"| {cell(row['name'])} | {row['file']} | {' | '.join(told)} |")
    return "\n".join(lines) + "\n"


def main():
    read = argparse.ArgumentParser(description="Breaks the core line by line; who notices?")
    read.add_argument("--only", metavar="WORD", help="the breaks whose names hold the word")
    read.add_argument("--json", action="store_true", help="one object, for scripts")
    options = read.parse_args()

    def tell(line):
        print(line, file=sys.stderr if options.json else sys.stdout, flush=True)

    every = tomllib.loads((FOLDER / "breaks.toml").read_text())["break"]
    wanted = [broken for broken in every if (options.only or "") in broken["name"]]
    if not wanted:
        fail(f"no break is called anything like `{options.only}`; breaks.toml names them all.")
    copy()
    tell("building the tree as it is")
    status, said = build()
    if status:
        fail(f"the tree does not build as it is:\n{said}")
    already = {name: said for name, witness in WITNESSES.items() if (said := witness())}
    if already:
        fail(f"the tree is broken as it is: {already}. Mend it first.")
    rows = []
    for number, broken in enumerate(wanted, 1):
        since = time.monotonic()
        said = try_one(broken)
        caught = any(said.values())
        rows.append({"name": broken["name"], "file": broken["file"], "caught": caught, **said})
        by = "; ".join(f"{name}: {what}" for name, what in said.items() if what)
        took = f"{time.monotonic() - since:.0f} s"
        tell(f"{number:>3}/{len(wanted)} {broken['name']}: {by or 'NOBODY NOTICES'} ({took})")
    if options.json:
        print(json.dumps(rows, indent=1))
    survivors = [row["name"] for row in rows if not row["caught"]]
    if not options.only:
        TABLE.write_text(table(rows))
    tell(f"{len(rows)} breaks: {len(rows) - len(survivors)} noticed, {len(survivors)} not")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
