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
from streams_orchestration.cli.loading import loaded
from streams_orchestration.cli.machine_commands import agent, machines
from streams_orchestration.cli.options import SpecOrApplication, compile_options, document_option
from streams_orchestration.cli.savepoint_commands import savepoint
from streams_orchestration.cli.shell_completion import complete_shown

CLI = "streams_orchestration.cli"
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
@loaded(f"{CLI}.dagster_ui:ui")
def ui() -> None:
    """Serve Dagster's UI and daemon on this machine until Ctrl-C."""


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
@loaded(f"{CLI}.consoles:console")
def console() -> None:
    """Serve a page that shows running applications and compiled specs, until Ctrl-C.

    Without APP all deployed applications are shown. For each SPEC the page shows the decisions of every stage of the
    compiler. Widths and options can be changed there, and plans compared. The compiler options here are for one SPEC;
    without them a deployed application keeps its own. The address is written to standard output.
    """


@click.group(cls=CommandGroup)
def catalog() -> None:
    """Show or upgrade the catalog, which STREAMS_CATALOG names or which is in the state directory."""


@catalog.command()
@document_option
@loaded(f"{CLI}.catalogs:show")
def show() -> None:
    """Show the catalog's place, the revision of its tables, and the applications that are deployed in it."""


@catalog.command()
@document_option
@loaded(f"{CLI}.catalogs:upgrade")
def upgrade() -> None:
    """Upgrade the catalog to this version of the product, all or nothing; its content is kept.

    The upgrade is refused while a host runs, since hosts need the tables as they are. `streams run` and `streams
    deploy` upgrade the catalog, too.
    """


class _NewName(click.ParamType):
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
@loaded(f"{CLI}.initializing:init")
def init_() -> None:
    """Write a new application that runs, with an operator of its own, a test and some data."""


@command("completion", help=_COMPLETION_HELP)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@loaded(f"{CLI}.shell_completion:completion")
def completion_() -> None:
    """Print the completion script of a shell; users see `_COMPLETION_HELP` as its help."""


for _command in (
    *(compile_, check, explain, diff, convert, decouple),
    *(run, deploy, redeploy, savepoint, cancel, reset, route, status, watermark, top, logs, metrics, sample, profile),
    *(agent, machines),
    *(graph, lineage, console, ui, catalog, init_, completion_),
):
    streams.add_command(_command)
