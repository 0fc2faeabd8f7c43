"""`streams ui`: Dagster's UI and daemon."""

from __future__ import annotations

from pathlib import Path

from streams_orchestration.cli.messages import note
from streams_orchestration.orchestration.ui import serve
from streams_orchestration.runtime.storage.home import Home


def ui(port: int, specs: Path, hosts: tuple[str, ...]) -> int:
    """Serve Dagster's UI and daemon on this machine until Ctrl-C."""
    note("Starting Dagster ...")
    return serve(Home.default(), port, specs, hosts)
