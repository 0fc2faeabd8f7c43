from __future__ import annotations

import json
import re
from pathlib import Path
from textwrap import dedent
from typing import Any, get_args, get_origin

import pytest

from streams_orchestration.compiler.checking.checking import check_operators, check_parameters
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.standard import STANDARD as STANDARD_SIGNATURES
from streams_orchestration.operators.contract.operator import Operator, Punctuation, SourceOperator
from streams_orchestration.operators.implementations.implementation import import_operator, wrong_method
from streams_orchestration.operators.standard import STANDARD
from streams_orchestration.operators.standard.refused import STREAMS_VALUES
from streams_orchestration.operators.testing import OperatorHarness
from streams_orchestration.operators.tuples.batch import TupleBatch

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

LINES = """\
specVersion: 1
application: app
graph:
  - name: Made
    operator: Beacon
    outputs: [{stream: Made, schema: n bigint}]
    parameters:
      iterations: ten
      perod: 1
  - name: Out
    operator: FileSink
    inputs: [Made]
    parameters:
      format: csv
"""

OUTPUTS = "outputs: [{stream: Some, schema: Row}]"


def compiled(
    directory: Path, operator: str = "Filter", parameters: str = "{}", implementation: str = "absent:Absent",
    outputs: str = "", last: str = "Some", place: str = "out",
) -> PlannedCompilation:  # fmt: skip
    (directory / "rows.csv").write_text("n,s\n1,a\n")
    spec = directory / "app.yaml"
    spec.write_text(
        SPEC.format(
            operator=operator, parameters=parameters, implementation=implementation, outputs=outputs, last=last,
            place=place,
        )
    )  # fmt: skip
    return compile_spec(spec)


def only(compilation: PlannedCompilation, code: str, operator: str = "Some") -> str:
    (actual,) = check_operators(compilation.progress)
    assert (actual.code, actual.severity, actual.operator) == (code, "error", operator)
    assert actual.location.startswith(str(compilation.logical.operators[0].location).rpartition(":")[0])
    return actual.message


class Raising(Operator):
    @classmethod
    def check(cls, context: Any, parameters: Any) -> None:
        {}["absent"]

    def process(self, port: int, batch: TupleBatch) -> None:
        pass


class Misspelled(Operator):
    def proces(self, port: int, batch: TupleBatch) -> None:
        self.submit(batch)


class Silent(Operator):
    pass


class MarksOnly(Operator):
    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        pass


class Endless(SourceOperator):
    pass


class NotAnOperator:
    pass


def test_a_sound_application_has_no_diagnostics(tmp_path: Path):
    assert check_operators(compiled(tmp_path, parameters="{filter: n > 0}").progress) == []


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("{filtre: n > 0}", "there is no parameter filtre; .*filter"),
        ("{filter: 7}", "the parameter filter is a text, not 7"),
    ],
)
def test_a_wrong_parameter_is_named_with_the_nearest_one(tmp_path: Path, parameters: str, message: str):
    assert re.search(message, only(compiled(tmp_path, parameters=parameters), "SO5003"))


def test_a_wrong_parameter_is_named_with_its_own_line(tmp_path: Path):
    """One that is missing has that of the operator."""
    spec = tmp_path / "app.yaml"
    spec.write_text(LINES)
    wrong = {each.message: each.location for each in check_operators(compile_spec(spec).progress)}
    assert wrong == {
        "the parameter iterations is an integer, not 'ten'": f"{spec}:8",
        "there is no parameter perod; the nearest is period": f"{spec}:9",
        "the parameter file is missing": f"{spec}:10",
    }


def test_a_missing_parameter_is_named(tmp_path: Path):
    compilation = compiled(tmp_path, "Aggregate", "{output: {n: Count()}}")
    assert only(compilation, "SO5003") == "the parameter window is missing"


def test_several_wrong_parameters_are_reported_together(tmp_path: Path):
    compilation = compiled(tmp_path, "Aggregate", "{windo: x, output: 3}")
    actual = [diagnostic.message for diagnostic in check_operators(compilation.progress)]
    assert len(actual) == 3
    assert any("there is no parameter windo; " in message and "window" in message for message in actual)


