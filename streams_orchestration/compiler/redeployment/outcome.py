"""The outcome of a redeploy: the changes of every unit and operator, and the moves of states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from streams_orchestration.compiler.redeployment.event_time import EventTimeChange, event_time_sentence
from streams_orchestration.compiler.redeployment.feeds import Feed
from streams_orchestration.model.brief import plural, short_list

Verdict = Literal["unchanged", "kept", "lossy", "refused"]
_SENTENCES: Mapping[Verdict, str] = {
    "unchanged": "Nothing changes.",
    "kept": "All state is kept.",
    "lossy": "State is lost.",
    "refused": "This change cannot keep the state.",
}
_SHOWN = 5
"""The most names in a sentence; further names are only counted."""
UnitVerb = Literal["run on", "restart", "start", "stop"]
OperatorVerb = Literal["kept", "moved", "resharded", "added", "dropped", "refused"]


class UnitAction(NamedTuple):
    """The change of a unit of recovery."""

    unit: str
    """The run-time name of the unit; an unchanged unit keeps its name."""
    action: UnitVerb

    @property
    def ends(self) -> bool:
        """True if the deployed unit ends at a cut, whether or not it starts again."""
        return self.action in ("restart", "stop")

    @property
    def begins(self) -> bool:
        """True if a unit of the new plan begins, after a cut or for the first time."""
        return self.action in ("restart", "start")


class OperatorAction(NamedTuple):
    """The change of a physical operator and of its state."""

    operator: str
    """The new name of the operator; for a removed operator, its old name."""
    action: OperatorVerb
    rows: int | None
    """The number of rows of the operator's state before the redeploy; None if unknown."""
    bytes: int | None
    """The bytes of that state; None if unknown."""
    reason: str
    former: str | None = None
    """The operator's deployed name; None for a new operator."""
    lossy: bool = False
    """True if the operator's state is lost."""
    remedy: str = ""
    """The way to keep the state, or to allow its loss; empty if it is kept or its loss is allowed."""
    converted: str = ""
    """The attributes of the operator's state that get a wider type, as `n from int to bigint`."""
    changed: tuple[str, ...] = ()
    """The names of its parameters that change, if the operator continues."""

    @property
    def text(self) -> str:
        """The reason of the action, followed by changed parameters, conversions and the remedy, if there are any."""
        reason = self.reason
        if self.changed:
            parameters = f"parameter{'s' * (len(self.changed) > 1)} {', '.join(self.changed)}"
            reason += f"; its {parameters} change{'s' * (len(self.changed) == 1)}"
        if self.converted:
            reason += f"; what its state holds of its input is converted: {self.converted}"
        return f"{reason}. {self.remedy}" if self.remedy else reason


class StatePlace(NamedTuple):
    """The place of the state of a physical operator."""

    pe: int
    """The run-time number of the PE."""
    operator: str
    """The physical name of the operator."""


class RouteLevel(NamedTuple):
    """One splitter on the way to an input port."""

    feed: Feed
    width: int


class StateRouting(NamedTuple):
    """For each input port, the splitters before it that choose among several replicas, outermost first."""

    ports: tuple[tuple[RouteLevel, ...], ...]
    width: int
    """The number of replicas: the product of the widths."""


@dataclass(frozen=True, slots=True)
class StateMove:
    """States of replicas that move together. Replicas are in the order of their channels."""

    sources: tuple[StatePlace, ...]
    targets: tuple[StatePlace, ...]
    before: StateRouting | None = None
    """The routing in the deployed plan; None if each state moves unchanged, the first one to the first target and so
    on."""
    after: StateRouting | None = None
    """The routing in the new plan; None if each state moves unchanged."""
    source: bool = False
    """True if the state is the offset of a source."""


class RunTimeNumbers(NamedTuple):
    """The run-time numbers and names of the parts of the new plan; parts that stay keep theirs."""

    pes: Mapping[int, int]
    """Number of a PE in the new plan -> its run-time number."""
    hosts: Mapping[int, int]
    """Number of a host in the new plan -> its run-time number."""
    units: Mapping[str, str]
    """Compiled name of a unit -> its name at run time."""


