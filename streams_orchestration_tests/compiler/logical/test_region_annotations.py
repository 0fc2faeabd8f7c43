"""Consistent and autonomous annotations: their order and values."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration_tests.compiler.invocations import SOURCE, SUBMISSION, built, call
from streams_orchestration_tests.specs import codes, graph, logical

CONSISTENT = {
    "consistent": {"trigger": "periodic", "period": "${x}", "drainTimeout": 5, "maxConsecutiveResetAttempts": "${n}"}
}


def test_annotations_in_the_order_of_the_walk() -> None:
    """A composite's own, then nested composites, then its primitives (A13)."""
    driven = {"consistent": {"trigger": "operatorDriven"}}
    composites = {
        "Comp": {
            "outputs": ["P"],
            "graph": [
                call("P", "Source", (), annotations=driven),
                call("N", "Nested", (), annotations={"autonomous": True}),
            ],
        },
        "Nested": {"graph": [call("Q", "Source", (), annotations=CONSISTENT)]},
    }
    application = graph(
        call("A", "Source", (), annotations=driven),
        call("C", "Comp", (), annotations=driven),
        composites=composites,
        submission={name: SUBMISSION[name] for name in ("n", "x")},
    )
    actual = built(application).annotations
    assert [(each.kind, each.scope, each.composite) for each in actual] == [
        ("consistent", "C", True),
        ("autonomous", "C.N", True),
        ("consistent", "C.N.Q", False),
        ("consistent", "C.P", False),
        ("consistent", "A", False),
    ]
    assert actual[2].values == {"period": 2.0, "drainTimeout": 5.0, "maxConsecutiveResetAttempts": 3}
    assert actual[2].submission == {"period": "x", "maxConsecutiveResetAttempts": "n"}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"period": 0}, ["SO0401"]),
        ({"period": -1.5, "drainTimeout": 0.0, "resetTimeout": -1}, ["SO0401"] * 3),
        ({"period": 1, "maxConsecutiveResetAttempts": 0}, ["SO0401"]),
        ({"period": 1, "restart": {"pause": 0, "limit": -1}}, ["SO0401"] * 2),
        ({"period": 1, "restart": {"pause": "${s}"}}, ["CDISP0811E"]),
        ({"period": 1, "restart": {"pause": "${x}", "limit": 60}}, []),
        ({"period": 1, "restart": {}}, []),
        ({"period": "${s}"}, ["CDISP0811E"]),
        ({"period": 1, "maxConsecutiveResetAttempts": "${x}"}, ["CDISP0811E"]),
        ({"period": "${getChannel()}"}, ["CDISP0682E"]),
        ({"period": "${q}"}, ["SO0201"]),
        ({"period": "${n}"}, []),
    ],
)
def test_values_of_annotations_are_checked(values: dict[str, Any], expected: list[str]) -> None:
    annotation = {"consistent": {"trigger": "periodic", **values}}
    names = {name: SUBMISSION[name] for name in ("n", "x", "s")}
    _, diagnostics = logical(graph({**SOURCE, "annotations": annotation}, submission=names))
    assert codes(diagnostics) == expected
