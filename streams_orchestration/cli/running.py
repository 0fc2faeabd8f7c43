"""`streams run`: compile, deploy, follow, show the result."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from streams_orchestration.cli.failing import APPLICATION
from streams_orchestration.cli.options import compile_options, fresh_option, spec_argument
from streams_orchestration.compiler.options import Options

if TYPE_CHECKING:
    from streams_orchestration.runtime.observing.status import ApplicationStatus
    from streams_orchestration.runtime.storage.home import Home


@click.command()
@spec_argument
@compile_options
@fresh_option
@click.option(
    "--max-rows", type=click.IntRange(min=0), default=40, show_default=True, metavar="N", help="Rows shown of a result."
)
def run(spec: Path, options: Options, max_rows: int, *, fresh: bool) -> int:
    """Compile an application, run it to its end, show the result.

    Ctrl-C stops it cleanly, and running it again goes on from there. What fails goes back to its last complete epoch.
    """
    from streams_orchestration.cli.catalogs import upgrade_catalog
    from streams_orchestration.cli.compiling import compiled
    from streams_orchestration.cli.observing import status_if_deployed
    from streams_orchestration.runtime.deployment.fingerprint import difference, fingerprint
    from streams_orchestration.runtime.engine.spark.java import require_java
    from streams_orchestration.runtime.errors import ApplicationChangedError
    from streams_orchestration.runtime.observing.reading import deployed_compilation
    from streams_orchestration.runtime.storage.home import Home

    compilation = compiled(spec, options, deployable=True)
    name = compilation.logical.application
    home = Home.default().prepare()
    upgrade_catalog(home)
    before = None if fresh else status_if_deployed(home, name)
    if before is not None and before.fingerprint != fingerprint(compilation):
        raise ApplicationChangedError(name, difference(deployed_compilation(home, name), compilation))
    if before is not None and before.state == "COMPLETED":
        click.echo(f"{name} was complete already. `streams run {spec} --fresh` computes it anew.", err=True)
        _show_results(before, max_rows)
        return 0
    runs = before is not None and before.state == "RUNNING" and [host.pid for host in before.hosts if host.alive]
    if runs:
        click.echo(f"{name} runs already (pid {', '.join(map(str, runs))}); following it.", err=True)
    elif before is not None:
        click.echo(f"{name}: going on from {_place(before)}; `--fresh` would start anew.", err=True)
    require_java()
    after, interrupted = _run(home, name, spec, options, fresh=fresh)
    if after.state == "STOPPED":
        how = "" if interrupted else " by another command"
        click.echo(f"{name} is stopped{how}. `streams run {spec}` goes on from {_place(after)}.", err=True)
        return interrupted or APPLICATION
    click.echo(f"{name} is complete.", err=True)
    _show_results(after, max_rows)
    return 0


def _run(home: Home, name: str, spec: Path, options: Options, *, fresh: bool) -> tuple[ApplicationStatus, int]:
    """Its status in the end, and the exit status that an interrupt asks for, else 0."""
    from streams_orchestration.cli.deploying import say_orphans
    from streams_orchestration.cli.display import Display
    from streams_orchestration.cli.foreground import run_in_foreground
    from streams_orchestration.cli.interrupts import Interrupts
    from streams_orchestration.cli.jobs import Jobs
    from streams_orchestration.cli.terminal import messages

    jobs, display = Jobs(home, name), Display(messages())
    say_orphans(jobs)
    interrupts = Interrupts(lambda: display.say(f"Stopping {name}; Ctrl-C again leaves at once ..."))
    try:
        with interrupts, display:
            after = run_in_foreground(lambda: jobs.deploy(spec, options, fresh=fresh), jobs, display, interrupts)
    except KeyboardInterrupt:
        _leave(name)
    return after, interrupts.exit_status if interrupts.asked else 0


def _place(status: ApplicationStatus) -> str:
    epoch = min((unit.completed_epoch for unit in status.units), default=0)
    return f"epoch {epoch}, the last complete one" if epoch else "the start"


def _show_results(status: ApplicationStatus, max_rows: int) -> None:
    from streams_orchestration.cli.results import read_result, result_table
    from streams_orchestration.cli.terminal import messages, results

    console = results()
    for sink in status.sinks:
        console.print(result_table(read_result(sink, max_rows)))
    notes = messages()
    for sink in status.sinks:
        if sink.path is not None:
            notes.print(f"Files of {sink.operator}: {sink.path}", soft_wrap=True, markup=False)
    notes.print(f"Logs: {status.logs}", soft_wrap=True, markup=False)


def _leave(name: str) -> NoReturn:
    """End this process at once; a job that still runs on another thread would hold a normal exit up."""
    click.echo(
        f"Left at once; {name} runs on. `streams status {name}` shows it, `streams cancel {name}` stops it.",
        err=True,
    )
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(130)
