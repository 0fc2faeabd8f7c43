"""Clients of the console in this process."""

from __future__ import annotations

from starlette.testclient import TestClient

from streams_orchestration.console.access import Access
from streams_orchestration.console.app import create_app
from streams_orchestration.console.reader import SnapshotReader
from streams_orchestration.runtime.storage.home import Home

OWN = "127.0.0.1:3100"


def client_of(
    home: Home,
    token: str | None = None,
    only: str | None = None,
    *,
    actions: bool = False,
    reader: SnapshotReader | None = None,
) -> TestClient:
    access = Access("127.0.0.1", 3100, token, actions)
    return TestClient(create_app(reader or SnapshotReader(home, only), access), base_url=f"http://{OWN}")
