"""`streams agent` and the group `streams machines`. Each command imports its module when it is called."""

from __future__ import annotations

import click

from streams_orchestration.cli.command import CommandGroup, command
from streams_orchestration.cli.options import document_option, within_option

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
def agent(name: str | None, tags: str, cores: int | None, standbys: int) -> int:
    """Register this machine, and start, watch and end the hosts that are wanted here, until Ctrl-C.

    While any machine is registered, only agents start hosts. All machines share one catalog in PostgreSQL, which
    STREAMS_CATALOG names, and one storage, which STREAMS_STORAGE names: an object store, or a directory that all of
    them mount at the same path. Each machine has a state directory of its own (STREAMS_HOME); without STREAMS_STORAGE
    all machines mount the same state directory. Hosts outlive the agent, and an agent that is started again takes them
    over.
    """
    from streams_orchestration.cli import machines as work

    return work.agent(name, tags, cores, standbys)


@click.group(cls=CommandGroup, invoke_without_command=True)
@document_option
@click.pass_context
def machines(context: click.Context) -> int:
    """Show the registered machines, or drain, resume or remove a machine."""
    if context.invoked_subcommand is not None:
        return 0  # click takes the status of the subcommand
    from streams_orchestration.cli import machines as work

    return work.list_()


@machines.command()
@machine_argument
@within_option("Allow each application this long to reach a cut. After that it stays on the machine.")
@document_option
def drain(name: str, within: float) -> int:
    """Start no more hosts on a machine, and move its hosts to other machines, with all state kept."""
    from streams_orchestration.cli import machines as work

    return work.drain(name, within)


@machines.command()
@machine_argument
@document_option
def resume(name: str) -> int:
    """Let a drained machine take hosts again."""
    from streams_orchestration.cli import machines as work

    return work.resume(name)


@machines.command()
@machine_argument
@document_option
def remove(name: str) -> int:
    """Remove a machine whose agent has ended from the catalog."""
    from streams_orchestration.cli import machines as work

    return work.remove(name)
