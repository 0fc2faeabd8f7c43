"""Spark's checkpoint of a query as a stored state: a commit names hard links to the checkpoint's files.

Spark writes a file under a temporary name and renames it, never in place, so the linked files do not change. A query
that starts gets a directory of its own with only the files of the cut; uploads of the former query go elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import uuid
import zlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from streams_orchestration.operators.storage.durable_files import write_whole
from streams_orchestration.operators.storage.local import files_below
from streams_orchestration.runtime.errors.operator_errors import OperatorError
from streams_orchestration.runtime.programs.batches import StateFile, StoredState
from streams_orchestration.runtime.storage.directories import Directories
from streams_orchestration.runtime.storage.store import Store, StoreError

SEPARATOR = "~"
"""The character that replaces a slash in the names of links, so that people can read them."""
_LOG = re.compile(r"(offsets|commits)/(\d+)")
_VERSION = re.compile(r"(state/.+)/(\d+)(_[^/.]+)?\.(delta|snapshot|zip|changelog)")
_METADATA = re.compile(r"state/.+/_metadata/v2/(\d+)")
_SCHEMA = re.compile(r'file:[^"]*/(state/\d+/_stateSchema/)')
_LOG_HEAD = 2
"""The number of header lines in an entry of Spark's log of offsets: the version and Spark's metadata.

The sources follow.
"""
_SNAPSHOTS = 2
"""The number of full snapshots that are kept of each state store, since a failed attempt may have written the newest
one.
"""
_MEND = "restore it from a copy, or start over with --fresh"


class CheckpointError(OperatorError):
    """A checkpoint is gone, was altered, or cannot be read."""


def needed(paths: Iterable[str], last: int) -> list[str]:
    """Return the files of a checkpoint that a query needs to continue after a batch, sorted, without temporary files.

    Paths are relative to the checkpoint. `last` is Spark's number of the batch, which is committed.
    """
    files = {path: _owner(path) for path in paths}
    snapshots: dict[str, set[int]] = defaultdict(set)
    for owner in files.values():
        match = _VERSION.fullmatch(owner) if owner is not None else None
        if match and match[4] in ("zip", "snapshot") and int(match[2]) <= last + 1:
            snapshots[match[1]].add(int(match[2]))
    oldest = {
        store: sorted(versions)[-_SNAPSHOTS:][0] for store, versions in snapshots.items() if len(versions) >= _SNAPSHOTS
    }
    return sorted(path for path, owner in files.items() if owner is not None and _is_needed(owner, last, oldest))


def last_batch(paths: Iterable[str]) -> int | None:
    """Return Spark's number of the newest committed batch; None if there is none."""
    matches = (_LOG.fullmatch(path) for path in paths)
    return max((int(match[2]) for match in matches if match and match[1] == "commits"), default=None)


def _owner(path: str) -> str | None:
    """Return the file that a path belongs to; None for a temporary file.

    A checksum file belongs to the file whose checksum it holds; any other file belongs to itself.
    """
    directory, _, name = path.rpartition("/")
    if name.endswith(".crc"):
        name = name.removesuffix(".crc")
        name = name[1:] if name.startswith(".") else name
        name = name.removesuffix(".crc")  # the checksum of a file of checksums
        name = name[1:] if name.startswith(".") else name
    if name.startswith(".") or name.endswith(".tmp"):
        return None
    return f"{directory}/{name}" if directory else name


def _is_needed(path: str, last: int, oldest: dict[str, int]) -> bool:
    if match := _LOG.fullmatch(path):
        return last - 1 <= int(match[2]) <= last  # Spark checks the batch before the last one, too
    if match := _VERSION.fullmatch(path):
        return oldest.get(match[1], 0) <= int(match[2]) <= last + 1
    if match := _METADATA.fullmatch(path):
        return int(match[1]) <= last
    return True


def link_checkpoint(
    checkpoint: Path, directories: Directories, prefix: str, operator: str, batch: int, former: StoredState | None
) -> StoredState:
    """Link the files of a checkpoint to names of their own, or upload them, and return them as a stored state.

    Call this while Spark runs no batch. The contents of the files are durable when this returns, the names of the links
    after `Store.sync_names`. A file that Spark has removed meanwhile is left out. A file that is in the `former` state
    gets no further link. The names of links begin with `prefix`, and `batch` is the number in the catalog.

    Raises:
        CheckpointError: the checkpoint has no committed batch.
        OSError: a file cannot be read or stored.
    """
    paths = [path.relative_to(checkpoint).as_posix() for path in files_below(checkpoint)]
    last = last_batch(paths)
    if last is None:
        raise CheckpointError(operator, f"Spark's checkpoint {checkpoint} has no batch; reset the region")
    store = directories.store
    known = {file.place: file for file in former.files} if former is not None else {}
    files: list[StateFile] = []
    for path in needed(paths, last):
        former_file = known.get(path)
        if former_file is not None and _is_same(store, former_file, checkpoint / path):
            files.append(former_file)
            continue
        with contextlib.suppress(FileNotFoundError):  # Spark has removed it: it is no longer needed
            address = f"{directories.states}/{_name(prefix, path)}"
            files.append(_kept(store, checkpoint / path, address, batch, path))
    return StoredState(operator, tuple(files))


