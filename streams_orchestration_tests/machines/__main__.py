"""`python -m streams_orchestration_tests.machines --seed 1 --faults 60`: faults of machines and of links to them."""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from streams_orchestration_tests.chaos.shapes import Shape, shape_of
from streams_orchestration_tests.machines.field import Field, apart, field_of
from streams_orchestration_tests.machines.namespaces import Machine

SHAPES = ("diamond", "two_regions", "fan_in", "join")
FAULT_SECONDS = 60.0
"""For which there are tuples, for each fault."""
CLOCKS = (-300.0, 0.0, 300.0)
STREAMS = (sys.executable, "-m", "streams_orchestration")


def _dies(machine: Machine, choose: random.Random) -> str:
    """It is there again after a while, with another clock."""
    machine.die()
    time.sleep(choose.choice((1.0, 25.0)))
    machine.clock = choose.choice(CLOCKS)
    machine.boot()
    return f"started anew, its clock {machine.clock:+.0f} s"


def _loses_hosts(machine: Machine, _choose: random.Random) -> str:
    machine.kill_hosts()
    return "all of them"


def _cut_off(machine: Machine, choose: random.Random) -> str:
    seconds = choose.choice((1.0, 10.0, 60.0))
    machine.cut()
    time.sleep(seconds)
    machine.heal()
    return f"{seconds:.0f} s"


def _flaps(machine: Machine, choose: random.Random) -> str:
    down, up = choose.choice(((0.2, 0.8), (0.5, 0.5), (2.0, 1.0)))
    machine.flap(10, down, up)
    return f"ten times {down:g} s"


def _drained(machine: Machine, _choose: random.Random) -> str:
    drained = subprocess.run([*STREAMS, "machines", "drain", machine.name], check=False, capture_output=True)
    subprocess.run([*STREAMS, "machines", "resume", machine.name], check=False, capture_output=True)
    return "drained" if drained.returncode == 0 else drained.stderr.decode().splitlines()[-1]


FAULTS: dict[str, Callable[[Machine, random.Random], str]] = {
    "a machine dies": _dies,
    "a machine loses its hosts": _loses_hosts,
    "a machine is cut off": _cut_off,
    "the link of a machine goes down and up": _flaps,
    "a machine is drained": _drained,
}


def faults_of(field: Field, count: int, choose: random.Random) -> None:
    """So many faults, each on a machine of its own choice, healed before the next one."""
    for number in range(count):
        name = choose.choice(list(FAULTS))
        machine = choose.choice(list(field.machines.values()))
        began = time.monotonic()
        what = FAULTS[name](machine, choose)
        over = time.monotonic()
        field.goes_on()
        print(
            f"{number + 1:3}. {name} ({machine.name}: {what}); {over - began:.0f} s, goes on after "
            f"{time.monotonic() - over:.1f} s; {field.resets} resets",
            flush=True,
        )


def shape_for(name: str, seed: int, count: int) -> Shape:
    """An application that lasts for so many faults."""
    return apart(shape_of(name, seed, (count + 2) * FAULT_SECONDS))


def main() -> int:
    """0 when the results of all applications were those of undisturbed runs."""
    parser = argparse.ArgumentParser(prog="python -m streams_orchestration_tests.machines", description=__doc__)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--faults", type=int, default=60, help="in all")
    parser.add_argument("--each", type=int, default=15, help="faults for one application")
    parser.add_argument("--shape", action="append", choices=SHAPES, help="may be repeated")
    given = parser.parse_args()
    shapes, left, wrong = given.shape or SHAPES, given.faults, 0
    for number in range(given.faults):
        if left <= 0:
            break
        name, seed, count = shapes[number % len(shapes)], given.seed + number, min(given.each, left)
        left -= count
        choose = random.Random(f"{name} {seed} machines")
        with tempfile.TemporaryDirectory(prefix="machines-") as directory:
            print(f"{name} {seed}", flush=True)
            with field_of(shape_for(name, seed, count), Path(directory), "a", "b", "c") as field:
                faults_of(field, count, choose)
                differing = field.finish()
        wrong += bool(differing)
        print(f"{name} {seed}: {'; '.join(differing) or 'as undisturbed'}", flush=True)
    print(f"{given.faults} faults, {wrong} applications wrong", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
