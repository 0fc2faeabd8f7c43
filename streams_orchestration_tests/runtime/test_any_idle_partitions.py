"""Each tuple meets the same watermark in every replay, whatever a clock decides about partitions (EV42, EV51)."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration import world
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.operators.tuples.watermarks import IDLE
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import NONE, Meeting, in_event_time, lines, through
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

IDLE_AFTER = 2.0
Row = tuple[int, int, str]
"""By how much time goes on, by how much the tuple is behind it, and its partition."""
ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 6), st.sampled_from("aaabbc")), min_size=1, max_size=5
)  # fmt: skip
EVENTS = st.lists(
    st.one_of(
        ROWS, ROWS,
        st.tuples(st.just("wait"), st.integers(1, 9)),
        st.tuples(st.sampled_from(["turn", "limit"]), st.integers(1, 6)),
        st.sampled_from([("trigger", 0), ("reset", 0), ("reset", 0), ("redeploy", 0)]),
    ),
    min_size=4, max_size=24,
)  # fmt: skip


class Noting(Meeting):
    """Notes the watermarks that each tuple has met, in all replays."""

    met: ClassVar[defaultdict[int, set[int]]] = defaultdict(set)

    def process(self, port: int, batch: TupleBatch) -> None:
        for row in batch.arrow.to_pylist():
            self.met[row["n"]].add(self.watermark)
        super().process(port, batch)


NOTING = {
    "implementation": f"{__name__}:Noting",
    "inputs": [{}],
    "outputs": [{"mutable": True}],
    "stateful": True,
}


def plan(file: Path, *, longer: bool, pes: int, **event_time: Any) -> PlannedCompilation:
    """Lines -> (a filter) -> a note of what each tuple meets -> sink."""
    graph = [lines("Rows", file, idleAfter=IDLE_AFTER, **event_time)]
    graph += [through("Some", "Filter", "Rows", parameters={"filter": "n >= 0"})] if longer else []
    graph += [through("Met", "Noting", "Some" if longer else "Rows", schema="Met"), sink("Out", "Met")]
    return in_event_time(graph, operators={"Noting": NOTING}, fusion="manual", pes=pes)


@given(EVENTS, st.sampled_from([0, 3]), st.sampled_from([0, 4]), st.sampled_from([1, 2]), st.integers(1, 8))
@examples(30)
def test_every_replay_shows_a_tuple_the_same_watermark(events: list[Any], lag: int, gap: int, pes: int, limit: int):
    now, time, number, longer = [100.0], 100, 0, False
    Noting.met.clear()
    given_ = {"lag": lag / 1000, "minimumGap": gap / 1000}
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(world, "monotonic", lambda: now[0])
        file = Path(place, "rows.txt")
        file.touch()
        local = LocalApplication(Home(Path(place, "home")), plan(file, longer=longer, pes=pes, **given_), limit)
        written: list[tuple[int, str, int]] = []

        def turn(count: int, seconds: float = 0.0) -> None:
            for _ in range(count):
                now[0] += seconds
                for program in local.programs:
                    local.step(program)

        for event in events:
            match event:
                case ("wait", count):
                    turn(count, 0.5)
                case ("turn", count):
                    turn(count)
                case ("limit", count):
                    local.source_limit = count
                case ("trigger", _):
                    local.trigger()
                case ("reset", _):
                    reset_unit(local.catalog, local.name, local.units[0], force=True)
                case ("redeploy", _):
                    longer = not longer
                    redeploy(local, plan(file, longer=longer, pes=pes, **given_))
                case rows:
                    for on, back, partition in rows:
                        time, number = time + on, number + 1
                        written.append((time - back, partition, number))
                        with file.open("a") as out:
                            out.write(f"{time - back} {partition} {number}\n")
        with file.open("a") as out:
            out.write("end\n")
        local.run()
        found = [tuple(row.values()) for path in local.published("Out") for row in pq.read_table(path).to_pylist()]
    assert [(at, k, n) for at, k, n, _ in found if k != "end"] == written
    assert [n for n, watermarks in Noting.met.items() if len(watermarks) > 1] == []
    reached = [IDLE if watermark == NONE else watermark for *_, watermark in found]
    assert reached == sorted(reached)
    greatest = IDLE + lag
    for (at, _, n), watermark in zip(written, reached, strict=False):
        assert watermark <= greatest - lag, f"tuple {n}: no time has reached the watermark"
        greatest = max(at, greatest)
