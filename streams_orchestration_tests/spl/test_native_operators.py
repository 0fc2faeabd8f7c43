"""Native operators: classes of the companion run with the parameters of the invocation as Python values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from streams_orchestration.builder.testing import run_in_process
from streams_orchestration.cli.converting import convert
from streams_orchestration.compiler.checking.checked import checked
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_read, compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.reading import read_application, read_tree
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic, errors_of
from streams_orchestration.operators import Evaluable, Parameters, TupleBatch
from streams_orchestration.runtime.stepping import StepError

MODEL = """<operatorModel><cppOperatorModel><context>
  <customLiterals><enumeration><name>Mode</name><value>fast</value><value>exact</value></enumeration></customLiterals>
  <customOutputFunctions><customOutputFunction><name>Of</name>
    <function><prototype><![CDATA[<any T> T AsIs(T v)]]></prototype></function>
    <function><prototype>float64 season(int32 n)</prototype></function>
  </customOutputFunction></customOutputFunctions></context>
<parameters><allowAny>false</allowAny>
  <parameter><name>mode</name><optional>true</optional><expressionMode>CustomLiteral</expressionMode><type>Mode</type>
  </parameter>
  <parameter><name>address</name><optional>false</optional><expressionMode>Expression</expressionMode>
    <type>rstring</type><cardinality>1</cardinality></parameter>
  <parameter><name>limits</name><optional>true</optional><expressionMode>Constant</expressionMode><type>int32</type>
    <cardinality>-1</cardinality></parameter>
  <parameter><name>key</name><optional>true</optional><expressionMode>Attribute</expressionMode></parameter>
</parameters>
<inputPorts><inputPortSet><windowingMode>NonWindowed</windowingMode><cardinality>1</cardinality></inputPortSet>
  <inputPortSet><windowingMode>NonWindowed</windowingMode><controlPort>true</controlPort><cardinality>1</cardinality>
    <optional>true</optional></inputPortSet></inputPorts>
<outputPorts><outputPortSet><expressionMode>Expression</expressionMode><autoAssignment>true</autoAssignment>
  <outputFunctions><default>AsIs</default><type>Of</type></outputFunctions>
  <windowPunctuationOutputMode>Preserving</windowPunctuationOutputMode><cardinality>1</cardinality></outputPortSet>
</outputPorts></cppOperatorModel></operatorModel>
"""
MAIN = """namespace app;
use com.acme::*;
rstring tidy(rstring s) { return upper(s) + "!"; }
composite Main {
  graph
    stream<int32 n, rstring name> Src = Beacon() {
      param iterations : 3;
      output Src : n = (int32) IterationCount(), name = "Name" + (rstring) IterationCount();
    }
    stream<int32 n, rstring name, float64 lat> Placed = Geocode(Src) {
      param mode : exact; address : ADDRESS; limits : 2 + 3, 7; key : n;
      output Placed : lat = season(12 / (n + 1));
    }
    () as Out = FileSink(Placed) { param file : "placed.csv"; }
}
"""
PYTHON = """from streams_orchestration.operators import Evaluable, Operator, Parameters, TupleBatch


class GeocodeParameters(Parameters):
    address: Evaluable
    output: dict[str, Evaluable] = {}
    mode: str = "fast"
    limits: list[int] = []
    key: str = ""


class Geocode(Operator):
    Parameters = GeocodeParameters

    def process(self, port: int, batch: TupleBatch) -> None:
        given = self.parameters
        assert (given.mode, given.limits, given.key) == ("exact", [5, 7], "n")
        lat = given.output["lat"]
        assert lat.function == "season"
        columns = {
            "n": batch.column("n"),
            "name": given.address.evaluate(batch),
            "lat": lat.arguments[0].evaluate(batch),
        }
        self.submit(TupleBatch.from_columns(columns, self.context.output_schema(0)))
