"""Made-up outcomes of redeploys."""

from __future__ import annotations

from streams_orchestration.compiler.redeployment.outcome import OperatorAction, Redeployment, RunTimeNumbers, UnitAction

KEPT = OperatorAction("Source", "kept", 0, 0, "it stays in PE 0", "Source")
MOVED = OperatorAction("Out", "moved", 1, 20, "from PE 0 to PE 1", "Out")
LOST = OperatorAction("New[0]", "refused", 3, 40, "state of New is gone", "New[0]", remedy="Leave that as it is")


def outcome(*operators: OperatorAction, units: int = 1) -> Redeployment:
    actions = tuple(UnitAction(f"region-{number}", "restart") for number in range(units))
    return Redeployment("demo", "a", "b", actions, operators, (), RunTimeNumbers({}, {}, {}))
