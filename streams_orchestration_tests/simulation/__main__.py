"""Run simulations: `python -m streams_orchestration_tests.simulation --seed 1 --runs 100 --faults 30`."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from streams_orchestration_tests.simulation import mutant_table
from streams_orchestration_tests.simulation.cases import SIMULATED
from streams_orchestration_tests.simulation.fault_kinds import KINDS, USUAL
from streams_orchestration_tests.simulation.marks import Marks
from streams_orchestration_tests.simulation.mutants import MUTANTS
from streams_orchestration_tests.simulation.pieces import counts, search
from streams_orchestration_tests.simulation.replays import keep, kept, shrink
from streams_orchestration_tests.simulation.runs import Case, Verdict
from streams_orchestration_tests.simulation.shrinking import TRIES
from streams_orchestration_tests.simulation.workers import simulated, warm


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = argparse.ArgumentParser(prog="python -m streams_orchestration_tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="Seed of the first run.")
    parser.add_argument("--runs", type=int, default=1, help="Number of runs; each has the next seed.")
    parser.add_argument("--piece", type=int, metavar="FAULTS", help="Run seeds of all shapes until there were so many.")
    parser.add_argument("--faults", type=int, default=400, help="Most faults of each run.")
    parser.add_argument("--shape", choices=sorted(SIMULATED), default="diamond", help="Shape of the application.")
    parser.add_argument("--variant", type=int, default=0, help="Which application of the shape.")
    parser.add_argument("--rate", type=float, default=0.06, help="Part of the steps that have a fault.")
    parser.add_argument("--kind", choices=sorted(KINDS), nargs="+", default=USUAL, help="Kinds of faults.")
    parser.add_argument("--machines", type=int, default=0, choices=range(4), help="Machines with agents.")
    parser.add_argument("--storage", choices=("local", "s3"), default="local", help="Place of the files.")
    parser.add_argument("--catalog", choices=("sqlite", "postgresql"), default="sqlite", help="Kind of the catalog.")
    parser.add_argument("--mutant", choices=sorted(MUTANTS), help="Run the product with this fault in it.")
    parser.add_argument("--mutants", type=int, metavar="RUNS", help="Search all mutants, or --mutant, in so many runs.")
    parser.add_argument("--until-wrong", action="store_true", help="Stop after the first run that is wrong.")
    parser.add_argument("--keep", type=Path, help="Write the case and the choices of the last run into this file.")
    parser.add_argument("--replay", type=Path, help="Repeat the run in this file.")
    parser.add_argument("--shrink", type=Path, help="Shrink the first wrong run, and write it into this file.")
    parser.add_argument("--tries", type=int, default=TRIES, help="Most runs in which a wrong run is shrunk.")
    parser.add_argument("--trace", action="store_true", help="Print each step.")
    parser.add_argument("--json", action="store_true", help="Print a line of JSON for each run.")
    parser.add_argument("--serve", action="store_true", help="Read options of runs from lines, and answer with JSON.")
    return parser


def main() -> int:
    """Simulate; return 1 if something was wrong."""
    given = parser().parse_args()
    if given.serve:
        return _serve()
    if given.piece:
        return min(search(given.seed, given.piece, given.faults), 1)
    if given.mutants:
        mutant_table.search([given.mutant] if given.mutant else MUTANTS, given.mutants, given.seed)
        return 0
    return _replay(given) if given.replay else _simulate(given)


def _serve() -> int:
    """Simulate what each line asks for; the answer is a line with the lines of JSON, or with the error."""
    warm()
    for line in sys.stdin:
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                given = parser().parse_args([*shlex.split(line), "--json"])
                (_replay if given.replay else _simulate)(given)
            answer: dict[str, Any] = {"verdicts": [json.loads(each) for each in said.getvalue().splitlines()]}
        except (Exception, SystemExit) as error:  # noqa: BLE001  the one who asks shows it
            answer = {"error": repr(error)}
        print(json.dumps(answer), flush=True)
    return 0


def _simulate(given: argparse.Namespace) -> int:
    total, taken, marks = Counter[str](), 0.0, Marks()
    first: Verdict | None = None
    options = (given.faults, given.shape, given.variant, given.rate, tuple(given.kind), given.machines)
    seeds = range(given.seed, given.seed + given.runs)
    cases = [Case(seed, *options, given.storage, given.catalog) for seed in seeds]
    for verdict in simulated(cases, given.mutant, tell=given.trace):
        total, taken = total + counts(verdict), taken + verdict.taken
        marks.add(verdict.places, verdict.hits)
        _show(verdict, as_json=given.json)
        if given.keep:
            keep(given.keep, verdict.case, verdict.choices.made)
        if verdict.wrong and (given.shrink or given.until_wrong):
            first = verdict
            break
    if first is not None and given.shrink:
        _shrink(given, first)
    if not given.json:
        print(marks.report(given.kind))
        print(
            f"{total['faults']} faults, of them {total['useful']} after a batch, {total['working']} while it worked; "
            f"{total['batches']} batches; {total['wrong']} runs wrong; "
            f"{total['useful'] / max(taken, 1e-9):.0f} faults after a batch in a core-second"
        )
    return int(total["wrong"] > 0)


def _replay(given: argparse.Namespace) -> int:
    (verdict,) = simulated([kept(given.replay)], given.mutant, tell=given.trace)
    _show(verdict, as_json=given.json)
    if verdict.wrong and given.shrink:
        _shrink(given, verdict)
    return int(bool(verdict.wrong))


def _shrink(given: argparse.Namespace, verdict: Verdict) -> None:
    said = shrink(given.shrink, verdict, given.mutant, tries=given.tries)
    if not given.json:
        print(said)


def _show(verdict: Verdict, *, as_json: bool) -> None:
    if as_json:
        names = (
            "wrong",
            "faults",
            "crashes",
            "redeploys",
            "steps",
            "simulated",
            "commits",
            "resets",
            "mark",
            "taken",
            "repeated",
            "watermarks",
            "amid",
            "useful",
            "working",
        )
        print(json.dumps({"seed": verdict.case.seed} | {name: getattr(verdict, name) for name in names}), flush=True)
        return
    print(
        f"seed {verdict.case.seed}: {len(verdict.faults)} faults, {len(verdict.redeploys)} redeploys, "
        f"{verdict.resets} resets, {verdict.commits} commits, "
        f"{verdict.steps} steps, {verdict.simulated:.0f} s simulated in {verdict.taken:.1f} s, mark {verdict.mark:08x}",
        flush=True,
    )
    for line in verdict.wrong:
        print(f"WRONG seed {verdict.case.seed}: {line}")
    if verdict.wrong:
        print(*verdict.faults, *verdict.crashes, *verdict.redeploys, sep="\n")


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)
