"""The second output port of FileSource: malformed rows, or the files that have been read."""

from __future__ import annotations

import errno
import logging
from collections.abc import Sequence

from streams_orchestration.operators.contract.operator import Operator, OperatorContext, Punctuation
from streams_orchestration.operators.errors.errors import LOGGED
from streams_orchestration.operators.files.rows import Malformed
from streams_orchestration.operators.formats.bad_tuples import check_bad_attributes
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.storage.port import File
from streams_orchestration.operators.tuples.batch import TupleBatch

_MALFORMED = {"file": "string", "line": "bigint", "column": "string", "reason": "string", "text": "string"}


class FileOutputs:
    """Handles malformed rows and the ends of files for a source, with its optional second output port."""

    def __init__(self, operator: Operator) -> None:
        """Store the operator, whose second output port was checked by `check_second_port`."""
        self._operator = operator
        outputs = operator.context.outputs
        self._second = outputs[1] if len(outputs) > 1 else None
        self.malformed = 0
        """The number of malformed rows in the file so far."""

    def set_aside(self, file: File, rows: Sequence[Malformed]) -> None:
        """Count and log malformed rows, and submit them to the second port unless it is missing or takes names."""
        if not rows:
            return
        context = self._operator.context
        log_malformed(context.logger, file, rows, self.malformed)
        self.malformed += len(rows)
        if self._second is None or is_file_port(self._second):
            context.metrics.dropped.add(len(rows))
            return
        context.metrics.counter("malformed", "rows that could not be read, sent to the second output port").add(
            len(rows)
        )
        columns = {name: [getattr(row, name) for row in rows] for name in ("line", "column", "reason", "text")}
        self._operator.submit(TupleBatch.from_columns({"file": [str(file)] * len(rows), **columns}, self._second), 1)

    def end(self, file: File) -> None:
        """Submit a window marker at the end of a file, and the file's name if the second port takes names.

        The total of malformed rows is logged if not all were logged one by one.
        """
        self._operator.punctuate(Punctuation.WINDOW)
        if self.malformed > LOGGED:
            self._operator.context.logger.warning("%s: %d malformed rows in total", file, self.malformed)
        self._name(file, 0)

    def missing(self, file: File) -> None:
        """Submit the name of a missing file, with the number of the error, if the second port takes names."""
        self._name(file, errno.ENOENT)

    def _name(self, file: File, error: int) -> None:
        if self._second is not None and is_file_port(self._second):
            columns = {field.name: [str(file) if field.type == pa.string() else error] for field in self._second}
            self._operator.submit(TupleBatch.from_columns(columns, self._second), 1)


def is_file_port(schema: pa.Schema | None) -> bool:
    """Return True if the schema is a text and an int, so the port gets the names of files as in IBM Streams."""
    return schema is not None and {field.type for field in schema} == {pa.string(), pa.int32()} and len(schema) == 2


def brings_tuples(context: OperatorContext, port: int) -> bool:
    """Return True, except for a port that gets the names of files."""
    return port == 0 or not is_file_port(context.outputs[port])


def check_second_port(schema: pa.Schema | None, *, permissive: bool) -> None:
    """Raise ValueError if the second port has wrong attributes, or without `permissive` would never get a tuple."""
    if is_file_port(schema):
        return
    check_bad_attributes(schema, _MALFORMED, " for malformed rows, or a string and an int for the files that were read")
    if not permissive:
        message = (
            "the second output port never gets a malformed row, since such a row is an error; set parsing: permissive"
        )
        raise ValueError(message)


def log_malformed(logger: logging.Logger, file: object, rows: Sequence[Malformed], before: int) -> None:
    """Log the first malformed rows of a file, then their number at powers of ten; `before` rows were logged earlier."""
    for count, row in enumerate(rows, before + 1):
        if count <= LOGGED:
            column = f", column {row.column}" if row.column else ""
            logger.warning("%s: line %d%s: %s", file, row.line, column, row.reason)
        elif str(count).strip("0") == "1":
            logger.warning("%s: %d malformed rows up to line %d", file, count, row.line)
