"""No connector shows a secret: not in what people look at, not in what is stored, not in errors and logs."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast
from unittest.mock import Mock

import pyarrow as pa
import pytest
import yaml

from streams_orchestration.cli import main
from streams_orchestration.compiler.checking.checking import check_operators
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.journal.source import JournalSource
from streams_orchestration.operators.kafka import producer, reader
from streams_orchestration.operators.references import unresolved
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import EpochSink
from streams_orchestration.operators.standard import STANDARD
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.orchestration.lineage import render_lineage
from streams_orchestration.orchestration.lineage_assets import external_assets
from streams_orchestration.runtime.lineage.graph import build_lineage_graph
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.runtime.locked import deploy_plan

SECRET, REFERENCE = "planted-Secret-4711", "${env:PLANTED}"
NOWHERE = "127.0.0.1:1"
KAFKA = {
    "brokers": NOWHERE,
    "topic": "t",
    "format": "avro",
    "client": {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": "u",
               "sasl.password": "$", "ssl.key.pem": "$"},
    "registry": {"url": f"http://{NOWHERE}", "user": "u", "password": "$", "headers": {"X-Token": "$"}},
}  # fmt: skip
S3 = {"endpoint": f"http://{NOWHERE}", "accessKey": "$", "secretKey": "$", "sessionToken": "$"}
CATALOG = {"type": "rest", "uri": f"http://{NOWHERE}", "token": "$", "credential": "$", "s3.secret-access-key": "$"}
URL = f"postgresql://u:$@{NOWHERE}/d"
PARAMETERS: dict[str, dict[str, Any]] = {
    "DeltaSink": {"table": "s3://b/t", "storage": S3},
    "DeltaSource": {"table": "s3://b/t", "storage": S3},
    "DirectoryScan": {"directory": "s3://b/d", "storage": S3},
    "FileSink": {"file": "s3://b/f.csv", "format": "csv", "storage": S3},
    "FileSource": {"file": "s3://b/f.csv", "format": "csv", "storage": S3},
    "HttpSink": {"url": f"http://{NOWHERE}/hook", "token": "$", "headers": {"X-Api-Key": "$"}},
    "HttpSource": {"port": 0, "token": "$"},
    "IcebergSink": {"catalog": CATALOG, "table": "a.b"},
    "IcebergSource": {"catalog": CATALOG, "table": "a.b"},
    "KafkaSink": KAFKA,
    "KafkaSource": KAFKA,
    "MQTTSource": {"url": f"mqtt://{NOWHERE}", "topics": ["t"], "user": "u", "password": "$"},
    "NATSSource": {"url": f"nats://{NOWHERE}", "stream": "S", "token": "$"},
    "PostgresChangeSource": {"url": URL, "table": "t", "slot": "s", "publication": "p", "changes": ["insert"]},
    "RedisSource": {"url": f"redis://{NOWHERE}", "stream": "s", "user": "u", "password": "$"},
    "SqlSink": {"url": URL, "table": "t"},
    "SqlSource": {"url": URL, "table": "t", "column": "n"},
}
"""Every connector that takes a secret; `$` stands for one."""
SCHEMA = "file string"
FAILS_AT_ONCE = [kind for kind, each in PARAMETERS.items() if not {"storage", "catalog"} & each.keys()]
"""The kinds for which an absent server is noticed quickly; libraries of lakes and object stores try for minutes."""


def with_secrets(value: Any, secret: str, only: Sequence[str] = ()) -> Any:
    """Parameters with something in the place of each secret, or of the one at a place."""
    if isinstance(value, dict):
        return {
            name: with_secrets(each, secret if not only or name == only[0] else REFERENCE, only[1:] if only else ())
            for name, each in value.items()
        }
    return value.replace("$", secret) if isinstance(value, str) else value


def places(parameters: dict[str, Any], before: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the places of secrets among parameters."""
    for name, each in parameters.items():
        if isinstance(each, dict):
            yield from places(each, (*before, name))
        elif isinstance(each, str) and "$" in each:
            yield (*before, name)


def schema_of(kind: str) -> str:
    return "n bigint" if kind == "SqlSource" else "file string"


