"""The possible steps: every step is one transaction of the catalog, one reading of it, or one change of files.

`plan_batch` is the product's own. What the other steps do is what the product's modules do that their docstrings name;
`test_model.py` holds them against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from streams_orchestration_tests.protocol.planning import begin
from streams_orchestration_tests.protocol.queries import is_unlinked, link, run
from streams_orchestration_tests.protocol.setting import Setting
from streams_orchestration_tests.protocol.switching import (
    carry,
    hold,
    is_at_cut,
    is_refused,
    is_under_way,
    release,
    switch,
)
from streams_orchestration_tests.protocol.transactions import collected, commit, mark, move, new_host, reset
from streams_orchestration_tests.protocol.trial import is_passed, passed, revert, seen_epoch
from streams_orchestration_tests.protocol.world import Pe, Query, Unit, World

Step = tuple[str, int, int]
"""A step: its name; the PE or the unit; a number that tells alternatives from each other."""
Outcome = Callable[[], World]
"""A function that returns the world after a step; it raises ViolationError when the step must not be possible."""


@dataclass(frozen=True)
class Protocol(Setting):
    """The steps that are possible for an application in a setting."""

    def start(self) -> World:
        """Return the world in which nothing has happened yet."""
        t = self.topology
        none = ((),) * len(t.programs)
        pes = tuple(Pe(inputs=(0,) * len(reads)) for reads in t.reads)
        queries = (Query(),) * len(t.programs)
        units = (Unit(),) * len(t.units)
        return World(pes, units, none, none, none, none, none, self.faults, self.redeploys, queries=queries)

    def steps(self, world: World) -> Iterator[tuple[Step, Outcome]]:
        """Yield everything that can happen, and what it makes of the world."""
        progress = False
        for step, outcome in self._progress(world):
            progress = True
            yield step, outcome
        for number, unit in enumerate(world.units):
            # a held unit closes its epoch at once, and no unit ends an epoch without need: it could end empty ones for
            # ever
            waits = progress or world.held or (world.tried and is_passed(self.topology, world))
            wanted = not is_at_cut(self.topology, world, number) if number in world.held else not waits
            if self._triggers(number, unit) and (unit.trigger < self.epochs or wanted):
                progress = True  # only the first one of several units continues
                triggered = unit._replace(trigger=unit.current)
                yield ("trigger", number, 0), partial(world.with_unit, number, triggered)
        for pe, flights in enumerate(world.flights):
            for number, flight in enumerate(flights):
                if not flight.current:
                    yield ("late commit", pe, number), partial(commit, self, world, pe, number)
        yield from self._redeploys(world)
        if world.faults:
            yield from self._faults(world._replace(faults=world.faults - 1))

    def after(self, outcome: Outcome) -> World:
        """Return the world after a step."""
        return collected(self, outcome())

    def complete(self, world: World) -> bool:
        """Return True if everything has come to its end."""
        return all(unit.done for unit in world.units)

    def _triggers(self, number: int, unit: Unit) -> bool:
        """Return True if a unit is a region that is PROCESSING, whose period may pass."""
        region = not self.topology.programs[self.topology.members[number][0]].autonomous
        return region and unit.last is None and unit.trigger == unit.completed and not unit.done

    def _progress(self, world: World) -> Iterator[tuple[Step, Outcome]]:
        t = self.topology
        for pe, flights in enumerate(world.flights):
            working = next((number for number, flight in enumerate(flights) if flight.current), None)
            if working is not None:
                yield ("commit", pe, working), partial(commit, self, world, pe, working)
                continue
            for number, flight in enumerate(begin(self, world, pe)):
                yield ("begin", pe, number), partial(run, t, world, pe, flight)
            if t.query(pe) and is_unlinked(world, pe):
                yield ("link", pe, 0), partial(link, world, pe)
        for pe in t.sinks:
            completed = seen_epoch(self, world, t.unit_of[pe])
            for number, file in enumerate(world.files[pe]):
                if not file.moved and (file.epoch <= completed or not self.publishes_complete_epochs):
                    yield ("move", pe, number), partial(move, world, pe, number)
                    break
            if any(file.moved for file in world.files[pe]):
                yield ("mark", pe, 0), partial(mark, world, pe)
        for number, unit in enumerate(world.units):
            members = t.members[number]
            ended = all(world.pes[pe].final and not world.files[pe] for pe in members)
            if ended and not unit.done and number not in world.tried and not world.held:
                yield ("complete", number, 0), partial(world.with_unit, number, unit._replace(done=True))

    def _redeploys(self, world: World) -> Iterator[tuple[Step, Outcome]]:
        """Yield the steps of a redeploy: it begins, goes on, dies, passes its trial, or is reverted."""
        units = range(len(self.topology.units))
        changes = [(unit,) for unit in units] + [tuple(units)] * (len(units) > 1)
        if world.tried:
            if is_passed(self.topology, world):
                yield ("pass", 0, 0), partial(passed, world)
            yield ("revert", 0, 0), partial(revert, self, world)
        elif not world.held:
            for number, change in enumerate(changes if world.redeploys else ()):
                if not any(world.units[unit].done for unit in change):
                    yield ("hold", number, 0), partial(hold, world, change)
        elif is_under_way(self.topology, world) or not world.carried:
            yield ("release", 0, 0), partial(release, world)
            if not is_under_way(self.topology, world):
                yield ("carry", 0, 0), partial(carry, self.topology, world)
        elif is_refused(self, world):
            yield ("refuse", 0, 0), partial(release, world)
        else:
            yield ("release", 0, 0), partial(release, world)
            yield ("switch", 0, 0), partial(switch, self, world)

    def _faults(self, world: World) -> Iterator[tuple[Step, Outcome]]:
        if "reset" in self.kinds:
            for number, unit in enumerate(world.units):
                for cause in range(0 if unit.done else len(self.causes)):
                    yield ("reset", number, cause), partial(reset, self, world, number, cause)
        if "new host" in self.kinds:
            for pe, flights in enumerate(world.flights):
                if any(flight.current for flight in flights):
                    yield ("new host", pe, 0), partial(new_host, self, world, pe)
