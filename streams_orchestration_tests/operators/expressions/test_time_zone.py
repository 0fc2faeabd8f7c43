"""All expressions of an operator are in the time zone of the application."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from streams_orchestration.operators.expressions.expression import noted
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.inputs.failed_tuples import ExpressionParameters
from streams_orchestration.operators.standard import STANDARD
from streams_orchestration.operators.testing import OperatorHarness

CASES: list[dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parents[2] / "cases" / "time_zones.yaml").read_text(encoding="utf-8")
)


def canonical_texts(case: dict[str, Any], zone: str) -> list[str]:
    """Return the canonical texts of all expressions that an operator reads when it is checked and set up."""
    kind = import_operator(STANDARD[case["operator"]])
    with noted() as notes:
        OperatorHarness(kind, case["in"], case["out"], parameters=case["parameters"], time_zone=zone)
    return [note.canonical for note in notes]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["operator"])
def test_expressions_are_in_the_time_zone_of_the_application(case: dict[str, Any]):
    utc, berlin = (canonical_texts(case, zone) for zone in ("UTC", "Europe/Berlin"))
    assert not any("/*" in text for text in utc)
    zoned = {text for text in berlin if "/* Europe/Berlin */" in text}
    taken_over = {"day"} if any("day date" in each for each in case["in"]) else set[str]()
    assert zoned
    assert set(berlin) - zoned <= taken_over


def test_there_is_a_case_for_every_operator_with_expressions():
    with_expressions = {
        name for name, kind in STANDARD.items() if issubclass(import_operator(kind).Parameters, ExpressionParameters)
    }
    assert with_expressions <= {case["operator"] for case in CASES}


def test_clocks_are_those_of_the_zone():
    functor = import_operator(STANDARD["Functor"])
    output = {"hour": "hour(at)", "day": "CAST(at AS DATE)", "text": "CAST(at AS STRING)"}
    harness = OperatorHarness(
        functor, ["at timestamp"], ["hour int, day date, text string"], parameters={"output": output},
        time_zone="Europe/Berlin",
    )  # fmt: skip
    rows = harness.send([("2024-07-01T23:30:00Z",)]).rows()
    assert [(hour, str(day), text) for hour, day, text in rows] == [(1, "2024-07-02", "2024-07-02 01:30:00")]
