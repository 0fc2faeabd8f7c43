"""Metrics for Prometheus: a snapshot of the catalog as the text of a scrape."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.errors.errors import UNREADABLE, NotDeployedError
from streams_orchestration.runtime.observing.exposition.families import UP, all_families
from streams_orchestration.runtime.observing.exposition.family import Family, Sample
from streams_orchestration.runtime.observing.snapshots import read_snapshot
from streams_orchestration.runtime.storage.home import Home

log = logging.getLogger("streams.metrics")


class SnapshotCollector(Collector):
    """The collector that reads the catalog at every scrape, for all applications or one."""

    def __init__(self, home: Home, application: str | None = None) -> None:
        self.home = home
        self.application = application

    def describe(self) -> Iterable[Metric]:
        """Return nothing, so that registering the collector does not read the catalog."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield all families.

        If the catalog or application cannot be read, log why, and yield only `streams_catalog_up` with 0.
        """
        try:
            snapshot = read_snapshot(Catalog(self.home), self.application)
        except (*UNREADABLE, NotDeployedError) as error:
            log.warning("%s", error)
            yield _metric(UP, [((), 0.0)])
            return
        for family in all_families():
            yield _metric(family, family.samples(snapshot))


def read_metrics_text(home: Home, accept: str = "", application: str | None = None) -> tuple[bytes, str]:
    """Read the catalog, and return the response to a scrape; without a readable catalog, see `collect`.

    Args:
        home: the state directory.
        accept: the request's Accept header. The format is Prometheus' text format unless it asks for OpenMetrics.
        application: the only application to expose; None for all.

    Returns:
        The text and its content type.
    """
    try:
        encode, content_type = choose_encoder(accept)
    except (TypeError, ValueError):  # the header has a malformed version
        encode, content_type = choose_encoder("")
    registry = CollectorRegistry()  # without the metrics of this process
    registry.register(SnapshotCollector(home, application))
    return encode(registry), content_type


def _metric(family: Family, samples: Iterable[Sample]) -> Metric:
    make = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    about = family.about[0].upper() + family.about[1:]
    metric = make(family.base, f"{about}.", labels=family.labels)
    for labels, value in samples:
        metric.add_metric(labels, value)
    return metric
