"""The parameters of a FileSource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any

from pydantic import Field, model_validator

from streams_orchestration.operators.files.identity import TEXT_FORMATS
from streams_orchestration.operators.files.row_options import require_single_bytes
from streams_orchestration.operators.files.source_file import Format
from streams_orchestration.operators.formats.compression import Compression
from streams_orchestration.operators.logic.program import SplLogic
from streams_orchestration.operators.standard.files.row_reading import LINES, RowReadingParameters
from streams_orchestration.operators.storage.input_files import resolve_inputs
from streams_orchestration.operators.storage.options import StorageOptions
from streams_orchestration.operators.storage.port import is_address


class FileParameters(RowReadingParameters):
    """The parameters of a `FileSource` with an input port."""

    storage: StorageOptions | None = Field(
        default=None, repr=False, description="Options of the object store that the address names."
    )
    directory: str | None = Field(
        default=None,
        min_length=1,
        description="Directory from which relative names of files start; by default the directory of the spec.",
    )
    ignore_open_errors: bool = Field(
        default=False, alias="ignoreOpenErrors", description="Continue with a warning if the file does not exist."
    )
    format: Format = Field(
        default="csv",
        description=(
            "Format of the files. splCsv: rows of SPL literals by position; splTxt: an SPL tuple a line; block: bytes; "
            "bin: SPL's binary encoding."
        ),
    )
    compression: Compression | None = Field(
        default=None, description="Compression of a file whose name does not say it: zlib, gzip or bzip2."
    )
    encoding: str = Field(
        default="utf-8", description="Encoding of the texts, in which a line feed is one byte, such as ISO-8859-1."
    )
    spl: SplLogic | None = Field(
        default=None, description="Logic in SPL: state, which the expressions of output may read and change."
    )

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        yield from self._faults_of_formats({"compression": (*LINES, "block", "bin"), "encoding": LINES})
        require_single_bytes(self.encoding)

    @property
    def named_columns(self) -> bool:
        """True if the first line of a CSV file names the columns."""
        return self.has_header_line is not False

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
    hot_file: bool = Field(
        default=False,
        alias="hotFile",
        description="Wait at the end of a local text file for lines that are appended, instead of ending.",
    )
    delete_file: bool = Field(
        default=False, alias="deleteFile", description="Delete a local file when no reset can need it."
    )
    move_file_to_directory: str | None = Field(
        default=None,
        alias="moveFileToDirectory",
        min_length=1,
        description="Directory to which a local file is moved when no reset can need it.",
    )
    interleave: bool = Field(
        default=False,
        description="Read all matching files side by side, always from the file with the least event time.",
    )

    def may_be_skipped(self, base: Path) -> bool:
        """Return True if no local file matches `file`, and `ignoreOpenErrors` allows that; see `resolve_inputs`."""
        if not self.ignore_open_errors or is_address(self.file) or (base / self.file).exists():
            return False
        try:
            return not resolve_inputs(self.file, base)
        except ValueError:
            return True

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        if self.hot_file and (self.format not in TEXT_FORMATS or not self.grows or self.interleave):
            yield "hotFile is for one uncompressed file of lines; leave out compression, eolMarker and interleave"
        if self.hot_file + self.delete_file + (self.move_file_to_directory is not None) > 1:
            yield "use only one of hotFile, deleteFile and moveFileToDirectory"

    @model_validator(mode="before")
    @classmethod
    def _start_from_the_directory(cls, values: Any) -> Any:
        given: Mapping[str, Any] = values if isinstance(values, Mapping) else {}
        directory, file = given.get("directory"), given.get("file")
        if not (directory and file and isinstance(directory, str) and isinstance(file, str)) or is_address(file):
            return values
        return {**given, "directory": None, "file": str(PurePath(directory) / file)}
