from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.cli import main
from streams_orchestration.cli.observing import details, overview, redeploy_line, status_document
from streams_orchestration.cli.progress import progress_table
from streams_orchestration.cli.terminal import rendered
from streams_orchestration.runtime import api
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.cause_kinds import FilesKind, PeKind
from streams_orchestration.runtime.catalog.unit_columns import Tries
from streams_orchestration.runtime.observing.last_redeploy import LastRedeploy
from streams_orchestration.runtime.observing.reading import read_status_if_deployed
from streams_orchestration.runtime.programs.spread import LevelSpread, Share
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.cli.made_up import NOW, host, metrics, pe, sink, status, unit
from streams_orchestration_tests.fake_functions import replace_function
from streams_orchestration_tests.runtime.readings import unit_event

FAILURE_KEYS = {
    *("application", "unit", "generation", "attempts", "max_attempts", "reason", "log", "machine", "here"),
    *("permanent", "restartable", "outside", "used_up", "launches", "lost", "stays", "gone", "due_at"),
}
"""The keys of a failure in the JSON document of the status, which others read."""
FAILED = status(pes=(pe(0, state="FAILED", error="boom"), pe(1)))


def test_overview_has_a_line_for_every_application():
    text = rendered(overview([status(), FAILED], NOW), colour=False)
    assert [line.split() for line in text.splitlines()[1:]] == [
        ["flights", "RUNNING", "1", "min", "5", "s", "ago", "2", "4", "1,234,567", "-"],
        ["flights", "UNHEALTHY", "1", "min", "5", "s", "ago", "2", "4", "0", "region-0"],
    ]


def test_details_show_hosts_results_and_logs():
    text = rendered(details(status(), NOW, metrics()), colour=False)
    for part in ("host 0  RUNNING, pid 4711", "Results  16 rows in 1 file  /results/Results", "logs  /logs"):
        assert part in text
    assert "host 0  LOST, pid 4711 (gone)" in rendered(
        details(status(hosts=(host(alive=False),)), NOW, metrics()), colour=False
    )


def test_details_name_a_storage_that_a_host_does_not_reach():
    away = {"storage_error": "s3://b/p: cannot be reached. Check that it can be reached", "storage_failed_at": NOW - 40}
    text = " ".join(rendered(details(status(hosts=(host(**away),)), NOW, metrics()), colour=False).split())
    assert "host 0 has not reached the storage for 40 s: s3://b/p: cannot be reached. Check that it can" in text


def test_details_say_how_old_the_last_delivery_is():
    delivered = status(sinks=(sink(delivered_at=NOW - 3),))
    assert "16 rows in 1 file, the last 3.0 s ago  /results" in rendered(
        details(delivered, NOW, metrics()), colour=False
    )
    actual = json.loads(json.dumps(api.build_status_document(delivered, metrics(), NOW), default=str))
    assert (actual["sinks"][0]["delivered_at"], actual["sinks"][0]["delivery_age_seconds"]) == (NOW - 3, 3.0)
    assert api.build_status_document(status(), metrics(), NOW)["sinks"][0]["delivery_age_seconds"] is None


def test_the_document_has_the_texts_of_the_kinds_of_causes():
    kind = FilesKind(0, "north")
    away = unit(kind=kind, tries=(Tries(kind, 2, NOW, lately=True),))
    document = api.build_status_document(status(units=(away,), pes=(pe(0, kind=PeKind(0)),)), metrics(), NOW)
    actual = json.loads(json.dumps({name: document[name] for name in ("pes", "units")}, default=str))
    text = "files: host 0 on north"
    assert (actual["pes"][0]["kind"], actual["units"][0]["kind"]) == ("PE 0", text)
    assert actual["units"][0]["tries"] == [[text, 2, NOW, True]]


