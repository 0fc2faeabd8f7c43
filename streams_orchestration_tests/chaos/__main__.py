"""`python -m streams_orchestration_tests.chaos --seed 1 --faults 200`."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from streams_orchestration_tests.chaos.chaos_run import Case, Verdict, as_document, run
from streams_orchestration_tests.chaos.fed_panes import FED
from streams_orchestration_tests.chaos.healers import HEALERS
from streams_orchestration_tests.chaos.pairs import PAIRS
from streams_orchestration_tests.chaos.queries import QUERIES
from streams_orchestration_tests.chaos.redeploys import KINDS
from streams_orchestration_tests.chaos.shapes import SHAPES

CATALOGS = ["sqlite", "postgresql"]


def cases(given: argparse.Namespace) -> Iterator[Case]:
    """Yield one application after the other, until there are enough faults."""
    usual = [*SHAPES, *(QUERIES if given.engine == "spark" else ())]
    shapes, healers, catalogs = given.shape or usual, given.healer or list(HEALERS), given.catalog or CATALOGS
    faults = given.faults
    number = 0
    while faults > 0:
        count = min(given.each, faults)
        yield Case(
            shapes[number % len(shapes)],
            given.seed + number,
            count,
            healers[number % len(healers)],
            given.engine,
            catalogs[(number + number // len(shapes)) % len(catalogs)],
            tuple(given.kind or ()),
            given.storage,
        )
        faults -= count
        number += 1


def main(arguments: list[str] | None = None) -> int:
    """0 when everything was as in an undisturbed run."""
    parser = argparse.ArgumentParser(prog="python -m streams_orchestration_tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of applications and faults")
    parser.add_argument("--faults", type=int, default=200, help="in all")
    parser.add_argument(
        "--shape",
        action="append",
        choices=[*SHAPES, *QUERIES, *PAIRS, *FED],
        help="of the applications, with queries of Spark's, or a pair of servers; may be repeated",
    )
    parser.add_argument("--healer", action="append", choices=list(HEALERS), help="may be repeated")
    parser.add_argument("--engine", choices=["spark", "local"], default="spark", help="local: hosts without Spark")
    parser.add_argument("--catalog", action="append", choices=CATALOGS, help="may be repeated")
    parser.add_argument(
        "--storage", choices=["home", "s3"], default="home", help="s3: files that the catalog names are in a server"
    )
    parser.add_argument("--each", type=int, default=25, help="faults for one application")
    parser.add_argument("--kind", action="append", choices=list(KINDS), help="of faults; may be repeated")
    parser.add_argument("--place", type=Path, help="a directory that is kept; a temporary one when left out")
    parser.add_argument("--report", type=Path, help="JSON file for everything that was found")
    given = parser.parse_args(arguments)
    if given.engine == "local" and (only := set(given.shape or ()) & set(QUERIES)):
        parser.error(f"--shape {min(only)} needs --engine spark")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # running applications are stopped on the way out
    verdicts: list[Verdict] = []
    began = time.time()
    with tempfile.TemporaryDirectory(prefix="chaos-") as directory:
        root = given.place or Path(directory)
        for case in cases(given):
            place = root / f"{case.shape}-{case.seed}"
            place.mkdir(parents=True)
            verdicts.append(run(case, place, small_disk=True))
            print(told(verdicts[-1]), flush=True)
            if given.report:
                given.report.write_text(json.dumps([as_document(verdict) for verdict in verdicts], indent=1))
    print(table(verdicts))
    wrong = [verdict for verdict in verdicts if verdict.wrong]
    faults = sum(len(verdict.faults) for verdict in verdicts)
    redeploys = sum(verdict.redeploys for verdict in verdicts)
    done = f"{faults} faults, {redeploys} redeploys, {len(verdicts)} applications, {len(wrong)} of them wrong"
    print(f"{done}, {time.time() - began:.0f} s")
    return 1 if wrong else 0


def told(verdict: Verdict) -> str:
    """Return one application."""
    how = f"{verdict.engine}, {verdict.catalog}, files in {verdict.storage}, healed by {verdict.healer}"
    head = (
        f"{verdict.shape} (seed {verdict.seed}, {verdict.pes} PEs, {how}): {len(verdict.faults)} faults, "
        f"{verdict.redeploys} redeploys, {verdict.resets} resets, {verdict.tuples} tuples, "
        f"{f'{verdict.idle} times idle, ' if verdict.idle else ''}"
        f"at most {verdict.most_bytes / 1e6:.1f} MB, "
        f"{verdict.seconds:.0f} s"
    )
    again = (
        f"--shape {verdict.shape} --seed {verdict.seed} --healer {verdict.healer} --engine {verdict.engine} "
        f"--catalog {verdict.catalog} --storage {verdict.storage} --faults {verdict.wanted} --each {verdict.wanted}"
    )
    return "\n".join([head, *(f"  WRONG ({again}): {wrong}" for wrong in verdict.wrong)])


def table(verdicts: list[Verdict]) -> str:
    """Return a table of the faults by kind: counts, resets and healing times."""
    lines = [f"{'fault':<40}{'count':>6}{'resets':>7}{'healed in s, median':>21}{'most':>7}"]
    faults = [fault for verdict in verdicts for fault in verdict.faults]
    for kind in KINDS:
        these = [fault for fault in faults if fault.kind == kind]
        times = [fault.healed for fault in these if fault.healed is not None]
        if these:
            middle, most = (f"{median(times):.1f}", f"{max(times):.1f}") if times else ("", "")
            reset = sum(bool(fault.resets) for fault in these)
            lines.append(f"{kind:<40}{len(these):>6}{reset:>7}{middle:>21}{most:>7}")
    for name in ("detected", "decided", "restarted"):
        times = [value for fault in faults if (value := getattr(fault, name)) is not None]
        if times:
            lines.append(
                f"{name + ', of those with a reset':<40}{len(times):>6}{'':>7}{median(times):>21.1f}{max(times):>7.1f}"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