def test_parameters_that_do_not_go_together_are_told_in_the_operator_s_words(tmp_path: Path):
    wrong = "{window: 'tumbling, count(2)', partitionBy: [s], output: {n: Count()}}"
    message = only(compiled(tmp_path, "Aggregate", wrong, outputs=OUTPUTS), "SO5003")
    assert message == "partitionBy and a window that is 'partitioned' require each other; give both or neither"


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
        (f"{__name__}:NotAnOperator", "not a subclass of streams_orchestration.operators.Operator"),
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


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (
            "Misspelled",
            "Misspelled has no method process, so every tuple that arrives would be dropped; the nearest is proces",
        ),
        ("Silent", "Silent has no method process, so every tuple that arrives would be dropped"),
    ],
)
def test_a_class_that_would_drop_every_tuple_is_named(tmp_path: Path, kind: str, wanted: str):
    compilation = compiled(tmp_path, "Mine", implementation=f"{__name__}:{kind}", outputs=OUTPUTS)
    assert only(compilation, "SO5002") == wanted
    with pytest.raises(ValueError, match=re.escape(wanted)):
        OperatorHarness(globals()[kind], ["a int"], ["a int"])


def test_a_class_may_handle_marks_only_and_a_source_makes_tuples(tmp_path: Path):
    compilation = compiled(tmp_path, "Mine", implementation=f"{__name__}:MarksOnly", outputs=OUTPUTS)
    assert check_operators(compilation.progress) == []
    assert wrong_method(Endless, 0) == "Endless has no method produce, so it would never make a tuple"


def test_any_error_of_an_operator_s_own_check_becomes_a_diagnostic(tmp_path: Path):
    compilation = compiled(tmp_path, "Mine", implementation=f"{__name__}:Raising", outputs=OUTPUTS)
    assert only(compilation, "SO5004") == "KeyError: 'absent'"


def test_an_operator_without_an_implementation_can_be_compiled_only(tmp_path: Path):
    compilation = compiled(tmp_path, "JavaOp", last="Some")
    assert "JavaOp has no implementation that could run" in only(compilation, "SO5001")
    assert check_parameters(compilation.progress) == []


def test_two_sinks_cannot_share_a_directory(tmp_path: Path):
    compilation = compiled(tmp_path, "FileSink", "{file: out}", last="Rows", outputs="outputs: []")
    assert "out: Some publishes into this directory, too" in only(compilation, "SO5004", "Sink")


def test_faults_that_only_matter_on_this_machine_are_not_found_when_compiling(tmp_path: Path):
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
    assert check_parameters(compilation.progress) == []
    wrong_here = {diagnostic.operator for diagnostic in check_operators(compilation.progress)}
    assert wrong_here == {"S", "F", "G", "M", "A", "K", "C", "D", "E"}


def test_a_condition_may_be_a_truth_value(tmp_path: Path):
    for kind, parameters in (("Filter", "{filter: true}"), ("Functor", "{filter: false}")):
        assert check_parameters(compiled(tmp_path, kind, parameters).progress) == []
    assert check_parameters(compiled(tmp_path, "Punctor", "{punctuate: true, position: after}").progress) == []


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ('{fliter: "a > 3"}', "the nearest is filter"),
        ("{filter: 5}", "the parameter filter is a text, not 5"),
        ('{filter: "b > 3"}', "the attribute b, which the stream does not have"),
    ],
)
def test_faults_that_matter_on_every_machine_are_found_when_compiling(tmp_path: Path, parameters: str, message: str):
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
    (actual,) = check_parameters(compile_spec(spec).progress)
    assert (actual.operator, actual.severity) == ("F", "error")
    assert message in actual.message
    assert actual.location.endswith("spec.yaml:6")


def enumerations() -> list[tuple[str, str, tuple[str, ...]]]:
    """Operator, parameter and values of every enumeration and truth value that a standard operator takes."""
    triples = []
    for name in sorted(STANDARD):
        for field, about in import_operator(STANDARD[name]).Parameters.model_fields.items():
            if get_origin(about.annotation) in (dict, tuple, list):
                continue  # takes several values, and says so in other words
            kinds = (about.annotation, *get_args(about.annotation))
            values = tuple(dict.fromkeys(each for kind in kinds for each in get_args(kind) if isinstance(each, str)))
            if values or bool in kinds:
                triples.append((name, about.alias or field, values or ("true", "false")))
    known = {(name, parameter) for name, parameter, _ in triples}
    return triples + [
        (name, parameter, values)
        for name, of_it in STREAMS_VALUES.items()
        for parameter, values in of_it.items()
        if (name, parameter) not in known
    ]


