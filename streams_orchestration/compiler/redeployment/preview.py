"""Previews of redeploys, computed from two plans alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.fingerprint import fingerprint
from streams_orchestration.compiler.implementations import load_operator
from streams_orchestration.compiler.redeployment.event_time import event_time_changes
from streams_orchestration.compiler.redeployment.meaning import expressions_of
from streams_orchestration.compiler.redeployment.outcome import OperatorAction, Redeployment, ZoneChange
from streams_orchestration.compiler.redeployment.plans import Operators, numbering, paired
from streams_orchestration.compiler.redeployment.states import Decided, Decisions, StateFacts
from streams_orchestration.compiler.redeployment.units import circle_of_changed, unit_actions
from streams_orchestration.expressions.times import expected_zone
from streams_orchestration.model.names import nearest
from streams_orchestration.operators.expressions.evaluation import condition_of


def zone_change(old: Operators, new: Operators) -> ZoneChange | None:
    """Return the operators whose expressions a changed time zone affects; None if the zone stays the same.

    Raises:
        ImplementationError: a class of an operator cannot be imported.
        ValueError: the filter of an Import is wrong.
    """
    before, after = old.logical.time_zone, new.logical.time_zone
    if before == after:
        return None
    depending: dict[str, None] = {}
    for identity, names in new.by_identity.items():
        program = new.programs[next(iter(names.values()))]
        model = new.model(identity)
        former = replace(program, time_zone=before)
        kind = load_operator(model)
        if program.query or expressions_of(former, former, kind) != expressions_of(program, program, kind):
            depending[model.name] = None
    for link in new.compilation.physical.imports:
        text = link.parameters.get("filter")
        texts = {_canonical(str(text), link.schema or "", zone) for zone in (before, after)} if text is not None else ()
        if len(texts) > 1:
            depending[link.name] = None
    return ZoneChange(before, after, tuple(depending))


def _canonical(text: str, ddl: str, zone: str) -> str:
    return condition_of(text, ddl, expected_zone(zone)).canonical()


class NothingToDropError(ValueError):
    """The user named an operator whose state would not be lost."""


def preview(
    deployed: PlannedCompilation,
    wanted: PlannedCompilation,
    *,
    states: Mapping[str, StateFacts] | None = None,
    drop_state: Collection[str] = (),
    drained: bool = False,
) -> Redeployment:
    """Return the effects of replacing the plan of an application.

    Args:
        deployed: the application with the running deployment plan, whose PEs have their run-time numbers.
        wanted: the new application with its deployment plan.
        states: stored states by physical operator; None if unknown.
        drop_state: operators whose state may be lost, by their logical or physical names.
        drained: True if no tuples are in transit between units, so that cycles of changed units are allowed.

    Raises:
        NothingToDropError: a name in `drop_state` is unknown, or names an operator whose state is not lost.
        ImplementationError: an operator that is wanted cannot be imported.
        ValueError: the time zone changes and the filter of an Import is wrong.
    """
    old, new = paired(deployed, wanted)
    numbers = numbering(old, new)
    units = unit_actions(old, new, numbers)
    decided = list(Decisions(old, new, numbers, states).all())
    if not drained and (circle := circle_of_changed(old, units)):
        decided = [_held_up(each, old, circle) for each in decided]
    changing = {name for plan in (old, new) for name, each in plan.programs.items() if each.links is not None}
    if changing:
        decided = [_refused_for_links(each, sorted(changing)) for each in decided]
    loss = _Loss(drop_state, {name for plan in (old, new) for name in plan.names})
    decided = [loss.allow(each) for each in decided]
    loss.check()
    return Redeployment(
        application=wanted.logical.application,
        before=fingerprint(deployed),
        after=fingerprint(wanted),
        units=units,
        operators=tuple(action for each in decided for action in each.actions),
        moves=tuple(move for each in decided for move in each.moves),
        numbering=numbers,
        drop_state=frozenset(loss.operators),
        zone=zone_change(old, new),
        event_time=event_time_changes(deployed, wanted),
    )


def _held_up(decided: Decided, old: Operators, circle: tuple[str, ...]) -> Decided:
    """Refuse the actions on operators in a cycle of changed units, since none of these units could be drained first."""
    text = (
        f"the units {', '.join(circle)} feed one another in a cycle and all change, so none can be drained before "
        "the others"
    )
    inside = {unit.name: unit.pes for unit in old.plan.units if unit.name in circle}
    members = {pe for pes in inside.values() for pe in pes}
    actions = tuple(
        each._replace(action="refused", reason=text, lossy=False, remedy="Change one of these units at a time")
        if each.former is not None and old.place(each.former).pe in members
        else each
        for each in decided.actions
    )
    return decided._replace(actions=actions)


def _refused_for_links(decided: Decided, changing: list[str]) -> Decided:
    """Refuse every action, since a plan that is taken back could not take back the changes that operators make."""
    text = f"{', '.join(changing)} may change Imports and Exports while the application runs, so its plan must stay"
    remedy = "Deploy the new plan with --fresh, or under another --name"
    actions = (each._replace(action="refused", reason=text, lossy=False, remedy=remedy) for each in decided.actions)
    return decided._replace(actions=tuple(actions))


class _Loss:
    """The state that a redeploy would lose, compared with the operators for which the user allows a loss."""

    def __init__(self, drop_state: Collection[str], known: Collection[str]) -> None:
        self._drop_state = frozenset(drop_state)
        self._known = known
        self._unused: set[str] = {*drop_state}
        self._others: set[str] = set()
        """Operators that would lose their state, but for which the user did not allow a loss."""
        self.operators: set[str] = set()
        """Physical names of the operators that may lose state."""

    def allow(self, decided: Decided) -> Decided:
        """Mark lost state as dropped where the user allows it, and add the names of these operators to `operators`.

        Plan no moves for an operator that loses its state in any channel.
        """
        actions: list[OperatorAction] = []
        for each in decided.actions:
            action = each
            if each.lossy or each.action == "refused":
                named = self._drop_state & {each.operator, each.former or "", *decided.names}
                self._unused -= named
                if named:
                    self.operators.add(each.operator)
                    reason = each.reason if each.lossy else f"it starts without state: {each.reason}"
                    action = each._replace(action="dropped", reason=reason, lossy=True, remedy="")
                else:
                    self._others.add(each.operator)
            actions.append(action)
        keeps = not any(each.lossy or each.action == "refused" for each in actions)
        return decided._replace(actions=tuple(actions), moves=decided.moves if keeps else ())

    def check(self) -> None:
        """Raise NothingToDropError if a name in `drop_state` belongs to no operator, or to one that loses no state."""
        unknown = sorted(name for name in self._unused if name not in self._known)
        if unknown:
            message = f"there is no operator {unknown[0]}{nearest(unknown[0], self._known)}"
            raise NothingToDropError(message)
        if self._unused:
            some = f"; {', '.join(sorted(self._others))} would lose theirs" if self._others else ""
            message = f"no state of {', '.join(sorted(self._unused))} would be lost{some}"
            raise NothingToDropError(message)
