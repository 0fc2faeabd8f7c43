"""`streams deploy`, `redeploy`, `cancel` and `reset`: they run a job and end; the application runs on by itself."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streams_orchestration.cli.options import (
    FiniteRange,
    application_argument,
    compile_options,
    decoupling_option,
    fresh_option,
    spec_argument,
)
from streams_orchestration.compiler.options import Options

if TYPE_CHECKING:
    from streams_orchestration.cli.jobs import Jobs
    from streams_orchestration.model.assignment import Assignment


@click.command()
@spec_argument
@compile_options
@fresh_option
def deploy(spec: Path, options: Options, *, fresh: bool) -> None:
    """Compile an application and start it in the background."""
    _deploy(spec, options, options, fresh=fresh)


@click.command()
@spec_argument
@decoupling_option
@fresh_option
def redeploy(spec: Path, decoupling: Assignment | None, *, fresh: bool) -> None:
    """Deploy again, with the compile options of the last time.

    What runs already runs on; an application that differs from the one whose state is kept needs --fresh. A decision
    given with --decoupling takes the place of the last one.
    """
    from streams_orchestration.cli.jobs import last_options
    from streams_orchestration.model.loading import load_application
    from streams_orchestration.runtime.storage.home import Home

    options = last_options(Home.default(), load_application(spec).application)
    if decoupling is None:
        _deploy(spec, options, None, fresh=fresh)
    else:
        options = replace(options, decoupling=decoupling)
        _deploy(spec, options, options, fresh=fresh)


def _deploy(spec: Path, checked: Options, options: Options | None, *, fresh: bool) -> None:
    from streams_orchestration.cli.catalogs import upgrade_catalog
    from streams_orchestration.cli.compiling import compiled
    from streams_orchestration.runtime.engine.spark.java import require_java

    name = compiled(spec, checked, deployable=True).logical.application
    require_java()
    from streams_orchestration.cli.jobs import Jobs
    from streams_orchestration.runtime.storage.home import Home

    home = Home.default().prepare()
    upgrade_catalog(home)
    jobs = Jobs(home, name)
    say_orphans(jobs)
    click.echo(f"Starting {name} ...", err=True)
    jobs.deploy(spec, options, fresh=fresh)
    click.echo(f"{name} is {jobs.status().state}. `streams status {name}` shows it, `streams cancel {name}` stops it.")


def say_orphans(jobs: Jobs) -> None:
    """Stop what is left of hosts that nobody wants any more, and say so."""
    for orphan in jobs.stop_orphans():
        click.echo(str(orphan), err=True)


@click.command()
@application_argument
@click.option(
    "--timeout",
    type=FiniteRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="A host that has not ended by then is killed.",
)
def cancel(application: str, timeout: float) -> None:
    """Stop an application; its state is kept.

    Deploying or running it again goes on from there.
    """
    from streams_orchestration.runtime.observing.reading import read_status
    from streams_orchestration.runtime.storage.home import Home

    home = Home.default()
    read_status(home, application)
    from streams_orchestration.cli.jobs import Jobs

    jobs = Jobs(home, application)
    say_orphans(jobs)
    jobs.cancel(timeout)
    click.echo(f"{application} is {jobs.status().state}.")


@click.command()
@application_argument
@click.option("--unit", help="`region-0`, or `pe-3` for a PE in no region; all that have failed when left out.")
@click.option("--force", is_flag=True, help="Reset even if it has failed as often in a row as it may.")
def reset(application: str, unit: str | None, *, force: bool) -> None:
    """Bring a failed region or PE back to its last complete epoch."""
    import time

    from streams_orchestration.runtime.errors import StreamsRuntimeError
    from streams_orchestration.runtime.observing.reading import read_status
    from streams_orchestration.runtime.storage.home import Home
    from streams_orchestration.runtime.units.failures import failures

    home = Home.default()
    status = read_status(home, application)
    units = [unit] if unit else [failure.unit for failure in failures(status, time.time())]
    if not units:
        there = ", ".join(known.name for known in status.units)
        message = f"{application}: nothing has failed. Name what to reset all the same with --unit: {there}."
        raise StreamsRuntimeError(message)
    from streams_orchestration.cli.jobs import Jobs

    jobs = Jobs(home, application)
    say_orphans(jobs)
    refused: list[str] = []
    for name in units:
        try:
            jobs.reset(name, force=force)
        except StreamsRuntimeError as error:
            refused.append(str(error))
        else:
            click.echo(f"{application}: {name} goes on from its last complete epoch.")
    if refused:
        raise StreamsRuntimeError("\n".join(refused))
