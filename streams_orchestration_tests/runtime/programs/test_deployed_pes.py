"""The programs of the deployed PEs, as hosts and commands load them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, select, update

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.rows import ApplicationRow
from streams_orchestration.runtime.deployment.run_kinds import reopen
from streams_orchestration.runtime.errors.errors import OtherVersionError
from streams_orchestration.runtime.programs.deployed_pes import deployed_pes, has_queries
from streams_orchestration.runtime.redeployment.deployed_plan import deployed_plan
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

SPEC = """\
specVersion: 1
application: app
graph:
  - name: Rows
    operator: FileSource
    outputs: [{stream: Rows, schema: "k string, n bigint"}]
    parameters: {file: rows.parquet, format: parquet}
  - name: Out
    operator: FileSink
    inputs: [Rows]
    parameters: {file: out}
"""


@pytest.fixture
def deployed(tmp_path: Path) -> LocalApplication:
    write_rows(tmp_path / "rows.parquet", 5)
    (tmp_path / "app.yaml").write_text(SPEC)
    return LocalApplication(Home(tmp_path / "home"), compile_spec(tmp_path / "app.yaml", Options()), 5)


READINGS: dict[str, Callable[[LocalApplication, Connection], object]] = {
    "all programs": lambda local, _: deployed_pes(local.catalog, "app"),
    "the kinds of engines": lambda _, connection: has_queries(connection, "app", 0),
    "the deployed plan": lambda _, connection: deployed_plan(
        connection, ApplicationRow.one(connection, select(tables.application))
    ),
    "a complete run that goes on": lambda _, connection: reopen(connection, "app"),
}


def test_programs_of_this_version_are_read(deployed: LocalApplication):
    assert [placed.program.pe for placed in deployed_pes(deployed.catalog, "app")] == [0]
    with deployed.catalog.read() as connection:
        assert not has_queries(connection, "app", 0)


@pytest.mark.parametrize("read", READINGS.values(), ids=READINGS)
def test_programs_that_another_version_has_written_are_refused_by_name(
    deployed: LocalApplication, read: Callable[[LocalApplication, Connection], object]
):
    deployed.run()
    with deployed.catalog.write() as connection:
        connection.execute(update(tables.pe).values(program=b'{"engine": "of later"}'))
    with (
        deployed.catalog.read() as connection,
        pytest.raises(OtherVersionError, match="app was deployed by another version of the product"),
    ):
        read(deployed, connection)
