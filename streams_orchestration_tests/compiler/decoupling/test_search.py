"""Large problems: loads follow moves, bounds hold, and the process ends in time."""

from __future__ import annotations

import math
import sys
import time
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given
from hypothesis import strategies as st

from benchmarks.decoupling_graphs import graph
from streams_orchestration.compiler.decoupling import solver_process
from streams_orchestration.compiler.decoupling.contraction import Contraction, contract
from streams_orchestration.compiler.decoupling.dataflow import dataflow
from streams_orchestration.compiler.decoupling.evaluation import evaluate
from streams_orchestration.compiler.decoupling.legality import violations
from streams_orchestration.compiler.decoupling.lower_bounds import block_bound, simple_bound
from streams_orchestration.compiler.decoupling.search import Search
from streams_orchestration.compiler.decoupling.solver_task import SolverProgress, SolverTask
from streams_orchestration.compiler.decoupling.spreading import spreading_bound
from streams_orchestration.compiler.decoupling.tracked_assignment import Pieces, TrackedAssignment
from streams_orchestration.model.decoupling_document import problem_from_mapping
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration_tests.compiler.decoupling.enumeration import Enumeration
from streams_orchestration_tests.compiler.decoupling.problems import decided, problems
from streams_orchestration_tests.examples import examples

SOME = examples(30, suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])


def contracted(document: dict[str, Any]) -> Contraction:
    try:
        return contract(dataflow(problem_from_mapping(document)))
    except ApplicationError:
        assume(False)
        raise


def large(operators: int = 150, machines: int = 4, **params: Any) -> dict[str, Any]:
    document = graph(operators, seed=1, machines=machines, dearness=2.0)
    document["params"] |= params
    return document


def placed(contraction: Contraction, home: list[int]) -> TrackedAssignment:
    params = contraction.flow.params
    pieces = Pieces(
        contraction.weights, contraction.pins, contraction.fans, len(contraction.machines), params.tee == "exact"
    )
    return TrackedAssignment(pieces, home)


def by_machine(contraction: Contraction, home: list[int]) -> list[float]:
    loads = evaluate(contraction.flow, contraction.outputs_of(home)).loads
    return [loads[machine] for machine in contraction.machines]


@SOME
@given(st.sampled_from([2, 3]).flatmap(problems), st.integers(0, 1000))
def test_loads_follow_every_move(document: dict[str, Any], seed: int):
    contraction = contracted(document)
    chance, machines = Random(seed), len(contraction.machines)
    placement = placed(contraction, [chance.randrange(machines) if pin < 0 else pin for pin in contraction.pins])
    for _ in range(10):
        piece, there = chance.randrange(contraction.size), chance.randrange(machines)
        if there != placement.home[piece] and contraction.pins[piece] < 0:
            placement.move(piece, there, placement.changes(piece, there))
            assert placement.loads == pytest.approx(by_machine(contraction, placement.home), abs=1e-9)


@SOME
@given(st.sampled_from([2, 3]).flatmap(problems))
@example(
    document={
        "params": {"k": 2, "ser_per_item": 0.5, "deser_per_item": 0.5, "tee": "exact"},
        "ops": [
            {"id": 1, "kind": "source", "cpu": 0, "card": 0},
            {"id": 2, "kind": "tee", "cpu": 1, "parents": [1], "card": 0},
            {"id": 3, "kind": "tee", "cpu": 0, "parents": [2], "card": 0},
            {"id": 4, "kind": "op", "cpu": 1, "parents": [1, 2]},
        ],
    }
)
def test_bounds_hold(document: dict[str, Any]):
    document["params"].pop("machine_budget", None)
    enumeration = Enumeration(document)
    assume(enumeration.size <= 600)
    best, contraction = enumeration.best(), contracted(document)
    assume(best)
    simple = simple_bound(contraction)
    bounds = [simple, block_bound(contraction, simple, 5.0)]
    known = Search(contraction).best
    if known is not None:
        bounds.append(spreading_bound(contraction, simple, known, 5.0))
    assert max(bounds) <= best[0].objective * (1 + 1e-7) + 1e-9


@pytest.mark.slow
def test_a_bound_holds_beside_a_length_that_is_hardly_negative():
    document = graph(30, seed=0, machines=3, dearness=1.0)
    contraction, optimum = contracted(document), decided(document)
    home = [0] * contraction.size
    for output, machine in zip(contraction.outputs, optimum.outputs, strict=True):
        home[output] = machine
    blocks = block_bound(contraction, simple_bound(contraction), 60.0)
    assert spreading_bound(contraction, blocks, home, 20.0) <= optimum.evaluation.objective * (1 + 1e-6)


