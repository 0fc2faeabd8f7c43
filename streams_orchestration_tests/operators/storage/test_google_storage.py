"""Google Cloud Storage: what S3 is tested for in full, once, as a second store behind the same port."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.files.file_source import FileSource
from streams_orchestration.operators.storage import remote
from streams_orchestration.operators.storage.options import StorageOptions
from streams_orchestration.operators.storage.storages import storage_of
from streams_orchestration_tests.operators.harness import Bench
from streams_orchestration_tests.operators.row_files import CSV, ROWS, SCHEMA
from streams_orchestration_tests.servers.gs import BUCKET, GoogleStorage


def test_a_file_and_a_directory_are_read(gs: GoogleStorage):
    directory = uuid.uuid4().hex
    address = gs.put(f"{directory}/rows.csv", CSV.encode())
    for place in (address, f"gs://{BUCKET}/{directory}"):
        bench = Bench(FileSource, outputs=[SCHEMA], file=place, storage=gs.storage)
        assert (bench.produce().exhausted, bench.rows()) == (True, ROWS)


def test_a_file_is_published_whole_and_may_be_again(gs: GoogleStorage, tmp_path: Path):
    final = f"gs://{BUCKET}/{uuid.uuid4().hex}/part"
    storage = storage_of(final, options=StorageOptions.model_validate(gs.storage))
    (tmp_path / "part").write_bytes(b"content" * 1_000_000)
    for _ in range(2):
        storage.publish(tmp_path / "part", final)
        assert gs.content(final.removeprefix(f"gs://{BUCKET}/")) == b"content" * 1_000_000
    (file,) = storage.below(final.rpartition("/")[0])
    assert (str(file), file.stat().st_size) == (final, 7_000_000)
    file.unlink()
    assert storage.below(final.rpartition("/")[0]) == []


@pytest.mark.parametrize(
    ("place", "wanted"),
    [(f"gs://{BUCKET}/missing.csv", "missing.csv: no files match"), ("gs://nobucket/rows.csv", "bucket or container")],
)
def test_a_missing_object_or_bucket_is_named(gs: GoogleStorage, place: str, wanted: str):
    with pytest.raises(DataError, match=wanted):
        Bench(FileSource, outputs=[SCHEMA], file=place, storage=gs.storage).produce()


@pytest.mark.slow
def test_a_store_that_is_away_holds_up(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(remote, "RETRY_SECONDS", 1.0)
    storage = {"endpoint": "http://127.0.0.1:1", "anonymous": True}
    bench = Bench(FileSource, outputs=[SCHEMA], file="gs://bucket/rows.csv", storage=storage)
    assert bench.produce() == ({"row": 0}, False)
    assert bench.metrics == {"errors": 1, "failed_tries": 1}
