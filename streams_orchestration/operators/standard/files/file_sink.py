"""FileSink: writes tuples to files that become visible when their epoch is complete, or with their batch."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streams_orchestration import world
from streams_orchestration.operators.contract.operator import OperatorContext, PendingFile, Punctuation
from streams_orchestration.operators.errors.errors import OutsideError, RefusedError, check_attributes
from streams_orchestration.operators.errors.external_errors import REFUSED_BY_SYSTEM
from streams_orchestration.operators.expressions.evaluation import evaluate
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.files.part_formats import header_line, merge_files, write_file
from streams_orchestration.operators.files.partitions import check_partitions, partitioned
from streams_orchestration.operators.files.spl_lines import (
    OWN_FORMATS,
    SinceLast,
    WrittenMark,
    check_lines,
    merge_lines_files,
    with_delay,
    write_lines_file,
)
from streams_orchestration.operators.formats.csv_writing import check_csv_schema
from streams_orchestration.operators.formats.json_reading import check_json_schema
from streams_orchestration.operators.formats.spl_texts import check_types
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.sinks.epoch_sink import waiting_directory
from streams_orchestration.operators.sinks.gathering import SUCCESS, GatheringSink, Roll
from streams_orchestration.operators.standard.files.partition_deadlines import PartitionDeadlines
from streams_orchestration.operators.standard.files.sink_names import NAME, divided_by_name, named_items, names_of_files
from streams_orchestration.operators.standard.files.sink_parameters import FileSinkParameters
from streams_orchestration.operators.standard.files.whole_files import WholeFiles
from streams_orchestration.operators.states.rescaling import Sharding
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.storage.local import files_below
from streams_orchestration.operators.storage.port import File, is_address
from streams_orchestration.operators.storage.storages import Storage, storage_of
from streams_orchestration.operators.tuples.arrow_types import schema_ddl
from streams_orchestration.operators.tuples.batch import TupleBatch

PENDING = "_pending"
"""The directory within a sink's directory for files that are not visible yet; readers skip names that begin with `_`.
"""
_OF_LINES = ("encoding", "eolMarker", "hasDelayField", "types")
"""Parameters of a sink of lines that a FileSource needs to read its files, beside the parameters of all formats."""
_CHANNEL = re.compile(r"\[\d+\]")
"""Matches the channel in the name of an operator; all channels have one directory."""
_PART = re.compile(r"part-\d{6,}-\d{6,}-\d{3,}(-n\d+)?(-g\d+|-[0-9a-f]{32})?\.(parquet|csv|jsonl|arrow|txt|line|block)")


def ending_of(format_: str) -> str:
    """Return the file name extension of a format."""
    return {"splCsv": "csv", "splTxt": "txt"}.get(format_, format_)


class FileSink(GatheringSink):
    """Writes files `part-<epoch>-<batch>-<channel>` into the directory `file`, or into its `partitionBy` directories.

    Every micro-batch with tuples writes a pending file. Once its epoch is complete, so that no reset can take it back,
    the file waits to be merged with others. When a limit of `Roll` is reached, the merged file is moved to its final
    name, which has the first epoch and the last batch. With `closeMode` batch, count or punct, no files are merged.

    With `closeMode: watermark` the files of a directory are closed when the watermark has reached `completeAfter`. Once
    the files of all channels are visible, the directory gets an empty file `_SUCCESS`. A tuple that comes later counts
    as `late_taken`, and goes into a further file of the directory, which then gets `_SUCCESS` once more.

    With `visibility: read_uncommitted` a file is moved when its batch is committed. A reset then removes the files
    after the cut. Their names end in `-g<generation>`, so that they are unique.
    """

    Parameters = FileSinkParameters
    loaded_modules = ("pyarrow.csv", "pyarrow.json", "pyarrow.parquet", "pyarrow.fs")
    naming_parameters = NamingParameters(inputs=("suppress", "partition_by"), expressions=("complete_after", "name_by"))
    stateful = True

    @classmethod
    def check(cls, context: OperatorContext, parameters: FileSinkParameters) -> None:
        """Raise ValueError if a parameter or the format does not suit the tuples, or the directory cannot be written.

        An output port is refused as well. Object stores are not contacted.
        """
        if context.outputs:
            message = (
                "FileSink cannot have an output port: the catalog has the names of the parts, and `streams status` "
                "shows "
                "them"
            )
            raise ValueError(message)
        schema = _written_schema(context, parameters)
        check_partitions(context.inputs[0], parameters.partition_by)
        names_of_files(context, parameters)
        _deadlines(context, parameters)
        if parameters.format == "csv":
            check_csv_schema(schema)
        if parameters.format == "jsonl":
            check_json_schema(schema, "jsonl")
        check_types(parameters.types, context.inputs[0].names)
        if parameters.format in OWN_FORMATS:
            check_lines(schema, parameters.writing())
        storage_of(parameters.file, options=parameters.storage)
        directory = cls.directory(context, parameters)
        if not isinstance(directory, Path) or not directory.is_absolute():
            return  # in an object store, or among the results, whose place is known when it is deployed
        existing = next(path for path in (directory, *directory.parents) if path.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
            message = (
                f"file: {directory} cannot be created or written: {existing} is not a directory with write permission"
            )
            raise ValueError(message)

    @classmethod
    def published(cls, context: OperatorContext, parameters: FileSinkParameters) -> tuple[File, ...]:
        """Return the published files below the directory, with `closeMode: watermark` also the files `_SUCCESS`."""
        place = str(cls.directory(context, parameters))
        partition = tuple(f"{name}=" for name in context.inputs[0].names)
        return tuple(
            file
            for file in storage_of(place, options=parameters.storage).below(place)
            if (_PART.fullmatch(file.name) or (parameters.marks and file.name == SUCCESS))
            and all(
                each.startswith(partition) or parameters.name_by is not None
                for each in str(file).removeprefix(f"{place}/").split("/")[:-1]
            )
        )

    @classmethod
    def directory(cls, context: OperatorContext, parameters: FileSinkParameters) -> Path | str:
        """Return the directory or address where the sink publishes its files."""
        if is_address(parameters.file):
            return parameters.file.rstrip("/")
        return context.results / (parameters.file or _CHANNEL.sub("", context.name))

    @classmethod
    def read_with(cls, context: OperatorContext, parameters: FileSinkParameters) -> dict[str, Any] | None:
        """Return the sink's format parameters, and the schema of its files; None if they contain marks."""
        left_out = {*parameters.suppress, *parameters.partition_by}
        written = pa.schema([field for field in context.inputs[0] if field.name not in left_out])
        if parameters.write_punctuations:
            return None
        settings = parameters.model_dump(by_alias=True, mode="json")
        own = {name: settings[name] for name in ("format", "separator", "nullTexts", "quoteStrings")}
        if parameters.format in OWN_FORMATS:
            others = ("compression", *({"block": (), "bin": ("types",)}.get(parameters.format, _OF_LINES)))
            own |= {name: settings[name] for name in others if settings[name]}
            own |= {} if parameters.quote_strings else {"parsing": "permissive"}  # a text may look like two values
        return {"schema": schema_ddl(written), **own}

    @classmethod
    def unpublished(cls, context: OperatorContext, parameters: FileSinkParameters) -> tuple[Path, ...]:
        """Return this replica's pending files, also of killed tasks. Raises OSError if a directory cannot be read."""
        return tuple(files_below(cls._pending(context, parameters), f"{max(context.channel, 0):03d}-*"))

    @classmethod
    def _pending(cls, context: OperatorContext, parameters: FileSinkParameters) -> Path:
        """Return the directory of pending files.

        It is inside the final directory, so that files can be moved there by a rename. For an object store it is among
        the sink's other waiting deliveries.
        """
        directory = cls.directory(context, parameters)
        return directory / PENDING if isinstance(directory, Path) else waiting_directory(context)

    def setup(self) -> None:
        """Prepare. The first tuples open a file. Raises ValueError if a parameter does not suit the tuples."""
        if self.deadlines is not None:
            self.keeps_places = True
        self.late = self.context.metrics.counter("late_taken", "tuples whose directory was already complete")
        written = _written_schema(self.context, self.parameters).names
        self.names = [*written, *self.parameters.partition_by]
        self.items: list[pa.RecordBatch | WrittenMark] = []
        """The tuples of this micro-batch, and marks that are written, in order."""
        self.heeds_marks = self.parameters.holds_files or self.parameters.write_punctuations
        schema = pa.schema([self.context.inputs[0].field(name) for name in self.names])
        self.since, self.names_of_files = SinceLast(self.context), names_of_files(self.context, self.parameters)
        schema = with_delay(schema) if self.parameters.has_delay_field else schema
        named = self.names_of_files is not None
        self.files = WholeFiles(schema.append(pa.field(NAME, pa.string())) if named else schema, self.parameters)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Keep the tuples until their file is written, and count those whose directory was complete.

        Raises DataError if `nameBy` or `completeAfter` has no value for a tuple.
        """
        if self.deadlines is not None:
            self.late.add(self.deadlines.late(batch))
            if not len(batch):
                return
        everything = self.names == batch.arrow.schema.names
        tuples = batch.arrow if everything else batch.arrow.select(self.names)
        tuples = self.since.in_front_of(tuples) if self.parameters.has_delay_field else tuples
        if self.names_of_files is not None:
            tuples = tuples.append_column(NAME, evaluate(self.names_of_files, batch.arrow))
        if self.parameters.holds_files:
            self.files.add(tuples)
        else:
            self.items.append(tuples)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Record a mark to be written if `writePunctuations` is set, and complete the file if `closeMode` says so.

        With `closeMode: punct` every mark completes the file, and with `count` only the final one. Otherwise marks
        complete no file.
        """
        delay = self.since.step() if self.parameters.has_delay_field and self.parameters.write_punctuations else 0.0
        if self.parameters.holds_files:
            self.files.mark(mark, delay)
        elif self.parameters.write_punctuations:
            self.items.append(WrittenMark(mark, delay))

    def prepare_commit(self) -> tuple[PendingFile, ...]:
        """Write a pending file for each directory of this micro-batch, or for each complete file, and return them.

        Raises:
            RefusedError: the system refuses permanently to write the file.
            OutsideError: the file cannot be written now.
            DataError: a value does not suit format, encoding or directory name, or `nameBy` names no file below.
        """
        if self.parameters.holds_files:
            files = [named_items(items) for items in self.files.complete()]
            return tuple(
                self._write(place, items, number) for number, (place, items) in enumerate(files) if place is not None
            )
        items, self.items = self.items, []
        if not items:
            return ()
        if not self.parameters.partition_by and self.names_of_files is None:
            return (self._write("", items),)
        table = pa.Table.from_batches([item for item in items if not isinstance(item, WrittenMark)])
        by_name = self.names_of_files is not None
        parts = divided_by_name(table) if by_name else partitioned(table, self.parameters.partition_by)
        return tuple(self._write(place, part.to_batches()) for place, part in parts)

    @classmethod
    def has_state(cls, parameters: FileSinkParameters) -> bool:
        """Return True if tuples wait for their file to be complete, or the time of the last tuple counts."""
        return parameters.holds_files or parameters.has_delay_field

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: FileSinkParameters) -> Sharding:
        """Return a refusal if tuples wait in the state, because they belong to the file of one channel."""
        if parameters.holds_files:
            return Sharding(refusal="is the tuples of one channel whose file is not complete yet")
        if parameters.has_delay_field:
            return Sharding(refusal="is the time of the last tuple of one channel")
        return super().sharding(context, parameters)

    def checkpoint(self) -> State:
        """Return the waiting tuples if `holds_files`, and the time of the last tuple if `has_delay_field`."""
        waiting = self.files.dump() if self.parameters.holds_files else {}
        return {**waiting, "last": self.since.last} if self.parameters.has_delay_field else waiting

    def restore(self, state: State) -> None:
        """Restore the waiting tuples, and the time of the last tuple."""
        if self.parameters.holds_files:
            self.files.load(state)
        self.since.last = state.get("last")

    def _write(self, directory: str, items: Sequence[pa.RecordBatch | WrittenMark], number: int = -1) -> PendingFile:
        settings, context = self.parameters, self.context
        batches = [item for item in items if not isinstance(item, WrittenMark)]
        pending = self.pending() / directory / f"{self._channel}-{world.new_id()}.{settings.format}"
        try:
            pending.parent.mkdir(parents=True, exist_ok=True)
            if settings.format in OWN_FORMATS:
                write_lines_file(pending, items, settings.writing())
            else:
                write_file(pending, settings.format, pa.Table.from_batches(batches), settings.dialect())
        except OSError as error:
            reason = f"{pending.parent} cannot be written: {error.strerror or error}"
            if error.errno in REFUSED_BY_SYSTEM:
                message = f"{reason}; check the path, and the rights of the user that runs the hosts"
                raise RefusedError(message) from error
            message = f"{reason}; nothing is lost"
            raise OutsideError(message) from error
        final = None if settings.roll() else self.final(pending, context.epoch, context.batch, number)
        return PendingFile(pending, final, sum(batch.num_rows for batch in batches), pending.stat().st_size)

    @property
    def _channel(self) -> str:
        return f"{max(self.context.channel, 0):03d}"

    def roll(self) -> Roll | None:
        """Return the limits for gathering files, from the parameters; None if files are not gathered."""
        return self.parameters.roll()

    @classmethod
    def marks(cls, parameters: FileSinkParameters) -> bool:
        """Return True if `closeMode` is the watermark."""
        return parameters.marks

    @functools.cached_property
    def deadlines(self) -> PartitionDeadlines | None:
        """The deadlines of partition directories; None without `completeAfter` or event time; see `_deadlines`."""
        return _deadlines(self.context, self.parameters)

    def complete_at(self, directory: str) -> int | None:
        """Return the microseconds at which a partition directory is complete by `completeAfter`; None without it."""
        return None if self.deadlines is None else self.deadlines.of(directory)

    def pending(self) -> Path:
        """Return the directory of pending files on this machine."""
        return self._pending(self.context, self.parameters)

    def storage(self) -> Storage:
        """Return the storage where the parts are published."""
        return storage_of(self.parameters.file, options=self.parameters.storage)

    def merge(self, files: Sequence[Path], into: Path) -> None:
        """Merge files with their tuples in order.

        Raises OSError if a file cannot be used, ArrowInvalid if one was altered, and DataError if the header is wrong.
        """
        if self.parameters.compression is not None:
            merge_lines_files(files, into, self.parameters.compression)
        else:
            merge_files(files, into, self.parameters.format, self._header())

    def _header(self) -> bytes:
        """Return the header of a CSV file, else nothing. Raises DataError for a name that needs absent quotes."""
        written = _written_schema(self.context, self.parameters).names
        return header_line(written, self.parameters.dialect()) if self.parameters.format == "csv" else b""

    def final(self, pending: Path, epoch: int, batch: int, number: int = -1) -> Path | str:
        """Return the final name, in the same partition directory.

        `number` distinguishes the files of one batch, and is -1 for a single file. In an object store the name contains
        the unique id of the pending file, so it is never reused.
        """
        directory = self.directory(self.context, self.parameters)
        inner = pending.parent.relative_to(self.pending())
        part = f"part-{epoch:06d}-{batch:06d}-{self._channel}{f'-n{number}' if number >= 0 else ''}"
        if not isinstance(directory, Path):
            name = f"{part}-{pending.stem.rpartition('-')[2]}.{ending_of(self.parameters.format)}"
            return "/".join((directory, *inner.parts, name))
        committed = self.parameters.visibility == "read_committed"
        generation = "" if committed else f"-g{self.context.generation}"
        return directory / inner / f"{part}{generation}.{ending_of(self.parameters.format)}"


