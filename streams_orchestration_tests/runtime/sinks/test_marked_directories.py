"""FileSink with closeMode watermark: directories that are closed by event time and get `_SUCCESS` (EV67)."""

from __future__ import annotations

import shutil
import uuid
from collections import defaultdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq
import pytest

from streams_orchestration.runtime import api
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.sinks.completing import complete
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.sinks.directories import SinkDirectories
from streams_orchestration.runtime.sinks.publisher import Publisher
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.event_times import in_event_time, lines
from streams_orchestration_tests.runtime.faults import KilledError, kill_at
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.redeployed import redeploy
from streams_orchestration_tests.runtime.saved import begun, take
from streams_orchestration_tests.servers.s3 import BUCKET, S3

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

HOUR = 10
"""The length of a partition of these tests, in ticks of a millisecond."""
BY_HOUR = {
    "partitionBy": ["h"], "closeMode": "watermark", "completeAfter": f"(h + 1) * {HOUR}", "format": "parquet",
}  # fmt: skip


def graph(read: Path, width: int = 0, **parameters: Any) -> list[dict[str, Any]]:
    """Lines -> the hour of each -> the sink, in channels by key if there is a width."""
    hours = {
        "name": "Hours", "operator": "Functor", "inputs": ["Rows"],
        "outputs": [{"stream": "Hours", "schema": "at bigint, k string, n bigint, h bigint"}],
        "parameters": {"output": {"h": f"at div {HOUR}"}},
    }  # fmt: skip
    out: dict[str, Any] = {
        "name": "Out", "operator": "FileSink", "inputs": ["Hours"],
        "parameters": {"file": "out", **BY_HOUR, **parameters},
    }  # fmt: skip
    if width:
        out["annotations"] = {"parallel": {"width": width, "partitionBy": [{"port": "Hours", "attributes": ["k"]}]}}
    return [lines("Rows", read), hours, out]


def written(file: Path, *rows: tuple[int, str, int]) -> Path:
    with file.open("a") as out:
        out.writelines(f"{at} {k} {n}\n" for at, k, n in rows)
    return file


def run_some(local: LocalApplication, turns: int = 6) -> None:
    for turn in range(turns):
        if turn % 2:
            local.trigger()
        for program in local.programs:
            local.step(program)
        local.publish()


def directories(local: LocalApplication) -> dict[int, tuple[list[int], bool]]:
    """Return each directory with the numbers of its tuples, and True if it is marked."""
    found: dict[int, tuple[list[int], bool]] = {}
    for place in sorted((local.home.results(local.name) / "out").glob("h=*")):
        numbers = [n for part in place.glob("part-*") for n in pq.read_table(part).column("n").to_pylist()]
        found[int(place.name.removeprefix("h="))] = (sorted(numbers), (place / "_SUCCESS").exists())
    return found


def application(tmp_path: Path, *rows: tuple[int, str, int], **parameters: Any) -> LocalApplication:
    file = written(tmp_path / "rows", *rows)
    return LocalApplication(Home(tmp_path / "home"), in_event_time(graph(file, **parameters)), 3)


def test_a_directory_is_closed_and_marked_when_the_watermark_has_reached_its_end(tmp_path: Path):
    local = application(tmp_path, (1, "a", 1), (9, "a", 2))
    run_some(local)
    assert directories(local) == {}
    written(tmp_path / "rows", (5, "a", 3), (10, "a", 4))
    run_some(local)
    assert directories(local) == {0: ([1, 2, 3], True)}
    (part,) = (local.home.results(local.name) / "out" / "h=0").glob("part-*")
    assert part.is_file()  # one file, whatever the number of batches
    (tmp_path / "rows").open("a").write("end\n")
    local.run()
    assert directories(local) == {0: ([1, 2, 3], True), 1: ([4], True)}
    assert complete(local.catalog, local.name)


