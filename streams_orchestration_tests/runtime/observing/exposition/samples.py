"""Metrics as others read them, and moments that are made up."""

from __future__ import annotations

from collections import Counter
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from streams_orchestration.runtime.observing.snapshots import ObservedApplication, Snapshot
from streams_orchestration.runtime.units.failures import find_failures
from streams_orchestration_tests.cli.made_up import NOW, metrics, status

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]
"""Values by name and labels."""


def samples_of(text: str) -> Samples:
    """Return the samples of a text of Prometheus, each series once."""
    matches = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    keys = Counter((sample.name, frozenset(sample.labels.items())) for sample in matches)
    assert [key for key, times in keys.items() if times > 1] == []
    return {(sample.name, frozenset(sample.labels.items())): sample.value for sample in matches}


def value(samples: Samples, name: str, **labels: str) -> float:
    """Return the value of the one series with these labels, and maybe others."""
    (sample,) = (number for (key, own), number in samples.items() if key == name and set(labels.items()) <= own)
    return sample


def made_up(**facts: Any) -> Snapshot:
    """Return one application, by the facts of its status."""
    observed = status(**facts)
    return Snapshot(NOW, (ObservedApplication(observed, metrics(), find_failures(observed, NOW)),), (), 10, 100)
