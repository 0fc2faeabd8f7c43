"""The model is the product: both take the same random walks, and agree after every step on what the catalog says."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from streams_orchestration.runtime.units import unit_store
from streams_orchestration_tests.combinations import often
from streams_orchestration_tests.protocol.product import Product, state_of_model, told_by_model
from streams_orchestration_tests.protocol.setting import OUTSIDE
from streams_orchestration_tests.protocol.steps import Protocol, Step
from streams_orchestration_tests.protocol.switching import divided, is_under_way
from streams_orchestration_tests.protocol.topologies import GRAPHS, topology
from streams_orchestration_tests.protocol.trial import is_passed
from streams_orchestration_tests.protocol.world import World
from streams_orchestration_tests.runtime.redeployed import undecided

WALKS, DEEP_WALKS, MORE = 1, 60, 7
"""Walks of a graph, and those that follow where these have not seen everything."""
OFTEN = {
    "chain of 3": 5,
    "diamond": 0,
    "query": 1,
    "two channels": 0,
    "two regions in a row": 1,
    "autonomous consumer behind the region": 0,
}
"""Graphs that together have all that the others have, and the seed of a walk that at present sees everything."""
STEPS = 200
REDEPLOYS = 5
CAUSES = ("", "one", "another", OUTSIDE)
PUBLISHING = ("move", "mark")
RARE = {"reset": 0.07, "hold": 0.25, "release": 0.05}
"""The frequencies with which rare steps are taken; resets for each cause."""
REVERTS = (0.1, 0.5)
"""The frequencies of reverts, in one walk and in the next: rare at first, so that trials pass as well."""


@pytest.fixture(autouse=True)
def no_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A trial is decided by a step, and its epochs are ended by steps."""
    monkeypatch.setattr(unit_store, "TRIAL_PERIOD", 1e6)
    with undecided():
        yield


@pytest.mark.usefixtures("no_hosts")
@pytest.mark.parametrize(
    "walks", [pytest.param(WALKS, marks=pytest.mark.slow), pytest.param(DEEP_WALKS, marks=pytest.mark.deep)]
)
@pytest.mark.parametrize("name", often(GRAPHS, OFTEN))
def test_model_and_product_agree_after_every_step(tmp_path: Path, name: str, walks: int):
    choose = random.Random(f"{name} {OFTEN.get(name, 0)}")
    everything = {"begin", "commit", "late commit", "trigger", "reset", "move", "complete"}
    everything |= {"hold", "carry", "switch", "pass", "revert"}
    seen: set[str] = set()
    for walk in range(walks + MORE):
        if walk >= walks and seen >= everything:
            break
        seen |= {kind for kind, _, _ in walked(tmp_path / str(walk), name, choose, REVERTS[walk % len(REVERTS)])}
    assert seen >= everything, "walks see everything"


def walked(directory: Path, name: str, choose: random.Random, reverts: float) -> list[Step]:
    """Walk to the end of the application."""
    directory.mkdir()
    protocol = Protocol(
        topology(name), epochs=6, faults=STEPS, kinds=("reset",), forgets=False, redeploys=REDEPLOYS, causes=CAUSES
    )
    product = Product(directory, protocol)
    world, taken = protocol.start(), []
    rare = RARE | {"revert": reverts}
    while len(taken) < STEPS:
        # some are always possible, and would leave nothing else time to happen
        steps = [step for step, _ in protocol.steps(world) if not _resets_what_is_finished(protocol, world, step)]
        options = [step for step in steps if step[0] not in rare or choose.random() < rare[step[0]]]
        if not options:
            break
        kind = choose.choice(sorted({kind for kind, _, _ in options}))
        step = choose.choice([step for step in options if step[0] == kind])
        taken.append(step)
        world = taken_by_both(protocol, product, world, step)
        product.collect()
        assert product.state() == state_of_model(protocol, world), taken
        if world.held:
            assert product.is_under_way(world.held) is is_under_way(protocol.topology, world), taken
        if world.tried:
            assert product.is_passed() is is_passed(protocol.topology, world), taken
        for pe in range(len(world.pes)):
            assert product.view(pe) == told_by_model(protocol, world, pe), taken
    return taken


def _resets_what_is_finished(protocol: Protocol, world: World, step: Step) -> bool:
    """Return True for a reset of a final unit: the product refuses it, or it changes nothing but the generation."""
    kind, unit, _ = step
    return kind == "reset" and all(world.pes[pe].final for pe in protocol.topology.members[unit])


def taken_by_both(protocol: Protocol, product: Product, world: World, step: Step) -> World:
    """Take one step in both, and return the world afterwards."""
    kind, number, choice = step
    before = world
    world = _after(protocol, world, step)
    if kind in ("commit", "late commit"):
        flight = before.flights[number][choice]
        row = world.pes[number]
        accepted = row is not before.pes[number] and row.batch == flight.batch
        assert product.commit(number, flight) is accepted
    elif kind == "trigger":
        product.trigger(number)
    elif kind == "reset":
        product.reset(number, protocol.causes[choice])
    elif kind == "hold":
        product.hold(world.held)
    elif kind == "release":
        product.release()
    elif kind == "carry":
        product.carry(world.held)
    elif kind in ("switch", "refuse"):
        assert product.switch(before.held, divided(protocol, before)) is (kind == "switch")
        if kind == "refuse":
            product.release()
    elif kind == "pass":
        product.decide()
    elif kind == "revert":
        product.revert()
    elif kind in PUBLISHING:
        world = _all(protocol, world, PUBLISHING)
        product.publish()
    elif kind == "complete":
        world = _all(protocol, world, ("complete",))
        product.complete()
    return world


def _after(protocol: Protocol, world: World, step: Step) -> World:
    return protocol.after(next(outcome for each, outcome in protocol.steps(world) if each == step))


def _all(protocol: Protocol, world: World, kinds: tuple[str, ...]) -> World:
    """Take all steps of these kinds, as the product does at once; return the world afterwards."""
    while (step := next((step for step, _ in protocol.steps(world) if step[0] in kinds), None)) is not None:
        world = _after(protocol, world, step)
    return world
