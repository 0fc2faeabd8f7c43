"""The parameters of FileSink."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from streams_orchestration.model.visibility import Visibility
from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.files.part_formats import SinkFormat
from streams_orchestration.operators.files.row_options import require_single_bytes
from streams_orchestration.operators.files.spl_lines import LINE_FORMATS, OWN_FORMATS, LineWriting
from streams_orchestration.operators.files.spl_rows import SPL_FORMATS
from streams_orchestration.operators.formats.compression import Compression
from streams_orchestration.operators.formats.csv_dialect import CsvParameters
from streams_orchestration.operators.formats.spl_texts import SPL_TYPES
from streams_orchestration.operators.sinks.gathering import Roll
from streams_orchestration.operators.storage.options import StorageOptions
from streams_orchestration.operators.storage.port import check_among_results, is_address

DEFAULT_ROLL = Roll(seconds=10.0, size=64 << 20)
_CLOSED_BY = {"size": "bytesPerFile", "time": "timePerFile", "epochs": "epochsPerFile", "count": "tuplesPerFile"}


_SUIT: dict[str, tuple[str, ...]] = {
    "writePunctuations": (*LINE_FORMATS, "bin"),
    "compression": OWN_FORMATS,
    "encoding": LINE_FORMATS,
    "eolMarker": LINE_FORMATS,
    "hasDelayField": SPL_FORMATS,
    "types": (*SPL_FORMATS, "bin"),
}
"""Maps each parameter to the formats that have it."""


class FileSinkParameters(CsvParameters):
    """The parameters of `FileSink`."""

    file: str = Field(
        description=(
            "Directory or address for the parts. An empty text, allowed with nameBy, means a directory with the "
            "operator's name. A relative directory is among the results."
        ),
    )
    name_by: ExpressionText | None = Field(
        default=None,
        alias="nameBy",
        description=(
            "Expression with the name of a file: the directory below file for the parts of a tuple or, with closeMode "
            "count and punct, of the part that a tuple begins. /dev/null drops tuples."
        ),
    )
    storage: StorageOptions | None = Field(
        default=None, repr=False, description="Options of the object store that the address names."
    )
    format: SinkFormat = Field(
        default="parquet",
        description=(
            "Format of the files; block: the bytes of the only attribute, one after the other; bin: SPL's binary "
            "encoding."
        ),
    )
    quote_strings: bool = Field(default=True, alias="quoteStrings", description="Quote CSV values that require it.")
    suppress: list[str] = Field(default_factory=list, description="Attributes that are not written.")
    partition_by: list[str] = Field(
        default_factory=list, alias="partitionBy", description="Attributes whose values name directories for the files."
    )
    complete_after: ExpressionText | None = Field(
        default=None,
        alias="completeAfter",
        description=(
            "Expression over the values of partitionBy: the event time at which a directory is complete; needs "
            "closeMode watermark."
        ),
    )
    close_mode: Literal["size", "time", "epochs", "batch", "count", "punct", "watermark", "dynamic"] | None = Field(
        default=None,
        alias="closeMode",
        description=(
            "Event that closes a file; punct: a window marker; watermark: the end of its directory, which then gets "
            "`_SUCCESS`. If omitted, or dynamic, the size, time or epochs parameter decides; dynamic needs nameBy."
        ),
    )
    tuples_per_file: int | None = Field(
        default=None, alias="tuplesPerFile", ge=1, description="Number of tuples in a file; needs closeMode count."
    )
    write_punctuations: bool = Field(
        default=False,
        alias="writePunctuations",
        description="Write each mark among the tuples; for the formats splCsv, splTxt, line and bin.",
    )
    has_delay_field: bool = Field(
        default=False,
        alias="hasDelayField",
        description=(
            "Begin each line of splCsv and splTxt with the seconds since the tuple or mark before it, by the time of "
            "the batches; 0 for the first."
        ),
    )
    types: dict[str, str] = Field(default_factory=dict, description=SPL_TYPES)
    compression: Compression | None = Field(
        default=None, description="Compression of files of splCsv, splTxt, line, block and bin: zlib, gzip or bzip2."
    )
    encoding: str = Field(default="utf-8", description="Encoding of the texts in splCsv, splTxt and line.")
    eol_marker: str | None = Field(
        default=None,
        alias="eolMarker",
        min_length=1,
        max_length=2,
        description="Text that ends a line in splCsv, splTxt and line; a line feed by default.",
    )
    bytes_per_file: int | None = Field(
        default=None, alias="bytesPerFile", ge=1, description="Approximate size of a file in bytes."
    )
    time_per_file: float | None = Field(
        default=None, alias="timePerFile", ge=0, description="Approximate seconds that a file covers."
    )
    epochs_per_file: int | None = Field(
        default=None, alias="epochsPerFile", ge=1, description="Number of complete epochs in a file."
    )
    truncate_on_reset: bool = Field(
        default=True,
        alias="truncateOnReset",
        description="Truncation as in IBM Streams. No effect: in either case no row is published twice after a reset.",
    )
    visibility: Visibility = Field(
        default="read_committed",
        description="read_uncommitted: a part is visible with its batch, and a reset removes it.",
    )

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        yield from self._faults_of_names()
        check_among_results("file", self.file)
        if is_address(self.file) and self.visibility == "read_uncommitted":
            yield (
                "visibility: read_uncommitted cannot be combined with an object store, where a reset cannot retract "
                "files on their way to it; leave it out, and choose the region's period by the delay that consumers "
                "accept"
            )
        if self.format not in ("csv", "splCsv") and not self.quote_strings:
            yield "quoteStrings is for format csv or splCsv; leave it out"
        yield from self._faults_of_lines()
        yield from self._faults_of_closing()

    def _faults_of_names(self) -> Iterator[str]:
        if not self.file and self.name_by is None:
            yield "file is empty; name a directory or an address"
        elif (self.close_mode == "dynamic") > (self.name_by is not None):
            yield "closeMode: dynamic needs nameBy, which names the file of each tuple"
        elif self.name_by is not None and self.close_mode not in ("dynamic", "count", "punct"):
            yield "nameBy, or in SPL a file that reads attributes, needs closeMode: dynamic, count or punct"
        elif self.name_by is not None and self.partition_by:
            yield "nameBy and partitionBy both name directories; leave one of them out"
        elif self.close_mode == "dynamic" and self.write_punctuations:
            yield "writePunctuations: with closeMode: dynamic no file has all tuples between two marks"

    def _faults_of_lines(self) -> Iterator[str]:
        yield from self._faults_of_formats(_SUIT)
        if self.write_punctuations and self.partition_by:
            yield "writePunctuations: with partitionBy no file has all tuples between two marks"
        if self.has_delay_field and self.partition_by:
            yield "hasDelayField: with partitionBy the previous tuple may be in another file"
        if self.holds_files and self.partition_by:
            yield f"closeMode: {self.close_mode} cannot be combined with partitionBy; leave one out"
        require_single_bytes(self.encoding)

    @property
    def holds_files(self) -> bool:
        """True if tuples wait in the operator's state until their file is complete."""
        return self.close_mode in ("count", "punct")

    @property
    def marks(self) -> bool:
        """True if directories are marked with `_SUCCESS` when they are complete."""
        return self.close_mode == "watermark"

    def writing(self) -> LineWriting:
        """Return the settings by which tuples are written as lines."""
        return LineWriting(
            self.format,
            self.separator,
            self.quote_strings,
            self.encoding,
            self.eol_marker or "\n",
            self.compression,
            delays=self.has_delay_field,
            types=self.types,
            marks=self.write_punctuations,
        )

    def _faults_of_closing(self) -> Iterator[str]:
        settings = {"bytesPerFile": self.bytes_per_file, "timePerFile": self.time_per_file}
        settings |= {"epochsPerFile": self.epochs_per_file, "tuplesPerFile": self.tuples_per_file}
        there = [name for name, value in settings.items() if value is not None]
        needed = _CLOSED_BY.get(self.close_mode or "")
        if needed is not None and needed not in there:
            yield f"closeMode: {self.close_mode} needs {needed}"
        elif self.marks and not self.partition_by:
            yield "closeMode: watermark needs partitionBy, whose directories are complete one after another"
        elif self.marks and self.complete_after is None:
            yield "closeMode: watermark needs completeAfter, the event time at which a directory is complete"
        elif self.complete_after is not None and not self.marks:
            yield "completeAfter needs closeMode: watermark"
        elif self.marks and self.epochs_per_file is not None:
            yield "epochsPerFile cannot be combined with closeMode: watermark; use bytesPerFile or timePerFile"
        elif self._closes_by_one and (others := [name for name in there if name != needed]):
            yield (
                f"{others[0]} cannot be combined with closeMode: {self.close_mode}; without closeMode a file is closed "
                "at whichever comes first"
            )
        elif self.visibility == "read_uncommitted" and (there or self.close_mode not in (None, "batch", "dynamic")):
            yield (
                "with visibility: read_uncommitted every micro-batch is visible at once, in files of its own; "
                f"leave out {there[0] if there else 'closeMode'}"
            )
        if self.tuples_per_file is not None and self.close_mode != "count":
            yield "tuplesPerFile needs closeMode: count"

    @property
    def _closes_by_one(self) -> bool:
        """True if a single event closes a file."""
        return self.close_mode not in (None, "dynamic") and not self.marks

    def roll(self) -> Roll | None:
        """Return the limits that close a file; None if files are not merged.

        This is so with `closeMode` batch, count or punct, and with `visibility: read_uncommitted`.
        """
        if self.close_mode in ("batch", "count", "punct") or self.visibility == "read_uncommitted":
            return None
        if self.marks:
            size = DEFAULT_ROLL.size if self.bytes_per_file is None else self.bytes_per_file
            return Roll(size=size, seconds=math.inf if self.time_per_file is None else self.time_per_file)
        wanted = {"seconds": self.time_per_file, "size": self.bytes_per_file, "epochs": self.epochs_per_file}
        settings = {name: value for name, value in wanted.items() if value is not None}
        return Roll(**settings) if settings else DEFAULT_ROLL