def test_a_late_tuple_goes_into_a_further_file_and_the_directory_is_marked_again(tmp_path: Path):
    local = application(tmp_path, (1, "a", 1), (10, "a", 2))
    run_some(local)
    mark = local.home.results(local.name) / "out" / "h=0" / "_SUCCESS"
    before = mark.stat().st_ino
    written(tmp_path / "rows", (2, "a", 3), (11, "a", 4))
    run_some(local)
    assert directories(local) == {0: ([1, 3], True)}
    assert mark.stat().st_ino != before  # another file in its place
    again = mark.stat().st_ino
    run_some(local)
    assert mark.stat().st_ino == again


@pytest.mark.parametrize("pes", [1, 4])
def test_a_directory_is_marked_when_the_least_watermark_of_all_channels_has_reached_its_end(tmp_path: Path, pes: int):
    """Each channel has a source of its own."""
    files = [written(tmp_path / f"rows{channel}", (1, "a", channel), (10, "a", 2)) for channel in range(2)]
    inner = graph(tmp_path / "rows${getChannel()}")
    del inner[0]["annotations"]["consistent"]
    both = {"name": "Both", "operator": "Channel", "annotations": {"parallel": {"width": 2}}}
    compiled = in_event_time([both], composites={"Channel": {"graph": inner}}, fusion="manual", pes=pes)
    local = LocalApplication(Home(tmp_path / "home"), compiled, 3)
    written(files[1], (11, "b", 4))  # holds its channel: its other keys are at 10
    files[0].write_text("1 a 0\n")
    run_some(local)
    assert directories(local)[0][1] is False
    written(files[0], (9, "a", 8))
    run_some(local)
    assert directories(local)[0][1] is False
    written(files[0], (10, "a", 16))
    run_some(local)
    assert directories(local)[0] == ([0, 1, 8], True)
    for file in files:
        file.open("a").write("end\n")
    local.run()
    assert directories(local) == {0: ([0, 1, 8], True), 1: ([2, 4, 16], True)}


def test_an_application_from_a_savepoint_marks_what_was_still_to_be_marked(tmp_path: Path):
    local = application(tmp_path, (1, "a", 1), (12, "a", 2), (13, "a", 3))
    with patch.object(SinkDirectories, "mark", lambda _: 0):  # it is taken between the files' names and the marks
        run_some(local, 2)
        created = take(local)
    assert [sink.unmarked for sink in created.manifest.sinks] == [("h=0", "h=1")]
    results = Home(tmp_path / "other").results(local.name)
    shutil.copytree(local.home.results(local.name), results)
    other = begun(Home(tmp_path / "other"), local.compilation, created.place, limit=3)
    assert directories(other) == {0: ([1], False), 1: ([2, 3], False)}
    written(tmp_path / "rows", (14, "a", 4))
    run_some(other)
    assert directories(other)[0] == ([1], True)
    (tmp_path / "rows").open("a").write("end\n")
    other.run()
    assert directories(other) == {0: ([1], True), 1: ([2, 3, 4], True)}


@pytest.mark.parametrize("width", [0, 2])
def test_resets_take_no_mark_back_and_mark_nothing_early(tmp_path: Path, width: int):
    rows = [(3 * i + (i * 7) % 4, "abcd"[i % 4], i) for i in range(40)]
    file = written(tmp_path / "rows", *rows)
    file.open("a").write("end\n")
    local = LocalApplication(Home(tmp_path / "home"), in_event_time(graph(file, width)), 3)
    marked: set[int] = set()
    for turn in range(12):
        run_some(local, 1 + turn % 3)
        now = {hour for hour, (_, mark) in directories(local).items() if mark}
        assert marked <= now
        marked = now
        reset_unit(local.catalog, local.name, local.units[0], force=True)
    local.run()
    assert directories(local) == by_hour(rows)


