"""The decision about the state of every operator: kept in place, moved, rehashed, or lost, with the reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

from streams_orchestration.compiler.implementations import load_operator
from streams_orchestration.compiler.pe_program import OperatorProgram
from streams_orchestration.compiler.redeployment.feeds import Feed, Level
from streams_orchestration.compiler.redeployment.meaning import conversions, lost_meaning
from streams_orchestration.compiler.redeployment.outcome import (
    OperatorAction,
    OperatorVerb,
    RouteLevel,
    RunTimeNumbers,
    StateMove,
    StateRouting,
)
from streams_orchestration.compiler.redeployment.plans import Operators
from streams_orchestration.compiler.redeployment.sharding import divisible, sharding_of
from streams_orchestration.model.programs import without_places
from streams_orchestration.operators.contract.operator import Operator, SourceOperator
from streams_orchestration.operators.implementations.implementation import import_operator

Channels = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StateFacts:
    """The facts of the stored state of a physical operator."""

    rows: int | None
    """The number of rows; None if unknown, as for a Spark query."""
    bytes: int
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """Part -> the names of its key columns; empty for a part without keys."""


class Decided(NamedTuple):
    """The decision about one operator in all its channels."""

    actions: tuple[OperatorAction, ...]
    moves: tuple[StateMove, ...] = ()
    names: frozenset[str] = frozenset()
    """The names by which a user may refer to the operator: its logical names, and its identities."""


class Refusal(NamedTuple):
    """The reason why a state is not kept, and the remedy."""

    text: str
    remedy: str


GONE = "it is not in the new plan"
OFFSET_WITHOUT_CHANNEL = "is an offset in each channel, and no new channel continues from the offset of {}"
CHANNELS = "the number of its channels"


def refusal(name: str, reason: str, cause: str) -> Refusal:
    """Return the refusal in the words of previews and `explain`.

    Args:
        name: logical name of the operator.
        reason: the words that follow `state of X`.
        cause: the thing that would have to stay unchanged.
    """
    return Refusal(f"state of {name} {reason}", f"Leave {cause} unchanged, or {_accepting_loss(name)}")


def remedy_of_gone(identity: str, name: str) -> str:
    """Return how to keep the state of an operator that the new plan lacks, or how to accept its loss."""
    return f"Give the operator that replaces it `uid: {identity}`, or {_accepting_loss(name)}"


def _accepting_loss(name: str) -> str:
    return f"accept the loss of its state with --drop-state {name}"


class Decisions:
    """The decisions about every operator of two plans."""

    def __init__(
        self, old: Operators, new: Operators, numbers: RunTimeNumbers, states: Mapping[str, StateFacts] | None
    ) -> None:
        """Compare the plans, so that `all` can decide about each operator.

        `states` is None if the stored states are unknown.
        """
        self.old = old
        self.new = new
        self._numbers = numbers
        self._states = states

    def all(self) -> Iterator[Decided]:
        """Yield the decisions about operators of the new plan in its order, then about removed ones.

        Raises:
            ImplementationError: the class of an operator of both plans cannot be imported.
        """
        for identity in self.new.by_identity:
            decided = self._continues(identity) if identity in self.old.by_identity else self._added(identity)
            yield decided._replace(names=self._names(identity))
        for identity in self.old.by_identity:
            if identity not in self.new.by_identity:
                yield self._gone(identity)._replace(names=self._names(identity))

    def _names(self, identity: str) -> frozenset[str]:
        plans = (plan for plan in (self.old, self.new) if identity in plan.by_identity)
        return frozenset((identity, *(plan.model(identity).name for plan in plans)))

    def _added(self, identity: str) -> Decided:
        names = self.new.by_identity[identity].values()
        return Decided(tuple(OperatorAction(name, "added", 0, 0, "it is new") for name in names))

    def _gone(self, identity: str) -> Decided:
        return Decided(tuple(self._dropped(identity, name) for name in self.old.by_identity[identity].values()))

    def _dropped(self, identity: str, name: str) -> OperatorAction:
        action = self._action(name, name, "dropped", GONE)
        if not self._has_state(name):
            return action
        return action._replace(lossy=True, remedy=remedy_of_gone(identity, self.old.model(identity).name))

    def _continues(self, identity: str) -> Decided:
        """Return the decision about an operator of both plans, with the changed parameters of replicas that continue.

        Raises ImplementationError if the class of the operator cannot be imported.
        """
        decided = self._stays(identity)
        before, after = (without_places(plan.model(identity).parameters) for plan in (self.old, self.new))
        changed = tuple(name for name in {**before, **after} if before.get(name) != after.get(name))
        actions = (
            each._replace(changed=changed) if each.action in ("kept", "moved", "resharded") else each
            for each in decided.actions
        )
        return decided._replace(actions=tuple(actions))

    def _stays(self, identity: str) -> Decided:
        before, after = self.old.by_identity[identity], self.new.by_identity[identity]
        kind = load_operator(self.new.model(identity))
        if not any(self._has_state(name) for name in before.values()):
            return Decided(tuple(self._stateless(before, after)))
        if not _may_store(self.new.programs[next(iter(after.values()))]):
            return self._refused(identity, "exists, but its class no longer keeps state", "its class")
        levels = self.old.levels(identity), self.new.levels(identity)
        changed = _changed(*levels)
        if not changed:
            return self._same_channels(identity, kind)
        name = next(iter(after.values()))
        first = self.old.programs[next(iter(before.values()))]
        if reads_by_channel(self.new.model(identity).parameters, kind):
            return self._own_sources(identity, kind)
        known = self.old.model(identity).expressions
        alike = _same_text(self.old, self.new, identity)
        reason = lost_meaning(first, self.new.programs[name], kind, known, alike=alike)
        if not reason:
            sharding = sharding_of(self.new.programs[name], kind, self._known_keys(before))
            if reason := divisible(sharding, levels[0], levels[1], changed):
                return self._refused(identity, reason, f"parallel region {_regions(levels, changed)}")
        return self._refused(identity, reason) if reason else self._resharded(identity, kind, levels, changed)

    def _stateless(self, before: Mapping[Channels, str], after: Mapping[Channels, str]) -> Iterator[OperatorAction]:
        for channels, name in after.items():
            if channels in before:
                yield self._placed(before[channels], name)
            else:
                yield OperatorAction(name, "added", 0, 0, "a new channel, without state")
        for channels, name in before.items():
            if channels not in after:
                yield self._action(name, name, "dropped", "a removed channel, without state")

    def _lost_meaning(self, identity: str, former: str, name: str, kind: type[Operator]) -> str:
        known = self.old.model(identity).expressions
        return lost_meaning(self.old.programs[former], self.new.programs[name], kind, known, alike=False)

    def _same_channels(self, identity: str, kind: type[Operator]) -> Decided:
        before, after = self.old.by_identity[identity], self.new.by_identity[identity]
        pairs = [(before[channels], name) for channels, name in after.items()]
        for former, name in pairs:
            if reason := self._lost_meaning(identity, former, name, kind):
                return self._refused(identity, reason)
        return self._carried(pairs, kind)

    def _carried(self, pairs: Sequence[tuple[str, str]], kind: type[Operator]) -> Decided:
        """Return the decision that the new replicas continue the states of the old ones.

        A state moves if its PE, its host or its operator's name changes.
        """
        source = issubclass(kind, SourceOperator)
        actions = [
            self._placed(former, name)._replace(
                converted=conversions(self.old.programs[former], self.new.programs[name], kind)
            )
            for former, name in pairs
        ]
        moves = [
            StateMove((self.old.place(former),), (self.new.place(name, self._numbers.pes),), source=source)
            for (former, name), action in zip(pairs, actions, strict=True)
            if action.action != "kept"
        ]
        return Decided(tuple(actions), tuple(moves))

    def _own_sources(self, identity: str, kind: type[Operator]) -> Decided:
        """Decide about sources whose parameters name the channel.

        Their offset belongs to the channel and cannot move, so all are refused if a channel ends, or if parameters give
        the offset of a channel that stays another meaning. A new channel begins with its own input.
        """
        before, after = self.old.by_identity[identity], self.new.by_identity[identity]
        common = [(before[channels], name) for channels, name in after.items() if channels in before]
        for former, name in common:
            if reason := self._lost_meaning(identity, former, name, kind):
                return self._refused(identity, reason)
        gone = [name for channels, name in before.items() if channels not in after]
        if gone:
            return self._refused(identity, OFFSET_WITHOUT_CHANNEL.format(gone[0]), CHANNELS)
        carried = self._carried(common, kind)
        fresh = [name for channels, name in after.items() if channels not in before]
        reason = "a new channel, which begins with its own input"
        return carried._replace(
            actions=(*carried.actions, *(OperatorAction(name, "added", 0, 0, reason) for name in fresh))
        )

    def _resharded(
        self,
        identity: str,
        kind: type[Operator],
        levels: tuple[Sequence[Level], Sequence[Level]],
        changed: Sequence[int],
    ) -> Decided:
        before, after = self.old.by_identity[identity], self.new.by_identity[identity]
        routings = _routing(levels[0], changed), _routing(levels[1], changed)
        groups = _groups(before, changed), _groups(after, changed)
        moves = [
            StateMove(
                tuple(self.old.place(name) for name in groups[0].get(group, ())),
                tuple(self.new.place(name, self._numbers.pes) for name in targets),
                *routings,
                source=issubclass(kind, SourceOperator),
            )
            for group, targets in groups[1].items()
        ]
        reason = f"divided over the channels of {_regions(levels, changed)}, {len(before)} to {len(after)}"
        converted = conversions(
            self.old.programs[next(iter(before.values()))], self.new.programs[next(iter(after.values()))], kind
        )
        actions = [
            self._action(before.get(channels), name, "resharded", reason)._replace(converted=converted)
            for channels, name in after.items()
        ]
        actions += [
            self._action(name, name, "resharded", f"a removed channel: the others get its state, {reason}")
            for channels, name in before.items()
            if channels not in after
        ]
        return Decided(tuple(actions), tuple(moves))

    def _refused(self, identity: str, reason: str, cause: str = "the operator") -> Decided:
        """Return the decision that the states of an operator are refused, in all channels of both plans.

        Args:
            identity: the identity of the operator.
            reason: the words that follow `state of X`.
            cause: the thing that would have to stay unchanged.
        """
        before, after = self.old.by_identity[identity], self.new.by_identity[identity]
        text, remedy = refusal(self.new.model(identity).name, reason, cause)
        names = [(before.get(channels), name) for channels, name in after.items()]
        names += [(name, name) for channels, name in before.items() if channels not in after]
        return Decided(
            tuple(self._action(former, name, "refused", text)._replace(remedy=remedy) for former, name in names)
        )

    def _placed(self, former: str, name: str) -> OperatorAction:
        """Return the action for an operator that continues in one channel: kept or moved.

        It is kept if its PE, its host and its name stay the same.
        """
        old, new = self.old.pe_of[former], self.new.pe_of[name]
        pe, host = self._numbers.pes[new.program.pe], self._numbers.hosts[new.host]
        changes = [
            f"from {kind} {was} to {kind} {now}"
            for kind, was, now in (("PE", old.program.pe, pe), ("host", old.host, host))
            if was != now
        ]
        if former != name:
            changes.insert(0, f"{former} before")
        verb: OperatorVerb = "moved" if changes else "kept"
        return self._action(former, name, verb, ", ".join(changes) or f"it stays in PE {pe}")

    def _action(self, former: str | None, name: str, verb: OperatorVerb, reason: str) -> OperatorAction:
        rows = size = 0
        if former is not None and self._states is None:
            rows = size = None
        elif former is not None and self._states is not None and former in self._states:
            rows, size = self._states[former].rows, self._states[former].bytes
        return OperatorAction(name, verb, rows, size, reason, former)

    def _has_state(self, name: str) -> bool:
        """Return True if the deployed operator may have state; each source has its offset.

        State is assumed if the operator's class cannot be imported, or if its parameters are wrong.
        """
        program = self.old.programs[name]
        return program.source or (program.stateful and _may_store(program))

    def _known_keys(self, before: Mapping[Channels, str]) -> Mapping[str, tuple[str, ...]] | None:
        """Map each part of the first channel with a stored state to its key columns; None if they are unknown."""
        if self._states is None:
            return None
        stored = (self._states[name].keys for name in before.values() if name in self._states)
        return next(stored, None)


def _may_store(program: OperatorProgram) -> bool:
    """Return True if the operator keeps state with these parameters.

    State is assumed if the operator's class cannot be imported, or if its parameters are wrong.
    """
    try:
        kind = import_operator(program.implementation)
        return kind.has_state(kind.Parameters.model_validate(program.parameters))
    except ValueError:
        return True


def _changed(old: Sequence[Level], new: Sequence[Level]) -> tuple[int, ...]:
    """Return the positions of the regions around an operator whose width or feeds change.

    All positions are returned if the number of regions changes.
    """
    if len(old) != len(new):
        return tuple(range(max(len(old), len(new))))
    return tuple(
        place
        for place, (before, after) in enumerate(zip(old, new, strict=True))
        if before.width != after.width or (before.width > 1 and before.ports != after.ports)
    )


def _regions(levels: tuple[Sequence[Level], Sequence[Level]], changed: Sequence[int]) -> str:
    """Return the names of the changed regions around an operator: of the new plan, or else of the old one."""
    before, after = ([each[place].region for place in changed if place < len(each)] for each in levels)
    return ", ".join(after or before)


def _routing(levels: Sequence[Level], changed: Sequence[int]) -> StateRouting:
    chosen = [levels[place] for place in changed if place < len(levels)]
    ports = len(chosen[0].ports) if chosen else 0
    return StateRouting(
        tuple(tuple(RouteLevel(_feed(level, port), level.width) for level in chosen) for port in range(ports)),
        prod(level.width for level in chosen),
    )


def _feed(level: Level, port: int) -> Feed:
    """Return the feed of an input port.

    Several feeds count as round robin, since no attribute then decides the channel.
    """
    feeds = level.ports[port]
    return feeds[0] if len(feeds) == 1 else Feed("roundRobin")


def _groups(names: Mapping[Channels, str], changed: Sequence[int]) -> dict[Channels, list[str]]:
    """Group the replicas of an operator by their channels in the unchanged regions.

    The states of a group are merged.
    """
    groups: dict[Channels, list[str]] = defaultdict(list)
    for channels in sorted(names):
        others = tuple(channel for place, channel in enumerate(channels) if place not in changed)
        groups[others].append(names[channels])
    return groups


def reads_by_channel(parameters: object, kind: type[Operator]) -> bool:
    """Return True for a source whose parameters name its channel, so that each channel has an offset of its own."""
    return issubclass(kind, SourceOperator) and "Channel()" in str(parameters)


def _same_text(old: Operators, new: Operators, identity: str) -> bool:
    """Return True if the operator's parameters in both specs are equal, before channel functions are replaced."""
    before, after = old.model(identity).parameters, new.model(identity).parameters
    return without_places(before) == without_places(after)
