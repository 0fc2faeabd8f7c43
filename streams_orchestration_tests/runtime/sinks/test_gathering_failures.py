"""A merge that fails, or finds a file altered or gone, holds the region and loses nothing."""

from __future__ import annotations

import errno
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.runtime.errors.errors import OutputError
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.settings.limits import OUTSTANDING_LIMIT
from streams_orchestration.runtime.sinks import gathering
from streams_orchestration.runtime.sinks.publisher import Publisher
from streams_orchestration.runtime.storage.pending_files import path_of
from streams_orchestration_tests.runtime.sinks.gathered import Sink, made_up
from streams_orchestration_tests.runtime.stored import store_in
from streams_orchestration_tests.servers.s3 import S3

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("no_hosts")]


def test_files_that_cannot_be_merged_hold_the_region_and_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = Sink(tmp_path, made_up(5 * 3 * OUTSTANDING_LIMIT), {"closeMode": "epochs", "epochsPerFile": 2})

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    publisher = Publisher(out.local.catalog, out.local.name, out.local.deliverers, clock=lambda: out.now)
    for _ in range(OUTSTANDING_LIMIT):
        assert out.commit(boundary=True)
    with monkeypatch.context() as patch:
        patch.setattr(out.gatherer.sink, "merge", refuse)
        publisher.deliver("Out", out.waiting())
    actual = read_status(out.local.catalog, out.local.name).sinks[0]
    assert actual.error is not None
    assert "cannot be merged: No space left on device; it is tried again, nothing is lost" in actual.error
    assert actual.late == OUTSTANDING_LIMIT
    out.local.trigger()
    assert out.local.plan(out.program) is None
    publisher.deliver("Out", out.waiting())
    assert read_status(out.local.catalog, out.local.name).sinks[0].error is None
    out.end()
    assert Counter(out.visible()) == Counter(out.rows)


def test_a_merged_file_is_removed_if_the_commit_that_names_it_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = Sink(tmp_path, made_up(50), {"closeMode": "epochs", "epochsPerFile": 2})
    out.commit(boundary=True)
    out.commit(boundary=True)

    def refuse(*_: Any) -> None:
        raise ConnectionError

    with monkeypatch.context() as patch, pytest.raises(ConnectionError):
        patch.setattr(gathering, "merge_outputs", refuse)
        out.turn()
    assert len(list(out.place.rglob("_pending/merged-*"))) == 1
    out.end()
    assert Counter(out.visible()) == Counter(out.rows)
    assert list(out.place.rglob("_pending/merged-*")) == []


def test_a_file_that_is_altered_while_it_is_merged_is_not_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = Sink(tmp_path, made_up(50), {"closeMode": "epochs", "epochsPerFile": 2})
    out.commit(boundary=True)
    out.commit(boundary=True)
    file, merge = Path(out.waiting()[0].pending), out.gatherer.sink.merge

    def merged_later(files: Sequence[Path], into: Path) -> None:
        file.write_bytes(file.read_bytes().replace(b"a", b"b"))
        merge(files, into)

    monkeypatch.setattr(out.gatherer.sink, "merge", merged_later)
    with pytest.raises(OutputError, match=f"{file}, .*, is truncated or was altered"):
        out.turn()
    assert [*out.files(), *tmp_path.rglob("merged-*")] == []


@pytest.mark.parametrize("per_file", [1, 2])
def test_a_waiting_file_that_is_gone_is_said(tmp_path: Path, per_file: int):
    out = Sink(tmp_path, made_up(50), {"closeMode": "epochs", "epochsPerFile": per_file})
    for _ in range(per_file):
        out.commit(boundary=True)
    Path(out.waiting()[0].pending).unlink()
    with pytest.raises(
        OutputError, match=r"operator Out: .*, which was to .*, is gone: start over with --fresh"
    ) as raised:
        out.turn()
    assert raised.value.permanent


def test_a_file_that_is_in_the_storage_but_not_on_this_machine_is_not_said_to_be_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, s3: S3
):
    def broken(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    store_in(s3, monkeypatch)
    out = Sink(tmp_path, made_up(50), {"closeMode": "epochs", "epochsPerFile": 2})
    for _ in range(2):
        out.commit(boundary=True)
    assert not any(path_of(out.local.home.store, row.pending).exists() for row in out.waiting())
    with monkeypatch.context() as patched, pytest.raises(OutputError, match="cannot be merged: Input/output") as raised:
        patched.setattr(gathering, "fetch_checked", broken)
        out.turn()
    assert not raised.value.permanent
    out.turn()
    assert sorted(out.visible(), key=lambda row: row[1]) == out.rows[:10]
