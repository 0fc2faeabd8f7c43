"""Prometheus gets the metrics of the catalog, in a form that its own checkers accept."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.openmetrics import parser as openmetrics

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import (
    CatalogUnavailableError,
    StorageSettingError,
    StreamsRuntimeError,
)
from streams_orchestration.runtime.observing.exposition import prometheus
from streams_orchestration.runtime.observing.exposition.families import UP, all_families
from streams_orchestration.runtime.observing.exposition.prometheus import read_metrics_text
from streams_orchestration.runtime.observing.snapshots import Snapshot, read_snapshot
from streams_orchestration.runtime.observing.status import ConnectionStatus, ImportStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.cli.made_up import NOW, host, pe, sink, unit
from streams_orchestration_tests.runtime.observing.exposition.exposed import COUNT
from streams_orchestration_tests.runtime.observing.exposition.samples import Samples, made_up, samples_of, value


def shown(monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot) -> Samples:
    monkeypatch.setattr(prometheus, "read_snapshot", lambda _catalog, _application: snapshot)
    return samples_of(read_metrics_text(Home(Path("/nowhere")))[0].decode())


def test_figures_are_those_of_the_catalog(home: Home, text: str):
    samples, (observed,) = samples_of(text), read_snapshot(Catalog(home)).applications
    odd = next(each for each in observed.metrics.operators if each.name == "Odd")
    mine = {"application": observed.name, "operator": "Odd"}
    assert value(samples, "streams_catalog_up") == 1
    assert value(samples, "streams_operator_input_tuples_total", **mine) == COUNT
    assert value(samples, "streams_operator_output_tuples_total", **mine) == odd.outputs[0].tuples
    assert value(samples, "streams_operator_cpu_seconds_total", **mine) == pytest.approx(odd.cpu_ns / 1e9)
    dropped = value(samples, "streams_operator_dropped_tuples_total", **mine)
    assert dropped + odd.outputs[0].tuples == COUNT
    assert value(samples, "streams_operator_custom_events_total", **mine, metric="odd") == odd.outputs[0].tuples
    assert value(samples, "streams_source_lag_tuples", **mine) == 7
    assert value(samples, "streams_source_lag_seconds", **mine) == 1.5
    assert value(samples, "streams_sink_rows_total", operator="Out") == observed.status.sinks[0].rows > 0
    delivered = value(samples, "streams_sink_last_delivery_timestamp_seconds", operator="Out")
    assert delivered == pytest.approx(observed.status.sinks[0].delivered_at)
    assert value(samples, "streams_application_state", state="COMPLETED") == 1


def test_a_gauge_of_an_operator_with_the_name_of_a_known_counter_is_one_of_its_own(text: str):
    samples = samples_of(text)
    assert value(samples, "streams_operator_custom_value", metric="errors") == 0.5
    assert not any(name == "streams_operator_errors_total" for name, _ in samples)


def test_labels_are_those_that_the_family_declares(text: str):
    labels = {family.name: set(family.labels) for family in all_families()}
    seen = samples_of(text)
    assert len({name for name, _ in seen}) > 50
    for name, own in seen:
        assert {label for label, _ in own} == labels[name], name


def test_both_parsers_of_the_client_take_it(home: Home, text: str):
    openmetrics_text, content_type = read_metrics_text(home, "application/openmetrics-text; version=1.0.0")
    assert content_type.startswith("application/openmetrics-text")
    families = openmetrics.text_string_to_metric_families(openmetrics_text.decode())
    actual = {(s.name, frozenset(s.labels.items())): s.value for family in families for s in family.samples}
    plain = samples_of(text)
    assert actual.keys() == plain.keys()


@pytest.mark.slow
def test_promtool_takes_it(tool: Path, text: str):
    done = subprocess.run([tool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_one_state_holds_at_a_time(monkeypatch: pytest.MonkeyPatch):
    samples = shown(monkeypatch, made_up(units=(unit(state="UNHEALTHY"),), hosts=(host(state="FAILED", error="x"),)))
    assert value(samples, "streams_unit_state", state="UNHEALTHY") == 1
    assert value(samples, "streams_host_state", state="FAILED") == 1
    for name in ("application", "unit", "host"):
        of_state = [number for (key, _), number in samples.items() if key == f"streams_{name}_state"]
        assert sorted(of_state) == [*[0.0] * (len(of_state) - 1), 1.0]


@pytest.mark.parametrize(
    ("facts", "failed", "given_up"),
    [
        ({}, 0, 0),
        ({"pes": (pe(0, state="FAILED", error="boom"), pe(1))}, 1, 0),
        ({"pes": (pe(0, state="FAILED", error="boom", permanent=True), pe(1))}, 1, 1),
        ({"pes": (pe(0, state="FAILED", error="boom"),), "units": (unit(attempts=5),)}, 1, 1),
        ({"state": "STOPPED", "pes": (pe(0, state="FAILED", error="boom"),)}, 0, 0),
    ],
)
def test_a_unit_that_failed_is_one_by_the_judge_that_resets(
    monkeypatch: pytest.MonkeyPatch, facts: dict[str, Any], failed: int, given_up: int
):
    samples = shown(monkeypatch, made_up(**facts))
    assert value(samples, "streams_unit_failed", unit="region-0") == failed
    assert value(samples, "streams_unit_given_up", unit="region-0") == given_up


def test_a_cut_that_never_came_counts_from_the_deployment(monkeypatch: pytest.MonkeyPatch):
    samples = shown(monkeypatch, made_up(units=(unit(completed_at=None),)))
    assert value(samples, "streams_unit_last_cut_timestamp_seconds") == NOW - 65


def test_outputs_that_a_reset_would_take_back_are_not_counted_for_good(monkeypatch: pytest.MonkeyPatch):
    early = sink(files=5, rows=50, uncommitted=2, uncommitted_rows=20, error="closed")
    samples = shown(monkeypatch, made_up(sinks=(early,)))
    assert value(samples, "streams_sink_outputs_total") == 3
    assert value(samples, "streams_sink_rows_total") == 30
    assert value(samples, "streams_sink_failing") == 1


def test_ports_that_import_the_same_stream_are_one_series(monkeypatch: pytest.MonkeyPatch):
    one = ConnectionStatus("other", "Out:0", "flights", "In", 0, True, 1, 10, 2, None)
    link = ImportStatus("In", 0, "x", (one, replace(one, lag_tuples=5, problem="gone")))
    samples = shown(monkeypatch, made_up(imports=(link,)))
    assert value(samples, "streams_import_lag_tuples", exporter="other") == 15
    assert value(samples, "streams_import_lost_tuples_total") == 4
    assert value(samples, "streams_import_connected") == 0


def test_values_of_labels_are_escaped(monkeypatch: pytest.MonkeyPatch):
    snapshot = made_up(application='a"b\\c\nd')
    samples = shown(monkeypatch, snapshot)
    assert value(samples, "streams_application_measured", application='a"b\\c\nd') == 1


@pytest.mark.parametrize("kind", [CatalogUnavailableError, StorageSettingError])
def test_a_catalog_that_is_away_is_said_to_be(
    monkeypatch: pytest.MonkeyPatch, home: Home, kind: type[StreamsRuntimeError]
):
    def away(_home: Home, _application: str | None) -> Snapshot:
        message = "the catalog is away"
        raise kind(message)

    monkeypatch.setattr(prometheus, "read_snapshot", away)
    assert samples_of(read_metrics_text(home)[0].decode()) == {(UP.name, frozenset()): 0.0}


def test_one_application_is_exposed_alone(home: Home):
    samples = samples_of(read_metrics_text(home, application="app")[0].decode())
    assert value(samples, "streams_application_measured", application="app") == 1
    assert samples_of(read_metrics_text(home, application="none")[0].decode()) == {(UP.name, frozenset()): 0.0}


def test_a_state_directory_without_applications_has_a_disk(tmp_path: Path):
    samples = samples_of(read_metrics_text(Home(tmp_path / "none" / "yet"))[0].decode())
    assert value(samples, "streams_state_directory_free_bytes") > 0
    assert not Catalog(Home(tmp_path / "none" / "yet")).exists