def test_details_show_how_channels_are_spread_over_tasks():
    levels = (
        LevelSpread(1, Share(2, 2, 2)),
        LevelSpread(3, Share(7, 2, 3), {"Out": Share(2, 1, 1), "In": Share(3, 1, 2)}),
    )
    spread = pe(7, levels=[asdict(level) for level in levels])
    lines = rendered(details(status(pes=(spread,)), NOW, metrics()), colour=False, width=200).splitlines()
    first = next(number for number, line in enumerate(lines) if line.split()[:3] == ["PE", "level", "tasks"])
    assert [" ".join(line.split()) for line in lines[first + 1 : first + 3]] == [
        "7 0 1 2 -",
        "7 1 3 2 to 3 1 of 2 channels of Out, 1 to 2 of 3 channels of In",
    ]


def test_details_say_what_to_do_about_a_failure():
    text = " ".join(rendered(details(FAILED, NOW, metrics()), colour=False, width=1000).split())
    assert "region-0: PE 0 failed: boom (log: /logs/pe-0.log). Dagster's daemon resets it" in text
    assert "`streams reset flights --unit region-0`." in text


@pytest.mark.parametrize(
    ("what", "parts"),
    [
        ({"units": (unit(attempts=5),)}, ("5 of 5 resets in a row failed. Fix", "--unit region-0 --force`")),
        ({"pes": (pe(0, state="FAILED", error="boom", permanent=True),)}, ("the same error again. Fix", "region-0`")),
        ({"pes": (pe(0, state="FAILED", error="boom", restartable=False),)}, ("`restartable: false`", "region-0`")),
    ],
)
def test_details_say_why_something_is_not_reset_by_itself(what: dict[str, Any], parts: tuple[str, ...]):
    text = rendered(details(status(**{"pes": FAILED.pes, **what}), NOW, metrics()), colour=False, width=1000)
    for part in ("It is not reset automatically: ", *parts):
        assert part in text


def test_the_document_is_json_with_what_has_failed():
    actual = json.loads(json.dumps(api.build_status_document(FAILED, metrics(), NOW), default=str))
    assert actual["application"] == "flights"
    assert actual["sinks"][0]["path"] == str(sink().path)
    (failure,) = actual["failures"]
    assert failure["unit"] == "region-0"
    assert failure.keys() == FAILURE_KEYS
    assert actual["metrics"]["operators"][0]["inputs"][0]["tuples"] == 1000
    assert actual["metrics"]["streams"][0]["readers"][0]["lag_segments"] == 9


def test_metrics_are_of_one_application(capsys: pytest.CaptureFixture[str]):
    assert main(["status", "--metrics"]) == 2
    assert "streams status APP --metrics" in capsys.readouterr().err


