"""Leftovers of hosts that were killed on a machine and run elsewhere now: scratch directories and private segments."""

from __future__ import annotations

import glob
import shutil

from sqlalchemy import select

from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.storage.home import Home, data_of
from streams_orchestration.runtime.storage.in_use import is_left
from streams_orchestration.runtime.storage.store import HERE

AGENTS = "agents"
"""Directory in a state directory with a file for each machine whose agent has used it."""


def note_machine(home: Home, machine: str) -> None:
    """Record in a state directory that a machine uses it. Several machines do if the directory is a shared mount.

    Raises OSError if the record cannot be written.
    """
    (home.root / AGENTS).mkdir(exist_ok=True)
    (home.root / AGENTS / machine.replace("/", "_")).touch()


def has_used_home(home: Home, machine: str) -> bool:
    """Return True if the agent of a machine has used this state directory."""
    return (home.root / AGENTS / machine.replace("/", "_")).exists()


def remove_leftovers(catalog: Catalog, home: Home, machine: str) -> list[str]:
    """Remove Spark's scratch directories that no process uses, and private segments of PEs that run elsewhere.

    A PE runs elsewhere if its host is on a machine with another state directory. A host that starts here removes the
    leftovers of its predecessor; this function covers hosts that never start here again. A file that cannot be removed
    is skipped in silence.

    Returns:
        The removed directories, also if some of their files are left.
    """
    # Path.glob fails if a directory is removed between its listing and its reading
    found = glob.glob("data/*/spark/*", root_dir=home.root)  # noqa: PTH207
    gone = [path for path in (home.root / each for each in found) if is_left(path)]
    for path in gone:
        shutil.rmtree(path, ignore_errors=True)
    return [*map(str, gone), *_remove_segments(catalog, home, machine)]


def _remove_segments(catalog: Catalog, home: Home, machine: str) -> list[str]:
    """Remove this machine's private segments of PEs whose hosts now run on machines with another state directory.

    Return their directories; none if the shared storage is the state directory.
    """
    store = catalog.store
    if not store.address:
        return []
    h, p = tables.host, tables.pe
    both = (h.c.application == p.c.application) & (h.c.id == p.c.host)
    elsewhere = (
        select(p.c.application, p.c.id, h.c.machine)
        .join(h, both)
        .where(h.c.machine.is_not(None), h.c.machine != machine)
    )
    with catalog.read() as connection:
        rows = connection.execute(elsewhere).all()
    gone: list[str] = []
    for row in rows:
        path = store.path(f"{HERE}{data_of(row.application)}/streams/pe-{row.id}")
        if path is not None and path.is_dir() and not has_used_home(home, row.machine):
            shutil.rmtree(path, ignore_errors=True)
            gone.append(str(path))
    return gone
