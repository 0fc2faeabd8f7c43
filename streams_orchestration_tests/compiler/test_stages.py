from __future__ import annotations

from typing import Any, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import PlannedCompilation, Progress
from streams_orchestration.compiler.compiling import compile_application, compute
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.stage import Stage, SummaryRows
from streams_orchestration.compiler.stages import BY_NAME, STAGES
from streams_orchestration.model.application import Application
from streams_orchestration_tests.compiler.nested_applications import applications
from streams_orchestration_tests.examples import examples


def test_a_compilation_holds_the_result_of_every_stage() -> None:
    types = get_type_hints(PlannedCompilation)
    others = "options", "diagnostics", "query_columns"
    assert {stage.result for stage in STAGES} == {each for name, each in types.items() if name not in others}


@pytest.mark.parametrize("field", ["name", "key", "place"])
def test_no_two_stages_share_a_name_a_section_or_its_place(field: str) -> None:
    assert len({getattr(each, field) for each in STAGES}) == len(STAGES)


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_a_stage_stands_behind_those_that_it_reads(stage: Stage) -> None:
    before = [each.name for each in STAGES[: STAGES.index(stage)]]
    assert set(stage.inputs) <= set(before)
    assert bool(stage.inputs) == bool(before), "only the first stage reads the application"


@given(applications(), st.sampled_from(["legacy", "automatic"]))
@examples(15)
def test_a_stage_reads_nothing_but_its_inputs(application: Application, fusion: Any) -> None:
    options = Options(fusion=fusion)
    whole = compile_application(application, options).progress
    for stage in STAGES:
        done = Progress(options) if stage.inputs else Progress(options).with_result(application)
        for name in stage.inputs:
            done = done.with_result(whole[BY_NAME[name].result])
        done, _ = compute(stage, done)
        assert done[stage.result] == whole[stage.result]


@given(applications())
@examples(5)
def test_a_compilation_is_made_again_from_its_results(application: Application) -> None:
    whole = compile_application(application)
    assert whole.progress.planned == whole


def test_a_stage_whose_inputs_are_missing_is_not_computed() -> None:
    for stage in STAGES:
        with pytest.raises(ValueError, match="before a stage whose result it reads"):
            compute(stage, Progress(Options()))


@given(applications())
@examples(15)
def test_tables_of_a_summary_are_as_wide_as_their_heads(application: Application) -> None:
    whole = compile_application(application).progress
    tables = [entry for stage in STAGES for entry in stage.summary(whole).values() if isinstance(entry, SummaryRows)]
    assert {len(table.columns) for table in tables} >= {4}
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
