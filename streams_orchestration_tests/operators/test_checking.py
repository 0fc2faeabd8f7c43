from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from streams_orchestration.compiler.compilation import Compilation, compile_spec
from streams_orchestration.operators.checking import check_operators, check_parameters
from streams_orchestration.operators.contract import Operator

SPEC = """\
specVersion: 1
application: app
schemas: {{Row: "n int, s string"}}
operators:
  Mine: {{implementation: "{implementation}"}}
graph:
  - name: Rows
    operator: FileSource
    outputs: [{{stream: Rows, schema: Row}}]
    parameters: {{file: rows.csv}}
  - name: Some
    operator: {operator}
    inputs: [Rows]
    {outputs}
    parameters: {parameters}
  - name: Sink
    operator: FileSink
    inputs: [{last}]
    parameters: {{file: {place}}}
"""

OUTPUTS = "outputs: [{stream: Some, schema: Row}]"


def compiled(
    directory: Path, operator: str = "Filter", parameters: str = "{}", implementation: str = "absent:Absent",
    outputs: str = "", last: str = "Some", place: str = "out",
) -> Compilation:  # fmt: skip
    (directory / "rows.csv").write_text("n,s\n1,a\n")
    spec = directory / "app.yaml"
    spec.write_text(
        SPEC.format(
            operator=operator, parameters=parameters, implementation=implementation, outputs=outputs, last=last,
            place=place,
        )
    )  # fmt: skip
    return compile_spec(spec)


def only(compilation: Compilation, code: str, operator: str = "Some") -> str:
    (found,) = check_operators(compilation)
    assert (found.code, found.severity, found.operator) == (code, "error", operator)
    assert found.location.startswith(str(compilation.logical.operators[0].location).rpartition(":")[0])
    return found.message


class Raising(Operator):
    @classmethod
    def check(cls, context: Any, parameters: Any) -> None:
        {}["absent"]


class NotAnOperator:
    pass


def test_a_sound_application_has_no_diagnostics(tmp_path: Path):
    assert check_operators(compiled(tmp_path, parameters="{filter: n > 0}")) == []


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("{filtre: n > 0}", "there is no parameter filtre; .*filter"),
        ("{filter: 7}", "the parameter filter: .*valid string, not 7"),
    ],
)
def test_a_wrong_parameter_is_named_with_the_nearest_one(tmp_path: Path, parameters: str, message: str):
    assert re.search(message, only(compiled(tmp_path, parameters=parameters), "SO5003"))


def test_a_missing_parameter_is_named(tmp_path: Path):
    compilation = compiled(tmp_path, "Aggregate", "{output: {n: Count()}}")
    assert only(compilation, "SO5003") == "the parameter window is missing"


def test_several_wrong_parameters_are_reported_together(tmp_path: Path):
    compilation = compiled(tmp_path, "Aggregate", "{windo: x, output: 3}")
    found = [diagnostic.message for diagnostic in check_operators(compilation)]
    assert len(found) == 3
    assert any("there is no parameter windo; " in message and "window" in message for message in found)


def test_parameters_that_do_not_go_together_are_told_in_the_operator_s_words(tmp_path: Path):
    wrong = "{window: 'tumbling, count(2)', partitionBy: [s], output: {n: Count()}}"
    message = only(compiled(tmp_path, "Aggregate", wrong, outputs=OUTPUTS), "SO5003")
    assert message == "partitionBy and a window that is 'partitioned' go together"


def test_an_attribute_that_the_schema_does_not_have_is_named(tmp_path: Path):
    message = only(compiled(tmp_path, parameters="{filter: nn > 0}"), "SO5004")
    assert message.startswith("filter: 'nn > 0' uses the attribute nn, which the stream does not have")


def test_a_missing_file_is_named(tmp_path: Path):
    compilation = compiled(tmp_path)
    (tmp_path / "rows.csv").unlink()
    assert f"{tmp_path}/rows.csv: no such file" in only(compilation, "SO5004", "Rows")


@pytest.mark.parametrize(
    ("implementation", "message"),
    [
        ("absent_package.operators:Absent", "the module cannot be imported: .*absent_package.*installed here"),
        (f"{__name__}:Absent", "the module has no Absent"),
        (f"{__name__}:Raisin", "the module has no Raisin; .*Raising"),
        (f"{__name__}:NotAnOperator", "no subclass of streams_orchestration.operators.Operator"),
    ],
)
def test_an_unknown_class_is_named(tmp_path: Path, implementation: str, message: str):
    compilation = compiled(tmp_path, "Mine", implementation=implementation, outputs=OUTPUTS)
    assert re.search(message, only(compilation, "SO5002"))


