"""The contents of a savepoint: its manifest, and the files that the manifest names."""

from __future__ import annotations

import json
import zlib
from pathlib import PurePosixPath
from typing import Any, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.alias_generators import to_camel

from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.documents import dump, load
from streams_orchestration.operators.contract.offset import Offsets
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError
from streams_orchestration.runtime.programs.batches import StateFile, StoredState
from streams_orchestration.runtime.savepoints.savepoint_place import SavepointPlace, UnfitFileError, reason_of

SCHEMA_VERSION = 1
"""Version of the format of the manifest and of the files that it names."""
MANIFEST = "manifest.json"
PLAN = "plan.json"
MANIFEST_BYTES = 256 << 20
"""The largest size of a manifest that is read, in bytes."""
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
"""Pattern for the name of a savepoint."""


class SavepointError(StreamsRuntimeError):
    """A savepoint cannot be made, read, or used."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True)


class SavedFile(_Part):
    """A file of the savepoint."""

    name: str = Field(pattern=r"^(plan\.json|states/\d+-\d+\.state)$")
    """Path of the file within the directory."""
    size: int = Field(ge=0)
    """The size in bytes."""
    checksum: int
    """The CRC-32 of the file."""
    batch: int = 0
    """For a state's file, the batch that wrote it."""
    place: str = ""
    """For the state of a Spark query, the path of the file in its checkpoint."""

    @field_validator("place")
    @classmethod
    def _is_inside(cls, place: str) -> str:
        path = PurePosixPath(place)
        if path.is_absolute() or ".." in path.parts or "\0" in place:
            message = "it is not a path in a checkpoint"
            raise ValueError(message)
        return place


class SavedState(_Part):
    """The state of an operator."""

    operator: str
    """The physical name of the operator."""
    rows: int | None
    """The number of rows; None for the checkpoint of a Spark query, whose rows are not counted."""
    files: tuple[SavedFile, ...]
    """The full state first, then incremental changes in order."""


class SavedImport(_Part):
    """The position of an Import in a stream of another application."""

    name: str
    """Physical name of the Import."""
    operator: str
    """Physical name of the operator that receives its tuples."""
    port: int
    application: str
    stream: str
    life: str
    """Life id of the exporting application."""
    position: int
    """The number of the next segment to read."""


class SavedSink(_Part):
    """The destination of a sink, and the files that it had published."""

    operator: str
    place: str
    files: int
    """Number of files that it had published."""
    newest: str | None = None
    """The last of the files' names; None without files."""
    unmarked: tuple[str, ...] = ()
    """Its directories that had files and were still to be marked as complete."""


class SavedPositions(_Part):
    """The positions from which the application continues."""

    sources: Offsets
    """Operator -> its offset."""
    ended: tuple[str, ...]
    """Sources that have no more tuples."""
    finished: tuple[str, ...]
    """Operators of PEs that have made their last commit."""
    imports: tuple[SavedImport, ...]
    clocks: dict[str, int] = Field(default_factory=dict[str, int])
    """Source -> its watermark in ticks, if a source of its graph may have to wait for it (EV65)."""
    watermarks: dict[str, dict[str, int]] = Field(default_factory=dict[str, dict[str, int]])
    """Operator without output ports -> the watermarks of its connections in microseconds (EV67)."""
    idle: dict[str, list[dict[str, Any]]] = Field(default_factory=dict[str, list[dict[str, Any]]])
    """Source -> its decisions that partitions are idle which it still has to repeat after a reset (EV51)."""


class Manifest(_Part):
    """The description of a savepoint."""

    schema_version: int
    product: str
    """Version of the product that made it."""
    id: str
    application: str = Field(pattern=r"^[A-Za-z_]\w*$")
    name: str = Field(pattern=NAME)
    created_at: str
    """The time when the savepoint was made, in ISO 8601 and UTC."""
    life: str
    """Life id of the application when the savepoint was taken."""
    fingerprint: str
    """Fingerprint of the application's compiled plan."""
    epoch: int
    """The highest complete epoch of its units."""
    batch: int
    """The highest batch of its PEs."""
    complete: bool
    """True if the application was complete."""
    plan: SavedFile
    positions: SavedPositions
    states: tuple[SavedState, ...]
    sinks: tuple[SavedSink, ...]

    @property
    def files(self) -> tuple[SavedFile, ...]:
        """All files of the directory except the manifest."""
        return (self.plan, *(file for state in self.states for file in state.files))

    @property
    def title(self) -> str:
        """The name by which a user refers to the savepoint, as `application/name`."""
        return f"{self.application}/{self.name}"

    @property
    def size(self) -> int:
        """The size of its files in bytes."""
        return sum(file.size for file in self.files)

    def document(self) -> dict[str, Any]:
        """Return the manifest as a JSON value."""
        return self.model_dump(mode="json", by_alias=True)

    def stored_states(self, place: SavepointPlace) -> dict[str, StoredState]:
        """Map each operator to its state in the files of the savepoint at `place`."""
        return {
            state.operator: StoredState(
                state.operator,
                tuple(StateFile((place / f.name).address, f.size, f.checksum, f.batch, f.place) for f in state.files),
            )
            for state in self.states
        }


