"""Parse: converts bytes to tuples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from pydantic import Field, model_validator

from streams_orchestration.model.names import nearest
from streams_orchestration.operators.arrow_types import type_name
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Punctuation
from streams_orchestration.operators.errors import DataError, UnknownAttributeError
from streams_orchestration.operators.formats.csv_dialect import CsvParameters
from streams_orchestration.operators.formats.json_reading import BLANK
from streams_orchestration.operators.libraries import compute as pc
from streams_orchestration.operators.libraries import pa
from streams_orchestration.operators.mentions import Mentions
from streams_orchestration.operators.messages.decoders import MessageFormat, check_decodable, decode, without_nulls
from streams_orchestration.operators.standard.refused import REFUSED
from streams_orchestration.operators.states.rescaling import Sharding
from streams_orchestration.operators.states.state import State

RowFormat = Literal["csv", "line", "jsonl"]
LONGEST_ROW_BYTES = 1 << 20
"""A quote without its pair within this many bytes is malformed; the row then ends with its line."""


def message_format(format: RowFormat) -> MessageFormat:
    """Return the message format in which a row is decoded."""
    formats: dict[RowFormat, MessageFormat] = {"csv": "csv", "line": "raw", "jsonl": "json"}
    return formats[format]


class RowParameters(CsvParameters):
    """The parameters that Parse and Format share."""

    format: RowFormat = Field(
        default="csv", description="Format of a row, which ends with a line feed: csv, line, jsonl."
    )
    quote_strings: bool = Field(
        default=True,
        alias="quoteStrings",
        description="CSV values may be quoted. If false, a quote is an ordinary character.",
    )

    @model_validator(mode="after")
    def _fits(self) -> RowParameters:
        if not self.quote_strings and self.format != "csv":
            message = "quoteStrings is for format csv only"
            raise ValueError(message)
        return self

    def check_line(self, names: Sequence[str], port: str) -> None:
        """Raise ValueError if format `line` is used with any number of attributes other than one."""
        if self.format == "line" and len(names) != 1:
            message = f"format line: a line is one attribute, but the {port} has {', '.join(names) or 'none'}"
            raise ValueError(message)


class ParseParameters(RowParameters):
    """The parameters of `Parse`."""

    parse_input: str | None = Field(
        default=None,
        alias="parseInput",
        description="Attribute that holds the bytes or text. May be omitted if there is only one.",
    )
    parsing: Literal["strict", "permissive", "fast"] = Field(
        default="strict", description="permissive: drop and count malformed rows. strict and fast: stop at one."
    )

    def attribute(self, schema: pa.Schema) -> str:
        """Return the attribute that holds the bytes. Raise ValueError if it is missing or has another type."""
        name = self.parse_input or schema.names[0]
        if self.parse_input is None and len(schema) != 1:
            message = f"parseInput: say which attribute has the bytes: {', '.join(schema.names)}"
            raise ValueError(message)
        if name not in schema.names:
            message = f"parseInput: the input stream has no attribute {name}{nearest(name, schema.names)}"
            raise UnknownAttributeError(message)
        kind = schema.field(name).type
        if not (pa.types.is_binary(kind) or pa.types.is_string(kind)):
            message = f"parseInput: {name} is {type_name(kind)}, binary or string is expected"
            raise ValueError(message)
        return name


class Parse(Operator):
    """Joins the bytes of all tuples into one text and submits its rows as tuples.

    So a row may begin in one tuple and end in another. A window marker or the end of the stream also ends a row. The
    marker is forwarded after that row.

    Parameters and semantics follow Parse of the SPL standard toolkit 1.4 (IBM Streams 4.3), which also keeps an
    unfinished row in its checkpoints. `jsonl` and text input are additions.
    """

    Parameters = ParseParameters
    unsupported = REFUSED["Parse"]
    stateful = True
    passes_marks = False
    free_parameters = frozenset(("parsing",))

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: ParseParameters) -> Sharding:
        """Return a refusal, since the start of a row belongs with the bytes that follow it."""
        return Sharding(refusal="is the beginning of a row in one channel")

    @classmethod
    def mentions(cls, parameters: ParseParameters) -> Mentions:
        """Return the attribute with the bytes."""
        return Mentions(inputs=() if parameters.parse_input is None else (parameters.parse_input,))

    @classmethod
    def check(cls, context: OperatorContext, parameters: ParseParameters) -> None:
        """Raise ValueError if no attribute holds bytes, or the format cannot represent the output's attributes."""
        parameters.attribute(context.inputs[0])
        target = context.output_schema()
        parameters.check_line(target.names, "output stream")
        check_decodable(target, message_format(parameters.format))

    def setup(self) -> None:
        """Prepare the parser, which has no unfinished row yet."""
        self.attribute = self.parameters.attribute(self.context.inputs[0])
        schema = self.context.outputs[0]
        assert schema is not None
        self.schema = schema
        self.reset_to_initial_state()

    def reset_to_initial_state(self) -> None:
        """Drop the unfinished row."""
        self.rest = b""
        self.rows = 0

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit the rows that are complete now."""
        column = pc.drop_null(batch.arrow.column(self.attribute))
        self._parse(b"".join(pc.cast(column, pa.binary()).to_pylist()), ended=False)

    def _parse(self, more: bytes, *, ended: bool) -> None:
        quoted = self.parameters.format == "csv" and self.parameters.quote_strings
        rows, self.rest = split_rows(self.rest + more, quoted=quoted, ended=ended)
        if self.parameters.format == "line":
            rows = [row.removesuffix(b"\n").removesuffix(b"\r") for row in rows]
        else:
            rows = [row for row in rows if row.strip(b"\r\n" if self.parameters.format == "csv" else BLANK)]
        if not rows:
            return
        decoded = decode(rows, self.schema, message_format(self.parameters.format), self.parameters.dialect())
        decoded = without_nulls(decoded, len(rows), self.context.required_at())
        for bad in decoded.bad:
            message = f"row {self.rows + bad.position + 1}: {bad.reason}: {rows[bad.position][:200]!r}"
            if self.parameters.parsing != "permissive":
                raise DataError(message)
            self.context.logger.warning("%s", message)
        if decoded.bad:
            self.context.metrics.dropped.add(len(decoded.bad))
        self.rows += len(rows)
        self.submit(TupleBatch(decoded.batch))

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """Submit the bytes that are left as a row, and forward a window marker."""
        self._parse(b"", ended=True)
        if mark is Punctuation.WINDOW:
            self.punctuate(mark)

    def checkpoint(self) -> State:
        """Return the unfinished row and the number of rows so far."""
        return {"rest": pa.table({"rest": pa.array([self.rest], pa.binary())}), "rows": self.rows}

    def restore(self, state: State) -> None:
        """Restore the unfinished row and the number of rows."""
        self.rest, self.rows = state["rest"].column("rest")[0].as_py(), state["rows"]


def split_rows(text: bytes, *, quoted: bool, ended: bool) -> tuple[Sequence[bytes], bytes]:
    """Split a text into rows with their line feeds, and the unfinished rest.

    Args:
        text: a text that begins with a row.
        quoted: a line feed between quotes does not end a row.
        ended: nothing follows, so the rest is a row as well.
    """
    lines = text.splitlines(keepends=True) if b"\r" not in text else _lines(text)
    rows: list[bytes] = []
    at = 0
    while at < len(lines) and (ended or lines[at].endswith(b"\n")):
        end, size, quotes = at + 1, len(lines[at]), lines[at].count(b'"') if quoted else 0
        while quotes % 2 and end < len(lines) and size < LONGEST_ROW_BYTES:
            size, quotes, end = size + len(lines[end]), quotes + lines[end].count(b'"'), end + 1
        paired = quotes % 2 == 0 and (ended or lines[end - 1].endswith(b"\n"))
        if not paired and not ended and size < LONGEST_ROW_BYTES:
            break
        if not paired or size > LONGEST_ROW_BYTES:
            end = at + 1
        rows.append(b"".join(lines[at:end]))
        at = end
    return rows, b"".join(lines[at:])


def _lines(text: bytes) -> list[bytes]:
    """Split a text at line feeds only."""
    parts = text.split(b"\n")
    return [*(part + b"\n" for part in parts[:-1]), *([parts[-1]] if parts[-1] else [])]
