"""The group `streams savepoint`. The functions that do the work are loaded when they are called."""

from __future__ import annotations

from pathlib import Path

import click

from streams_orchestration.cli.command import Group
from streams_orchestration.cli.completing import complete_application, complete_savepoint
from streams_orchestration.cli.loading import loaded
from streams_orchestration.cli.options import application_argument, document_option, within_option

WORK = "streams_orchestration.cli.savepoints"
savepoint_argument = click.argument("reference", metavar="SAVEPOINT", shell_complete=complete_savepoint)
name_argument = click.argument("name", metavar="[NAME]", required=False)


@click.group(cls=Group)
def savepoint() -> None:
    """Keep where an application stands, with its state, to start from it later, elsewhere, or under another name.

    A savepoint is kept until it is removed, whatever becomes of its application. `streams run` and `streams deploy`
    start from one with --from. SAVEPOINT is a name, or APP/NAME where several applications have one of that name.
    """


@savepoint.command()
@application_argument
@name_argument
@within_option("Allow the application this long to reach a cut. After that no savepoint is taken.")
@document_option
@loaded(f"{WORK}:create")
def create() -> None:
    """Take a savepoint of an application, which stands still for a moment and runs on.

    Without NAME it is called by the time. An application that was stopped amid an epoch is started for as long as it
    needs to come to a cut; nothing new comes in meanwhile.
    """


@savepoint.command("list")
@click.argument("application", metavar="[APP]", required=False, shell_complete=complete_application)
@document_option
@loaded(f"{WORK}:list_")
def list_() -> None:
    """List the savepoints of one application, or of all."""


@savepoint.command()
@savepoint_argument
@document_option
@loaded(f"{WORK}:show")
def show() -> None:
    """Show what a savepoint holds: states, positions, where its sinks wrote."""


@savepoint.command()
@savepoint_argument
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@document_option
@loaded(f"{WORK}:export")
def export() -> None:
    """Write a savepoint into a directory that is complete by itself, and checked: for another place, or for good."""


@savepoint.command("import")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@name_argument
@document_option
@loaded(f"{WORK}:import_")
def import_() -> None:
    """Import an exported savepoint into this state directory, under its name or another one."""


@savepoint.command()
@savepoint_argument
@document_option
@loaded(f"{WORK}:remove")
def remove() -> None:
    """Remove a savepoint. What was exported or started from it is not touched."""
