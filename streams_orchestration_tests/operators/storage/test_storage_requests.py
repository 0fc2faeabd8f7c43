"""An object is read with a few large requests, whoever reads and however."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest
from pyarrow import fs

from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.storage import remote
from streams_orchestration.operators.storage.options import StorageOptions
from streams_orchestration.operators.storage.remote import RemoteStorage
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.operators.row_files import FORMATS, SCHEMA

BUFFER_BYTES = 32 << 10
BY_ROWS = [name for name in FORMATS if name not in ("parquet", "arrow")]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A directory in the place of a bucket, read with a buffer that is small beside its files."""
    place = tmp_path / uuid.uuid4().hex  # a storage is kept for each bucket
    place.mkdir()
    monkeypatch.setattr(remote, "BUFFER_BYTES", BUFFER_BYTES)
    monkeypatch.setattr(remote, "_connected", lambda *_: fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem()))
    return place


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes that every request so far has asked for."""
    sizes: list[int] = []
    read = remote._Raw.readinto

    def counted(raw: Any, buffer: Any) -> int:
        sizes.append(len(buffer))
        return read(raw, buffer)

    monkeypatch.setattr(remote._Raw, "readinto", counted)
    return sizes


READINGS: dict[str, Callable[[IO[bytes]], bytes]] = {
    "all at once": lambda file: file.read(),
    "what is left": lambda file: file.read(1000) + file.read(),
    "line by line": b"".join,
    "in small pieces": lambda file: b"".join(iter(lambda: file.read(100), b"")),
    "in large pieces": lambda file: b"".join(iter(lambda: file.read(5 * BUFFER_BYTES + 1), b"")),
}


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("size", [0, 1, BUFFER_BYTES, 10 * BUFFER_BYTES + 7])
def test_bytes_come_by_requests_of_a_buffer_at_least(bucket: Path, requests: list[int], reading: str, size: int):
    content = bytes(range(256)) * (size // 256) + bytes(size % 256)
    (bucket / "object").write_bytes(content)
    root = f"s3://{bucket.name}"
    with RemoteStorage(root, StorageOptions()).file(f"{root}/object").open("rb") as file:
        assert READINGS[reading](file) == content
    assert len(requests) <= size // BUFFER_BYTES + 4


@pytest.mark.parametrize("name", BY_ROWS)
def test_formats_are_read_by_few_requests(bucket: Path, requests: list[int], name: str):
    file, encode, parameters = FORMATS[name]
    rows = 10_000
    content = encode(("n,s\n" + "".join(f"{n},{n * 7919 % 100_003:030}\n" for n in range(rows))).encode())
    (bucket / file).write_bytes(content)
    bench = Bench(
        FileSource, outputs=[SCHEMA], file=f"s3://{bucket.name}/{file}", storage={"region": "here"}, **parameters
    )
    while not bench.produce(limit=10 * rows).exhausted:
        pass
    assert len(bench.rows()) == rows
    assert len(requests) <= len(content) // BUFFER_BYTES + 20  # the header, the end of an archive; the same again
