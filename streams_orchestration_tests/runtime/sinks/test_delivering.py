"""Deliveries: complete epochs are handed over in order, with the same key and tuples however often."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import select

from streams_orchestration.operators.sinks.delivery_key import DeliveryKey, delivery_properties
from streams_orchestration.operators.tuples.watermarks import END
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.settings.limits import OUTSTANDING_LIMIT
from streams_orchestration.runtime.sinks import delivering
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.sinks.publisher import PAUSES, Publisher
from streams_orchestration.runtime.sinks.sinks import route_sink
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.applications import compiled, rows, source, write_rows
from streams_orchestration_tests.runtime.event_times import in_event_time, lines
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.sinks.letters import LOADED, Letters, NumberedLetters, letters

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]

COUNT = 20


def application(tmp_path: Path, limit: int = 5, count: int = COUNT, **last: Any) -> LocalApplication:
    file = write_rows(tmp_path / "rows.parquet", count)
    given = {"operator": f"{Letters.__module__}:Letters", "parameters": {"place": str(tmp_path)}} | last
    graph = [source("Rows", file), {"name": "Out", "inputs": ["Rows"], "outputs": []} | given]
    return LocalApplication(Home(tmp_path / "home"), compiled(graph, fusion="manual", pes=1), limit)


@pytest.fixture
def local(tmp_path: Path) -> LocalApplication:
    return application(tmp_path)


def test_a_complete_epoch_is_delivered_whole_and_once(local: LocalApplication, tmp_path: Path):
    local.commit()
    local.publish()
    assert letters(tmp_path) == []
    local.commit(boundary=True)
    local.publish()
    local.publish()
    assert letters(tmp_path) == [("Out/-1/1", rows(10))]
    actual = read_status(local.catalog, local.name).sinks[0]
    assert (actual.files, actual.rows, actual.waiting, actual.path) == (1, 10, 0, None)
    assert not list((local.home.data(local.name) / "outputs").rglob("*.arrow"))


def test_the_modules_of_a_sink_are_loaded_ahead_and_a_failure_of_that_is_ignored(
    local: LocalApplication, tmp_path: Path
):
    LOADED.clear()
    Publisher(local.catalog, local.name).deliver_to(local.deliverers)
    assert LOADED.is_set()
    local.commit(boundary=True)
    local.publish()
    assert len(letters(tmp_path)) == 1
    assert read_status(local.catalog, local.name).sinks[0].error is None


def test_after_a_crash_it_comes_again_with_the_same_key_and_tuples(
    local: LocalApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    local.commit()
    local.commit(boundary=True)

    def die(*_: Any, **__: Any) -> bool:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(delivering, "count_output", die)
        with pytest.raises(KeyboardInterrupt):
            local.publish()
    local.deliverers = make_deliverers(local.catalog, local.name, local.programs)
    local.publish()
    first, second = letters(tmp_path)
    assert first == second == ("Out/-1/1", rows(10))


def test_tuples_that_were_altered_while_they_waited_are_never_delivered(local: LocalApplication, tmp_path: Path):
    local.commit(boundary=True)
    (file,) = (local.home.data(local.name) / "outputs").rglob("*.arrow")
    content = file.read_bytes()
    file.write_bytes(content.replace(b"a", b"b"))
    with pytest.raises(
        OutputError, match=f"{file}, which was to be delivered, is truncated or was altered: restore it"
    ):
        local.publish()
    assert letters(tmp_path) == []
    file.write_bytes(content)
    local.publish()
    assert len(letters(tmp_path)) == 1


def test_tuples_that_are_altered_after_the_check_are_never_delivered(
    local: LocalApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A delivery reads its files while the target writes, which may take long."""
    local.commit(boundary=True)
    (file,) = (local.home.data(local.name) / "outputs").rglob("*.arrow")
    content = file.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Letters, "open", lambda _: file.write_bytes(content.replace(b"a", b"b")))
        words = f"{file}, which was to be delivered, is truncated or was altered"
        with pytest.raises(OutputError, match=words) as raised:
            local.publish()
    assert raised.value.permanent
    assert letters(tmp_path) == []
    file.write_bytes(content)
    local.publish()
    assert len(letters(tmp_path)) == 1


def test_tuples_that_a_reset_retracts_are_never_delivered(local: LocalApplication, tmp_path: Path):
    local.commit(boundary=True)
    local.commit()
    reset_unit(local.catalog, local.name, "region-0")
    local.run()
    delivered = letters(tmp_path)
    assert [row for _, tuples in delivered for row in tuples] == rows(COUNT)
    assert len({key for key, _ in delivered}) == len(delivered)


