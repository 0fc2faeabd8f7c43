"""The applications of a simulation, and what they publish and remember when nothing happens to them."""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from streams_orchestration import world
from streams_orchestration.compiler.checking.deployable import Deployable, deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks import state_files
from streams_orchestration.runtime.tasks.state_files import SMALL_STATE
from streams_orchestration_tests.chaos.plans import Plans
from streams_orchestration_tests.chaos.shapes import (
    AUTONOMOUS,
    OPTIONS,
    SHAPES,
    TOGETHER,
    Make,
    Shape,
    Tuples,
    node,
    sink,
)
from streams_orchestration_tests.chaos.undisturbed import Outcome, outcome
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.simulation import brokers
from streams_orchestration_tests.simulation.target_readers import read_tables, tables_of
from streams_orchestration_tests.simulation.targets import path_of, plain

INPUT_SECONDS = 6.0
"""Simulated seconds for which a source has tuples."""
TWICE_SECONDS = 20.0
"""The same for the application `read_twice`."""
HURRY = 100
"""Times that the clock of sources is faster when nothing happens: their tuples depend on numbers, not on time."""


PLANS = 6
"""Plans of an application that redeploys choose from."""


def event_time(make: Make) -> Shape:
    """Return windows of event time over two sources of unequal rates, whose watermarks meet: 4 PEs and a filter."""
    period = make.period()
    graph: list[dict[str, Any]] = []
    for name, rate in (("A", 1.0), ("B", 2.0)):
        source = make.source(name, period=period, rate=rate)
        time = {"eventTimeAttribute": "n", "lag": 0.01, "minimumGap": 0.01}
        graph.append(source | {"annotations": source["annotations"] | {"eventTime": time}})
    graph.append(node("Kept", "Filter", "B", parameters={"filter": "n % 3 <> 0"}))
    window = {"window": "timeInterval, intervalDuration(0.05), creationPeriod(0.025)"}
    output = {"k": "paneTiming()", "number": "intervalStart()", "total": "Sum(n)"}
    graph.append(node("Panes", "Aggregate", ["A", "Kept"], schema="Total", parameters={**window, "output": output}))
    return Shape("event_time", [*graph, sink("Out", "Panes")], ("Out",), in_order=True)


def delivered(make: Make) -> Shape:
    """Return three sinks of one stream: files, and a database table with all tuples and one by keys: 5 PEs."""
    graph = [make.source("A", period=make.period()), node("Counted", "Columns", "A", schema="Total")]
    graph.append(sink("Out", "Counted"))
    for name, more in (("Whole", {}), ("Newest", {"key": ["k"]})):
        parameters = {"url": "sqlite:////target.db", "table": name, "createTable": True, **more}
        graph.append({"name": name, "operator": "SqlSink", "inputs": [["Counted"]], "parameters": parameters})
    return Shape("delivered", graph, ("Out", "Whole"))


def sent(make: Make) -> Shape:
    """Return three sinks of one stream: files, a topic in order, and one whose messages have keys: 5 PEs."""
    graph = [make.source("A", period=make.period()), node("Counted", "Columns", "A", schema="Total")]
    graph.append(sink("Out", "Counted"))
    for name, more in (("Line", {}), ("Keyed", {"key": "k"})):
        parameters = {"brokers": "simulated:9092", "topic": name, **more}
        graph.append({"name": name, "operator": "KafkaSink", "inputs": [["Counted"]], "parameters": parameters})
    return Shape("sent", graph, ("Out", "Line"))


def received(make: Make) -> Shape:
    """Return a source that keeps letters in a journal, an operator with state, and a sink: 3 PEs."""
    source = make.source("A", period=make.period())
    letters = {"operator": "Mailbox", "parameters": {"letters": LETTERS}}
    counted = node("Counted", "Columns", "A", schema="Total")
    return Shape("received", [source | letters, counted, sink("Out", "Counted")], ("Out",))


def read_twice(make: Make) -> Shape:
    """Return two operators in no region that read one stream in one PE, which other plans part: 5 or 6 PEs.

    It lasts longer than others, so that it is still at work after garbage was collected, and a plan has changed.
    """
    make = replace(make, seconds=TWICE_SECONDS)
    graph = [make.source("A", period=make.period()), sink("Out", "A")]
    for name in ("Seen", "Also"):
        graph.append(node(name, "Columns", "A", schema="Total", **AUTONOMOUS, config=TOGETHER))
        graph.append(sink(f"{name}Out", name, **AUTONOMOUS))
    return Shape("read_twice", graph, ("Out", "SeenOut", "AlsoOut"), in_order=True)


