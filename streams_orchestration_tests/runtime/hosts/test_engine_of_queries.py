"""A host with queries of Spark's own is started with an engine for them, any other as ever."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.deployment import claims
from streams_orchestration.runtime.deployment.control import launch_hosts
from streams_orchestration.runtime.engine.spark.session_settings import JAVA_OPTIONS, session_settings
from streams_orchestration.runtime.hosts.launcher import HostStart, process_command
from streams_orchestration.runtime.processes.processes import ProcessIdentity, identify
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.locked import deploy

MADE: dict[str, Any] = {
    "name": "Made", "operator": "Beacon", "outputs": [{"stream": "Made", "schema": "n bigint"}],
    "parameters": {"iterations": 1},
}  # fmt: skip
OPERATORS: dict[str, dict[str, Any]] = {
    "Filter": {"parameters": {"filter": "n > 0"}},
    "Sql": {"parameters": {"query": "SELECT n FROM Made"}, "outputs": [{"stream": "Taken", "schema": "n bigint"}]},
}


class Recorded:
    """A launcher that starts nothing."""

    def __init__(self) -> None:
        self.starts: list[HostStart] = []

    def launch(self, start: HostStart) -> ProcessIdentity:
        self.starts.append(start)
        process = identify(os.getpid())
        assert process is not None
        return process


@pytest.mark.parametrize(("operator", "queries"), [("Filter", False), ("Sql", True)])
def test_an_engine_knows_whether_it_runs_queries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, operator: str, queries: bool
):
    taken = {"name": "Taken", "operator": operator, "inputs": ["Made"], **OPERATORS[operator]}
    document = {"specVersion": 1, "application": "app", "graph": [MADE, taken]}
    home, launcher = Home(tmp_path).prepare(), Recorded()
    deploy(home, deployable(compile_application(application_from_mapping(document), Options())), asks_spark=False)
    monkeypatch.setattr(claims, "launch_host", launcher.launch)
    launch_hosts(Catalog(home), "app")
    (start,) = launcher.starts
    assert start.engine.queries is queries
    assert ("--queries" in process_command(home, start.engine)) is queries


@pytest.mark.parametrize("queries", [False, True])
def test_only_the_jvm_of_queries_compiles_well(tmp_path: Path, queries: bool):
    settings = session_settings("app", tmp_path, memory="1g", queries=queries)
    assert ("TieredStopAtLevel" in settings[JAVA_OPTIONS]) is not queries
    assert (settings.get("spark.sql.codegen.factoryMode") == "NO_CODEGEN") is not queries
