"""The programs of the deployed PEs, as hosts and commands load them."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import update

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.errors import OtherVersionError
from streams_orchestration.runtime.hosts.pes import deployed_pes
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


def test_programs_that_another_version_has_written_are_refused_by_name(deployed: LocalApplication):
    assert [placed.program.pe for placed in deployed_pes(deployed.catalog, "app")] == [0]
    with deployed.catalog.write() as connection:
        connection.execute(update(tables.pe).values(program=b"{}"))
    with pytest.raises(OtherVersionError, match="app was deployed by another version of the product"):
        deployed_pes(deployed.catalog, "app")
