"""Small applications whose every course of events can be tried, compiled by the real compiler."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.engine.spark.frames.programs import state_operator
from streams_orchestration_tests.runtime.applications import compiled, node, sink

PERIODIC: dict[str, Any] = {"consistent": {"trigger": "periodic", "period": 1e6}}
"""No period passes by itself."""
AUTONOMOUS: dict[str, Any] = {"annotations": {"autonomous": True}}


def source(name: str, tuples: int) -> dict[str, Any]:
    """Makes so many tuples, a region's start."""
    numbered = {"k": "'a'", "n": "IterationCount()"}
    return {
        "name": name,
        "operator": "Beacon",
        "outputs": [{"stream": name, "schema": "Row"}],
        "parameters": {"iterations": tuples, "output": numbered},
        "annotations": PERIODIC,
    }


QUERY: dict[str, Any] = {
    "parameters": {
        "query": "SELECT k, max(n) AS n FROM A GROUP BY k, window(ts, '1 minute')",
        "watermarks": {"A": {"attribute": "ts", "delay": "1 second"}},
    }
}
"""Its windows close at the end: nothing comes out before."""
GRAPHS: dict[str, list[dict[str, Any]]] = {
    "chain of 2": [source("A", 2), sink("Z", "A")],
    "chain of 3": [source("A", 2), node("B", "Passing", "A"), sink("Z", "B")],
    "diamond": [
        source("A", 1),
        node("B", "Passing", "A"),
        node("C", "Passing", "A"),
        sink("Z", "B", "C"),
    ],
    "two starts that join": [source("A", 1), source("B", 1), sink("Z", "A", "B")],
    "autonomous consumer": [source("A", 2), sink("Z", "A"), sink("Y", "A", **AUTONOMOUS)],
    "autonomous consumer behind the region": [source("A", 3), node("B", "Passing", "A"), sink("Y", "B", **AUTONOMOUS)],
    "two channels": [
        source("A", 2),
        node("B", "Passing", "A"),
        node("C", "Passing", "A"),
        sink("Z", "B", "C"),
    ],
    "query": [
        source("A", 2) | {"outputs": [{"stream": "A", "schema": "k string, n bigint, ts timestamp"}]},
        node("B", "Sql", "A", **QUERY),
        sink("Z", "B"),
    ],
    "two regions in a row": [source("A", 1), node("B", "Passing", "A", annotations=PERIODIC), sink("Z", "B")],
}


CHANNELS = {"two channels": (1, 2)}
"""Topology -> the PEs that are channels: each tuple goes to one of them."""


@dataclass(frozen=True)
class Topology:
    """An application of one operator a PE."""

    name: str
    compilation: PlannedCompilation
    programs: tuple[PeProgram, ...]
    units: tuple[str, ...]
    tuples: tuple[int, ...]
    """PE -> how many tuples its source makes, 0 where it has none."""
    feeds: tuple[bool, ...]
    """PE -> tuples come into its unit there."""
    reads: tuple[tuple[int, ...], ...]
    """PE -> the PEs whose streams it reads, in the order of its inputs."""
    readers: tuple[tuple[int, ...], ...]
    """PE -> the PEs that read its stream."""
    channels: tuple[int, ...] = ()
    """PEs of which each tuple goes to one."""

    def stream(self, pe: int) -> str:
        """Return the stream that a PE writes; empty for a sink."""
        return next(iter(self.programs[pe].consumers), "")

    def source(self, pe: int) -> str:
        """Return the source operator of a PE; empty where it has none."""
        program = self.programs[pe]
        return program.operators[program.sources[0]].name if program.sources else ""

    def query(self, pe: int) -> str:
        """Return the operator of a PE that is a query of Spark's; empty where it is none."""
        program = self.programs[pe]
        return state_operator(program) if program.engine == "dataframe" else ""

    def inflows(self, pe: int) -> set[str]:
        """Return the inputs of a PE from outside of its unit: its source, foreign streams."""
        sources = {self.source(pe)} if self.tuples[pe] else set()
        return sources | {stream.stream for stream in self.programs[pe].inputs if stream.foreign}

    def channel(self, plan: int, item: int) -> int:
        """Return the PE that a tuple goes to: no two plans in a row have the same splitter."""
        return self.channels[(item + plan) % len(self.channels)]

    def takes(self, plan: int, pe: int, item: int) -> bool:
        """Return True if a PE gets a tuple of a stream that it reads."""
        return pe not in self.channels or self.channel(plan, item) == pe

    @functools.cached_property
    def unit_of(self) -> tuple[int, ...]:
        """PE -> number of its unit."""
        return tuple(self.units.index(program.unit) for program in self.programs)

    @functools.cached_property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """Unit -> its PEs."""
        return tuple(
            tuple(pe for pe, unit in enumerate(self.unit_of) if unit == number) for number in range(len(self.units))
        )

    @functools.cached_property
    def sinks(self) -> tuple[int, ...]:
        """The PEs that write files."""
        return tuple(pe for pe, readers in enumerate(self.readers) if not readers)


@functools.cache
def topology(name: str) -> Topology:
    """Return one of `GRAPHS`."""
    compilation = compiled(GRAPHS[name], fusion="legacy")
    programs = deployable(compilation).plan.programs
    assert [program.pe for program in programs] == list(range(len(programs)))
    assert all(len(program.consumers) <= 1 for program in programs), "the model knows one stream a PE"
    units = tuple(dict.fromkeys(program.unit for program in programs))
    reads = tuple(tuple(stream.producer for stream in program.inputs) for program in programs)
    made = [sum(program.operators[index].parameters["iterations"] for index in program.sources) for program in programs]
    return Topology(
        name=name,
        compilation=compilation,
        programs=programs,
        units=units,
        tuples=tuple(made),
        feeds=tuple(
            bool(program.starts or program.sources or any(stream.foreign for stream in program.inputs))
            for program in programs
        ),
        reads=reads,
        channels=CHANNELS.get(name, ()),
        readers=tuple(tuple(pe for pe, read in enumerate(reads) if number in read) for number in range(len(programs))),
    )
