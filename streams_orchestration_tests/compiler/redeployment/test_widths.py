"""Width changes: the numbers of rule 41, nested regions, refusals, and what holds for every change."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.redeployment.numbered import as_deployed
from streams_orchestration.compiler.redeployment.widths import WidthChange, replicas, width_change
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.specs import PLAIN, cases, read

CASES = cases("width_changes.yaml")

PARALLEL = read(
    PLAIN
    + """
composites:
  Work3:
    inputs: [In]
    outputs: [Region3]
    graph:
      - {name: Region1, operator: Work, inputs: [In], annotations: {parallel: {width: 1}}}
      - {name: Region2, operator: Work, inputs: [Region1], annotations: {parallel: {width: 1}}}
      - {name: Region3, operator: Work, inputs: [Region2], annotations: {parallel: {width: 1}}}
graph:
  - {name: Source, operator: Source}
  - {name: Sink, operator: Sink, inputs: [Result]}
  - {name: Result, operator: Work3, inputs: [Source]}
"""
)
NESTED = read(
    PLAIN
    + """
composites:
  Inner:
    inputs: [In]
    outputs: [C]
    graph: [{name: B, operator: Work, inputs: [In]}, {name: C, operator: Work, inputs: [B]}]
  Outer:
    inputs: [In]
    outputs: [O]
    graph:
      - {name: A, operator: Work, inputs: [In]}
      - {name: O, operator: Inner, inputs: [A], annotations: {parallel: {width: 2}}}
graph:
  - {name: Src, operator: Source}
  - {name: Before, operator: Work, inputs: [Src]}
  - {name: Out, operator: Outer, inputs: [Before], annotations: {parallel: {width: 2}}}
  - {name: Snk, operator: Sink, inputs: [Out]}
"""
)
REGION = """
graph:
  - {name: Src, operator: Source %s}
  - {name: Near, operator: Work, inputs: [Src] %s}
  - {name: P, operator: Work, inputs: [Near], annotations: {parallel: {width: 2}}}
  - {name: Snk, operator: Sink, inputs: [P]}
