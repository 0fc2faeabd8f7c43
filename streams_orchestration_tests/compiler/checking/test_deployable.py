"""Applications that can run here, and the diagnostics of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.fingerprint import fingerprint
from streams_orchestration.model.diagnostics import ApplicationError, errors_of

SOUND = """
  - {name: Made, operator: Beacon, outputs: [{stream: Made, schema: n bigint}]}
  - {name: Kept, operator: Filter, inputs: [Made], parameters: {filter: n > 0}}
"""
WRONG = """
  - {name: Some, operator: Filter, inputs: [Made], parameters: {filter: m > 0}}
  - {name: Also, operator: Filter, inputs: [Made], parameters: {filter: n <}}
"""
DROPPING = """
  - name: Out
    operator: FileSink
    inputs: [Kept]
    parameters: {file: out}
    config: {threadedPort: [{port: 0, congestionPolicy: Sys.DropFirst}]}
"""
LOOP = """
  - name: Started
    operator: Beacon
    outputs: [{stream: Started, schema: n bigint}]
    annotations: {consistent: {trigger: periodic, period: 1.0}}
  - {name: Round, operator: Steered, inputs: [Started, Back], outputs: [{stream: Round, schema: n bigint}]}
  - {name: Back, operator: Filter, inputs: [Round]}
operators:
  Steered:
    implementation: streams_orchestration_tests.runtime.sample_operators:Marks
    inputs: [{}, {control: true}]
    outputs: [{}]
"""
"""A loop in a consistent region, through a control port."""


def compiled(directory: Path, *graph: str) -> PlannedCompilation:
    spec = directory / "app.yaml"
    spec.write_text("specVersion: 1\napplication: app\ngraph:" + "".join(graph))
    return compile_spec(spec)


def refused(compilation: PlannedCompilation) -> list[tuple[str, str]]:
    with pytest.raises(ApplicationError) as error:
        deployable(compilation)
    return [(each.code, each.operator) for each in errors_of(error.value.diagnostics)]


def test_an_application_that_can_run_has_its_plan_and_fingerprint(tmp_path: Path):
    compilation = compiled(tmp_path, SOUND)
    wanted = deployable(compilation)
    assert (wanted.name, wanted.fingerprint) == ("app", fingerprint(compilation))
    assert wanted.plan == wanted.compilation.deployment
    assert wanted.plan.programs


def test_warnings_of_operators_are_kept(tmp_path: Path):
    wanted = deployable(compiled(tmp_path, SOUND, DROPPING))
    assert [each.code for each in wanted.compilation.diagnostics] == ["SO5007"]


def test_all_wrong_operators_are_reported(tmp_path: Path):
    assert refused(compiled(tmp_path, SOUND, WRONG)) == [("SO5004", "Some"), ("SO5004", "Also")]


def test_pes_that_cannot_run_are_refused(tmp_path: Path):
    assert refused(compiled(tmp_path, SOUND, LOOP)) == [("SO5009", "")]


def test_wrong_operators_are_to_be_mended_before_pes_that_cannot_run(tmp_path: Path):
    assert refused(compiled(tmp_path, SOUND, WRONG, LOOP)) == [("SO5004", "Some"), ("SO5004", "Also")]


def test_a_declared_operator_never_runs_as_the_standard_one_of_its_name(tmp_path: Path):
    compilation = compiled(tmp_path, SOUND, "\noperators: {Filter: {inputs: [{}], outputs: [{}]}}")
    assert compilation.deployment.refusal.startswith("operator Kept: Filter has no implementation that could run")
    assert refused(compilation) == [("SO5001", "Kept")]


def test_attributes_may_be_called_like_the_parts_of_native_functions(tmp_path: Path):
    def prints(at: str) -> str:
        output = f"{{native: n, at: {at}}}"
        schema = "native bigint, at bigint"
        kind = "operator: Functor, inputs: [Kept]"
        text = (
            f"\n  - {{name: F, {kind}, outputs: [{{stream: F, schema: '{schema}'}}], parameters: {{output: {output}}}}}"
        )
        return deployable(compiled(tmp_path, SOUND, text)).fingerprint

    assert prints("n + 1") != prints("n + 2")
