"""`streams savepoint`: take, list, show, export, import and remove savepoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.cli.invocation import answer, current
from streams_orchestration.cli.messages import note
from streams_orchestration.cli.preparing import take_start_lock
from streams_orchestration.cli.terminal import write_table
from streams_orchestration.model.brief import count, plural
from streams_orchestration.runtime import api


def create(application: str, name: str | None, within: float) -> int:
    """Take a savepoint of an application, named after the current time by default; return the exit status, 0.

    Raises:
        NotDeployedError: the application is not deployed.
        SavepointError: the name is taken, or the application reaches no cut in time.
        BeingStartedError: another process holds the start lock for too long.
        StreamsRuntimeError: a state cannot be read, or hosts that the cut needs cannot be started.
    """
    home = api.Home.default()
    current().application = application
    catalog = api.open_catalog(home, application)
    api.require_deployed(catalog, application)
    with take_start_lock(home.prepare(), application, "streams savepoint create") as lock:
        note(f"Taking a savepoint of {application} ...")
        created = api.create_savepoint(catalog, lock, name, within=within)
    facts = _facts(created.manifest, created.place) | {"pausedSeconds": created.paused_seconds}
    text = f"{created.manifest.title}: {_holds(created.manifest)}. {application} was paused for "
    return answer(lambda: facts, f"{text}{created.paused_seconds:.1f} s.")


def list_(application: str | None) -> int:
    """List the savepoints of one application, or of all; return the exit status, 0.

    A savepoint that cannot be read is listed with its error. Raises SavepointError if a directory of savepoints cannot
    be listed.
    """
    home = api.Home.default()
    current().application = application
    savepoints = [(path, _read(path)) for path in api.list_savepoints(home, application)]
    if not current().json:
        if savepoints:
            write_table(_table(savepoints), None)
        else:
            whose = f" of {application}" if application else ""
            note(f"There is no savepoint{whose}. `streams savepoint create {application or 'APP'}` takes one.")
    return answer(lambda: {"savepoints": [_listed(path, manifest) for path, manifest in savepoints]})


def show(savepoint: str) -> int:
    """Show the states, positions and sinks in a savepoint; return the exit status, 0.

    Raises SavepointError if the savepoint does not exist or cannot be read.
    """
    place = api.find_savepoint(api.Home.default(), savepoint)
    manifest = api.read_manifest(place)
    current().application = manifest.application
    if not current().json:
        write_table(_details(place, manifest), None)
    return answer(lambda: _facts(manifest, place))


def export(savepoint: str, directory: Path) -> int:
    """Export a savepoint into a directory; return the exit status, 0.

    Raises:
        SavepointError: the savepoint does not exist or is damaged, or the directory is not empty or cannot be written.
    """
    copied = api.export_savepoint(api.Home.default(), savepoint, directory)
    current().application = copied.manifest.application
    text = f"{copied.manifest.title} is in {copied.place}: {_holds(copied.manifest)}."
    return answer(lambda: _facts(copied.manifest, copied.place), text)


def import_(directory: Path, name: str | None) -> int:
    """Import an exported savepoint into this state directory; copy nothing if it was imported before.

    Returns:
        The exit status, 0.

    Raises:
        SavepointError: the savepoint is damaged or cannot be written, or another one has its name.
        BeingStartedError: another process holds the start lock of its application.
    """
    copied = api.import_savepoint(api.Home.default(), directory, name)
    current().application = copied.manifest.application
    text = f"{copied.manifest.title}: {_holds(copied.manifest)}."
    if not copied.new:
        text = f"{copied.manifest.title} exists already; nothing was copied."
    return answer(lambda: _facts(copied.manifest, copied.place), text)


def remove(savepoint: str) -> int:
    """Remove a savepoint; return the exit status, 0.

    Raises:
        SavepointError: there is no such savepoint, or it cannot be removed.
        BeingStartedError: the savepoint is in an object store, and another process holds its application's lock.
    """
    title = api.remove_savepoint(api.Home.default(), savepoint)
    current().application = title.partition("/")[0]
    return answer(lambda: {"removed": title}, f"{title} is removed.")


def _facts(manifest: api.Manifest, place: api.SavepointPlace) -> dict[str, Any]:
    return {"savepoint": manifest.document() | {"path": str(place), "bytes": manifest.size}}


def _listed(path: api.SavepointPlace, manifest: api.Manifest | api.SavepointError) -> dict[str, Any]:
    base = {"application": path.application, "name": path.name, "path": str(path)}
    if isinstance(manifest, api.SavepointError):
        return base | {"error": str(manifest)}
    return base | {
        "createdAt": manifest.created_at,
        "epoch": manifest.epoch,
        "complete": manifest.complete,
        "rows": _rows(manifest),
        "bytes": manifest.size,
        "error": None,
    }


def _read(path: api.SavepointPlace) -> api.Manifest | api.SavepointError:
    """Read a savepoint's manifest; return the error if that fails, so that the others are listed."""
    try:
        return api.read_manifest(path)
    except api.SavepointError as error:
        return error


def _rows(manifest: api.Manifest) -> int:
    return sum(state.rows or 0 for state in manifest.states)


def _holds(manifest: api.Manifest) -> str:
    states = plural(len(manifest.states), "state")
    return f"epoch {manifest.epoch}, {states} with {plural(_rows(manifest), 'row')}, {count(manifest.size)} bytes"


def _table(savepoints: list[tuple[api.SavepointPlace, api.Manifest | api.SavepointError]]) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("savepoint", "taken", "epoch", "states", "rows", "bytes"):
        table.add_column(title, justify="left" if title in ("savepoint", "taken") else "right", overflow="fold")
    notes: list[RenderableType] = []
    for path, manifest in savepoints:
        if isinstance(manifest, api.SavepointError):
            notes.append(Text(str(manifest), "red"))
            continue
        numbers = (manifest.epoch, len(manifest.states), _rows(manifest), manifest.size)
        title = f"{path.application}/{path.name}"
        table.add_row(title, manifest.created_at, *map(count, numbers))
    return Group(table, *notes)


def _details(place: api.SavepointPlace, manifest: api.Manifest) -> RenderableType:
    state = "complete" if manifest.complete else f"at epoch {manifest.epoch}"
    lines: list[RenderableType] = [
        Text.assemble((manifest.title, "bold"), f"  {state}, taken {manifest.created_at} by {manifest.product}"),
        Text(str(place), "dim"),
        Text(),
    ]
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("state of", "rows", "bytes", "files"):
        table.add_column(title, justify="left" if title == "state of" else "right", overflow="fold")
    for each in manifest.states:
        size = sum(file.size for file in each.files)
        rows = "" if each.rows is None else count(each.rows)
        table.add_row(each.operator, rows, count(size), count(len(each.files)))
    positions = manifest.positions
    lines.append(table)
    for source, offset in positions.sources.items():
        ended = " (ended)" if source in positions.ended else ""
        lines.append(Text(f"source {source}{ended}  {offset}"))
    for each in positions.imports:
        lines.append(Text(f"import {each.name}  {each.application}: {each.stream}, segment {each.position}"))
    for each in manifest.sinks:
        files = f", {plural(each.files, 'file')}" if each.files else ""
        lines.append(Text(f"sink {each.operator}  {each.place}{files}"))
    return Group(*lines)