def test_a_target_that_refuses_is_asked_again_and_gets_everything_in_order(local: LocalApplication, tmp_path: Path):
    now = 0.0
    publisher = Publisher(local.catalog, local.name, local.deliverers, clock=lambda: now)

    def turn() -> None:
        publisher.turn()
        for thread in list(publisher.deliveries.values()):
            thread.join(60)

    (tmp_path / "closed").touch()
    for _ in range(2):
        local.commit(boundary=True)
        turn()
    actual = read_status(local.catalog, local.name).sinks[0]
    assert (actual.late, actual.rows) == (2, 0)
    assert str(actual.error).startswith("the office is closed; open it; delivery ")
    (tmp_path / "closed").unlink()
    turn()
    assert letters(tmp_path) == [], "it rests"
    now += PAUSES.first
    turn()
    assert [tuples for _, tuples in letters(tmp_path)] == [rows(5), rows(5, first=5)]
    actual = read_status(local.catalog, local.name).sinks[0]
    assert (actual.late, actual.rows, actual.error) == (0, 10, None)


def test_a_target_that_is_away_for_long_holds_the_region_up_and_loses_nothing(tmp_path: Path):
    local = application(tmp_path, limit=1, count=2 * OUTSTANDING_LIMIT)
    (program,) = local.programs
    (tmp_path / "closed").touch()
    for _ in range(OUTSTANDING_LIMIT):
        local.commit(boundary=True)
    local.trigger()
    assert local.plan(program) is None
    completed = read_status(local.catalog, local.name).units[0].completed_epoch
    assert completed == OUTSTANDING_LIMIT, "no epoch begins to end, so that no drain takes too long"
    (tmp_path / "closed").unlink()
    local.publish()
    local.run()
    assert [row for _, tuples in letters(tmp_path) for row in tuples] == rows(2 * OUTSTANDING_LIMIT)


def uncommitted(tmp_path: Path, limit: int = 5, count: int = COUNT) -> LocalApplication:
    return application(tmp_path, limit, count, operator=f"{NumberedLetters.__module__}:NumberedLetters")


def test_batches_that_wait_are_one_delivery(tmp_path: Path):
    local = uncommitted(tmp_path)
    local.commit()
    local.publish()
    local.commit()
    local.commit()
    local.publish()
    assert [tuples for _, tuples in letters(tmp_path)] == [rows(5), rows(10, first=5)]