def test_nothing_is_deployed(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path))
    assert main(["status"]) == 0
    assert "Nothing is deployed" in capsys.readouterr().err
    assert main(["status", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert main(["status", "flights"]) == 1
    assert main(["logs", "flights"]) == 1
    assert main(["cancel", "flights"]) == 1
    assert main(["reset", "flights"]) == 1
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 4
    assert all(f"flights: no such application in {tmp_path}" in line for line in errors)
    assert read_status_if_deployed(Catalog(Home(tmp_path)), "flights") is None


WIDER = "Out has width 2, and the new width is 3"
REDEPLOY = LastRedeploy(
    state="PASSED", restores=False, changes=WIDER, ended_at=NOW - 300, until=NOW, cause=None, pause_seconds=1.72
)


@pytest.mark.parametrize(
    ("redeployed", "runs", "line"),
    [
        (REDEPLOY, True, f"last redeploy passed its trial 5 min 0 s ago: {WIDER}; changed units paused for 1.7 s"),
        (replace(REDEPLOY, restores=True, changes=None, pause_seconds=None), True,
         "last redeploy restored the previous plan 5 min 0 s ago"),
        (replace(REDEPLOY, state="REVERTED", cause="PE 1 failed: boom"), True,
         "last redeploy reverted 5 min 0 s ago; the previous plan is deployed again; cause: PE 1 failed: boom"),
        (replace(REDEPLOY, state="OPEN", ended_at=None, until=NOW + 90, changes="new operator: More"), True,
         "redeploy on trial, decided in at most 1 min 30 s: new operator: More"),
        (replace(REDEPLOY, state="OPEN", ended_at=None, changes="new operator: More"), False,
         "redeploy on trial, decided when it runs again: new operator: More"),
    ],
)  # fmt: skip
def test_the_last_redeploy_is_one_line(redeployed: LastRedeploy, runs: bool, line: str):
    assert redeploy_line(redeployed, NOW, runs=runs).plain == line


def test_the_last_redeploy_is_in_the_details_and_in_the_document(monkeypatch: pytest.MonkeyPatch):
    text = " ".join(rendered(details(status(), NOW, metrics(), REDEPLOY), colour=False, width=200).split())
    assert redeploy_line(REDEPLOY, NOW, runs=True).plain in text
    replace_function(monkeypatch, api, "read_metrics", lambda *_: metrics())
    for known, key in ((None, None), (REDEPLOY, asdict(REDEPLOY))):
        replace_function(monkeypatch, api, "read_last_redeploy", lambda *_, known=known: known)
        assert status_document(Catalog(Home(Path("/nowhere"))), status())["last_redeploy"] == key


def test_a_cause_of_several_units_is_said_once_with_their_number():
    pes = tuple(pe(number, unit=f"pe-{number}") for number in range(3))
    units = tuple(unit(name=each.unit, region=None, pes=(each.id,)) for each in pes)
    shown = details(status(hosts=(host(alive=False),), pes=pes, units=units), NOW, metrics())
    text = rendered(shown, colour=False, width=1000)
    assert text.count("host 0 (pid 4711) is gone") == 1
    assert "3 units (pe-0, pe-1, pe-2): host 0 (pid 4711) is gone" in text
    assert "`streams reset flights`." in text


def test_the_cause_of_an_unstable_unit_is_said_once():
    began = tuple(unit_event(NOW - seconds, "reset began", 1, 3, 0, cause="boom") for seconds in (180, 60, 30))
    for pes in (FAILED.pes, status().pes):
        units = (unit(reset_count=3, attempts=1, cause="boom", events=began),)
        text = rendered(details(status(pes=pes, units=units), NOW, metrics()), colour=False, width=1000)
        assert text.count("boom") == 1
        assert "not stable: reset 3 times in 3 min" in text


def test_an_error_of_several_pes_is_said_once():
    stopped = status(state="STOPPED", pes=tuple(pe(number, state="STOPPED", error="boom") for number in range(3)))
    assert "PEs 0, 1, 2: boom" in rendered(progress_table(stopped, {}, NOW), colour=False, width=1000)
    assert "boom" not in rendered(progress_table(stopped, {}, NOW, (), ["cause: boom"]), colour=False, width=1000)


def test_a_lost_cut_is_said_once_with_its_remedy():
    lost = unit_event(NOW, "cut lost", 1, 4, 0, cause="region-0 cannot go back to epoch 4: the state s1 is gone")
    for pes in (FAILED.pes, status().pes):
        shown = details(status(pes=pes, units=(unit(events=(lost,)),)), NOW, metrics())
        text = rendered(shown, colour=False, width=1000)
        assert text.count("the state s1 is gone. Restore it from a copy, or start over with --fresh") == 1
        assert ("once the file is restored, use `streams reset flights --unit region-0`" in text) == (pes is FAILED.pes)
        assert ("the application keeps running" in text) == (pes is not FAILED.pes)


def test_a_pe_is_named_once():
    failed = status(pes=(pe(0, state="FAILED", error="batch 7: boom"), pe(1)))
    assert "PE 0: batch 7: boom" in rendered(progress_table(failed, {}, NOW), colour=False, width=1000)
    shown = rendered(details(failed, NOW, metrics()), colour=False, width=1000)
    assert shown.count("boom") == 1, "below, with what to do"


def test_the_first_line_names_what_has_failed():
    failed = status(pes=(pe(0, state="FAILED", error="batch 7: boom"), pe(1)))
    for shown, expected in (
        (failed, "flights  UNHEALTHY, region-0 failed  deployed"),
        (status(), "flights  RUNNING  dep"),
    ):
        assert rendered(details(shown, NOW, metrics()), colour=False, width=200).startswith(expected)
