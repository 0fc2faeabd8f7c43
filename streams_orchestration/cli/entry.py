"""The group of all commands, and what becomes of errors: one message, an exit status, no traceback."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from streams_orchestration.cli.catalogs import catalog
from streams_orchestration.cli.compiling import compile_
from streams_orchestration.cli.decoupling import decouple
from streams_orchestration.cli.deploying import cancel, deploy, redeploy, reset
from streams_orchestration.cli.diffing import diff
from streams_orchestration.cli.drawing import graph, lineage
from streams_orchestration.cli.explaining import explain
from streams_orchestration.cli.failing import APPLICATION, COMMAND_LINE, INTERRUPTED, report
from streams_orchestration.cli.logs import logs
from streams_orchestration.cli.observing import status
from streams_orchestration.cli.profiling import profile
from streams_orchestration.cli.running import run
from streams_orchestration.cli.serving import ui


class _InOrder(click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)


@click.group(
    cls=_InOrder,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="State, results and logs are kept under .streams in the working directory, or where STREAMS_HOME says. "
    "Exit status: 0 done, 1 something is wrong with the application, 2 with the command line, 130 Ctrl-C.",
)
@click.version_option(package_name="streams-orchestration", message="%(version)s")
def streams() -> None:
    """Compile streaming applications, run them on Spark, keep them consistent with Dagster."""


for _command in (
    compile_,
    explain,
    diff,
    decouple,
    run,
    deploy,
    redeploy,
    cancel,
    reset,
    status,
    logs,
    profile,
    graph,
    lineage,
    ui,
    catalog,
):
    streams.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        arguments: what follows `streams`; of the process when None.

    Returns:
        The exit status.
    """
    try:
        result = streams.main(arguments, prog_name="streams", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return COMMAND_LINE
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx else "streams"
        click.echo(f"{path}: {error.format_message()} See `{path} --help`.", err=True)
        return COMMAND_LINE
    except (click.Abort, KeyboardInterrupt):
        click.echo("Interrupted.", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        # the reader (`head`) has gone; without this the interpreter would complain while it flushes at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return APPLICATION
    except Exception as error:
        if os.environ.get("STREAMS_TRACEBACK") == "1":
            raise
        report(error)
        return APPLICATION
    return result if isinstance(result, int) else 0
