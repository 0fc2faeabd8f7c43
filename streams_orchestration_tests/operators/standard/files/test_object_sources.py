"""FileSource reads the same from an object store as from this machine, however often the connection is cut."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.operators.row_files import CSV, FORMATS, ROWS, SCHEMA
from streams_orchestration_tests.servers.proxy import Proxy
from streams_orchestration_tests.servers.s3 import BUCKET, S3, SECRET

MANY = [(number, f"{number * 7919 % 1000:03d}" * 30) for number in range(40_000)]


def source(file: str, storage: dict[str, Any], **parameters: Any) -> Bench:
    return Bench(FileSource, outputs=[SCHEMA], file=file, storage=storage, **parameters)


@pytest.fixture
def directory() -> str:
    return uuid.uuid4().hex


@pytest.fixture
def proxy(s3: S3) -> Iterator[Proxy]:
    proxy = Proxy(int(s3.endpoint.rpartition(":")[2]))
    yield proxy
    proxy.close()


@pytest.mark.covering
@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_tuples_from_every_offset(s3: S3, directory: str, name: str):
    file, encode, parameters = FORMATS[name]
    address = s3.put(f"{directory}/{file}", encode(CSV.encode()))
    bench = source(address, s3.storage, **parameters)
    assert (bench.produce().exhausted, bench.items()) == (True, [*ROWS, Punctuation.WINDOW])
    for first in range(10):
        bench = source(address, s3.storage, **parameters)
        offset = bench.produce(limit=first + 1).offset
        again = source(address, s3.storage, **parameters)
        again.produce(offset)
        assert bench.rows() + again.rows() == ROWS


@pytest.mark.parametrize(
    ("place", "wanted"),
    [("", "ac"), ("*.csv", "ac"), ("[b-z].csv", "c"), ("**/*.csv", "abcd"), ("*/?.csv", "bd"), ("c.csv", "c")],
)
def test_directories_and_patterns_name_the_files_that_they_name_on_this_machine(
    s3: S3, directory: str, tmp_path: Path, place: str, wanted: str
):
    for name in ("a.csv", "c.csv", ".e.csv", "_other/d.csv", "inner/b.csv", ".inner/f.csv"):
        s3.put(f"{directory}/{name}", f"n,s\n1,{name[-5]}\n".encode())
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"n,s\n1,{name[-5]}\n")
    there = source(f"s3://{BUCKET}/{directory}/{place}".rstrip("/"), s3.storage)
    here = Bench(FileSource, outputs=[SCHEMA], file=str(tmp_path / place))
    there.produce()
    here.produce()
    assert sorted(text for _, text in there.rows()) == sorted(wanted)
    assert there.rows() == here.rows()


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_an_object_that_was_replaced_is_named(s3: S3, directory: str, format: str):
    """By one of the same size, within the second that the store counts in."""
    file, encode, parameters = FORMATS[format]
    address = s3.put(f"{directory}/{file}", encode(CSV.encode()))
    offset = source(address, s3.storage, **parameters).produce(limit=5).offset
    s3.put(f"{directory}/{file}", encode(CSV.replace("1", "2").encode()))
    with pytest.raises(DataError, match=rf"{address}: 5 rows were read .* replaced"):
        source(address, s3.storage, **parameters).produce(offset)


@pytest.mark.usefixtures("one_attempt")
def test_a_store_that_is_away_holds_up_and_is_tried_again(s3: S3, directory: str, proxy: Proxy):
    address = s3.put(f"{directory}/rows.csv", CSV.encode())
    proxy.cut()
    bench = source(address, {**s3.storage, "endpoint": f"http://127.0.0.1:{proxy.port}"})
    pauses = []
    for _ in range(2):
        assert bench.produce() == ({"row": 0}, False)
        pauses.append(bench.operator.pause())  # type: ignore[attr-defined]
    assert pauses == [0.5, 1.0]
    assert bench.metrics == {"errors": 2, "failed_tries": 2}
    proxy.open()
    assert bench.produce().exhausted
    assert (bench.rows(), bench.operator.pause()) == (ROWS, None)  # type: ignore[attr-defined]
    assert bench.metrics["failed_tries"] == 0


@pytest.mark.usefixtures("one_attempt")
@pytest.mark.covering
@pytest.mark.parametrize(
    ("after", "limit"),
    [(1, 7_000), (100, 100_000), (4000, 7_000), (1 << 20, 100_000), (2_500_000, 7_000), (3_500_000, 100_000)],
)
def test_a_connection_cut_in_the_middle_loses_and_repeats_nothing(
    s3: S3, directory: str, proxy: Proxy, after: int, limit: int
):
    address = s3.put(f"{directory}/rows.csv", b"n,s\n" + b"".join(b"%d,%s\n" % (n, s.encode()) for n, s in MANY))
    bench = source(address, {**s3.storage, "endpoint": f"http://127.0.0.1:{proxy.port}"})
    proxy.cut(after)
    offset, exhausted, cuts = {"row": 0}, False, 0
    while not exhausted:
        offset, exhausted = bench.produce(offset, limit)
        if bench.operator.pause():  # type: ignore[attr-defined]
            cuts += 1
            proxy.open()
    assert cuts > 0
    assert bench.rows() == MANY


@pytest.mark.parametrize(
    ("change", "place", "named"),
    [
        ({}, "s3://nobucket/rows.csv", "s3://nobucket/rows.csv"),
        ({}, f"s3://{BUCKET}/missing.csv", f"s3://{BUCKET}/missing.csv: no files match"),
        ({"secretKey": "${env:NOT_SET}"}, f"s3://{BUCKET}/rows.csv", "NOT_SET is not set"),
        ({"secretKey": "${file:/nowhere}"}, f"s3://{BUCKET}/rows.csv", "the file /nowhere cannot be read"),
    ],
)
def test_a_permanent_refusal_of_the_store_names_its_subject_and_no_secret(
    s3: S3, change: dict[str, str], place: str, named: str
):
    bench = source(place, {**s3.storage, **change})
    with pytest.raises(DataError) as error:
        bench.produce()
    assert named in str(error.value)
    assert SECRET not in str(error.value)


def test_wrong_credentials_are_refused(s3: S3, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    if "moto" in request.node.callspec.params.values():
        pytest.skip("moto takes any credentials")
    address = s3.put("rows.csv", CSV.encode())
    monkeypatch.setenv("TEST_S3_OTHER", "another-planted-secret")
    with pytest.raises(DataError, match=r"ACCESS_DENIED|SIGNATURE") as error:
        source(address, {**s3.storage, "secretKey": "${env:TEST_S3_OTHER}"}).produce()
    assert "another-planted-secret" not in str(error.value)
