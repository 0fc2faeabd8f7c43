"""What a redeploy does: to every unit and operator, and which states go where."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from streams_orchestration.compiler.redeployment.feeds import Feed

Verdict = Literal["unchanged", "kept", "lossy", "refused"]
_SENTENCES: Mapping[Verdict, str] = {
    "unchanged": "Nothing changes.",
    "kept": "All state is kept.",
    "lossy": "State is lost.",
    "refused": "This cannot be done with the state kept.",
}
UnitVerb = Literal["run on", "restart", "start", "stop"]
OperatorVerb = Literal["kept", "moved", "resharded", "added", "dropped", "refused"]


class UnitAction(NamedTuple):
    """What becomes of a unit of recovery."""

    unit: str
    """The name that it has while it runs, which one that stays keeps."""
    action: UnitVerb


class OperatorAction(NamedTuple):
    """What becomes of a physical operator and of its state."""

    operator: str
    """By its new name; one that goes by the name that it has."""
    action: OperatorVerb
    rows: int | None
    """Of its state before the redeploy; None where that is not known."""
    bytes: int | None
    reason: str
    former: str | None = None
    """The name that it goes by now; None of one that is new."""
    lossy: bool = False
    """State is lost."""
    remedy: str = ""
    """How to keep the state, or to lose it on purpose; empty when it is kept, or may be lost."""
    converted: str = ""
    """Attributes of its input that get a wider type wherever its state holds them, as `n from int to bigint`."""

    @property
    def text(self) -> str:
        """The reason, with what is converted and the remedy where there are such."""
        reason = (
            f"{self.reason}; what its state holds of its input is converted: {self.converted}"
            if self.converted
            else self.reason
        )
        return f"{reason}. {self.remedy}" if self.remedy else reason


class StatePlace(NamedTuple):
    """Where the state of a physical operator is."""

    pe: int
    """By the number that it has while it runs."""
    operator: str
    """Physical name."""


class RouteLevel(NamedTuple):
    """One splitter on the way to an input port."""

    feed: Feed
    width: int


class Routing(NamedTuple):
    """The splitters that decide which of several replicas a tuple goes to, outermost first, for every input port."""

    ports: tuple[tuple[RouteLevel, ...], ...]
    width: int
    """The number of replicas: the product of the widths."""


@dataclass(frozen=True, slots=True)
class StateMove:
    """States of replicas that go to other places together. Replicas are in the order of their channels."""

    sources: tuple[StatePlace, ...]
    targets: tuple[StatePlace, ...]
    before: Routing | None = None
    """How tuples went to the sources; None where each state goes on as it is, the first one to the first target."""
    after: Routing | None = None
    source: bool = False
    """It is the offset of a source."""


class Numbering(NamedTuple):
    """The numbers and names that parts of the new plan have while it runs: those that they had if they stay."""

    pes: Mapping[int, int]
    """In the new plan -> at run time."""
    hosts: Mapping[int, int]
    units: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Redeployment:
    """The difference of what is deployed and what is wanted."""

    application: str
    before: str
    """Fingerprint of what is deployed."""
    after: str
    units: tuple[UnitAction, ...]
    operators: tuple[OperatorAction, ...]
    """Those of the new plan in its order, then those that go."""
    moves: tuple[StateMove, ...]
    """Of all states that are kept but those that stay as they are, where they are."""
    numbering: Numbering
    allowed: frozenset[str] = field(default_factory=frozenset[str])
    """Operators, by their physical names, whose state may be lost."""
    predicted_seconds: float | None = None
    measured_seconds: float | None = None

    @property
    def verdict(self) -> Verdict:
        """What becomes of the whole application."""
        if any(each.action == "refused" for each in self.operators):
            return "refused"
        if any(each.lossy for each in self.operators):
            return "lossy"
        return "unchanged" if all(each.action == "run on" for each in self.units) else "kept"

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        return _SENTENCES[self.verdict]

    @property
    def formers(self) -> dict[str, str]:
        """Operator -> the name that it goes by now; of two that share a name it is that which goes on."""
        formers: dict[str, str] = {}
        for each in self.operators:
            if each.former is not None:
                formers.setdefault(each.operator, each.former)
        return formers

    @property
    def acceptable(self) -> bool:
        """It may be done: no state is lost but what may be."""
        lost = {each.operator for each in self.operators if each.lossy}
        return self.verdict != "refused" and lost <= self.allowed

    @property
    def losses(self) -> str:
        """What would be lost that may not be, and why: a line for each operator."""
        lost = [each for each in self.operators if each.action == "refused" or each.lossy]
        return "".join(f"\n  {each.operator}: {each.text}" for each in lost if each.operator not in self.allowed)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "application": self.application,
            "from": self.before,
            "to": self.after,
            "verdict": self.verdict,
            "units": [each._asdict() for each in self.units],
            "operators": [
                {
                    "operator": each.operator,
                    "action": each.action,
                    "rows": each.rows,
                    "bytes": each.bytes,
                    "reason": each.text,
                }
                for each in self.operators
            ],
            "pauseSeconds": {"predicted": self.predicted_seconds, "measured": self.measured_seconds},
        }
