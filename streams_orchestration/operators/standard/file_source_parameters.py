"""The parameters of a FileSource."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Annotated, Any, Literal

from pydantic import Field, WrapValidator, model_validator

from streams_orchestration.operators.files.row_options import Compression, opens_alike
from streams_orchestration.operators.files.source_file import Format
from streams_orchestration.operators.formats.csv_dialect import CsvParameters
from streams_orchestration.operators.logic.program import SplLogic
from streams_orchestration.operators.spl.text import text_or_program
from streams_orchestration.operators.storage.options import StorageOptions
from streams_orchestration.operators.storage.port import is_address

_LINES = ("line", "splCsv", "splTxt")
_SUIT: dict[str, tuple[str, ...]] = {
    "compression": (*_LINES, "block"),
    "encoding": _LINES,
    "eolMarker": _LINES,
    "defaultTuple": ("splCsv",),
    "ignoreExtraCSVValues": ("splCsv",),
    "hasDelayField": ("splCsv", "splTxt"),
    "types": ("splCsv", "splTxt"),
    "blockSize": ("block",),
}
"""Maps each parameter to the formats that have it."""
FileFunction = Literal["FileName()", "TupleNumber()"]
FileOutput = Annotated[FileFunction, WrapValidator(text_or_program)]
"""An output function, or an expression of SPL over output functions."""


class FileParameters(CsvParameters):
    """The parameters of a `FileSource` with an input port."""

    storage: StorageOptions | None = Field(
        default=None, repr=False, description="Options of the object store that the address names."
    )
    directory: str | None = Field(
        default=None,
        min_length=1,
        description="Directory from which relative names of files start; by default that of the spec.",
    )
    ignore_open_errors: bool = Field(
        default=False, alias="ignoreOpenErrors", description="Go on with a warning if there is no such file."
    )
    format: Format = Field(
        default="csv",
        description=(
            "Format of the files. splCsv: rows of SPL literals by position; splTxt: an SPL tuple a line; block: bytes."
        ),
    )
    has_header_line: bool | int | None = Field(
        default=None,
        alias="hasHeaderLine",
        description=(
            "The first line of a CSV file names the columns; true by default. With splCsv, lines to skip; false by "
            "default."
        ),
    )
    quote_strings: bool = Field(
        default=True,
        alias="quoteStrings",
        description="CSV values may be quoted. If false, a quote is an ordinary character.",
    )
    parsing: Literal["strict", "permissive", "fast"] = Field(
        default="strict", description="permissive: drop and count malformed rows. strict and fast: stop at one."
    )
    compression: Compression | None = Field(
        default=None, description="Compression of a file whose name does not say it: zlib, gzip or bzip2."
    )
    encoding: str = Field(
        default="utf-8", description="Encoding of the texts, in which a line feed is one byte, such as ISO-8859-1."
    )
    eol_marker: str | None = Field(
        default=None,
        alias="eolMarker",
        min_length=1,
        max_length=2,
        description="Marker behind a line; a line feed, with or without a carriage return, by default.",
    )
    default_tuple: dict[str, Any] = Field(
        default_factory=dict,
        alias="defaultTuple",
        description="Maps attributes to constant expressions for values that are missing in a row of splCsv.",
    )
    ignore_extra: bool = Field(
        default=False,
        alias="ignoreExtraCSVValues",
        description="Ignore values behind the last attribute in a row of splCsv.",
    )
    has_delay_field: bool = Field(
        default=False,
        alias="hasDelayField",
        description=(
            "A row of splCsv or splTxt begins with the seconds to wait before its tuple, and a comma. With an input "
            "port nothing waits."
        ),
    )
    types: dict[str, str] = Field(
        default_factory=dict,
        description=(
            "Maps attributes to their types in SPL if the values' texts depend on them, as in enum{red, green}, "
            "set<int32> and decimal64; for the formats splCsv and splTxt."
        ),
    )
    block_size: int | None = Field(
        default=None, alias="blockSize", gt=0, description="Bytes of a block; the whole file by default."
    )
    output: dict[str, FileOutput] = Field(
        default_factory=dict,
        description="Maps attributes that are not in the file to FileName() or TupleNumber(), or expressions of SPL.",
    )

    @model_validator(mode="after")
    def _suit_the_format(self) -> FileParameters:
        given = {type(self).model_fields[name].alias or name for name in self.model_fields_set}
        for name, formats in _SUIT.items():
            if name in given and self.format not in formats:
                message = f"{name} is for format {' or '.join(formats)}, and not for {self.format}"
                raise ValueError(message)
        if type(self.has_header_line) is int and (self.format != "splCsv" or self.has_header_line < 0):
            message = "hasHeaderLine is true or false; with format splCsv it may be a number of lines"
            raise ValueError(message)
        try:
            alike = opens_alike(self.encoding)
        except (LookupError, UnicodeError):
            alike = False
        if not alike:
            message = f"encoding: {self.encoding!r} is none in which a line feed is one byte, as in UTF-8 or ISO-8859-1"
            raise ValueError(message)
        return self

    @property
    def named_columns(self) -> bool:
        """True if the first line of a CSV file names the columns."""
        return self.has_header_line is not False

    @property
    def header_lines(self) -> int:
        """The number of lines in front of the rows of `splCsv`."""
        return int(self.has_header_line or 0) if self.format == "splCsv" else 0

    @property
    def grows(self) -> bool:
        """True if lines may be appended to a file while it is read."""
        return self.compression is None and self.eol_marker in (None, "\n")


class FileSourceParameters(FileParameters):
    """The parameters of `FileSource`."""

    file: str = Field(
        min_length=1,
        description="File, directory or pattern relative to the spec, package://<package>/<path>, or an address.",
    )
    spl: SplLogic | None = Field(
        default=None, description="Logic in SPL: state, which the expressions of output may read and change."
    )
    interleave: bool = Field(
        default=False,
        description="Read all matching files side by side, always from the file with the least event time.",
    )

    @model_validator(mode="before")
    @classmethod
    def _start_from_the_directory(cls, values: Any) -> Any:
        given: Mapping[str, Any] = values if isinstance(values, Mapping) else {}
        directory, file = given.get("directory"), given.get("file")
        if not (directory and file and isinstance(directory, str) and isinstance(file, str)) or is_address(file):
            return values
        return {**given, "directory": None, "file": str(PurePath(directory) / file)}