def test_bounds_see_more_than_the_mean():
    contraction = contracted(large(300, 12))
    search = Search(contraction)
    search.run_start(0, time.monotonic() + 60)
    assert search.best is not None
    assert search.evaluation is not None
    simple = simple_bound(contraction)
    wanted = 1.1 * simple
    assert wanted <= spreading_bound(contraction, simple, search.best, 60.0, wanted) <= search.evaluation.objective


def test_the_first_packing_is_close_to_the_mean():
    contraction = contracted(graph(500, seed=5, machines=2, dearness=0.5))
    search = Search(contraction)
    search.pack()
    assert search.evaluation is not None
    assert search.evaluation.objective < 1.06 * simple_bound(contraction)


@pytest.mark.slow
@pytest.mark.parametrize("params", [{"forward": True}, {"latency_budget": 3}, {"machine_budget": 6}])
def test_moves_come_close_to_the_mean_where_they_are_restricted(params: dict[str, Any]):
    document = large(400, **params)
    for each in document["ops"][::7]:
        each["state"] = each["kind"] == "op"
    contraction = contracted(document)
    searches = [Search(contraction) for _ in range(2)]
    for each in searches:
        each.run_start(0, math.inf)
    first, second = (each.best for each in searches)
    assert first == second
    assert first is not None
    assert list(violations(contraction.flow, contraction.outputs_of(first))) == []
    assert searches[0].evaluation is not None
    assert searches[0].evaluation.objective < 1.3 * sum(contraction.weights) / 4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("operators", "params"),
    [  # no integer program is made of the larger ones
        (150, {"latency_budget": 3}),
        (150, {"machine_budget": 6}),
        (900, {}),
        pytest.param(150, {}, marks=pytest.mark.deep),
        pytest.param(900, {"latency_budget": 3}, marks=pytest.mark.deep),
        pytest.param(900, {"machine_budget": 6}, marks=pytest.mark.deep),
    ],
)
def test_a_large_problem_gets_a_legal_answer_with_its_bound(operators: int, params: dict[str, Any]):
    decision = decided(large(operators, 6, **params), seconds=1.0)
    assert list(violations(decision.flow, decision.outputs)) == []
    assert 0 < decision.bound <= decision.evaluation.objective <= 100


@pytest.mark.parametrize("seed", [1, 2, 4])
def test_a_bound_holds_with_a_budget_of_machines(seed: int):
    document = graph(16, seed, machines=2, dearness=2.0)
    document["params"]["machine_budget"] = 3
    for each in document["ops"][4::5]:
        each["state"] = each["kind"] == "op"
    optimum = decided(document).evaluation.objective
    assert decided(document, gap=0.5).bound <= optimum * (1 + 1e-6)


def task(seconds: float, operators: int = 150) -> SolverTask:
    return SolverTask(contracted(large(operators)), "highs", None, 0.0, 0.0, seconds)


# the description of the larger one fills a pipe
@pytest.mark.parametrize("operators", [150, pytest.param(3000, marks=pytest.mark.slow)])
def test_a_solver_that_does_not_stop_is_ended(operators: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(solver_process, "COMMAND", [sys.executable, "-c", "import time; time.sleep(600)"])
    heard: list[SolverProgress] = []
    solver_process.solve_apart(task(0.0, operators), 0.5, heard.append)
    assert heard == []


@pytest.mark.slow
def test_the_progress_of_a_solver_that_is_ended_counts(monkeypatch: pytest.MonkeyPatch):
    lines = "[[1, 0], 2.5, false]\\n[[0, 0], 3"  # the last line is not complete
    script = f"import time; print('{lines}', end='', flush=True); time.sleep(600)"
    monkeypatch.setattr(solver_process, "COMMAND", [sys.executable, "-c", script])
    heard: list[SolverProgress] = []
    solver_process.solve_apart(task(0.0), 5.0, heard.append)
    assert heard == [SolverProgress((1, 0), 2.5)]


@pytest.mark.slow
def test_a_solver_that_dies_leaves_the_search(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(solver_process, "COMMAND", [sys.executable, "-c", "raise SystemExit('out of memory')"])
    with pytest.raises(solver_process.SolverFailedError, match="out of memory"):
        solver_process.solve_apart(task(60.0), 60.0, lambda _: None)
    decision = decided(large(60), seconds=2.0)
    assert decision.solver == "search"
    assert list(violations(decision.flow, decision.outputs)) == []


def test_a_search_without_time_has_an_answer_and_a_bound():
    decision = decided(large(), seconds=1e-9)
    assert list(violations(decision.flow, decision.outputs)) == []
    assert decision.evaluation.objective < 60
    assert decision.bound == pytest.approx(25.0)
