"""Files of complete epochs become fewer and larger ones: every row once, whoever dies or goes back in between."""

from __future__ import annotations

import errno
import itertools
import json
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from streams_orchestration.operators.files.partitions import NULL
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.queries.commits import commit_batch
from streams_orchestration.runtime.settings.limits import OUTSTANDING_LIMIT
from streams_orchestration.runtime.sinks import gathering
from streams_orchestration.runtime.sinks.completing import complete
from streams_orchestration.runtime.sinks.delivering import deliverers
from streams_orchestration.runtime.sinks.gathering import MANY, Gatherer
from streams_orchestration.runtime.sinks.publisher import Publisher
from streams_orchestration.runtime.sinks.publishing import DueOutput, outstanding
from streams_orchestration.runtime.stepping import publish
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.pending_files import path_of
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.runtime.applications import compiled, sink, source
from streams_orchestration_tests.runtime.faults import KilledError, kill_at
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.stored import store_in
from streams_orchestration_tests.servers.s3 import S3

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

Rows = list[tuple[str | None, int]]
FEW = ("a", "b", None)


def made_up(count: int, keys: Sequence[str | None] = FEW) -> Rows:
    return [(keys[i % len(keys)], i) for i in range(count)]


@dataclass
class Sink:
    """An application of one PE that writes what it reads, five tuples a batch, and what can be seen of it."""

    directory: Path
    rows: Rows
    parameters: dict[str, Any]
    now: float = 0.0
    seen: dict[Path, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        columns = {"k": pa.array([k for k, _ in self.rows], pa.string()), "n": [n for _, n in self.rows]}
        pq.write_table(pa.table(columns), self.directory / "rows.parquet")
        written = sink("Out", "Rows", parameters={"file": "Out", "format": "jsonl"} | self.parameters)
        graph = compiled([source("Rows", self.directory / "rows.parquet"), written], fusion="manual", pes=1)
        self.local = LocalApplication(Home(self.directory / "home"), graph, 5)
        (self.program,) = self.local.programs
        self.place = self.local.home.results(self.local.name) / "Out"
        self.restart()

    def restart(self) -> None:
        """Restart the host's process."""
        (gatherer,) = deliverers(self.local.catalog, self.local.name, self.local.programs).values()
        assert isinstance(gatherer, Gatherer)
        gatherer.clock = lambda: self.now
        self.gatherer = gatherer
        self.local.deliverers["Out"] = gatherer

    def commit(self, *, boundary: bool = False) -> bool:
        """Commit a batch; return True if there was one."""
        if boundary:
            self.local.trigger()
        plan = self.local.plan(self.program)
        if plan is None:
            return False
        commit_batch(self.local.catalog, self.program, plan, self.local.execute(self.program, plan), 0.0)
        return True

    def waiting(self) -> list[DueOutput]:
        return outstanding(self.local.catalog, self.local.name, deliveries=True).deliveries

    def turn(self) -> None:
        """Take one turn of the publisher."""
        rows = self.waiting()
        if self.gatherer.ready(rows):
            self.gatherer.deliver(rows)
        publish(self.local.catalog, self.local.name)

    def files(self) -> list[Path]:
        return sorted(self.place.rglob("part-*"))

    def visible(self) -> Rows:
        """Return the rows that a reader finds; check that files found once have not changed."""
        now = {path: path.read_bytes() for path in self.files()}
        assert {path: now.get(path) for path in self.seen} == self.seen
        self.seen = now
        return [row for path, content in now.items() for row in self._rows(path, content)]

    def _rows(self, path: Path, content: bytes) -> Rows:
        tuples = [json.loads(line) for line in content.splitlines()]
        if not self.parameters.get("partitionBy"):
            return [(each["k"], each["n"]) for each in tuples]
        key = path.parent.name.removeprefix("k=")
        return [(None if key == NULL else unquote(key), each["n"]) for each in tuples]

    def complete_rows(self) -> Rows:
        """Return the rows of complete epochs."""
        c, u = tables.commit, tables.unit
        with self.local.catalog.read() as connection:
            last = select(u.c.completed_epoch).scalar_subquery()
            rows = connection.scalars(select(c.c.rows_in).where(c.c.epoch <= last)).all()
        return self.rows[: max(rows, default=0)]

    def epochs(self) -> dict[int, int]:
        """Batch -> its epoch."""
        c = tables.commit
        with self.local.catalog.read() as connection:
            return {row.batch: row.epoch for row in connection.execute(select(c.c.batch, c.c.epoch))}

    def end(self) -> None:
        """To the end of the application."""
        for _ in range(100):
            self.commit(boundary=True)
            self.turn()
            if complete(self.local.catalog, self.local.name):
                return
        raise AssertionError


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
                reset_unit(out.local.home, out.local.name, "region-0")
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
    assert read_status(out.local.home, out.local.name).sinks[0].rows == len(rows)


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
            reset_unit(out.local.home, out.local.name, "region-0")
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
    assert read_status(out.local.home, out.local.name).sinks[0].waiting_rows == 500
    out.end()
    assert (sorted(out.visible(), key=lambda row: row[1]), len(out.files())) == (out.rows, 1)


def test_epochs_that_are_gathered_are_not_late_and_do_not_hold_the_region(tmp_path: Path):
    out = Sink(tmp_path, made_up(5 * 3 * OUTSTANDING_LIMIT), {"closeMode": "epochs", "epochsPerFile": 1000})
    for _ in range(2 * OUTSTANDING_LIMIT):
        assert out.commit(boundary=True)
    assert read_status(out.local.home, out.local.name).sinks[0].late == 0


def test_files_that_cannot_be_merged_hold_the_region_and_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = Sink(tmp_path, made_up(5 * 3 * OUTSTANDING_LIMIT), {"closeMode": "epochs", "epochsPerFile": 2})

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    publisher = Publisher(out.local.catalog, out.local.name, out.local.deliverers, clock=lambda: out.now)
    for _ in range(OUTSTANDING_LIMIT):
        assert out.commit(boundary=True)
    with monkeypatch.context() as patch:
        patch.setattr(out.gatherer.sink, "merge", refuse)
        publisher.deliver("Out", out.waiting())
    actual = read_status(out.local.home, out.local.name).sinks[0]
    assert actual.error is not None
    assert "cannot be merged: No space left on device; it is tried again, nothing is lost" in actual.error
    assert actual.late == OUTSTANDING_LIMIT
    out.local.trigger()
    assert out.local.plan(out.program) is None
    publisher.deliver("Out", out.waiting())
    assert read_status(out.local.home, out.local.name).sinks[0].error is None
    out.end()
    assert Counter(out.visible()) == Counter(out.rows)


def test_a_merged_file_is_removed_if_the_commit_that_names_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = Sink(tmp_path, made_up(50), {"closeMode": "epochs", "epochsPerFile": 2})
    out.commit(boundary=True)
    out.commit(boundary=True)

    def refuse(*_: Any) -> None:
        raise ConnectionError

    with monkeypatch.context() as patch, pytest.raises(ConnectionError):
        patch.setattr(out.gatherer, "_insert", refuse)
        out.turn()
    assert len(list(out.place.rglob("_pending/merged-*"))) == 1
    out.end()
    assert Counter(out.visible()) == Counter(out.rows)
    assert list(out.place.rglob("_pending/merged-*")) == []


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


def test_a_file_that_is_altered_while_it_is_merged_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = Sink(tmp_path, made_up(50), {"closeMode": "epochs", "epochsPerFile": 2})
    out.commit(boundary=True)
    out.commit(boundary=True)
    file, merge = Path(out.waiting()[0].pending), out.gatherer.sink.merge

    def merged_later(files: Sequence[Path], into: Path) -> None:
        file.write_bytes(file.read_bytes().replace(b"a", b"b"))
        merge(files, into)

    monkeypatch.setattr(out.gatherer.sink, "merge", merged_later)
    with pytest.raises(OutputError, match=f"{file}, .*, is truncated or was altered"):
        out.turn()
    assert [*out.files(), *tmp_path.rglob("merged-*")] == []


@pytest.mark.parametrize("per_file", [1, 2])
def test_a_waiting_file_that_is_gone_is_said(tmp_path: Path, per_file: int):
    out = Sink(tmp_path, made_up(50), {"closeMode": "epochs", "epochsPerFile": per_file})
    for _ in range(per_file):
        out.commit(boundary=True)
    Path(out.waiting()[0].pending).unlink()
    with pytest.raises(
        OutputError, match=r"operator Out: .*, which was to .*, is gone: start over with --fresh"
    ) as raised:
        out.turn()
    assert raised.value.permanent


def test_a_file_that_is_in_the_storage_but_not_on_this_machine_is_not_said_to_be_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, s3: S3
):
    def broken(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    store_in(s3, monkeypatch)
    out = Sink(tmp_path, made_up(50), {"closeMode": "epochs", "epochsPerFile": 2})
    for _ in range(2):
        out.commit(boundary=True)
    assert not any(path_of(out.local.home.store, row.pending).exists() for row in out.waiting())
    with monkeypatch.context() as patched, pytest.raises(OutputError, match="cannot be merged: Input/output") as raised:
        patched.setattr(gathering, "unaltered", broken)
        out.turn()
    assert not raised.value.permanent
    out.turn()
    assert sorted(out.visible(), key=lambda row: row[1]) == out.rows[:10]


@pytest.mark.parametrize("epochs", [3, 5])
def test_a_publisher_keeps_the_sinks_of_another_plan_that_write_as_before(tmp_path: Path, epochs: int):
    out = Sink(tmp_path, made_up(5), {"closeMode": "epochs", "epochsPerFile": 3})
    publisher = Publisher(out.local.catalog, out.local.name, out.local.deliverers)
    (before,) = publisher.deliverers.values()
    written = sink("Out", "Rows", parameters={"file": "Out", "format": "jsonl", "closeMode": "epochs"})
    written["parameters"]["epochsPerFile"] = epochs
    plan = compiled([source("Rows", tmp_path / "rows.parquet"), written], fusion="manual", pes=1)
    programs = plan.deployment.programs
    publisher.deliver_to(deliverers(out.local.catalog, out.local.name, programs))
    (after,) = publisher.deliverers.values()
    assert (after is before) == (epochs == 3)
