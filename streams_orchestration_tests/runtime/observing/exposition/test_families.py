"""The table of metrics: names, kinds and units follow the conventions, and the page has them all."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

from streams_orchestration.runtime.observing.exposition.families import all_families
from streams_orchestration.runtime.observing.metrics import CustomMetric
from streams_orchestration.runtime.observing.snapshots import ObservedApplication
from streams_orchestration_tests.cli.made_up import metrics, operator_metrics, status
from streams_orchestration_tests.generated import metrics_page
from streams_orchestration_tests.runtime.observing.exposition.samples import made_up

ROOT = Path(__file__).parents[4]


def test_each_name_stands_once_and_follows_the_conventions():
    families = all_families()
    assert [name for name, times in Counter(family.base for family in families).items() if times > 1] == []
    for family in families:
        assert re.fullmatch(r"streams(_[a-z]+)+", family.name), family.name
        assert family.name.endswith("_total") == (family.kind == "counter"), family.name
        assert not re.search(r"_(ns|ms|milliseconds|kb|mb|percent|rate|count)(_|$)", family.name), family.name
        assert not {"epoch", "error", "cause", "batch", "generation", "pid", "life"} & set(family.labels), family.name
        assert len(set(family.labels)) == len(family.labels)


def test_own_metrics_have_the_kind_that_their_operator_gave_them():
    names = {"lag": "counter", "dropped": "gauge", "other": "counter"}
    custom = tuple(CustomMetric(name, kind, 3, "") for name, kind in names.items())  # type: ignore[arg-type]
    observed = ObservedApplication(status(), metrics(operators=(operator_metrics("Op", custom=custom),)), ())
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


def test_units_are_those_of_opentelemetry():
    units = {family.base: family.unit for family in all_families()}
    assert units["streams_operator_cpu_seconds"] == "s"
    assert units["streams_operator_state_bytes"] == "By"
    assert units["streams_operator_input_bytes"] == "By"
    assert units["streams_unit_resets"] == ""


def test_the_page_has_every_name():
    written = metrics_page.tables()
    assert all(f"`{family.name}`" in written for family in all_families())
