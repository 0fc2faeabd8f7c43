"""Operators that set their watermarks themselves (EV23)."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import END
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import NONE, in_event_time, lines, through
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = pytest.mark.slow


class Passing(Operator):
    """Submits tuples, then sets a watermark above their times."""

    watermark_mode = "manual"

    def process(self, port: int, batch: TupleBatch) -> None:
        self.submit(batch)
        self.set_watermark(max(batch.arrow.column("at").to_pylist()) + 1)


OPERATORS = {
    "Passing": {"implementation": f"{__name__}:Passing", "inputs": [{}], "outputs": [{}], "watermarkMode": "manual"},
}


@pytest.mark.parametrize("limit", [1, 2, 9])
@pytest.mark.parametrize("pes", [1, 4])
def test_a_watermark_follows_the_tuples_that_were_submitted_before_it(tmp_path: Path, pes: int, limit: int):
    """The source has a watermark after each tuple, so the operator is called several times for one batch."""
    (tmp_path / "rows").write_text("10 a 1\n20 a 2\n15 a 3\n30 a 4\nend\n")
    graph = [
        lines("Rows", tmp_path / "rows"),
        through("Passed", "Passing", "Rows"),
        through("Met", "Meeting", "Passed", schema="Met"),
        sink("Out", "Met"),
    ]
    plan = in_event_time(graph, operators=OPERATORS, fusion="manual", pes=pes)
    local = LocalApplication(Home(tmp_path / "home"), plan, limit)
    local.run()
    found = [row for path in local.published("Out") for row in pq.read_table(path).to_pylist()]
    met = [(10, NONE), (20, 11), (15, 21), (30, 21), (0, END)]
    assert [(row["at"], row["watermark"]) for row in found] == met
