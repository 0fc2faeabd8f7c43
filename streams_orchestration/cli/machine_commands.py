"""`streams agent` and the group `streams machines`. The functions that do the work are loaded when they are called."""

from __future__ import annotations

import click

from streams_orchestration.cli.command import CommandGroup, command
from streams_orchestration.cli.loading import loaded
from streams_orchestration.cli.options import document_option, within_option

WORK = "streams_orchestration.cli.machines"
machine_argument = click.argument("name", metavar="MACHINE")


@command()
@click.option("--name", metavar="NAME", help="Register the machine under this name instead of its host name.")
@click.option("--tags", metavar="A,B", default="", help="Give this machine tags, which a host pool can require.")
@click.option(
    "--cores", type=click.IntRange(min=1), metavar="N", help="Let hosts use this many processors. [default: all]"
)
@click.option(
    "--standby",
    "standbys",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Keep N spare hosts with a running engine, so that one can replace a host that died.",
)
@loaded(f"{WORK}:agent")
def agent() -> None:
    """Register this machine, and start, watch and end the hosts that are wanted here, until Ctrl-C.

    While any machine is registered, only agents start hosts. All machines share one catalog in PostgreSQL, which
    STREAMS_CATALOG names, and one storage, which STREAMS_STORAGE names: an object store, or a directory that all of
    them mount at the same path. Each machine has a state directory of its own (STREAMS_HOME); without STREAMS_STORAGE
    all machines mount the same state directory. Hosts outlive the agent, and an agent that is started again takes them
    over.
    """


@click.group(cls=CommandGroup, invoke_without_command=True)
@document_option
@click.pass_context
@loaded(f"{WORK}:list_")
def machines() -> None:
    """Show the registered machines, or drain, resume or remove a machine."""


@machines.command()
@machine_argument
@within_option("Allow each application this long to reach a cut. After that it stays on the machine.")
@document_option
@loaded(f"{WORK}:drain")
def drain() -> None:
    """Start no more hosts on a machine, and move its hosts to other machines, with all state kept."""


@machines.command()
@machine_argument
@document_option
@loaded(f"{WORK}:resume")
def resume() -> None:
    """Let a drained machine take hosts again."""


@machines.command()
@machine_argument
@document_option
@loaded(f"{WORK}:remove")
def remove() -> None:
    """Remove a machine whose agent has ended from the catalog."""
