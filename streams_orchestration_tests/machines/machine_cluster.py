"""Several machines and an application with a host for every PE; what has failed is reset."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.machines.register import read_machines
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.programs.deployed_pes import deployed_pes
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.chaos.healers import ByHand
from streams_orchestration_tests.chaos.shapes import Shape
from streams_orchestration_tests.chaos.surroundings import environment
from streams_orchestration_tests.chaos.undisturbed import Outcome, differences, outcome, undisturbed
from streams_orchestration_tests.machines.namespaces import STORAGE, Machine, address_of_servers, machines
from streams_orchestration_tests.postgresql import server
from streams_orchestration_tests.runtime.stored import options_of
from streams_orchestration_tests.servers.jars import free_port
from streams_orchestration_tests.servers.s3 import BUCKET, moto
from streams_orchestration_tests.waiting import until

TIMEOUT_SECONDS = 240.0
POLL_SECONDS = 0.1
"""Between two polls; each takes processor time from the polled process."""
APART = {"placement": {"hostExlocation": ["apart"], "partitionExlocation": ["apart"]}}


class Field:
    """An application over machines."""

    def __init__(self, home: Home, shape: Shape, hurry: Path, there: dict[str, Machine], wanted: Outcome) -> None:
        self.home, self.shape, self.hurry, self.machines, self.wanted = home, shape, hurry, there, wanted
        self.lost: set[str] = set()
        """Machines that do not come back."""

    def until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait for something that comes."""
        until(
            condition,
            lambda: f"{what} does not come: {read_status(Catalog(self.home), self.shape.name)}",
            TIMEOUT_SECONDS,
            POLL_SECONDS,
        )

    @property
    def state(self) -> str:
        return read_status(Catalog(self.home), self.shape.name).state

    @property
    def epochs(self) -> dict[str, int]:
        """Unit -> its last complete epoch; those that are complete are left out."""
        units = read_status(Catalog(self.home), self.shape.name).units
        return {unit.name: unit.completed_epoch for unit in units if unit.state != "COMPLETED"}

    @property
    def resets(self) -> dict[str, int]:
        """Unit -> how often it was reset."""
        return {unit.name: unit.row.reset_count for unit in read_status(Catalog(self.home), self.shape.name).units}

    def units_on(self, machine: str) -> set[str]:
        """Units that have a host on a machine."""
        status = read_status(Catalog(self.home), self.shape.name)
        hosts = {host.id for host in status.hosts if host.machine == machine}
        return {pe.unit for pe in status.pes if pe.host in hosts}

    def goes_on(self) -> None:
        """Two more epochs in every unit."""
        before = self.epochs

        def gone_on() -> bool:
            now = self.epochs
            return all(now[unit] >= epoch + 2 for unit, epoch in before.items() if unit in now)

        self.until(gone_on, "another epoch")

    def on(self) -> list[str]:
        """Return the machine of every host."""
        return sorted(host.machine or "" for host in read_status(Catalog(self.home), self.shape.name).hosts)

    def finish(self) -> list[str]:
        """Let it come to its end; where what it has left differs from a run without faults."""
        self.hurry.touch()
        self.until(lambda: self.state == "COMPLETED", "its end")
        programs = [pe.program for pe in deployed_pes(Catalog(self.home), self.shape.name)]
        return differences(outcome(self.shape, self.home, programs), self.wanted, self.shape.ordered)

    def keep_logs(self, place: Path) -> None:
        """Write what agents and hosts have logged into one file."""
        logs = [machine.log for machine in self.machines.values()]
        logs += sorted(self.home.logs(self.shape.name).glob("*.log"))
        with place.open("w") as kept:
            for log in logs:
                kept.write(f"==== {log.name}\n{log.read_text(errors='replace')}\n")


def apart(shape: Shape) -> Shape:
    """Return the application with a host for every PE."""
    graph: list[dict[str, Any]] = [{**each, "config": {**each.get("config", {}), **APART}} for each in shape.graph]
    return replace(shape, graph=graph)


@contextmanager
def field_of(shape: Shape, place: Path, *names: str) -> Iterator[Field]:
    """Yield an application that runs on machines of these names."""
    home, hurry = Home(place / "home"), place / "hurry"
    wanted = undisturbed(shape)
    spec = place / f"{shape.name}.yaml"
    spec.write_text(yaml.safe_dump(shape.spec(hurry)))
    with ExitStack() as stack:
        address = stack.enter_context(address_of_servers())
        served = stack.enter_context(server(address, free_port(address)))
        storage = stack.enter_context(moto(place, STORAGE))
        stack.enter_context(environment(home, None, "local"))
        os.environ["STREAMS_CATALOG"] = served.url_of_network("streams")
        os.environ["STREAMS_STORAGE"] = f"s3://{BUCKET}/{shape.name}"
        os.environ["STREAMS_STORAGE_OPTIONS"] = options_of(storage)
        os.environ |= storage.credentials
        there = stack.enter_context(machines(os.environ, place, **dict.fromkeys(names, "")))
        until(
            lambda: len(read_machines(Catalog(home))) >= len(there),
            lambda: f"machines do not register: {[machine.log.read_text() for machine in there.values()]}",
            TIMEOUT_SECONDS,
            POLL_SECONDS,
        )
        stack.enter_context(ByHand(home, shape.name, spec, random.Random(7)))
        field = Field(home, shape, hurry, there, wanted)
        field.goes_on()
        yield field
