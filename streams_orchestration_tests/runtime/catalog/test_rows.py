"""A row that is read has the columns of its table, and says so when it has not."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest
from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Text,
    insert,
    select,
    update,
)

from streams_orchestration.runtime.catalog import columns, rows, sink_rows, tables
from streams_orchestration.runtime.catalog.cause_kinds import FilesKind, NamedKind
from streams_orchestration.runtime.catalog.columns import (
    Cause,
    Count,
    Default,
    Flag,
    Key,
    LongText,
    NullableJson,
    Reason,
)
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.unit_columns import ResetDurations, Tries
from streams_orchestration.runtime.storage.home import Home

Colour = Literal["RED", "GREEN"]


class Stored(TypedDict):
    """A value that is stored as JSON."""

    n: int


@dataclass(frozen=True, slots=True)
class Sample(CatalogRow):
    """A row with a column of every kind."""

    name: Key[str]
    number: Key[Count]
    colour: Colour | Literal["BLUE"]
    painted: Annotated[Colour, Default("RED")]
    size: int | None
    share: Annotated[float, Default(0.5)]
    done: Flag
    data: bytes
    note: LongText
    error: Cause
    last: Count | None
    rows: Annotated[Count, Default(0)]
    stored: Stored
    names: list[str] | None
    requirements: NullableJson[dict[str, Any]]


COLUMNS: list[tuple[str, type[Any], bool, Any]] = [
    ("name", String, False, None), ("number", BigInteger, False, None), ("colour", String, False, None),
    ("painted", String, False, "RED"), ("size", Integer, True, None), ("share", Float, False, 0.5),
    ("done", Boolean, False, False), ("data", LargeBinary, False, None), ("note", Text, False, None),
    ("error", Reason, True, None), ("last", BigInteger, True, None), ("rows", BigInteger, False, 0),
    ("stored", JSON, False, None), ("names", JSON, True, None), ("requirements", JSON, True, None),
]  # fmt: skip
"""Name, type, null and default of each column of the sample's table."""


@dataclass(frozen=True, slots=True)
class Name(CatalogRow):
    """One column."""

    name: str


def test_every_row_has_a_table():
    defined = {
        kind
        for module in (rows, sink_rows)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, CatalogRow) and kind is not CatalogRow
    }
    assert len(defined) == 17
    known = {tuple(table.columns.keys()) for table in tables.metadata.tables.values()}
    assert {tuple(field.name for field in fields(kind)) for kind in defined} <= known


def test_the_columns_of_a_table_are_the_fields_of_its_row(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(columns, "metadata", MetaData())
    table = columns.table_of(Sample, "sample", Index("by_size", "size"))
    found = [(each.name, type(each.type), each.nullable, getattr(each.default, "arg", None)) for each in table.columns]
    assert found == COLUMNS
    assert table.primary_key.columns.keys() == ["name", "number"]
    assert [index.name for index in table.indexes] == ["by_size"]
    nullable = [each.name for each in table.columns if isinstance(each.type, JSON) and each.type.none_as_null]
    assert nullable == ["requirements"]


def test_a_statement_with_other_columns_is_refused(tmp_path: Path):
    catalog, h = create_catalog(Home(tmp_path / "home").prepare()), tables.host
    with catalog.write() as connection:
        connection.execute(insert(h).values(application="app", id=0, state="RUNNING", launched_at=0.0))
        assert Name.all(connection, select(h.c.application.label("name"))) == [Name("app")]
        with pytest.raises(TypeError, match=r"Name has the fields \('name',\), the statement has the columns"):
            Name.all(connection, select(h.c.application))


def test_a_query_for_one_row_may_find_none(tmp_path: Path):
    catalog, h = create_catalog(Home(tmp_path / "home").prepare()), tables.host
    with catalog.write() as connection:
        assert rows.HostRow.one_or_none(connection, select(h)) is None
        connection.execute(insert(h).values(application="app", id=0, state="RUNNING", start_up={"imports": 0.5}))
        expected = rows.HostRow(
            application="app", id=0, incarnation=None, pid=None, process_started=None, state="RUNNING",
            asked_at=None, launched_at=0.0, start_up={"imports": 0.5}, heartbeat_at=None, error=None, launches=0,
            requirements=None, machine=None, space=None, storage_error=None, storage_failed_at=None,
        )  # fmt: skip
        assert rows.HostRow.one_or_none(connection, select(h)) == expected
        assert rows.HostRow.one(connection, select(h)) == expected


def test_the_resets_and_durations_of_a_unit_are_read_as_they_were_written(tmp_path: Path):
    catalog, u = create_catalog(Home(tmp_path / "home").prepare()), tables.unit
    plain = {"application": "app", "drain_timeout": 1.0, "reset_timeout": 1.0, "max_attempts": 5}
    tries = (Tries(NamedKind("a"), 2, 1.0), Tries(FilesKind(0, "north"), 1, 2.0, lately=True))
    kept = {"tries": tries, "drains": ResetDurations(3, 4.0, (0.5, 0.25))}
    with catalog.write() as connection:
        for name, values in (("fresh", {}), ("written", kept), ("emptied", kept)):
            connection.execute(insert(u).values(**plain, configured_attempts=5, name=name, **values))
        connection.execute(update(u).where(u.c.name == "emptied").values(tries=None, drains=None))
        units = {row.name: row for row in rows.UnitRow.all(connection, select(u))}
    assert {name: (unit.tries, unit.drains, unit.resets) for name, unit in units.items()} == {
        "fresh": ((), ResetDurations(), ResetDurations()),
        "written": (tries, kept["drains"], ResetDurations()),
        "emptied": ((), ResetDurations(), ResetDurations()),
    }
