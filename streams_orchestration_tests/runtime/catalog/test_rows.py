"""A row that is read has the columns of its table, and says so when it has not."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from sqlalchemy import JSON, Boolean, Float, Integer, LargeBinary, String, Table, Text, insert, select

from streams_orchestration.runtime.catalog import rows, tables
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.reason import Reason
from streams_orchestration.runtime.storage.home import Home

TABLES: dict[type[CatalogRow], Table] = {
    rows.ApplicationRow: tables.application,
    rows.HostRow: tables.host,
    rows.UnitRow: tables.unit,
    rows.UnitEventRow: tables.unit_event,
    rows.PeRow: tables.pe,
    rows.CommitRow: tables.commit,
    rows.SegmentRow: tables.segment,
    rows.StateRow: tables.state,
    rows.SinkRow: tables.sink,
    rows.SinkFileRow: tables.sink_file,
    rows.ExportRow: tables.stream_export,
    rows.ImportRow: tables.stream_import,
    rows.ConnectionRow: tables.stream_connection,
    rows.TrialRow: tables.trial,
    rows.MachineRow: tables.machine,
    rows.LogRequestRow: tables.log_request,
    rows.LineageRunRow: tables.lineage_run,
}
KINDS = {Boolean: bool, Integer: int, Float: float, LargeBinary: bytes, Text: str, String: str, Reason: str}
"""Type of a column -> type of a field; a JSON column may hold anything."""


@dataclass(frozen=True, slots=True)
class Name(CatalogRow):
    """One column."""

    name: str


def test_every_row_has_a_table():
    defined = {kind for kind in vars(rows).values() if isinstance(kind, type) and issubclass(kind, CatalogRow)}
    assert defined - {CatalogRow} == TABLES.keys()


@pytest.mark.parametrize("row", TABLES, ids=lambda row: row.__name__)
def test_the_fields_of_a_row_are_the_columns_of_its_table(row: type[CatalogRow]):
    assert [field.name for field in fields(row)] == TABLES[row].columns.keys()


@pytest.mark.parametrize("row", TABLES, ids=lambda row: row.__name__)
def test_a_field_may_be_none_where_its_column_may_be_null(row: type[CatalogRow]):
    hints = get_type_hints(row)
    optional = [name for name, hint in hints.items() if type(None) in get_args(hint)]
    assert optional == [column.name for column in TABLES[row].columns if column.nullable]


@pytest.mark.parametrize("row", TABLES, ids=lambda row: row.__name__)
def test_a_field_has_the_type_of_its_column(row: type[CatalogRow]):
    hints = get_type_hints(row)
    for column in TABLES[row].columns:
        if isinstance(column.type, JSON):
            continue
        expected = next(kind for sort, kind in KINDS.items() if isinstance(column.type, sort))
        assert expected is column.type.python_type
        assert plain(hints[column.name]) == {expected}, column.name


def plain(hint: Any) -> set[Any]:
    """The types of a hint without None; of literals those of their values."""
    parts = get_args(hint)
    if not parts:
        return {type(hint)} if isinstance(hint, str) else {hint}
    return {kind for part in parts for kind in plain(part)} - {type(None)}


def test_a_statement_with_other_columns_is_refused(tmp_path: Path):
    catalog, h = create_catalog(Home(tmp_path / "home").prepare()), tables.host
    with catalog.write() as connection:
        connection.execute(insert(h).values(application="app", id=0, state="RUNNING", launched_at=0.0))
        assert Name.all(connection, select(h.c.application.label("name"))) == [Name("app")]
        with pytest.raises(TypeError, match=r"Name has the fields \('name',\), the statement has the columns"):
            Name.all(connection, select(h.c.application))


def test_one_row_or_none(tmp_path: Path):
    catalog, h = create_catalog(Home(tmp_path / "home").prepare()), tables.host
    with catalog.write() as connection:
        assert rows.HostRow.one_or_none(connection, select(h)) is None
        connection.execute(insert(h).values(application="app", id=0, state="RUNNING", start_up={"imports": 0.5}))
        expected = rows.HostRow(
            application="app", id=0, incarnation=None, pid=None, process_started=None, state="RUNNING",
            asked_at=None, launched_at=0.0, start_up={"imports": 0.5}, heartbeat_at=None, error=None, launches=0,
            wish=None, machine=None, space=None, storage_error=None, storage_failed_at=None,
        )  # fmt: skip
        assert rows.HostRow.one_or_none(connection, select(h)) == expected
        assert rows.HostRow.one(connection, select(h)) == expected
