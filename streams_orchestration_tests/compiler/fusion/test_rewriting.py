"""Decoupling decisions applied to fused PEs: the cases as data, and what holds of any decision."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.documents import dump, load
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.plan import plan_document
from streams_orchestration.model.application import Application
from streams_orchestration.model.assignment_document import assignment_from_mapping, mapping_of_assignment
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration_tests.compiler.assignments import assignment, fingerprint, forward
from streams_orchestration_tests.compiler.nested_applications import applications
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.specs import CASES

OPERATORS = {
    "Numbers": {"inputs": []},
    "Members": {"inputs": []},
    "Plus": {},
    "Values": {},
    "Paired": {"inputs": [{}, {}]},
    "Printed": {"outputs": []},
}
REWRITES = {case["id"]: case for case in yaml.safe_load((CASES / "rewriting.yaml").read_text(encoding="utf-8"))}


def application(case: dict[str, Any]) -> Application:
    head = {"specVersion": 1, "application": "test", "operators": OPERATORS}
    return application_from_mapping(head | yaml.safe_load(case["spec"]))


def rewritten(
    given: Application, machines: Mapping[str, int], options: dict[str, Any] | None = None
) -> PlannedCompilation:
    """Return the application with a decision for it, compiled with other options than those of the decision."""
    decision = assignment(compile_application(given), dict(machines))
    return compile_application(given, Options(**options or {}, decoupling=decision))


def names(compilation: PlannedCompilation) -> list[list[str]]:
    return [[compilation.physical.operators[each].name for each in pe.operators] for pe in compilation.fusion.pes]


@pytest.mark.parametrize("case", REWRITES.values(), ids=REWRITES)
def test_a_decision_rewrites_the_pes_of_a_case(case: dict[str, Any]):
    options = {key: tuple(map(tuple, v)) if key == "widths" else v for key, v in case.get("options", {}).items()}
    if "codes" in case:
        with pytest.raises(ApplicationError) as caught:
            rewritten(application(case), case["machines"], options)
        errors = [each for each in caught.value.diagnostics if each.severity == "error"]
        assert [each.code for each in errors] == case["codes"]
        assert case.get("message", errors[0].message) == errors[0].message
        return
    done = rewritten(application(case), case["machines"], options)
    plan = plan_document(done)["fusionPlan"]
    if "pes" in case:
        assert [sorted(pe) for pe in names(done)] == [sorted(pe) for pe in case["pes"]]
    if "origins" in case:
        assert [pe["id"] if pe["origin"] is None else pe["origin"] for pe in plan["pes"]] == case["origins"]
    if "hosts" in case:
        assert [pe["host"] for pe in plan["pes"]] == case["hosts"]
    for pair in case.get("apart", ()):
        assert not [pe for pe in names(done) if set(pair) <= set(pe)]
    if "networks" in case:
        actual = [
            [port(each["from"]), each["sendPe"], each["receivePe"], sorted(map(port, each["to"]))]
            for each in plan.get("networks", ())
        ]
        assert actual == case["networks"]


def port(end: dict[str, Any]) -> str:
    return f"{end['operator']}.{end['port']}"


@examples(60)
@given(applications(), st.sampled_from(["legacy", "manual", "automatic"]), st.integers(1, 4), st.data())
def test_a_decision_splits_pes_and_changes_nothing_else(
    given_: Application, scheme: Any, pes: int, data: st.DataObject
) -> None:
    """Random machines that do not decrease along the streams of a PE, so that no loop comes of them."""
    options = Options(fusion=scheme, pes=pes)
    base = compile_application(given_, options)
    operators, connections = base.physical.operators, base.physical.connections
    decision = forward(base, lambda: data.draw(st.sampled_from([0, 0, 1])))
    machine_of = [decision.machines[each.name] for each in operators]
    assert assignment_from_mapping(mapping_of_assignment(decision)) == decision
    done = compile_application(given_, Options(fusion=scheme, pes=pes, decoupling=decision))

    assert (done.logical, done.physical, done.regions) == (base.logical, base.physical, base.regions)
    assert fingerprint(done) == fingerprint(base)
    assert sorted(index for pe in done.fusion.pes for index in pe.operators) == list(range(len(operators)))
    assert [done.fusion.pes[pe].original for pe in done.fusion.pe_of] == list(base.fusion.pe_of)
    for pe in done.fusion.pes:
        assert {(done.fusion.pe_of[i], base.fusion.pe_of[i], machine_of[i]) for i in pe.operators} == {
            (pe.id, pe.original, machine_of[pe.operators[0]])
        }
    assert Counter((p.original, machine_of[p.operators[0]]) for p in done.fusion.pes).most_common(1)[0][1] == 1

    cut = {
        (each.source, each.source_port, done.fusion.pe_of[each.target])
        for each in connections
        if base.fusion.pe_of[each.source] == base.fusion.pe_of[each.target]
        and machine_of[each.source] != machine_of[each.target]
    }
    networks = done.fusion.networks
    assert sorted(cut) == [(*network.outputs[0][:2], network.receiver) for network in networks]
    for network in networks:
        assert set(network.outputs) <= set(done.fusion.pes[network.sender].outputs)
        assert set(network.inputs) <= set(done.fusion.pes[network.receiver].inputs)
    assert load(PlannedCompilation, dump(done)) == done