"""
WANTED = [
    {"n": 0, "name": "NAME0!", "lat": 12.0},
    {"n": 1, "name": "NAME1!", "lat": 6.0},
    {"n": 2, "name": "NAME2!", "lat": 4.0},
]


def application(
    directory: Path, module: str, entry: str | None = "{module}:Geocode", address: str = "tidy(name)"
) -> Path:
    model = directory / "toolkit" / "com.acme" / "Geocode" / "Geocode.xml"
    model.parent.mkdir(parents=True)
    model.write_text(MODEL)
    (directory / "app").mkdir()
    (directory / "app" / f"{module}.py").write_text(PYTHON)
    main = directory / "app" / "Main.spl"
    main.write_text(MAIN.replace("ADDRESS", address))
    named = "" if entry is None else f"operators:\n  com.acme::Geocode: {entry.format(module=module)}\n"
    main.with_name("Main.spl.yaml").write_text(f"toolkits: [../toolkit]\n{named}")
    return main


def rows(file: Path) -> list[dict[str, Any]]:
    document, _ = read_tree(file)
    return run_in_process(document, {})["Out"].to_pylist()


def test_a_class_runs_with_constants_words_names_and_expressions(tmp_path: Path):
    main = application(tmp_path, "geocode_that_runs")
    assert errors_of(checked(compile_spec(main)).diagnostics) == []
    assert rows(main) == WANTED
    spec = tmp_path / "app" / "converted.yaml"
    assert convert(main, Options(), spec) == 0
    assert rows(spec) == WANTED


def test_ports_come_from_the_model_and_the_companion_is_stronger(tmp_path: Path):
    entry = "{{implementation: '{module}:Geocode', stateful: false, outputs: [{{mutable: false}}]}}"
    main = application(tmp_path, "geocode_with_ports", entry)
    document, _ = read_tree(main)
    assert document["operators"] == {
        "com.acme::Geocode": {
            "implementation": "geocode_with_ports:Geocode",
            "inputs": [{"mutable": False}],
            "outputs": [{"mutable": False}],
            "stateful": False,
        }
    }
    main.with_name("Main.spl.yaml").write_text("toolkits: [../toolkit]\n")
    main.write_text(main.read_text().replace("Geocode(Src)", "Geocode(Src; Src)"))
    document, found = read_tree(main)
    assert [each.code for each in found if each.severity == "error"] == ["CDISP0018E", "CDISP0018E", "CDISP0018E"]
    main.write_text(main.read_text().replace("tidy(name)", '"a"').replace("key : n;", "").replace("(n + 1)", "2"))
    document, found = read_tree(main)
    assert [(each.code, each.severity) for each in found] == [("SO0710", "warning")]
    assert document["operators"]["com.acme::Geocode"] == {
        "inputs": [{"mutable": False}, {"mutable": False, "control": True}],
        "outputs": [{"mutable": True, "preservesWindowPunctuation": True}],
        "stateful": True,
    }


def test_an_operator_without_a_class_compiles_and_is_not_deployed(tmp_path: Path):
    main = application(tmp_path, "geocode_without_class", None)
    (warning,) = read_application(main).diagnostics
    assert (warning.code, warning.severity, warning.location) == ("SO0710", "warning", f"{main}:10:57")
    assert "Main.spl.yaml: operators: {com.acme::Geocode: package.module:Class}" in warning.message
    with pytest.raises(ApplicationError) as raised:
        deployable(compile_read(read_application(main)))
    (error,) = errors_of(raised.value.diagnostics)
    assert (error.code, error.operator, error.location) == ("SO0710", "Placed", f"{main}:10:48")


def compiling(main: Path) -> list[Diagnostic]:
    with pytest.raises(ApplicationError) as raised:
        checked(compile_spec(main))
    return errors_of(raised.value.diagnostics)


@pytest.mark.parametrize(
    ("before", "after", "code", "place", "words"),
    [
        ("    key: str", "    other: str", "SO5003", "11:66", "key"),
        ("limits: list[int]", "limits: list[str]", "SO5003", "11:45", "limits"),
        ("    mode: str", "    wanted: int\n    mode: str", "SO5003", "10:57", "wanted"),
        ("process(", "proces(", "SO5002", "10:57", "has no method process"),
        (
            "port: int, batch: TupleBatch",
            "batch: TupleBatch",
            "SO5002",
            "10:57",
            "cannot be called as process(port, batch)",
        ),
        ("class Geocode(", "class Geo(", "SO5002", "10:57", "has no Geocode"),
        (
            "    Parameters =",
            "    model = OperatorModel(inputs=())\n    Parameters =",
            "SO5004",
            "10:57",
            "no input ports",
        ),
        (
            "    Parameters =",
            "    model = OperatorModel(outputs=())\n    Parameters =",
            "SO5004",
            "10:57",
            "no output ports",
        ),
    ],
)
def test_a_class_that_does_not_fit_its_invocation_is_found_when_compiling(
    tmp_path: Path, before: str, after: str, code: str, place: str, words: str
):
    module = f"geocode_{abs(hash((before, after)))}"
    main = application(tmp_path, module)
    imported = "from streams_orchestration.model.operators import OperatorModel\n"
    assert before in PYTHON
    (tmp_path / "app" / f"{module}.py").write_text(imported + PYTHON.replace(before, after, 1))
    first = compiling(main)[0]
    assert (first.code, first.operator) == (code, "Placed")
    assert first.location.startswith(f"{main}:{place.partition(':')[0]}:")
    assert words in first.message


@pytest.mark.slow
def test_logic_runs_beside_a_native_operator(tmp_path: Path):
    plain = rows(application(tmp_path, "geocode_without_logic"))
    (tmp_path / "logic").mkdir()
    main = application(tmp_path / "logic", "geocode_with_logic")
    logic = "logic state : mutable int32 seen = 0; onTuple Src : { seen++; println(n + seen); }\n      param mode"
    main.write_text(main.read_text().replace("param mode", logic))
    assert rows(main) == plain


def test_an_expression_without_a_value_names_the_place_and_the_tuple(tmp_path: Path):
    main = application(tmp_path, "geocode_that_fails", address="substring(name, n * 9, 1)")
    with pytest.raises(StepError) as raised:
        rows(main)
    assert "operator Placed" in str(raised.value)
    assert f"{main}:11" in str(raised.value)
    assert "Name1" in str(raised.value)


class Wanted(Parameters):
    """Parameters with values of every kind."""

    by: Evaluable
    many: tuple[Evaluable, ...] = ()
    rest: Any = None


def test_parameters_hold_expressions_in_lists_and_mappings():
    batch = TupleBatch(pa.record_batch({"n": pa.array([1, 2], pa.int32())}))
    program = {"spl": "In.n + 1", "types": {"In": ""}}
    given = Wanted.model_validate({"by": 3, "many": [program], "rest": {"a": program}})
    assert given.by.evaluate(batch).to_pylist() == [3, 3]
    assert given.many[0].evaluate(batch).to_pylist() == given.rest["a"].evaluate(batch).to_pylist() == [2, 3]
    assert given.many == (given.rest["a"],)
    with pytest.raises(ValueError, match="several input ports: In, Other"):
        Wanted.model_validate({"by": {"spl": "In.n + Other.n", "types": {"In": "", "Other": ""}}})