def restore_checkpoint(store: Store, stored: StoredState, checkpoint: Path) -> None:
    """Create the checkpoint of a query from a state that `link_checkpoint` returned.

    After an error, the checkpoint may be incomplete.

    Raises:
        CheckpointError: a file is gone, was altered, or cannot be read.
        OSError: the checkpoint's directory cannot be written.
    """
    for file in stored.files:
        place = checkpoint / file.place
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            store.fetch(file.path, place)
            data = place.read_bytes()
            if len(data) != file.size or zlib.crc32(data) != file.checksum:
                raise CheckpointError(stored.operator, f"its state {store.title(file.path)} was altered; {_MEND}")
        except OSError as error:
            mend = "" if isinstance(error, StoreError) else f"; {_MEND}"
            message = f"its state {store.title(file.path)} cannot be read: {error.strerror}{mend}"
            raise CheckpointError(stored.operator, message) from error


def watermark_of(checkpoint: Path) -> int | None:
    """Return Spark's watermark for the next batch, in milliseconds since 1970; None before the first rows.

    Rows with an earlier event time are late.
    """
    if not (checkpoint / "commits").is_dir():
        return None
    logs = [int(path.name) for path in (checkpoint / "commits").iterdir() if path.name.isdecimal()]
    if not logs:
        return None
    lines = (checkpoint / "commits" / str(max(logs))).read_text().split("\n")
    return json.loads(lines[1])["nextBatchWatermarkMs"] or None


def continue_after(checkpoint: Path, batch: int) -> None:
    """Rewrite a restored checkpoint so that its query continues after a given batch of the catalog.

    The checkpoint may have been stored at another batch: a redeploy, and a start from a savepoint, continue with a
    higher number. Spark's own batch numbers stay the same. The query must not run. Linked files are replaced, not
    changed.

    Raises:
        OSError: a file of the checkpoint cannot be read or written.
    """
    last = last_batch(path.relative_to(checkpoint).as_posix() for path in checkpoint.rglob("*"))
    log = checkpoint / "offsets" / str(last)
    former = log.read_text()
    lines = former.split("\n")
    sources = [json.dumps({"batch": batch}) if line.startswith("{") else line for line in lines[_LOG_HEAD:]]
    text = "\n".join([*lines[:_LOG_HEAD], *sources])
    if text != former:
        write_whole(log, text, durably=False)
        # otherwise Spark compares the file with the checksum of its former content
        log.with_name(f".{last}.crc").unlink(missing_ok=True)


def name_own_schemas(checkpoint: Path) -> None:
    """Rewrite a restored checkpoint to refer to its own schema files, which Spark names by absolute paths.

    The stored paths lead into the directory of the query that wrote them, which may no longer exist. The query must not
    run. Linked files are replaced, not changed.

    Raises:
        OSError: a file of the checkpoint cannot be read or written.
    """
    for file in checkpoint.glob("state/*/_metadata/v2/*"):
        if not file.name.isdecimal():
            continue
        former = file.read_text()
        text = _SCHEMA.sub(lambda match: f"file:{checkpoint.absolute()}/{match[1]}", former)
        if text != former:
            write_whole(file, text, durably=False)
            for checksum in (f".{file.name}.crc", f"{file.name}.crc"):
                # otherwise Spark compares the file with the checksum of its former content
                file.with_name(checksum).unlink(missing_ok=True)


def _is_same(store: Store, file: StateFile, path: Path) -> bool:
    """Return True if a stored file is the same file as one of the checkpoint; False if either is gone.

    For a file in an object store, True if the content is the same.
    """
    try:
        kept = store.path(file.path)
        if kept is not None:
            return kept.samefile(path)
        data = path.read_bytes()
    except FileNotFoundError:
        return False
    return (len(data), zlib.crc32(data)) == (file.size, file.checksum)


def _kept(store: Store, source: Path, address: str, batch: int, place: str) -> StateFile:
    with source.open("rb") as file:
        data = file.read()
        os.fsync(file.fileno())
    store.keep(source, address)
    return StateFile(address, len(data), zlib.crc32(data), batch, place)


def _name(prefix: str, path: str) -> str:
    return f"{prefix}-{uuid.uuid4().hex[:8]}{SEPARATOR}{path.replace('/', SEPARATOR)}"
