"""Readers of the database that sinks write to: after each commit they judge what they see."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streams_orchestration.operators.databases.table import MARKS
from streams_orchestration_tests.chaos.shapes import Shape, Tuples
from streams_orchestration_tests.simulation.compared import difference

SINK = "SqlSink"


def tables_of(shape: Shape) -> dict[str, str]:
    """Return the tables of a shape, each with the table that gets the same tuples and keeps them all."""
    sinks = [node for node in shape.graph if node["operator"] == SINK]
    whole = {str(node["inputs"]): node["name"] for node in sinks if "key" not in node["parameters"]}
    return {node["name"]: whole[str(node["inputs"])] for node in sinks}


def read_tables(path: Path, names: Collection[str]) -> dict[str, Tuples]:
    """Return the rows of tables, in the order in which they were written."""
    if not path.exists():
        return {name: [] for name in names}
    with closing(sqlite3.connect(path)) as connection:
        there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        return {
            name: connection.execute(f'SELECT * FROM "{name}" ORDER BY rowid').fetchall() if name in there else []
            for name in names
        }


@dataclass
class TargetReaders:
    """The rows and marks that were seen at the last commit."""

    path: Path
    tables: Mapping[str, str]
    """Table -> the table that keeps all tuples of its stream."""
    wanted: Mapping[str, Tuples]
    """Table -> the rows of an undisturbed run, for tables that keep all tuples."""
    ordered: Collection[str]
    by_key: bool
    counted: Callable[[str], int]
    """Returns the number of rows of a sink that the catalog counts as delivered."""
    _seen: dict[str, Tuples] = field(default_factory=dict[str, Tuples])
    _marks: dict[tuple[Any, ...], tuple[int, int, int]] = field(
        default_factory=dict[tuple[Any, ...], tuple[int, int, int]]
    )
    _delivered: dict[str, int] = field(default_factory=dict[str, int])
    """Table -> the rows of all its deliveries, by its marks."""
    _places: dict[tuple[str, Any], int] = field(default_factory=dict[tuple[str, Any], int])
    """Table and key -> the number of its tuples that were seen."""

    def __call__(self) -> Iterator[str]:
        """Check the target after a commit."""
        with closing(sqlite3.connect(self.path)) as connection:
            there = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
            if MARKS in there:
                yield from self._check_marks(connection)
        for name, rows in read_tables(self.path, there & self.tables.keys()).items():
            yield from self._check_key(name, rows) if self.tables[name] != name else self._check_rows(name, rows)

    def look_at_catalog(self) -> Iterator[str]:
        """Check that the target has all rows that the catalog counts as delivered."""
        for name in self.tables:
            if (counted := self.counted(name)) > self._delivered.get(name, 0):
                yield f"{name}: {counted} rows count as delivered, and the target has {self._delivered.get(name, 0)}"

    def _check_marks(self, connection: sqlite3.Connection) -> Iterator[str]:
        """Check that a mark never goes back, and that a delivery has one."""
        self._delivered = {}
        statement = f"SELECT life, operator, channel, generation, number, rows FROM {MARKS}"
        for *key, generation, number, rows in connection.execute(statement):
            before = self._marks.get(tuple(key), (-1, -1, 0))
            if (generation, number) < before[:2] or (rows != before[2] and (generation, number) == before[:2]):
                yield f"{key[1]}: the mark {(generation, number)} of {rows} rows comes after {before}"
            self._marks[tuple(key)] = generation, number, rows
            self._delivered[key[1]] = self._delivered.get(key[1], 0) + rows

    def _check_rows(self, name: str, rows: Tuples) -> Iterator[str]:
        """Rows stay, are a part of the undisturbed result, and have come with their mark."""
        before, self._seen[name] = self._seen.get(name, []), rows
        if rows[: len(before)] != before:
            yield f"{name}: rows that readers saw are gone"
        if found := difference(rows, self.wanted[name], in_order=name in self.ordered, by_key=self.by_key):
            yield f"{name}: {found}"
        if len(rows) != self._delivered.get(name, 0):
            yield f"{name}: {len(rows)} rows, and marks of {self._delivered.get(name, 0)}"

    def _check_key(self, name: str, rows: Tuples) -> Iterator[str]:
        """Check that the row of a key is never an older one, and that no delivery is seen in part."""
        for row in rows:
            of_key = [each for each in self.wanted[self.tables[name]] if each[0] == row[0]]
            place = of_key.index(row) + 1 if row in of_key else 0
            if place < max(self._places.get((name, row[0]), 0), 1):
                yield f"{name}: {row} comes after tuple {self._places.get((name, row[0]))} of its key"
            self._places[name, row[0]] = place
        total = sum(place for (table, _), place in self._places.items() if table == name)
        if total != self._delivered.get(name, 0):
            yield f"{name}: its rows are those after {total} tuples, and its marks tell {self._delivered.get(name, 0)}"
