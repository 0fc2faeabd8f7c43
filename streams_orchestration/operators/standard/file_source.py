"""FileSource: the tuples of files, replayable from any row."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, model_validator

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import (
    Offset,
    OperatorContext,
    Parameters,
    ProducedTo,
    Punctuation,
    SourceOperator,
)
from streams_orchestration.operators.errors import DataError
from streams_orchestration.operators.files import resolve_inputs
from streams_orchestration.operators.libraries import pa
from streams_orchestration.operators.mentions import Mentions
from streams_orchestration.operators.read_ahead import ReadAhead
from streams_orchestration.operators.standard.file_rows import Malformed, Place, Rows
from streams_orchestration.operators.standard.refused import REFUSED
from streams_orchestration.operators.standard.source_file import Format, SourceFile

LOGGED = 5
"""Malformed rows that are logged one by one; then the log has their number whenever it has grown tenfold."""


class Mark(NamedTuple):
    """Where a piece of a file begins, for an offset."""

    row: int = 0
    """Rows before it."""
    place: int = 0
    line: int = 1
    malformed: int = 0
    """Rows before it that could not be read."""


class FileSourceParameters(Parameters):
    """Parameters of `FileSource`."""

    file: str = Field(
        min_length=1, description="file, directory or pattern; relative to the spec, or package://<package>/<path>"
    )
    format: Format = "csv"
    has_header_line: bool = Field(default=True, alias="hasHeaderLine", description="csv: the first line names columns")
    separator: str = Field(default=",", min_length=1, max_length=1, description="csv")
    parsing: Literal["strict", "permissive", "fast"] = Field(
        default="strict", description="permissive: malformed rows are dropped and counted; fast is strict here"
    )

    @model_validator(mode="after")
    def _go_together(self) -> FileSourceParameters:
        if self.parsing == "permissive" and self.format in ("parquet", "arrow"):
            message = (
                f"parsing: permissive goes with csv, line and jsonl; rows of {self.format} are all readable, or none"
            )
            raise ValueError(message)
        return self


class FileSource(SourceOperator):
    """Reads each file once, front to back; the offset is the file and the number of its rows so far.

    Where a file is read in pieces, the offset also tells where the one begins that the next row is in: after a restore
    reading goes on there, and what lies before costs nothing.

    Only the attributes of the output stream are read, by name where the format has names. The reader stays open between
    calls. A window marker follows the last tuple of a file.
    Several files are read in the order of their paths; the next one is looked for when one has ended.

    In an operator-driven region an epoch ends with every file, as in Streams.

    A second output port gets malformed rows, or, if its tuples are a text and an int, the path of every file that has
    been read, with 0, as in Streams.
    """

    Parameters = FileSourceParameters
    unsupported = REFUSED["FileSource"]
    free_parameters = frozenset(("parsing",))

    @classmethod
    def initial_offset(cls) -> Offset:
        """Row 0 of the first file."""
        return {"row": 0}

    @classmethod
    def mentions(cls, parameters: FileSourceParameters) -> Mentions:
        """None."""
        return Mentions()

    @classmethod
    def input_files(cls, parameters: FileSourceParameters) -> tuple[str, ...]:
        """The parameter `file`."""
        return (parameters.file,)

    @classmethod
    def check(cls, context: OperatorContext, parameters: FileSourceParameters) -> None:
        """Raises ValueError when a file is missing or does not have the output stream's attributes."""
        if context.inputs:
            message = "FileSource has no input port here; name several files with a directory or a pattern in file"
            raise ValueError(message)
        schema = context.outputs[0]
        if schema is None:
            message = "the output stream needs a schema: outputs: [{stream: Name, schema: Type}]"
            raise ValueError(message)
        second = context.outputs[1] if len(context.outputs) > 1 else None
        if len(context.outputs) > 1 and not _is_file_port(second):
            _check_malformed_port(second, parameters)
        for path in resolve_inputs(parameters.file, context.base):
            _source_file(path, parameters, schema).check()

    def setup(self) -> None:
        """Find the files; the first one is opened by the first call of `produce`."""
        files = resolve_inputs(self.parameters.file, self.context.base)
        self.path, self.several = files[0], self._pattern_names_several()
        schema = self.context.outputs[0]
        assert schema is not None
        self.schema = schema
        self.second = self.context.outputs[1] if len(self.context.outputs) > 1 else None
        self.first, self.row = 0, -1
        self.mark = Mark()
        """Of the last piece that has one."""
        self.rest: Rows | None = None
        self.pieces: ReadAhead[Rows] | None = None
        self.malformed = 0

    def _pattern_names_several(self) -> bool:
        place = self.context.base / self.parameters.file
        return not self.parameters.file.startswith("package://") and not place.is_file()

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit the next rows.

        Raises:
            DataError: a row does not fit the schema; names the file and, where it is known, the line.
        """
        path = self.path
        if "file" in offset:
            path = self.context.base / offset["file"]
        elif self.several:
            path = resolve_inputs(self.parameters.file, self.context.base)[0]
        if (path, offset["row"]) != (self.path, self.row):
            mark = Mark(**offset["piece"]) if "piece" in offset else Mark()
            self._open(path, mark, check=self.several)
            self._advance(offset["row"] - mark.row, submit=False)
            if self.row != offset["row"]:
                message = f"{path}: {self.row} rows, but {offset['row']} were read before; was the file cut?"
                raise DataError(message)
        drives = self.context.region is not None and self.context.region.trigger
        while self._advance(limit, submit=True):
            self._end_file()
            if drives:
                self.context.make_consistent()
            following = self._following()
            if following is None:
                return ProducedTo(self._offset(), exhausted=True)
            limit -= self.row - offset["row"]
            offset = {"row": 0}
            self._open(following, Mark(), check=True)
            if limit <= 0 or drives:
                break
        return ProducedTo(self._offset(), exhausted=False)

    def _offset(self) -> Offset:
        offset: Offset = {"row": self.row}
        if self.mark != Mark():
            offset["piece"] = self.mark._asdict()
        if self.several:
            inside = self.path.is_relative_to(self.context.base)
            offset["file"] = str(self.path.relative_to(self.context.base) if inside else self.path)
        return offset

    def _following(self) -> Path | None:
        """The next file: files that come while others are read count, if their names come later."""
        if not self.several:
            return None
        files = resolve_inputs(self.parameters.file, self.context.base)
        return next((file for file in files if str(file) > str(self.path)), None)

    def _open(self, path: Path, mark: Mark, *, check: bool) -> None:
        file = _source_file(path, self.parameters, self.schema)
        if check:
            try:
                file.check()
            except (ValueError, OSError) as error:
                raise DataError(str(error)) from error
        if self.pieces is not None:
            self.pieces.close()
        self.path, self.pieces, self.rest = path, file.rows(self.background, Place(mark.place, mark.line)), None
        self.mark, self.first, self.row, self.malformed = mark, mark.row, mark.row, mark.malformed

    def _end_file(self) -> None:
        self.punctuate(Punctuation.WINDOW)
        if self.malformed > LOGGED:
            self.context.logger.warning("%s: %d malformed rows in all", self.path, self.malformed)
        if _is_file_port(self.second):
            assert self.second is not None
            columns = {field.name: [str(self.path) if field.type == pa.string() else 0] for field in self.second}
            self.submit(TupleBatch.from_columns(columns, self.second), 1)

    def place(self) -> str:
        """The file and its rows, counted from 1, that were submitted last."""
        return f"{self.path}, rows {self.first + 1} to {self.row}"

    def _advance(self, rows: int, *, submit: bool) -> bool:
        """Go on by at most `rows` rows; True when the file has ended."""
        while rows > 0:
            piece = self.rest if self.rest is not None else self._next_piece()
            self.rest = None
            if piece is None:
                return True
            taken = piece
            if piece.size > rows:
                taken, self.rest = piece.split(rows)
            self.first, self.row = self.row, self.row + taken.size
            rows -= taken.size
            if submit:
                self.submit(TupleBatch(taken.batch))
                self._set_aside(taken.malformed)
            else:
                self.malformed += len(taken.malformed)
        if self.rest is None:
            self.rest = self._next_piece()
        return self.rest is None

    def _next_piece(self) -> Rows | None:
        assert self.pieces is not None
        for piece in self.pieces:
            if piece.size:
                if piece.start is not None:
                    self.mark = Mark(self.row, *piece.start, self.malformed) if self.row else Mark()
                return piece
        return None

    def _set_aside(self, rows: tuple[Malformed, ...]) -> None:
        """Count, log and route malformed rows."""
        if not rows:
            return
        for row in rows:
            self.malformed += 1
            if self.malformed <= LOGGED:
                column = f", column {row.column}" if row.column else ""
                self.context.logger.warning("%s: line %d%s: %s", self.path, row.line, column, row.reason)
            elif str(self.malformed).strip("0") == "1":
                self.context.logger.warning("%s: %d malformed rows up to line %d", self.path, self.malformed, row.line)
        if self.second is None or _is_file_port(self.second):
            self.context.metrics.dropped.add(len(rows))
            return
        self.context.metrics.counter("malformed", "rows that could not be read, sent to the second output port").add(
            len(rows)
        )
        columns = {
            "file": [str(self.path)] * len(rows),
            "line": [row.line for row in rows],
            "column": [row.column for row in rows],
            "reason": [row.reason for row in rows],
            "text": [row.text for row in rows],
        }
        self.submit(TupleBatch.from_columns(columns, self.second), 1)


def _source_file(path: Path, parameters: FileSourceParameters, schema: pa.Schema) -> SourceFile:
    return SourceFile(
        path, parameters.format, schema, parameters.separator, parameters.has_header_line,
        permissive=parameters.parsing == "permissive",
    )  # fmt: skip


def _is_file_port(schema: pa.Schema | None) -> bool:
    """Are the tuples a text and an int, as those of the second output port in Streams."""
    return schema is not None and {field.type for field in schema} == {pa.string(), pa.int32()} and len(schema) == 2


def _check_malformed_port(schema: pa.Schema | None, parameters: FileSourceParameters) -> None:
    known = {"file": "string", "line": "int64", "column": "string", "reason": "string", "text": "string"}
    if schema is None or any(known.get(field.name) != str(field.type) for field in schema):
        message = (
            "the second output port has attributes among `file string, line bigint, column string, reason string, "
            "text string` for malformed rows, or a string and an int for the files that were read"
        )
        raise ValueError(message)
    if parameters.parsing != "permissive":
        message = "the second output port never gets a malformed row, since one fails; say parsing: permissive"
        raise ValueError(message)
