"""Metrics for OpenTelemetry: instruments that read the last snapshot, sent by OTLP over HTTP.

The SDK's environment variables apply: `OTEL_EXPORTER_OTLP_ENDPOINT`, `OTEL_EXPORTER_OTLP_HEADERS`,
`OTEL_METRIC_EXPORT_INTERVAL`, `OTEL_RESOURCE_ATTRIBUTES` and others. This module needs the extra `otlp`.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Iterator
from importlib.metadata import version
from typing import TYPE_CHECKING

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import MeterProvider, ObservableCounter, ObservableGauge
from opentelemetry.sdk.metrics.export import (
    CardinalityLimits,
    MetricExporter,
    MetricReader,
    PeriodicExportingMetricReader,
)

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import UNREADABLE
from streams_orchestration.runtime.observing.exposition.families import UP, all_families
from streams_orchestration.runtime.observing.exposition.family import Family
from streams_orchestration.runtime.observing.snapshots import Snapshot, read_snapshot
from streams_orchestration.runtime.storage.home import Home

if TYPE_CHECKING:
    from opentelemetry.metrics import Meter

log = logging.getLogger("streams.metrics")
INTERVAL = "OTEL_METRIC_EXPORT_INTERVAL"
USUAL_INTERVAL = 60_000
"""Default interval of the SDK, in milliseconds."""
MOST_SERIES = 1_000_000
"""The most series of one metric. The SDK's default of 2,000 is too small for an application with more operators."""


class SnapshotSender:
    """The sender of snapshots, one after another. The SDK keeps state that backends need across snapshots."""

    def __init__(self, home: Home, exporter: MetricExporter | None = None) -> None:
        """Create the instruments; `exporter` replaces the default exporter, which sends OTLP over HTTP.

        Set `OTEL_SERVICE_NAME` to `streams` in this process, unless it is set.
        """
        self.home = home
        self._snapshot: Snapshot | None = None
        os.environ.setdefault("OTEL_SERVICE_NAME", "streams")
        self._provider = MeterProvider([_reader(exporter)])
        meter = self._provider.get_meter("streams_orchestration", version("streams-orchestration"))
        for family in all_families():
            self._instrument(meter, family)

    def send(self) -> None:
        """Read the catalog and send the metrics.

        If the catalog cannot be read, log why, and send only `streams_catalog_up` with 0.
        """
        try:
            self._snapshot = read_snapshot(Catalog(self.home))
        except UNREADABLE as error:
            log.warning("%s", error)
            self._snapshot = None
        self._provider.force_flush()

    def close(self) -> None:
        """Disconnect without sending anything more."""
        self._snapshot = None
        self._provider.shutdown()

    def _instrument(self, meter: Meter, family: Family) -> None:
        make = meter.create_observable_counter if family.kind == "counter" else meter.create_observable_gauge
        make(family.base, [self._callback(family)], unit=family.unit, description=family.about)

    def _callback(self, family: Family) -> Callable[[CallbackOptions], Iterator[Observation]]:
        def observe(_options: CallbackOptions) -> Iterator[Observation]:
            if self._snapshot is None:
                if family is UP:
                    yield Observation(0.0)
                return
            for labels, value in family.samples(self._snapshot):
                yield Observation(value, dict(zip(family.labels, labels, strict=True)))

        return observe


def read_interval_seconds() -> float:
    """Return the seconds between two snapshots, from `OTEL_METRIC_EXPORT_INTERVAL`; 60 if it is not set or empty.

    Raises:
        ValueError: the variable is not a number of milliseconds above 0.
    """
    text = os.environ.get(INTERVAL, "") or str(USUAL_INTERVAL)
    try:
        milliseconds = float(text)
    except ValueError:
        milliseconds = math.nan
    if not 0 < milliseconds < math.inf:
        message = f"{INTERVAL} is {text!r}; a number of milliseconds above 0 is expected, such as 15000"
        raise ValueError(message)
    return milliseconds / 1000


def _reader(exporter: MetricExporter | None) -> MetricReader:
    """Return a reader that collects only when `send` flushes it, so that each snapshot is sent once.

    Up to `MOST_SERIES` series of an instrument are sent. Without an exporter, they go over HTTP in OTLP.
    """
    if exporter is None:
        from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

        exporter = OTLPMetricExporter()
    limits: CardinalityLimits = {ObservableCounter: MOST_SERIES, ObservableGauge: MOST_SERIES}
    return PeriodicExportingMetricReader(exporter, export_interval_millis=math.inf, cardinality_limits=limits)