def write_manifest(place: SavepointPlace, manifest: Manifest) -> None:
    """Write the manifest durably, with a checksum of its own. It is the last file of a savepoint to be written.

    Raises OSError if it cannot be written.
    """
    content = manifest.document()
    text = json.dumps(content | {"checksum": _checksum(content)}, indent=2, ensure_ascii=False)
    (place / MANIFEST).write(text.encode() + b"\n")


def read_manifest(place: SavepointPlace) -> Manifest:
    """Read the manifest of a savepoint. One of more than `MANIFEST_BYTES` counts as damaged.

    Raises:
        SavepointError: the place is not a savepoint, is damaged, cannot be read, or was made by a newer version of the
            product.
    """
    path = place / MANIFEST
    try:
        if (size := path.size()) > MANIFEST_BYTES:
            raise damaged(path, f"it has {size} bytes, but may have at most {MANIFEST_BYTES}")
        found = _document(path.read())
        content = cast("dict[str, Any]", found) if isinstance(found, dict) else dict[str, Any]()
    except (FileNotFoundError, NotADirectoryError) as error:
        message = f"{place} is not a savepoint: it has no {MANIFEST}. Name one that `streams savepoint export` wrote."
        raise SavepointError(message) from error
    except OSError as error:
        message = reason_of(path, "read", error, "Give read permission, or name another savepoint.")
        raise SavepointError(message) from error
    except (UnfitFileError, _NoDocumentError) as error:
        raise damaged(path, str(error)) from error
    version = content.get("schemaVersion")
    if not isinstance(version, int):
        message = f"{place} is not a savepoint: its {MANIFEST} has no schemaVersion. Name another directory."
        raise SavepointError(message)
    if version > SCHEMA_VERSION:
        message = (
            f"{path}: the savepoint is of schema version {version}, made by version {content.get('product')} of the "
            f"product; this one reads up to {SCHEMA_VERSION}. Use that version of the product, or a newer one."
        )
        raise SavepointError(message)
    checksum = content.pop("checksum", None)
    if checksum != _checksum(content):
        raise damaged(path, "it was altered")
    try:
        return Manifest.model_validate(content)
    except ValidationError as error:
        raise damaged(path, f"{error.error_count()} of its values are missing or have a wrong form") from error


def check_file(path: SavepointPlace, file: SavedFile, content: bytes) -> None:
    """Raise SavepointError if the content of a file does not match the manifest."""
    if len(content) != file.size:
        raise damaged(path, f"it has {len(content)} of {file.size} bytes")
    if zlib.crc32(content) != file.checksum:
        raise damaged(path, "it was altered")


def read_file(place: SavepointPlace, file: SavedFile) -> bytes:
    """Return the content of a file of a savepoint.

    Raises:
        SavepointError: the file is missing, cannot be read, or was altered.
    """
    path = place / file.name
    try:
        if (size := path.size()) != file.size:
            raise damaged(path, f"it has {size} of {file.size} bytes")
        content = path.read()
    except UnfitFileError as error:
        raise damaged(path, str(error)) from error
    except FileNotFoundError as error:
        raise damaged(path, "it is gone") from error
    except OSError as error:
        message = reason_of(path, "read", error, "Restore it from a copy, or name another savepoint.")
        raise SavepointError(message) from error
    check_file(path, file, content)
    return content


def write_plan(place: SavepointPlace, plan: PlannedCompilation) -> SavedFile:
    """Write the plan of the saved application, with its PE programs; return the manifest's entry for the file.

    Raises OSError if the file cannot be written.
    """
    content = dump(plan)
    (place / PLAN).write(content)
    return SavedFile(name=PLAN, size=len(content), checksum=zlib.crc32(content))


def read_plan(place: SavepointPlace, manifest: Manifest) -> PlannedCompilation:
    """Read the plan of the saved application.

    Raises:
        SavepointError: the file is missing, cannot be read, or was altered, or this version of the product cannot read
            the plan.
    """
    content = read_file(place, manifest.plan)
    try:
        return load(PlannedCompilation, content)
    except ValidationError as error:
        if error.errors()[0]["type"] == "json_invalid":
            raise damaged(place / manifest.plan.name, "it is not a JSON document, or nested too deeply") from error
        message = (
            f"{place / manifest.plan.name}: the plan was made by version {manifest.product} of the product, and "
            "this version cannot read it. Start from the savepoint with that version."
        )
        raise SavepointError(message) from error


class _NoDocumentError(ValueError):
    """Content is not a JSON document; the message gives the reason."""


def _document(content: bytes) -> Any:
    try:
        document = json.loads(content.decode("utf-8"))
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeError as error:
        message = "it is not encoded as UTF-8"
        raise _NoDocumentError(message) from error
    except ValueError as error:
        message = "it is not a JSON document"
        raise _NoDocumentError(message) from error
    except RecursionError as error:
        message = "it is nested too deeply"
        raise _NoDocumentError(message) from error
    return document


def damaged(path: SavepointPlace, reason: str) -> SavepointError:
    """Return the error for a file that was altered or is gone since the savepoint was made."""
    return SavepointError(f"{path} is damaged: {reason}. Restore it from a copy, or use another savepoint.")


def _checksum(content: dict[str, Any]) -> int:
    return zlib.crc32(json.dumps(content, sort_keys=True).encode())
