"""Every course of events, breadth first, so that what is found is found on a shortest way."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass

from streams_orchestration_tests.protocol import watermarks
from streams_orchestration_tests.protocol.planning import begin
from streams_orchestration_tests.protocol.queries import refuse_apart
from streams_orchestration_tests.protocol.setting import FAULTS
from streams_orchestration_tests.protocol.steps import Protocol, Step
from streams_orchestration_tests.protocol.topologies import Topology
from streams_orchestration_tests.protocol.world import Items, Pe, ViolationError, World


@dataclass(frozen=True)
class Outcome:
    """The outcome of a search."""

    worlds: int
    ends: int
    """Worlds in which all is complete."""
    violation: str | None = None
    trace: tuple[str, ...] = ()
    """The steps to the violation."""
    exhaustive: bool = True
    """Nothing was left out."""


def search(protocol: Protocol, *, most: int = 10_000_000, at_ends: bool = False) -> Outcome:
    """Try everything.

    Args:
        protocol: what can happen.
        most: worlds after which the search gives up.
        at_ends: check results and states of complete worlds only, as a user would, not at what is true in between.
    """
    properties = Properties(protocol.topology)
    first = protocol.start()
    came: dict[World, tuple[World, Step] | None] = {first: None}
    waiting = deque([first])
    ends = 0
    while waiting:
        if len(came) > most:
            return Outcome(len(came), ends, exhaustive=False)
        world = waiting.popleft()
        taken: list[Step] = []
        possible = False
        try:
            for step, outcome in protocol.steps(world):
                taken = [step]
                possible = possible or step[0] not in (*FAULTS, "late commit", "hold", "release", "revert")
                after = protocol.after(outcome)
                if after not in came:
                    came[after] = world, step
                    if not at_ends:
                        properties.check(world, after)
                    waiting.append(after)
            taken = []
            if protocol.complete(world):
                ends += 1
                properties.check_end(world)
            elif not possible:
                message = "nothing is possible any more, and it is not complete"
                raise ViolationError(message)
        except ViolationError as error:
            return Outcome(len(came), ends, str(error), _trace(protocol, came, world, taken))
    return Outcome(len(came), ends)


def undisturbed(topology: Topology, plan: int = 0) -> World:
    """Return the end of a run in which the first thing that can happen always does, under some plan."""
    protocol = Protocol(topology, epochs=0, faults=0)
    world = protocol.start()._replace(plan=plan)
    while not protocol.complete(world):
        _, outcome = next(protocol.steps(world))
        world = protocol.after(outcome)
    return world


class Properties:
    """The properties that must hold always, and those that must hold at the end."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.results = tuple(Counter(items) for items in undisturbed(topology).visible)
        self._states: dict[int, tuple[Items, ...]] = {}
        self._ways: dict[int, int] = {}

    def check(self, before: World, world: World) -> None:
        """Raises ViolationError, which says what is wrong in a world, or with the step to it."""
        t = self.topology
        cuts = [self._cut(world, pe) for pe in range(len(world.pes))]
        shown = [self._cut(world, pe, shown=True) for pe in range(len(world.pes))]
        for pe, reads in enumerate(t.reads):
            for number, producer in enumerate(reads):
                own = t.unit_of[pe] == t.unit_of[producer]
                # only units on trial see the results of units on trial
                seen = cuts if t.unit_of[pe] in world.tried else shown
                read, written = cuts[pe].inputs[number], seen[producer].written
                unread = [piece.number for piece in world.streams[producer] if read <= piece.number < written]
                if read > written or (own and unread):
                    message = f"the cut is not consistent: PE {pe} has read up to segment {read} of PE {producer}, "
                    message += f"which has written up to {written}"
                    raise ViolationError(message)
                # after a reset, its own region writes the results after the cut again
                first = world.pes[pe].inputs[number]
                if not own:
                    first = min(shown[pe].inputs[number], first)
                kept = {piece.number for piece in world.streams[producer]}
                reverted = world.plan < before.plan and t.unit_of[producer] in before.tried
                last = before.last_batch if reverted else world.pes[producer].batch
                for piece in before.streams[producer]:
                    if piece.number not in kept and first <= piece.number and piece.batch <= last:
                        message = f"PE {pe} can need segment {piece.number} of PE {producer}, which is gone"
                        raise ViolationError(message)
        for pe in range(len(world.pes)):
            if t.query(pe):
                refuse_apart(world, pe, cuts[pe])
        for pe, row in enumerate(world.pes):
            watermarks.check(t, pe, row)
        for pe in t.channels:
            for item in world.pes[pe].state:
                if t.channel(world.plan, item) != pe:
                    message = f"PE {pe} has the state of {item}, whose tuples go to PE {t.channel(world.plan, item)}"
                    raise ViolationError(message)
        for pe in t.sinks:
            if not Counter(world.visible[pe]) <= Counter(shown[pe].state):
                message = f"PE {pe} has published what a reset or a revert takes back, or twice"
                raise ViolationError(message)

    def check_end(self, world: World) -> None:
        """Raises ViolationError: the results or the states are not those of the undisturbed run."""
        for pe in self.topology.sinks:
            if Counter(world.visible[pe]) != self.results[pe]:
                message = f"PE {pe} has published {world.visible[pe]}, wanted are {sorted(self.results[pe].elements())}"
                raise ViolationError(message)
            self._check_order(pe, world.visible[pe])
        states = self._wanted_states(world.plan)
        for pe, row in enumerate(world.pes):
            watermarks.refuse_late(pe, row)
            if row.state != states[pe]:
                message = f"PE {pe} ends with the state {row.state}, wanted is {states[pe]}"
                raise ViolationError(message)

    def _wanted_states(self, plan: int) -> tuple[Items, ...]:
        if plan not in self._states:
            self._states[plan] = tuple(pe.state for pe in undisturbed(self.topology, plan).pes)
        return self._states[plan]

    def _check_order(self, sink: int, items: Items) -> None:
        """Check that tuples that come by one way only come in the order of their source."""
        for source in range(len(self.topology.programs) if not self.topology.channels else 0):
            made = [item for item in items if item // 10 == source + 1]
            if len(set(made)) == len(made) and made != sorted(made):
                message = f"PE {sink} has published out of order: {items}"
                raise ViolationError(message)

    def _cut(self, world: World, pe: int, *, shown: bool = False) -> Pe:
        unit = self.topology.unit_of[pe]
        epoch = world.shown(unit) if shown else world.units[unit].completed
        actual = next((b.pe for b in world.boundaries[pe] if b.epoch == epoch), None)
        if actual is None and not epoch:
            return Pe(inputs=(0,) * len(self.topology.reads[pe]))
        if actual is None:
            message = f"PE {pe} has no commit that closes epoch {epoch}"
            raise ViolationError(message)
        return actual


def _trace(
    protocol: Protocol, came: dict[World, tuple[World, Step] | None], world: World, last: list[Step]
) -> tuple[str, ...]:
    steps = last
    while (before := came[world]) is not None:
        world, step = before
        steps = [step, *steps]
    return tuple(told(protocol, steps))


def told(protocol: Protocol, steps: list[Step]) -> list[str]:
    """Return the steps, for people."""
    t, world = protocol.topology, protocol.start()
    lines = []
    for step in steps:
        kind, number, choice = step
        name = t.units[number] if kind in ("trigger", "reset", "complete") else f"PE {number}"
        text = f"{name}: {kind}"
        if kind == "begin":
            flight = list(begin(protocol, world, number))[choice]
            text += f" batch {flight.batch} of epoch {flight.epoch}, tuples {list(flight.items)}"
            text += " (the last of the epoch)" if flight.boundary else ""
        elif kind in ("commit", "late commit"):
            flight = world.flights[number][choice]
            text += f" of batch {flight.batch}, generation {flight.generation}, tuples {list(flight.items)}"
        lines.append(text)
        try:
            world = protocol.after(next(outcome for each, outcome in protocol.steps(world) if each == step))
        except ViolationError:
            break
    return lines
