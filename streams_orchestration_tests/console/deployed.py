"""Applications that are deployed and have done something, without Java: what a console shows."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import update

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.processes.processes import process_space, process_started
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

CAUSE = "Totals: the value 7 is not a total. Correct the row, or filter it."


class Deployed:
    """An application of five operators, in PEs of one region; this process is its host."""

    def __init__(
        self, directory: Path, width: int = 2, pes: int = 3, file: Path | None = None,
        compilation: PlannedCompilation | None = None,
    ) -> None:  # fmt: skip
        self.home = Home(directory / "home")
        if compilation is None:
            file = file or write_rows(directory / "rows.parquet", 60)
            compilation = totals(file, width, fusion="manual", pes=pes)
        self.local = LocalApplication(self.home, compilation, 5)
        self.name = self.local.name
        self.beat()

    def work(self) -> None:
        """Commit some batches, and complete an epoch."""
        for _ in range(2):
            for program in self.local.programs:
                self.local.step(program)
        self.local.trigger()
        for _ in range(3):
            for program in self.local.programs:
                self.local.step(program)
        self.beat()

    def set(self, table: Any, *where: Any, **values: Any) -> None:
        with self.local.catalog.write() as connection:
            connection.execute(update(table).where(table.c.application == self.name, *where).values(**values))

    def beat(self) -> None:
        own = os.getpid()
        with self.local.catalog.write() as connection:
            connection.execute(update(tables.application).values(wanted="RUNNING", state="RUNNING"))
        self.set(
            tables.host, state="RUNNING", pid=own, process_started=process_started(own), space=process_space(),
            heartbeat_at=clock.now() + 3600, launched_at=clock.now(),
        )  # fmt: skip
        self.set(tables.pe, state="RUNNING")

    @contextmanager
    def failed(self, pe: int) -> Iterator[None]:
        """Meanwhile a PE has failed by an error of an operator."""
        self.set(tables.pe, tables.pe.c.id == pe, state="FAILED", error=CAUSE)
        try:
            yield
        finally:
            self.set(tables.pe, tables.pe.c.id == pe, state="RUNNING", error=None)

    @contextmanager
    def gone(self, silent: float = 30.0) -> Iterator[None]:
        """Meanwhile the host's process is not there, and nobody has seen that yet.

        Args:
            silent: seconds since its last heartbeat.
        """
        now = clock.now()
        self.set(tables.host, process_started=1.0, heartbeat_at=now - silent, launched_at=now - 3600)
        try:
            yield
        finally:
            self.beat()


def long_names() -> PlannedCompilation:
    """Return a chain of twelve operators in one region whose names are long and begin with wide letters."""
    names = [f"WAREHOUSEMMOVEMENTS{letter}illillillillillill" for letter in "abcdefghijkl"]
    graph: list[dict[str, Any]] = [{
        "name": names[0], "operator": "Beacon", "outputs": [{"stream": "S0", "schema": "n bigint"}],
        "parameters": {"iterations": 1000, "output": {"n": "IterationCount()"}},
        "annotations": {"consistent": {"trigger": "periodic", "period": 1}},
    }]  # fmt: skip
    for number, name in enumerate(names[1:], 1):
        graph.append({
            "name": name, "operator": "Filter", "inputs": [f"S{number - 1}"], "outputs": [f"S{number}"],
            "parameters": {"filter": "n >= 0"},
        })  # fmt: skip
    return compile_application(
        application_from_mapping({"specVersion": 1, "application": "long", "graph": graph}), Options()
    )


def large(composites: int = 50, each: int = 98) -> PlannedCompilation:
    """Return an application of chains in composites, about ten operators to a PE: 4,951 operators as it is."""
    chains: dict[str, Any] = {}
    graph: list[dict[str, Any]] = [
        {
            "name": "Src",
            "operator": "Beacon",
            "outputs": [{"stream": "Src", "schema": "Row"}],
            "parameters": {"iterations": 10, "output": {"n": "1"}},
        }
    ]
    for number in range(composites):
        nodes = [
            {
                "name": f"F{position}",
                "operator": "Filter",
                "inputs": [f"F{position - 1}" if position else "In"],
                "parameters": {"filter": "n > 0"},
                "config": {"placement": {"partitionColocation": f"c{number}p{position // 10}"}},
            }
            for position in range(each)
        ]
        chains[f"Chain{number}"] = {"inputs": ["In"], "outputs": [f"F{each - 1}"], "graph": nodes}
        graph += [
            {"name": f"C{number}", "operator": f"Chain{number}", "inputs": ["Src"], "outputs": [f"C{number}"]},
            {"name": f"Out{number}", "operator": "FileSink", "inputs": [f"C{number}"]}
            | {"parameters": {"file": f"out{number}"}},
        ]
    document = {
        "specVersion": 1,
        "application": "large",
        "schemas": {"Row": "n bigint"},
        "composites": chains,
        "graph": graph,
    }
    return compile_application(application_from_mapping(document), Options(fusion="legacy"))