def of_one(directory: Path, operator: str, parameters: dict[str, Any]) -> list[Diagnostic]:
    """Return the findings of compiling an operator with these parameters in line 5."""
    ports = STANDARD_SIGNATURES[operator]
    invocation = {"name": "X", "operator": operator, "parameters": parameters, "inputs": ["S"] * ports.least_inputs}
    invocation["outputs"] = [
        {"stream": f"X{i}"} | ({} if operator == "Delay" else {"schema": "n int"}) for i in range(ports.least_outputs)
    ]
    if "interleave" in parameters:
        invocation["annotations"] = {"eventTime": {"eventTimeAttribute": "n"}}
        invocation["outputs"] = [{"stream": "X0", "schema": "n bigint"}]
    spec = directory / "one.yaml"
    timed = operator in ("Delay", "FileSink")
    notes: dict[str, Any] = {"eventTime": {"eventTimeAttribute": "at"}} if timed else {}
    if "truncateOnReset" in parameters:
        notes = {"consistent": {"trigger": "periodic", "period": 1.0}}
    schema = "n int, at bigint" if timed else "n int"
    source = {"name": "S", "operator": "Beacon", "outputs": [{"stream": "S", "schema": schema}], "annotations": notes}
    head = "specVersion: 1\napplication: one\ngraph:"
    spec.write_text(f"{head}\n  - {json.dumps(source)}\n  - {json.dumps(invocation)}\n")
    return [diagnostic for diagnostic in check_parameters(compile_spec(spec).progress) if diagnostic.code == "SO5003"]


@pytest.mark.parametrize(("operator", "parameter", "values"), enumerations())
def test_a_value_that_is_none_of_a_parameter_s_is_said_when_compiling(
    tmp_path: Path, operator: str, parameter: str, values: tuple[str, ...]
):
    truth = "true" in values
    wrong = "maybe" if truth else f"{values[0][:-1]}_{values[0][-1]}"
    (actual,) = of_one(tmp_path, operator, {parameter: wrong})
    hint = "" if truth else f"; the nearest is {values[0]}"
    *earlier, last = values
    listed = f"{', '.join(earlier)} or {last}" if earlier else last
    assert actual.message == f"the parameter {parameter} is {listed}, not '{wrong}'{hint}"
    assert (actual.severity, actual.location) == ("error", f"{tmp_path / 'one.yaml'}:5")
    for value in values:
        assert of_one(tmp_path, operator, {parameter: value}) == []


def test_a_value_of_streams_that_cannot_be_used_here_compiles_and_is_not_deployed(tmp_path: Path):
    compilation = compiled(tmp_path, "FileSink", "{file: x, format: txt}", last="Rows", outputs="outputs: []")
    assert check_parameters(compilation.progress) == []
    message = only(compilation, "SO5003")
    assert message.startswith(
        "the value txt of the parameter format of Streams cannot be used here; use parquet, csv, jsonl, arrow, "
    )


@pytest.mark.parametrize("file", ["absent.csv", "absent/*.csv", "absent/absent.csv", "package://absent_package/x.csv"])
def test_a_missing_input_file_is_a_warning_when_compiling_and_an_error_when_deploying(tmp_path: Path, file: str):
    spec = tmp_path / "spec.yaml"
    source = (
        f"{{name: S, operator: FileSource, outputs: [{{stream: S, schema: n int}}], parameters: {{file: {file!r}}}}}"
    )
    spec.write_text(f"specVersion: 1\napplication: one\ngraph:\n  - {source}\n")
    compilation = compile_spec(spec)
    (warning,) = check_parameters(compilation.progress)
    (error,) = check_operators(compilation.progress)
    assert (warning.code, warning.severity, warning.location) == ("SO5008", "warning", f"{spec}:4")
    assert (error.code, error.severity, error.location) == ("SO5004", "error", f"{spec}:4")
    assert warning.message == error.message
    assert (file if file.startswith("package:") else str(tmp_path / file)) in warning.message


def test_an_input_file_that_is_there_is_no_matter(tmp_path: Path):
    assert check_parameters(compiled(tmp_path).progress) == []
