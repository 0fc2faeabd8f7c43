"""The documented examples of the parallel transformation, as data."""

from __future__ import annotations

import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.placement.tags import resolve_tag
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration_tests.compiler.parallel.annotated import splitter_texts
from streams_orchestration_tests.specs import cases

CASES = cases("parallel.yaml")
SPECS = cases("parallel_specs.yaml")


def compiled(identity: str) -> PlannedCompilation:
    spec = {"specVersion": 1, "application": identity, **SPECS[identity]["spec"]}
    return compile_application(application_from_mapping(spec), Options(fusion="legacy"))


@pytest.fixture(scope="module", params=sorted(CASES))
def case(request: pytest.FixtureRequest) -> tuple[str, PlannedCompilation]:
    return request.param, compiled(request.param)


def test_every_case_has_a_spec() -> None:
    assert set(CASES) == set(SPECS)


def test_documented_examples_have_their_sizes(case: tuple[str, PlannedCompilation]) -> None:
    identity, actual = case
    expected = CASES[identity]["expected"]
    assert len(actual.physical.operators) == expected["physical_ops"]
    assert len(actual.physical.connections) == expected["connections"]
    assert len(actual.physical.splitters) == expected["splitters"]


def test_documented_examples_have_their_splitters(case: tuple[str, PlannedCompilation]) -> None:
    identity, actual = case
    assert splitter_texts(actual.physical) == SPECS[identity]["splitters"]


def test_documented_examples_have_their_plans(case: tuple[str, PlannedCompilation]) -> None:
    identity, actual = case
    expected = CASES[identity]["expected"]
    names = [operator.name for operator in actual.physical.operators]
    queues = {names[queue.operator] for queue in actual.threads.queues}
    assert queues == set(expected["threaded_ports"])
    groups = {frozenset(names[each] for each in pe.operators) for pe in actual.fusion.pes}
    assert groups == {frozenset(group) for group in expected["pes"]}
    assert sum(len(pe.outputs) for pe in actual.fusion.pes) == expected["pe_output_ports"]
    imported = {(link.operator, link.port) for link in actual.physical.imports}
    inputs = {(each.operator, each.port) for pe in actual.fusion.pes for each in pe.inputs}
    assert len(inputs - imported) == expected["pe_input_ports"]


def test_documented_examples_have_their_tags(case: tuple[str, PlannedCompilation]) -> None:
    identity, actual = case
    tags = {
        operator.name: [
            resolve_tag(tag, operator) for tag in actual.logical.operators[operator.logical].partition.colocation
        ]
        for operator in actual.physical.operators
    }
    for name, tag in SPECS[identity]["tags"].items():
        assert tags[name] == [tag]


def test_imports_take_the_channel_of_their_replica() -> None:
    links = compiled("Ex9").physical.imports
    assert [(each.name, each.parameters["filter"]) for each in links] == [
        ("Out[0].I", "attr == 0"),
        ("Out[1].I", "attr == 1"),
    ]
