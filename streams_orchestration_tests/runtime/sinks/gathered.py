"""An application with one sink, whose files of complete epochs become fewer and larger ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from sqlalchemy import select

from streams_orchestration.operators.files.partitions import NULL
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.sinks.completing import complete
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.sinks.gathering import Gatherer
from streams_orchestration.runtime.sinks.publishing import DueOutput, outstanding
from streams_orchestration.runtime.stepping import publish
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, sink, source
from streams_orchestration_tests.runtime.local import LocalApplication

Rows = list[tuple[str | None, int]]
FEW = ("a", "b", None)


def made_up(count: int, keys: Sequence[str | None] = FEW) -> Rows:
    return [(keys[i % len(keys)], i) for i in range(count)]


@dataclass
class Sink:
    """An application of one PE that writes what it reads, five tuples a batch, and what can be seen of it."""

    directory: Path
    rows: Rows
    parameters: dict[str, Any]
    now: float = 0.0
    seen: dict[Path, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = {"k": pa.array([k for k, _ in self.rows], pa.string()), "n": [n for _, n in self.rows]}
        pq.write_table(pa.table(columns), self.directory / "rows.parquet")
        written = sink("Out", "Rows", parameters={"file": "Out", "format": "jsonl"} | self.parameters)
        graph = compiled([source("Rows", self.directory / "rows.parquet"), written], fusion="manual", pes=1)
        self.local = LocalApplication(Home(self.directory / "home"), graph, 5)
        (self.program,) = self.local.programs
        self.place = self.local.home.results(self.local.name) / "Out"
        self.restart()

    def restart(self) -> None:
        """Restart the host's process."""
        (gatherer,) = make_deliverers(self.local.catalog, self.local.name, self.local.programs).values()
        assert isinstance(gatherer, Gatherer)
        gatherer.clock = lambda: self.now
        self.gatherer = gatherer
        self.local.deliverers["Out"] = gatherer

    def commit(self, *, boundary: bool = False) -> bool:
        """Commit a batch; return True if there was one."""
        if boundary:
            self.local.trigger()
        plan = self.local.plan(self.program)
        if plan is None:
            return False
        commit_batch(self.local.catalog, self.program, plan, self.local.execute(self.program, plan), 0.0)
        return True

    def waiting(self) -> list[DueOutput]:
        return outstanding(self.local.catalog, self.local.name, deliveries=True).deliveries

    def turn(self) -> None:
        """Take one turn of the publisher."""
        rows = self.waiting()
        if self.gatherer.ready(rows):
            self.gatherer.deliver(rows)
        publish(self.local.catalog, self.local.name)

    def files(self) -> list[Path]:
        return sorted(self.place.rglob("part-*"))

    def visible(self) -> Rows:
        """Return the rows that a reader finds; check that files found once have not changed."""
        now = {path: path.read_bytes() for path in self.files()}
        assert {path: now.get(path) for path in self.seen} == self.seen
        self.seen = now
        return [row for path, content in now.items() for row in self._rows(path, content)]

    def _rows(self, path: Path, content: bytes) -> Rows:
        tuples = [json.loads(line) for line in content.splitlines()]
        if not self.parameters.get("partitionBy"):
            return [(each["k"], each["n"]) for each in tuples]
        key = path.parent.name.removeprefix("k=")
        return [(None if key == NULL else unquote(key), each["n"]) for each in tuples]

    def complete_rows(self) -> Rows:
        """Return the rows of complete epochs."""
        c, u = tables.commit, tables.unit
        with self.local.catalog.read() as connection:
            last = select(u.c.completed_epoch).scalar_subquery()
            rows = connection.scalars(select(c.c.rows_in).where(c.c.epoch <= last)).all()
        return self.rows[: max(rows, default=0)]

    def epochs(self) -> dict[int, int]:
        """Batch -> its epoch."""
        c = tables.commit
        with self.local.catalog.read() as connection:
            return {row.batch: row.epoch for row in connection.execute(select(c.c.batch, c.c.epoch))}

    def end(self) -> None:
        """To the end of the application."""
        for _ in range(100):
            self.commit(boundary=True)
            self.turn()
            if complete(self.local.catalog, self.local.name):
                return
        raise AssertionError
