"""A search for each mutant over the same cases, and the table of the number of runs after which it was found."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from itertools import count, islice, product

from streams_orchestration_tests.simulation.fault_kinds import USUAL
from streams_orchestration_tests.simulation.runs import Case
from streams_orchestration_tests.simulation.workers import simulated

PLACES = (("diamond", 0), ("two_hosts", 3), ("outside", 0), ("two_regions", 2), ("join", 0), ("fan_in", 3))
"""Shapes, each with a number of machines."""
FAULTS: tuple[tuple[float, tuple[str, ...]], ...] = (
    (0.06, ()), (0.02, ("kill", "suicide", "stop")), (0.02, ("zombie",)), (0.005, ("redeploy", "suicide")),
    (0.005, ("power",)), (0.02, ()), (0.02, ("lost_before", "lost_after")), (0.005, ("redeploy", "savepoint")),
    (0.02, ("die", "freeze", "cut_catalog", "cut_all", "jump", "kill")),
    (0.01, ("redeploy", "lost_after", "lost_before", "full", "away")), (0.01, ("kill", "jump", "lost_before")),
)  # fmt: skip
"""Rates with kinds of faults; without any, all kinds."""
KILLS = ("kill", "suicide", "stop")
REDEPLOYS = ("redeploy", "kill", "suicide")
SUITED: dict[str, tuple[float, tuple[str, ...], tuple[str, ...], int]] = {
    "the last commit of an epoch tells nobody": (0.01, KILLS, ("diamond", "two_regions"), 0),
    "states after the cut are kept": (0.02, KILLS, ("diamond", "two_regions"), 0),
    "commits after the cut are kept": (0.02, KILLS, ("diamond", "two_regions"), 0),
    "a reset keeps the generation": (0.02, (*KILLS, "zombie"), ("two_regions", "diamond"), 0),
    "an epoch is complete with its first PE": (0.02, KILLS, ("diamond", "two_regions"), 0),
    "a reset repeats the number of its epoch": (0.02, KILLS, ("diamond", "two_regions"), 0),
    "a file that was not moved counts as published": (0.02, KILLS, ("diamond", "two_regions"), 0),
    "what a reset took back stays": (0.02, KILLS, ("diamond", "two_regions"), 0),
    "contents are not synchronised": (0.005, ("power",), ("diamond", "two_regions"), 0),
    "names of new directories are not synchronised": (0.005, ("power",), ("diamond", "two_regions"), 0),
    "two redeploys are under way at once": (0.01, ("redeploy",), ("diamond", "two_regions"), 0),
    "the states of a trial's cut are collected": (0.006, REDEPLOYS, ("diamond", "join"), 0),
    "a revert takes nothing back": (0.05, ("spoil",), ("diamond", "two_regions"), 0),
    "a revert repeats generations": (0.05, ("spoil",), ("diamond", "two_regions"), 0),
    "a redeploy repeats the generation": (0.006, (*REDEPLOYS, "zombie"), ("diamond", "two_regions"), 0),
    "files are removed before the commit": (0.02, ("kill", "lost_behind"), ("diamond", "two_regions"), 0),
    "a commit takes no turn of its unit": (0.02, ("slow_commit",), ("two_regions", "outside"), 0),
    "the garbage of all units is collected in the turn of one": (0.02, ("slow_commit",), ("two_regions", "outside"), 0),
    "PEs that have an epoch open are counted as they were read": (
        0.02, ("slow_commit", "kill"), ("diamond", "two_regions"), 0,
    ),
    "an operator has the greatest watermark of its streams": (0.02, ("kill", "stop"), ("event_time",), 0),
    "numbers of segments are used twice": (0.02, ("kill", "suicide"), ("outside", "diamond"), 0),
    "a reset begins though a host is missing": (0.02, ("kill", "suicide"), ("two_hosts", "fan_in"), 3),
    "a PE that has not restarted counts as reset": (0.02, ("kill", "stop"), ("diamond", "join"), 0),
    "a replaced host goes on": (0.01, ("zombie", "freeze"), ("two_hosts", "diamond"), 3),
    "a replaced host writes heartbeats": (0.01, ("zombie", "freeze"), ("two_hosts", "diamond"), 3),
    "a replaced host sweeps": (0.03, ("late_sweep",), ("two_hosts", "diamond"), 3),
    "a sweep asks the catalog before it lists": (0.03, ("late_sweep",), ("two_hosts", "diamond"), 3),
    "files are swept before a unit is healthy": (0.03, ("late_sweep", "kill"), ("two_hosts", "diamond"), 3),
    "hosts are killed as orphans though they are wanted": (
        0.02, ("kill", "lost_before", "lost_rare"), ("two_hosts", "fan_in"), 0,
    ),
    "tuples between units do not count when these are drained": (0.01, ("redeploy", "stop"), ("outside",), 0),
    "states are carried over without a check of the cut": (0.01, ("redeploy", "kill", "stop"), ("diamond", "join"), 0),
    "states are removed though their switch may have been made": (
        0.008, ("redeploy", "lost_switch"), ("diamond", "join"), 0,
    ),
    "garbage is collected by a plan that was replaced": (0.5, ("late_collection",), ("read_twice",), 3),
    "small states of a savepoint are not synchronised": (0.005, ("savepoint",), ("diamond", "two_regions"), 0),
    "a query of a plan that was replaced goes on": (0.01, ("zombie", "redeploy", "kill"), ("diamond", "two_hosts"), 2),
    "a revert repeats epochs": (0.05, ("spoil",), ("two_regions", "diamond"), 0),
    "a revert repeats numbers of segments": (0.05, ("spoil",), ("diamond", "two_regions"), 0),
    "heartbeats are of the machine's clock": (0.01, ("jump", "kill"), ("two_hosts", "diamond"), 3),
    "a process is known by its pid alone": (0.02, ("kill", "suicide"), ("two_hosts", "diamond"), 2),
    "a process is known by the wall clock": (0.01, ("jump",), ("two_hosts", "diamond"), 3),
    "an agent starts a host twice": (0.02, ("kill", "lost_rare"), ("two_hosts", "diamond"), 3),
    "a host that is started too late is not killed": (0.02, ("freeze", "lost_rare", "kill"), ("two_hosts",), 3),
    "the lease of a former agent is not awaited": (0.02, ("die", "freeze"), ("two_hosts", "diamond"), 3),
    "a slow reading of the clock replaces a fast one": (0.02, ("freeze", "stop"), ("two_hosts", "diamond"), 3),
}  # fmt: skip
"""Mutant -> the rate, kinds of faults, shapes and number of machines that suit it."""
MOST_FAULTS = 20
MOST_SEEDS = 1_000
SUITED_SHARE = 5, 6
"""The share of the runs of a mutant that are suited to it."""
SHOWN = 160
"""Characters of what was wrong that the table shows."""


def cases(first: int = 0) -> Iterator[Case]:
    """Yield cases without end: each kind of faults in each place, and then the same with the next seed."""
    for seed in count(first):
        for (rate, kinds), (shape, machines) in product(FAULTS, PLACES):
            if "die" not in kinds or machines:
                yield Case(seed, MOST_FAULTS, shape, 0, rate, kinds or USUAL, machines)


def search(mutants: Iterable[str], runs: int, first: int = 0) -> None:
    """Print a row for each mutant: the number of runs until it was found, the case, and what was wrong.

    Args:
        mutants: their names.
        runs: most runs for each.
        first: the first seed.
    """
    for mutant in mutants:
        suited = list(islice(_suited(mutant, first), runs * SUITED_SHARE[0] // SUITED_SHARE[1]))
        print(_row(mutant, suited + list(islice(cases(first), runs - len(suited)))), flush=True)


def _suited(mutant: str, first: int) -> Iterator[Case]:
    if mutant in SUITED:
        rate, kinds, shapes, machines = SUITED[mutant]
        for seed, shape in product(range(first, first + MOST_SEEDS), shapes):
            catalog = "postgresql" if "slow_commit" in kinds else "sqlite"
            yield Case(seed, MOST_FAULTS, shape, 0, rate, kinds, machines, catalog=catalog)


def _row(mutant: str, wanted: list[Case]) -> str:
    faults = 0
    for number, verdict in enumerate(simulated(wanted, mutant, seconds=120.0), 1):
        faults += len(verdict.faults)
        if verdict.wrong:
            case = verdict.case
            options = f"--shape {case.shape} --machines {case.machines} --rate {case.rate} --seed {case.seed}"
            options += f" --catalog {case.catalog}" if case.catalog != "sqlite" else ""
            kinds = "" if case.kinds == USUAL else f" --kind {shlex.join(case.kinds)}"
            wrong = str(verdict.wrong[0])[:SHOWN]
            return f"| {mutant} | {number} | {faults} | `--faults {case.faults} {options}{kinds}` | {wrong} |"
    return f"| {mutant} | not in {len(wanted)} | {faults} | | |"
