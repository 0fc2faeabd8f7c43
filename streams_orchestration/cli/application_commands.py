"""Commands about applications that run. Each one imports the module that does its work when it is called."""

from __future__ import annotations

from pathlib import Path

import click

from streams_orchestration.cli.command import command
from streams_orchestration.cli.options import (
    application_argument,
    document_option,
    drop_state_option,
    format_option,
    fresh_option,
    from_option,
    kept_compile_options,
    output_option,
    revert_option,
    spec_argument,
    spec_or_name_argument,
    within_option,
)
from streams_orchestration.cli.parameter_types import Moment, listen_address
from streams_orchestration.cli.shell_completion import complete_application, complete_pe, complete_unit
from streams_orchestration.compiler.option_types import FiniteRange
from streams_orchestration.compiler.options import GivenOptions

MAX_ROWS = 40
"""Rows of a result that are shown by default."""


@command()
@spec_argument
@kept_compile_options
@fresh_option
@from_option
@drop_state_option
@click.option(
    "--available-now",
    is_flag=True,
    help="Process only the input that exists now, complete the epoch, and stop. The next run continues after it.",
)
@click.option(
    "--max-rows",
    type=click.IntRange(min=0),
    default=MAX_ROWS,
    show_default=True,
    metavar="N",
    help="Show at most this many rows of a result.",
)
@document_option
def run(
    spec: Path,
    given: GivenOptions,
    max_rows: int,
    savepoint: str | None,
    drop_state: tuple[str, ...],
    *,
    fresh: bool,
    available_now: bool,
) -> int:
    """Compile an application, run it to its end, and show the result.

    Ctrl-C stops the application cleanly, and the next run continues there. A region or PE that fails is reset to its
    last complete epoch. A complete application continues if there is more input.

    With --available-now each source is asked once where its input ends, and the run stops when everything up to there
    is delivered. Windows stay open, and state is kept, so a schedule can repeat this run.

    With --from the application begins with the state of a savepoint. The start is refused if a state does not fit,
    unless --drop-state allows that state to be lost.

    Compiler options that are left out keep their deployed values, unless --fresh or --from is given.
    """
    from streams_orchestration.cli import running

    return running.run(spec, given, max_rows, savepoint, drop_state, fresh=fresh, available_now=available_now)


@command()
@spec_argument
@kept_compile_options
@fresh_option
@from_option
@drop_state_option
@document_option
def deploy(spec: Path, given: GivenOptions, savepoint: str | None, drop_state: tuple[str, ...], *, fresh: bool) -> int:
    """Compile an application and start it in the background.

    With --from the application begins with the state of a savepoint. The start is refused if a state does not fit,
    unless --drop-state allows that state to be lost. Compiler options that are left out keep their deployed values,
    unless --fresh or --from is given.
    """
    from streams_orchestration.cli import deploying

    return deploying.deploy_in_background(spec, given, savepoint, drop_state, fresh=fresh)


@command()
@spec_or_name_argument
@kept_compile_options
@fresh_option
@revert_option
@click.option(
    "--dry-run", is_flag=True, help="Show the effects on units, operators and their state, without changing anything."
)
@drop_state_option
@within_option(
    "Allow the changed units this long to reach a cut, and again to complete an epoch. After that the previous plan is "
    "restored."
)
@document_option
def redeploy(
    spec: Path | str,
    given: GivenOptions,
    drop_state: tuple[str, ...],
    within: float,
    *,
    fresh: bool,
    dry_run: bool,
    revert: bool,
) -> int:
    """Deploy an application again, with its deployed compiler options and the options that are given.

    Units that do not change keep running. Changed units pause at a cut and continue with the new plan: state, positions
    and results are kept.

    If the new plan would lose state that --drop-state does not name, nothing is changed and the exit status is 1;
    --dry-run shows that loss. If an operator of the new plan fails, or a unit completes no epoch in time, the previous
    plan is restored at its cut and the exit status is 1.

    Compiler options that are given stay until another redeploy changes them.
    """
    from streams_orchestration.cli import redeploying

    return redeploying.redeploy_or_revert(spec, given, drop_state, within, fresh=fresh, dry_run=dry_run, revert=revert)


@command()
@application_argument
@click.option(
    "--timeout",
    type=FiniteRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Kill a host that has not ended after this many seconds.",
)
@document_option
def cancel(application: str, timeout: float) -> int:
    """Stop an application and keep its state.

    Deploying or running the application again continues from there.
    """
    from streams_orchestration.cli import deploying

    return deploying.cancel(application, timeout)


@command()
@application_argument
@click.option("--results", is_flag=True, help="Drop published results that are files, too; by default they stay.")
@click.option("--dry-run", is_flag=True, help="Show what would be removed, without changing anything.")
@click.option(
    "--yes",
    is_flag=True,
    help="Allow the removal without a question. Otherwise nothing is removed if standard input is not a terminal.",
)
@document_option
def remove(application: str, *, results: bool, dry_run: bool, yes: bool) -> int:
    """Remove a stopped application for good: its state, its logs, and its rows in the catalog.

    The command first shows the parts that it removes. Published results stay without --results. Savepoints, and rows or
    messages that sinks have delivered to other systems, always stay. An interrupted removal is completed by repeating
    the command. The spec is not needed.
    """
    from streams_orchestration.cli import removing

    return removing.remove(application, results=results, dry_run=dry_run, yes=yes)


