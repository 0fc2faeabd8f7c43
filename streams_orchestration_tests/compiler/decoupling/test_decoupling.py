"""Decisions against exhaustive enumeration: the worked cases, and problems made up by chance."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, assume, example, given
from hypothesis import strategies as st

from streams_orchestration.compiler.decoupling.legality import violations
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration_tests.compiler.decoupling.enumeration import Enumeration, relabelled
from streams_orchestration_tests.compiler.decoupling.problems import decided, problems
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.specs import CASES

WORKED: dict[str, dict[str, Any]] = {
    case["name"]: case for case in yaml.safe_load((CASES / "decoupling.yaml").read_text(encoding="utf-8"))["cases"]
}
KEYS = {
    *("objective", "bound", "gap", "loads", "execAt", "outputTo", "newNetworks", "hops", "predictedSpeedup"),
    *("solver", "seconds"),
}


def pinned(case: dict[str, Any]) -> bool:
    return any("pin" in op for op in case["ops"])


def labels_aside(loads: Any, case: dict[str, Any]) -> list[float]:
    return list(loads) if pinned(case) else sorted(loads)


@pytest.mark.parametrize("case", WORKED.values(), ids=WORKED)
def test_enumeration_finds_what_a_case_expects(case: dict[str, Any]):
    best = Enumeration(case).best()
    expect = case["expect"]
    assert best[0].objective == pytest.approx(expect["objective"], abs=1e-5)
    actual = [labels_aside(each.loads, case) for each in best]
    assert any(each == pytest.approx(labels_aside(expect["loads"], case)) for each in actual)
    if "exec_at" in case:
        places = [relabelled(each.execute, pinned(case)) for each in best]
        assert relabelled(case["exec_at"], pinned(case)) in places


@pytest.mark.parametrize("case", WORKED.values(), ids=WORKED)
def test_a_worked_case(case: dict[str, Any]):
    answer = decided(case).document()
    expect = case["expect"]
    assert set(answer) == KEYS | ({"machines"} if "machine_budget" in case["params"] else set())
    assert answer["solver"] == "highs"
    assert answer["objective"] == pytest.approx(expect["objective"], abs=1e-5)
    assert answer["gap"] == 0.0
    assert answer["bound"] == answer["objective"]
    assert labels_aside(answer["loads"], case) == pytest.approx(labels_aside(expect["loads"], case), abs=1e-6)
    for key, name in (("hops", "hops"), ("newNetworks", "new_networks")):
        if name in expect:
            assert answer[key] == expect[name]
    if "predicted_speedup" in expect:
        assert answer["predictedSpeedup"] == pytest.approx(expect["predicted_speedup"], abs=1e-4)
    if "machines" in expect:
        assert answer["machines"] == {str(group): count for group, count in expect["machines"].items()}
    for key, name in (("execAt", "exec_at"), ("outputTo", "output_to")):
        if name in case:
            places = {str(each): machine for each, machine in case[name].items()}
            assert relabelled(answer[key], pinned(case)) == relabelled(places, pinned(case))


REACHED_AT_ONCE = {
    "params": {"k": 3, "ser_per_item": 4.252936, "deser_per_item": 3, "tee": "each", "freeze_edb": True},
    "ops": [
        {"id": 3, "kind": "net_send", "cpu": 11.014, "parents": [0, 1, 2], "tick": "t"},
        {"id": 0, "kind": "net_recv", "cpu": 47.82, "recv_cpu": 49.188, "card": 1, "pin": 0, "tick": "u"},
        {"id": 1, "kind": "tee", "cpu": 8.671, "parents": [0], "card": 1},
        {"id": 2, "kind": "op", "cpu": 9.972, "parents": [0], "card": 29.935, "bytes": 100},
        {"id": 6, "kind": "source", "cpu": 28.38, "pin": 2},
        {"id": 4, "kind": "op", "cpu": 38.226, "parents": [2], "card": 18.397},
        {"id": 5, "kind": "net_recv", "cpu": 48.811, "recv_cpu": 5.942, "card": 30.379},
    ],
}
"""A search finds a largest load that no decision is below, but not the least sum."""


NEXT_TO_NOTHING = {
    "params": {"k": 2, "ser_per_item": 1e6, "deser_per_item": 1, "tee": "each"},
    "ops": [
        {"id": 0, "kind": "source", "cpu": 1e-308, "card": 1e-9},
        {"id": 1, "kind": "net_self", "cpu": 1e-308, "parents": [0], "bytes": 0.5},
    ],
}
"""Loads that a scale makes infinite."""


@examples(60, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(st.sampled_from([2, 3]).flatmap(problems))
@example(document=REACHED_AT_ONCE)
@example(document=NEXT_TO_NOTHING)
def test_no_decision_is_better(document: dict[str, Any]):
    enumeration = Enumeration(document)
    assume(enumeration.size <= 1100)
    best = enumeration.best()
    if not best:
        with pytest.raises(ApplicationError) as failure:
            decided(document)
        assert {each.code for each in failure.value.diagnostics} <= {"SO0607", "SO0608"}
        return
    decision = decided(document)
    answer = decision.document()
    assert answer["objective"] == pytest.approx(best[0].objective, rel=1e-6, abs=1e-6)
    assert answer["bound"] == pytest.approx(best[0].objective, rel=1e-6, abs=1e-6)
    assert decision.evaluation.total == pytest.approx(best[0].total, rel=1e-6, abs=1e-6)
    assert list(violations(decision.flow, decision.outputs)) == []
    matching = [
        outcome
        for outcome in enumeration.legal()
        if {str(name): machine for name, machine in outcome.execute.items()} == answer["execAt"]
        and outcome.loads == pytest.approx(answer["loads"], abs=1e-6)
        and len(outcome.sends) == answer["hops"]
    ]
    assert matching, "the answer is none of the legal decisions, or costs something else"


SENDS_ONLY = {
    "params": {"k": 2, "ser_per_item": 0.5, "deser_per_item": 0.5, "tee": "exact"},
    "ops": [
        {"id": 1, "kind": "source", "cpu": 0, "card": 0, "pin": 0},
        {"id": 2, "kind": "net_self", "cpu": 0, "parents": [1], "recv_cpu": 0, "pin": 1},
    ],
}
"""Operators that take nothing: all load is that of sends."""


@examples(30, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])
@given(st.sampled_from([2, 3, 7]).flatmap(lambda machines: problems(machines, most=25)))
@example(document=SENDS_ONLY)
def test_a_search_alone_is_legal_and_no_worse_than_everything_together(document: dict[str, Any]):
    try:
        decision = decided(document, solver="search", seconds=0.2)
    except ApplicationError as failure:
        assert {each.code for each in failure.diagnostics} <= {"SO0607", "SO0608", "SO0609"}
        return
    assert list(violations(decision.flow, decision.outputs)) == []
    assert decision.bound <= decision.evaluation.objective
    if not decision.flow.apart and not any(each.pin is not None for each in decision.flow.nodes):
        epsilon = decision.flow.params.lex_epsilon
        total = sum(op.get("cpu", 0) + op.get("recv_cpu", 0) for op in document["ops"])
        assert decision.evaluation.objective <= total * (1 + epsilon) + 1e-9
        assert decision.predicted_speedup >= 1 - 1e-9