class ZoneChange(NamedTuple):
    """The time zone of an application before and after a redeploy."""

    before: str
    after: str
    operators: tuple[str, ...]
    """The logical names of operators and Imports whose expressions depend on the time zone."""

    @property
    def sentence(self) -> str:
        """A sentence that names both time zones, and at most `_SHOWN` operators that depend on the time zone."""
        names = ", ".join(self.operators[:_SHOWN])
        more = f" and {plural(len(self.operators) - _SHOWN, 'other')}" if len(self.operators) > _SHOWN else ""
        effect = (
            f"expressions of {names}{more} have other values after the redeploy"
            if names
            else "no expression depends on it"
        )
        return f"The time zone was {self.before} and becomes {self.after}: {effect}."

    def document(self) -> dict[str, Any]:
        """Return the change as JSON."""
        return {"before": self.before, "after": self.after, "operators": list(self.operators)}


@dataclass(frozen=True, slots=True)
class Redeployment:
    """The difference between the deployed and the wanted plan."""

    application: str
    before: str
    """Fingerprint of the deployed application."""
    after: str
    units: tuple[UnitAction, ...]
    operators: tuple[OperatorAction, ...]
    """The operators of the new plan in its order, then the removed ones."""
    moves: tuple[StateMove, ...]
    """The moves of all kept states that are divided, merged, or get another place; one that is only converted stays."""
    numbering: RunTimeNumbers
    drop_state: frozenset[str] = field(default_factory=frozenset[str])
    """Physical names of the operators whose state may be lost."""
    predicted_seconds: float | None = None
    """The expected pause of commits in seconds; None if unknown."""
    measured_seconds: float | None = None
    """The measured pause in seconds; None unless a trial has succeeded."""
    zone: ZoneChange | None = None
    """The change of the time zone; None if it stays the same."""
    event_time: tuple[EventTimeChange, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The change of the application as a whole: the kind of redeploy.

        It is `refused` if any state is refused, else `lossy` if any is lost, else `unchanged` if all units run on, else
        `kept`.
        """
        if any(each.action == "refused" for each in self.operators):
            return "refused"
        if any(each.lossy for each in self.operators):
            return "lossy"
        return "unchanged" if all(each.action == "run on" for each in self.units) else "kept"

    @property
    def replaces_plan(self) -> bool:
        """True unless the wanted plan is the deployed one."""
        return self.verdict != "unchanged" or self.before != self.after

    @property
    def sentence(self) -> str:
        """The verdict in words, with the effects of another time zone or another event-time graph."""
        zone = "" if self.zone is None else self.zone.sentence
        return " ".join(filter(None, (_SENTENCES[self.verdict], zone, event_time_sentence(self.event_time))))

    @property
    def ending(self) -> tuple[str, ...]:
        """Names of the deployed units that end, which must reach their cuts first."""
        return tuple(each.unit for each in self.units if each.ends)

    @property
    def beginning(self) -> tuple[str, ...]:
        """Names of the units that begin with the new plan."""
        return tuple(each.unit for each in self.units if each.begins)

    @property
    def formers(self) -> dict[str, str]:
        """Name of an operator of the new plan -> its deployed name.

        A removed operator may have the name of a new one; the operator that continues then counts.
        """
        formers: dict[str, str] = {}
        for each in self.operators:
            if each.former is not None:
                formers.setdefault(each.operator, each.former)
        return formers

    @property
    def acceptable(self) -> bool:
        """True if no state is refused, or lost without permission."""
        lost = {each.operator for each in self.operators if each.lossy}
        return self.verdict != "refused" and lost <= self.drop_state

    @property
    def losses(self) -> str:
        """A line for each reason why states are refused, or would be lost without permission, with the operators."""
        operators: dict[str, list[str]] = {}
        for each in self.operators:
            if (each.action == "refused" or each.lossy) and each.operator not in self.drop_state:
                operators.setdefault(each.text, []).append(each.operator)
        return "".join(f"\n  {short_list(names)}: {text}" for text, names in operators.items())

    def document(self) -> dict[str, Any]:
        """Return the redeploy as JSON; `timeZone` and `eventTime` are left out if they do not change."""
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
            **({} if self.zone is None else {"timeZone": self.zone.document()}),
            **({"eventTime": [each.document() for each in self.event_time]} if self.event_time else {}),
        }
