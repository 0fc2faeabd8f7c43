"""A CSV file as blocks of whole rows, which can be parsed independently and in parallel."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.files.csv_file import CsvFile
from streams_orchestration.operators.files.rows import FilePosition, FileRows
from streams_orchestration.operators.formats.csv_reading import read_rows
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.storage.input_files import go_to, open_decompressed

FIRST_BYTES = 1 << 20
"""Size of the first block in bytes. Each block is twice as large as the previous one, up to the maximum."""
_QUOTE, _NEWLINE, _RETURN = b'"\n\r'


class RowBlock(NamedTuple):
    """A block of whole rows."""

    text: bytes
    names: list[str]
    """The column names."""
    place: int
    """The byte offset of the block in the file."""


@dataclass(frozen=True)
class CsvBlocks:
    """The blocks of one file. Parsing them gives the same rows as if Arrow parsed the whole file.

    Methods raise OSError or StorageError if the file cannot be opened.
    """

    file: CsvFile
    schema: pa.Schema

    def pieces(self, start: int = 0) -> Iterator[RowBlock | pa.RecordBatch]:
        """Yield blocks of whole rows, and tuples of the rest of the file once only parsing finds the row boundaries.

        If the header does not give the column names, the tuples of the whole file are yielded.

        Args:
            start: the place of the block to continue with; 0 for the first one. It is ignored without column names.

        Raises:
            DataError: the file is damaged, ends before `start` or lacks its header or a column, or a row that is
                parsed here does not fit or is too long.
        """
        names, begin = self.file.header(self.schema)
        if names is None:
            yield from self.file.read(self.schema)
            return
        with open_decompressed(self.file.path) as file:
            place = start or begin
            rest = b""
            ended = False
            size = FIRST_BYTES
            go_to(file, self.file.path, place)
            while not ended:
                data = file.read(min(size, self.file.block_bytes))
                ended, size = not data, 2 * size
                text = rest + data if rest else data
                end = len(text) if ended else self._whole_rows(text)
                if not end and text:
                    yield from self.file.read(self.schema, names, place)
                    return
                if text:
                    yield RowBlock(text[:end], names, place)
                place, rest = place + end, text[end:]

    def parse(self, piece: RowBlock | pa.RecordBatch) -> FileRows:
        """Parse a block to tuples, or return tuples that `pieces` has yielded.

        Raises:
            DataError: a row does not fit; the message names the line and the column.
        """
        if not isinstance(piece, RowBlock):
            return FileRows(piece)
        # Arrow skips a byte order mark at the beginning of any input
        text = b"\n" + piece.text if piece.text.startswith(BOM_UTF8) and piece.place else piece.text
        try:
            batch = read_rows(text, piece.names, self.schema, self.file.dialect)
        except (pa.ArrowInvalid, pa.ArrowKeyError, DataError) as error:
            if "Empty CSV" not in str(error):
                raise DataError(self.file.explained(self.schema, error)) from error
            batch = pa.RecordBatch.from_pylist([], schema=self.schema)
        return FileRows(batch, start=FilePosition(piece.place))

    def _whole_rows(self, text: bytes) -> int:
        dialect = self.file.dialect
        return whole_rows(text, dialect.separator) if dialect.quoted else text.rfind(b"\n") + 1


def whole_rows(text: bytes, separator: str) -> int:
    """Return how many leading bytes certainly consist of whole rows; 0 if no row is whole, or only parsing can tell.

    A newline ends a row unless it is within quotes. Counting quotes is reliable only if every quote encloses a whole
    value, since Arrow treats other quotes as text.
    """
    end = text.rfind(b"\n") + 1
    if not end or b'"' not in text:
        return end
    characters = np.frombuffer(b"\n" + text + b"\n", np.uint8)
    quotes = np.flatnonzero(characters == _QUOTE)
    borders = np.zeros(256, bool)
    borders[[_NEWLINE, _RETURN, *separator.encode()]] = True
    opening, closing = quotes[0::2], quotes[1::2]
    begins = borders[characters[opening - 1]]
    ends = borders[characters[closing + 1]]
    doubled = opening[1:] == closing[: len(opening) - 1] + 1
    begins[1:] |= doubled
    ends[: len(doubled)] |= doubled
    if not (begins.all() and ends.all()):
        return 0
    while (before := int(np.searchsorted(quotes, end))) % 2:  # positions in `characters` are one more
        end = text.rfind(b"\n", 0, int(quotes[before - 1]) - 1) + 1
    return end
