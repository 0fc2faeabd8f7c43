"""`streams remove`: show what the removal of an application removes, ask, and remove it for good."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import click
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from streams_orchestration.cli.failures import APPLICATION
from streams_orchestration.cli.invocation import answer, current
from streams_orchestration.cli.messages import note, warning
from streams_orchestration.cli.preparing import lock_and_stop_orphans
from streams_orchestration.cli.terminal import write_table
from streams_orchestration.model.brief import count, plural
from streams_orchestration.runtime import api


def remove(application: str, *, results: bool, dry_run: bool, yes: bool) -> int:
    """Show what the removal of an application removes, ask, and remove it; return the exit status.

    The status is 1 if the user declines.

    Args:
        application: the name of the application.
        results: also remove its published results.
        dry_run: only show the parts.
        yes: do not ask.

    Raises:
        UsageError: the user cannot be asked, and neither `yes` nor `dry_run` is set.
        NotDeployedError: the application is not deployed, and has no files.
        StreamsRuntimeError: the application runs, a file cannot be removed, or the catalog or the start lock cannot be
            used.
        OSError: the storage cannot be read.
    """
    home = api.Home.default()
    current().application = application
    catalog = api.open_catalog(home, application)
    removal = api.preview_removal(catalog, application, results=results)
    status = api.read_status_if_deployed(catalog, application)
    facts = _facts(home, removal, status, results=results)
    if not current().json:
        write_table(_shown(removal, facts), None)
    for reader in facts["readers"]:
        warning(
            f"{reader['application']} imports {reader['stream']} from {application}: it loses "
            f"{plural(reader['tuples'], 'tuple')} that it has not read."
        )
    if dry_run:
        return answer(lambda: facts)
    if not yes and not _ask_to_remove(application):
        note("Nothing was removed.")
        return APPLICATION
    with lock_and_stop_orphans(catalog, application, "streams remove") as lock:
        api.remove_application(catalog, lock, application, results=results)
    text = f"{application} is removed."
    if facts["machines"]:
        text += f" Its logs on {', '.join(facts['machines'])} stay: `streams remove {application}` there removes them."
    return answer(lambda: facts | {"removed": True}, text)


def _ask_to_remove(application: str) -> bool:
    """Ask whether to remove an application, and return the answer; raise UsageError if nobody can be asked."""
    if current().json or not sys.stdin.isatty():
        message = f"{application} is removed for good only if --yes confirms that; --dry-run shows the parts."
        raise click.UsageError(message, click.get_current_context())
    return click.confirm(f"Remove {application} for good?", err=True)


def _facts(
    home: api.Home, removal: api.Removal, status: api.ApplicationStatus | None, *, results: bool
) -> dict[str, Any]:
    """Return the document of the command before anything is removed; `status` is None for one that is not deployed."""
    sinks = () if status is None else status.sinks
    exports = () if status is None else status.exports
    readers = [
        {"application": each.importer, "stream": each.stream, "tuples": each.lag_tuples}
        for export in exports
        for each in export.connections
        if each.importer != removal.application
    ]
    return {
        "removed": False,
        "rows": removal.rows,
        "files": [each._asdict() for each in removal.files],
        "kept": {
            "savepoints": [place.name for place in api.list_savepoints(home, removal.application)],
            "results": [
                {"operator": sink.operator, "place": str(sink.path or sink.place), "outputs": sink.files}
                for sink in sinks
                if sink.files and not (results and sink.format)
            ],
        },
        "readers": readers,
        "machines": _other_machines(home, status),
    }


def _other_machines(home: api.Home, status: api.ApplicationStatus | None) -> list[str]:
    """Return the machines with hosts and logs of an application whose state directory is another one."""
    machines = {host.machine for host in status.hosts if not host.here} if status is not None else set[str | None]()
    return sorted(each for each in machines if each is not None and not api.has_used_home(home, each))


def _shown(removal: api.Removal, facts: dict[str, Any]) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("removed", "place", "files", "bytes"):
        table.add_column(title, justify="right" if title in ("files", "bytes") else "left", overflow="fold")
    if removal.rows:
        table.add_row(plural(removal.rows, "row"), removal.catalog)
    for each in removal.files:
        size = "" if each.size is None else count(each.size)
        table.add_row(each.content, each.place, count(each.files), size)
    return Group(table, *_kept(removal.application, facts["kept"]))


def _kept(application: str, kept: dict[str, Any]) -> Iterator[Text]:
    """Yield a line for the savepoints and for each sink whose results stay."""
    for sink in kept["results"]:
        yield Text(f"The results of {sink['operator']} in {sink['place']} stay.", "dim")
    if kept["savepoints"]:
        names = ", ".join(f"{application}/{name}" for name in kept["savepoints"])
        yield Text(f"Savepoints stay: {names}.", "dim")
