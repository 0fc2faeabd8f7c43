"""The events of an application from its start to its end, whoever sends them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.deployment import control
from streams_orchestration.runtime.deployment.reset import reset_unit
from streams_orchestration.runtime.lineage import reporter as reporters
from streams_orchestration.runtime.lineage.client import LineageError
from streams_orchestration.runtime.lineage.failure_report import report_lineage_failure
from streams_orchestration.runtime.lineage.reporter import Reporter
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.watch import advance_units
from streams_orchestration_tests.runtime.applications import write_rows
from streams_orchestration_tests.runtime.lineage.sent import SentEvents, filtered
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.runtime.locked import deploy
from streams_orchestration_tests.runtime.running import COUNT, FakeHosts, Running

pytestmark = pytest.mark.slow


@pytest.fixture
def running(tmp_path: Path, hosts: FakeHosts) -> Running:
    return Running(tmp_path, hosts)


@pytest.fixture
def sent() -> SentEvents:
    return SentEvents()


def reporting(running: Running, sent: SentEvents, host: int | None = 0) -> Reporter:
    made = Reporter(running.catalog, running.name, host, sent)
    made.load(running.local.programs)
    return made


def start_again(running: Running) -> None:
    running.kill_host()
    control.cancel_application(running.catalog, running.name)
    deploy(running.home, deployable(running.local.compilation))
    control.launch_hosts(running.catalog, running.name)
    running.come_up()


def fail_for_good(running: Running) -> None:
    error = "operator Rows: the file has no column k, password=sesame"
    with running.catalog.write() as connection:
        connection.execute(
            update(tables.pe).where(tables.pe.c.id == 0).values(state="FAILED", error=error, permanent=True)
        )
    advance_units(running.catalog, running.name)


def test_a_run_goes_from_its_start_over_cuts_to_its_end(running: Running, sent: SentEvents):
    mine = reporting(running, sent)
    mine.send_due()
    mine.send_due()
    assert sent.names == ["START"]
    running.work()
    mine.send_due()
    running.local.trigger()
    mine.send_due()
    assert sent.names == ["START", "RUNNING"]
    running.finish()
    mine.send_due(last=True)
    mine.send_due(last=True)
    assert sent.names == ["START", "RUNNING", "COMPLETE"]
    assert len(set(sent.runs)) == 1
    (out, raw) = sorted(sent.events[-1]["outputs"], key=lambda each: each["name"])
    assert (out["namespace"], out["name"]) == ("file", str(running.home.results("app") / "Out"))
    assert [each["outputFacets"]["outputStatistics"]["rowCount"] for each in (out, raw)] == [COUNT, COUNT]
    units = {unit["name"]: unit for unit in sent.events[1]["run"]["facets"]["streams_units"]["units"]}
    assert units["region-0"]["epoch"] == 1
    assert sent.events[-1]["job"] == sent.events[0]["job"]
    assert sent.events[0]["job"]["facets"]["jobType"]["processingType"] == "STREAMING"


def test_a_host_that_takes_over_goes_on_with_the_run(running: Running, sent: SentEvents):
    reporting(running, sent).send_due()
    running.work()
    reporting(running, sent).send_due()
    assert sent.names == ["START", "RUNNING"]
    assert len(set(sent.runs)) == 1


def test_only_the_first_host_that_lives_sends(running: Running, sent: SentEvents):
    reporting(running, sent, 1).send_due()
    reporting(running, sent, None).send_due()
    assert sent.events == []


@pytest.mark.usefixtures("database")
def test_a_start_after_a_stop_is_another_run(running: Running, sent: SentEvents):
    mine = reporting(running, sent)
    mine.send_due()
    with running.catalog.write() as connection:
        connection.execute(tables.application.update().values(wanted="STOPPED"))
    mine.send_due()
    assert sent.names == ["START"], "its hosts have not ended"
    mine.send_due(last=True)
    assert sent.names == ["START", "ABORT"]
    start_again(running)
    mine.send_due()
    assert sent.names == ["START", "ABORT", "START"]
    assert sent.runs[0] == sent.runs[1] != sent.runs[2]


def test_an_end_that_could_not_be_sent_is_sent_when_it_starts_again(running: Running, sent: SentEvents):
    reporting(running, sent).send_due()
    start_again(running)
    reporting(running, sent).send_due()
    assert sent.names == ["START", "ABORT", "START"]
    assert sent.runs[0] == sent.runs[1] != sent.runs[2]
    assert sent.events[1]["outputs"] == [], "those of today may be others"


def test_rows_are_those_of_the_run(running: Running, sent: SentEvents):
    running.work()
    start_again(running)
    mine = reporting(running, sent)
    mine.send_due()
    running.finish()
    mine.send_due(last=True)
    (out,) = [each for each in sent.events[-1]["outputs"] if each["name"].endswith("Out")]
    assert 0 < out["outputFacets"]["outputStatistics"]["rowCount"] < COUNT


def test_a_unit_that_is_not_reset_any_more_ends_the_run(running: Running, sent: SentEvents):
    mine = reporting(running, sent)
    mine.send_due()
    fail_for_good(running)
    mine.send_due()
    mine.send_due()
    assert sent.names == ["START", "FAIL"]
    message = sent.events[-1]["run"]["facets"]["errorMessage"]["message"]
    assert "region-0: PE 0 failed: operator Rows: the file has no column k" in message
    assert "sesame" not in message
    assert "streams reset app --unit region-0" in message
    reset_unit(running.catalog, running.name, running.unit_name, force=True)
    running.come_up()
    mine.send_due()
    assert sent.names == ["START", "FAIL", "START"]
    assert sent.runs[1] != sent.runs[2]


def test_a_unit_that_is_reset_is_unhealthy_meanwhile(running: Running, sent: SentEvents):
    mine = reporting(running, sent)
    mine.send_due()
    running.work()
    mine.send_due()
    running.set(tables.pe, state="FAILED", error="away")
    advance_units(running.catalog, running.name)
    mine.send_due()
    assert sent.names == ["START", "RUNNING", "RUNNING"]
    states = {unit["state"] for unit in sent.events[-1]["run"]["facets"]["streams_units"]["units"]}
    assert states == {"UNHEALTHY"}


def test_cancelling_a_failed_application_ends_the_run_with_fail(
    running: Running, sent: SentEvents, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reporters, "Client", lambda: sent)
    reporting(running, sent).send_due()
    report_lineage_failure(running.catalog, running.name)
    fail_for_good(running)
    report_lineage_failure(running.catalog, running.name)
    assert sent.names == ["START"], "nothing is named to send to"
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:1")
    control.cancel_application(running.catalog, running.name, timeout=0.0)
    assert sent.names == ["START", "FAIL"]
    reporting(running, sent).send_due(last=True)
    assert sent.names == ["START", "FAIL"], "not ABORT"


def test_a_stop_of_what_works_is_told_by_its_hosts(running: Running, sent: SentEvents, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reporters, "Client", lambda: sent)
    monkeypatch.setenv("OPENLINEAGE_URL", "http://127.0.0.1:1")
    reporting(running, sent).send_due()
    report_lineage_failure(running.catalog, running.name)
    assert sent.names == ["START"]


def test_columns_are_followed_over_all_pes_to_the_data(tmp_path: Path, hosts: FakeHosts, sent: SentEvents):
    file = write_rows(tmp_path / "rows.parquet", COUNT)
    local = LocalApplication(Home(tmp_path / "home"), filtered(file, 3), 5)
    control.launch_hosts(local.catalog, local.name)
    mine = Reporter(local.catalog, local.name, 0, sent)
    mine.load(local.programs)
    mine.send_due()
    (event,) = sent.events
    assert [(each["namespace"], each["name"]) for each in event["inputs"]] == [("file", str(file))]
    assert [each["name"] for each in event["inputs"][0]["facets"]["schema"]["fields"]] == ["k", "n"]
    lineage = event["outputs"][0]["facets"]["columnLineage"]

    def shown(fields: list[dict[str, Any]]) -> list[tuple[str, str, list[tuple[str, str]]]]:
        return [
            (each["name"], each["field"], [(way["type"], way["subtype"]) for way in each["transformations"]])
            for each in fields
        ]

    assert {column: shown(fields["inputFields"]) for column, fields in lineage["fields"].items()} == {
        "k": [(str(file), "k", [("DIRECT", "IDENTITY")])],
        "n": [(str(file), "n", [("DIRECT", "TRANSFORMATION")])],
    }
    assert shown(lineage["dataset"]) == [(str(file), "n", [("INDIRECT", "FILTER")])]


def test_nothing_is_sent_twice_and_nothing_is_left_out_when_the_server_comes_back(running: Running, sent: SentEvents):
    mine = reporting(running, sent)
    sent.refuses = "it is away"
    for _ in range(2):
        with pytest.raises(LineageError):
            mine.send_due()
    running.finish()
    sent.refuses = None
    mine.send_due(last=True)
    assert sent.names == ["START", "COMPLETE"]
