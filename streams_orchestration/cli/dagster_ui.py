"""`streams ui`: serve Dagster's UI and run its daemon."""

from __future__ import annotations

import re
from pathlib import Path

import click

from streams_orchestration.cli.messages import note
from streams_orchestration.orchestration.ui import serve
from streams_orchestration.runtime import api


def ui(port: int, specs: Path, hosts: tuple[str, ...]) -> int:
    """Serve Dagster's UI and daemon on this machine until Ctrl-C; return the exit status, 0.

    Raises:
        BadParameter: an allowed host is not an address.
        StreamsRuntimeError, OSError: the port is taken, or the UI cannot be started or ends by itself.
    """
    for host in hosts:
        if re.fullmatch(r"[\w.-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+](:[0-9]{1,5})?", host) is None:
            message = f"{host!r} is not a HOST[:PORT]. Write it as in an address, such as ui.example.org."
            raise click.BadParameter(message, click.get_current_context(), param_hint="'--allow-host'")
    note("Starting Dagster ...")
    return serve(api.Home.default(), port, specs, hosts)
