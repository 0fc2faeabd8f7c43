"""The words in which the outcome of a redeploy is shown."""

from __future__ import annotations

from streams_orchestration.compiler.redeployment.comparison import outcome_rows
from streams_orchestration.compiler.redeployment.outcome import OperatorAction, Redeployment, RunTimeNumbers


def outcome(*operators: OperatorAction) -> Redeployment:
    return Redeployment("app", "a", "b", (), operators, (), RunTimeNumbers({}, {}, {}))


def dropped(operator: str, reason: str) -> OperatorAction:
    return OperatorAction(operator, "dropped", 1, 10, reason, operator, lossy=True)


def kept(operator: str) -> OperatorAction:
    return OperatorAction(operator, "kept", 1, 10, "", operator)


def test_a_reason_of_several_replicas_is_written_once():
    lossy = outcome(dropped("P[0]", "another window"), dropped("P[1]", "another window"), dropped("Q", "another key"))
    assert lossy.losses == "\n  P ×2: another window\n  Q: another key"


def test_operators_are_others_only_beside_changed_ones():
    assert [row[1] for row in outcome_rows(outcome(kept("A"), kept("B")))] == ["all 2"]
    assert [row[1] for row in outcome_rows(outcome(dropped("A", "x"), kept("B")))] == ["A", "1 other"]


def test_an_operator_whose_parameters_change_is_named_with_them():
    changed = kept("A")._replace(reason="it stays in PE 0", changed=("filter", "onError"))
    row, others = outcome_rows(outcome(changed, kept("B")))
    assert row[1:3] == ("A", "kept")
    assert row[-1] == "it stays in PE 0; its parameters filter, onError change"
    assert others[1] == "1 other"
