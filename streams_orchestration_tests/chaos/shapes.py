"""Applications of 2 to 12 PEs, made up from a seed; what they publish and remember depends on nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.runtime.storage.home import Home

Tuples = list[tuple[Any, ...]]
OPTIONS = Options(fusion="legacy")
"""Every operator is a PE of its own, unless the shape says otherwise."""
SAMPLES = "streams_orchestration_tests.runtime.sample_operators"
OPERATORS: dict[str, Any] = {
    "Totals": {
        "implementation": "streams_orchestration_tests.chaos.operators:Totals",
        "inputs": [{}],
        "outputs": [{"mutable": True}],
        "stateful": True,
    },
    "Columns": {
        "implementation": "streams_orchestration_tests.chaos.operators:Columns",
        "inputs": [{}],
        "outputs": [{"mutable": True}],
        "stateful": True,
    },
    "Timed": {
        "implementation": "streams_orchestration_tests.chaos.operators:Timed",
        "inputs": [{}],
        "outputs": [{"mutable": True}],
        "stateful": True,
    },
    "Holding": {"implementation": f"{SAMPLES}:Holding", "inputs": [{}], "outputs": [{}], "stateful": True},
    "Paced": {
        "implementation": "streams_orchestration_tests.chaos.operators:Paced",
        "inputs": [],
        "outputs": [{"mutable": True}],
        "consistent": {"start": True},
    },
    **{
        name: {
            "implementation": f"streams_orchestration_tests.chaos.operators:{name}",
            "inputs": [],
            "outputs": [{"mutable": True}],
            "consistent": {"start": True},
        }
        for name in ("SlowFile", "SlowKafka", "SlowSql", "FedKafka")
    },
    "Pairing": {
        "implementation": "streams_orchestration_tests.chaos.operators:Pairing",
        "inputs": [{}, {}],
        "outputs": [{"mutable": True}],
        "stateful": True,
    },
}
HURRIED = ("Paced", "SlowFile", "SlowKafka", "SlowSql", "FedKafka")
"""Sources that take their time until they are to hurry."""
SCHEMAS = {"Row": "k string, n bigint", "Total": "k string, number bigint, total bigint"}
AUTONOMOUS: dict[str, Any] = {"annotations": {"autonomous": True}}
TOGETHER: dict[str, Any] = {"placement": {"partitionColocation": "together"}}
"""The configuration of operators that share a PE, until a plan parts them."""


@dataclass(frozen=True)
class Shape:
    """An application."""

    name: str
    graph: list[dict[str, Any]]
    ordered: tuple[str, ...] = ()
    """Sinks whose tuples come in one order only."""
    composites: dict[str, Any] = field(default_factory=dict[str, Any], kw_only=True)
    needs_spark: bool = field(default=False, kw_only=True)
    """It has queries of Spark's."""
    in_order: bool = field(default=False, kw_only=True)
    """Plans do not change its widths: in channels, tuples could reach a query with a watermark too late."""

    def spec(self, hurry: Path) -> dict[str, Any]:
        """Return the document; its sources are slow until the file exists."""
        graph = [dict(each) for each in self.graph]
        for each in graph:
            if each["operator"] in HURRIED:
                each["parameters"] = each["parameters"] | {"hurry": str(hurry)}
        used = {each["operator"] for each in graph}
        return {
            "specVersion": 1,
            "application": self.name,
            "schemas": SCHEMAS if not self.needs_spark else {"Row": SCHEMAS["Row"]},
            "operators": {name: operator for name, operator in OPERATORS.items() if name in used},
            "composites": self.composites,
            "graph": graph,
        }

    def apart(self) -> Shape:
        """Return the shape for a run without faults."""
        return self

    def results(self, home: Home) -> dict[str, Tuples]:
        """Sink -> the tuples that readers see, in the order of its parts."""
        return {
            directory.name: [
                tuple(row.values())
                for part in sorted(directory.glob("part-*"))
                for row in pq.read_table(part).to_pylist()
            ]
            for directory in sorted(home.results(self.name).iterdir())
        }

    def compiled(self, hurry: Path) -> PlannedCompilation:
        """By the compiler of the product."""
        return compile_application(application_from_mapping(self.spec(hurry)), OPTIONS)


@dataclass(frozen=True)
class Make:
    """The material of the shapes."""

    choose: random.Random
    seconds: float
    """The seconds that the sources take, if nobody has them hurry."""

    def source(
        self, name: str, *, key: str = "", rate: float = 1.0, period: float = 1.0, **more: Any
    ) -> dict[str, Any]:
        """Makes tuples of seven keys for as long as the application is to last; the start of a region."""
        each = round(1 / (self.choose.choice((80, 150, 300)) * rate), 5)
        keyed = {"k": f"'{key or name}' || (IterationCount() % 7)", "n": "IterationCount()"}
        return {
            "name": name,
            "operator": "Paced",
            "outputs": [{"stream": name, "schema": "Row"}],
            "parameters": {"iterations": max(int(self.seconds / each), 10), "period": each, "output": keyed},
            "annotations": {
                "consistent": {"trigger": "periodic", "period": period, "maxConsecutiveResetAttempts": 1000}
            },
        } | more

    def period(self) -> float:
        """Return the period of a region, in seconds."""
        return self.choose.choice((0.5, 1.0, 2.0))