def graph_of(kind: str, parameters: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a source, or a sink and what it reads."""
    stream = [{"stream": f"Of{kind}", "schema": schema_of(kind)}]
    if kind.endswith("Source") or kind == "DirectoryScan":
        return [{"name": kind, "operator": kind, "outputs": stream, "parameters": parameters}]
    source = {"name": f"Of{kind}", "operator": "Beacon", "outputs": stream, "parameters": {"iterations": 1}}
    return [source, {"name": kind, "operator": kind, "inputs": [f"Of{kind}"], "parameters": parameters}]


def written(directory: Path, graph: list[dict[str, Any]]) -> Path:
    path = directory / "secret.yaml"
    path.write_text(yaml.safe_dump({"specVersion": 1, "application": "secret", "graph": graph}))
    return path


def of_dagster(compilation: PlannedCompilation) -> list[str]:
    """Return the texts that Dagster shows of the assets, and the text of `streams lineage`."""
    lineage = build_lineage_graph(compilation)
    assets = [str((asset.metadata, asset.description, asset.tags, asset.kinds)) for asset in external_assets(lineage)]
    return [*assets, render_lineage(lineage, "spec")]


@pytest.fixture(autouse=True)
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED", SECRET)
    monkeypatch.setenv("STREAMS_HOME", str(tmp_path / "home"))


def test_every_connector_that_takes_a_secret_is_here():
    hidden = {
        kind for kind, name in STANDARD.items()
        if any(not field.repr for field in import_operator(name).Parameters.model_fields.values())
    }  # fmt: skip
    assert set(PARAMETERS) == hidden


def test_a_secret_that_is_named_is_in_nothing_that_is_shown_or_stored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    graph = [
        each
        for kind, of in PARAMETERS.items()
        if kind != "FileSink"  # a deployment looks for the files that it has written before
        for each in graph_of(kind, with_secrets(of, REFERENCE))
    ]
    path = written(tmp_path, graph)
    compilation = compile_spec(path)
    assert [str(finding) for finding in check_operators(compilation.progress)] == []
    home = Home(tmp_path / "home")
    deploy_plan(home, deployable(compilation))
    commands = [
        ["compile", str(path)],
        ["explain", str(path), "KafkaSource"],
        ["graph", str(path)],
        ["status", "secret"],
    ]
    for command in (*commands, ["status", "secret", "--format", "json"]):
        assert main(command) == 0
    shown = capsys.readouterr()
    stored = [file.read_bytes().decode(errors="replace") for file in home.root.rglob("*") if file.is_file()]
    assert any("PLANTED" in text for text in stored)
    for text in (shown.out, shown.err, *of_dagster(compilation), *stored):
        assert SECRET not in text


@pytest.mark.parametrize(
    ("kind", "place"), [(kind, place) for kind, of in PARAMETERS.items() for place in places(of)], ids=str
)
def test_a_secret_that_is_written_out_is_refused_and_not_repeated(tmp_path: Path, kind: str, place: tuple[str, ...]):
    path = written(tmp_path, graph_of(kind, with_secrets(PARAMETERS[kind], SECRET, place)))
    compilation = compile_spec(path)
    findings = [str(finding) for finding in check_operators(compilation.progress)]
    assert findings
    for text in (*findings, *of_dagster(compilation), *map(str, compilation.diagnostics)):
        assert SECRET not in text


@pytest.mark.parametrize(
    ("kind", "place"), [(kind, place) for kind, of in PARAMETERS.items() for place in places(of)], ids=str
)
def test_a_reference_that_nothing_resolves_is_known_before_the_operator_runs(kind: str, place: tuple[str, ...]):
    errors = list(unresolved(with_secrets(PARAMETERS[kind], "${env:NOT_SET}", place)))
    assert [error.reason for error in errors] == [
        f"{': '.join(place)}: the environment variable NOT_SET is not set in the host's process"
    ]


@pytest.mark.slow
@pytest.mark.parametrize("kind", FAILS_AT_ONCE)
def test_a_server_that_is_not_there_has_errors_and_logs_without_the_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, kind: str
):
    for module in (producer, reader):
        monkeypatch.setattr(module, "CONNECT_SECONDS", 0.2)
    caplog.set_level(logging.DEBUG)
    schema = schema_of(kind)
    ports: dict[str, Any] = {"inputs": [schema]} if kind.endswith("Sink") else {"outputs": [schema]}
    texts: list[str] = []
    try:
        bench = Bench(
            import_operator(STANDARD[kind]), results=tmp_path, **ports, **with_secrets(PARAMETERS[kind], REFERENCE)
        )
        texts += [repr(bench.operator.parameters), bench.operator.destination(bench.context, bench.operator.parameters)]
        asyncio.run(asyncio.wait_for(used(bench), 20))
    except Exception:  # noqa: BLE001  whatever it is, it is shown
        texts.append(traceback.format_exc())
    assert texts[1]
    for text in (*texts, caplog.text):
        assert SECRET not in text


async def used(bench: Bench) -> None:
    """Let an operator try to reach its server."""
    operator = bench.operator
    if isinstance(operator, JournalSource):
        await asyncio.wait_for(operator.receive(cast("Any", Mock())), 0.3)
    elif isinstance(operator, EpochSink):
        operator.open()
        batch = TupleBatch(pa.RecordBatch.from_pylist([{"file": "a"}], schema=bench.context.inputs[0]))
        operator.deliver(DeliveryKey("life", "Out", 0, 1, 0, 1, "app"), iter([batch]))
    else:
        bench.produce({}, 10)
