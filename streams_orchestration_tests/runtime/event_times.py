"""Applications in event time: an operator that shows which watermark each tuple meets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.operators.contract.operator import Operator, Parameters, SourceOperator
from streams_orchestration.operators.contract.results import Offset, ProducedTo
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END
from streams_orchestration_tests.runtime.applications import PERIODIC

Timed = tuple[int, str, int]
"""Event time, key, number."""
SCHEMAS = {"T": "at bigint, k string, n bigint", "Met": "at bigint, k string, n bigint, watermark bigint"}
NONE = -1
"""The watermark that a tuple meets before the first one."""


class Meeting(Operator):
    """Submits each tuple with the watermark in front of it, and each watermark itself as a tuple without a key."""

    stateful = True

    def setup(self) -> None:
        self.watermark = NONE

    def process(self, port: int, batch: TupleBatch) -> None:
        columns = {name: batch.arrow.column(name) for name in batch.schema.names}
        met = pa.array([self.watermark] * len(batch), pa.int64())
        self.submit(TupleBatch.from_columns(columns | {"watermark": met}, self.context.output_schema()))

    def on_watermark(self, watermark: int) -> None:
        self.watermark = watermark
        if watermark == END:
            columns = {"at": [0], "k": ["end"], "n": [0], "watermark": [watermark]}
            self.submit(TupleBatch.from_columns(columns, self.context.output_schema()))

    def checkpoint(self) -> State:
        return {"watermark": self.watermark}

    def restore(self, state: State) -> None:
        self.watermark = state["watermark"]


class Lines(SourceOperator):
    """Reads the lines `at k n` of a file that grows, up to a line `end`; each key is a partition."""

    class Parameters(Parameters):
        file: str

    at_its_end = False

    def at_end(self) -> Sequence[str]:
        return "abcd" if self.at_its_end else ""

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        done = offset.get("lines", 0)
        lines = Path(self.parameters.file).read_text().splitlines()[done : done + limit]
        if self.until is not None:
            lines = lines[: self.until["lines"] - done]
        rows = [line.split() for line in lines if line != "end"]
        self.at_its_end = len(lines) < limit
        if rows:
            at, k, n = zip(*rows, strict=True)
            columns = {"at": [*map(int, at)], "k": [*k], "n": [*map(int, n)]}
            self.submit(TupleBatch.from_columns(columns, self.context.output_schema()), partitions=[*k])
        done += len(rows)
        over = "end" in lines or (self.until is not None and done == self.until["lines"])
        return ProducedTo({"lines": done}, exhausted=over)

    def available(self, offset: Offset) -> Offset:
        return {"lines": len(Path(self.parameters.file).read_text().splitlines())}


OPERATORS = {
    "Lines": {"implementation": f"{__name__}:Lines", "inputs": [], "outputs": [{}]},
    "Meeting": {
        "implementation": f"{__name__}:Meeting",
        "inputs": [{}],
        "outputs": [{"mutable": True}],
        "stateful": True,
    },
}


def timed_file(path: Path, tuples: Iterable[Timed]) -> Path:
    """Write tuples into a file, unless it is there, since sources name a file that was replaced."""
    if not path.exists():
        rows = pd.DataFrame([*tuples], columns=pd.Index(["at", "k", "n"]))
        pq.write_table(pa.Table.from_pandas(rows, preserve_index=False), path)
    return path


def timed(name: str, path: Path, **event_time: Any) -> dict[str, Any]:
    """Return a source whose tuples have event times."""
    note = {"eventTimeAttribute": "at", "minimumGap": 0.0, **event_time}
    return {
        "name": name,
        "operator": "FileSource",
        "outputs": [{"stream": name, "schema": "T"}],
        "parameters": {"file": str(path), "format": "parquet"},
        "annotations": PERIODIC | {"eventTime": note},
    }


def lines(name: str, path: Path, **event_time: Any) -> dict[str, Any]:
    """Return a source of a file that grows, whose tuples have event times."""
    note = {"eventTimeAttribute": "at", "minimumGap": 0.0, **event_time}
    return {
        "name": name,
        "operator": "Lines",
        "outputs": [{"stream": name, "schema": "T"}],
        "parameters": {"file": str(path)},
        "annotations": PERIODIC | {"eventTime": note},
    }


def through(name: str, operator: str, *streams: str | list[str], schema: str = "T", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "operator": operator,
        "inputs": [*streams],
        "outputs": [{"stream": name, "schema": schema}],
    } | more


def in_event_time(
    graph: list[dict[str, Any]],
    composites: dict[str, Any] | None = None,
    operators: dict[str, Any] | None = None,
    name: str = "app",
    **options: Any,
) -> PlannedCompilation:
    document = {
        "specVersion": 1,
        "application": name,
        "schemas": SCHEMAS,
        "operators": OPERATORS | (operators or {}),
        "composites": composites or {},
        "graph": graph,
    }
    return compile_application(application_from_mapping(document), Options(**options))


def met_by(tuples: Iterable[Timed]) -> list[tuple[int, str, int, int]]:
    """Return each tuple of one stream with the watermark in front of it (EV17, EV18): no gap, a lag of a second."""
    reached: int | None = None
    shown: list[tuple[int, str, int, int]] = []
    for at, k, n in tuples:
        shown.append((at, k, n, NONE if reached is None else reached))
        reached = at - 1000 if reached is None else max(reached, at - 1000)
    return [*shown, (0, "end", 0, END)]