def test_delivered_tuples_do_not_come_again_with_later_ones_after_a_crash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    local = uncommitted(tmp_path)
    local.commit()
    local.commit()
    with monkeypatch.context() as patch:
        patch.setattr(delivering, "count_output", Mock(side_effect=KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            local.publish()
    local.commit()
    local.publish()
    local.run()
    assert [row for _, tuples in letters(tmp_path) for row in tuples] == rows(COUNT)
    assert read_status(local.catalog, local.name).sinks[0].rows == COUNT


def test_batches_that_are_not_delivered_hold_their_pe_up(tmp_path: Path):
    local = uncommitted(tmp_path, limit=1, count=2 * OUTSTANDING_LIMIT)
    (tmp_path / "closed").touch()
    for _ in range(OUTSTANDING_LIMIT):
        local.commit()
    assert local.plan(local.programs[0]) is None
    (tmp_path / "closed").unlink()
    local.run()
    assert [row for _, tuples in letters(tmp_path) for row in tuples] == rows(2 * OUTSTANDING_LIMIT)


def test_tuples_that_are_gone_stop_the_application(local: LocalApplication):
    local.commit(boundary=True)
    (file,) = (local.home.data(local.name) / "outputs").rglob("*.arrow")
    file.unlink()
    with pytest.raises(OutputError, match=r"operator Out: .*, which was to be delivered, is gone: start over with --f"):
        local.publish()


def test_somebody_else_may_have_delivered_it(tmp_path: Path, local: LocalApplication):
    local.commit(boundary=True)
    with local.catalog.read() as connection:
        row = connection.execute(select(tables.sink_file)).one()
    Path(row.pending).unlink()
    with local.catalog.write() as connection:
        connection.execute(tables.sink_file.delete())
    (deliverer,) = local.deliverers.values()
    seen = dict(row._mapping) | {"visibility": "read_committed"}
    deliverer.deliver([type("Seen", (), seen)()])  # pyright: ignore[reportArgumentType]
    assert letters(tmp_path) == []


@pytest.mark.parametrize("visibility", ["read_committed", "read_uncommitted"])
def test_rows_of_a_database_are_those_of_an_undisturbed_run(tmp_path: Path, visibility: str):
    target = tmp_path / "target.db"
    parameters = {"url": f"sqlite:///{target}", "table": "t", "createTable": True, "visibility": visibility}
    local = application(tmp_path, operator="SqlSink", parameters=parameters)
    local.step(local.programs[0])
    local.step(local.programs[0])
    reset_unit(local.catalog, local.name, "region-0")
    local.run()
    with sqlite3.connect(target) as connection:
        actual = connection.execute("SELECT k, n FROM t").fetchall()
    again = rows(10) if visibility == "read_uncommitted" else []
    assert sorted(actual) == sorted(rows(COUNT) + again), "uncommitted rows stay, and the replay comes to them"


@pytest.mark.parametrize("visibility", ["read_committed", "read_uncommitted"])
@pytest.mark.parametrize("by", ["parameter", "person"])
def test_a_tuple_that_a_target_never_takes_is_named_and_set_aside_where_that_is_wanted(
    tmp_path: Path, by: str, visibility: str
):
    target = tmp_path / "target.db"
    with sqlite3.connect(target) as connection:
        connection.execute("CREATE TABLE t (k TEXT, n BIGINT CHECK (n <> 8))")
    parameters = {"url": f"sqlite:///{target}", "table": "t", "visibility": visibility}
    parameters |= {"onUndeliverable": "route"} if by == "parameter" else {}
    local = application(tmp_path, operator="SqlSink", parameters=parameters)
    local.commit()
    local.commit(boundary=True)
    if by == "person":
        with pytest.raises(OutputError, match=r"Out: table t, row \d+ of epoch 1.*route sets such tuples aside"):
            local.publish()
        assert route_sink(local.catalog, local.name, "Out") == 1
    local.run()
    with sqlite3.connect(target) as connection:
        actual = connection.execute("SELECT k, n FROM t").fetchall()
    assert sorted(actual) == sorted(row for row in rows(COUNT) if row[1] != 8)
    seen = read_status(local.catalog, local.name).sinks[0]
    assert (seen.rows, seen.undeliverable, seen.waiting, seen.error) == (COUNT - 1, 1, 0, None)
    (file,) = (local.home.results(local.name) / "undeliverable/Out").iterdir()
    assert [json.loads(line)["tuple"]["n"] for line in file.read_text().splitlines()] == [8]


@pytest.mark.parametrize("error", [SystemExit(3), KeyError("defect")], ids=repr)
def test_a_sink_whose_code_ends_the_process_or_fails_as_nobody_expects_is_late_with_its_reason(
    local: LocalApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
):
    publisher = Publisher(local.catalog, local.name, local.deliverers)

    def turn() -> None:
        publisher.turn()
        for thread in list(publisher.deliveries.values()):
            thread.join(60)

    def raising(*_: object, **__: object) -> None:
        raise error

    local.commit(boundary=True)
    at = (Letters, "deliver_files") if isinstance(error, SystemExit) else (delivering, "count_output")
    with monkeypatch.context() as patch:
        patch.setattr(*at, raising)
        turn()
    actual = read_status(local.catalog, local.name).sinks[0]
    assert str(actual.error).startswith(f"{type(error).__name__}: {error}")
    turn()
    assert actual.late == 1, "it rests"


@pytest.mark.parametrize(("visibility", "last"), [("read_committed", END), ("read_uncommitted", 7_000)])
def test_a_delivery_has_the_event_time_up_to_which_the_target_is_complete(tmp_path: Path, visibility: str, last: int):
    """The last tuple is in the epoch with the end, and in a batch before it."""
    file, target = tmp_path / "rows.txt", tmp_path / "target.db"
    file.write_text("5 a 1\n9 a 2\n")
    table = {"url": f"sqlite:///{target}", "table": "rows", "createTable": True, "visibility": visibility}
    graph = [lines("Rows", file, lag=0.002), {"name": "Out", "operator": "SqlSink", "inputs": ["Rows"]}]
    graph[-1] |= {"outputs": [], "parameters": table}
    local = LocalApplication(Home(tmp_path / "home"), in_event_time(graph), 1)
    watermarks: list[int] = []

    def publish() -> None:
        local.publish()
        with sqlite3.connect(target) as database:
            ((watermark,),) = database.execute("SELECT watermark FROM streams_deliveries").fetchall()
        watermarks.append(watermark)

    for _ in range(2):
        local.commit(boundary=True)
        publish()
    file.open("a").write("4 a 3\nend\n")
    local.run()
    publish()
    assert watermarks == [3_000, 7_000, last]


def test_properties_of_a_delivery_have_the_watermark_if_there_is_one():
    key = DeliveryKey("life", "Out", -1, 7, 0, 7, "app")
    named = {"streams.application": "app", "streams.operator": "Out", "streams.epoch": 7}
    assert delivery_properties(key) == named
    assert delivery_properties(key._replace(watermark=5)) == named | {"streams.watermark": 5}
