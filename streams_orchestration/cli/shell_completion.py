"""Completions that a shell offers when TAB is pressed, and the shell script that requests them."""

from __future__ import annotations

import os
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from streams_orchestration.cli.output import write
from streams_orchestration.model.python_file import may_be_spec, specs_in
from streams_orchestration.runtime import api

VARIABLE = "_STREAMS_COMPLETE"


def completion(shell: str) -> None:
    """Print the completion script for a shell."""
    script = get_completion_class(shell)
    assert script is not None
    write(script(click.get_current_context().find_root().command, {}, "streams", VARIABLE).source())


def _logs(pattern: str) -> list[Path]:
    """Return the paths below the directory of logs that match a pattern; none if the state directory cannot be used."""
    try:
        return list((api.Home.default().root / "logs").glob(pattern))
    except api.StreamsRuntimeError:
        return []


def complete_application(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    """Return the applications that have logs here, since opening the catalog would take too long.

    There are none if the state directory cannot be used.
    """
    return sorted(path.name for path in _logs(f"{start}*") if path.is_dir())


def complete_savepoint(_context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    """Return the savepoints of this state directory, as APP/NAME.

    There are none if they are in an object store, or the state directory cannot be used.
    """
    try:
        directory = api.Home.default().store.path(api.SAVEPOINTS)  # a request to an object store would take too long
    except api.StreamsRuntimeError:
        return []
    if directory is None:
        return []
    names = sorted(f"{path.parent.name}/{path.name}" for path in directory.glob("*/[!.]*"))
    return [name for name in names if name.startswith(start)]


def complete_spec(_context: click.Context, _parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Return files that may be specs, and directories; before anything is typed, also the specs under `specs`.

    If there are none, the shell completes the names of files itself.
    """
    where, name = os.path.split(start)
    known = specs_in(Path(os.environ.get("STREAMS_SPECS", "specs"))) if not start else ()
    beside = Path(where or ".").glob(f"{name}*")
    names = {str(path) for path in known}
    names |= {os.path.join(where, path.name) for path in beside if may_be_spec(path)}  # noqa: PTH118
    if not names:
        return [CompletionItem(start, type="file")]
    return [CompletionItem(name) for name in sorted(names)]


def complete_shown(context: click.Context, parameter: click.Parameter, start: str) -> list[CompletionItem]:
    """Return the applications that were deployed here, and specs."""
    names = [CompletionItem(name) for name in complete_application(context, parameter, start)]
    return [*names, *complete_spec(context, parameter, start)]


def complete_operator(context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    """Return the logical names that begin with `start`, of the operators of the spec that precedes the cursor.

    There are none without a spec, or if it does not compile.
    """
    spec = context.params.get("spec")
    if not isinstance(spec, Path):
        return []
    from streams_orchestration.cli.compiling import operator_names

    return [name for name in operator_names(spec) if name.startswith(start)]


def complete_pe(context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    """Return the PEs with a log whose numbers begin with `start`, of the typed application or of all applications.

    There are none if the state directory cannot be used.
    """
    paths = _logs(f"{context.params.get('application') or '*'}/pe-*.log")
    pes = sorted({int(path.stem.removeprefix("pe-")) for path in paths})
    return [str(pe) for pe in pes if str(pe).startswith(start)]


def complete_unit(context: click.Context, _parameter: click.Parameter, start: str) -> list[str]:
    """Return the sorted units of recovery that begin with `start`, of the typed application or of all deployed ones.

    There are none if the application is not deployed, or the catalog cannot be read.
    """
    try:
        catalog = api.Catalog(api.Home.default())
        application = context.params.get("application")
        names = [application] if application else api.list_applications(catalog)
        statuses = [api.read_status(catalog, name) for name in names] if catalog.exists else []
    except api.StreamsRuntimeError:
        return []
    return sorted({unit.name for status in statuses for unit in status.units if unit.name.startswith(start)})
