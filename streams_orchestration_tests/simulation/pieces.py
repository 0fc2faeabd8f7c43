"""Long searches in pieces: seeds of all shapes until there were enough faults, and a line that says what was run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from itertools import count
from typing import Any

from streams_orchestration_tests.chaos.shapes import SHAPES

PROGRAM = (sys.executable, "-m", "streams_orchestration_tests.simulation", "--json")
RUNS = 8
"""Runs of one process, which keeps all threads of processes that were killed."""
RATES = ("0.06", "0.02", "0.12")
"""Parts of the steps that have a fault: with many of them an application hardly comes from one epoch to the next."""
MACHINES = ("0", "3")
"""Machines with agents, apart from the one of those who deploy and heal."""
VARIANTS = 4
"""Applications of a shape that are searched, each with other rates and periods."""


def search(seed: int, faults: int, options: tuple[str, ...] = ()) -> int:
    """Run simulations until there were enough faults; print what was wrong, and a row for the table of what was run.

    Args:
        seed: of the first run.
        faults: the number of faults to reach.
        options: more options of each run.

    Returns:
        The number of runs that were wrong.
    """
    total: Counter[str] = Counter()
    shapes = sorted(SHAPES)
    for number in count():
        if total["faults"] >= faults:
            break
        shape, variant = shapes[number % len(shapes)], number // len(shapes) % VARIANTS
        case = (
            *("--seed", str(seed + number * RUNS), "--runs", str(RUNS), "--shape", shape, "--variant", str(variant)),
            *("--rate", RATES[number % len(RATES)], "--machines", MACHINES[number // 2 % len(MACHINES)]),
        )
        done = subprocess.run([*PROGRAM, *case, *options], check=False, capture_output=True, text=True)
        verdicts: list[dict[str, Any]] = [json.loads(line) for line in done.stdout.splitlines()]
        if len(verdicts) < RUNS:
            total["wrong"] += 1
            print(f"WRONG {' '.join(case)}: status {done.returncode} {done.stderr[-2000:]}", flush=True)
        for verdict in verdicts:
            total += Counter(
                faults=len(verdict["faults"]), redeploys=len(verdict["redeploys"]), resets=verdict["resets"],
                commits=verdict["commits"], wrong=int(bool(verdict["wrong"])), runs=1,
                thousandths=round(1000 * verdict["taken"]),
            )  # fmt: skip
            if verdict["wrong"]:
                print(f"WRONG {shape} {variant}, seed {verdict['seed']}: {verdict['wrong']}", flush=True)
        print(f"{total['faults']} faults in {total['runs']} runs, {total['wrong']} wrong", file=sys.stderr, flush=True)
    print(_row(seed, faults, options, total))
    return total["wrong"]


def _row(seed: int, faults: int, options: tuple[str, ...], total: Counter[str]) -> str:
    described = ("git", "describe", "--always", "--dirty", "--abbrev=8")
    commit = subprocess.run(described, check=False, capture_output=True, text=True).stdout.strip() or "?"
    command = " ".join(("--piece", str(faults), "--seed", str(seed), *options))
    numbers = (f"{total[name]:,}" for name in ("runs", "faults", "redeploys", "resets", "commits", "wrong"))
    return f"| {commit} | `{command}` | {' | '.join(numbers)} | {total['thousandths'] / 1000:,.0f} |"
