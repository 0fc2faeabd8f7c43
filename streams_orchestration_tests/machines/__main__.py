"""`python -m streams_orchestration_tests.machines --seed 1 --faults 60`: faults of machines and of links to them."""

from __future__ import annotations

import argparse
import itertools
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from streams_orchestration_tests.chaos.shapes import Shape, shape_of
from streams_orchestration_tests.machines.faults import CLOCKS, FAULTS, LAST, Fault, drawn
from streams_orchestration_tests.machines.machine_cluster import Field, apart, field_of

SHAPES = ("chain", "diamond", "two_regions", "fan_in", "join")
FAULT_SECONDS = 45.0
"""For which there are tuples, for each fault."""


def faults_of(field: Field, faults: Iterable[Fault], choose: random.Random) -> Iterator[str]:
    """Yield faults, each on a machine that has hosts, and healed before the next one.

    Yields:
        What was wrong: a unit was reset that none of this fault and the one before had touched.
    """
    touched: set[str] = set()
    for number, fault in enumerate(faults):
        machine = field.machines[choose.choice(sorted({*field.on()} & {*field.machines} - field.lost))]
        before, had = field.resets, touched
        touched = field.units_on(machine.name) if fault.resets else set()
        began = time.monotonic()
        what = fault.happen(field, machine, choose)
        over = time.monotonic()
        field.goes_on()
        resets = {unit: more for unit, now in field.resets.items() if (more := now - before.get(unit, 0))}
        print(
            f"{time.strftime('%H:%M:%S')} {number + 1:3}. {machine.name}: {fault.name} ({what}); "
            f"{over - began:.0f} s, goes on after {time.monotonic() - over:.1f} s; "
            f"resets {resets or 'none'}",
            flush=True,
        )
        if without := resets.keys() - touched - had:
            yield f"fault {number + 1} ({fault.name}) reset {', '.join(sorted(without))}"


def shape_for(name: str, seed: int, count: int) -> Shape:
    """Return an application that lasts for so many faults."""
    return apart(shape_of(name, seed, (count + 2) * FAULT_SECONDS))


def run(name: str, seed: int, faults: list[Fault]) -> list[str]:
    """Return the violations of one application; the clocks of its machines are minutes apart."""
    with (
        tempfile.TemporaryDirectory(prefix="machines-") as directory,
        field_of(shape_for(name, seed, len(faults)), Path(directory), "a", "b", "c") as field,
    ):
        for machine, clock in zip(field.machines.values(), CLOCKS, strict=True):
            machine.set_clock(clock)
        try:
            wrong = list(faults_of(field, faults, random.Random(f"{name} {seed} machines")))
            return wrong + field.finish()
        finally:
            field.keep_logs(Path(tempfile.gettempdir(), f"machines-{name}-{seed}.log"))


def main() -> int:
    """0 when the results of all applications were those of undisturbed runs, and no unit was reset without cause."""
    parser = argparse.ArgumentParser(prog="python -m streams_orchestration_tests.machines", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=60, help="in all")
    parser.add_argument("--each", type=int, default=15, help="faults for one application")
    parser.add_argument("--shape", action="append", choices=SHAPES, help="may be repeated")
    parser.add_argument("--fault", default="", help="only faults whose names have this in them")
    parser.add_argument("--application", type=int, help="only this one of them, from 0")
    given = parser.parse_args()
    wrong = 0
    for number, (name, faults) in enumerate(_planned(given.shape or SHAPES, given)):
        if given.application in (None, number):
            print(f"application {number}: {name}, {len(faults)} faults", flush=True)
            differing = run(name, given.seed + number, faults)
            wrong += bool(differing)
            print(f"application {number}: {'; '.join(differing) or 'as undisturbed'}", flush=True)
    print(f"{wrong} applications wrong", flush=True)
    return int(wrong > 0)


def _planned(shapes: Sequence[str], given: argparse.Namespace) -> Iterator[tuple[str, list[Fault]]]:
    """Yield the shape and the faults of each application."""
    choose, left = random.Random(f"{given.seed} machines"), given.faults
    kinds, last = drawn(FAULTS, given.fault, choose), drawn(LAST, given.fault, choose)
    for shape in itertools.cycle(shapes):
        if left <= 0:
            return
        count = min(given.each, left)
        left -= count
        yield shape, [*itertools.islice(kinds, count), *itertools.islice(last, 1)][-count:]


if __name__ == "__main__":
    sys.exit(main())
