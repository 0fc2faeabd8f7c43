"""Errors in the annotations and configs of one invocation."""

from __future__ import annotations

import pytest

from streams_orchestration_tests.model.spec_texts import problems


def invocation(body: str, declarations: str = "") -> list[tuple[str, int, str]]:
    text = f"""\
application: a
operators: {{Work: {{}}, Replay: {{inputs: []}}}}
graph:
  - {{name: Src, operator: Beacon}}
  - {{name: X, operator: Work, inputs: [Src], {body}}}
{declarations}"""
    return [each for each in problems(text) if each[0] != "SO0110"]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("annotations: {consistent: {trigger: periodic}}", ["CDISP0840E"]),
        ("annotations: {parallel: {width: 0}, consistent: {trigger: periodic}}", ["CDISP0821E", "CDISP0840E"]),
        ("annotations: {consistent: {trigger: periodic, period: x}}", ["CDISP0811E"]),
        ("annotations: {consistent: {trigger: operatorDriven, period: 5.0}}", ["CDISP0841E"]),
        ("annotations: {consistent: {trigger: periodic, period: 5}}", []),
        ("annotations: {consistent: {trigger: periodic, period: '5'}}", ["CDISP0811E"]),
        (
            "annotations: {consistent: {trigger: periodic, period: 5.0, maxConsecutiveResetAttempts: 2.0}}",
            ["CDISP0811E"],
        ),
        ("annotations: {consistent: {period: 5.0}}", ["CDISP0799E"]),
        ("annotations: {consistent: }", ["CDISP0799E"]),
        ("annotations: {parallel: , autonomous: }", ["CDISP0799E", "CDISP0811E"]),
        ("annotations: {consistent: {trigger: periodic, period: 1.0, period: 2.0}}", ["CDISP0798E"]),
        ("annotations: {consistent: {trigger: periodic, period: 1.0, foo: 1}}", ["CDISP0797E"]),
        ("annotations: {consistent: {trigger: '${t}'}}", ["CDISP0678E"]),
        ("annotations: {consistent: {trigger: sometimes}}", ["SO0010"]),
        ("annotations: {consistant: {trigger: periodic, period: 1.0}}", ["CDISP0796E"]),
        ("annotations: {consistent: {trigger: periodic, period: 1.0}, autonomous: true}", ["CDISP0694E"]),
        ("annotations: {autonomous: 1}", ["CDISP0811E"]),
        ("annotations: {threading: {model: manual}}", ["CDISP0851E"]),
        ("annotations: {parallel: {width: 0}}", ["CDISP0821E"]),
        ("annotations: {parallel: {width: 2.0}}", ["CDISP0821E"]),
        ("annotations: {parallel: {}}", ["CDISP0799E"]),
        ("annotations: {parallel: {width: 2, partitionBy: []}}", ["CDISP0822E"]),
        ("annotations: {parallel: {width: 2, partitionBy: Src}}", ["CDISP0822E"]),
        ("annotations: {parallel: {width: 2, partitionBy: [{port: Src}]}}", ["CDISP0827E"]),
        ("annotations: {parallel: {width: 2, partitionBy: [{attributes: [a]}]}}", ["CDISP0827E"]),
        ("annotations: {parallel: {width: 2, partitionBy: [{port: Src, attributes: a}]}}", ["CDISP0829E"]),
        ("annotations: {parallel: {width: 2, partitionBy: [{port: Src, attributes: []}]}}", ["CDISP0829E"]),
        ("annotations: {parallel: {width: 2, replicateHostTags: kafka}}", ["CDISP0826E"]),
        ("annotations: {parallel: {width: 2, replicateHostTags: []}}", []),
        ("config: {checkpoint: {periodic: 0.0}}", ["CDISP0410E"]),
        ("config: {checkpoint: {periodic: 1.0, operatorDriven: true}}", ["CDISP0408E"]),
        ("config: {checkpoint: foo}", ["CDISP0407E"]),
        ("config: {checkpoint: {foo: 1}}", ["CDISP0407E"]),
        ("config: {checkpoint: operatorDriven}", []),
        ("config: {threadedPort: [{port: 0, queueSize: 0}]}", ["CDISP0090E"]),
        ("config: {threadedPort: [{port: 1}]}", ["SO0305"]),
        ("config: {threadedPort: [{port: 0}, {port: 0}]}", ["SO0403"]),
        ("config: {threadedPort: [{port: 0, congestionPolicy: Wait}]}", ["SO0010"]),
        ("config: {placement: {hostPool: nowhere}}", ["SO0404"]),
        ("config: {placement: {partitionColocation: ''}}", ["SO0009"]),
        ("config: {placement: {partitionColocation: 5}}", ["SO0009"]),
        ("config: {restartable: maybe}", ["SO0009"]),
        ("outputs: [{stream: X, rate: -1}]", ["SO0401"]),
        ("outputs: [{stream: X, schema: 'a int, a int'}]", ["SO0301"]),
        ("outputs: [X, X]", ["SO0104"]),
        ("outputs: [Src]", ["SO0104"]),
        ("parameters: {a: [{b: null, c: 1.5}]}", []),
    ],
)
def test_annotations_and_configs(body: str, expected: list[str]) -> None:
    actual = invocation(body)
    assert [code for code, _, _ in actual] == expected
    assert all(line == 5 for _, line, _ in actual)
