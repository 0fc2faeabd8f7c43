from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application, compile_spec
from streams_orchestration.compiler.logical_graph import LogicalConnection, LogicalGraph
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.compiler.physical_graph import Connection, PhysicalGraph
from streams_orchestration.compiler.stage import COPIES, DEPLOYMENT, FUSION, LOGICAL, PARALLEL, REGIONS, THREADS
from streams_orchestration.compiler.stage_results import CopyPlan, FusionPlan, Passing, Queue, RegionMap, ThreadPlan
from streams_orchestration.compiler.stages import BY_NAME
from streams_orchestration.model.application import Application
from streams_orchestration_tests.compiler.nested_applications import applications
from streams_orchestration_tests.examples import examples

DEMO = """\
specVersion: 1
application: demo
schemas: {Number: "n bigint"}
graph:
  - name: Numbers
    operator: Beacon
    outputs: [{stream: Numbers, schema: Number}]
    annotations: {consistent: {trigger: periodic, period: 1.0}}
    config: {placement: {partitionIsolation: true}}
  - name: Even
    operator: Filter
    inputs: [Numbers]
    parameters: {filter: n > 0}
    annotations: {parallel: {width: 2}}
    config: {placement: {partitionColocation: middle}}
  - name: Results
    operator: FileSink
    inputs: [Even]
    parameters: {file: even}
    config: {placement: {partitionIsolation: true}}
"""

SHUFFLE = """\
specVersion: 1
application: shuffle
composites:
  Inner:
    inputs: [In]
    outputs: [G]
    graph:
      - {name: F, operator: Functor, inputs: [In], annotations: {parallel: {width: 2}}}
      - {name: G, operator: Functor, inputs: [F], annotations: {parallel: {width: 3}}}
graph:
  - {name: Src, operator: Beacon, annotations: {consistent: {trigger: periodic, period: 1.0}}}
  - {name: Out, operator: Inner, inputs: [Src], annotations: {parallel: {width: 2}}}
  - {name: Late, operator: Custom, inputs: [Out], outputs: [], annotations: {autonomous: true}}
  - {name: Sink, operator: FileSink, inputs: [Out], parameters: {file: out.csv}}
"""


@pytest.fixture
def done(tmp_path: Path) -> PlannedCompilation:
    path = tmp_path / "demo.yaml"
    path.write_text(DEMO)
    return compile_spec(path)


def violations(stage: str, done: PlannedCompilation) -> str:
    return "\n".join(BY_NAME[stage].invariant(done.progress))


@pytest.mark.parametrize("fusion", ["legacy", "manual", "automatic"])
@pytest.mark.parametrize("threading", [None, "manual", "dedicated", "dynamic"])
@pytest.mark.parametrize("faithful", [False, True])
def test_stages_of_a_compiled_spec_meet_their_conditions_under_all_options(tmp_path: Path, fusion, threading, faithful):
    spec = tmp_path / "shuffle.yaml"
    spec.write_text(SHUFFLE)
    done = compile_spec(spec, Options(fusion=fusion, pes=3, threading=threading, faithful=faithful))
    assert {stage: violations(stage, done) for stage in BY_NAME} == dict.fromkeys(BY_NAME, "")


@given(applications(), st.sampled_from(["legacy", "automatic"]), st.booleans())
@examples(40)
def test_stages_of_any_compiled_application_meet_their_conditions(
    application: Application, fusion: Any, faithful: bool
):
    done = compile_application(application, Options(fusion=fusion, faithful=faithful))
    assert {stage: violations(stage, done) for stage in BY_NAME} == dict.fromkeys(BY_NAME, "")


def test_every_check_says_what_it_checks():
    assert all(len(stage.invariant_description) > 20 for stage in BY_NAME.values())


def logical(done: PlannedCompilation, change: Callable[[LogicalGraph], LogicalGraph]) -> PlannedCompilation:
    return replace(done, logical=change(done.logical))


def test_a_connection_without_an_end(done: PlannedCompilation):
    bad = logical(done, lambda g: replace(g, connections=(*g.connections, LogicalConnection(0, 1, 9, 0))))
    actual = violations(LOGICAL, bad)
    assert "output 1 of operator 0" in actual
    assert "input 0 of operator 9" in actual


def physical(done: PlannedCompilation, change: Callable[[PhysicalGraph], PhysicalGraph]) -> PlannedCompilation:
    return replace(done, physical=change(done.physical))


def test_a_lost_connection_and_a_lost_replica(done: PlannedCompilation):
    actual = violations(PARALLEL, physical(done, lambda g: replace(g, connections=g.connections[1:])))
    assert "joined by 1 connections, not 2" in actual
    actual = violations(PARALLEL, physical(done, lambda g: replace(g, operators=g.operators[:-1])))
    assert "has 1 replicas, not 2" in actual
    assert "of which one does not exist" in actual


def regions(done: PlannedCompilation, change: Callable[[RegionMap], RegionMap]) -> PlannedCompilation:
    return replace(done, regions=change(done.regions))


