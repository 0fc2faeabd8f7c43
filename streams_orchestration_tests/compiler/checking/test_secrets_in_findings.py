"""No finding repeats a secret that stands in a spec or is given to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.compiler.checking.checking import check_operators
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Parameters
from streams_orchestration.operators.tuples.batch import TupleBatch

SPEC = """\
specVersion: 1
application: app
submission: {{password: {{type: {type}, default: {default}}}}}
operators:
  Mine: {{implementation: "{module}:Talkative", outputs: []}}
graph:
  - name: Made
    operator: Beacon
    outputs: [{{stream: Made, schema: n bigint}}]
    parameters: {{iterations: 1}}
  - name: Out
    operator: {operator}
    inputs: [Made]
    parameters: {parameters}
  - {{name: Rest, operator: Custom, inputs: [Made], parameters: {{state: "${{password}}"}}}}
"""


class TalkativeParameters(Parameters):
    url: str = ""
    token: int = 0
    passwords: list[int] = []  # noqa: RUF012  a field of pydantic
    size: int = 0
    api_secret: str = ""


class Talkative(Operator):
    Parameters = TalkativeParameters

    @classmethod
    def check(cls, context: OperatorContext, parameters: TalkativeParameters) -> None:
        message = f"{parameters.api_secret} and {parameters.url} do not go together"
        raise ValueError(message)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Take nothing."""


def messages(directory: Path, operator: str, parameters: str, submission: dict[str, str], declared: str) -> list[str]:
    type_, default = declared.split()
    spec = directory / "app.yaml"
    spec.write_text(SPEC.format(module=__name__, operator=operator, parameters=parameters, type=type_, default=default))
    try:
        done = compile_spec(spec, Options(submission=submission))
    except ApplicationError as error:
        return [str(each) for each in error.diagnostics]
    return [str(each) for each in (*done.diagnostics, *check_operators(done.progress))]


CASES = [
    ("HttpSink", "{url: 'http://user:planted/a@planted@host/'}", "SO5003"),
    ("HttpSink", "{url: 'http://host:planted/'}", "SO5003"),
    ("HttpSink", "{url: 'htp://host/?token=planted'}", "SO5003"),
    ("HttpSink", "{url: [planted]}", "SO5003"),
    ("Mine", "{token: planted}", "SO5003"),
    ("Mine", "{passwords: [planted]}", "SO5003"),
    ("Mine", "{size: 'amqp://me:planted/a@planted@host'}", "SO5003"),
    ("Mine", "{size: {token: planted}}", "SO5003"),
    ("Mine", "{size: 'http://host/?key=planted&page=2'}", "SO5003"),
    ("Mine", "{api_secret: planted}", "SO5004"),
    ("Mine", "{url: 'amqp://me:planted/a@planted@host'}", "SO5004"),
    ("Export", "{properties: {apiToken: {value: planted}}}", "SO5006"),
]


@pytest.mark.parametrize(("operator", "parameters", "code"), CASES)
def test_no_finding_repeats_a_secret_of_a_parameter(tmp_path: Path, operator: str, parameters: str, code: str):
    found = messages(tmp_path, operator, parameters, {}, "rstring a")
    assert any(code in each for each in found)
    assert [each for each in found if "planted" in each] == []


@pytest.mark.parametrize(
    ("declared", "given", "code"),
    [
        ("int32 1", {"password": "planted"}, "SO0203"),
        ("int32 planted", {}, "SO0203"),
        ("rstring planted", {}, "SO5003"),
    ],
)
def test_no_finding_repeats_a_secret_submission_time_value(
    tmp_path: Path, declared: str, given: dict[str, str], code: str
):
    found = messages(tmp_path, "Mine", "{}", given, declared)
    assert any(code in each for each in found)
    assert [each for each in found if "planted" in each] == []


def test_a_finding_still_names_a_value_that_is_no_secret(tmp_path: Path):
    found = messages(tmp_path, "Mine", "{size: ten}", {}, "rstring a")
    assert any("the parameter size is an integer, not 'ten'" in each for each in found)
