"""OpenTelemetry gets the same metrics as Prometheus, as long as there are any to send."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry.sdk.metrics.export import (
    Gauge,
    Metric,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    Sum,
)

from streams_orchestration.runtime.errors.errors import (
    CatalogUnavailableError,
    StorageSettingError,
    StreamsRuntimeError,
)
from streams_orchestration.runtime.observing.exposition import opentelemetry
from streams_orchestration.runtime.observing.exposition.families import UP, all_families
from streams_orchestration.runtime.observing.exposition.opentelemetry import SnapshotSender, read_interval_seconds
from streams_orchestration.runtime.observing.snapshots import ObservedApplication, Snapshot
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.cli.made_up import metrics, operator_metrics, status
from streams_orchestration_tests.runtime.observing.exposition.samples import Samples, made_up, samples_of


class Received(MetricExporter):
    """An exporter that keeps the metrics sent last."""

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
def sender(home: Home, received: Received) -> Iterator[SnapshotSender]:
    made = SnapshotSender(home, received)
    yield made
    made.close()


def test_opentelemetry_gets_the_same(sender: SnapshotSender, received: Received, text: str):
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


@pytest.mark.parametrize("kind", [CatalogUnavailableError, StorageSettingError])
def test_opentelemetry_hears_that_the_catalog_is_away(
    monkeypatch: pytest.MonkeyPatch, sender: SnapshotSender, received: Received, kind: type[StreamsRuntimeError]
):
    def away(_home: Home) -> Snapshot:
        message = "the catalog is away"
        raise kind(message)

    sender.send()
    monkeypatch.setattr(opentelemetry, "read_snapshot", away)
    sender.send()
    assert received.samples == {(UP.base, frozenset()): 0.0}


@pytest.mark.slow
def test_metrics_of_a_large_application_are_all_sent(
    monkeypatch: pytest.MonkeyPatch, sender: SnapshotSender, received: Received
):
    many = metrics(operators=tuple(operator_metrics(f"Op{number}") for number in range(3000)))
    large = replace(made_up(), applications=(ObservedApplication(status(), many, ()),))
    monkeypatch.setattr(opentelemetry, "read_snapshot", lambda _catalog: large)
    sender.send()
    names = Counter(name for name, _ in received.samples)
    assert names["streams_operator_calls"] == names["streams_operator_state_bytes"] == 3000


@pytest.mark.parametrize(("text", "seconds"), [("", 60.0), ("15000", 15.0), ("500.5", 0.5005)])
def test_the_interval_is_the_one_that_the_sdk_knows(monkeypatch: pytest.MonkeyPatch, text: str, seconds: float):
    monkeypatch.setenv(opentelemetry.INTERVAL, text)
    assert read_interval_seconds() == seconds


@pytest.mark.parametrize("text", ["soon", "0", "-1", "inf", "nan"])
def test_an_interval_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, text: str):
    monkeypatch.setenv(opentelemetry.INTERVAL, text)
    with pytest.raises(ValueError, match="number of milliseconds above 0"):
        read_interval_seconds()