def test_a_module_beside_the_spec_that_does_not_compile_is_named(tmp_path: Path):
    (tmp_path / "broken_operators.py").write_text("def broken(:\n")
    compilation = compiled(tmp_path, "Mine", implementation="broken_operators:Mine")
    assert "broken_operators:Mine: the module cannot be imported: SyntaxError" in only(compilation, "SO5002")


def test_an_operator_beside_the_spec_is_found(tmp_path: Path):
    (tmp_path / "own_operators.py").write_text(
        dedent("""\
            from streams_orchestration.operators import Operator, Parameters

            class Limits(Parameters):
                least: int = 0

            class Mine(Operator):
                Parameters = Limits
        """)
    )
    compilation = compiled(tmp_path, "Mine", "{leest: 3}", "own_operators:Mine", OUTPUTS)
    assert "there is no parameter leest; " in only(compilation, "SO5003")


def test_whatever_an_operator_s_own_check_raises_becomes_a_diagnostic(tmp_path: Path):
    compilation = compiled(tmp_path, "Mine", implementation=f"{__name__}:Raising", outputs=OUTPUTS)
    assert only(compilation, "SO5004") == "KeyError: 'absent'"


def test_an_operator_without_an_implementation_can_be_compiled_only(tmp_path: Path):
    compilation = compiled(tmp_path, "Sort", last="Some")
    assert "Sort has no implementation that could run" in only(compilation, "SO5001")
    assert check_parameters(compilation) == []


def test_two_sinks_cannot_share_a_directory(tmp_path: Path):
    compilation = compiled(tmp_path, "FileSink", "{file: out}", last="Rows", outputs="outputs: []")
    assert "out: Some publishes into this directory, too" in only(compilation, "SO5004", "Sink")


def test_what_only_running_here_needs_is_no_matter_of_compiling(tmp_path: Path):
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        """
specVersion: 1
application: elsewhere
schemas: {T: "a int, s string"}
operators: {Mine: {implementation: "nosuch.module:Mine"}}
graph:
  - {name: S, operator: FileSource, outputs: [{stream: S, schema: T}], parameters: {file: x, format: bin, initDelay: 1}}
  - {name: F, operator: Filter, inputs: [S], parameters: {filter: 's == "UA" && a > 3'}}
  - {name: G, operator: Functor, inputs: [F], outputs: [{stream: G, schema: "a int, z string"}]}
  - {name: M, operator: Mine, inputs: [G], outputs: [{stream: M, schema: T}]}
  - {name: A, operator: Aggregate, inputs: [M], outputs: [{stream: A, schema: T}], parameters: {window: "count(9)"}}
  - {name: K, operator: FileSink, inputs: [A]}
  - {name: C, operator: Custom, inputs: [A], outputs: [], parameters: {logic: "onTuple A: {}", state: "int32 i"}}
  - {name: D, operator: Aggregate, inputs: [M], outputs: [{stream: D, schema: T}], parameters: {groupBy: a}}
  - {name: E, operator: Custom, inputs: [D], parameters: {onTuple: "submit(D, E);"}}
"""
    )
    compilation = compile_spec(spec)
    assert check_parameters(compilation) == []
    wrong_here = {found.operator for found in check_operators(compilation)}
    assert wrong_here == {"S", "F", "G", "M", "A", "K", "C", "D", "E"}


def test_a_condition_may_be_a_truth_value(tmp_path: Path):
    for kind, parameters in (("Filter", "{filter: true}"), ("Functor", "{filter: false}")):
        assert check_parameters(compiled(tmp_path, kind, parameters)) == []
    assert check_parameters(compiled(tmp_path, "Punctor", "{punctuate: true, position: after}")) == []


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ('{fliter: "a > 3"}', "the nearest is filter"),
        ("{filter: 5}", "should be a valid string"),
        ('{filter: "b > 3"}', "the attribute b, which the stream does not have"),
    ],
)
def test_what_is_wrong_anywhere_is_said_when_compiling(tmp_path: Path, parameters: str, said: str):
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        f"""
specVersion: 1
application: wrong
graph:
  - {{name: S, operator: Beacon, outputs: [{{stream: S, schema: "a int"}}]}}
  - {{name: F, operator: Filter, inputs: [S], parameters: {parameters}}}
  - {{name: K, operator: FileSink, inputs: [F]}}
"""
    )
    (found,) = check_parameters(compile_spec(spec))
    assert (found.operator, found.severity) == ("F", "error")
    assert said in found.message
    assert found.location.endswith("spec.yaml:6")
