"""Metrics for others: what they get is what the catalog says, in a form that Prometheus' own checkers take."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from opentelemetry.sdk.metrics.export import (
    Gauge,
    Metric,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    Sum,
)
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client.parser import text_string_to_metric_families

from streams_orchestration.operators import Operator, TupleBatch
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors import CatalogUnavailableError
from streams_orchestration.runtime.observing.exposition import opentelemetry, page, prometheus
from streams_orchestration.runtime.observing.exposition.families import UP, all_families
from streams_orchestration.runtime.observing.exposition.opentelemetry import Sender, interval_seconds
from streams_orchestration.runtime.observing.exposition.prometheus import metrics_text
from streams_orchestration.runtime.observing.metrics import CustomMetric
from streams_orchestration.runtime.observing.snapshots import Observed, Snapshot, read_snapshot
from streams_orchestration.runtime.observing.status import ConnectionStatus, ImportStatus
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.failures import failures
from streams_orchestration_tests.cli.made_up import NOW, host, metrics, operator_metrics, pe, sink, status, unit
from streams_orchestration_tests.runtime.applications import compiled, node, source, write_rows
from streams_orchestration_tests.runtime.applications import sink as sink_node
from streams_orchestration_tests.runtime.local import LocalApplication
from streams_orchestration_tests.servers.jars import NotToBeHadError
from streams_orchestration_tests.servers.promtool import promtool

ROOT = Path(__file__).parents[3]
ALERTS, DASHBOARD = ROOT / "docs" / "monitoring" / "alerts.yaml", ROOT / "docs" / "monitoring" / "dashboard.json"
COURSES = ROOT / "streams_orchestration_tests" / "cases" / "alerts.yaml"
COUNT = 60
Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


class Picky(Operator):
    """Drops even numbers, and has metrics of its own of which one has a name that the SDK uses for a counter."""

    def process(self, port: int, batch: TupleBatch) -> None:
        odd = batch.column("n") % 2 == 1
        self.context.metrics.dropped.add((~odd).sum())
        self.context.metrics.counter("odd").add(odd.sum())
        self.context.metrics.gauge("errors").set(0.5)
        self.context.metrics.lag(7, 1.5)
        self.submit(batch.filter(odd))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A state directory with an application that is complete."""
    directory = tmp_path_factory.mktemp("exposed")
    rows = write_rows(directory / "rows.parquet", COUNT)
    graph = [source("Rows", rows), node("Odd", f"{__name__}:Picky", "Rows"), sink_node("Out", "Odd")]
    application = LocalApplication(Home(directory / "home"), compiled(graph, fusion="legacy"), 25)
    application.run()
    return application.home


@pytest.fixture
def text(home: Home) -> str:
    return metrics_text(home)[0].decode()


@pytest.fixture
def tool() -> Path:
    try:
        return promtool()
    except NotToBeHadError as error:
        pytest.skip(str(error))


def samples_of(text: str) -> Samples:
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    keys = Counter((sample.name, frozenset(sample.labels.items())) for sample in found)
    assert [key for key, times in keys.items() if times > 1] == []
    return {(sample.name, frozenset(sample.labels.items())): sample.value for sample in found}


def value(samples: Samples, name: str, **labels: str) -> float:
    (actual,) = (number for (key, own), number in samples.items() if key == name and set(labels.items()) <= own)
    return actual


def made_up(**facts: Any) -> Snapshot:
    observed = status(**facts)
    return Snapshot(NOW, (Observed(observed, metrics(), failures(observed, NOW)),), (), 10, 100)


def shown(monkeypatch: pytest.MonkeyPatch, snapshot: Snapshot) -> Samples:
    monkeypatch.setattr(prometheus, "read_snapshot", lambda _home, _application: snapshot)
    return samples_of(metrics_text(Home(Path("/nowhere")))[0].decode())


def test_figures_are_those_of_the_catalog(home: Home, text: str):
    samples, (observed,) = samples_of(text), read_snapshot(home).applications
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


def test_each_name_stands_once_and_follows_the_conventions():
    families = all_families()
    assert [name for name, times in Counter(family.base for family in families).items() if times > 1] == []
    for family in families:
        assert re.fullmatch(r"streams(_[a-z]+)+", family.name), family.name
        assert family.name.endswith("_total") == (family.kind == "counter"), family.name
        assert not re.search(r"_(ns|ms|milliseconds|kb|mb|percent|rate|count)(_|$)", family.name), family.name
        assert not {"epoch", "error", "cause", "batch", "generation", "pid", "life"} & set(family.labels), family.name
        assert len(set(family.labels)) == len(family.labels)


