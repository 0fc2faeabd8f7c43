"""The catalog keeps no secret in the reasons of failures, and any name of a file."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import select, update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.model.secrets import HIDDEN
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import totals, write_rows
from streams_orchestration_tests.runtime.locked import deploy


@pytest.mark.usefixtures("database")
def test_no_reason_in_the_catalog_shows_a_secret(tmp_path: Path):
    home = Home(tmp_path / "home")
    deploy(home, deployable(totals(write_rows(tmp_path / "rows.parquet", 3))))
    reasons = [tables.host.c.error, tables.host.c.storage_error, tables.pe.c.error, tables.unit.c.cause]
    with Catalog(home).write() as connection:
        for column in reasons:
            connection.execute(update(column.table).values({column.name: "amqp://me:planted@host/\udcff is away"}))
    with Catalog(home).read() as connection:
        for column in reasons:
            assert connection.scalars(select(column)).first() == rf"amqp://me:{HIDDEN}@host/\udcff is away"
