"""FileSource: reads the tuples of files, replayable from any row."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from streams_orchestration.operators.background.read_ahead import ReadAhead
from streams_orchestration.operators.clients.backoff import Backoff
from streams_orchestration.operators.contract.operator import Offset, OperatorContext, ProducedTo, SourceOperator
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.files.identity import (
    FileIdentity,
    FilePart,
    can_grow,
    check_same,
    has_grown,
    identity_elsewhere,
    identity_of,
    whole_lines,
)
from streams_orchestration.operators.files.rows import FilePosition, FileRows
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.logic.source_logic import produced
from streams_orchestration.operators.standard.files.file_rows import (
    Delays,
    Mark,
    file_schema,
    made_columns,
    output_logic,
    source_file,
)
from streams_orchestration.operators.standard.files.second_port import FileOutputs, brings_tuples, check_second_port
from streams_orchestration.operators.standard.files.source_parameters import FileSourceParameters
from streams_orchestration.operators.storage.port import File, is_address
from streams_orchestration.operators.storage.storages import storage_of
from streams_orchestration.operators.tuples.arrow_types import with_required
from streams_orchestration.operators.tuples.batch import TupleBatch


class FileSource(SourceOperator):
    """Reads each file once, front to back. The offset is the file and the number of rows read from it.

    If a file is read in pieces, the offset also holds the start of the piece with the next row. A restore continues
    there without reading the rows before it. The offset also holds the identity of the file, so a replaced file is
    reported. A local text file may grow line by line; the new lines are read as well, and `hotFile` waits for them.

    Only the attributes of the output stream are read, by name if the format has names. A window marker follows the last
    tuple of a file. Several files are read in the order of their paths; the next one is looked up when one has ended.
    In an operator-driven region an epoch ends with every file. With an input port, the files are those that the only
    attribute of its tuples names. A second output port gets malformed rows. If its schema is a text and an int, it gets
    the path of every file that was read, and 0, as in IBM Streams.
    """

    Parameters = FileSourceParameters
    loaded_modules = ("pyarrow.csv", "pyarrow.json", "pyarrow.parquet", "pyarrow.compute")
    naming_parameters = NamingParameters()
    removes = False
    free_parameters = frozenset(("parsing", "storage"))

    @classmethod
    def initial_offset(cls) -> Offset:
        """Return row 0 of the first file."""
        return {"row": 0}

    @classmethod
    def restored(cls, offset: Offset) -> Offset:
        """Return the offset after a restore, weakened so that a copy of the file on another machine is accepted."""
        return offset | {"identity": identity_elsewhere(offset["identity"])} if "identity" in offset else offset

    @classmethod
    def input_files(cls, parameters: FileSourceParameters) -> tuple[str, ...]:
        """Return the parameter `file`, unless it is an address of an object store."""
        return () if is_address(parameters.file) else (parameters.file,)

    @classmethod
    def destination(cls, context: OperatorContext, parameters: FileSourceParameters) -> str:
        """Return the file or pattern."""
        return parameters.file

    @classmethod
    def check(cls, context: OperatorContext, parameters: FileSourceParameters) -> None:
        """Raise ValueError if a file is missing or lacks the output stream's attributes, or a parameter does not fit.

        Files in an object store are examined only when they are read. Raises OSError for an unreadable local file.
        """
        schema = file_schema(context, parameters)
        output_logic(context, parameters)
        if parameters.hot_file and not (context.base / parameters.file).is_file():
            message = f"hotFile: {parameters.file} is not a local file; only such a file can be followed as it grows"
            raise ValueError(message)
        second = context.outputs[1] if len(context.outputs) > 1 else None
        if len(context.outputs) > 1:
            check_second_port(second, permissive=parameters.parsing == "permissive")
        storage = storage_of(parameters.file, context.base, parameters.storage)
        if is_address(parameters.file):
            source_file(storage.file(parameters.file), parameters, schema, context).check_schema()
            return
        if parameters.may_be_skipped(context.base):
            return
        for path in storage.files(parameters.file):
            source_file(path, parameters, schema, context).check()

    def setup(self) -> None:
        """Find local files; `produce` opens the first. Raises ValueError if a file or parameter does not fit."""
        self.storage = storage_of(self.parameters.file, self.context.base, self.parameters.storage)
        self.remote = is_address(self.parameters.file)
        self.missing = self.parameters.may_be_skipped(self.context.base)
        """True if the file does not exist, and the parameters allow that."""
        given = self.storage.file(self.parameters.file)
        self.path = given if self.remote or self.missing else next(iter(self._files()), given)
        self.several: bool | None = None if self.remote else self._pattern_names_several()
        """True if the parameter names a directory or a pattern; None while that is unknown for an object store."""
        self.backoff = Backoff(self.context)
        self.reached: Offset | None = None
        """The offset to return if the store cannot be reached during this call; None for the current position."""
        self.schema, self.delays = file_schema(self.context, self.parameters), Delays()
        required = self.context.required_at() if self.parameters.parsing == "permissive" else ()
        self.read_as = with_required(self.schema, required)
        self.outputs, self.logic = FileOutputs(self), output_logic(self.context, self.parameters)
        self.first, self.row = 0, -1
        self.identity, self.ended = FileIdentity(0, 0, ""), False
        """The identity of the file when it was opened, and whether it was read to its end."""
        self.size, self.part = 0, None
        """The size of the file when it was opened, and how many of its bytes are read; None for all."""
        self.waits = False
        """True if the last line of the file is still being written."""
        self.mark = Mark()
        """The latest position from which reading can continue without reading the rows before it."""
        self.rest: FileRows | None = None
        self.pieces: ReadAhead[FileRows] | None = None

    def _pattern_names_several(self) -> bool:
        file = self.parameters.file
        return not (file.startswith("package://") or (self.context.base / file).is_file())

    def produce(self, offset: Offset, limit: int) -> ProducedTo:
        """Submit at most `limit` next rows; none while the store is away, a delay lasts or a line is incomplete."""
        return produced(self.logic, offset, lambda plain: self._read_on(plain, limit))

    def _read_on(self, offset: Offset, limit: int) -> ProducedTo:
        if self.missing:
            self.context.logger.warning("%s: the file does not exist, which ignoreOpenErrors allows", self.path)
            return ProducedTo(offset, exhausted=True)
        self.reached = offset
        done = self.backoff.reached(lambda: self._produce(offset, limit))
        if done is None:
            reached = self._offset() if self.reached is None else self.reached
            self.row = -1  # the open file is opened again
            return ProducedTo(reached, exhausted=False)
        return done

    def available(self, offset: Offset) -> Offset | None:
        """Return the last file and its size; None if the store is away. Raise DataError if it refuses; see `_files`.

        The size is 0 if the file is missing, and `ignoreOpenErrors` allows that.
        """

        def end() -> Offset:
            last = self.path if self.missing else self._files()[-1]
            return {"file": self._name(last), "size": 0 if self.missing else last.stat().st_size}

        return self.backoff.reached(end)

    def pause(self) -> float | None:
        """Return the seconds until the next attempt to reach the store, or until a delayed tuple is due, or None."""
        return self.backoff.pause or self.delays.pause() or None

    def _produce(self, offset: Offset, limit: int) -> ProducedTo:
        if self.several is None:
            self.several = [str(file) for file in self._files()] != [str(self.path)]
        self._go_to(offset)
        drives = self.context.region is not None and self.context.region.trigger
        begin = self.row
        while True:
            if not self.ended:
                if not self._advance(limit - (self.row - begin), submit=True):
                    break
                if self._goes_on():
                    if self.row - begin >= limit or self.waits:
                        break
                    continue
                self.outputs.end(self.path)
                if drives:
                    self.context.make_consistent()
            following = self._following()
            if following is None:
                return ProducedTo(self._offset(), exhausted=True)
            limit, begin = limit - (self.row - begin), 0
            self.reached = {"row": 0, "file": self._name(following)}
            self._open(following, Mark(), check=True)
            if limit <= 0 or drives:
                break
        return ProducedTo(self._offset(), exhausted=False)

    def _go_to(self, offset: Offset) -> None:
        """Open the file of an offset at its row, unless it is open. Raise DataError without that row; see `_open`."""
        path = self.path
        if "file" in offset:
            path = self.storage.file(offset["file"])
        elif self.several:
            path = next(iter(self._files()), path)
        if (path, offset["row"]) == (self.path, self.row) and not self.ended:
            return
        mark = Mark(**offset["piece"]) if "piece" in offset else Mark()
        known = FileIdentity(*offset["identity"]) if "identity" in offset else None
        if offset.get("ended") and known is not None and not self._grown(path, known, offset["row"]):
            self.path, self.row, self.mark, self.identity, self.ended = path, offset["row"], mark, known, True
            return
        self._open(path, mark, check=bool(self.several or self.remote), offset=offset)
        self._advance(offset["row"] - mark.row, submit=False)
        if self.row != offset["row"]:
            message = f"{path}: {self.row} rows, but {offset['row']} were read before; was the file cut?"
            raise DataError(message)

    def _grown(self, path: File, known: FileIdentity, row: int) -> bool:
        return has_grown(path, self.parameters.format, known, row, may_be_gone=bool(self.several) or self.removes)

    def _goes_on(self) -> bool:
        """Open lines that were appended since the opening, or set `waits` for them; else set `ended` and return False.

        An incomplete last line waits until it is complete; `--available-now` leaves it. For errors see `_open`.
        """
        self.waits = False
        path, format = self.path, self.parameters.format
        if not isinstance(path, Path) or self.part is None:
            self.ended = True
            return False
        with suppress(OSError):  # the file is gone, but all its first content was read
            status = path.stat()
            bound = self._bound_of(path)
            size = status.st_size if bound is None else min(status.st_size, bound)
            stands, hot = status.st_size == self.size, self.parameters.hot_file and bound is None
            if str(status.st_ino) == self.identity.node and size > self.part:
                part = whole_lines(path, size, ended=self.parameters.hot_file) if hot or not stands else size
                if part > self.part:
                    row = self.row
                    self._open(path, self.mark, check=False, part=part)
                    self._advance(row - self.mark.row, submit=False)
                    return True
                if bound is None and not hot:
                    self.waits, self.size = True, status.st_size
                    return True
            if hot:
                self.waits = True
                return True
            self.identity = identity_of(path, format, self.part)._replace(node=self.identity.node)
        self.ended = True
        return False

    def _bound_of(self, path: File) -> int | None:
        """Return how many bytes of a file a run with `--available-now` reads, or None for all."""
        if self.until is None or str(path) != str(self.storage.file(self.until["file"])):
            return None
        return self.until["size"]

    def _offset(self) -> Offset:
        offset: Offset = {"row": self.row}
        if self.mark != Mark():
            offset["piece"] = self.mark._asdict()
        if self.several:
            offset["file"] = self._name(self.path)
        if self.row or self.ended:
            offset["identity"] = list(self.identity)
        if self.ended:
            offset["ended"] = True
        return offset

    def _name(self, file: File) -> str:
        """Return the name by which an offset refers to a file."""
        base = self.context.base
        return str(file.relative_to(base) if isinstance(file, Path) and file.is_relative_to(base) else file)

    def _files(self) -> Sequence[File]:
        """Return the files of the parameter. Without any, raise DataError for an object store, else ValueError."""
        try:
            return self.storage.files(self.parameters.file)
        except ValueError as error:
            raise (DataError(str(error)) if self.remote else error) from error

    def _following(self) -> File | None:
        """Return the next file in the order of paths, or None; see `_files`. A new file counts if its path is later."""
        if not self.several:
            return None
        last = None if self.until is None else str(self.storage.file(self.until["file"]))
        later = (file for file in self._files() if str(file) > str(self.path))
        return next((file for file in later if last is None or str(file) <= last), None)

    def _open(
        self,
        path: File,
        mark: Mark,
        *,
        check: bool,
        offset: Offset | None = None,
        part: int | None = None,
    ) -> None:
        """Open a file at the start of a piece. Raise DataError if it is lost or changed; see `identity_of` for others.

        Args:
            path: the file.
            mark: the start of the piece.
            check: check the file's columns.
            offset: the offset of the rows that were read before; None without any.
            part: the number of bytes to read; None reads up to the last complete line.
        """
        format = self.parameters.format
        try:
            now = identity_of(path, format)
            if offset is not None and offset["row"] and "identity" in offset:
                known = FileIdentity(*offset["identity"])
                check_same(path, format, known, now, offset["row"], ended="ended" in offset)
            self.size, self.part = now.size, None
            if can_grow(path, format) and self.parameters.grows:
                assert isinstance(path, Path)
                bound = self._bound_of(path)
                size = now.size if bound is None else min(now.size, bound)
                self.part = whole_lines(path, size, ended=self.parameters.hot_file) if part is None else part
                now = identity_of(path, format, self.part) if self.part != now.size else now
            file = source_file(self._opened(path), self.parameters, self.read_as, self.context)
            if check:
                file.check()
        except (ValueError, OSError) as error:
            raise error if isinstance(error, DataError) else DataError(str(error)) from error
        if self.pieces is not None:
            self.pieces.close()
        self.path, self.pieces, self.rest = path, file.rows(self.background, FilePosition(mark.place, mark.line)), None
        self.identity, self.ended = now, False
        self.mark, self.first, self.row, self.outputs.malformed = mark, mark.row, mark.row, mark.malformed

    def _opened(self, path: File) -> File:
        return FilePart(path, self.part) if isinstance(path, Path) and self.part is not None else path

    def brings(self, port: int) -> bool:
        """Return True, except for a port that gets the names of files."""
        return brings_tuples(self.context, port)

    def place(self) -> str:
        """Return the file and the rows, from 1, of the last submission."""
        return f"{self.path}, rows {self.first + 1} to {self.row}"

    def _advance(self, rows: int, *, submit: bool) -> bool:
        """Read at most `rows` rows, only due ones if rows have delays; submit or skip them. Return True at the end."""
        while rows > 0:
            piece = self.rest if self.rest is not None else self._next_piece()
            self.rest = None
            if piece is None:
                return True
            taken, most = piece, rows
            if submit and piece.delays is not None:
                most = min(rows, piece.due(self.delays.due(piece.delays)))
                if not most:
                    self.rest = piece
                    return False
            if piece.size > most:
                taken, self.rest = piece.split(most)
            if submit and taken.delays is not None:
                self.delays.passed(taken.delays)
            self.first, self.row = self.row, self.row + taken.size
            rows -= taken.size
            if submit:
                self.reached = None
                number = self.first - self.outputs.malformed
                made = made_columns(self.path, number, taken.batch, self.context, self.parameters, self.logic)
                self.submit(TupleBatch(pa.RecordBatch.from_arrays(made, schema=self.context.output_schema())))
                self.outputs.set_aside(self.path, taken.malformed)
            else:
                self.outputs.malformed += len(taken.malformed)
        if self.rest is None:
            self.rest = self._next_piece()
        return self.rest is None

    def _next_piece(self) -> FileRows | None:
        assert self.pieces is not None
        for piece in self.pieces:
            if piece.size:
                if piece.start is not None:
                    self.mark = Mark(self.row, *piece.start, self.outputs.malformed) if self.row else Mark()
                return piece
        return None