"""


def planned(application: Any, **options: Any) -> PlannedCompilation:
    widths = tuple(options.pop("widths", {}).items())
    return compile_application(application, Options(widths=widths, fusion=options.pop("fusion", "legacy"), **options))


def change_of(old: PlannedCompilation, new: PlannedCompilation) -> WidthChange:
    """Return what changes when a plan becomes another one, whose PEs get their run-time numbers first."""
    return width_change(old, as_deployed(new, old))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_documented_changes(case: dict[str, Any]):
    old = planned(PARALLEL, widths=case["old"])
    new = planned(PARALLEL, widths={**case["old"], **case["new"]})
    change = change_of(old, new)
    actual: dict[str, Any] = {
        **{key: len(getattr(change, key)) for key in ("changed", "added", "removed")},
        **{key: list(getattr(change.pes, key)) for key in ("kept", "start", "stop")},
        "restart": [each.pe for each in change.pes.restart],
    }
    actual["indexes"] = {each.name: each.index for each in old.physical.operators} | dict(change.added)
    expected = dict(case["expected"])
    for name, index in expected.pop("indexes", {}).items():
        assert actual["indexes"][name] == index
    assert {key: actual[key] for key in expected} == expected


def test_rule_5_numbers_of_the_first_submission():
    old = planned(PARALLEL, widths=CASES["O10"]["old"])
    assert [each.name for each in old.physical.operators] == [
        *("Source", "Sink", "Result.Region1[0]", "Result.Region2[0]", "Result.Region3[0]", "Result.Region1[1]"),
        *(f"Result.Region2[{channel}]" for channel in range(1, 5)),
        *(f"Result.Region3[{channel}]" for channel in range(1, 4)),
    ]


def test_a_nested_region_changes_in_every_outer_replica_and_renames_those_whose_global_channel_shifts():
    change = change_of(planned(NESTED), planned(NESTED, widths={"Out.O": 3}))
    assert [each.name for each in change.added] == ["Out[0].O[2].B", "Out[0].O[2].C", "Out[1].O[5].B", "Out[1].O[5].C"]
    assert change.renamed == (
        *(("Out[1].O[2].B", "Out[1].O[3].B"), ("Out[1].O[2].C", "Out[1].O[3].C")),
        *(("Out[1].O[3].B", "Out[1].O[4].B"), ("Out[1].O[3].C", "Out[1].O[4].C")),
    )
    assert {"Out[0].A", "Out[1].A", "Snk"} < set(change.changed)  # the splitters' owners and the merge
    assert "Src" not in change.changed
    assert "Before" not in change.changed


def test_an_outer_region_changes_its_producer_its_consumers_and_all_inside():
    change = change_of(planned(NESTED), planned(NESTED, widths={"Out": 3}))
    assert len(change.added) == 5
    assert "Before" in change.changed
    assert "Src" not in change.changed
    assert not change.renamed


def test_with_everything_in_one_pe_that_pe_restarts():
    old = planned(PARALLEL, fusion="manual", pes=1)
    change = change_of(old, planned(PARALLEL, fusion="manual", pes=1, widths={"*Region2": 7}))
    assert [each.pe for each in change.pes.restart] == [0]
    assert change.pes.restart[0].why == ("3 of its operators change", "6 operators added to it")
    assert (change.pes.start, change.pes.stop) == ((), ())


@pytest.mark.parametrize(
    ("source", "near", "refused"),
    [
        ("", "", False),
        (", annotations: {consistent: {trigger: periodic, period: 1.0}}", "", True),  # the region is the flow itself
        (
            ", annotations: {consistent: {trigger: periodic, period: 1.0}}",
            ", annotations: {autonomous: true}",
            False,  # it ends two operators before the parallel region
        ),
        ("", ", config: {checkpoint: {periodic: 1.0}}", True),
        (", config: {checkpoint: {periodic: 1.0}}", "", False),
    ],
)
def test_a_region_or_checkpoint_in_or_next_to_the_parallel_region_is_in_the_way(source: str, near: str, refused: bool):
    application = read(PLAIN + REGION % (source, near))
    change = change_of(planned(application), planned(application, widths={"P": 3}))
    assert bool(change.reason) is refused
    assert [each.name for each in change.added] == ["P[2]"]  # the difference is told all the same


def test_the_reason_names_the_region_and_its_operators():
    application = read(PLAIN + REGION % (", annotations: {consistent: {trigger: periodic, period: 1.0}}", ""))
    change = change_of(planned(application), planned(application, widths={"P": 3}))
    assert change.reason == "consistent region 0 is in or next to the parallel region: Near, P, Snk"


WIDTHS = st.dictionaries(st.sampled_from(["Out", "Out.O"]), st.integers(1, 4))


@examples(60)
@given(steps=st.lists(WIDTHS, min_size=2, max_size=4), fusion=st.sampled_from(["legacy", "manual", "automatic"]))
def test_a_width_change_numbers_and_restarts_exactly_the_changed_pes(steps: list[dict[str, int]], fusion: str):
    old, *plans = (planned(NESTED, widths=widths, fusion=fusion, pes=3) for widths in steps)
    for plan in plans:
        new = as_deployed(plan, old)
        change = width_change(old, new)
        before, after = (replicas(each.logical, each.physical) for each in (old, new))
        stay = set(before) & set(after)
        assert [each.index for each in change.added] == [*range(len(before), len(before) + len(after) - len(stay))]
        assert len(change.removed) == len(before) - len(stay)
        inside = {each.name for each in new.physical.operators if each.channels}
        wide = {each.region for each in change.widths}
        if "Out" in wide:  # all that stays in the region has other maxima
            assert inside - {each.name for each in change.added} <= set(change.changed)
        if not wide:
            assert not (change.changed or change.pes.restart)
        assert {old_name for old_name, _ in change.renamed} <= {each.name for each in old.physical.operators}
        restarted = {each.pe for each in change.pes.restart}
        assert restarted | set(change.pes.kept) | set(change.pes.start) == {pe.id for pe in new.fusion.pes}
        assert restarted | set(change.pes.kept) | set(change.pes.stop) == {pe.id for pe in old.fusion.pes}
        for name in change.changed:
            index = next(each.index for each in new.physical.operators if each.name == name)
            assert new.fusion.pe_of[index] not in change.pes.kept
        old = new
