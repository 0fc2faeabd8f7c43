"""The start of `streams top`: the screen on a terminal, one table elsewhere."""

from __future__ import annotations

import sys

from streams_orchestration.cli.extras import require
from streams_orchestration.cli.invocation import current
from streams_orchestration.cli.messages import detail
from streams_orchestration.cli.terminal import results
from streams_orchestration.cli.top.table import once
from streams_orchestration.runtime import api


def top(application: str | None, delay: float) -> int:
    """Show one application, or all deployed ones, until the user ends it; without a terminal, print them once.

    Args:
        application: the name of the only application to show; None for all.
        delay: seconds between two readings of the catalog.

    Returns:
        The exit status 0.

    Raises:
        NotDeployedError: `application` is not deployed.
        StreamsRuntimeError: the package `textual` is missing at a terminal, or the catalog cannot be read.
    """
    home = api.Home.default()
    current().application = application
    detail(f"State directory {home.root}")
    catalog = api.Catalog(home) if application is None else api.open_catalog(home, application)
    snapshot = api.read_snapshot(catalog, application)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        results().print(once(snapshot))
        return 0
    require("streams top on a terminal", "textual", "textual", "top")
    from streams_orchestration.cli.top.screen import Screen

    Screen(snapshot, lambda: api.read_snapshot(catalog, application), delay).run()
    return 0
