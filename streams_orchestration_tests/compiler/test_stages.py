from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.compiler.compilation import Compilation, Progress
from streams_orchestration.compiler.compiling import compile_application, compute
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.stage import Stage, SummaryRows
from streams_orchestration.compiler.stages import BY_NAME, STAGES
from streams_orchestration.model.application import Application
from streams_orchestration_tests.compiler.nested_applications import applications
from streams_orchestration_tests.examples import examples


def test_a_compilation_holds_the_result_of_every_stage() -> None:
    results = {field.name for field in fields(Compilation)} - {"options", "diagnostics", "query_columns"}
    assert {stage.field for stage in STAGES} == results
    assert {field.name for field in fields(Progress)} - {"options", "diagnostics", "application"} == results


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
    whole = compile_application(application, options)
    for stage in STAGES:
        done = Progress(options, None if stage.inputs else application)
        inputs = {BY_NAME[name].field for name in stage.inputs}
        done, _ = compute(stage, replace(done, **{field: getattr(whole, field) for field in inputs}))
        assert getattr(done, stage.field) == getattr(whole, stage.field)


def test_a_stage_whose_inputs_are_missing_is_not_computed() -> None:
    for stage in STAGES:
        with pytest.raises(ValueError, match="before a stage whose result it reads"):
            compute(stage, Progress(Options()))


@given(applications())
@examples(15)
def test_tables_of_a_summary_are_as_wide_as_their_heads(application: Application) -> None:
    whole = compile_application(application)
    tables = [entry for stage in STAGES for entry in stage.summary(whole).values() if isinstance(entry, SummaryRows)]
    assert {len(table.columns) for table in tables} >= {4}
    assert all(len(row) == len(table.columns) for table in tables for row in table.rows)
