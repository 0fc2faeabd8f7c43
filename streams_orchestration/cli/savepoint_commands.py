"""The group `streams savepoint`. Each command imports the module that does its work when it is called."""

from __future__ import annotations

from pathlib import Path

import click

from streams_orchestration.cli.command import CommandGroup
from streams_orchestration.cli.options import application_argument, document_option, within_option
from streams_orchestration.cli.shell_completion import complete_application, complete_savepoint

savepoint_argument = click.argument("savepoint", metavar="SAVEPOINT", shell_complete=complete_savepoint)
name_argument = click.argument("name", metavar="[NAME]", required=False)


@click.group("savepoint", cls=CommandGroup)
def savepoint_group() -> None:
    """Take and manage savepoints: copies of an application's state and positions to start from later or elsewhere.

    A savepoint is kept until it is removed, even if its application is gone. `streams run` and `streams deploy` start
    an application from a savepoint with --from, also under another name. SAVEPOINT is a name, or APP/NAME if several
    applications have a savepoint of that name.
    """


@savepoint_group.command()
@application_argument
@name_argument
@within_option("Allow the application this long to reach a cut. After that no savepoint is taken.")
@document_option
def create(application: str, name: str | None, within: float) -> int:
    """Take a savepoint of an application, which pauses for a moment and then continues.

    Without NAME the savepoint is named after the current time. An application that was stopped within an epoch is
    started until it reaches a cut, without taking new input.
    """
    from streams_orchestration.cli import savepoints

    return savepoints.create(application, name, within)


@savepoint_group.command("list")
@click.argument("application", metavar="[APP]", required=False, shell_complete=complete_application)
@document_option
def list_(application: str | None) -> int:
    """List the savepoints of one application, or of all."""
    from streams_orchestration.cli import savepoints

    return savepoints.list_(application)


@savepoint_group.command()
@savepoint_argument
@document_option
def show(savepoint: str) -> int:
    """Show the states and positions in a savepoint, and the places to which its sinks wrote."""
    from streams_orchestration.cli import savepoints

    return savepoints.show(savepoint)


@savepoint_group.command()
@savepoint_argument
@click.argument("directory", type=click.Path(path_type=Path), metavar="DIR")
@document_option
def export(savepoint: str, directory: Path) -> int:
    """Export a savepoint into a directory, complete and checked, for another state directory or to archive it."""
    from streams_orchestration.cli import savepoints

    return savepoints.export(savepoint, directory)


@savepoint_group.command("import")
@click.argument("directory", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@name_argument
@document_option
def import_(directory: Path, name: str | None) -> int:
    """Import an exported savepoint into this state directory, under its own name or as NAME."""
    from streams_orchestration.cli import savepoints

    return savepoints.import_(directory, name)


@savepoint_group.command()
@savepoint_argument
@document_option
def remove(savepoint: str) -> int:
    """Remove a savepoint. Exported copies, and applications that started from it, are not touched."""
    from streams_orchestration.cli import savepoints

    return savepoints.remove(savepoint)
