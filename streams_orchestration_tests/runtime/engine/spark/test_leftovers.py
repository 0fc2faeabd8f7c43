"""Files of hosts that were killed are removed by the hosts that come after them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.runtime.engine.port import EngineStart, QueryStart
from streams_orchestration.runtime.engine.spark import engine as engines
from streams_orchestration.runtime.engine.spark.engine import SparkEngine
from streams_orchestration.runtime.engine.spark.frames.query import FrameQuery
from streams_orchestration.runtime.settings.settings import EngineSettings
from streams_orchestration.runtime.storage.directories import directories_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.in_use import is_left
from streams_orchestration_tests.protocol.committing import QUERY, SOURCE, committed
from streams_orchestration_tests.protocol.product import Product
from streams_orchestration_tests.protocol.steps import Protocol
from streams_orchestration_tests.protocol.topologies import topology


def test_files_of_a_session_are_in_the_directory_that_the_next_start_of_the_host_removes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    places: list[str] = []

    def started(settings: dict[str, str], *_: Any) -> None:
        places.append(settings["spark.local.dir"])
        Path(places[-1]).mkdir(parents=True)

    monkeypatch.setattr(engines, "start_jvm", started)
    monkeypatch.setattr(SparkEngine, "_begin", lambda *_: None)
    for incarnation in ("first", "second"):
        SparkEngine(EngineStart(Home(tmp_path), "app", 0, incarnation, EngineSettings()))
    assert [Path(place).exists() for place in places] == [False, True]


def test_a_session_and_its_queries_mark_what_they_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(engines, "start_jvm", lambda *_: None)
    monkeypatch.setattr(SparkEngine, "_begin", lambda *_: None)
    engine = SparkEngine(EngineStart(Home(tmp_path), "app", 0, "mine", EngineSettings()))
    (own,) = (tmp_path / "data" / "app" / "spark").iterdir()
    assert not is_left(own)
    del engine
    assert is_left(own)


def test_a_query_is_not_started_within_an_epoch_and_leaves_nothing_of_those_before_it(tmp_path: Path):
    protocol = Protocol(topology("query"))
    product, world = Product(tmp_path, protocol), protocol.start()
    for pe in (SOURCE, QUERY):
        world = committed(product, world, pe)
    program = protocol.topology.programs[QUERY]
    directories = directories_of(product.home, product.name, QUERY, str(tmp_path))
    killed, start = (QueryStart(product.home, program, directories, generation=1) for _ in range(2))
    left = killed.make_scratch()
    query = FrameQuery(None, start)  # type: ignore[arg-type]
    failure = query.find_failure_or_restart()
    assert failure is not None
    assert "B: its last commit ended no epoch" in failure.message
    assert failure.nature == "unknown"
    assert not Path(left.path).exists()
