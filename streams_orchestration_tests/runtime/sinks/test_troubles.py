"""The troubles of a publisher are shared by its thread and those of its deliveries."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.runtime.sinks.publisher import Publisher, SinkTrouble
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, sink, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = pytest.mark.usefixtures("no_hosts")


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    graph = [source("Rows", write_rows(tmp_path / "rows.parquet", 5)), sink("Out", "Rows", parameters={"file": "Out"})]
    return LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), 5)


class _Guarded(dict[str, SinkTrouble]):
    """Troubles that say when they are looked through without their lock."""

    publisher: Publisher

    def __iter__(self) -> Iterator[str]:
        assert self.publisher._lock.locked()
        return super().__iter__()

    def items(self) -> Any:
        assert self.publisher._lock.locked()
        return super().items()


def test_troubles_are_looked_through_while_no_delivery_changes_them(local: LocalApplication):
    publisher = Publisher(local.catalog, local.name)
    troubles = publisher.troubles = _Guarded(Out=SinkTrouble(), Gone=SinkTrouble(next_try=math.inf))
    troubles.publisher = publisher
    local.commit(boundary=True)
    publisher.turn()
    assert dict.keys(troubles) == {"Gone"}
