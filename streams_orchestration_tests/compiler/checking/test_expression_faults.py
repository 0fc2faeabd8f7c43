"""All wrong expressions of an application are reported at once, each at its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.compiler.checking.checked import with_findings_of_operators
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import CompileError
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.model.diagnostics import ApplicationError, Diagnostic, errors_of
from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Parameters
from streams_orchestration.operators.errors.errors import FaultyExpressionError
from streams_orchestration.operators.errors.faults import all_faults
from streams_orchestration.operators.expressions.evaluation import parse_expression
from streams_orchestration_tests.specs import cases

FAULTS = cases("expression_faults.yaml")
HEAD = """\
specVersion: 1
application: Wrong
graph:
  - {operator: Beacon, name: In, outputs: [{stream: In, schema: "n int, s string, x double"}]}
"""


def found(text: str, directory: Path) -> list[Diagnostic]:
    spec = directory / "app.yaml"
    spec.write_text(text)
    try:
        deployable(compile_spec(spec))
    except CompileError as error:
        return errors_of(with_findings_of_operators(error, deploys=True).diagnostics)
    except ApplicationError as error:
        return errors_of(error.diagnostics)
    return []


@pytest.mark.parametrize("identity", FAULTS)
def test_all_wrong_expressions_are_reported_at_their_places(identity: str, tmp_path: Path):
    case = FAULTS[identity]
    graph = "".join(f"  {line}\n" for line in case["graph"].splitlines())
    errors = [f"{each.location.rpartition('.yaml:')[2]}:{each.column}: {each.message}" if each.column
              else each.message for each in found(HEAD + graph, tmp_path)]  # fmt: skip
    missing = [fault for fault in case["faults"] if not any(fault in error for error in errors)]
    assert (missing, len(errors)) == ([], len(case["faults"])), errors


class TwoConditions(Operator):
    class Parameters(Parameters):
        first: str
        second: str

    @classmethod
    def check(cls, context: OperatorContext, parameters: TwoConditions.Parameters) -> None:
        first = parse_expression(parameters.first, context.inputs[0], "first", context.zone)
        second = parse_expression(parameters.second, context.inputs[0], "second", context.zone)
        if first.type != second.type:
            message = "first and second are of other types"
            raise ValueError(message)


class WithFallback(Operator):
    class Parameters(Parameters):
        text: str

    @classmethod
    def check(cls, context: OperatorContext, parameters: WithFallback.Parameters) -> None:
        try:
            parse_expression(parameters.text, context.inputs[0], "text", context.zone)
        except FaultyExpressionError:
            parse_expression("n", context.inputs[0], "text", context.zone)


@pytest.mark.parametrize(
    ("kind", "parameters", "faults"),
    [
        (TwoConditions, {"first": "n", "second": "x"}, ["of other types"]),
        (TwoConditions, {"first": "n +", "second": "x"}, ["first: 'n +'"]),
        (TwoConditions, {"first": "n +", "second": "y"}, ["first: 'n +'", "second: 'y'"]),
        (WithFallback, {"text": "n +"}, []),
    ],
)
def test_an_operator_of_a_user_reports_no_effects_of_its_faults(
    kind: type[Operator], parameters: dict[str, str], faults: list[str]
):
    context = OperatorContext.declared("Mine", ["n int, x double"], [], Path(), ["In"])
    errors = all_faults(lambda: kind.check(context, kind.Parameters(**parameters)), standard=False)
    assert len(errors) == len(faults)
    assert all(fault in str(error) for fault, error in zip(faults, errors, strict=True))
