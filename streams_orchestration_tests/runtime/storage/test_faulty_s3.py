"""The server whose puts fail does what the chaos runs take it for."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.runtime.storage.store import StoreError
from streams_orchestration.runtime.storage.stores import store_at
from streams_orchestration_tests.runtime.stored import options_of
from streams_orchestration_tests.servers.faulty_s3 import Trouble, faulty_s3
from streams_orchestration_tests.servers.s3 import BUCKET

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("one_attempt")]


def test_a_put_that_is_refused_is_not_there_and_one_that_is_hidden_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with faulty_s3(tmp_path) as server:
        for name, value in server.s3.credentials.items():
            monkeypatch.setenv(name, value)
        store = store_at(tmp_path, f"s3://{BUCKET}/p", options_of(server.s3)).hasty()
        with server.troubled(Trouble(refuses_writes=True)), pytest.raises(StoreError, match="cannot be reached"):
            store.write("refused", b"1")
        with server.troubled(Trouble(hides_writes=True)), pytest.raises(StoreError, match="cannot be reached"):
            store.write("hidden", b"2")
        store.write("after", b"3")
        assert sorted(store.sizes("") or ()) == ["after", "hidden"]
        assert store.read("hidden") == b"2"
