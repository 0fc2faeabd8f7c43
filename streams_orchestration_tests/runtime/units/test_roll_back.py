"""A unit that is rolled back holds what its PEs had at the cut, and all other units what they have."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, Table, insert, select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.creation import create_catalog
from streams_orchestration.runtime.catalog.rows import UnitRow
from streams_orchestration.runtime.errors.invariants import InvariantError
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.roll_back import roll_back
from streams_orchestration_tests.examples import examples

EPOCH = 99
WRITTEN = (tables.commit, tables.segment, tables.state, tables.sink_file)


@dataclass(frozen=True)
class Batch:
    """The segments that a batch writes, and whether it closes its epoch."""

    boundary: bool
    segments: int
    early: bool
    """Its segments are read before the epoch is complete."""
    state: bool
    file: bool


BATCHES = st.lists(st.builds(Batch, st.booleans(), st.integers(0, 2), st.booleans(), st.booleans(), st.booleans()),
                   max_size=5)  # fmt: skip
UNITS = st.fixed_dictionaries({name: st.lists(BATCHES, min_size=1, max_size=3) for name in ("other", "region")})


def position(inputs: int, outputs: int) -> dict[str, Any]:
    return {"inputs": {"in": inputs}, "sources": {}, "exhausted": [], "outputs": {"out": outputs}}


def enter(connection: Connection, application: str, units: dict[str, list[list[Batch]]], completed: int) -> None:
    """Enter the rows of PEs that have made these batches; every number of a PE begins with its own."""
    pe = 0
    for unit, members in units.items():
        settings = {"drain_timeout": 1.0, "reset_timeout": 1.0, "max_attempts": 5, "configured_attempts": 5}
        values = {"application": application, "name": unit, "completed_epoch": completed}
        connection.execute(insert(tables.unit).values(**values, **settings))
        for batches in members:
            epoch, written = 1, 0
            for number, batch in enumerate(batches):
                key = {"application": application, "pe": pe, "batch": number}
                of_epoch = key | {"epoch": epoch}
                for _ in range(batch.segments):
                    connection.execute(insert(tables.segment).values(
                        **of_epoch, stream=f"s{pe}", number=written, path=f"{pe}/{written}", rows=1, size=1,
                        checksum=0, committed_at=0.0, uncommitted=batch.early,
                    ))  # fmt: skip
                    written += 1
                if batch.state:
                    chain = [{"path": f"{pe}/state-{at}"} for at in range(max(number - 1, 0), number + 1)]
                    connection.execute(insert(tables.state).values(**key, operator=f"op{pe}", files=chain))
                if batch.file:
                    connection.execute(insert(tables.sink_file).values(
                        **of_epoch, pending=f"{pe}/file-{number}", operator=f"op{pe}", generation=1, rows=1, size=1,
                        checksum=0,
                    ))  # fmt: skip
                connection.execute(insert(tables.commit).values(
                    **of_epoch, generation=1, boundary=batch.boundary, exhausted=number % 2 == 1, final=False,
                    position=position(number, written), rows_in=number, rows_out=written, busy_seconds=number,
                    committed_at=number,
                ))  # fmt: skip
                epoch += batch.boundary
            last = {"batch": len(batches) - 1, "epoch": epoch, "position": position(len(batches) - 1, written)}
            connection.execute(insert(tables.pe).values(
                application=application, id=pe, unit=unit, host=0, feeds=True, operators=[], levels=[],
                program=b"{}", initial=position(0, 0), state="RUNNING", **last,
            ))  # fmt: skip
            pe += 1


def at_cut(batches: list[Batch], completed: int) -> list[Batch]:
    """Return the batches up to the one that closed an epoch; none where there is no such batch."""
    closing = [number for number, batch in enumerate(batches) if batch.boundary]
    return batches[: closing[completed - 1] + 1] if 0 < completed <= len(closing) else []


def closed(members: list[list[Batch]]) -> list[int]:
    """Return the number of epochs that each PE has closed."""
    return [sum(batch.boundary for batch in batches) for batches in members]


def written(connection: Connection, application: str, table: Table) -> list[dict[str, Any]]:
    """Return the rows of an application that were not taken back; which one it is is left out."""
    rows = connection.execute(select(table).where(table.c.application == application).order_by(*table.primary_key))
    return [dict(row) | {"application": ""} for row in rows.mappings() if not row.get("retracted")]


def standing_at_cut(pe: dict[str, Any], numbers: dict[int, Any]) -> dict[str, Any]:
    """Return a PE that has made its batches up to the cut and no more, as a reset leaves it."""
    last, outputs = pe["batch"], {"outputs": numbers[pe["id"]]}
    back = pe | {"state": "WANTED", "epoch": EPOCH}
    if last < 0:
        return back | {"position": pe["initial"] | outputs}
    totals = {"rows_in": last, "rows_out": pe["position"]["outputs"]["out"], "busy_seconds": last}
    return back | totals | {"committed_at": last, "exhausted": last % 2 == 1, "position": pe["position"] | outputs}


@pytest.fixture
def catalog(database: str, tmp_path: Path) -> Catalog:
    home = Home(tmp_path)
    create_catalog(home)
    return Catalog(home)


@given(units=UNITS, completed=st.integers(0, 3))
@examples(20)
def test_a_unit_that_is_rolled_back_holds_what_it_held_at_the_cut(
    units: dict[str, list[list[Batch]]], completed: int, catalog: Catalog
):
    completed = min(completed, *closed(units["region"]))
    before = {**units, "region": [at_cut(batches, completed) for batches in units["region"]]}
    name, other = uuid.uuid4().hex, uuid.uuid4().hex
    with catalog.write() as connection:
        enter(connection, name, units, completed)
        enter(connection, other, before, completed)
        named = {row["path"] for row in written(connection, name, tables.segment)}
        numbers = {pe["id"]: pe["position"]["outputs"] for pe in written(connection, name, tables.pe)}
        u = tables.unit
        unit = UnitRow.one(connection, select(u).where(u.c.application == name, u.c.name == "region"))
        garbage = roll_back(connection, unit, to=completed, epoch=EPOCH)
    with catalog.read() as connection:
        for table in WRITTEN:
            assert written(connection, name, table) == written(connection, other, table)
        s = tables.segment
        kept = set(connection.scalars(select(s.c.path).where(s.c.application == name)))
        states = {file["path"] for row in written(connection, name, tables.state) for file in row["files"]}
        assert named - kept <= set(garbage), "what no row names any more is removed"
        assert not set(garbage) & (kept | states), "nothing that a row names is removed"
        wanted = [
            standing_at_cut(pe, numbers) if pe["unit"] == "region" else pe
            for pe in written(connection, other, tables.pe)
        ]
        assert written(connection, name, tables.pe) == wanted


@pytest.mark.parametrize(
    ("members", "completed", "epoch", "rule"),
    [([1, 0], 1, EPOCH, "B30"), ([2, 1], 2, EPOCH, "B30"), ([1, 1], 1, 1, "B4"), ([0], 0, 0, "B4")],
    ids=["no cut", "an earlier cut", "an epoch that is complete", "no epoch"],
)
def test_a_unit_whose_rows_break_a_rule_is_left_as_it_is(
    members: list[int], completed: int, epoch: int, rule: str, catalog: Catalog
):
    name, closing = uuid.uuid4().hex, Batch(boundary=True, segments=1, early=False, state=True, file=True)
    with catalog.write() as connection:
        enter(connection, name, {"region": [[closing] * count for count in members]}, completed)
    with catalog.read() as connection:
        before = [written(connection, name, table) for table in (*WRITTEN, tables.pe)]
        unit = UnitRow.one(connection, select(tables.unit).where(tables.unit.c.application == name))
    with pytest.raises(InvariantError, match=rf"rule {rule} "), catalog.write() as connection:
        roll_back(connection, unit, to=completed, epoch=epoch)
    with catalog.read() as connection:
        assert [written(connection, name, table) for table in (*WRITTEN, tables.pe)] == before