def node(name: str, operator: str, *inputs: Any, schema: str = "Row", **more: Any) -> dict[str, Any]:
    outputs = [{"stream": name, "schema": schema}]
    return {"name": name, "operator": operator, "inputs": list(inputs), "outputs": outputs} | more


def sink(name: str, *streams: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "operator": "FileSink", "inputs": [list(streams)], "parameters": {"file": name}} | more


def chain(make: Make) -> Shape:
    """2 to 5 PEs in a row."""
    graph, last = [make.source("A", period=make.period())], "A"
    inner = [("Held", "Holding", "Row"), ("Kept", "Filter", "Row"), ("Counted", "Columns", "Total")]
    for name, operator, schema in inner[: make.choose.randint(0, 3)]:
        more: dict[str, Any] = {"parameters": {"filter": "n % 5 <> 0"}} if operator == "Filter" else {}
        graph.append(node(name, operator, last, schema=schema, **more))
        last = name
    return Shape("chain", [*graph, sink("Out", last)], ("Out",))


def diamond(make: Make) -> Shape:
    """5 PEs; what was split meets again in one operator."""
    graph = [make.source("A", period=make.period())]
    graph += [node(side, "Functor", "A", parameters={"output": {"k": f"'{side}' || k"}}) for side in ("Left", "Right")]
    graph += [node("Counted", "Totals", ["Left", "Right"], schema="Total"), sink("Out", "Counted")]
    return Shape("diamond", graph)


def fan_in(make: Make) -> Shape:
    """Several starts of one region, of unequal rates: 4 or 5 PEs."""
    period = make.period()
    names = [f"A{number}" for number in range(make.choose.randint(2, 3))]
    graph = [make.source(name, period=period, rate=1 + number) for number, name in enumerate(names)]
    graph += [node("Counted", "Columns", names, schema="Total"), sink("Out", "Counted")]
    return Shape("fan_in", graph)


def join(make: Make) -> Shape:
    """Two inputs of unequal rates: 4 PEs."""
    period = make.period()
    graph = [make.source("A", key="k", period=period), make.source("B", key="k", period=period, rate=3.0)]
    graph += [node("Paired", "Pairing", "A", "B"), sink("Out", "Paired")]
    return Shape("join", graph)


def outside(make: Make) -> Shape:
    """Consumers in no region, one of them behind the region's end: 6 PEs."""
    graph = [make.source("A", period=make.period()), node("Counted", "Columns", "A", schema="Total")]
    graph += [sink("Out", "Counted"), node("Seen", "Columns", "A", schema="Total", **AUTONOMOUS)]
    graph += [sink("Early", "Seen", **AUTONOMOUS), sink("Late", "Counted", **AUTONOMOUS)]
    return Shape("outside", graph, ("Out", "Late"))


def two_regions(make: Make) -> Shape:
    """Side by side on one host: 6 PEs."""
    graph = []
    for side in ("A", "B"):
        graph += [make.source(side, period=make.period()), node(f"{side}Counted", "Totals", side, schema="Total")]
        graph += [sink(f"{side}Out", f"{side}Counted")]
    return Shape("two_regions", graph, ("AOut", "BOut"))


def two_hosts(make: Make) -> Shape:
    """Return a region on each of two hosts: 4 PEs."""
    graph = []
    for side in ("A", "B"):
        apart = {"placement": {"hostExlocation": "apart", "partitionColocation": f"first {side}"}}
        near = {"placement": {"hostColocation": side}}
        source = make.source(side, period=make.period())
        graph += [source | {"config": {"placement": apart["placement"] | near["placement"]}}]
        graph += [node(f"{side}Counted", "Columns", side, schema="Total", config=near)]
        graph += [sink(f"{side}Out", f"{side}Counted", config=near)]
    return Shape("two_hosts", graph, ("AOut", "BOut"))


def large(make: Make) -> Shape:
    """12 PEs: a region of three channels, one in a row, consumers outside."""
    period = make.period()
    by_key = {"parallel": {"width": 3, "partitionBy": [{"port": "A", "attributes": ["k"]}]}}
    graph = [make.source("A", period=period), node("Counted", "Columns", "A", schema="Total", annotations=by_key)]
    graph += [sink("Out", "Counted"), node("Seen", "Totals", "A", schema="Total", **AUTONOMOUS)]
    graph += [sink("SeenOut", "Seen", **AUTONOMOUS)]
    graph += [make.source("B", period=make.period()), node("Held", "Holding", "B"), node("Also", "Filter", "B",
              parameters={"filter": "n % 3 = 0"})]  # fmt: skip
    graph += [sink("BOut", "Held"), sink("BAlso", "Also")]
    return Shape("large", graph, ("BOut", "BAlso"))


SHAPES: dict[str, Callable[[Make], Shape]] = {
    shape.__name__: shape for shape in (chain, diamond, fan_in, join, outside, two_regions, two_hosts, large)
}


def shape_of(name: str, seed: int, seconds: float, shapes: Mapping[str, Callable[[Make], Shape]] = SHAPES) -> Shape:
    """Return one of the shapes, the same for the same seed."""
    return shapes[name](Make(random.Random(f"{name} {seed}"), seconds))
