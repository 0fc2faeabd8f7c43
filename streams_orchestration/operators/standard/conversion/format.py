"""Format: converts tuples to bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pydantic import Field

from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.naming import is_call
from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.errors.errors import DataError, check_attributes
from streams_orchestration.operators.expressions.assignments import Assignments
from streams_orchestration.operators.expressions.spl.text import ExpressionText, SplText
from streams_orchestration.operators.files.spl_lines import LineWriting, binary_of
from streams_orchestration.operators.formats.checks import utf8_fault
from streams_orchestration.operators.formats.csv_dialect import CsvParameters
from streams_orchestration.operators.formats.spl_binary import binary_tuple, check_binary
from streams_orchestration.operators.inputs.failed_tuples import ExpressionParameters, FailureFilter, check_failure_port
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.messages.encoders import check_encodable, encode
from streams_orchestration.operators.standard.conversion.byte_input import check_bytes
from streams_orchestration.operators.standard.conversion.row_format import RowFormat, message_format
from streams_orchestration.operators.tuples.batch import TupleBatch


class FormatParameters(CsvParameters, ExpressionParameters):
    """The parameters of `Format`."""

    format: RowFormat = Field(
        default="csv",
        description="Format of a row, which ends with a line feed: csv, line, jsonl. bin: SPL's binary encoding.",
    )
    quote_strings: bool = Field(
        default=True,
        alias="quoteStrings",
        description="Quote CSV values that require it.",
    )
    suppress: str | list[str] = Field(default_factory=list[str], description="Attributes that are not written.")
    types: dict[str, str] = Field(
        default_factory=dict,
        description="Maps attributes to their types in SPL if columns do not show them, for the format bin.",
    )
    output: dict[str, ExpressionText] = Field(
        default_factory=dict,
        description=(
            "Maps an attribute to an expression. One of them is Output(), the row as bytes or text. May be "
            "omitted if there is only that one. If the expressions are SPL, they make the rows as well."
        ),
    )

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        if not self.quote_strings and self.format != "csv":
            yield "quoteStrings is for format csv only; leave it out"
        if self.types and self.format != "bin":
            yield f"types is for format bin, not for {self.format}; leave it out"

    def written(self, schema: pa.Schema) -> list[str]:
        """Return the attributes that a row contains. Raise UnknownAttributeError if a suppressed one does not exist."""
        suppressed = [self.suppress] if isinstance(self.suppress, str) else self.suppress
        check_attributes("suppress", suppressed, schema.names)
        return [name for name in schema.names if name not in suppressed]


class _Compiled(NamedTuple):
    written: Sequence[str]
    row: str
    """The attribute that receives the row; empty if the expressions make it."""
    others: Assignments


class Format(Operator):
    """Formats each tuple as a row, as bytes or text. A row ends with a line feed, except with `format: bin`.

    Parameters and `Output()` are as in Format of the SPL standard toolkit 1.4 (IBM Streams 4.3), except that values are
    quoted only if needed. `jsonl` and text output are additions.
    """

    keeps_places = True
    Parameters = FormatParameters
    pure = True

    @classmethod
    def check(cls, context: OperatorContext, parameters: FormatParameters) -> None:
        """Raise ValueError if the format cannot hold the attributes, or `suppress`, `output` or a port does not fit."""
        cls._compile(context, parameters)

    @staticmethod
    def _compile(context: OperatorContext, parameters: FormatParameters) -> _Compiled:
        source, target = context.inputs[0], context.output_schema()
        check_failure_port(context, parameters, source)
        if parameters.format != "bin" and any(isinstance(text, SplText) for text in parameters.output.values()):
            every = Assignments(parameters.output, source, target, context.zone, context.required_at())
            return _Compiled([], "", every)
        written = parameters.written(source)
        if parameters.format == "line" and len(written) != 1:
            message = f"format line: a line is one attribute, but the row has {', '.join(written) or 'none'}"
            raise ValueError(message)
        fields = pa.schema([source.field(name) for name in written])
        if parameters.format == "bin":
            check_binary(binary_tuple(fields, parameters.types))
        else:
            check_encodable(fields, message_format(parameters.format))
        rows = [name for name, text in parameters.output.items() if _is_row(text)]
        rows = rows or [name for name in target.names if name not in source.names and name not in parameters.output]
        if len(rows) != 1:
            message = "output: one attribute gets the row, as in output: {data: Output()}"
            raise ValueError(message)
        (row,) = rows
        if row in target.names:
            check_bytes("the attribute", target.field(row).type, f"output.{row}")
        others = {name: text for name, text in parameters.output.items() if name != row or row not in target.names}
        rest = pa.schema([field for field in target if field.name != row])
        return _Compiled(written, row, Assignments(others, source, rest, context.zone, context.required_at()))

    def setup(self) -> None:
        """Compile the expressions."""
        self.written, self.row, self.others = self._compile(self.context, self.parameters)
        self.failure_filter = FailureFilter(self, self.others.expressions)
        to_text = bool(self.row) and pa.types.is_string(self.context.output_schema().field(self.row).type)
        source = self.context.inputs[0]
        of_bytes = self.parameters.format == "line" and not pa.types.is_string(source.field(self.written[0]).type)
        self.may_be_unfit = to_text and (self.parameters.format == "bin" or of_bytes)
        """True if the row goes to a string, but may be bytes that are not UTF-8 text."""

    def process(self, port: int, batch: TupleBatch) -> None:
        """Format each tuple as a row, and submit it with the row as an attribute; set failed tuples aside.

        With an `output` in SPL, its expressions make the row, except with `format: bin`.
        """
        passed, failures = self.failure_filter.split(batch)
        if not self.row:
            self.failure_filter.set_aside(batch.arrow, failures, batch.watermarks)
            self.submit(self.others.of(passed))
            return
        rows, unwritten = self._rows(passed.arrow.select(self.written))
        if unwritten:
            places = np.setdiff1d(np.arange(len(batch)), list(failures))
            failures = dict(sorted((failures | {int(places[each]): why for each, why in unwritten.items()}).items()))
            passed = passed.filter(np.isin(np.arange(len(passed)), list(unwritten), invert=True))
        self.failure_filter.set_aside(batch.arrow, failures, batch.watermarks)
        schema = self.context.output_schema()
        end = b"" if self.parameters.format == "bin" else b"\n"
        lines = pa.array([row + end for row in rows], pa.binary())
        others = self.others.of(passed).arrow
        columns = {name: others.column(name) for name in others.schema.names}
        columns[self.row] = pc.cast(lines, schema.field(self.row).type)
        result = TupleBatch.from_columns(columns, schema)
        result.watermarks = passed.batch.watermarks
        self.submit(result)

    def _rows(self, tuples: pa.RecordBatch) -> tuple[list[bytes], dict[int, str]]:
        """Return the rows of the tuples, and the reason for each tuple that has none, by position."""
        try:
            return self._encoded(tuples), {}
        except DataError:
            if self.parameters.on_error == "fail":
                raise
        rows, failures = list[bytes](), dict[int, str]()
        for place in range(tuples.num_rows):
            try:
                rows += self._encoded(tuples.slice(place, 1))
            except DataError as error:
                failures[place] = f"output.{self.row}: {error}"
        return rows, failures

    def _encoded(self, tuples: pa.RecordBatch) -> list[bytes]:
        """Return the rows of tuples without their line feeds. Raise DataError if a tuple has none that fits."""
        parameters = self.parameters
        if parameters.format == "bin":
            rows = list(binary_of(tuples, LineWriting("bin", types=parameters.types)))
        else:
            rows = [row or b"" for row in encode(tuples, message_format(parameters.format), parameters.dialect())]
        if self.may_be_unfit:
            for fault in filter(None, map(utf8_fault, rows)):
                message = f"the row does not fit a string: {fault}"
                raise DataError(message)
        return rows


def _is_row(text: str) -> bool:
    try:
        return is_call(text, "Output")
    except ExpressionError:
        return False
