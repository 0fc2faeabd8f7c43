"""A disk that keeps only what was synchronised, and a power that may be lost."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import select

from streams_orchestration.operators.storage.durable_files import forget_names
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.catalog.chains import files_of
from streams_orchestration.runtime.storage.store import HERE


@dataclass
class Disk:
    """The contents of a disk below a directory: contents of files by inode, and names by directory."""

    root: Path
    copies: Path
    """A directory beside it, for second names of all files that are on disk."""
    contents: set[int] = field(default_factory=set)
    names: dict[Path, dict[str, int]] = field(default_factory=dict)
    calls: list[str] = field(default_factory=list)
    """Calls that write, in order, with the last two parts of their paths."""

    def sync(self, descriptor: int) -> None:
        """Take the place of `os.fsync`."""
        status, path = os.fstat(descriptor), Path(f"/proc/self/fd/{descriptor}").readlink()
        self.note("fsync", path)
        if not stat.S_ISDIR(status.st_mode):
            self.contents.add(status.st_ino)
        elif path.is_relative_to(self.root):
            self.names[path] = {each.name: each.inode() for each in os.scandir(path)}
            for name, inode in self.names[path].items():
                if (path / name).is_file() and not (copy := self.copies / str(inode)).exists():
                    copy.hardlink_to(path / name)

    def note(self, call: str, path: Path) -> None:
        self.calls.append(f"{call} {path.parent.name}/{path.name}")

    def moved(self, source: Path, target: Path) -> None:
        """Note that a directory has another path: what is on disk of the names in it stays so."""
        if target.is_dir():
            below = [path for path in self.names if path.is_relative_to(source)]
            self.names |= {target / path.relative_to(source): self.names.pop(path) for path in below}

    def keeps(self, path: Path) -> bool:
        """Return True if a file survives a loss of power, with its content."""
        known = self.names.get(path.parent, {}).get(path.name)
        return known == path.stat().st_ino and known in self.contents and self._named(path.parent)

    def _named(self, directory: Path) -> bool:
        """Return True if the directory itself is found again."""
        if directory == self.root:
            return True
        known = self.names.get(directory.parent, {}).get(directory.name)
        return known == directory.stat().st_ino and self._named(directory.parent)

    def lose_power(self, *, removals: bool) -> None:
        """Undo what is not on disk: of unsynchronised changes either all new names, or all removals are lost.

        Args:
            removals: whether names that were removed come back; new ones stay then.
        """
        for path in [path for path in self.root.rglob("*") if path.is_file() and not removals]:
            is_named = self.names.get(path.parent, {}).get(path.name) == path.stat().st_ino
            if not path.name.startswith("catalog.db") and not (is_named and self._named(path.parent)):
                path.unlink()
        for directory, names in self.names.items():
            for name, inode in names.items():
                path, copy = directory / name, self.copies / str(inode)
                if removals and directory.is_dir() and copy.exists() and not path.exists():
                    path.hardlink_to(copy)


@contextmanager
def recorded(root: Path, patch: pytest.MonkeyPatch) -> Iterator[Disk]:
    """Yield a disk on which a directory is still empty; within the block, check every commit of a catalog.

    All files that a commit names must be on disk before it begins.
    """
    copies = root.with_name(f"{root.name}-copies")
    copies.mkdir()
    root.mkdir()
    disk = Disk(root, copies)
    commit = Catalog._transaction

    @contextmanager
    def watched(catalog: Catalog, mode: str, unit: str = "") -> Iterator[object]:
        writes = mode in ("write", "unit")
        before = named(catalog) if writes else set[Path]()
        with commit(catalog, mode, unit) as connection:  # type: ignore[arg-type]
            yield connection
        if writes:
            disk.calls.append("commit")
            gone = [str(path) for path in sorted(named(catalog) - before) if path.exists() and not disk.keeps(path)]
            assert not gone, f"a commit names what a loss of power takes: {gone}"

    link, rename, replace, unlink = os.link, os.rename, os.replace, Path.unlink

    def noted(call: str, function: object) -> object:
        def done(source: object, target: object, **more: object) -> None:
            function(source, target, **more)  # type: ignore[operator]
            disk.note(call, Path(str(target)))
            disk.moved(Path(str(source)), Path(str(target)))

        return done

    def removed(path: Path, missing_ok: bool = False) -> None:
        there = path.exists()
        unlink(path, missing_ok=missing_ok)
        if there:
            disk.note("unlink", path)

    patch.setattr(os, "fsync", disk.sync)
    patch.setattr(os, "link", noted("link", link))
    patch.setattr(os, "rename", noted("rename", rename))
    patch.setattr(os, "replace", noted("rename", replace))
    patch.setattr(Path, "unlink", removed)
    patch.setattr(Catalog, "_transaction", watched)
    forget_names(Path("/"))
    yield disk


def named(catalog: Catalog) -> set[Path]:
    """Return the paths of all files that a catalog names."""
    with catalog.read() as connection:
        addresses = [*connection.scalars(select(tables.segment.c.path))]
        addresses += [*connection.scalars(select(tables.sink_file.c.pending).where(~tables.sink_file.c.retracted))]
        addresses += files_of(connection.scalars(select(tables.state.c.files)))
    paths = [catalog.store.path(address) for address in addresses if not address.startswith(HERE)]
    return {path for path in paths if path is not None}
