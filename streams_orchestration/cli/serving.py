"""`streams ui`: Dagster's UI and daemon."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--port", type=click.IntRange(1, 65535), default=3000, show_default=True, help="TCP port on 127.0.0.1.")
@click.option(
    "--specs",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path("specs"),
    show_default=True,
    envvar="STREAMS_SPECS",
    help="Directory of the applications to show.",
)
def ui(port: int, specs: Path) -> int:
    """Serve Dagster's UI and daemon on this machine until Ctrl-C."""
    from streams_orchestration.orchestration.ui import serve
    from streams_orchestration.runtime.storage.home import Home

    click.echo("Starting Dagster ...", err=True)
    return serve(Home.default(), port, specs)