def by_hour(rows: list[tuple[int, str, int]]) -> dict[int, tuple[list[int], bool]]:
    hours: defaultdict[int, list[int]] = defaultdict(list)
    for at, _, n in rows:
        hours[at // HOUR].append(n)
    return {hour: (sorted(numbers), True) for hour, numbers in sorted(hours.items())}


@pytest.mark.parametrize("widths", [(0, 0), (1, 3), (3, 2)])
def test_a_redeploy_keeps_the_directories_that_are_to_be_marked(tmp_path: Path, widths: tuple[int, int]):
    rows = [(i, "abcd"[i % 4], i) for i in range(25)]
    file = written(tmp_path / "rows", *rows)
    local = LocalApplication(Home(tmp_path / "home"), in_event_time(graph(file, widths[0])), 3)
    run_some(local, 8)
    before = {hour for hour, (_, mark) in directories(local).items() if mark}
    redeploy(local, in_event_time(graph(file, widths[1])))
    assert {hour for hour, (_, mark) in directories(local).items() if mark} >= before
    file.open("a").write("end\n")
    local.run()
    assert directories(local) == by_hour(rows)


def test_a_directory_whose_deadline_is_null_is_marked_at_the_end(tmp_path: Path):
    local = application(tmp_path, (1, "a", 1), (50, "a", 2), completeAfter="NULLIF((h + 1) * 10, 10)")
    run_some(local)
    assert directories(local) == {}
    (tmp_path / "rows").open("a").write("end\n")
    local.run()
    assert directories(local) == {0: ([1], True), 5: ([2], True)}


def test_the_publisher_of_a_host_marks_directories(tmp_path: Path):
    local = application(tmp_path, (1, "a", 1), (10, "a", 2))
    for _ in range(3):
        local.trigger()
        for program in local.programs:
            commit = local.plan(program)
            if commit is not None:
                commit_batch(local.catalog, program, commit, local.execute(program, commit), 0.0)
    publisher = Publisher(local.catalog, local.name, local.deliverers)
    for _ in range(4):
        publisher.turn()
        for thread in [*publisher.deliveries.values()]:
            thread.join()
    assert directories(local) == {0: ([1], True)}


def test_late_tuples_are_counted(tmp_path: Path):
    local = application(tmp_path, (1, "a", 1), (10, "a", 2), (9, "a", 3), (19, "a", 4), (2, "a", 5))
    run_some(local)
    (out,) = [each for each in api.read_metrics(local.catalog, local.name).operators if each.name == "Out"]
    assert [each.value for each in out.custom if each.name == "late_taken"] == [2]


@pytest.mark.parametrize("call", range(1, 16))
def test_publishing_may_die_at_any_step_and_the_mark_comes_behind_all_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: int
):
    local = application(tmp_path, (1, "a", 1), (3, "a", 2), (10, "a", 3))
    local.trigger()
    (program,) = local.programs
    for _ in range(2):
        local.commit()
        local.commit(boundary=True)
    with monkeypatch.context() as patch:
        died = kill_at(patch, call)
        try:
            local.publish()
            local.publish()
        except KilledError:
            assert died()
    assert not directories(local).get(0, ([], False))[1] or directories(local)[0] == ([1, 2], True)
    # the deliverers of the next process
    local.deliverers = make_deliverers(local.catalog, local.name, [program])
    for _ in range(3):
        local.publish()
    assert directories(local) == {0: ([1, 2], True)}


def test_a_directory_in_an_object_store_is_marked(s3: S3, tmp_path: Path):
    place = uuid.uuid4().hex
    local = application(tmp_path, (1, "a", 1), (10, "a", 2), file=f"s3://{BUCKET}/{place}", storage=s3.storage)
    run_some(local)
    names = {name.removeprefix(f"{place}/").partition("part-")[0] for name in s3.names(place)}
    assert names - {"h=0"} == {"h=0/", "h=0/_SUCCESS"}  # the proxy lists the directory, too