SIMULATED: dict[str, Callable[[Make], Shape]] = {
    **SHAPES, "event_time": event_time, "delivered": delivered, "sent": sent, "received": received,
    "read_twice": read_twice,
}  # fmt: skip
"""The shapes of chaos, one of event time, two with sinks that are not files, one whose source has a journal, and one
with a PE that two operators share."""
LETTERS = 240
MAILBOX = {
    "implementation": "streams_orchestration_tests.simulation.mailbox:Mailbox",
    "inputs": [],
    "outputs": [{"mutable": True}],
    "consistent": {"start": True},
}
"""The declaration of the operator `Mailbox`."""


class Hurried(Shape):
    """A shape whose sources are Beacons: their tuples take no time of this machine's clock."""

    def spec(self, hurry: Path) -> dict[str, Any]:
        """Return the application as a document."""
        document = super().spec(hurry)
        for each in document["graph"]:
            if each["operator"] == "Paced":
                each["operator"] = "Beacon"
                each["parameters"] = {name: value for name, value in each["parameters"].items() if name != "hurry"}
        document["operators"] = {name: each for name, each in document["operators"].items() if name != "Paced"}
        if any(each["operator"] == "Mailbox" for each in document["graph"]):
            document["operators"]["Mailbox"] = MAILBOX
        return document

    def results(self, home: Home) -> dict[str, Tuples]:
        """Return the tuples that readers of files, tables and topics see, by sink."""
        tables = tables_of(self)
        found = super().results(home) | (read_tables(path_of(home), tables) if tables else {})
        return found | brokers.read_topics(home, brokers.topics_of(self))


@cache
def shape_at(name: str, variant: int) -> Shape:
    """Return a shape of `chaos`, whose sources are Beacons that last for `INPUT_SECONDS`."""
    shape = SIMULATED[name](Make(random.Random(f"{name} {variant}"), INPUT_SECONDS))
    return Hurried(**{field.name: getattr(shape, field.name) for field in fields(shape)})


@cache
def compiled(name: str, variant: int) -> PlannedCompilation:
    """Return the compiled application of a shape."""
    return compile_application(application_from_mapping(shape_at(name, variant).spec(Path("hurry"))), OPTIONS)


@cache
def plans(name: str, variant: int) -> tuple[Deployable, ...]:
    """Return plans of a shape that have the same results: the first one, and others of other widths, PEs and hosts."""
    choose = random.Random(f"plans of {name} {variant}")
    with tempfile.TemporaryDirectory() as directory:
        others = Plans(shape_at(name, variant), choose, Path(directory), Path("hurry"))
        made = [others.another() for _ in range(PLANS - 1)]
    return tuple(deployable(each) for each in (compiled(name, variant), *made))


KNOWN: dict[tuple[str, int], Outcome] = {}
"""Shape and variant -> the outcome, if another process has found it."""


@cache
def undisturbed(name: str, variant: int) -> Outcome:
    """Return what the application leaves when it is stepped by hand."""
    if (name, variant) in KNOWN:
        return KNOWN[name, variant]
    with tempfile.TemporaryDirectory() as directory:
        home = Home(Path(directory))
        with calm(home), LocalApplication(home, compiled(name, variant), source_limit=5_000) as local:
            local.run()
            return outcome(shape_at(name, variant), home, local.programs)


@contextlib.contextmanager
def calm(home: Home) -> Iterator[None]:
    """Let the clock of sources be faster within a block, and what sinks write to have no faults."""
    monotonic = world.monotonic
    began = monotonic()
    world.monotonic = lambda: began + HURRY * (monotonic() - began)
    try:
        with plain(home), brokers.calm(home):
            yield
    finally:
        world.monotonic = monotonic


SMALL_STATES = (SMALL_STATE, 700, 0)
"""The most bytes of a state in the catalog, of which a run has one: nearly all states are there, or some, or none."""


def limited(seed: int) -> contextlib.AbstractContextManager[object]:
    """Return a block within which the catalog holds states up to the limit of the run with a seed."""
    return patch.object(state_files, "SMALL_STATE", SMALL_STATES[seed % len(SMALL_STATES)])
