"""Savepoints that a simulation has left: each must begin an application that comes to the undisturbed end."""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from streams_orchestration.compiler.checking.deployable import Deployable
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.savepoints.atomic_places import list_savepoints
from streams_orchestration.runtime.savepoints.savepoint_place import SavepointPlace
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.chaos.shapes import Shape
from streams_orchestration_tests.chaos.undisturbed import Outcome, outcome
from streams_orchestration_tests.runtime.saved import begun
from streams_orchestration_tests.simulation.cases import calm
from streams_orchestration_tests.simulation.object_stores import ObjectStore


def judged(
    home: Home, shape: Shape, plan: Deployable, wanted: Outcome, store: ObjectStore | None, *, may_be_damaged: bool
) -> Iterator[str]:
    """Yield what is wrong with the savepoints of an application, also with those whose makers were killed.

    If a bit was flipped, a savepoint may be refused with words that say so.
    """
    for place in sorted(list_savepoints(home, plan.name), key=lambda place: place.name):
        if store is not None:
            store.forget_catalog()  # the catalog of the saved application, which has ended
        try:
            left = _ended(place, shape, plan, home.root.parent)
        except StreamsRuntimeError as error:
            if may_be_damaged and ("altered" in str(error) or "damaged" in str(error)):
                continue
            yield f"savepoint {place.name}: {error}"
        else:
            yield from (f"savepoint {place.name}: {message}" for message in _compared(left, wanted, shape))


def _ended(place: SavepointPlace, shape: Shape, plan: Deployable, aside: Path) -> Outcome:
    """Return what an application leaves that begins from a savepoint and is stepped by hand."""
    with tempfile.TemporaryDirectory(dir=aside) as directory:
        home = Home(Path(directory))
        with calm(home), begun(home, plan.compilation, place, limit=5_000) as local:
            local.run()
            home.results(plan.name).mkdir(parents=True, exist_ok=True)  # it may have been taken behind the last tuple
            return outcome(shape, home, local.programs)


def _compared(left: Outcome, wanted: Outcome, shape: Shape) -> Iterator[str]:
    """Yield what differs: the states are those of the whole run, the results are the last ones of each key."""
    if left.states != wanted.states:
        yield "an application from it ends with other states"
    for sink, tuples in sorted(left.results.items()):
        if extra := Counter(tuples) - Counter(wanted.results[sink]):
            yield f"{sink}: {extra.total()} tuples are doubled or wrong, as {next(iter(extra))}"
        elif sink in shape.ordered:
            for key in {each[0] for each in tuples}:
                mine = [each for each in tuples if each[0] == key]
                if mine != [each for each in wanted.results[sink] if each[0] == key][-len(mine) :]:
                    yield f"{sink}: what comes after it are not the last tuples of {key}"
