"""Operators are known over redeploys by a uid, or by the full logical name."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.compiler.logical.logical import build_logical_graph
from streams_orchestration.compiler.options import Options
from streams_orchestration_tests.compiler.invocations import SOURCE, built, call
from streams_orchestration_tests.specs import graph


def identities(*invocations: dict[str, Any], **composites: list[dict[str, Any]]) -> list[str]:
    parts = {name: {"inputs": ["In"], "outputs": ["B"], "graph": inner} for name, inner in composites.items()}
    return [each.identity for each in built(graph(SOURCE, *invocations, composites=parts)).operators][1:]


B = call("B", "Work", ["In"])
CASES = {
    "without one it is the full name": ([call("Out", "Comp", ["Src"])], {"Comp": [B]}, ["Out.B"]),
    "that of the operator": ([call("New", "Work", ["Src"], uid="old")], {}, ["old"]),
    "a former full name": ([call("New", "Work", ["Src"], uid="Out.B")], {}, ["Out.B"]),
    "one in a composite is not that of the composite": (
        [call("Out", "Comp", ["Src"])],
        {"Comp": [{**B, "uid": "counts"}]},
        ["counts"],
    ),
    "a composite's stands for its name": ([call("Out", "Comp", ["Src"], uid="c")], {"Comp": [B]}, ["c.B"]),
    "the innermost composite's counts": (
        [call("Out", "Outer", ["Src"], uid="o")],
        {"Outer": [call("N", "Inner", ["In"], outputs=["B"], uid="n")], "Inner": [B]},
        ["n.B"],
    ),
    "names stand between it and the operator": (
        [call("Out", "Outer", ["Src"], uid="o")],
        {"Outer": [call("N", "Inner", ["In"], outputs=["B"])], "Inner": [B]},
        ["o.N.B"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_identity_of_an_operator_is_its_uid_or_its_full_logical_name(case: str):
    invocations, composites, expected = CASES[case]
    assert identities(*invocations, **composites) == expected


DOUBLE = {
    "two uids": ([call("A", "Work", ["Src"], uid="x"), call("B", "Work", ["Src"], uid="x")], [], "that of A", "B"),
    "a uid and a name": ([call("A", "Work", ["Src"]), call("B", "Work", ["Src"], uid="A")], [], "the name of A", "B"),
    "a name that comes later": (
        [call("B", "Work", ["Src"], uid="A"), call("A", "Work", ["Src"])], [], "the name of A", "B",
    ),
    "a composite that is used twice": (
        [call("P", "Comp", ["Src"]), call("Q", "Comp", ["Src"])], [{**B, "uid": "x"}], "that of P.B", "Q.B",
    ),
    "an Export": ([call("A", "Work", ["Src"], uid="x"), call("E", "Export", ["A"], uid="x")], [], "that of A", "E"),
}  # fmt: skip


@pytest.mark.parametrize("case", DOUBLE)
def test_two_operators_are_not_known_by_the_same(case: str):
    invocations, inner, words, operator = DOUBLE[case]
    composites = {"Comp": {"inputs": ["In"], "outputs": ["B"], "graph": inner}} if inner else {}
    _, diagnostics = build_logical_graph(graph(SOURCE, *invocations, composites=composites), Options())
    (actual,) = (each for each in diagnostics if each.severity == "error")
    assert (actual.code, actual.operator) == ("SO0114", operator)
    assert words in actual.message


def test_an_operator_may_have_its_own_name_as_its_uid():
    assert identities(call("A", "Work", ["Src"], uid="A")) == ["A"]
