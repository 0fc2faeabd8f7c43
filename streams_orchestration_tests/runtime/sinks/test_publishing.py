"""Outputs become visible with their epoch or their batch, whoever dies or sleeps in between, and never take a place."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from streams_orchestration.operators.storage.local import LocalStorage
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.cause_kinds import FilesKind, PeKind
from streams_orchestration.runtime.catalog.sink_rows import SinkFileRow
from streams_orchestration.runtime.catalog.sink_transitions import count_output
from streams_orchestration.runtime.clocks import clock
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.sinks.publisher import PAUSES, Publisher
from streams_orchestration.runtime.sinks.retraction import remove_all_retracted
from streams_orchestration.runtime.sinks.sinks import SinkStatus
from streams_orchestration.runtime.stepping import publish
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, published, rows, sink, source, write_rows
from streams_orchestration_tests.runtime.faults import KilledError, kill_at
from streams_orchestration_tests.runtime.local import LocalApplication

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

COUNT = 20


def application(tmp_path: Path, **parameters: Any) -> LocalApplication:
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    graph = [source("Rows", file), sink("Out", "Rows", parameters={"file": "Out", "closeMode": "batch"} | parameters)]
    return LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), 5)


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    return application(tmp_path)


@pytest.fixture
def uncommitted(tmp_path: Path) -> LocalApplication:
    return application(tmp_path, visibility="read_uncommitted")


def status(local: LocalApplication) -> SinkStatus:
    return read_status(local.catalog, local.name).sinks[0]


def directory(local: LocalApplication) -> Path:
    return local.home.results(local.name) / "Out"


def waiting(local: LocalApplication) -> list[Path]:
    return sorted((directory(local) / "_pending").glob("*"))


def visible(local: LocalApplication) -> list[tuple[Any, ...]]:
    return published(local.published("Out"))


def test_a_committed_batch_is_visible_at_once_where_the_sink_says_so(uncommitted: LocalApplication):
    uncommitted.commit()
    publish(uncommitted.catalog, uncommitted.name)
    assert visible(uncommitted) == sorted(rows(5))
    actual = status(uncommitted)
    assert (actual.visibility, actual.files, actual.rows, actual.uncommitted, actual.waiting) == (
        "read_uncommitted", 1, 5, 1, 0,
    )  # fmt: skip
    assert actual.epoch == 0


@pytest.mark.usefixtures("database")
def test_a_committed_batch_waits_for_its_epoch_otherwise(local: LocalApplication):
    local.commit()
    publish(local.catalog, local.name)
    actual = status(local)
    assert (visible(local), actual.files, actual.waiting, actual.waiting_rows, actual.late) == ([], 0, 1, 5, 0)
    local.commit(boundary=True)
    assert (status(local).late, status(local).epoch) == (2, 0)
    publish(local.catalog, local.name)
    actual = status(local)
    assert (visible(local), actual.files, actual.rows, actual.waiting) == (sorted(rows(10)), 2, 10, 0)
    assert actual.epoch == 1
    local.commit()
    assert status(local).epoch == 1


@pytest.mark.usefixtures("database")
def test_a_reset_takes_back_what_is_after_the_cut_and_nothing_else(uncommitted: LocalApplication):
    uncommitted.commit(boundary=True)
    uncommitted.commit()
    publish(uncommitted.catalog, uncommitted.name)
    assert visible(uncommitted) == sorted(rows(10))
    reset_unit(uncommitted.catalog, uncommitted.name, "region-0")
    publish(uncommitted.catalog, uncommitted.name)
    assert visible(uncommitted) == sorted(rows(5))
    assert waiting(uncommitted) == []
    uncommitted.run()
    assert visible(uncommitted) == sorted(rows(COUNT))


@pytest.mark.usefixtures("database")
def test_a_sink_knows_when_an_output_became_visible_last(local: LocalApplication):
    local.commit()
    publish(local.catalog, local.name)
    assert status(local).delivered_at is None
    local.commit(boundary=True)
    before = clock.now()
    publish(local.catalog, local.name)
    first = status(local).delivered_at
    assert first is not None
    assert before <= first <= clock.now()
    local.commit()
    publish(local.catalog, local.name)
    assert status(local).delivered_at == first, "what waits was not delivered"


@pytest.mark.usefixtures("database")
def test_an_output_that_was_visible_early_is_not_delivered_again_when_its_epoch_is_complete(
    uncommitted: LocalApplication,
):
    uncommitted.commit()
    publish(uncommitted.catalog, uncommitted.name)
    early = status(uncommitted)
    assert early.delivered_at is not None
    assert early.uncommitted_rows == 5
    with uncommitted.catalog.write() as connection:
        (row,) = SinkFileRow.all(connection, select(tables.sink_file))
        assert count_output(connection, uncommitted.name, row)
    settled = status(uncommitted)
    assert (settled.rows, settled.uncommitted_rows, settled.delivered_at) == (5, 0, early.delivered_at)


def test_files_that_stay_visible_leave_no_rows_in_the_catalog(uncommitted: LocalApplication):
    uncommitted.run()
    with uncommitted.catalog.read() as connection:
        assert connection.execute(select(tables.sink_file)).all() == []
    assert (status(uncommitted).rows, status(uncommitted).uncommitted) == (COUNT, 0)


@pytest.mark.covering
@pytest.mark.parametrize("visibility", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("call", range(1, 12))
def test_publishing_may_die_at_any_step_and_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visibility: str, call: int
):
    local = application(tmp_path, visibility=visibility)
    local.commit()
    local.commit(boundary=True)
    with monkeypatch.context() as patch:
        died = kill_at(patch, call)
        try:
            publish(local.catalog, local.name)
        except KilledError:
            assert died()
    publish(local.catalog, local.name)
    assert (visible(local), waiting(local), status(local).rows) == (sorted(rows(10)), [], 10)
    local.run()
    assert visible(local) == sorted(rows(COUNT))


@pytest.mark.covering
@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("call", range(1, 8))
def test_retracting_may_die_at_any_step_and_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moved: bool, call: int
):
    local = application(tmp_path, visibility="read_uncommitted")
    local.commit(boundary=True)
    publish(local.catalog, local.name)
    local.commit()
    local.commit()
    if moved:
        publish(local.catalog, local.name)
    reset_unit(local.catalog, local.name, "region-0")
    with monkeypatch.context() as patch:
        died = kill_at(patch, call)
        try:
            remove_all_retracted(local.catalog, local.name)
        except KilledError:
            assert died()
    local.commit()
    publish(local.catalog, local.name)
    assert visible(local) == sorted(rows(10)), "the replay is there, once"
    remove_all_retracted(local.catalog, local.name)
    assert visible(local) == sorted(rows(10)), "and retracting again takes nothing of it"


@pytest.mark.parametrize("step", ["before", "linked"])
def test_a_publisher_that_slept_through_a_reset_brings_nothing_back(
    uncommitted: LocalApplication, monkeypatch: pytest.MonkeyPatch, step: str
):
    """It has read what is to be published; a reset takes that back and replays it; then it goes on."""
    local = uncommitted
    local.commit(boundary=True)
    publish(local.catalog, local.name)
    local.commit()
    link = os.link

    def sleep(*arguments: Any) -> None:
        monkeypatch.setattr(os, "link", link)
        if step == "linked":
            link(*arguments)
        reset_unit(local.catalog, local.name, "region-0")
        local.commit()
        publish(local.catalog, local.name)
        if step == "before":
            link(*arguments)

    monkeypatch.setattr(os, "link", sleep)
    publish(local.catalog, local.name)
    assert visible(local) == sorted(rows(10))
    local.run()
    assert visible(local) == sorted(rows(COUNT))


def test_a_publisher_that_slept_does_not_miss_what_another_has_published(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    local.commit(boundary=True)
    link = os.link

    def sleep(*arguments: Any) -> None:
        monkeypatch.setattr(os, "link", link)
        publish(local.catalog, local.name)
        for path in local.published("Out"):
            path.rename(path.with_name("taken away by a reader"))
        link(*arguments)

    monkeypatch.setattr(os, "link", sleep)
    publish(local.catalog, local.name)
    assert (status(local).rows, status(local).files) == (5, 1)


def test_a_file_in_the_place_of_a_part_is_left_alone_and_named(local: LocalApplication):
    local.commit(boundary=True)
    taken = directory(local) / "part-000001-000000-000.parquet"
    taken.write_text("of somebody else")
    with pytest.raises(OutputError, match=rf"operator Out: {taken} exists already .* move it away"):
        publish(local.catalog, local.name)
    assert taken.read_text() == "of somebody else"
    taken.unlink()
    assert publish(local.catalog, local.name) == 1
    assert visible(local) == sorted(rows(5))


def test_a_file_in_the_place_of_a_part_outlives_a_reset(uncommitted: LocalApplication):
    uncommitted.commit()
    taken = directory(uncommitted) / "part-000001-000000-000-g1.parquet"
    taken.write_text("of somebody else")
    reset_unit(uncommitted.catalog, uncommitted.name, "region-0")
    publish(uncommitted.catalog, uncommitted.name)
    assert (taken.read_text(), waiting(uncommitted)) == ("of somebody else", [])


@pytest.fixture
def no_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are none."""

    def refuse(*_: Any) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)


