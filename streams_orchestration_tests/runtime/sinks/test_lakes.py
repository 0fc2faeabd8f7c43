"""Lake tables behind an application: whatever dies and whoever wakes up, they have the rows of an undisturbed run."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.sinks import delivering
from streams_orchestration.runtime.sinks.delivering import make_deliverers
from streams_orchestration.runtime.sinks.publishing import outstanding
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.operators.lakes.lakes import LAKES, Delta, RestIceberg
from streams_orchestration_tests.runtime.applications import PERIODIC, compiled, published, rows, source, write_rows
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.servers.iceberg_rest import RestCatalog

pytestmark = [
    pytest.mark.slow,
    pytest.mark.usefixtures("no_hosts"),
    pytest.mark.filterwarnings("ignore:Iceberg scan planning"),
]

COUNT = 20


class DiedError(BaseException):
    """The death of a process that was killed."""


@pytest.fixture(params=LAKES)
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Delta:
    return LAKES[request.param](tmp_path)


def application(lake: Delta | RestIceberg, count: int = COUNT, **parameters: Any) -> LocalApplication:
    file = write_rows(lake.directory / "rows.parquet", count)
    out = {"name": "Out", "operator": lake.operator, "inputs": ["Rows"], "outputs": []}
    given = {"parameters": lake.parameters() | parameters}
    graph = [source("Rows", file), out | given]
    return LocalApplication(Home(lake.directory / "home"), compiled(graph, fusion="manual", pes=1), 5)


def another_process(local: LocalApplication) -> None:
    local.deliverers = make_deliverers(local.catalog, local.name, local.programs)


def before(function: Callable[..., Any], action: Callable[[], None]) -> Callable[..., Any]:
    def changed(*arguments: Any, **named: Any) -> Any:
        action()
        return function(*arguments, **named)

    return changed


def after(function: Callable[..., Any], action: Callable[[], None]) -> Callable[..., Any]:
    def changed(*arguments: Any, **named: Any) -> Any:
        result = function(*arguments, **named)
        action()
        return result

    return changed


def die() -> None:
    raise DiedError


def publish_with_a_fault(local: LocalApplication, commit: tuple[type, str], fault: str) -> bool:
    """Publish with a fault; return True if the fault was reached."""
    owner, name = commit
    original = getattr(owner, name)
    happened: list[str] = []

    def others_come_first() -> None:
        if not happened:
            happened.append(fault)
            another_process(local)
            local.publish()
            local.commit(boundary=True)
            local.publish()

    with pytest.MonkeyPatch.context() as patch:
        match fault:
            case "dies before the commit":
                patch.setattr(owner, name, before(original, die))
            case "dies after the commit":
                patch.setattr(owner, name, after(original, die))
            case "dies before the catalog knows":
                patch.setattr(delivering, "count_output", before(delivering.count_output, die))
            case "dies before the files are gone":
                patch.setattr(delivering, "count_output", after(delivering.count_output, die))
            case _:
                patch.setattr(owner, name, before(original, others_come_first))
        try:
            local.publish()
        except DiedError:
            happened.append(fault)
    another_process(local)
    return bool(happened)


FAULT_KINDS = (
    *("dies before the commit", "dies after the commit", "dies before the catalog knows"),
    *("dies before the files are gone", "is paused in the commit while others go on"),
)


@pytest.mark.covering
@pytest.mark.parametrize("key", [[], ["k"]], ids=["append", "upsert"])
@pytest.mark.parametrize("faults", [5, pytest.param(25, marks=pytest.mark.deep)])
def test_rows_are_those_of_an_undisturbed_run(lake: Delta, key: list[str], faults: int):
    count = 25 * faults
    local = application(lake, count, key=key)
    kinds = itertools.cycle(FAULT_KINDS)
    commit = lake.upsert_commit if key else lake.commit
    disturb(local, faults, lambda: publish_with_a_fault(local, commit, next(kinds)))
    check_undisturbed(lake, local, count, key)


def disturb(local: LocalApplication, faults: int, publish: Callable[[], bool]) -> None:
    """Run with resets and faults to the end; `publish` says whether it came to a fault."""
    choose = random.Random(7)
    while faults > 0:
        for _ in range(choose.randint(0, 2)):
            local.commit()
        if choose.random() < 0.3:
            reset_unit(local.catalog, local.name, "region-0")
            local.report_running()
        local.commit(boundary=True)
        faults -= publish()
    local.run()


def check_undisturbed(lake: Delta | RestIceberg, local: LocalApplication, count: int, key: list[str]) -> None:
    expected = sorted(dict(rows(count)).items()) if key else sorted(rows(count))
    assert lake.rows() == lake.rows_of_duckdb() == expected
    epochs = [commit["streams.epoch"] for commit in lake.commits()]
    assert epochs == sorted(set(epochs)), "each is committed once, in order"
    sink = read_status(local.catalog, local.name).sinks[0]
    assert (sink.rows, sink.waiting, sink.error) == (count, 0, None)


@pytest.mark.deep
@pytest.mark.java
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("s3", ["moto"], indirect=True)
@pytest.mark.parametrize("key", [[], ["k"]], ids=["append", "upsert"])
def test_a_catalog_by_rest_is_cut_off_and_killed(rest_catalog: RestCatalog, tmp_path: Path, key: list[str]):
    """Besides all the other faults: connections end after some bytes of its answers, and it starts anew."""
    faults, proxy, choose = 25, rest_catalog.proxy(), random.Random(11)
    lake = RestIceberg(tmp_path, rest_catalog, rest_catalog.table(), proxy.port)
    local = application(lake, 25 * faults, key=key)
    kinds = itertools.cycle((*FAULT_KINDS, "connections are cut", "connections are cut", "the catalog is killed"))

    def publish() -> bool:
        kind = next(kinds)
        if kind in FAULT_KINDS:
            return publish_with_a_fault(local, lake.commit, kind)
        if kind == "the catalog is killed":
            rest_catalog.kill()
        else:
            proxy.cut(choose.randint(1, 20_000))
        disturbed = False
        try:
            local.publish()
        except OutputError as error:
            assert not error.permanent, error
            disturbed = True
        if kind == "the catalog is killed":
            rest_catalog.start()
        proxy.open()
        another_process(local)
        return disturbed

    try:
        disturb(local, faults, publish)
        check_undisturbed(lake, local, 25 * faults, key)
    finally:
        proxy.close()


def test_a_table_becomes_another_one_over_resets(lake: Delta):
    first = application(lake, 60)
    first.run()
    graph = [
        {
            "name": "Rows",
            "operator": lake.source_operator,
            "outputs": [{"stream": "Rows", "schema": "Row"}],
            "parameters": lake.source_parameters() | {"until": "latest"},
            "annotations": PERIODIC,
        },
        {"name": "Out", "operator": "FileSink", "inputs": ["Rows"], "parameters": {"file": "Out"}},
    ]
    local = LocalApplication(
        Home(lake.directory / "home"), compiled(graph, application="second", fusion="manual", pes=1), 5
    )
    for boundary in (False, True, False, False, True):
        local.commit(boundary=boundary)
    reset_unit(local.catalog, local.name, "region-0")
    local.run()
    assert published(local.published("Out")) == sorted(rows(60))


def test_tuples_that_a_reset_retracts_never_come_into_the_table(lake: Delta):
    local = application(lake)
    local.commit(boundary=True)
    local.commit()
    reset_unit(local.catalog, local.name, "region-0")
    local.run()
    assert lake.rows() == sorted(rows(COUNT))
    assert not list((local.home.data(local.name) / "outputs").rglob("*.*"))


def test_a_table_that_is_missing_stops_and_when_it_is_there_everything_is_delivered(lake: Delta):
    local = application(lake, createTable=False)
    local.commit(boundary=True)
    with pytest.raises(
        OutputError, match=r"operator Out: there is no .*; set createTable: true, or create it"
    ) as error:
        local.publish()
    assert error.value.permanent
    lake.make_empty()
    local.run()
    assert lake.rows() == sorted(rows(COUNT))


def test_channels_commit_side_by_side(lake: Delta):
    file = write_rows(lake.directory / "rows.parquet", 60)
    out = {"name": "Out", "operator": lake.operator, "inputs": ["Rows"], "outputs": []}
    given = {"parameters": lake.parameters(), "annotations": {"parallel": {"width": 3}}}
    graph = [source("Rows", file), out | given]
    local = LocalApplication(Home(lake.directory / "home"), compiled(graph, fusion="manual", pes=1), 5)
    local.run()
    assert lake.rows() == sorted(rows(60))
    assert {each["streams.operator"] for each in lake.commits()} == {"Out[0]", "Out[1]", "Out[2]"}


def test_the_status_names_the_table(lake: Delta):
    local = application(lake)
    local.run()
    sink = read_status(local.catalog, local.name).sinks[0]
    assert (sink.kind, sink.rows, sink.place.startswith(lake.place)) == (lake.operator, COUNT, True)
    assert not outstanding(local.catalog, local.name, deliveries=True).deliveries
