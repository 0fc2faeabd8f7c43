"""`streams console`: serve the page that shows running applications and compiled specs."""

from __future__ import annotations

from pathlib import Path

import click

from streams_orchestration.cli.messages import note
from streams_orchestration.cli.output import write
from streams_orchestration.compiler.options import Options
from streams_orchestration.console.server import access_to, serve
from streams_orchestration.runtime import api


def console(
    shown: tuple[str | Path, ...], options: Options, host: str, port: int, token: str | None, *, allow_actions: bool
) -> int:
    """Serve the console until Ctrl-C, and write its address to standard output; return the exit status, 0.

    Raises:
        UsageError: several applications are given, or options of the compiler without exactly one spec.
        NotDeployedError: the application is not deployed.
        ConsoleError: the address cannot be used, or the token is too short.
    """
    home = api.Home.default()
    applications = [each for each in shown if isinstance(each, str)]
    specs = tuple(dict.fromkeys(each for each in shown if isinstance(each, Path)))
    if len(applications) > 1:
        message = (
            f"the console shows one application or all of them, not {', '.join(applications)}. Name one, or none to "
            "see all."
        )
        raise click.UsageError(message, click.get_current_context())
    if options != Options() and len(specs) != 1:
        message = "compiler options apply to a single spec. Name one spec, or leave the options out."
        raise click.UsageError(message, click.get_current_context())
    for application in applications:
        api.require_deployed(api.open_catalog(home, application), application)
    access = access_to(host, port, token, allow_actions=allow_actions)

    def announce(address: str) -> None:
        write(address)
        note("Ctrl-C stops the console; applications run on.")

    chosen = None if options == Options() else options
    return serve(home, access, applications[0] if applications else None, announce, specs, chosen)