@pytest.mark.usefixtures("no_links")
def test_a_file_system_without_hard_links_will_do(local: LocalApplication):
    local.commit(boundary=True)
    taken = directory(local) / "part-000001-000000-000.parquet"
    taken.touch()
    with pytest.raises(OutputError, match="exists already"):
        publish(local.catalog, local.name)
    taken.unlink()
    local.run()
    assert visible(local) == sorted(rows(COUNT))


@pytest.mark.usefixtures("no_links")
def test_without_hard_links_no_file_is_replaced_that_comes_at_the_last_moment(tmp_path: Path):
    pending, final = tmp_path / "pending", tmp_path / "final"
    pending.write_text("mine")
    rename = Path.rename

    def late(path: Path, target: Path) -> Path:
        with pytest.raises(FileExistsError):
            target.open("x")
        return rename(path, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", late)
        LocalStorage().publish(pending, str(final))
    assert final.read_text() == "mine"
    pending.write_text("mine, too")
    with pytest.raises(FileExistsError):
        LocalStorage().publish(pending, str(final))
    assert final.read_text() == "mine"


@pytest.mark.usefixtures("no_links")
def test_without_hard_links_a_name_is_free_again_when_its_file_was_taken_back(tmp_path: Path):
    pending, final = tmp_path / "pending", tmp_path / "final"
    pending.touch()

    def taken_back(path: Path, _target: Path) -> None:
        path.unlink()
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "rename", taken_back)
        with pytest.raises(FileNotFoundError):
            LocalStorage().publish(pending, str(final))
    assert not final.exists()


