"""Files of complete epochs become fewer and larger ones: every row once, whoever dies or goes back in between."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.settings.limits import OUTSTANDING_LIMIT
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.sinks.gathering import MANY
from streams_orchestration.runtime.sinks.publisher import Publisher
from streams_orchestration.runtime.stepping import publish
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import compiled, sink, source
from streams_orchestration_tests.runtime.faults import KilledError, kill_at
from streams_orchestration_tests.runtime.sinks.gathered import Sink, made_up

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

STEPS = st.one_of(
    st.sampled_from(["batch", "batch", "epoch", "epoch", "turn", "turn", "reset", "restart"]),
    st.tuples(st.just("die"), st.integers(1, 9)),
    st.tuples(st.just("wait"), st.sampled_from([1.0, 30.0])),
)
CLOSING = st.sampled_from(
    [
        {},
        {"closeMode": "epochs", "epochsPerFile": 1},
        {"closeMode": "epochs", "epochsPerFile": 3},
        {"closeMode": "size", "bytesPerFile": 1},
        {"closeMode": "size", "bytesPerFile": 250},
        {"closeMode": "time", "timePerFile": 5.0},
        {"bytesPerFile": 400, "epochsPerFile": 4},
    ]
)


@examples(25)
@given(
    steps=st.lists(STEPS, max_size=25),
    closing=CLOSING,
    partition=st.booleans(),
    keys=st.lists(st.sampled_from([None, "", "a/b", "k=v", "%41", "ü"]), min_size=1, max_size=4),
    count=st.integers(0, 60),
)
def test_every_row_is_published_once_and_stays(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Any], closing: dict[str, Any], partition: bool,
    keys: list[str | None], count: int,
) -> None:  # fmt: skip
    rows = made_up(count, keys)
    out = Sink(tmp_path_factory.mktemp("app"), rows, closing | ({"partitionBy": ["k"]} if partition else {}))
    for step in steps:
        match step:
            case "batch" | "epoch":
                out.commit(boundary=step == "epoch")
            case "turn":
                out.turn()
            case "reset":
                reset_unit(out.local.catalog, out.local.name, "region-0")
                out.local.report_running()
            case "restart":
                out.restart()
            case ("wait", seconds):
                out.now += seconds
            case (_, call):
                with pytest.MonkeyPatch.context() as patch:
                    kill_at(patch, call)
                    try:
                        out.turn()
                    except KilledError:
                        out.restart()
        assert not Counter(out.visible()) - Counter(out.complete_rows()), "an open epoch is visible, or a row twice"
    out.end()
    assert Counter(out.visible()) == Counter(rows)
    assert not list(out.place.rglob("_pending"))
    with out.local.catalog.read() as connection:
        assert connection.execute(select(tables.sink_file)).all() == []
    assert read_status(out.local.catalog, out.local.name).sinks[0].rows == len(rows)


@examples(13)
@given(
    boundaries=st.lists(st.booleans(), min_size=5, max_size=30),
    resets=st.sets(st.integers(0, 29), max_size=3),
    per_file=st.integers(1, 6),
    partition=st.booleans(),
)
def test_a_file_has_no_more_epochs_than_it_may_and_is_not_closed_before(
    tmp_path_factory: pytest.TempPathFactory, boundaries: list[bool], resets: set[int], per_file: int, partition: bool
):
    parameters: dict[str, Any] = {"closeMode": "epochs", "epochsPerFile": per_file}
    out = Sink(tmp_path_factory.mktemp("app"), made_up(150), parameters | ({"partitionBy": ["k"]} if partition else {}))
    for number, boundary in enumerate(boundaries):
        out.commit(boundary=boundary)
        if number in resets:
            reset_unit(out.local.catalog, out.local.name, "region-0")
            out.local.report_running()
        out.turn()
    before = out.files()
    out.end()
    epochs = out.epochs()
    for directory in {path.parent for path in out.files()}:
        files = sorted(directory.glob("part-*"))
        spans = [(int(name[1]), epochs[int(name[2])]) for name in (path.name.split("-") for path in files)]
        assert all(last - first < per_file for first, last in spans)
        assert all(then >= first + per_file for (first, _), (then, _) in itertools.pairwise(spans))
    assert set(before) <= set(out.files())


@pytest.mark.covering
@pytest.mark.parametrize("partition", [False, True])
@pytest.mark.parametrize("size", [1, 100, 1000])
def test_a_file_is_closed_when_it_has_its_size(tmp_path: Path, size: int, partition: bool):
    parameters: dict[str, Any] = {"closeMode": "size", "bytesPerFile": size}
    out = Sink(tmp_path, made_up(150), parameters | ({"partitionBy": ["k"]} if partition else {}))
    largest = 0
    while out.commit(boundary=True):
        largest = max([largest, *(row.size for row in out.waiting())])
        out.turn()
    for directory in {path.parent for path in out.files()}:
        sizes = [path.stat().st_size for path in sorted(directory.glob("part-*"))]
        assert all(size <= each < size + largest for each in sizes[:-1])
    out.end()
    assert Counter(out.visible()) == Counter(out.rows)


def test_a_file_is_closed_in_time(tmp_path: Path):
    out = Sink(tmp_path, made_up(50), {})
    out.commit(boundary=True)
    out.turn()
    assert out.visible() == []
    out.now = 9.9
    out.commit(boundary=True)
    out.turn()
    assert out.visible() == []
    out.now = 10.0
    out.turn()
    assert (sorted(out.visible(), key=lambda row: row[1]), len(out.files())) == (out.rows[:10], 1)


def test_a_minute_of_short_epochs_is_a_file_for_ten_seconds(tmp_path: Path):
    out = Sink(tmp_path, made_up(300), {})
    for second in range(60):
        out.now = float(second)
        out.commit(boundary=True)
        out.turn()
    assert len(out.files()) == 5


def test_waiting_files_are_merged_so_that_they_stay_few(tmp_path: Path):
    out = Sink(tmp_path, made_up(5 * 100), {"closeMode": "epochs", "epochsPerFile": 1000})
    for _ in range(100):
        out.commit(boundary=True)
        out.turn()
        assert len(out.waiting()) <= MANY
    assert out.files() == []
    assert read_status(out.local.catalog, out.local.name).sinks[0].waiting_rows == 500
    out.end()
    assert (sorted(out.visible(), key=lambda row: row[1]), len(out.files())) == (out.rows, 1)


def test_epochs_that_are_gathered_are_not_late_and_do_not_hold_the_region(tmp_path: Path):
    out = Sink(tmp_path, made_up(5 * 3 * OUTSTANDING_LIMIT), {"closeMode": "epochs", "epochsPerFile": 1000})
    for _ in range(2 * OUTSTANDING_LIMIT):
        assert out.commit(boundary=True)
    assert read_status(out.local.catalog, out.local.name).sinks[0].late == 0


def test_a_publisher_that_stops_makes_visible_what_is_complete(tmp_path: Path):
    out = Sink(tmp_path, made_up(50), {"closeMode": "epochs", "epochsPerFile": 1000})
    out.commit(boundary=True)
    out.commit()
    publisher = Publisher(out.local.catalog, out.local.name, out.local.deliverers)
    publisher.start()
    publisher.stop()
    assert sorted(out.visible(), key=lambda row: row[1]) == out.rows[:5]


def test_two_that_gather_at_once_publish_every_row_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = Sink(tmp_path, made_up(50), {"closeMode": "epochs", "epochsPerFile": 2})
    out.commit(boundary=True)
    out.commit(boundary=True)
    slow, merge = out.gatherer, out.gatherer.sink.merge
    out.restart()

    def merged_by_two(files: Sequence[Path], into: Path) -> None:
        merge(files, into)
        out.turn()  # the other one is done before, and takes away what nothing names

    monkeypatch.setattr(slow.sink, "merge", merged_by_two)
    slow.deliver(out.waiting())
    publish(out.local.catalog, out.local.name)
    assert sorted(out.visible(), key=lambda row: row[1]) == out.rows[:10]
    assert len(out.files()) == 1
    out.end()
    assert Counter(out.visible()) == Counter(out.rows)


@pytest.mark.parametrize("epochs", [3, 5])
def test_a_publisher_keeps_the_sinks_of_another_plan_that_write_as_before(tmp_path: Path, epochs: int):
    out = Sink(tmp_path, made_up(5), {"closeMode": "epochs", "epochsPerFile": 3})
    publisher = Publisher(out.local.catalog, out.local.name, out.local.deliverers)
    (before,) = publisher.deliverers.values()
    written = sink("Out", "Rows", parameters={"file": "Out", "format": "jsonl", "closeMode": "epochs"})
    written["parameters"]["epochsPerFile"] = epochs
    plan = compiled([source("Rows", tmp_path / "rows.parquet"), written], fusion="manual", pes=1)
    programs = plan.deployment.programs
    publisher.deliver_to(make_deliverers(out.local.catalog, out.local.name, programs))
    (after,) = publisher.deliverers.values()
    assert (after is before) == (epochs == 3)
