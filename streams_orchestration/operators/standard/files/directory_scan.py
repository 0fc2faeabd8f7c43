"""DirectoryScan: submits the names of a directory's files as they appear."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Literal

from pydantic import Field, field_validator

from streams_orchestration import world
from streams_orchestration.expressions.functions.patterns import PATTERN_ERRORS, fault_of
from streams_orchestration.operators.clients.backoff import Backoff
from streams_orchestration.operators.contract.operator import (
    Offset,
    OperatorContext,
    Parameters,
    ProducedTo,
    SourceOperator,
)
from streams_orchestration.operators.errors.errors import OutsideError, check_attributes
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.expressions.spl.text import ExpressionText, SplText
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.logic.program import SplLogic
from streams_orchestration.operators.logic.source_logic import SourceLogic, over_columns, produced, without_variables
from streams_orchestration.operators.storage.input_files import is_text
from streams_orchestration.operators.storage.options import StorageOptions
from streams_orchestration.operators.storage.port import ListedFile, is_address
from streams_orchestration.operators.storage.storages import storage_of
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch

Fact = Literal["path", "name", "directory", "size", "modified"]


def _is_away(error: Exception) -> bool:
    """Return True for an error after which the scan is repeated: the store is away, or the system reports an error."""
    return isinstance(error, OutsideError | OSError)


def _fits(fact: Fact, kind: pa.DataType) -> bool:
    match fact:
        case "size":
            return pa.types.is_int64(kind)
        case "modified":
            return pa.types.is_timestamp(kind)
        case _:
            return pa.types.is_string(kind)


class DirectoryScanParameters(Parameters):
    """The parameters of `DirectoryScan`."""

    directory: str = Field(min_length=1, description="Directory, relative to the spec or absolute, or an address.")
    storage: StorageOptions | None = Field(
        default=None, repr=False, description="Options of the object store that the address names."
    )
    pattern: str | None = Field(default=None, description="A regular expression that is searched for in file names.")
    sort_by: Literal["date", "name"] = Field(
        default="date",
        alias="sortBy",
        description="Order of the files of one scan. Files of the same date are in order of their names.",
    )
    order: Literal["ascending", "descending"] = Field(
        default="ascending", description="Direction of the order within one scan."
    )
    sleep_time: float = Field(
        default=5.0, alias="sleepTime", ge=0.01, le=3600, description="Seconds between two scans."
    )
    ignore_dot_files: bool = Field(
        default=False, alias="ignoreDotFiles", description="Leave out files whose names begin with a dot."
    )
    ignore_existing_files_at_startup: bool = Field(
        default=False, alias="ignoreExistingFilesAtStartup", description="Leave out the files of the first scan."
    )
    until: Literal["latest"] | None = Field(default=None, description="latest: end after the files of the first scan.")
    metadata: dict[str, Fact] = Field(
        default_factory=dict,
        description=(
            "Maps an attribute to path, name, directory, size or modified. If omitted, the only attribute "
            "gets the path."
        ),
    )

    output: dict[str, ExpressionText] = Field(
        default_factory=dict,
        description="Maps attributes to expressions of SPL over FullPath(), FilePath(), FileName() and so on.",
    )
    spl: SplLogic | None = Field(
        default=None, description="Logic in SPL: state, which the expressions of output may read and change."
    )

    @field_validator("pattern")
    @classmethod
    def _is_expression(cls, pattern: str | None) -> str | None:
        try:
            re.compile(pattern or "")
        except PATTERN_ERRORS as error:
            message = f"{pattern!r:.200} is not a regular expression: {fault_of(error)}"
            raise ValueError(message) from error
        return pattern

    def facts(self, schema: pa.Schema) -> dict[str, Fact]:
        """Return the file property for each output attribute without an expression.

        Without `metadata`, the first of these attributes gets the path.

        Raises:
            UnknownAttributeError: `metadata` names an attribute that the stream does not have.
            ValueError: an attribute has no property or does not fit it.
        """
        others = [name for name in schema.names if name not in self.output]
        facts: dict[str, Fact] = dict(self.metadata) or dict.fromkeys(others[:1], "path")
        check_attributes("metadata", facts, schema.names, "the output stream")
        for field in (schema.field(name) for name in others):
            if field.name not in facts:
                message = f"metadata: {field.name} has no value; give it path, name, directory, size or modified"
                raise ValueError(message)
            if not _fits(facts[field.name], field.type):
                wanted = {"size": "bigint", "modified": "timestamp"}.get(facts[field.name], "string")
                message = (
                    f"metadata: {field.name} is {type_name(field.type)}, but {wanted} is expected for "
                    f"{facts[field.name]}"
                )
                raise ValueError(message)
        return {name: facts[name] for name in others}

    def logic(self, context: OperatorContext) -> SourceLogic | None:
        """Return the expressions of `output`, compiled; None if there are none.

        Raises:
            ValueError: a value of `output` is not an expression of SPL, or is wrong.
        """
        if self.spl is None and not self.output:
            return None
        wrong = next((text for text in self.output.values() if not isinstance(text, SplText)), None)
        if wrong is not None:
            message = f"output: {wrong!r} is not an SPL expression; use metadata for path, name, size or time of a file"
            raise ValueError(message)
        written = {name: over_columns(text, _functions().names) for name, text in self.output.items()}
        return SourceLogic(context, self.spl, written, _functions(), "File")


@functools.cache
def _functions() -> pa.Schema:
    """Return a schema with one column for each output function without arguments.

    SPL expressions read these columns.
    """
    texts = ("FullPath", "FilePath", "FileName", "Directory")
    return pa.schema([*((name, pa.string()) for name in texts), ("Size", pa.uint64()), ("Mtime", pa.uint64())])


class DirectoryScan(SourceOperator):
    """Submits a tuple for each file in a directory and for each new file. Subdirectories are left out.

    A file whose modification time changes is submitted again, so write files elsewhere and move them in. The offset
    records the files of a scan before any of them is submitted, so a replay submits the same ones. It holds the names
    of all files in the directory, which suits some ten thousand files at most. In an operator-driven region an epoch
    ends with every file.
    """

    Parameters = DirectoryScanParameters
    naming_parameters = NamingParameters(outputs=("metadata",))
    free_parameters = frozenset(DirectoryScanParameters.model_fields) - {"directory"}

    @classmethod
    def destination(cls, context: OperatorContext, parameters: DirectoryScanParameters) -> str:
        """Return the directory."""
        return parameters.directory

    @classmethod
    def check(cls, context: OperatorContext, parameters: DirectoryScanParameters) -> None:
        """Raise ValueError if a local directory is missing, or attributes, expressions or storage options do not fit.

        Object stores are not contacted.
        """
        parameters.facts(context.output_schema())
        parameters.logic(context)
        storage_of(parameters.directory, context.base, parameters.storage)
        place = context.base / parameters.directory
        if not is_address(parameters.directory) and not place.is_dir():
            message = f"directory: {place}: this directory does not exist; create it, or name another one"
            raise ValueError(message)

    def setup(self) -> None:
        """Prepare the source; its first scan is due at once."""
        parameters = self.parameters
        self.facts, self.logic = parameters.facts(self.context.output_schema()), parameters.logic(self.context)
        self.storage = storage_of(parameters.directory, self.context.base, parameters.storage)
        self.root = parameters.directory.rstrip("/")
        if not is_address(parameters.directory):
            self.root = str((self.context.base / parameters.directory).absolute())
        self.wanted = re.compile(parameters.pattern or "")
        self.backoff = Backoff(self.context, is_away=_is_away)
        self.due = 0.0
        """Time of the next scan on the monotonic clock."""
        self.waits = False
        self.unfit: set[str] = set()
        """The names of files that were left out, since they are not text."""
        self.last: Sequence[ListedFile] = ()
        """The files of the last submission."""

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit at most `limit` files that a scan has found; without any, scan, if due and the run is not bounded.

        In an operator-driven region, submit one file, which ends the epoch.
        """
        return produced(self.logic, offset, lambda plain: self._scan(plain, limit))

    def _scan(self, offset: Offset, limit: int) -> ProducedTo:
        waiting = [ListedFile(*each) for each in offset.get("waiting", ())]
        if self.until is not None and not waiting:
            if offset == self.until | {"waiting": []}:
                return ProducedTo(offset, exhausted=True)
            offset = dict(self.until)
        elif not waiting:
            offset = self._scan_directory(offset)
        else:
            drives = self.context.region is not None and self.context.region.trigger
            self.last = waiting[: 1 if drives else limit]
            self._submit(self.last)
            offset = offset | {"waiting": [list(each) for each in waiting[len(self.last) :]]}
            if drives:
                self.context.make_consistent()
        self.waits = not offset.get("waiting")
        if self.until is not None:
            return ProducedTo(offset, exhausted=offset == self.until | {"waiting": []})
        ended = self.parameters.until is not None and "known" in offset and "again" not in offset and self.waits
        return ProducedTo(offset, exhausted=ended)

    def available(self, offset: Offset) -> Offset | None:
        """Return the offset after a scan of the existing files, or None if the store cannot be reached."""
        self.due = 0.0
        scanned = self._scan_directory(self.continued(without_variables(offset)))
        return scanned if "known" in scanned and "again" not in scanned else None

    @classmethod
    def continued(cls, offset: Offset) -> Offset:
        """Return the offset marked so that the directory is scanned again, also after a run with `until: latest`.

        An offset before the first scan is returned unchanged.
        """
        return offset | {"again": True} if "known" in offset else offset

    def brings(self, port: int) -> bool:
        """Return False, since the name of a file is not data."""
        return False

    def pause(self) -> float | None:
        """Return the seconds, never None, until the next scan or attempt to reach the store; 0 while files are left."""
        return self.backoff.pause or (max(0.0, self.due - world.monotonic()) if self.waits else 0.0)

    def place(self) -> str:
        """Return the names of the last submitted files."""
        return f"{self.root}: {', '.join(file.name for file in self.last)}"

    def _scan_directory(self, offset: Offset) -> Offset:
        """Scan the directory if that is due, and return the offset with the new files.

        The offset is unchanged if no scan is due, or if the store cannot be reached.
        """
        scanned = "known" in offset and "again" not in offset
        if world.monotonic() < self.due or (self.parameters.until is not None and scanned):
            return offset
        files = self.backoff.reached(lambda: self.storage.listed(self.parameters.directory))
        if files is None:
            return offset
        self.due = world.monotonic() + self.parameters.sleep_time
        files = [file for file in files if self._is_wanted(file.name) and self._is_text(file.name)]
        known: dict[str, int] = offset.get("known", {})
        new = self._ordered([file for file in files if known.get(file.name) != file.modified])
        if "known" not in offset and self.parameters.ignore_existing_files_at_startup:
            new = []
        return {"known": {file.name: file.modified for file in files}, "waiting": [list(file) for file in new]}

    def _is_wanted(self, name: str) -> bool:
        hidden = self.parameters.ignore_dot_files and name.startswith(".")
        return not hidden and self.wanted.search(name) is not None

    def _is_text(self, name: str) -> bool:
        """Return True if a name can be a value of a tuple. Another one is logged, once."""
        if is_text(name):
            return True
        if name not in self.unfit:
            self.unfit.add(name)
            text = "%s: the name %s of a file is not UTF-8 text, so the file is left out; rename it"
            self.context.logger.warning(text, self.root, ascii(name))
        return False

    def _ordered(self, files: Sequence[ListedFile]) -> list[ListedFile]:
        by_date = self.parameters.sort_by == "date"
        keyed = sorted(files, key=lambda file: (file.modified if by_date else 0, file.name))
        return keyed if self.parameters.order == "ascending" else keyed[::-1]

    def _submit(self, files: Sequence[ListedFile]) -> None:
        schema = self.context.output_schema()
        facts = {
            "path": [f"{self.root}/{file.name}" for file in files],
            "name": [file.name for file in files],
            "directory": [self.root] * len(files),
            "size": [file.size for file in files],
            "modified": pa.array([file.modified // 1000 for file in files], pa.int64()).cast(pa.timestamp("us", "UTC")),
        }
        columns = {name: facts[fact] for name, fact in self.facts.items()}
        if self.logic is None:
            self.submit(TupleBatch.from_columns(columns, schema))
            return
        made = {
            "FullPath": facts["path"],
            "FilePath": [f"{self.parameters.directory.rstrip('/')}/{file.name}" for file in files],
            "FileName": facts["name"],
            "Directory": facts["directory"],
            "Size": facts["size"],
            "Mtime": [file.modified // 1_000_000_000 for file in files],
        }
        others = TupleBatch.from_columns(columns, pa.schema([schema.field(name) for name in columns]))
        self.submit(self.logic.apply(TupleBatch.from_columns(made, _functions()).arrow, others.arrow))
