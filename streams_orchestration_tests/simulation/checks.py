"""The invariants after every commit of a simulation, judged by a reader who takes no part in it."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from streams_orchestration.runtime.catalog.chains import files_of
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.storage.store import HERE
from streams_orchestration.runtime.units.region_machine import LIMIT
from streams_orchestration_tests.chaos.shapes import Tuples
from streams_orchestration_tests.simulation.catalogs import EVERYTHING, Tables, opened
from streams_orchestration_tests.simulation.compared import difference
from streams_orchestration_tests.simulation.disks import Disk
from streams_orchestration_tests.simulation.object_stores import ObjectStore

STANDING_STILL = ("UNHEALTHY", LIMIT)
"""States of a unit in which no batch of it may be committed."""


def _parts(directory: Path) -> dict[Path, int]:
    """Return the published files of a directory in their order, each with its inode."""
    try:
        with os.scandir(directory) as entries:
            found = sorted((entry.name, entry.inode()) for entry in entries if entry.name.startswith("part-"))
    except FileNotFoundError:
        return {}
    return {directory / name: inode for name, inode in found}


@dataclass
class Checks:
    """The state that was seen after the last commit, and the faults that were found."""

    home: Home
    disk: Disk
    store: ObjectStore | None
    """The object store; None if the files that the catalog names are on the disk."""
    application: str
    wanted: dict[str, Tuples]
    """Sink -> the tuples of an undisturbed run."""
    ordered: tuple[str, ...]
    """Sinks whose tuples come in one order only."""
    by_key: bool = False
    """True if tuples keep their order only within a key, since they may have gone by several channels."""
    histories: Callable[[Tables], Iterator[str]] = lambda _: iter(())
    """Checks of what must stay as it was seen."""
    event_times: Callable[[], Iterator[str]] = lambda: iter(())
    """Checks of watermarks."""
    wrong: list[str] = field(default_factory=list[str])
    epochs: int = 0
    """Complete epochs of all units."""
    generations: int = 0
    batches: int = 0
    """Commits of batches that were seen."""
    _commits: set[tuple[int, ...]] = field(default_factory=set[tuple[int, ...]])
    """PE, batch and generation of the commits that existed at the last check."""
    _units: dict[str, tuple[int, int, str]] = field(default_factory=dict[str, tuple[int, int, str]])
    _cuts: dict[tuple[int, str, int], str] = field(default_factory=dict[tuple[int, str, int], str])
    _published: dict[Path, int] = field(default_factory=dict[Path, int])
    _sound: set[Path] = field(default_factory=set[Path])
    """Settled files that were found to be on disk."""
    _seen: dict[str, Tuples] = field(default_factory=dict[str, Tuples])
    _disk_changes: int = -1
    _is_new: bool = False
    """True if the last check found a file that was published."""
    _connection: sqlite3.Connection | None = None

    def __call__(self, written: Tables) -> None:
        """Check the results, and what the catalog says of tables that a transaction has written."""
        if not self._units:  # nothing was seen yet
            written = EVERYTHING
        self._before = dict(self._units)
        if "unit" in written:
            self.wrong.extend(self._check_units())
        if "epoch" in written or "application" in written:
            self.wrong.extend(self._check_cuts())
        if "batch_commit" in written:
            self.wrong.extend(self._check_commits())
        self.wrong.extend(self._check_results())
        if "sink_file" in written or self._is_new:
            self.wrong.extend(self._check_settled())
        self.wrong.extend(self.histories(written))
        if not {"segment", "batch_commit", "unit"}.isdisjoint(written):
            self.wrong.extend(self.event_times())

    def delivered(self, sink: str) -> int:
        """Return the number of rows of a sink that count as delivered."""
        return next((row["rows"] for row in self.rows("SELECT rows FROM sink WHERE operator = ?", sink)), 0)

    def standing(self, pe: int) -> int:
        """Return the last batch of a PE."""
        return next((row["batch"] for row in self.rows("SELECT batch FROM pe WHERE id = ?", pe)), -1)

    def plan(self) -> int:
        """Return the number of the plan that is deployed."""
        return self.rows("SELECT plan FROM application")[0]["plan"]

    def is_stored(self, name: str) -> bool:
        """Return True if a file that the catalog names is in the object store."""
        return self.store is not None and not name.startswith((HERE, "/"))

    def exists(self, name: str) -> bool:
        """Return True if a file that the catalog names is there."""
        if self.store is not None and self.is_stored(name):
            return self.store.holds(name)
        return self._path(name).exists()

    def content(self, name: str) -> bytes:
        """Return the content of a file that the catalog names."""
        if self.store is not None and self.is_stored(name):
            return self.store.content(name)
        return self._path(name).read_bytes()

    def survives(self, name: str) -> bool:
        """Return True if a file is there after a loss of power, or is one that a reset makes again."""
        return self.is_stored(name) or name.startswith(HERE) or self.disk.keeps(self._path(name))

    def _path(self, name: str) -> Path:
        return self.home.root / name.removeprefix(HERE)

    def flip(self, name: str) -> str:
        """Flip a bit of a file that the catalog names; return where."""
        self.disk.flipped.add(name.rpartition("/")[2])
        if self.store is not None and self.is_stored(name):
            return self.store.flip(name)
        return self.disk.flip(self._path(name))

    def kept(self) -> list[str]:
        """Return the files that the catalog names and that have content, other than those that were published."""
        names = {row["path"] for row in self.rows("SELECT path FROM segment WHERE NOT retracted")}
        for row in self.rows("SELECT files FROM operator_state"):
            names |= files_of([json.loads(row["files"])])
        for row in self.rows("SELECT pending, final FROM sink_file WHERE NOT published"):
            if row["final"] is None or not Path(row["final"]).exists():  # visible from its link to the transaction
                names.add(row["pending"])
        return [name for name in sorted(names) if self.exists(name) and self._has_content(name)]

    def _has_content(self, name: str) -> bool:
        return self.is_stored(name) or self._path(name).stat().st_size > 0

    def settled(self) -> set[Path]:
        """Return the published files that the catalog no longer names, so that nobody would publish them again."""
        waiting = {row["final"] for row in self.rows("SELECT final FROM sink_file")}
        return {path for path in self._published if str(path) not in waiting}

    def look_again(self, settled: set[Path]) -> None:
        """Check all published files again after a loss of power, which must have kept the settled ones."""
        self.wrong += [
            f"{path.name} was published, and a loss of power took it" for path in sorted(settled) if not path.exists()
        ]
        self._published.clear()
        self._seen.clear()
        self._sound.clear()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()

    def rows(self, statement: str, *values: Any) -> list[sqlite3.Row]:
        if self._connection is None:
            self._connection = opened(self.home.catalog)
            self._connection.row_factory = sqlite3.Row
        return self._connection.execute(statement, values).fetchall()

    def _check_units(self) -> Iterator[str]:
        """Generations and complete epochs never fall."""
        for row in self.rows("SELECT name, generation, completed_epoch, state FROM unit"):
            name, generation, epoch = row["name"], row["generation"], row["completed_epoch"]
            former = self._units.get(name, (0, 0, ""))
            if generation < former[0]:
                yield f"{name}: generation {generation} after {former[0]}"
            if epoch < former[1]:
                yield f"{name}: complete epoch {epoch} after {former[1]}"
            self._units[name] = generation, epoch, row["state"]
        self.epochs = sum(epoch for _, epoch, _ in self._units.values())
        self.generations = sum(generation for generation, _, _ in self._units.values())

    def _check_cuts(self) -> Iterator[str]:
        """Check that a cut does not change."""
        # a switch puts the boundary commits of the new plan in the place of the cut
        for row in self.rows(
            "SELECT a.plan, e.unit, e.epoch, e.cut FROM epoch e JOIN application a ON name = e.application"
        ):
            known = self._cuts.setdefault((row["plan"], row["unit"], row["epoch"]), row["cut"])
            if json.loads(known) != json.loads(row["cut"]):
                yield f"{row['unit']}: the cut of epoch {row['epoch']} was {known} and is {row['cut']}"

    def _check_commits(self) -> Iterator[str]:
        """Check that a commit has its unit's generation, follows the previous one, and names existing files."""
        there = {tuple(row) for row in self.rows("SELECT pe, batch, generation FROM batch_commit")}
        new, self._commits = sorted(there - self._commits), there
        self.batches += len(new)
        for pe, batch, _ in new:
            (row,) = self.rows(
                "SELECT c.pe, c.batch, c.generation, c.epoch, p.unit, p.batch AS standing "
                "FROM batch_commit c JOIN pe p USING (application) WHERE p.id = c.pe AND c.pe = ? AND c.batch = ?",
                *(pe, batch),
            )
            place = f"PE {row['pe']}, batch {row['batch']}"
            generation, epoch, state = self._units[row["unit"]]
            if row["generation"] != generation:
                yield f"{place}: a commit of generation {row['generation']} while {row['unit']} is in {generation}"
            if row["standing"] != row["batch"]:
                yield f"{place}: committed while the PE stands at batch {row['standing']}"
            before = self._before.get(row["unit"])
            if before is not None and before[0] == generation and before[2] in STANDING_STILL and state == before[2]:
                yield f"{place}: committed while {row['unit']} is {state}"
            if row["epoch"] < epoch:
                yield f"{place}: a commit of epoch {row['epoch']} after epoch {epoch} was complete"
            paths = {
                path for names in self._named(*(row[name] for name in ("pe", "batch", "generation"))) for path in names
            }
            for path in sorted(paths):
                if not self.exists(path):
                    yield f"{place}: {path} is gone"
                elif not self.survives(path):
                    yield f"{place}: {path} would not survive a loss of power"

    def _named(self, pe: int, batch: int, generation: int) -> Iterator[Iterable[str]]:
        """Yield the files that a commit names."""
        yield (row["path"] for row in self.rows("SELECT path FROM segment WHERE pe = ? AND batch = ?", pe, batch))
        for row in self.rows("SELECT files FROM operator_state WHERE pe = ? AND batch = ?", pe, batch):
            yield files_of([json.loads(row["files"])])
        # a redeploy gives the files of a sink to the PE that it comes to, with the batch of the PE that it was in
        waiting = "SELECT pending FROM sink_file WHERE pe = ? AND batch = ? AND generation = ? AND NOT published"
        files = self.rows(waiting, pe, batch, generation)
        yield (row["pending"] for row in files)

    def _check_results(self) -> Iterator[str]:
        """Check that published files do not change, and that readers see a part of the undisturbed result."""
        self._is_new = False
        if self._disk_changes == self.disk.changes:
            return  # no name of a file is another one than at the last check
        self._disk_changes = self.disk.changes
        results = self.home.results(self.application)
        for sink in sorted(self.wanted):
            found = _parts(results / sink)
            known = [(path, inode) for path, inode in self._published.items() if path.parent.name == sink]
            yield from (f"{sink}: {path.name} was published and is gone" for path, _ in known if path not in found)
            others = [path for path, inode in known if found.get(path, inode) != inode]
            yield from (f"{sink}: {path.name} was published and is another file now" for path in others)
            new = [path for path in found if path not in self._published]
            self._published |= {path: found[path] for path in new}
            if not new:
                continue
            self._is_new = True
            seen = self._seen.setdefault(sink, [])
            for path in new:
                seen += [tuple(row.values()) for row in pq.read_table(path).to_pylist()]
            found_wrong = difference(seen, self.wanted[sink], in_order=sink in self.ordered, by_key=self.by_key)
            if found_wrong:
                after = ", ".join(path.name for path, _ in known[-2:])
                yield f"{sink}: {found_wrong}; {new[0].name} came after {after}"

    def _check_settled(self) -> Iterator[str]:
        """Check that published files that the catalog no longer names are on disk, with their directories."""
        new = self._published.keys() - self._sound
        for path in sorted(new & self.settled() if new else ()):
            self._sound.add(path)
            if not self.disk.keeps(path):
                yield f"{path.name} counts as published and would not survive a loss of power"
