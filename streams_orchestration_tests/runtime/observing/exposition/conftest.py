"""An application that is complete, and the program that checks for Prometheus."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.runtime.observing.exposition.prometheus import read_metrics_text
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, node, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.observing.exposition.exposed import COUNT, Picky
from streams_orchestration_tests.servers.jars import NotToBeHadError
from streams_orchestration_tests.servers.promtool import promtool


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A state directory with an application that is complete."""
    directory = tmp_path_factory.mktemp("exposed")
    rows = write_rows(directory / "rows.parquet", COUNT)
    graph = [source("Rows", rows), node("Odd", f"{Picky.__module__}:Picky", "Rows"), sink("Out", "Odd")]
    application = LocalApplication(Home(directory / "home"), compiled(graph, fusion="legacy"), 25)
    application.run()
    return application.home


@pytest.fixture
def text(home: Home) -> str:
    return read_metrics_text(home)[0].decode()


@pytest.fixture
def tool() -> Path:
    try:
        return promtool()
    except NotToBeHadError as error:
        pytest.skip(str(error))