def test_labels_are_those_that_the_family_declares(text: str):
    labels = {family.name: set(family.labels) for family in all_families()}
    seen = samples_of(text)
    assert len({name for name, _ in seen}) > 50
    for name, own in seen:
        assert {label for label, _ in own} == labels[name], name


def test_both_parsers_of_the_client_take_it(home: Home, text: str):
    openmetrics_text, content_type = metrics_text(home, "application/openmetrics-text; version=1.0.0")
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


def test_a_catalog_that_is_away_is_said_to_be(monkeypatch: pytest.MonkeyPatch, home: Home):
    def away(_home: Home, _application: str | None) -> Snapshot:
        message = "the catalog is away"
        raise CatalogUnavailableError(message)

    monkeypatch.setattr(prometheus, "read_snapshot", away)
    assert samples_of(metrics_text(home)[0].decode()) == {(UP.name, frozenset()): 0.0}


def test_one_application_is_exposed_alone(home: Home):
    samples = samples_of(metrics_text(home, application="app")[0].decode())
    assert value(samples, "streams_application_measured", application="app") == 1
    assert samples_of(metrics_text(home, application="none")[0].decode()) == {(UP.name, frozenset()): 0.0}


def test_a_state_directory_without_applications_has_a_disk(tmp_path: Path):
    samples = samples_of(metrics_text(Home(tmp_path / "none" / "yet"))[0].decode())
    assert value(samples, "streams_state_directory_free_bytes") > 0
    assert not Catalog(Home(tmp_path / "none" / "yet")).exists


class Received(MetricExporter):
    """What was sent last."""

    def __init__(self) -> None:
        super().__init__()
        self.metrics: list[Metric] = []

    def export(self, metrics_data: MetricsData, timeout_millis: float = 0, **kwargs: Any) -> MetricExportResult:
        scopes = [scope for resource in metrics_data.resource_metrics for scope in resource.scope_metrics]
        self.metrics = [metric for scope in scopes for metric in scope.metrics]
        return MetricExportResult.SUCCESS

    def force_flush(self, timeout_millis: float = 0) -> bool:
        return True

    def shutdown(self, timeout_millis: float = 0, **kwargs: Any) -> None:
        pass

    @property
    def samples(self) -> Samples:
        return {
            (
                metric.name,
                frozenset((name, str(label)) for name, label in (point.attributes or {}).items()),
            ): point.value
            for metric in self.metrics
            if isinstance(metric.data, Gauge | Sum)
            for point in metric.data.data_points
        }


@pytest.fixture
def received() -> Received:
    return Received()


@pytest.fixture
def sender(home: Home, received: Received) -> Iterator[Sender]:
    made = Sender(home, received)
    yield made
    made.close()


def test_opentelemetry_gets_the_same(sender: Sender, received: Received, text: str):
    sender.send()
    plain = {(name.removesuffix("_total"), labels): number for (name, labels), number in samples_of(text).items()}
    sent = received.samples
    assert sent.keys() == plain.keys()
    free = ("streams_state_directory_free_bytes", frozenset[tuple[str, str]]())
    for key in sent.keys() - {free}:
        assert sent[key] == pytest.approx(plain[key])
    monotonic = {each.name for each in received.metrics if isinstance(each.data, Sum) and each.data.is_monotonic}
    assert "streams_operator_calls" in monotonic
    assert monotonic <= {family.base for family in all_families() if family.kind == "counter"}
    assert {each.name: each.unit for each in received.metrics}["streams_operator_state_bytes"] == "By"


def test_units_are_those_of_opentelemetry():
    units = {family.base: family.unit for family in all_families()}
    assert units["streams_operator_cpu_seconds"] == "s"
    assert units["streams_operator_state_bytes"] == "By"
    assert units["streams_operator_input_bytes"] == "By"
    assert units["streams_unit_resets"] == ""


def test_opentelemetry_hears_that_the_catalog_is_away(
    monkeypatch: pytest.MonkeyPatch, sender: Sender, received: Received
):
    def away(_home: Home) -> Snapshot:
        message = "the catalog is away"
        raise CatalogUnavailableError(message)

    sender.send()
    monkeypatch.setattr(opentelemetry, "read_snapshot", away)
    sender.send()
    assert received.samples == {(UP.base, frozenset()): 0.0}


