"""Tables of Delta Lake in an object store: the same as on this machine, with credentials by reference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.lakes.errors import LakeError
from streams_orchestration.operators.standard.systems.delta_sink import DeltaSink
from streams_orchestration.operators.standard.systems.delta_source import DeltaSource
from streams_orchestration_tests.operators.harness import Bench, Row
from streams_orchestration_tests.operators.lakes.lakes import SCHEMA, deliver, delivery
from streams_orchestration_tests.servers.s3 import S3, SECRET

pytestmark = [pytest.mark.slow, pytest.mark.parametrize("s3", ["moto"], indirect=True)]
ROWS = [("a", 1), ("b", 2), ("a", 3)]


def sink(tmp_path: Path, s3: S3, place: str, **parameters: Any) -> Bench:
    given = {"table": f"s3://bucket/{place}", "storage": s3.storage, "createTable": True} | parameters
    return Bench(DeltaSink, [SCHEMA], results=tmp_path, **given)


def rows(s3: S3, place: str) -> list[Row]:
    bench = Bench(DeltaSource, [], [SCHEMA], table=f"s3://bucket/{place}", storage=s3.storage, until="latest")
    produced = bench.produce()
    while not produced.exhausted:
        produced = bench.produce(produced.offset)
    return sorted(bench.rows())


@pytest.mark.parametrize("key", [[], ["k", "n"]])
def test_rows_that_are_written_are_read_back(tmp_path: Path, s3: S3, key: list[str]):
    place = f"table{len(key)}"
    bench = sink(tmp_path, s3, place, key=key, partitionBy=["k"])
    for epoch in (1, 1, 2, 1):
        deliver(bench, [(k, n + 10 * epoch) for k, n in ROWS], delivery(epoch), batches=2)
    assert rows(s3, place) == sorted((k, n + 10 * epoch) for epoch in (1, 2) for k, n in ROWS)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"table": "s3://none-of-that-name/table"}, "the table s3://none-of-that-name/table cannot be .*rights and cred"),
    ({"storage": {"endpoint": "http://127.0.0.1:9", "region": "x"}}, "the table s3://bucket/t cannot be written"),
]


@pytest.mark.usefixtures("one_attempt")
@pytest.mark.parametrize(("parameters", "message"), REFUSED)
def test_a_store_that_refuses_is_named(
    tmp_path: Path, s3: S3, monkeypatch: pytest.MonkeyPatch, parameters: dict[str, Any], message: str
):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "nothing")
    with pytest.raises(LakeError, match=message) as raised:
        deliver(sink(tmp_path, s3, "t", **parameters), ROWS)
    assert SECRET not in str(raised.value)


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"table": "hdfs://node/table"}, "tables of Delta Lake must be on this machine, or in s3, gs, abfs"),
    ({"table": "s4://bucket/table"}, "s4://: this kind of storage is not known"),
    ({"table": "s3://key:secret@bucket/table"}, "the address contains credentials"),
    ({"table": "here"}, "storage is for addresses"),
]


@pytest.mark.parametrize(("parameters", "message"), WRONG)
def test_addresses_that_cannot_be_used_are_refused(tmp_path: Path, s3: S3, parameters: dict[str, Any], message: str):
    if parameters["table"].startswith("hdfs"):
        parameters = parameters | {"storage": None}
    with pytest.raises(ValueError, match=message):
        sink(tmp_path, s3, "t", **parameters)
