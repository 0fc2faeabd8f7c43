"""Watermarks between the same tuples, however the application is cut into PEs, tasks, batches, and channels (EV41)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from streams_orchestration.operators.tuples.watermarks import END
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import sink
from streams_orchestration_tests.runtime.event_times import Timed, in_event_time, met_by, through, timed, timed_file
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy, run_some

pytestmark = pytest.mark.slow

TUPLES = [(1000 * (i + (7 * i) % 5), "abcd"[i % 4], i) for i in range(60)]
"""Out of order by up to 4 s."""
FUSION: list[dict[str, Any]] = [{"fusion": "automatic"}, *({"fusion": "manual", "pes": n} for n in (1, 6))]


def run(directory: Path, graph: list[dict[str, Any]], source_limit: int = 25, **options: Any) -> LocalApplication:
    application = LocalApplication(Home(directory / "home"), in_event_time(graph, **options), source_limit)
    application.run()
    return application


def shown(application: LocalApplication, name: str = "Out") -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for path in application.published(name) for row in pq.read_table(path).to_pylist()]


def chain(file: Path) -> list[dict[str, Any]]:
    return [
        timed("Rows", file, lag=1.0),
        through("Some", "Filter", "Rows", parameters={"filter": "n >= 0"}),
        through("More", "Functor", "Some", parameters={"output": {"n": "n + 0"}}),
        through("Met", "Meeting", "More", schema="Met"),
        sink("Out", "Met"),
    ]


@pytest.mark.parametrize("fusion", FUSION, ids=lambda options: "-".join(map(str, options.values())))
def test_each_tuple_meets_the_same_watermark_in_every_fusion(tmp_path: Path, fusion: dict[str, Any]):
    graph = chain(timed_file(tmp_path / "rows.parquet", TUPLES))
    assert shown(run(tmp_path, graph, **fusion)) == met_by(TUPLES)


@pytest.mark.parametrize("source_limit", [1, 7, 59, 60, 61])
def test_each_tuple_meets_the_same_watermark_in_batches_of_every_size(tmp_path: Path, source_limit: int):
    graph = chain(timed_file(tmp_path / "rows.parquet", TUPLES))
    assert shown(run(tmp_path, graph, source_limit, fusion="manual", pes=2)) == met_by(TUPLES)


@pytest.mark.parametrize("threading", ["manual", "automatic", "dynamic", "dedicated"])
def test_each_tuple_meets_the_same_watermark_in_every_threading_model(tmp_path: Path, threading: str):
    graph = chain(timed_file(tmp_path / "rows.parquet", TUPLES))
    assert shown(run(tmp_path, graph, threading=threading)) == met_by(TUPLES)


@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("fusion", FUSION, ids=lambda options: "-".join(map(str, options.values())))
def test_a_channel_meets_the_watermarks_of_all_tuples(tmp_path: Path, width: int, fusion: dict[str, Any]):
    by_key = {"parallel": {"width": width, "partitionBy": [{"port": "Rows", "attributes": ["k"]}]}}
    graph = [
        timed("Rows", timed_file(tmp_path / "rows.parquet", TUPLES), lag=1.0),
        through("Met", "Meeting", "Rows", schema="Met", annotations=by_key),
        sink("Out", "Met"),
    ]
    wanted = [row for row in met_by(TUPLES) if row[-1] != END]
    assert sorted(row for row in shown(run(tmp_path, graph, **fusion)) if row[1] != "end") == sorted(wanted)


@pytest.mark.covering
@pytest.mark.parametrize("fusion", FUSION, ids=lambda options: "-".join(map(str, options.values())))
@pytest.mark.parametrize("source_limit", [1, 7, 60])
def test_a_tuple_that_is_in_time_in_its_stream_is_in_time_behind_a_merge(
    tmp_path: Path, fusion: dict[str, Any], source_limit: int
):
    other = [(at + 500, k, n + 100) for at, k, n in TUPLES[::2]]
    graph = [
        timed("Rows", timed_file(tmp_path / "rows.parquet", TUPLES), lag=4.0),
        timed("Others", timed_file(tmp_path / "others.parquet", other), lag=10.0),
        through("Both", "Union", "Rows", "Others"),
        through("Met", "Meeting", "Both", schema="Met"),
        sink("Out", "Met"),
    ]
    met = shown(run(tmp_path, graph, source_limit, **fusion))
    assert sorted(n for *_, n, watermark in met if watermark != END) == sorted(n for *_, n in [*TUPLES, *other])
    assert [row for row in met if row[0] < row[3] < END] == []
    assert met[-1] == (0, "end", 0, END)
    assert sum(0 <= watermark < END for *_, watermark in met) > 20  # the watermark moves before the end


@pytest.mark.usefixtures("no_hosts")
@pytest.mark.parametrize("turns", [1, 4, 8])
def test_a_reset_brings_the_watermarks_back(tmp_path: Path, turns: int):
    graph = chain(timed_file(tmp_path / "rows.parquet", TUPLES))
    local = LocalApplication(Home(tmp_path / "home"), in_event_time(graph, fusion="manual", pes=3), source_limit=7)
    for turn in range(turns):
        run_some(local, 1 + turn)
        reset_unit(local.catalog, local.name, local.units[0], force=True)
    local.run()
    assert shown(local) == met_by(TUPLES)


@pytest.mark.covering
@pytest.mark.parametrize("turns", [1, 3, 6])
@pytest.mark.parametrize("pes", [1, 4])
def test_a_redeploy_keeps_the_watermarks(tmp_path: Path, turns: int, pes: int):
    graph = chain(timed_file(tmp_path / "rows.parquet", TUPLES))
    local = LocalApplication(Home(tmp_path / "home"), in_event_time(graph, fusion="manual", pes=2), source_limit=7)
    run_some(local, turns)
    redeploy(local, in_event_time(graph, fusion="manual", pes=pes))
    local.run()
    assert shown(local) == met_by(TUPLES)


def merged(directory: Path, others: list[Timed], width: int) -> list[dict[str, Any]]:
    """Two sources -> (parallel by key: Union) -> a merge that shows watermarks -> sink."""
    by_key = {"parallel": {"width": width, "partitionBy": [{"port": "Rows", "attributes": ["k"]}]}}
    return [
        timed("Rows", timed_file(directory / "rows.parquet", TUPLES), lag=4.0),
        timed("Others", timed_file(directory / "others.parquet", others), lag=9.0),
        through("Both", "Union", "Rows", "Others", annotations=by_key),
        through("Met", "Meeting", "Both", schema="Met"),
        sink("Out", "Met"),
    ]


@pytest.mark.covering
@pytest.mark.parametrize("turns", [1, 3, 6])
@pytest.mark.parametrize("widths", [(1, 3), (3, 2)])
def test_a_redeploy_with_other_channels_keeps_the_watermarks(tmp_path: Path, turns: int, widths: tuple[int, int]):
    local = LocalApplication(
        Home(tmp_path / "home"), in_event_time(merged(tmp_path, TUPLES[::2], widths[0]), fusion="manual", pes=2), 7
    )
    run_some(local, turns)
    redeploy(local, in_event_time(merged(tmp_path, TUPLES[::2], widths[1]), fusion="manual", pes=3))
    local.run()
    met = shown(local)
    assert sorted(n for *_, n, watermark in met if watermark != END) == sorted(n for *_, n in [*TUPLES, *TUPLES[::2]])
    assert [row for row in met if row[0] < row[3] < END] == []
    assert met[-1] == (0, "end", 0, END)
    assert sum(0 <= watermark < END for *_, watermark in met) > 20


def test_a_sink_is_complete_up_to_the_watermark_of_its_visible_epoch(tmp_path: Path):
    graph = [
        timed("Rows", timed_file(tmp_path / "rows.parquet", TUPLES), lag=1.0),
        timed("Others", timed_file(tmp_path / "others.parquet", TUPLES), lag=9.0),
        sink("Out", "Rows", "Others"),
    ]
    local = LocalApplication(Home(tmp_path / "home"), in_event_time(graph, fusion="manual", pes=3), source_limit=7)
    seen: list[int | None] = []
    while not local.advance_to_end():
        run_some(local, 3)
        local.publish()
        (out,) = read_status(local.catalog, local.name).sinks
        seen.append(out.watermark)
        if out.watermark not in (None, END):
            assert out.watermark is not None
            rows = [at for path in local.published("Out") for at in pq.read_table(path).column("at").to_pylist()]
            there = sum(1000 * at < out.watermark for at in rows)
            assert there == 2 * sum(1000 * at < out.watermark for at, *_ in TUPLES)
    assert seen[-1] == END
    steps = [each for each in seen if each is not None]
    assert steps == sorted(steps)
    assert len({*steps}) > 2


@pytest.mark.parametrize("widths", [(1, 3), (3, 2), (2, 2)])
def test_a_stream_that_has_ended_holds_nothing_back_after_a_redeploy(tmp_path: Path, widths: tuple[int, int]):
    local = LocalApplication(
        Home(tmp_path / "home"), in_event_time(merged(tmp_path, TUPLES[:2], widths[0]), fusion="manual", pes=2), 7
    )
    run_some(local, 3)
    redeploy(local, in_event_time(merged(tmp_path, TUPLES[:2], widths[1]), fusion="manual", pes=3))
    local.run()
    met = shown(local)
    assert [row for row in met if row[0] < row[3] < END] == []
    assert max(watermark for *_, watermark in met if watermark != END) > 50_000
