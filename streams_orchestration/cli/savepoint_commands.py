"""The group `streams savepoint`. The functions that do the work are loaded when they are called."""

from __future__ import annotations

from pathlib import Path

import click

from streams_orchestration.cli.command import CommandGroup
from streams_orchestration.cli.loading import loaded
from streams_orchestration.cli.options import application_argument, document_option, within_option
from streams_orchestration.cli.shell_completion import complete_application, complete_savepoint

WORK = "streams_orchestration.cli.savepoints"
savepoint_argument = click.argument("savepoint", metavar="SAVEPOINT", shell_complete=complete_savepoint)
name_argument = click.argument("name", metavar="[NAME]", required=False)


@click.group(cls=CommandGroup)
def savepoint() -> None:
    """Take and manage savepoints: copies of an application's state and positions to start from later or elsewhere.

    A savepoint is kept until it is removed, even if its application is gone. `streams run` and `streams deploy` start
    an application from a savepoint with --from, also under another name. SAVEPOINT is a name, or APP/NAME if several
    applications have a savepoint of that name.
    """


@savepoint.command()
@application_argument
@name_argument
@within_option("Allow the application this long to reach a cut. After that no savepoint is taken.")
@document_option
@loaded(f"{WORK}:create")
def create() -> None:
    """Take a savepoint of an application, which pauses for a moment and then continues.

    Without NAME the savepoint is named after the current time. An application that was stopped within an epoch is
    started until it reaches a cut, without taking new input.
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
    """Show the states and positions in a savepoint, and the places to which its sinks wrote."""


@savepoint.command()
@savepoint_argument
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@document_option
@loaded(f"{WORK}:export")
def export() -> None:
    """Export a savepoint into a directory, complete and checked, for another state directory or to archive it."""


@savepoint.command("import")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@name_argument
@document_option
@loaded(f"{WORK}:import_")
def import_() -> None:
    """Import an exported savepoint into this state directory, under its own name or as NAME."""


@savepoint.command()
@savepoint_argument
@document_option
@loaded(f"{WORK}:remove")
def remove() -> None:
    """Remove a savepoint. Exported copies, and applications that started from it, are not touched."""