@pytest.mark.parametrize(
    "damage", [lambda content: content[:-1], lambda content: b"?" + content[1:]], ids=["cut off", "flipped"]
)
def test_a_waiting_file_that_was_altered_is_named_and_not_published(
    local: LocalApplication, damage: Callable[[bytes], bytes]
):
    local.commit(boundary=True)
    (file,) = waiting(local)
    content = file.read_bytes()
    file.write_bytes(damage(content))
    with pytest.raises(OutputError, match=f"{file}, which was to become .*, is truncated or was altered") as raised:
        publish(local.catalog, local.name)
    assert (raised.value.permanent, visible(local)) == (True, [])
    file.write_bytes(content)
    publish(local.catalog, local.name)
    assert visible(local) == sorted(rows(5))


def test_a_full_disk_keeps_what_waits_and_is_tried_again_after_a_growing_pause(
    local: LocalApplication, monkeypatch: pytest.MonkeyPatch
):
    now = 0.0
    publisher = Publisher(local.catalog, local.name, clock=lambda: now)
    tries = 0

    def full(*_: Any) -> None:
        nonlocal tries
        tries += 1
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    local.commit(boundary=True)
    with monkeypatch.context() as patch:
        patch.setattr(os, "link", full)
        for _ in range(4):
            publisher.turn()
            now += PAUSES.first / 2
    assert tries == 2, "at 0 and at the end of the first pause"
    assert "No space left on device; it is tried again" in str(status(local).error)
    later = Publisher(local.catalog, local.name, clock=lambda: now)
    later.turn()
    assert (visible(local), status(local).error) == (sorted(rows(5)), None)


def test_a_directory_that_was_removed_with_what_waited_stops_the_application(local: LocalApplication):
    local.commit(boundary=True)
    for path in waiting(local):
        path.unlink()
    (directory(local) / "_pending").rmdir()
    directory(local).rmdir()
    with local.catalog.write() as connection:  # the PE has failed by an outside cause before
        connection.execute(update(tables.pe).values(kind=FilesKind(0, "north"), outside=True))
    Publisher(local.catalog, local.name).turn()
    actual = read_status(local.catalog, local.name)
    pe = actual.pes[0]
    assert (pe.state, pe.row.permanent, pe.row.kind, pe.row.outside) == ("FAILED", True, PeKind(0), False)
    assert "is gone: start over with --fresh" in str(actual.sinks[0].error)


def test_a_directory_that_was_removed_while_nothing_waited_is_made_again(local: LocalApplication):
    local.commit(boundary=True)
    publish(local.catalog, local.name)
    for path in local.published("Out"):
        path.unlink()
    (directory(local) / "_pending").rmdir()
    directory(local).rmdir()
    local.run()
    assert visible(local) == sorted(rows(COUNT)[5:])
