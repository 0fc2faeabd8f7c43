"""Parse: converts bytes to tuples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext, Punctuation
from streams_orchestration.operators.errors.errors import DataError, TupleError, behind
from streams_orchestration.operators.expressions.evaluation import Expression, evaluate
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.expressions.spl.text import ExpressionText, SplText
from streams_orchestration.operators.files.rows import LONGEST_ROW_BYTES, FileRows, split_rows
from streams_orchestration.operators.files.spl_binary_rows import binary_rows
from streams_orchestration.operators.files.spl_rows import SPL_FORMATS, LineStream
from streams_orchestration.operators.formats.json_reading import BLANK
from streams_orchestration.operators.formats.spl_binary import binary_tuple, check_binary
from streams_orchestration.operators.formats.spl_texts import spl_tuple
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.logic.operator import LogicOperator
from streams_orchestration.operators.logic.program import SplLogic, state_signature
from streams_orchestration.operators.logic.source_logic import SourceLogic
from streams_orchestration.operators.messages.decoders import check_decodable, decode, without_nulls
from streams_orchestration.operators.standard.conversion.byte_input import bytes_read, check_bytes
from streams_orchestration.operators.standard.conversion.row_format import message_format
from streams_orchestration.operators.standard.files.file_rows import file_schema, made_columns, output_logic
from streams_orchestration.operators.standard.files.row_reading import RowReadingParameters
from streams_orchestration.operators.standard.files.second_port import log_malformed
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch

_PREFIX = "@logic."
"""The beginning of the names of the parts of a state with the variables of the logic."""


class ParseParameters(RowReadingParameters):
    """The parameters of `Parse`."""

    format: Literal["csv", "line", "jsonl", "splCsv", "splTxt", "block", "bin"] = Field(
        default="csv",
        description=(
            "Format of a row, which ends with a line feed. splCsv: SPL literals by position; splTxt: an SPL tuple; "
            "block: blockSize bytes; bin: SPL's binary encoding."
        ),
    )
    parse_input: ExpressionText | None = Field(
        default=None,
        alias="parseInput",
        description="Attribute that holds the bytes or text, or an expression. May be omitted if there is only one.",
    )
    spl: SplLogic | None = Field(
        default=None, description="Logic in SPL that runs before the bytes of a tuple are parsed."
    )
    window_markers: Literal["forward", "end"] = Field(
        default="forward",
        alias="windowMarkers",
        description=(
            "forward: a window marker ends a row and is forwarded. end: a single marker follows the last tuple."
        ),
    )

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        if not self.quote_strings and self.format != "csv":
            yield "quoteStrings is for format csv only; leave it out"
        elif self.has_header_line is not None and self.format != "splCsv":
            yield f"hasHeaderLine is for format splCsv, not for {self.format}; leave it out"
        elif self.format == "block" and self.block_size is None:
            yield "format block needs blockSize"
        elif "FileName()" in self.output.values():
            yield "output: FileName() is for FileSource; Parse reads no file"

    @property
    def by_lines_of_streams(self) -> bool:
        """True if lines are read as IBM Streams reads them."""
        return self.format in SPL_FORMATS or (self.format == "line" and self.eol_marker is not None)

    def content(self, schema: pa.Schema, context: OperatorContext) -> str | Expression:
        """Return the attribute or expression with the bytes. Raise ValueError if it is missing, faulty or not bytes."""
        return bytes_read(self.parse_input, "parseInput", schema, context)


class _Parsed(NamedTuple):
    """Rows that are complete."""

    rows: FileRows
    dropped: Sequence[str] = ()
    """The reason for each other row that was dropped."""


class Parse(LogicOperator):
    """Joins the bytes of all tuples into one text and submits its rows as tuples.

    So a row may begin in one tuple and end in another. A window marker or the end of the stream also ends a row. The
    marker is forwarded after that row, unless `windowMarkers` says otherwise.

    Parameters and semantics follow Parse of the SPL standard toolkit 1.4 (IBM Streams 4.3), which also keeps an
    unfinished row in its checkpoints. `jsonl` and text input are additions. Logic in SPL runs for each tuple before its
    bytes are parsed, so `output` reads and changes the variables row by row.
    """

    Parameters = ParseParameters
    naming_parameters = NamingParameters(inputs=("parse_input",))
    stateful = True
    indivisible = "is the beginning of a row that one channel has read"
    passes_marks = False
    heeds_marks = True
    free_parameters = frozenset(("parsing", "spl"))

    @classmethod
    def has_state(cls, parameters: Any) -> bool:
        """Return True, since a row may be unfinished."""
        return True

    @classmethod
    def keeps_state(cls, before: Any, after: Any) -> bool:
        """Return True if only `parsing` and `spl` differ, and the logic has the same variables."""
        same = state_signature(before.spl) == state_signature(after.spl)
        return same and super(LogicOperator, cls).keeps_state(before, after)

    @classmethod
    def check(cls, context: OperatorContext, parameters: ParseParameters) -> None:
        """Raise ValueError if nothing holds bytes, an expression or the logic is wrong, or the format does not fit.

        The format fits if it can represent the attributes of the output stream that are not computed.
        """
        cls._logic(context, parameters)
        read = file_schema(context, parameters)
        if parameters.format == "line" and len(read) != 1:
            message = f"format line: a line is one attribute, but the output stream has {', '.join(read.names)}"
            raise ValueError(message)
        if parameters.format in SPL_FORMATS:
            options = parameters.row_options(read, context)
            spl_tuple(read, options.required, parameters.format, options.types)
        elif parameters.format == "bin":
            check_binary(binary_tuple(read, parameters.types))
        elif parameters.format == "block":
            if len(read) != 1 or not pa.types.is_binary(read.field(0).type):
                message = "format block: the output stream must have exactly one binary attribute"
                raise ValueError(message)
        elif parameters.format in ("csv", "line", "jsonl"):
            check_decodable(read, message_format(parameters.format))

    @staticmethod
    def _logic(context: OperatorContext, parameters: ParseParameters) -> tuple[str | Expression, SourceLogic | None]:
        """Return the attribute or expression with the bytes, and the expressions of SPL; see `output_logic`.

        With logic, an expression with the bytes is compiled into the logic, and an empty text is returned in its place.
        """
        given, source = parameters.parse_input, context.inputs[0]
        if parameters.spl is None or not isinstance(given, SplText):
            return parameters.content(source, context), output_logic(context, parameters, after_input=True)
        logic = output_logic(context, parameters, after_input=True, read=given)
        assert logic is not None
        [tree] = logic.logic.program.expressions[0]
        from streams_orchestration.spl.programs.columns import arrow_type

        check_bytes("the value", arrow_type(tree.type), "parseInput")
        return "", logic

    def setup(self) -> None:
        """Prepare the parser, which has no unfinished row yet, and run the initialisers of the logic."""
        self.content, self.logic_of_output = self._logic(self.context, self.parameters)
        self.schema = file_schema(self.context, self.parameters)
        if self.parameters.spl is not None and self.logic_of_output is not None:
            self.use(self.logic_of_output.logic)
        self.rest = b""
        self.rows = self.malformed = 0
        parameters, context = self.parameters, self.context
        self.lines = LineStream(
            parameters.format,
            self.schema,
            parameters.dialect(),
            parameters.row_options(self.schema, context),
            permissive=parameters.parsing == "permissive",
        )

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit the rows that are complete now. Logic runs for each tuple before its bytes are parsed."""
        content = self.content
        if self.logic is None:
            column = batch.arrow.column(content) if isinstance(content, str) else evaluate(content, batch.arrow)
            self._take_in(column)
            return
        for place in range(len(batch)):
            one = batch.slice(place, 1)
            try:
                _, values = self.logic.tuples(0, one)
                self._take_in(values[0] if values else one.arrow.column(str(content)))
            except TupleError as error:
                raise TupleError(place) from error.__cause__

    def _take_in(self, column: pa.Array) -> None:
        """Parse the bytes of tuples, and submit the rows that are complete.

        Args:
            column: the bytes or texts; null counts as no bytes.
        """
        parts = pc.fill_null(pc.cast(column, pa.binary()), b"").to_pylist()
        rest, lines = self.rest, (self.lines.rest, self.lines.lines)
        try:
            self._parse(b"".join(parts), ended=False)
        except TupleError as error:
            self.rest, (self.lines.rest, self.lines.lines) = rest, lines
            raise TupleError(self._part_with(error.position, parts)) from error.__cause__

    def _part_with(self, row: int, parts: Sequence[bytes]) -> int:
        """Parse bytes part by part, without submitting rows. Return the position of the part in which a row ends.

        Args:
            row: the position of the row among the rows that the parts complete.
            parts: the next bytes, which were parsed before, so errors are not expected; see `_parsed`.
        """
        for place, part in enumerate(parts):
            parsed = self._parsed(part, ended=False)
            row -= 0 if parsed is None else parsed.rows.batch.num_rows
            if row < 0:
                return place
        return len(parts) - 1

    def _parse(self, more: bytes, *, ended: bool) -> None:
        """Submit the rows that are complete with the next bytes; raise DataError if a row is malformed."""
        parsed = self._parsed(more, ended=ended)
        if parsed is not None:
            self._submit(parsed)

    def _parsed(self, more: bytes, *, ended: bool) -> _Parsed | None:
        """Return the rows that are complete with the next bytes, and keep the rest; None if no row is complete.

        Raises DataError if a row is malformed.
        """
        if self.parameters.format == "block":
            return self._divide(more, ended=ended)
        if self.parameters.format == "bin":
            rows, size = binary_rows(
                "the bytes", self.rest + more, self.schema, self.parameters.types, first=self.rows + 1, ended=ended
            )
            self.rest = (self.rest + more)[size:]
            return _Parsed(FileRows(rows)) if rows.num_rows else None
        if self.parameters.by_lines_of_streams:
            lines = self.lines.more(more, ended=ended)
            return None if lines is None else _Parsed(lines)
        return self._decode(more, ended=ended)

    def _divide(self, more: bytes, *, ended: bool) -> _Parsed | None:
        """Return the blocks that are complete, and at the end the rest; None if there are none."""
        size, content = self.parameters.block_size, self.rest + more
        whole = len(content) if ended else len(content) // size * size
        blocks = [content[at : min(at + size, whole)] for at in range(0, whole, size)]
        self.rest = content[whole:]
        if not blocks:
            return None
        return _Parsed(FileRows(pa.RecordBatch.from_arrays([pa.array(blocks, pa.binary())], schema=self.schema)))

    def _submit(self, parsed: _Parsed) -> None:
        """Submit rows with the attributes that `output` computes; log and count the malformed rows."""
        rows, logic = parsed.rows, self.logic_of_output
        try:
            columns = made_columns("", self.rows, rows.batch, self.context, self.parameters, logic)
        except TupleError as error:
            assert isinstance(error.__cause__, DataError)
            raise TupleError(error.position) from behind(f"row {self.rows + error.position + 1}: ", error.__cause__)
        for reason in parsed.dropped:
            self.context.logger.warning("%s", reason)
        if rows.malformed:
            log_malformed(self.context.logger, "Parse", rows.malformed, self.malformed)
        dropped = len(parsed.dropped) + len(rows.malformed)
        if dropped:
            self.context.metrics.dropped.add(dropped)
            self.malformed += dropped
        self.rows += rows.batch.num_rows
        self.submit(TupleBatch(pa.RecordBatch.from_arrays(columns, schema=self.context.output_schema())))

    def _decode(self, more: bytes, *, ended: bool) -> _Parsed | None:
        format_ = message_format(self.parameters.format)
        quoted = self.parameters.format == "csv" and self.parameters.quote_strings
        raw, self.rest = split_rows(
            self.rest + more, 1, lambda row: len(row) <= LONGEST_ROW_BYTES, quoted=quoted, ended=ended
        )
        rows = [row.text for row in raw]
        if self.parameters.format == "line":
            rows = [row.removesuffix(b"\n").removesuffix(b"\r") for row in rows]
        else:
            rows = [row for row in rows if row.strip(b"\r\n" if self.parameters.format == "csv" else BLANK)]
        if not rows:
            return None
        decoded = decode(rows, self.schema, format_, self.parameters.dialect())
        decoded = without_nulls(decoded, len(rows), self.context.required_at())
        first = self.rows + self.malformed + 1
        bad = [f"row {first + each.position}: {each.reason}: {rows[each.position][:200]!r}" for each in decoded.bad]
        if bad and self.parameters.parsing != "permissive":
            raise DataError(bad[0])
        return _Parsed(FileRows(decoded.batch), bad)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Submit the bytes that are left as a row, and send a window marker, as `windowMarkers` requires.

        Logic runs before. With `windowMarkers: end`, a window marker has no further effect.
        """
        super().on_punctuation(port, mark)
        at_end = self.parameters.window_markers == "end"
        if at_end and mark is Punctuation.WINDOW:
            return
        self._parse(b"", ended=True)
        if at_end or mark is Punctuation.WINDOW:
            self.punctuate(Punctuation.WINDOW)

    def checkpoint(self) -> State:
        """Return the unfinished row, the numbers of submitted rows, lines and malformed rows, and the variables."""
        own = {f"{_PREFIX}{name}": part for name, part in super().checkpoint().items()}
        rest = self.lines.rest if self.parameters.by_lines_of_streams else self.rest
        return {
            "rest": pa.table({"rest": pa.array([rest], pa.binary())}),
            "rows": self.rows,
            "lines": self.lines.lines,
            "malformed": self.malformed,
            **own,
        }

    def restore(self, state: State) -> None:
        """Restore the state that `checkpoint` returned."""
        self.rest, self.rows = state["rest"].column("rest")[0].as_py(), state["rows"]
        self.lines.rest = self.rest
        self.lines.lines = state["lines"]
        self.malformed = state["malformed"]
        super().restore({name.removeprefix(_PREFIX): each for name, each in state.items() if name.startswith(_PREFIX)})
