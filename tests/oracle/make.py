#!/usr/bin/env python3
"""Writes tests/vectors/*.jsonl. With --check, reports whether they are up to date."""

import sys
from pathlib import Path

sys.dont_write_bytecode = True

from families import adaptive, bodies, clients, policies, queues, signals
from laws import LAWS
from script import line

FILES = {
    "adaptive": adaptive.vectors,
    **{f"clients-{name}": clients.of(name) for name in LAWS},
    "policies": policies.vectors,
    "queues": queues.vectors,
    "http": signals.http,
    "codes": signals.codes,
    "bodies": bodies.vectors,
}
FOLDER = Path(__file__).resolve().parent.parent / "vectors"


def text_of(vectors):
    lines, names = [], set()
    for vector in vectors():
        assert vector["name"] not in names, f"two vectors are called {vector['name']!r}"
        names.add(vector["name"])
        lines.append(line(vector))
    return "\n".join(lines) + "\n", len(lines)


def main():
    check = sys.argv[1:] == ["--check"]
    total, stale = 0, []
    for name, vectors in FILES.items():
        text, count = text_of(vectors)
        total += count
        path = FOLDER / f"{name}.jsonl"
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            stale.append(path.name)
        print(f"{name:<14} {count:>6} vectors {len(text) // 1024:>6} KiB", flush=True)
    print(f"{'all':<14} {total:>6} vectors")
    if stale:
        sys.exit(
            f"out of date: {', '.join(stale)}; run python3 tests/oracle/make.py"
        )


main()
