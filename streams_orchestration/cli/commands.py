"""The group of all commands."""

from __future__ import annotations

import re
from pathlib import Path

import click

from streams_orchestration.cli.application_commands import (
    cancel,
    deploy,
    logs,
    metrics,
    profile,
    redeploy,
    remove,
    reset,
    route,
    run,
    sample,
    status,
    top,
    watermark,
)
from streams_orchestration.cli.command import CommandGroup, command
from streams_orchestration.cli.compiler_commands import (
    check,
    compile_,
    convert,
    decouple,
    diff,
    explain,
    graph,
    lineage,
)
from streams_orchestration.cli.machine_commands import agent, machines
from streams_orchestration.cli.options import compile_options, document_option
from streams_orchestration.cli.parameter_types import SpecOrApplication
from streams_orchestration.cli.savepoint_commands import savepoint_group
from streams_orchestration.cli.shell_completion import complete_shown, completion
from streams_orchestration.compiler.options import Options

_COMPLETION_HELP = """Print a script that lets a shell complete commands, options, applications, specs and operators.

\b
bash: eval "$(streams completion bash)"     in ~/.bashrc
zsh:  eval "$(streams completion zsh)"      in ~/.zshrc
fish: streams completion fish | source      in ~/.config/fish/config.fish
"""


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog="State, results and logs are kept under .streams in the working directory, or where STREAMS_HOME says. "
    "Exit status: 0 done, 1 something is wrong with the application, 2 with the command line, 130 Ctrl-C.",
)
@click.version_option(package_name="streams-orchestration", message="%(version)s")
def streams() -> None:
    """Compile streaming applications, run them on Spark, keep them consistent with Dagster."""


@command()
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    default=3000,
    show_default=True,
    help="Listen on this TCP port of 127.0.0.1.",
)
@click.option(
    "--specs",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path("specs"),
    show_default=True,
    envvar="STREAMS_SPECS",
    help="Show the applications in this directory.",
)
@click.option(
    "--allow-host",
    "hosts",
    multiple=True,
    metavar="HOST[:PORT]",
    help="Accept requests for this host name, too, which a proxy in front passes on in the header Host. Requests for "
    "names other than this and localhost are refused.",
)
def ui(port: int, specs: Path, hosts: tuple[str, ...]) -> int:
    """Serve Dagster's UI and daemon on this machine until Ctrl-C."""
    from streams_orchestration.cli import dagster_ui

    return dagster_ui.ui(port, specs, hosts)


@command()
@click.argument("shown", metavar="[APP|SPEC]...", nargs=-1, type=SpecOrApplication(), shell_complete=complete_shown)
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Listen on this address.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="PORT",
    default=3100,
    show_default=True,
    help="Listen on this TCP port.",
)
@click.option(
    "--token",
    metavar="TOKEN",
    envvar="STREAMS_CONSOLE_TOKEN",
    help="Let in only users with this token, of at least 16 characters. Set it in STREAMS_CONSOLE_TOKEN, since "
    "others see command lines. Away from loopback, a token is generated if none is given.",
)
@click.option("--allow-actions", is_flag=True, help="Let the page reset regions and PEs; by default it only reads.")
@compile_options
def console(
    shown: tuple[str | Path, ...], options: Options, host: str, port: int, token: str | None, *, allow_actions: bool
) -> int:
    """Serve a page that shows running applications and compiled specs, until Ctrl-C.

    Without APP all deployed applications are shown. For each SPEC the page shows the decisions of every stage of the
    compiler. Widths and options can be changed there, and plans compared. The compiler options here are for one SPEC;
    without them a deployed application keeps its own. The address is written to standard output.
    """
    from streams_orchestration.cli import consoles

    return consoles.console(shown, options, host, port, token, allow_actions=allow_actions)


@click.group(cls=CommandGroup)
def catalog() -> None:
    """Show or upgrade the catalog, which STREAMS_CATALOG names or which is in the state directory."""


@catalog.command()
@document_option
def show() -> int:
    """Show the catalog's place, the revision of its tables, and the applications that are deployed in it."""
    from streams_orchestration.cli import catalogs

    return catalogs.show()


@catalog.command()
@document_option
def upgrade() -> int:
    """Upgrade the catalog to this version of the product, all or nothing; its content is kept.

    The upgrade is refused while a host runs, since hosts need the tables as they are. `streams run` and `streams
    deploy` upgrade the catalog, too.
    """
    from streams_orchestration.cli import catalogs

    return catalogs.upgrade()


class _NewName(click.types.StringParamType):
    name = "NAME"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not value.isidentifier() or not value.isascii() or value.startswith("_"):
            message = f"{value!r} is not a name of an application: letters, digits and _, a letter first"
            proposed = re.sub(r"[^A-Za-z0-9]+", "_", value).strip("_")
            near = f"; for example {proposed}" if proposed[:1].isalpha() else ""
            self.fail(f"{message}{near}.", param, ctx)
        return value


@command("init")
@click.argument("name", type=_NewName())
@click.option("--python", is_flag=True, help="Write the application in Python instead of YAML.")
@click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Write the application into this directory. [default: a directory of its name]",
)
@document_option
def init_(name: str, directory: Path | None, *, python: bool) -> int:
    """Write a new application that runs, with an operator of its own, a test and some data."""
    from streams_orchestration.cli import initializing

    return initializing.init(name, directory, python=python)


@command("completion", help=_COMPLETION_HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_(shell: str) -> None:
    """Print the completion script of a shell; users see `_COMPLETION_HELP` as its help."""
    completion(shell)


for _command in (
    *(compile_, check, explain, diff, convert, decouple),
    *(run, deploy, redeploy, savepoint_group, cancel, remove, reset, route),
    *(status, watermark, top, logs, metrics, sample, profile),
    *(agent, machines),
    *(graph, lineage, console, ui, catalog, init_, completion_),
):
    streams.add_command(_command)
