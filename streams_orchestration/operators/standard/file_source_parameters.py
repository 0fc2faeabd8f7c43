"""The parameters of a FileSource."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from streams_orchestration.operators.files.source_file import Format
from streams_orchestration.operators.formats.csv_dialect import CsvParameters
from streams_orchestration.operators.storage.options import StorageOptions


class FileParameters(CsvParameters):
    """The parameters of a `FileSource` with an input port."""

    storage: StorageOptions | None = Field(
        default=None, repr=False, description="Options of the object store that the address names."
    )
    format: Format = Field(default="csv", description="Format of the files.")
    has_header_line: bool = Field(
        default=True, alias="hasHeaderLine", description="The first line of a CSV file names the columns."
    )
    quote_strings: bool = Field(
        default=True,
        alias="quoteStrings",
        description="CSV values may be quoted. If false, a quote is an ordinary character.",
    )
    parsing: Literal["strict", "permissive", "fast"] = Field(
        default="strict", description="permissive: drop and count malformed rows. strict and fast: stop at one."
    )


class FileSourceParameters(FileParameters):
    """The parameters of `FileSource`."""

    file: str = Field(
        min_length=1,
        description="File, directory or pattern relative to the spec, package://<package>/<path>, or an address.",
    )
