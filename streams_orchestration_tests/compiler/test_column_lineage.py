"""The origins of columns over all operators of a compiled application."""

from __future__ import annotations

import pytest

from streams_orchestration.compiler.column_lineage import ColumnOrigins
from streams_orchestration.compiler.column_uses import IDENTITY
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration_tests.specs import read

SPEC = """
specVersion: 1
application: shares
graph:
  - operator: FileSource
    name: In
    outputs: [{stream: In, schema: "n bigint, m bigint"}]
    parameters: {file: in.csv, format: csv}
  - operator: OPERATOR
    name: Op
    inputs: [In]
    parameters: {PARAMETERS, output: {n: n DIV m, m: m DIV n}, onError: route}
    outputs: [{stream: Out, schema: "n bigint, m bigint"}, {stream: Failed, schema: "n bigint, reason string"}]
  - {operator: FileSink, name: A, inputs: [Out], parameters: {file: a.csv}}
  - {operator: FileSink, name: B, inputs: [Failed], parameters: {file: b.csv}}
"""


@pytest.mark.parametrize(
    ("operator", "parameters"), [("Functor", "filter: n > 0"), ("Punctor", "punctuate: n > 0, position: after")]
)
def test_a_failed_tuple_has_the_attributes_of_the_input_and_not_those_that_would_be_computed(
    operator: str, parameters: str
):
    compilation = compile_application(read(SPEC.replace("OPERATOR", operator).replace("PARAMETERS", parameters)))
    number = next(i for i, each in enumerate(compilation.physical.operators) if each.name == "Op")
    origins = ColumnOrigins(compilation, across_pes=True)
    assert set(origins.of_output(number, 0)["n"].columns) == {("sources/In", "n"), ("sources/In", "m")}
    assert origins.of_output(number, 1)["n"].columns == {("sources/In", "n"): frozenset({IDENTITY})}
