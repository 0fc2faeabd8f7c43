"""Sources of lake tables: what each version has added, in order, the same however often and wherever it goes on."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration import world
from streams_orchestration.operators.contract.operator import Offset
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.lakes.delta_history import DeltaHistory
from streams_orchestration.operators.lakes.errors import LakeError
from streams_orchestration.operators.lakes.iceberg_history import IcebergHistory
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.operators.lakes.lakes import LAKES, SCHEMA, Delta, check_replays, numbers, read

HISTORIES: dict[str, type[Any]] = {"delta": DeltaHistory, "iceberg": IcebergHistory}


@pytest.fixture(params=LAKES)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Delta:
    """Three versions of two rows each."""
    made = LAKES[request.param](tmp_path)
    made.make(pa.table({"k": ["a", "b"], "n": [0, 1]}))
    for number in (1, 2):
        made.append(("a", 2 * number), ("b", 2 * number + 1))
    return made


STARTS: list[tuple[Any, list[int]]] = [
    ("snapshot", [0, 1, 2, 3, 4, 5, 6]),
    ("earliest", [0, 1, 2, 3, 4, 5, 6]),
    ("latest", [6]),
    (0, [0, 1, 2, 3, 4, 5, 6]),
    (1, [2, 3, 4, 5, 6]),
    (2, [4, 5, 6]),
    ({"time": "2000-01-01T00:00:00Z"}, [0, 1, 2, 3, 4, 5, 6]),
    ({"time": "2999-01-01T00:00:00Z"}, [6]),
]


@pytest.mark.parametrize(("start", "expected"), STARTS)
def test_reading_begins_where_it_is_to(lake: Delta, start: Any, expected: list[int]):
    bench = lake.source(startAt={"version": lake.versions()[start]} if isinstance(start, int) else start)
    offset = read(bench)
    lake.append(("c", 6))
    read(bench, offset)
    assert sorted(numbers(bench)) == expected
    assert bench.operator.pause() == 1.0  # type: ignore[attr-defined]


def test_the_lag_of_a_lake_source_is_measured(lake: Delta, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(world, "monotonic", itertools.count().__next__)  # each check is more than a period later
    bench = lake.source(startAt={"version": lake.versions()[0]}, pollPeriod=0.01)
    offset: Offset = {}
    lags: list[float] = []
    for limit in (1, 1, 1, 2, 10, 10):
        offset = bench.produce(offset, limit).offset
        lags.append(bench.metrics["lag"])
        assert (bench.metrics["lag_seconds"] > 0) == (lags[-1] > 0)
    assert lags == [6, 5, 4, 2, 0, 0]
    lake.append(("c", 6), ("d", 7), ("e", 8))
    bench.produce(offset, 1)
    assert bench.metrics["lag"] == 2


@pytest.mark.parametrize("start", ["snapshot", "earliest", "latest", 1, 2])
def test_a_run_up_to_the_latest_version_ends_there(lake: Delta, start: Any):
    bench = lake.source(
        startAt={"version": lake.versions()[start]} if isinstance(start, int) else start, until="latest"
    )
    produced = bench.produce()
    lake.append(("c", 6))
    while not produced.exhausted:
        produced = bench.produce(produced.offset)
    first = {"latest": 6, 1: 2, 2: 4}.get(start, 0)
    assert sorted(numbers(bench)) == list(range(first, 6))


@pytest.fixture(scope="module", params=LAKES)
def several(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Delta:
    """A version of several files, and another one."""
    made = LAKES[request.param](tmp_path_factory.mktemp("lake"))
    made.make(pa.table({"k": ["a"] * 20 + ["b"] * 20, "n": list(range(40))}), ["k"])
    made.append(*(("a", 40 + number) for number in range(10)))
    return made


@examples(10)
@given(limits=st.lists(st.integers(5, 40), min_size=1, max_size=5), start=st.sampled_from(["snapshot", "earliest"]))
def test_rows_are_the_same_wherever_reading_goes_on(several: Delta, limits: list[int], start: str):
    check_replays(lambda: several.source(startAt=start, until="latest"), 50, limits)


CHANGES: list[tuple[str, list[int] | None]] = [("fail", None), ("skip", [9]), ("rewritten", [0, 9])]


@pytest.mark.parametrize(("policy", "expected"), CHANGES)
def test_a_version_that_deletes_rows(lake: Delta, policy: str, expected: list[int] | None):
    bench = lake.source(startAt="latest", onChange=policy)
    offset = read(bench)
    lake.delete("n = 1")
    lake.append(("c", 9))
    if expected is None:
        with pytest.raises(DataError, match=r"deletes or updates rows \((DELETE|overwrite)\), .* onChange: skip"):
            read(bench, offset)
    else:
        read(bench, offset)
        assert numbers(bench) == expected


@pytest.mark.parametrize(("policy", "expected"), [("fail", None), ("skip", [2, 3, 4, 5])])
def test_a_data_file_that_is_gone_is_named(lake: Delta, policy: str, expected: list[int] | None):
    bench = lake.source(startAt="earliest", onLostData=policy)
    offset = bench.produce().offset
    first = lake.versions()[0]
    (gone,) = lake.files_of(first)
    gone.unlink()
    if expected is None:
        with pytest.raises(DataError, match=rf"the data file .*{gone.name} of version {first} can no longer be read"):
            read(bench, offset)
    else:
        read(bench, offset)
        assert numbers(bench) == expected


WRONG: list[tuple[str, str]] = [
    ("k string, m bigint", r"has no column m; .*its columns are k, n"),
    ("k bigint", r"the column k of .* is (large_)?string, but the attribute is bigint"),
]


@pytest.mark.parametrize(("schema", "message"), WRONG)
def test_columns_that_do_not_fit_are_named(lake: Delta, schema: str, message: str):
    with pytest.raises(DataError, match=message):
        lake.source(schema).produce()


def test_a_table_that_is_not_there_is_named(lake: Delta):
    bench = lake.source()
    offset = read(bench)
    lake.drop()
    with pytest.raises(LakeError, match=r"there is no (Delta table at .*/table|table lake\.table in the catalog)"):
        read(bench, offset)


NOWHERE = "http://127.0.0.1:9"
UNREACHABLE: dict[str, dict[str, Any]] = {
    "delta": {"table": "s3://bucket/table", "storage": {"endpoint": NOWHERE, "region": "x", "anonymous": True}},
    "iceberg": {"catalog": {"type": "rest", "uri": NOWHERE}, "table": "lake.table"},
}


@pytest.mark.slow
@pytest.mark.usefixtures("one_attempt")
@pytest.mark.parametrize("kind", LAKES)
def test_a_server_that_is_away_at_the_start_holds_up(tmp_path: Path, kind: str):
    bench = LAKES[kind](tmp_path).source(**UNREACHABLE[kind])
    assert bench.produce() == ({}, False)
    assert bench.operator.pause() == 0.5  # type: ignore[attr-defined]
    assert bench.metrics == {"errors": 1, "failed_tries": 1}


def failing(method: Callable[..., Any], calls: set[int]) -> Callable[..., Any]:
    """Return a method that finds its server away at some calls."""
    count = [0]

    def call(*arguments: Any) -> Any:
        count[0] += 1
        if count[0] in calls:
            message = "Generic S3 error: error sending request, after 10 retries"
            raise OSError(message)
        return method(*arguments)

    return call


@pytest.mark.parametrize("kind", LAKES)
@examples(20)
@given(away=st.sets(st.integers(1, 8)), limit=st.integers(1, 30), data=st.data())
def test_a_server_that_is_away_in_the_middle_loses_and_repeats_nothing(
    tmp_path_factory: pytest.TempPathFactory, kind: str, away: set[int], limit: int, data: st.DataObject
):
    place = tmp_path_factory.getbasetemp() / f"away-{kind}"
    lake = LAKES[kind](place)
    if not place.exists():
        place.mkdir()
        lake.make(pa.table({"k": ["a"] * 20 + ["b"] * 20, "n": list(range(40))}), ["k"])
        lake.append(*(("a", 40 + number) for number in range(10)))
    whole = lake.source(startAt="earliest", until="latest")
    read(whole)
    with pytest.MonkeyPatch.context() as patch:
        name = data.draw(st.sampled_from(["open", "columns_in"]))
        patch.setattr(HISTORIES[kind], name, failing(getattr(HISTORIES[kind], name), away))
        bench = lake.source(startAt="earliest", until="latest")
        produced = bench.produce()
        while not produced.exhausted:
            produced = bench.produce(produced.offset, limit)
    assert bench.rows() == whole.rows()


def test_a_source_counts_no_failed_tries_once_the_server_is_back(lake: Delta, monkeypatch: pytest.MonkeyPatch):
    kind = "delta" if lake.operator == "DeltaSink" else "iceberg"
    monkeypatch.setattr(HISTORIES[kind], "open", failing(HISTORIES[kind].open, {1}))
    bench: Bench = lake.source(SCHEMA)
    offset = bench.produce(bench.produce().offset).offset
    assert bench.metrics["failed_tries"] == 1
    read(bench, offset)
    assert (bench.metrics["failed_tries"], sorted(numbers(bench))) == (0, list(range(6)))
