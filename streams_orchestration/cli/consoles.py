"""`streams console`: the page that shows applications as they run."""

from __future__ import annotations

import click

from streams_orchestration.cli.messages import note
from streams_orchestration.console.server import access_to, serve
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.storage.home import Home


def console(application: str | None, host: str, port: int, token: str | None, *, allow_actions: bool) -> int:
    """Serve the console until Ctrl-C."""
    home = Home.default()
    if application is not None:
        read_status(home, application)
    access = access_to(host, port, token, allow_actions=allow_actions)

    def ready(address: str) -> None:
        click.echo(address)
        note("Ctrl-C stops the console; applications run on.")

    return serve(home, access, application, ready)
