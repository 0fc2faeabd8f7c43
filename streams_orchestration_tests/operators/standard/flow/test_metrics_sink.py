"""MetricsSink: the last values of tuples are metrics, and go back with a reset."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.flow.metrics_sink import MetricsSink
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration_tests.examples import examples

ROW = "n bigint, x double, s string"


def sink(**parameters: Any) -> OperatorHarness:
    return OperatorHarness(MetricsSink, [ROW], parameters=parameters)


@given(batches=st.lists(st.lists(st.none() | st.integers(-9, 9), max_size=4), max_size=6), restarts=st.booleans())
@examples(60)
def test_a_metric_is_the_last_value(batches: list[list[Any]], restarts: bool):
    harness = sink(metrics=["n", "x * 2"], names=["now", "twice"], initialValues=[7, 0.5])
    wanted: dict[str, float] = {"now": 7, "twice": 0.5}
    for batch in batches:
        harness.send([(each, each, "") for each in batch])
        for each in batch:
            wanted = wanted if each is None else {"now": each, "twice": each * 2.0}
        if restarts:
            harness.restart()
        assert harness.metrics == wanted
    assert harness.reset().metrics == {"now": 7, "twice": 0.5}


def test_a_reset_to_a_cut_shows_what_was_shown_then():
    harness = sink(metrics="n").send([(1, 0.0, "")])
    cut = harness.checkpoint()
    assert harness.send([(2, 0.0, "")]).restart(cut).metrics == {"n": 1}


def test_a_gauge_without_a_finite_number_is_bad_data():
    with pytest.raises(DataError, match="metric x: a gauge must be a finite number"):
        sink(metrics="x").send([(1, float("inf"), "")])


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no metric": ({"metrics": []}, "1 to 64 expressions"),
    "an expression without a name": ({"metrics": "n + 1"}, "'n . 1' is not a name of a metric"),
    "names for some": ({"metrics": ["n", "x"], "names": "n"}, "names: one entry for each of the 2 metrics"),
    "descriptions for some": ({"metrics": ["n", "x"], "descriptions": ["a"]}, "descriptions: one entry for each"),
    "values for some": ({"metrics": ["n", "x"], "initialValues": 1}, "initialValues: one entry for each"),
    "a name twice": ({"metrics": ["n", "x"], "names": ["a", "a"]}, "two metrics have the same name"),
    "a text": ({"metrics": "s"}, "'s' is .*string.*, but a number is expected"),
    "an attribute that is not there": ({"metrics": "m"}, "uses the attribute m"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_parameters_of_a_metrics_sink_are_refused(case: str):
    parameters, message = WRONG[case]
    with pytest.raises(ValueError, match=message):
        sink(**parameters)
