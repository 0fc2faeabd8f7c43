"""Long searches in pieces: seeds of all shapes until there were enough faults, and a line that says what was run."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from streams_orchestration_tests.simulation.cases import SIMULATED
from streams_orchestration_tests.simulation.choices import Choices, Made
from streams_orchestration_tests.simulation.marks import Marks
from streams_orchestration_tests.simulation.replays import keep
from streams_orchestration_tests.simulation.runs import Case, Verdict
from streams_orchestration_tests.simulation.workers import Wanted, simulated, warm

RUNS = 8
"""Runs of a case, each with another seed."""
RATES = (0.06, 0.02, 0.12)
"""Parts of the steps that have a fault: with many of them an application hardly comes from one epoch to the next."""
MACHINES = (0, 3)
"""Machines with agents, apart from the one of those who deploy and heal."""
STORAGES = ("local", "s3")
"""Places of the files that the catalog names."""
CATALOGS = ("sqlite", "postgresql")
"""Kinds of catalogs."""
COLUMNS = ("runs", "faults", "useful", "working", "batches", "redeploys", "resets", "wrong")
"""Columns of the table of what was run, between the command and the core-seconds."""
VARIED = 4
"""Runs for each of which one more is a variation of a run that has hit a new mark."""
VARIANTS = 4
"""Applications of a shape that are searched, each with other rates and periods."""


def search(seed: int, faults: int, most: int) -> int:
    """Run simulations until there were enough faults; print what was wrong, and a row for the table of what was run.

    A row of what was run so far goes to the standard error after each shape, so that a search that is ended early has
    one, too. A run that is wrong is written into a file, and shrunk by hand afterwards, since that takes minutes.

    Args:
        seed: of the first run.
        faults: the number of faults to reach.
        most: most faults of a run.

    Returns:
        The number of runs that were wrong.
    """
    total: Counter[str] = Counter()
    command = f"--piece {faults} --seed {seed} --faults {most}"
    warm()
    shapes, marks, kept = sorted(SIMULATED), Marks(), list[tuple[Case, Made]]()
    for number in count():
        if total["faults"] >= faults:
            break
        shape, variant = shapes[number % len(shapes)], number // len(shapes) % VARIANTS
        rate, machines = RATES[number % len(RATES)], MACHINES[number // 2 % len(MACHINES)]
        storage = STORAGES[number // 4 % len(STORAGES)]
        catalog = CATALOGS[(number + number // len(shapes)) % len(CATALOGS)]
        first = seed + number * RUNS
        wanted: list[Wanted] = [
            Case(
                *(each, most, shape, variant, rate),
                machines=machines,
                storage=storage,
                catalog=catalog,
            )
            for each in range(first, first + RUNS)
        ]
        wanted += [_variation(kept, first + RUNS * seed + number) for _ in range(RUNS // VARIED) if kept]
        for verdict in simulated(wanted):
            total += counts(verdict)
            if marks.add(verdict.places, verdict.hits):
                kept.append((verdict.case, verdict.choices.made))
            if verdict.wrong:
                path = Path(tempfile.gettempdir(), f"simulation-{seed}-{total['runs']}.json")
                keep(path, verdict.case, verdict.choices.made)
                print(f"WRONG {verdict.case}: {verdict.wrong}; again: --replay {path}", flush=True)
                print(f"to shrink it: --replay {path} --shrink {path.with_suffix('.shrunk.json')}", flush=True)
        print(_row(command, total), file=sys.stderr, flush=True)
    print(marks.report())
    print(_row(command, total))
    return total["wrong"]


def _variation(kept: Sequence[tuple[Case, Made]], seed: int) -> tuple[Case, Choices]:
    """Return a run that begins as one that has hit a new mark, and then goes another way."""
    choose = random.Random(seed)
    case, made = choose.choice(kept)
    return case, Choices.varied(made, seed, choose.random())


def counts(verdict: Verdict) -> Counter[str]:
    """Return what a run adds to a row."""
    return Counter(
        runs=1, faults=len(verdict.faults), useful=verdict.useful, working=verdict.working, batches=verdict.amid,
        redeploys=len(verdict.redeploys), resets=verdict.resets, wrong=int(bool(verdict.wrong)),
        thousandths=round(1000 * verdict.taken),
    )  # fmt: skip


def _row(command: str, total: Counter[str]) -> str:
    described = ("git", "describe", "--always", "--dirty", "--abbrev=8")
    commit = subprocess.run(described, check=False, capture_output=True, text=True).stdout.strip() or "?"
    numbers = (f"{total[name]:,}" for name in COLUMNS)
    return f"| {commit} | `{command}` | {' | '.join(numbers)} | {total['thousandths'] / 1000:,.0f} |"
