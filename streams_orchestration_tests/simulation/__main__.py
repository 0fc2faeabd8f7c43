"""Run simulations: `python -m streams_orchestration_tests.simulation --seed 1 --runs 100 --faults 30`."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys

from streams_orchestration_tests.chaos.shapes import SHAPES
from streams_orchestration_tests.simulation.faults import KINDS
from streams_orchestration_tests.simulation.mutants import MUTANTS
from streams_orchestration_tests.simulation.runs import Case, run


def main() -> int:
    """Simulate; return 1 if something was wrong."""
    parser = argparse.ArgumentParser(prog="python -m streams_orchestration_tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="Seed of the first run.")
    parser.add_argument("--runs", type=int, default=1, help="Number of runs; each has the next seed.")
    parser.add_argument("--faults", type=int, default=30, help="Faults of each run.")
    parser.add_argument("--shape", choices=sorted(SHAPES), default="diamond", help="Shape of the application.")
    parser.add_argument("--rate", type=float, default=0.02, help="Part of the steps that have a fault.")
    parser.add_argument("--kind", choices=sorted(KINDS), nargs="+", default=tuple(KINDS), help="Kinds of faults.")
    parser.add_argument("--mutant", choices=sorted(MUTANTS), help="Run the product with this fault in it.")
    parser.add_argument("--trace", action="store_true", help="Print each step.")
    given = parser.parse_args()
    with MUTANTS[given.mutant].installed() if given.mutant else contextlib.nullcontext():
        return _simulate(given)


def _simulate(given: argparse.Namespace) -> int:
    wrong, faults, taken = 0, 0, 0.0
    for seed in range(given.seed, given.seed + given.runs):
        verdict = run(Case(seed, given.faults, given.shape, 0, given.rate, tuple(given.kind)), tell=given.trace)
        faults, taken = faults + len(verdict.faults), taken + verdict.taken
        print(
            f"seed {seed}: {len(verdict.faults)} faults, {verdict.resets} resets, {verdict.commits} commits, "
            f"{verdict.steps} steps, {verdict.simulated:.0f} s simulated in {verdict.taken:.1f} s, "
            f"mark {verdict.mark:08x}"
        )
        for line in verdict.wrong:
            wrong += 1
            print(f"WRONG seed {seed}: {line}")
            print(*verdict.faults, *verdict.crashes, sep="\n")
    print(f"{faults} faults, {wrong} wrong, {faults / max(taken, 1e-9):.0f} faults a core-second")
    return int(wrong > 0)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # greenlets that were put aside are not to run at the end of the interpreter
