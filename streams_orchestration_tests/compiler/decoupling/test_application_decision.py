"""A physical graph with a profile becomes a decoupling problem, and its answer says which operators part."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.decoupling.application_decision import (
    ApplicationDecision,
    decide,
    evaluated,
    parting_of,
)
from streams_orchestration.compiler.decoupling.application_problem import ApplicationProblem, application_problem
from streams_orchestration.compiler.decoupling.decision_document import decision_document
from streams_orchestration.compiler.decoupling.solving import solve
from streams_orchestration.compiler.fusion.rewriting import decouple
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.parallel.parallel import expand
from streams_orchestration.compiler.physical_graph import PhysicalGraph
from streams_orchestration.compiler.profiles.costs import MeasuredCosts, measured_costs
from streams_orchestration.compiler.stage_results import FusionPlan
from streams_orchestration.model.assignment_document import assignment_from_mapping
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.profile import OperatorProfile, PassageCost, Profile, StreamProfile, Transport
from streams_orchestration_tests.compiler.graphs import Wire, logical_graph, operator, unexpanded
from streams_orchestration_tests.compiler.placements import colocated, parallel
from streams_orchestration_tests.compiler.plans import in_one_pe, in_pes, no_regions
from streams_orchestration_tests.examples import examples

CHEAP = Transport("measured", PassageCost(1e-6, 0.0), PassageCost(1e-6, 0.0))


def application(wires: Sequence[str], **fields: dict[str, Any]) -> LogicalGraph:
    """`S-A` is a stream from S to A; fields are those of the operators named."""
    ends = [tuple(wire.split("-")) for wire in wires]
    names = sorted(dict.fromkeys(name for pair in ends for name in pair))
    inputs = {target for _, target in ends}
    outputs = {source for source, _ in ends}
    operators = [operator(name, int(name in inputs), int(name in outputs), **fields.get(name, {})) for name in names]
    return logical_graph(operators, [(source, 0, target, 0) for source, target in ends])


def measured(
    physical: PhysicalGraph,
    cpu: Mapping[str, float],
    tuples: Mapping[str, float] | float = 1000.0,
    transport: Transport = CHEAP,
    size: float = 10.0,
    **more: Any,
) -> Profile:
    """Return a profile of one second: processors by replica, and tuples of their first output ports."""
    rates = tuples if isinstance(tuples, Mapping) else {each.name: tuples for each in physical.operators}
    streams = [
        StreamProfile(each.name, rates[each.name], 0, rates[each.name] * size)
        for each in physical.operators
        if each.streams and each.name in rates
    ]
    operators = [OperatorProfile(name, seconds) for name, seconds in cpu.items()]
    return Profile("test", 1.0, tuple(streams), tuple(operators), transport, **more)


def decided(
    logical: LogicalGraph, cpu: Mapping[str, float], *, pes: Sequence[Sequence[int]] | None = None, **options: Any
) -> tuple[ApplicationDecision, list[list[str]]]:
    """Return the decision, and the names of the operators of every part."""
    physical = unexpanded(logical)
    profile = measured(physical, cpu, **{key: options.pop(key) for key in ("tuples", "transport") if key in options})
    fusion = in_pes(physical, pes) if pes else in_one_pe(physical)
    decision = decide(logical, physical, fusion, measured_costs(logical, physical, profile)[0], **options)
    return decision, [[physical.operators[each].name for each in part] for part in decision.parting.parts]


CHAIN = ("S-A", "A-B", "B-K")


@pytest.mark.parametrize(
    ("wires", "cpu", "fields", "tuples", "parts"),
    [
        pytest.param(CHAIN, {"S": 0.1, "A": 0.4, "B": 0.4, "K": 0.1}, {}, 1e3, ["AS", "BK"], id="in the middle"),
        pytest.param(CHAIN, {"S": 0.6, "A": 0.2, "B": 0.2, "K": 0.1}, {}, 1e3, ["S", "ABK"], id="behind the source"),
        pytest.param(CHAIN, {"S": 0.1, "A": 0.3, "B": 0.2, "K": 0.5}, {}, 1e3, ["ABS", "K"], id="before the sink"),
        pytest.param(
            CHAIN, {"S": 0.1, "A": 0.4, "B": 0.4, "K": 0.05}, {}, {"S": 1e3, "A": 5e5, "B": 1e3}, ["S", "ABK"],
            id="not at a stream that is dear to send",
        ),
        pytest.param(
            CHAIN, {"S": 0.1, "A": 0.4, "B": 0.4, "K": 0.05}, {}, {"S": 1e3, "B": 1e3}, ["S", "ABK"],
            id="not at a stream that was not measured",
        ),
        pytest.param(
            CHAIN, {"S": 0.1, "A": 0.4, "B": 0.4, "K": 0.05},
            {"A": {"partition": colocated("t")}, "B": {"partition": colocated("t")}}, 1e3, ["S", "ABK"],
            id="not within a colocation",
        ),
        pytest.param(
            CHAIN, {"S": 0.1, "A": 0.4, "B": 0.4, "K": 0.05}, {"A": {"atomic": "t"}, "B": {"atomic": "t"}}, 1e3,
            ["S", "ABK"], id="not within an atomic group",
        ),
        pytest.param(
            CHAIN, {"S": 0.5, "A": 0.01, "B": 0.01, "K": 0.5}, {"S": {"atomic": "t"}, "K": {"atomic": "t"}}, 1e3,
            ["ABKS"], id="no PE gets back what it sent",
        ),
        pytest.param(
            ("S-A", "S-B", "A-K", "B-K"), {"S": 0.1, "A": 0.4, "B": 0.5, "K": 0.05}, {}, 1e3, ["AS", "BK"],
            id="one branch of two",
        ),
    ],
)  # fmt: skip
def test_the_cut_is_where_it_costs_least(
    wires: Sequence[str], cpu: dict[str, float], fields: dict[str, Any], tuples: Any, parts: list[str]
):
    decision, actual = decided(application(wires, **fields), cpu, tuples=tuples)
    assert ["".join(part) for part in actual] == parts
    assert max(decision.after) <= 100.0 + 1e-9


def test_loads_are_those_at_which_the_busiest_pe_has_no_time_left():
    decision, _ = decided(application(CHAIN), {"S": 0.02, "A": 0.08, "B": 0.08, "K": 0.02}, tuples=0.0)
    assert decision.before == {0: pytest.approx(100.0)}
    assert decision.after == pytest.approx((50.0, 50.0))
    assert decision.saturation == pytest.approx(5.0)
    assert decision.predicted_speedup == pytest.approx(2.0)


def test_another_pe_or_the_processors_limit_what_is_predicted():
    pes = [[0, 1], [2, 3]]  # A, B of one PE and K, S of the other
    cpu = {"S": 0.1, "A": 0.5, "B": 0.5, "K": 0.7}
    decision, _ = decided(application(CHAIN), cpu, pes=pes, tuples=0.0)
    assert decision.predicted_speedup == pytest.approx(1.0 / 0.8)
    few = replace(decision, costs=replace(decision.costs, processors=1))
    assert few.predicted_speedup == pytest.approx(1.0)
    # 1.8 processors are busy with tasks at the measured rate; 0.8 in the busiest PE then, and 1.5 are left in all
    around = replace(decision, costs=replace(decision.costs, processors=3, surroundings=0.5))
    assert around.predicted_speedup == pytest.approx(1.5 / 1.8 / 1.0)


def test_a_stream_that_crosses_in_any_case_costs_no_second_send():
    """A is read by K, in another PE, so B may be parted from it for the price of receiving."""
    logical = application(("S-A", "A-B", "A-K"))
    transport = Transport("measured", PassageCost(1e-4, 0.0), PassageCost(1e-5, 0.0))
    cpu = {"S": 0.1, "A": 0.2, "B": 0.4, "K": 0.01}
    decision, parts = decided(logical, cpu, pes=[[0, 1, 3], [2]], transport=transport)
    assert parts == [["A", "S"], ["B"]]
    scale = decision.saturation * 100
    assert decision.parting.loads == pytest.approx((scale * 0.4, scale * 0.41))  # A sends 0.1 whatever is decided


def test_channels_of_a_splitter_are_streams_of_their_own():
    logical = logical_graph(
        [operator("S", 0, 1), operator("P", 1, 1, regions=(0,)), operator("K", 1)],
        [("S", 0, "P", 0), ("P", 0, "K", 0)],
        regions=(parallel("P", 3),),
    )
    logical = replace(logical, connections=tuple(logical.connections))
    physical, _ = expand(logical)
    names = [each.name for each in physical.operators]
    cpu = {name: 0.3 if name.startswith("P") else 0.05 for name in names}
    arriving = {"P[0]": 500.0, "P[1]": 300.0, "P[2]": 100.0}
    profile = measured(physical, cpu, 900.0)
    operators = tuple(
        replace(x, inputs=(arriving[x.operator],) if x.operator in arriving else ()) for x in profile.operators
    )
    costs, _ = measured_costs(logical, physical, replace(profile, operators=operators))
    assert [costs.headroom([]), costs.headroom([0.0, 0.0]), costs.headroom([25.0, 50.0])] == [math.inf, math.inf, 2.0]
    problem = application_problem(logical, physical, costs, range(len(names)), parts=2)
    carried = {names[each.readers[0]]: each.tuples for each in problem.outlets if each.output.splitter >= 0}
    assert carried == arriving
    parts = parting_of(problem, solve(problem.problem)).parts
    assert sorted(sum(names[each].startswith("P") for each in part) for part in parts) == [1, 2]


@pytest.mark.parametrize(
    ("profile", "pe", "code"),
    [
        (Profile("other", 1.0), None, "SO0210"),
        (Profile("test", 1.0), None, "SO0213"),
        (Profile("test", 1.0, operators=(OperatorProfile("S", 1.0),)), None, "SO0213"),
        (Profile("test", 1.0, operators=(OperatorProfile("S", 0.0),), transport=CHEAP), None, "SO0611"),
        (Profile("test", 1.0, operators=(OperatorProfile("S", 1.0),), transport=CHEAP), 3, "SO0611"),
    ],
)
def test_a_profile_without_costs_is_refused(profile: Profile, pe: int | None, code: str):
    logical = application(CHAIN)
    physical = unexpanded(logical)
    with pytest.raises(ApplicationError) as failure:
        decide(logical, physical, in_one_pe(physical), measured_costs(logical, physical, profile)[0], pe=pe)
    assert [each.code for each in failure.value.diagnostics] == [code]


# ---- invariants ----


@st.composite
def measured_graphs(draw: st.DrawFn, most: int = 6) -> tuple[LogicalGraph, Profile, list[int]]:
    """Graphs with profiles, and the operators of one of their PEs."""
    size = draw(st.integers(2, most))
    wires: list[Wire] = []
    fields = []
    for number in range(size):
        producers = draw(st.lists(st.integers(0, number - 1), max_size=2, unique=True)) if number else []
        wires += [(f"O{each}", draw(st.integers(0, 1)), f"O{number}", 0) for each in producers]
        tag = draw(st.sampled_from(["", "", "", "x", "y"]))
        field: dict[str, Any] = {"atomic": tag} if draw(st.booleans()) else {"partition": colocated(tag)}
        fields.append((bool(producers), field if tag else {}))
    operators = [operator(f"O{number}", int(reads), 2, **field) for number, (reads, field) in enumerate(fields)]
    logical = logical_graph(operators, wires)
    rate = st.sampled_from([None, 0.0, 10.0, 100.0])
    streams = [
        StreamProfile(each.name, tuples, port, tuples * draw(st.sampled_from([0, 8, 100])))
        for each in operators
        for port in (0, 1)
        if (tuples := draw(rate)) is not None
    ]
    costs = [OperatorProfile(each.name, draw(st.sampled_from([0.0, 0.1, 0.25, 0.9]))) for each in operators]
    costs[0] = OperatorProfile("O0", 0.5)
    price = st.sampled_from([PassageCost(0.0, 1e-5), PassageCost(1e-3, 0.0), PassageCost(5e-4, 2e-5)])
    profile = Profile("test", 1.0, tuple(streams), tuple(costs), Transport("measured", draw(price), draw(price)))
    members = [0, *(number for number in range(1, size) if draw(st.integers(0, 4)))]
    return logical, profile, members


def costs_of(logical: LogicalGraph, profile: Profile) -> tuple[PhysicalGraph, MeasuredCosts]:
    physical = unexpanded(logical)
    return physical, measured_costs(logical, physical, profile)[0]


def legal(problem: ApplicationProblem, part_of: Mapping[int, int]) -> bool:
    together = all(len({part_of[each] for each in group.operators}) == 1 for group in problem.groups)
    forward = all(
        part_of[reader] >= part_of[each.output.operator]
        and (each.tuples is not None or part_of[reader] == part_of[each.output.operator])
        for each in problem.outlets
        for reader in each.readers
    )
    return together and forward


SOME = examples(60)


@SOME
@given(measured_graphs(), st.integers(1, 3))
def test_no_legal_parting_has_a_smaller_largest_load(given_: tuple[LogicalGraph, Profile, list[int]], machines: int):
    logical, profile, members = given_
    physical, costs = costs_of(logical, profile)
    problem = application_problem(logical, physical, costs, members, parts=machines)
    parting = parting_of(problem, solve(problem.problem))
    part_of = {operator: part for part, operators in enumerate(parting.parts) for operator in operators}
    assert sorted(part_of) == members
    assert legal(problem, part_of)
    best = min(
        max(evaluated(problem, assignment).loads)
        for places in product(range(machines), repeat=len(members))
        if legal(problem, assignment := dict(zip(members, places, strict=True)))
    )
    penalties = 0.0001 * 4 * len(problem.outlets)
    assert max(parting.loads) == pytest.approx(best, abs=penalties + 1e-6)


@SOME
@given(measured_graphs(), st.sampled_from([0.25, 3.0]))
def test_all_costs_together_only_change_the_unit(given_: tuple[LogicalGraph, Profile, list[int]], factor: float):
    logical, profile, members = given_
    physical, costs = costs_of(logical, profile)

    def dearer(cost: PassageCost) -> PassageCost:
        return PassageCost(cost.per_tuple * factor, cost.per_byte * factor)

    more = replace(
        costs,
        cpu={operator: load * factor for operator, load in costs.cpu.items()},
        transport=replace(costs.transport, send=dearer(costs.transport.send), receive=dearer(costs.transport.receive)),
    )
    problem, other = (application_problem(logical, physical, each, members, parts=2) for each in (costs, more))
    assert other.loads == pytest.approx([load * factor for load in problem.loads])
    saturated = application_problem(logical, physical, costs, members, parts=2, saturation=factor)
    assert saturated.loads == pytest.approx(other.loads)


@SOME
@given(measured_graphs(), st.integers(2, 3))
def test_the_document_is_what_the_compiler_applies(given_: tuple[LogicalGraph, Profile, list[int]], machines: int):
    logical, profile, members = given_
    physical, costs = costs_of(logical, profile)
    rest = [number for number in range(len(physical.operators)) if number not in members]
    fusion: FusionPlan = in_pes(physical, [group for group in (members, rest) if group])
    decision = decide(logical, physical, fusion, costs, parts=machines, pe=0)
    document = decision_document(logical, physical, fusion, decision)
    options = Options(decoupling=assignment_from_mapping(document))
    plan, diagnostics = decouple(logical, physical, no_regions(physical), fusion, options)
    assert not diagnostics
    assert {pe.operators for pe in plan.pes if pe.original == 0} == {tuple(part) for part in decision.parting.parts}
    assert max(decision.after) <= decision.before[0] + 1e-6
    assert decision.gain(fusion) == decision.predicted_speedup
    assert decision.gain(plan) == pytest.approx(1.0)
