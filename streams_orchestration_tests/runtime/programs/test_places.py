"""Errors of what runs name the place in the spec from which it was deployed."""

from __future__ import annotations

from pathlib import Path

import pytest
from sqlalchemy import update

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.programs.stored_compilation import places_of
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
  - name: Kept
    operator: Filter
    inputs: [Rows]
    outputs: [{stream: Kept, schema: "k string, n bigint"}]
    annotations: {parallel: {width: 2}}
    parameters:

      filter: n > 1
  - name: Out
    operator: FileSink
    inputs: [Kept]
    parameters: {file: out}
"""


@pytest.fixture
def deployed(tmp_path: Path) -> LocalApplication:
    write_rows(tmp_path / "rows.parquet", 5)
    (tmp_path / "app.yaml").write_text(SPEC)
    return LocalApplication(Home(tmp_path / "home"), compile_spec(tmp_path / "app.yaml", Options()), 5)


def test_an_operator_stands_where_the_parameter_does_and_else_where_its_invocation_does(deployed: LocalApplication):
    with deployed.catalog.read() as connection:
        places = places_of(connection, "app", ["Kept[0]", "Kept[1]", "Rows", "New"], ["query", "filter"])
        assert places_of(connection, "other", ["Rows"], []) == {}
    spec = deployed.home.root.parent / "app.yaml"
    assert places == {"Rows": f"{spec}:4", "Kept[0]": f"{spec}:15", "Kept[1]": f"{spec}:15"}


def test_an_application_deployed_by_another_version_has_no_places(deployed: LocalApplication):
    with deployed.catalog.write() as connection:
        connection.execute(update(tables.application).values(compilation=b"{}"))
    with deployed.catalog.read() as connection:
        assert places_of(connection, "app", ["Rows"], []) == {}