def _deadlines(context: OperatorContext, parameters: FileSinkParameters) -> PartitionDeadlines | None:
    """Return the deadlines of directories by `completeAfter`; None without the parameter or outside of event time."""
    if parameters.complete_after is None or context.event_time is None:
        return None
    return PartitionDeadlines(context, parameters.partition_by, parameters.complete_after, context.event_time)


def _written_schema(context: OperatorContext, parameters: FileSinkParameters) -> pa.Schema:
    schema = context.inputs[0]
    for parameter, names in (("suppress", parameters.suppress), ("partitionBy", parameters.partition_by)):
        check_attributes(parameter, names, schema.names)
    twice = [name for name in parameters.partition_by if name in parameters.suppress]
    if twice or len(set(parameters.partition_by)) < len(parameters.partition_by):
        message = (
            "partitionBy: each attribute may be named once, and not in suppress as well: "
            f"{', '.join(parameters.partition_by)}"
        )
        raise ValueError(message)
    left_out = {*parameters.suppress, *parameters.partition_by}
    kept = [field for field in schema if field.name not in left_out]
    if not kept:
        parameter = "partitionBy" if parameters.partition_by else "suppress"
        message = f"{parameter}: no attribute is left to be written; name fewer"
        raise ValueError(message)
    return pa.schema(kept)
