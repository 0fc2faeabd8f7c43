"""The faults of machines and of the links between them, and the units that may be reset for each."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from streams_orchestration_tests.machines.machine_cluster import Field
from streams_orchestration_tests.machines.namespaces import SERVERS, STORAGE, Machine

CLOCKS = (-300.0, 0.0, 300.0)
STREAMS = (sys.executable, "-m", "streams_orchestration")
LINKS = {"the database": SERVERS, "the storage": STORAGE, "all": None}
"""A map from each thing that a machine can be cut off from to its address."""
CUTS = (1.0, 10.0, 60.0)
SHORT = 10.0
"""Seconds of a cut that nobody is taken for dead for, and for which what is tried again is enough."""

Happening = Callable[[Field, Machine, random.Random], str]


@dataclass(frozen=True)
class Fault:
    """A kind of fault of one machine."""

    name: str
    happen: Happening
    """Make it happen, and end it; says what it was in words."""
    resets: bool = True
    """Units that have hosts on the machine may be reset; no unit otherwise."""


def _dies(_field: Field, machine: Machine, choose: random.Random) -> str:
    """It is there again after a while, with another clock."""
    machine.die()
    seconds, clock = choose.choice((1.0, 25.0)), choose.choice(CLOCKS)
    time.sleep(seconds)
    machine.set_clock(clock)
    machine.boot()
    return f"restarted after {seconds:.0f} s, its clock {clock:+.0f} s"


def _loses_hosts(_field: Field, machine: Machine, _choose: random.Random) -> str:
    return f"{machine.kill_hosts()} of them"


def _returns(field: Field, machine: Machine, _choose: random.Random) -> str:
    """It sleeps until its hosts are elsewhere, and wakes with the old ones, which have to end."""
    old = machine.freeze()
    try:
        field.until(lambda: machine.name not in field.on(), "the move of its hosts")
    finally:
        machine.thaw()
    field.until(lambda: not any(host.is_running() and host.status() != "zombie" for host in old), "the end of them")
    return f"{len(old)} old hosts ended"


def _cut(name: str, seconds: float) -> Happening:
    def happen(_field: Field, machine: Machine, _choose: random.Random) -> str:
        machine.cut(LINKS[name])
        time.sleep(seconds)
        machine.heal()
        return f"{seconds:.0f} s"

    return happen


def _cut_for_ever(name: str) -> Happening:
    def happen(field: Field, machine: Machine, _choose: random.Random) -> str:
        machine.cut(LINKS[name])
        field.lost.add(machine.name)
        if name == "the storage":  # its agent and its hosts are heard: it takes somebody who notices
            return drained(field, machine)
        field.until(lambda: machine.name not in field.on(), "the move of its hosts")
        return "its hosts are elsewhere"

    return happen


def _flaps(_field: Field, machine: Machine, choose: random.Random) -> str:
    down, up = choose.choice(((0.2, 0.8), (0.5, 0.5), (2.0, 1.0)))
    machine.flap(10, down, up)
    return f"ten times {down:g} s"


def _worse(delay: float, loss: float) -> Happening:
    def happen(_field: Field, machine: Machine, _choose: random.Random) -> str:
        machine.worsen(delay, loss)
        time.sleep(20.0)
        machine.heal()
        return f"by {delay * 1e3:.0f} ms, {loss:.0%} lost, for 20 s"

    return happen


def _clock_jumps(_field: Field, machine: Machine, choose: random.Random) -> str:
    clock = choose.choice((-300.0, 300.0))
    machine.set_clock(clock)
    return f"{clock:+.0f} s"


def drained(field: Field, machine: Machine) -> str:
    """Have its hosts moved by hand."""
    command = [*STREAMS, "machines", "drain", machine.name, "--within", "240"]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        return done.stderr.splitlines()[-1]
    field.until(lambda: machine.name not in field.on(), "the move of its hosts")
    return "drained"


def _drained(field: Field, machine: Machine, _choose: random.Random) -> str:
    what = drained(field, machine)
    subprocess.run([*STREAMS, "machines", "resume", machine.name], check=False, capture_output=True)
    return what


FAULTS = (
    *(
        Fault(f"cut off from {name}", _cut(name, seconds), resets=seconds > SHORT)
        for name in LINKS
        for seconds in CUTS
    ),
    Fault("packets are late", _worse(0.2, 0.0), resets=False),
    Fault("packets are lost", _worse(0.02, 0.1), resets=False),
    Fault("its link goes down and up", _flaps, resets=False),
    Fault("it dies", _dies),
    Fault("its hosts are killed", _loses_hosts),
    Fault("it returns with its old hosts", _returns),
    Fault("its clock jumps", _clock_jumps, resets=False),
    Fault("it is drained", _drained, resets=False),
)  # fmt: skip
LAST = tuple(Fault(f"cut off from {name} for ever", _cut_for_ever(name)) for name in LINKS)
"""Each ends the use of a machine, so they come last."""


def drawn(kinds: Sequence[Fault], named: str, choose: random.Random) -> Iterator[Fault]:
    """Yield all kinds whose names have this in them, in some order, again and again."""
    wanted = [kind for kind in kinds if named in kind.name]
    while wanted:
        yield from choose.sample(wanted, len(wanted))