def test_a_region_that_lets_go_of_an_operator(done: PlannedCompilation):
    bad = regions(done, lambda m: replace(m, region_of=(*m.region_of[:1], -1, *m.region_of[2:])))
    actual = violations(REGIONS, bad)
    assert "leads to Even[0], which is not in it" in actual
    assert "lists other operators" in actual


def test_a_region_with_a_wrong_end(done: PlannedCompilation):
    bad = regions(done, lambda m: replace(m, expanded=(replace(m.expanded[0], ends=(0,)),)))
    assert "ends of region 0" in violations(REGIONS, bad)


def fusion(done: PlannedCompilation, change: Callable[[FusionPlan], FusionPlan]) -> PlannedCompilation:
    return replace(done, fusion=change(done.fusion))


def test_an_operator_in_two_pes_or_none(done: PlannedCompilation):
    def twice(plan: FusionPlan) -> FusionPlan:
        first, *rest = plan.pes
        return replace(plan, pes=(first._replace(operators=(*first.operators, 1)), *rest))

    assert "Even[0] is in 2 PEs" in violations(FUSION, fusion(done, twice))
    assert "is in 0 PEs" in violations(FUSION, fusion(done, lambda plan: replace(plan, pes=plan.pes[1:])))


def test_a_missing_pe_port(done: PlannedCompilation):
    def closed(plan: FusionPlan) -> FusionPlan:
        return replace(plan, pes=tuple(pe._replace(inputs=(), outputs=()) for pe in plan.pes))

    actual = violations(FUSION, fusion(done, closed))
    assert "without a PE output port" in actual
    assert "without a PE input port" in actual


def threads(done: PlannedCompilation, change: Callable[[ThreadPlan], ThreadPlan]) -> PlannedCompilation:
    return replace(done, threads=change(done.threads))


def test_a_queue_out_of_place(done: PlannedCompilation):
    bad = threads(done, lambda plan: replace(plan, queues=(Queue(1, 0, True, "Sys.Wait", 1000),)))
    assert "no splitter of its PE leads there" in violations(THREADS, bad)


def copies(done: PlannedCompilation, change: Callable[[CopyPlan], CopyPlan]) -> PlannedCompilation:
    return replace(done, copies=change(done.copies))


def test_a_needless_copy_and_a_missing_one(tmp_path: Path):
    spec = tmp_path / "copy.yaml"
    spec.write_text(
        "specVersion: 1\napplication: copy\n"
        "operators: {M: {inputs: [{mutable: true}], outputs: []}}\n"
        "graph:\n- {name: Src, operator: Beacon}\n- {name: A, operator: M, inputs: [Src]}\n"
        "- {name: B, operator: M, inputs: [Src]}\n"
        "- {name: C, operator: FileSink, inputs: [Src], parameters: {file: c}}\n"
    )
    done = compile_spec(spec, Options(fusion="manual", pes=1, threading="manual"))
    assert violations(COPIES, done) == ""

    def passing(word: str) -> Callable[[CopyPlan], CopyPlan]:
        return lambda plan: replace(plan, connections=tuple(Passing(word, "const", "") for _ in plan.connections))  # pyright: ignore[reportArgumentType]

    actual = violations(COPIES, copies(done, passing("copy")))
    assert "Src[0] to C[0] passes by copy to a consumer that changes nothing" in actual
    assert "connections copy, the plan counts" in actual
    assert "hands over" in violations(COPIES, copies(done, passing("reference")))
    assert "covers 0 of 3" in violations(COPIES, copies(done, lambda plan: replace(plan, connections=())))
    assert "serving order" in violations(COPIES, copies(done, lambda plan: replace(plan, order=(0, 0, 1))))


def test_a_connection_between_pes_is_serialized(done: PlannedCompilation):
    def by_reference(plan: CopyPlan) -> CopyPlan:
        return replace(plan, connections=tuple(Passing("reference", "const", "") for _ in plan.connections))

    assert "not serialize" in violations(COPIES, copies(done, by_reference))
    assert isinstance(done.physical and done.physical.connections[0], Connection)


def deployment(done: PlannedCompilation, change: Callable[[PeProgram], PeProgram]) -> PlannedCompilation:
    pes = tuple(replace(pe, program=change(pe.program)) for pe in done.deployment.pes)
    return replace(done, deployment=replace(done.deployment, pes=pes))


def test_a_program_that_leaves_something_out(done: PlannedCompilation):
    assert not done.deployment.refusal
    assert violations(DEPLOYMENT, done) == ""
    idle = deployment(done, lambda program: replace(program, tasks=()))
    assert "do not own each of its operators once" in violations(DEPLOYMENT, idle)
    mute = deployment(done, lambda program: replace(program, consumers={}))
    assert "which PE 0 does not write for it" in violations(DEPLOYMENT, mute)
    lost = replace(done, deployment=replace(done.deployment, units=()))
    assert "is in 0 units" in violations(DEPLOYMENT, lost)
    fewer = replace(done, deployment=replace(done.deployment, pes=done.deployment.pes[1:]))
    assert "do not belong to the PEs and hosts" in violations(DEPLOYMENT, fewer)
