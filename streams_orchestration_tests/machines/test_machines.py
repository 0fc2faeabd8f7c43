"""An application over several machines: one dies, one is cut off and comes back, one is drained."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.hosts.pes import deployed_pes
from streams_orchestration.runtime.machines.register import read_machines
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.chaos.arena import environment
from streams_orchestration_tests.chaos.healers import ByHand
from streams_orchestration_tests.chaos.shapes import Make, Shape, node, sink
from streams_orchestration_tests.chaos.undisturbed import Outcome, differences, outcome, undisturbed
from streams_orchestration_tests.machines.namespaces import Machine, address_of_servers, machines, why_not
from streams_orchestration_tests.postgresql import server
from streams_orchestration_tests.postgresql import why_not as why_no_server

pytestmark = [
    pytest.mark.deep,
    pytest.mark.skipif(bool(why_not()), reason=str(why_not())),
    pytest.mark.skipif(bool(why_no_server()), reason=str(why_no_server())),
]
PATIENCE = 120.0


class Field:
    """Two machines, an application with a host on each, and who resets it."""

    def __init__(self, home: Home, shape: Shape, hurry: Path, there: dict[str, Machine], wanted: Outcome) -> None:
        self.home, self.shape, self.hurry, self.machines = home, shape, hurry, there
        self.wanted = wanted

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that comes."""
        until = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < until, f"{what} does not come: {read_status(self.home, self.shape.name)}"
            time.sleep(0.1)

    @property
    def epoch(self) -> int:
        return read_status(self.home, self.shape.name).units[0].completed_epoch

    def goes_on(self) -> None:
        """Two more epochs."""
        before = self.epoch
        self.until(lambda: self.epoch >= before + 2, "another epoch")

    def on(self) -> list[str]:
        """The machine of every host."""
        return sorted(host.machine or "" for host in read_status(self.home, self.shape.name).hosts)

    def finish(self) -> None:
        """Let it come to its end, and compare what it has left with a run without faults."""
        self.hurry.touch()
        self.until(lambda: read_status(self.home, self.shape.name).state == "COMPLETED", "its end")
        programs = [pe.program for pe in deployed_pes(Catalog(self.home), self.shape.name)]
        assert differences(outcome(self.shape, self.home, programs), self.wanted, ()) == []


def shape() -> Shape:
    """One region, whose two PEs may not be on one host."""
    make = Make(random.Random(7), 300.0)
    apart = {"config": {"placement": {"hostExlocation": ["apart"], "partitionExlocation": ["apart"]}}}
    graph = [
        make.source("A", period=1.0) | apart,
        node("Sums", "Totals", "A", schema="Total", **apart),
        sink("Out", "Sums"),
    ]
    return Shape("machines", graph)


@pytest.fixture
def field(tmp_path: Path) -> Iterator[Field]:
    home, hurry = Home(tmp_path / "home"), tmp_path / "hurry"
    made = shape()
    wanted = undisturbed(made)
    spec = tmp_path / "machines.yaml"
    spec.write_text(yaml.safe_dump(made.spec(hurry)))
    with ExitStack() as stack:
        address = stack.enter_context(address_of_servers())
        served = stack.enter_context(server(address, _free_port(address)))
        stack.enter_context(environment(home, None, "local"))
        os.environ["STREAMS_CATALOG"] = served.url_of_network("streams")
        there = stack.enter_context(machines(os.environ, tmp_path, a="", b=""))
        until = time.monotonic() + PATIENCE
        while len(read_machines(home)) < len(there):
            assert time.monotonic() < until, [machine.log.read_text() for machine in there.values()]
            time.sleep(0.1)
        stack.enter_context(ByHand(home, made.name, spec, random.Random(7)))
        actual = Field(home, made, hurry, there, wanted)
        actual.goes_on()
        assert actual.on() == ["a", "b"]
        yield actual


def _free_port(address: str) -> int:
    with socket.socket() as probe:
        probe.bind((address, 0))
        return probe.getsockname()[1]


def test_a_machine_that_dies(field: Field):
    field.machines["a"].die()
    field.until(lambda: field.on() == ["b", "b"], "the move")
    field.goes_on()
    field.finish()


def test_a_host_that_is_killed_is_started_by_its_agent(field: Field):
    field.machines["a"].kill_hosts()
    field.goes_on()
    field.finish()


def test_a_machine_that_is_cut_off_and_comes_back(field: Field):
    field.machines["a"].cut()
    field.until(lambda: field.on() == ["b", "b"], "the move")
    field.machines["a"].heal()
    field.goes_on()
    field.finish()
    field.until(lambda: not field.machines["a"].kill_hosts() and len(field.machines["a"].processes()) <= 2, "its end")


def test_a_machine_that_is_drained(field: Field):
    command = [sys.executable, "-m", "streams_orchestration", "machines", "drain", "a"]
    subprocess.run(command, check=True)
    assert field.on() == ["b", "b"]
    assert read_status(field.home, field.shape.name).units[0].resets == 0
    field.goes_on()
    field.finish()
