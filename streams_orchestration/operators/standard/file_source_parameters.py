"""What may stand under `parameters` of a FileSource."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from streams_orchestration.operators.files.source_file import Format
from streams_orchestration.operators.formats.csv_dialect import CsvParameters
from streams_orchestration.operators.storage.options import StorageOptions


class FileParameters(CsvParameters):
    """How files are read: the parameters of a `FileSource` with an input port."""

    storage: StorageOptions | None = Field(
        default=None, repr=False, description="how the store of an address is reached"
    )
    format: Format = Field(default="csv", description="of the files")
    has_header_line: bool = Field(default=True, alias="hasHeaderLine", description="csv: the first line names columns")
    quote_strings: bool = Field(
        default=True, alias="quoteStrings", description="csv: values may stand in quotes; else a quote is a character"
    )
    parsing: Literal["strict", "permissive", "fast"] = Field(
        default="strict", description="permissive: malformed rows are dropped and counted; fast is strict here"
    )


class FileSourceParameters(FileParameters):
    """Parameters of `FileSource`."""

    file: str = Field(
        min_length=1,
        description="file, directory or pattern; relative to the spec, package://<package>/<path>, or an address",
    )
