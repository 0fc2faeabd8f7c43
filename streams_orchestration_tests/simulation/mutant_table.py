"""A search for each mutant over the same cases, and the table of the number of runs after which it was found."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import product

PROGRAM = (sys.executable, "-m", "streams_orchestration_tests.simulation", "--json", "--until-wrong")
PLACES = (
    "--shape diamond", "--shape two_hosts --machines 3", "--shape outside", "--shape two_regions --machines 2",
    "--shape join", "--shape fan_in --machines 3",
)  # fmt: skip
FAULTS = (
    "--rate 0.06", "--rate 0.02", "--kind kill suicide stop --rate 0.02", "--kind zombie --rate 0.02",
    "--kind redeploy suicide --rate 0.005", "--kind redeploy savepoint --rate 0.005", "--kind power --rate 0.005",
    "--kind lost_before lost_after --rate 0.02", "--kind redeploy lost_after lost_before full away --rate 0.01",
    "--kind die freeze cut_catalog cut_all jump --rate 0.02",
)  # fmt: skip
CASES = tuple(f"{place} {faults}" for faults, place in product(FAULTS, PLACES))
"""Options of runs; the seed of a run is its number. A kind that needs machines does nothing without them."""
AT_ONCE = 4
"""Runs in one process."""


def search(mutants: Iterable[str], rounds: int, workers: int) -> None:
    """Print a row for each mutant: the number of runs until it was found, the case, and what was wrong.

    Args:
        mutants: their names.
        rounds: how often all cases are tried, each time with other seeds.
        workers: searches at the same time.
    """
    with ThreadPoolExecutor(workers) as pool:
        for row in pool.map(lambda mutant: _row(mutant, rounds), mutants):
            print(row, flush=True)


def _row(mutant: str, rounds: int) -> str:
    runs = 0
    for number in range(rounds):
        for case in CASES:
            options = (*case.split(), "--runs", str(AT_ONCE), "--seed", str(number * AT_ONCE), "--mutant", mutant)
            if "--machines" not in case and "die" in case:
                continue
            try:
                done = subprocess.run([*PROGRAM, *options], check=False, capture_output=True, text=True, timeout=300)
            except subprocess.TimeoutExpired:
                runs += 1
                return f"| {mutant} | {runs} | `{' '.join(options[:-2])}` | a run that does not end |"
            verdicts = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
            runs += max(len(verdicts), 1)
            if done.returncode not in (0, 1):
                return f"| {mutant} | {runs} | `{case}` | {done.stderr[-300:]!r} |"
            if verdicts and verdicts[-1]["wrong"]:
                last = verdicts[-1]
                return f"| {mutant} | {runs} | `{case} --seed {last['seed']}` | {str(last['wrong'][0])[:160]} |"
    return f"| {mutant} | not in {runs} | | |"
