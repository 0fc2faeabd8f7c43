"""Without the extra an application compiles, and its deployment says how it is installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.checking.checking import check_operators, check_parameters
from streams_orchestration.compiler.compiling import compile_spec

SPEC = """
specVersion: 1
application: both
schemas: {Row: "n bigint"}
graph:
  - name: In
    operator: KafkaSource
    outputs: [{stream: In, schema: Row}]
    parameters: {brokers: "localhost:9092", topic: a, client: {sasl.password: "${env:PASSWORD}"}}
  - {name: Out, operator: KafkaSink, inputs: [In], parameters: {brokers: "localhost:9092", topic: b}}
"""


def test_an_application_compiles_and_its_deployment_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    find = importlib.util.find_spec

    def without(name: str, *rest: Any) -> Any:
        return None if name == "confluent_kafka" else find(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    (tmp_path / "both.yaml").write_text(SPEC)
    compilation = compile_spec(tmp_path / "both.yaml")
    assert check_parameters(compilation.progress) == []
    assert [finding.operator for finding in check_operators(compilation.progress)] == ["In", "Out"]
    for finding in check_operators(compilation.progress):
        assert "pip install 'streams-orchestration[kafka]'" in finding.message


@pytest.mark.parametrize(
    ("before", "after", "wanted"),
    [
        ("${env:PASSWORD}", "planted", "it contains a secret"),
        ("localhost:9092", "me:planted@localhost:9092", "the address contains a user or password"),
        ("sasl.password", "group.id", "group.id is set by the operator itself"),
        ("topic: a", "pattern: '['", "is not a regular expression"),
        ("topic: a", "pattern: 'a{99999999999}'", "a number of repetitions is too large"),
        ("topic: a,", "", "give either topic or pattern"),
        ("topic: a", "topic: a, startAt: tomorrow", "startAt is earliest, latest or a time"),
        ("topic: a", "topic: a, startAt: '2026-01-01T00:00:00'", "has no time zone"),
        ("topic: a", "topic: a, metadata: {n: weather}", "weather is not one of key"),
        ("topic: a", "topic: a, metadata: {n: key}", "n is bigint; key is a string or binary"),
        ("topic: a", "topic: a, onBadTuple: stream", "onBadTuple: stream and a second output port"),
    ],
)
def test_wrong_properties_of_kafka_are_reported_before_it_runs(tmp_path: Path, before: str, after: str, wanted: str):
    (tmp_path / "both.yaml").write_text(SPEC.replace(before, after, 1))
    findings = check_operators(compile_spec(tmp_path / "both.yaml").progress)
    assert wanted in findings[0].message
    assert "planted" not in str(findings)
