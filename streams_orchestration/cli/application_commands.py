"""Commands about applications that run. The functions that do the work are loaded when they are called."""

from __future__ import annotations

from pathlib import Path

import click

from streams_orchestration.cli.command import command
from streams_orchestration.cli.completing import complete_application, complete_pe, complete_unit
from streams_orchestration.cli.loading import loaded
from streams_orchestration.cli.options import (
    Address,
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
from streams_orchestration.compiler.option_types import FiniteRange

CLI = "streams_orchestration.cli"
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
    help="Take only what is there now, complete the epoch, and stop. The next run goes on behind it.",
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
@loaded(f"{CLI}.running:run")
def run() -> None:
    """Compile an application, run it to its end, show the result.

    Ctrl-C stops it cleanly, and running it again goes on from there. What fails goes back to its last complete epoch.
    With --available-now each source is asked once where its input ends, and the run stops when everything up to there
    is delivered: windows stay open, and state is kept. A schedule may run it so. An application that is complete goes
    on when there is more input.
    With --from it begins where a savepoint was taken; state that does not fit keeps it from that, unless --drop-state
    says that it may be lost. Options of the compiler that are left out are as deployed, unless it starts anew.
    """


@command()
@spec_argument
@kept_compile_options
@fresh_option
@from_option
@drop_state_option
@document_option
@loaded(f"{CLI}.deploying:deploy")
def deploy() -> None:
    """Compile an application and start it in the background.

    With --from it begins where a savepoint was taken; state that does not fit keeps it from that, unless --drop-state
    says that it may be lost. Options of the compiler that are left out are as deployed, unless it starts anew.
    """


@command()
@spec_or_name_argument
@kept_compile_options
@fresh_option
@revert_option
@click.option("--dry-run", is_flag=True, help="Show what would become of units, operators and their state; do nothing.")
@drop_state_option
@within_option(
    "Allow the changed units this long to reach a cut, and again to complete an epoch. After that the old plan is "
    "restored."
)
@document_option
@loaded(f"{CLI}.redeploying:redeploy")
def redeploy() -> None:
    """Deploy again, with the options of the compiler that it is deployed with, and those that are given.

    What does not change runs on. What does is brought to its last cut and goes on there with the new plan: state,
    positions and results are kept. When an operator of the new plan fails, or a unit completes no epoch in time, the
    plan before is brought back at its cut, and the exit status is 1. Options of the compiler that are given here stay
    until another redeploy says otherwise. If the new plan would lose state that --drop-state does not name, nothing is
    changed and the exit status is 1; --dry-run shows it.
    """


@command()
@application_argument
@click.option(
    "--timeout",
    type=FiniteRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Kill a host that has not ended by then.",
)
@document_option
@loaded(f"{CLI}.deploying:cancel")
def cancel() -> None:
    """Stop an application; its state is kept.

    Deploying or running it again goes on from there.
    """


@command()
@application_argument
@click.option(
    "--unit",
    shell_complete=complete_unit,
    help="Reset only `region-0`, or `pe-3` for a PE in no region. Without it all that have failed are reset.",
)
@click.option("--force", is_flag=True, help="Reset even if it has failed as often in a row as it may.")
@document_option
@loaded(f"{CLI}.deploying:reset")
def reset() -> None:
    """Bring a failed region or PE back to its last complete epoch."""


@command()
@application_argument
@click.argument("sink")
@document_option
@loaded(f"{CLI}.routing:route")
def route() -> None:
    """Set aside the tuples that the target of a SINK can never take.

    It acts on the epochs that are complete now: one such tuple holds its epoch up, and redeploys with it. The others of
    the epoch are delivered. For epochs to come write `onUndeliverable: route` into the spec.
    """


@command()
@click.argument("application", metavar="[APP]", required=False, shell_complete=complete_application)
@click.option("--metrics", "measured", is_flag=True, help="Show everything that was measured, too; JSON always has it.")
@click.option(
    "--timeline",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.svg",
    help="Draw its regions' cuts, failures and resets over time into a file instead.",
)
@click.option("--watch", is_flag=True, help="Show it anew every two seconds, until Ctrl-C.")
@format_option
@loaded(f"{CLI}.observing:status")
def status() -> None:
    """Show what one application does, or all that are deployed."""


@command()
@application_argument
@click.argument("stream", metavar="STREAM")
@format_option
@loaded(f"{CLI}.samples:sample")
def sample() -> None:
    """Show tuples of a stream between PEs, of the last batch; of what was deployed with STREAMS_SAMPLES only."""


@command()
@click.argument("application", metavar="[APP]", required=False, shell_complete=complete_application)
@click.option(
    "--delay",
    type=FiniteRange(min=0.1),
    default=2.0,
    show_default=True,
    metavar="SECONDS",
    help="Wait this long between two looks.",
)
@loaded(f"{CLI}.top.command:top")
def top() -> None:
    """Show what runs, what is slow and what has failed, as `htop` does for processes; `h` there shows its keys.

    Where standard output or input is no terminal, the table is written once. The terminal needs the extra `top`.
    """


@command()
@click.option(
    "--serve",
    type=Address(),
    metavar="[HOST:]PORT",
    help="Serve them for Prometheus until Ctrl-C; on 127.0.0.1 if no host is named.",
)
@click.option(
    "--otlp",
    is_flag=True,
    help="Send them by OpenTelemetry's protocol until Ctrl-C, as the OTEL_... variables say; needs the extra `otlp`.",
)
@loaded(f"{CLI}.exposing:metrics")
def metrics() -> None:
    """Write the metrics of all applications in Prometheus' text format, or serve or send them."""


@command()
@application_argument
@click.option(
    "--pe", type=click.IntRange(min=0), metavar="N", shell_complete=complete_pe, help="Show the log of this PE only."
)
@click.option("--lines", type=click.IntRange(min=0), default=40, show_default=True, help="Show so many last lines.")
@click.option("--follow", "-f", is_flag=True, help="Go on with what is written from now, until Ctrl-C.")
@format_option
@loaded(f"{CLI}.logs:logs")
def logs() -> None:
    """Show the logs of an application's hosts and PEs."""


@command()
@application_argument
@click.option(
    "--seconds",
    type=FiniteRange(min=0, min_open=True),
    default=30.0,
    show_default=True,
    metavar="SECONDS",
    help="Measure this long; Ctrl-C ends it early, with what was measured.",
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
    help="Show what this decision promised beside what is measured. The application runs with it.",
)
@loaded(f"{CLI}.profiling:profile")
def profile() -> None:
    """Measure what a running application costs: operators, streams, PEs.

    The profile is what `--profile` takes: `streams decouple SPEC --profile FILE` and the commands that compile.
    """
