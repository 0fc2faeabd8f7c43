"""A unit that nothing of changes runs on, whatever the plan around it is numbered like."""

from __future__ import annotations

from typing import Any

import pytest

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.redeployment.numbered import at_run_time
from streams_orchestration.compiler.redeployment.outcome import Redeployment
from streams_orchestration.compiler.redeployment.preview import preview
from streams_orchestration_tests.compiler.redeployment.chains import APART, HEAD, chain
from streams_orchestration_tests.specs import read


def compiled(*chains: str, **options: Any) -> PlannedCompilation:
    compilation = compile_application(read(HEAD + "".join(chains)), Options(**options))
    assert not compilation.deployment.refusal
    return compilation


def units(outcome: Redeployment) -> dict[str, str]:
    return {each.unit: each.action for each in outcome.units}


def test_another_region_in_front_leaves_the_others_alone():
    old, new = compiled(chain("A"), chain("B")), compiled(chain("C"), chain("A"), chain("B"))
    outcome = preview(old, new)
    assert units(outcome) == {"region-0": "run on", "region-1": "run on", "region-2": "start"}
    assert {each.operator: each.action for each in outcome.operators if each.action != "kept"} == {
        "CSource": "added", "CNew": "added", "COut": "added",
    }  # fmt: skip
    assert outcome.moves == ()
    assert outcome.verdict == "kept"
    places = pe_numbers(new)
    for name, number in pe_numbers(old).items():
        assert outcome.numbering.pes[places[name]] == number
    assert len(set(outcome.numbering.pes.values())) == len(outcome.numbering.pes)


def pe_numbers(compilation: PlannedCompilation) -> dict[str, int]:
    programs = compilation.deployment.programs
    return {each.name: program.pe for program in programs for each in program.operators.values()}


CASES = {
    "a region less in front": (compiled(chain("A"), chain("B")), compiled(chain("B")),
                               {"region-1": "run on", "region-0": "stop"}),
    "a parameter": (compiled(chain("A"), chain("B")), compiled(chain("A"), chain("B", key="g")),
                    {"region-0": "run on", "region-1": "restart"}),
    "a period": (compiled(chain("A"), chain("B")), compiled(chain("A", period=2.0), chain("B")),
                 {"region-0": "restart", "region-1": "run on"}),
    "another reader of a stream that leaves the PE": (
        compiled(chain("A"), chain("B")),
        compiled(chain("A"), chain("B", extra=f"  - {{name: Too, operator: FileSink, inputs: [BNew], "
                                              f"parameters: {{file: too}}, {APART}}}")),
        {"region-0": "run on", "region-1": "restart"},
    ),
    "the other order": (compiled(chain("A"), chain("B")), compiled(chain("B"), chain("A")),
                        {"region-0": "run on", "region-1": "run on"}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_only_units_that_a_change_concerns_restart(case: str):
    old, new, expected = CASES[case]
    assert units(preview(old, new)) == expected


def test_fusion_alone_moves_states_and_loses_none():
    old, new = compiled(chain("A")), compiled(chain("A").replace(APART, ""))
    outcome = preview(old, new)
    assert outcome.verdict == "kept"
    assert {each.action for each in outcome.operators} <= {"kept", "moved"}
    moved = {each.operator for each in outcome.operators if each.action == "moved"}
    assert moved
    assert {place.operator for move in outcome.moves for place in move.targets} == moved - {"AOut"}


def test_a_plan_keeps_the_numbers_that_earlier_redeploys_have_given_it():
    first, second = compiled(chain("A"), chain("B")), compiled(chain("C"), chain("A"), chain("B"))
    numbers = preview(first, second).numbering
    running = at_run_time(second, numbers)
    again = preview(running, second)
    assert again.verdict == "unchanged"
    assert again.numbering == numbers
    less = preview(running, compiled(chain("B"), chain("C")))
    assert units(less) == {"region-0": "stop", "region-1": "run on", "region-2": "run on"}