def test_metrics_of_a_large_application_are_all_sent(
    monkeypatch: pytest.MonkeyPatch, sender: Sender, received: Received
):
    many = metrics(operators=tuple(operator_metrics(f"Op{number}") for number in range(3000)))
    large = replace(made_up(), applications=(Observed(status(), many, ()),))
    monkeypatch.setattr(opentelemetry, "read_snapshot", lambda _home: large)
    sender.send()
    names = Counter(name for name, _ in received.samples)
    assert names["streams_operator_calls"] == names["streams_operator_state_bytes"] == 3000


@pytest.mark.parametrize(("text", "seconds"), [("", 60.0), ("15000", 15.0), ("500.5", 0.5005)])
def test_the_interval_is_the_one_that_the_sdk_knows(monkeypatch: pytest.MonkeyPatch, text: str, seconds: float):
    monkeypatch.setenv(opentelemetry.INTERVAL, text)
    assert interval_seconds() == seconds


@pytest.mark.parametrize("text", ["soon", "0", "-1", "inf", "nan"])
def test_an_interval_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv(opentelemetry.INTERVAL, text)
    with pytest.raises(ValueError, match="number of milliseconds above 0"):
        interval_seconds()


def test_the_page_has_the_families_that_there_are():
    written = (ROOT / page.PAGE).read_text()
    assert written == page.with_tables(written), "write it anew: make docs"
    assert all(f"`{family.name}`" in written for family in all_families())


def used(document: object) -> Iterator[str]:
    """Names of metrics in the expressions of a document."""
    if isinstance(document, dict):
        for key, inner in document.items():
            if key in ("expr", "query") and isinstance(inner, str):
                yield from re.findall(r"\bstreams_\w+", inner)
            else:
                yield from used(inner)
    elif isinstance(document, list):
        for inner in document:
            yield from used(inner)


@pytest.mark.parametrize("path", [ALERTS, DASHBOARD], ids=lambda path: path.name)
def test_metrics_that_are_used_exist(path: Path):
    names = set(used(yaml.safe_load(path.read_text())))
    assert len(names) > 10
    assert names <= {family.name for family in all_families()}


def test_panels_stand_beside_each_other():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    places = [tuple(panel["gridPos"][key] for key in ("x", "y", "w", "h")) for panel in panels]
    cells = Counter((x + dx, y + dy) for x, y, w, h in places for dx in range(w) for dy in range(h))
    assert max(cells.values()) == 1
    assert max(x for x, _ in cells) == 23
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_every_alert_is_in_the_page_and_has_a_course():
    rules = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
    names = [rule["alert"] for rule in rules]
    listed = re.findall(r"^\| `(Streams\w+)` \|", (ROOT / page.PAGE).read_text(), re.MULTILINE)
    courses = [each for test in yaml.safe_load(COURSES.read_text())["tests"] for each in test["alert_rule_test"]]
    assert listed == names
    assert {each["alertname"] for each in courses if each["exp_alerts"]} == set(names)
    assert {each["alertname"] for each in courses if not each["exp_alerts"]} == set(names)
    assert all(rule["annotations"].keys() == {"summary", "description"} for rule in rules)


@pytest.mark.slow
def test_promtool_takes_the_alerts_and_they_fire_when_they_should(tool: Path, tmp_path: Path):
    done = subprocess.run([tool, "check", "rules", str(ALERTS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    rules = yaml.safe_load(ALERTS.read_text())
    for rule in rules["groups"][0]["rules"]:
        del rule["annotations"]
    (tmp_path / "alerts-under-test.yaml").write_text(yaml.safe_dump(rules))
    (tmp_path / COURSES.name).write_text(COURSES.read_text())
    command = [tool, "test", "rules", COURSES.name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_own_metrics_have_the_kind_that_their_operator_gave_them():
    names = {"lag": "counter", "dropped": "gauge", "other": "counter"}
    custom = tuple(CustomMetric(name, kind, 3, "") for name, kind in names.items())  # type: ignore[arg-type]
    observed = Observed(status(), metrics(operators=(operator_metrics("Op", custom=custom),)), ())
    snapshot = replace(made_up(), applications=(observed,))
    actual = {
        (family.name, labels[-1]): number
        for family in all_families()
        if family.labels[-1:] == ("metric",)
        for labels, number in family.samples(snapshot)
    }
    assert actual == {
        ("streams_operator_custom_events_total", "lag"): 3,
        ("streams_operator_custom_value", "dropped"): 3,
        ("streams_operator_custom_events_total", "other"): 3,
    }