@command()
@application_argument
@click.option(
    "--unit",
    metavar="UNIT",
    shell_complete=complete_unit,
    help="Reset only this unit: `region-0`, or `pe-3` for a PE in no region. [default: all units that have failed]",
)
@click.option("--force", is_flag=True, help="Reset a unit even if it has used up its attempts.")
@document_option
def reset(application: str, unit: str | None, *, force: bool) -> int:
    """Reset failed regions and PEs to their last complete epoch."""
    from streams_orchestration.cli import deploying

    return deploying.reset(application, unit, force=force)


@command()
@application_argument
@click.argument("sink")
@document_option
def route(application: str, sink: str) -> int:
    """Set aside the tuples that the target of a SINK can never take.

    One such tuple blocks the delivery of its whole epoch, and every redeploy. When it is set aside, the other tuples of
    the epoch are delivered. The command acts on the epochs that are complete now; for later epochs write
    `onUndeliverable: route` into the spec.
    """
    from streams_orchestration.cli import routing

    return routing.route(application, sink)


@command()
@application_argument
@click.argument("sink")
@click.option("--at-least", type=Moment(), metavar="TIME", help="Wait until the outputs are complete up to this time.")
@click.option(
    "--within",
    type=FiniteRange(min=0),
    metavar="SECONDS",
    help="Wait at most this many seconds. [default: without limit]",
)
@document_option
def watermark(application: str, sink: str, at_least: float | None, within: float | None) -> int:
    """Show up to which event time the visible outputs of a SINK are complete.

    The outputs contain all tuples before that time, except late ones. The exit status is 1 if the time of --at-least is
    not reached.
    """
    from streams_orchestration.cli import watermarks

    return watermarks.watermark(application, sink, at_least, within)


@command()
@click.argument("application", metavar="[APP]", required=False, shell_complete=complete_application)
@click.option("--metrics", "measured", is_flag=True, help="Show all metrics, too; JSON always has them.")
@click.option(
    "--timeline",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.svg",
    help="Draw the application's cuts, failures and resets over time into a file, instead of showing its status.",
)
@click.option("--watch", is_flag=True, help="Refresh the status every two seconds, until Ctrl-C.")
@format_option
def status(application: str | None, timeline: Path | None, format_: str, *, measured: bool, watch: bool) -> None:
    """Show the status of one application, or an overview of all that are deployed."""
    from streams_orchestration.cli import observing

    observing.show_status(application, timeline, format_, measured=measured, watch=watch)


@command()
@application_argument
@click.argument("stream", metavar="STREAM")
@format_option
def sample(application: str, stream: str, format_: str) -> None:
    """Show tuples of the last batch of a stream between PEs.

    The application must be deployed with STREAMS_SAMPLES=N, where N is the number of tuples to show.
    """
    from streams_orchestration.cli import samples

    samples.sample(application, stream, format_)


@command()
@click.argument("application", metavar="[APP]", required=False, shell_complete=complete_application)
@click.option(
    "--delay",
    type=FiniteRange(min=0.1),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Wait this many seconds before the status is read again.",
)
def top(application: str | None, delay: float) -> int:
    """Show running, slow and failed parts of applications, as `htop` does for processes; the key `h` shows all keys.

    If standard output or input is not a terminal, the table is written once. On a terminal the extra `top` is needed.
    """
    from streams_orchestration.cli.top import command as top_command

    return top_command.top(application, delay)


@command()
@click.option(
    "--serve",
    type=listen_address,
    metavar="[HOST:]PORT",
    help="Serve the metrics for Prometheus until Ctrl-C; on 127.0.0.1 if no host is named.",
)
@click.option(
    "--otlp",
    is_flag=True,
    help="Send the metrics by OpenTelemetry's protocol until Ctrl-C, as the OTEL_... variables say. This needs the "
    "extra `otlp`.",
)
def metrics(serve: tuple[str, int] | None, *, otlp: bool) -> int:
    """Write the metrics of all applications in Prometheus' text format, or serve or send them."""
    from streams_orchestration.cli import metrics_export

    return metrics_export.metrics(serve, otlp=otlp)


@command()
@application_argument
@click.option(
    "--pe", type=click.IntRange(min=0), metavar="N", shell_complete=complete_pe, help="Show the log of this PE only."
)
@click.option(
    "--lines", type=click.IntRange(min=0), metavar="N", default=40, show_default=True, help="Show this many last lines."
)
@click.option("--follow", "-f", is_flag=True, help="Keep printing new lines as they are written, until Ctrl-C.")
@format_option
def logs(application: str, pe: int | None, lines: int, format_: str, *, follow: bool) -> int:
    """Show the logs of an application's hosts and PEs."""
    from streams_orchestration.cli import logs as work

    return work.logs(application, pe, lines, format_, follow=follow)


@command()
@application_argument
@click.option(
    "--seconds",
    type=FiniteRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Measure for this many seconds. Ctrl-C ends the measurement early and keeps it.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["table", "yaml", "json"]),
    help="Write a table to read, or the profile itself. [default: table, yaml with --output]",
)
@output_option
@click.option(
    "--compare",
    type=click.Path(exists=True, dir_okay=False, readable=True, path_type=Path),
    metavar="FILE",
    help="Compare the measurement with the prediction of this decoupling decision. The application must be deployed "
    "with it.",
)
def profile(application: str, seconds: float, format_: str | None, output: Path | None, compare: Path | None) -> int:
    """Measure the costs of a running application's operators, streams and PEs.

    The option --profile of `streams decouple` and of the commands that compile takes the profile.
    """
    from streams_orchestration.cli import profiling

    return profiling.measure_profile(application, seconds, format_, output, compare)
