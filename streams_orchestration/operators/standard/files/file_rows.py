"""Rows of the files of a FileSource: positions, settings, and attributes that are not in the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from streams_orchestration import world
from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.errors import check_attributes
from streams_orchestration.operators.expressions.spl.text import SplText
from streams_orchestration.operators.files.source_file import SourceFile
from streams_orchestration.operators.formats.spl_texts import check_types
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.logic.program import SplLogic
from streams_orchestration.operators.logic.source_logic import SourceLogic, over_columns
from streams_orchestration.operators.standard.files.row_reading import RowReadingParameters
from streams_orchestration.operators.standard.files.source_parameters import FileParameters
from streams_orchestration.operators.storage.port import File

_FACTS = ("FileName", "TupleNumber")
"""The names of the output functions, which SPL expressions read as columns."""


class Mark(NamedTuple):
    """A position in a file from which reading can continue, as an offset stores it."""

    row: int = 0
    """The number of rows before the position."""
    place: int = 0
    line: int = 1
    malformed: int = 0
    """The number of malformed rows before the position."""


def file_schema(context: OperatorContext, parameters: RowReadingParameters) -> pa.Schema:
    """Return the attributes that are read from files.

    Raises:
        UnknownAttributeError: `output` or `types` names an attribute that the stream does not have.
        ValueError: an attribute in `output` has the wrong type, no attribute is left to be read, or the output stream
            has no schema.
    """
    schema = context.output_schema()
    for name, function in parameters.output.items():
        check_attributes("output", [name], schema.names, "the output stream")
        if isinstance(function, SplText):
            continue
        kind = schema.field(name).type
        wanted = pa.string() if function == "FileName()" else pa.int64()
        if kind != wanted:
            message = f"output.{name}: {function} must be a {'string' if wanted == pa.string() else 'bigint'}"
            raise ValueError(message)
    check_types(parameters.types, schema.names)
    read = [field for field in schema if field.name not in parameters.output]
    if not read:
        message = "output: no attribute is left to be read from the file"
        raise ValueError(message)
    return pa.schema(read)


def source_file(path: File, parameters: FileParameters, schema: pa.Schema, context: OperatorContext) -> SourceFile:
    """Return a file with the settings from the parameters. Raises ValueError if `defaultTuple` does not fit."""
    return SourceFile(
        path,
        parameters.format,
        schema,
        parameters.dialect(),
        parameters.named_columns,
        permissive=parameters.parsing == "permissive",
        options=replace(
            parameters.row_options(schema, context), compression=parameters.compression, encoding=parameters.encoding
        ),
    )


def made_columns(
    path: File | str,
    number: int,
    batch: pa.RecordBatch,
    context: OperatorContext,
    parameters: RowReadingParameters,
    logic: SourceLogic | None,
) -> Sequence[pa.Array]:
    """Return the columns of the output stream: columns of the rows, or values that `output` computes.

    Args:
        path: the file, or the name for `FileName()`.
        number: the number of tuples of the file before these.
        batch: the rows.
        context: the operator's context.
        parameters: the parameters.
        logic: the expressions of SPL, if there are any.

    Raises:
        TupleError: an expression of SPL has no value for a row; the error has its position among the rows.
    """
    count = batch.num_rows
    numbers = np.arange(number + 1, number + count + 1)
    if logic is not None:
        facts = [pa.repeat(pa.scalar(str(path)), count), pa.array(numbers, pa.int64())]
        return logic.apply(pa.RecordBatch.from_arrays(facts, names=list(_FACTS)), batch).arrow.columns
    return [
        batch.column(field.name)
        if field.name not in parameters.output
        else pa.repeat(pa.scalar(str(path)), count)
        if parameters.output[field.name] == "FileName()"
        else pa.array(numbers)
        for field in context.output_schema()
    ]


def output_logic(
    context: OperatorContext,
    parameters: RowReadingParameters,
    *,
    after_input: bool = False,
    read: SplText | None = None,
) -> SourceLogic | None:
    """Return the logic of `spl` and the expressions of SPL in `output`, compiled; None if there is neither.

    With `spl`, every text in `output` is an expression of SPL.

    Args:
        context: the operator's context.
        parameters: the parameters.
        after_input: True if the operator runs logic for the tuples of its input port, too.
        read: an expression over these tuples that is evaluated after their logic.

    Raises:
        ValueError: the parameters do not allow expressions of SPL, or an expression or the logic is wrong.
    """
    logic: SplLogic | None = getattr(parameters, "spl", None)
    if logic is None and not any(isinstance(each, SplText) for each in parameters.output.values()):
        return None
    if getattr(parameters, "interleave", False):
        message = "output: interleave reads files side by side, in no fixed order, so SPL expressions cannot be used"
        raise ValueError(message)
    written = {
        name: over_columns(text if isinstance(text, SplText) else SplText(text), _FACTS)
        for name, text in parameters.output.items()
    }
    source = pa.schema([("FileName", pa.string()), ("TupleNumber", pa.int64())])
    after_input = after_input and logic is not None
    return SourceLogic(context, logic, written, source, "File", after_input=after_input, read=read)


class Delays:
    """The clock of a file whose rows have delays: a tuple is due a number of seconds after the tuple before it."""

    def __init__(self) -> None:
        self._last: float | None = None
        """The moment at which the last tuple was due; None before the first one."""
        self._next = 0.0

    def due(self, delays: np.ndarray) -> int:
        """Return how many of the next tuples are due by now, given the seconds before each; note when the next one is.

        The first call starts the clock.
        """
        now = world.monotonic()
        self._last = now if self._last is None else self._last
        moments = self._last + np.cumsum(delays)
        count = int(np.searchsorted(moments, now, side="right"))
        self._next = float(moments[count]) if count < len(moments) else 0.0
        return count

    def passed(self, delays: np.ndarray) -> None:
        """Record that tuples with these delays were submitted."""
        self._last = (self._last or 0.0) + float(delays.sum())

    def pause(self) -> float:
        """Return the seconds until the next tuple is due; 0 if none is known."""
        return max(self._next - world.monotonic(), 0.0)
