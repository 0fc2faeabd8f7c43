"""An object is read with a few large requests, whoever reads and however."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Self

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


class CountedFile:
    """A file of a storage that notes the bytes that each request asks for."""

    def __init__(self, file: Any, sizes: list[int]) -> None:
        self._file, self._sizes = file, sizes

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def readinto(self, buffer: Any) -> int:
        """Read, and note the size."""
        self._sizes.append(len(buffer))
        return self._file.readinto(buffer)


class CountedStorage:
    """A directory in the place of a storage, whose files are counted."""

    def __init__(self, root: Path) -> None:
        self.requests: list[int] = []
        self._system = fs.SubTreeFileSystem(str(root), fs.LocalFileSystem())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def open_input_file(self, path: str) -> CountedFile:
        """Return a file whose requests are noted."""
        return CountedFile(self._system.open_input_file(path), self.requests)


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> CountedStorage:
    storage = CountedStorage(tmp_path)
    monkeypatch.setattr(remote, "BUFFER_BYTES", BUFFER_BYTES)
    monkeypatch.setattr(remote, "connect", lambda *_: storage)
    return storage


@pytest.fixture
def bucket(storage: CountedStorage, tmp_path: Path) -> Path:
    """A directory in the place of a bucket, read with a buffer that is small beside its files."""
    place = tmp_path / uuid.uuid4().hex  # a storage is kept for each bucket
    place.mkdir()
    return place


@pytest.fixture
def requests(storage: CountedStorage) -> list[int]:
    """The bytes that every request so far has asked for."""
    return storage.requests


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
