"""`streams run`: compile, deploy, follow, show the result."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from streams_orchestration.cli.options import compile_options, fresh_option, spec_argument
from streams_orchestration.compiler.graph import Options

if TYPE_CHECKING:
    from streams_orchestration.runtime.status import ApplicationStatus


@click.command()
@spec_argument
@compile_options
@fresh_option
@click.option(
    "--max-rows", type=click.IntRange(min=0), default=40, show_default=True, metavar="N", help="Rows shown of a result."
)
def run(spec: Path, options: Options, fresh: bool, max_rows: int) -> int:
    """Compile and deploy an application, follow it until its sources are exhausted, show its result.

    Ctrl-C stops it cleanly, and running it again goes on from there. What fails goes back to its last complete epoch.
    """
    from streams_orchestration.cli.compiling import compiled
    from streams_orchestration.runtime.java import require_java

    name = compiled(spec, options, deployable=True).logical.application
    require_java()
    from streams_orchestration.cli.display import Display
    from streams_orchestration.cli.foreground import run_in_foreground
    from streams_orchestration.cli.interrupts import Interrupts
    from streams_orchestration.cli.jobs import Jobs, deployed
    from streams_orchestration.cli.terminal import messages
    from streams_orchestration.runtime.home import Home

    home = Home.default().prepare()
    jobs = Jobs(home, name)
    display = Display(messages())
    before = None if fresh else deployed(home, name)
    if before is not None and before.state != "COMPLETED":
        display.say(f"{name}: going on from {_place(before)}; `--fresh` would start anew.")
    try:
        with (
            Interrupts(lambda: display.say(f"Stopping {name}; Ctrl-C again leaves at once ...")) as interrupts,
            display,
        ):
            after = run_in_foreground(lambda: jobs.deploy(spec, options, fresh=fresh), jobs, display, interrupts)
    except KeyboardInterrupt:
        _leave(name)
    if after.state == "STOPPED":
        display.say(f"{name} is stopped. `streams run {spec}` goes on from {_place(after)}.")
        return interrupts.exit_status if interrupts.asked else 0
    if before is not None and before.state == "COMPLETED":
        display.say(f"{name} was complete already. `streams run {spec} --fresh` computes it anew.")
    _show_results(after, max_rows)
    return 0


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
