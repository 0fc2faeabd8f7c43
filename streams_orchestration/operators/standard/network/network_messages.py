"""The messages of `TCPSource` and `UDPSource` in the formats of IBM Streams, beside the formats of other journals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.expressions.constant_attributes import constants
from streams_orchestration.operators.files.row_options import RowOptions, require_single_bytes
from streams_orchestration.operators.files.rows import FilePosition
from streams_orchestration.operators.files.spl_rows import SPL_FORMATS, LineReader
from streams_orchestration.operators.formats.spl_binary import binary_tuple, check_binary, decoder
from streams_orchestration.operators.formats.spl_texts import SPL_TYPES, check_types, spl_tuple
from streams_orchestration.operators.journal.framing import Framing, Split, split_at
from streams_orchestration.operators.journal.source import JournalParameters, JournalSource
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.messages.decoders import Bad, Decoded, decoded_schema, reason_of_column
from streams_orchestration.operators.standard.files.row_reading import plain_constant
from streams_orchestration.spl.types.types import Tuple

LINES = ("splCsv", "splTxt", "line")
"""The formats of IBM Streams whose messages are lines."""
_SUIT: dict[str, tuple[str, ...]] = {
    "encoding": LINES,
    "eolMarker": LINES,
    "defaultTuple": ("splCsv",),
    "ignoreExtraCSVValues": ("splCsv",),
    "types": (*SPL_FORMATS, "bin"),
}
"""Maps each parameter to the formats that have it."""


class NetworkParameters(JournalParameters):
    """The parameters that `TCPSource` and `UDPSource` share."""

    format: Literal["json", "csv", "raw", "splCsv", "splTxt", "line", "block", "bin"] = Field(  # type: ignore[assignment]
        default="json",
        description=(
            "Format of a message. splCsv: SPL literals by position; splTxt: an SPL tuple; line: a text; block: bytes; "
            "bin: a tuple in SPL's binary encoding."
        ),
    )
    types: dict[str, str] = Field(default_factory=dict, description=SPL_TYPES)
    encoding: str = Field(default="utf-8", description="Encoding of the texts in splCsv, splTxt and line.")
    eol_marker: str | None = Field(
        default=None,
        alias="eolMarker",
        min_length=1,
        max_length=2,
        description=(
            "Text that ends a message of splCsv, splTxt or line; a line feed, with or without a carriage return, by "
            "default."
        ),
    )
    default_tuple: dict[str, Any] = Field(
        default_factory=dict,
        alias="defaultTuple",
        description="Maps attributes to constant expressions for values that are missing in a message of splCsv.",
    )
    ignore_extra: bool = Field(
        default=False,
        alias="ignoreExtraCSVValues",
        description="Ignore values after the last attribute in a message of splCsv.",
    )

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        yield from self._faults_of_formats(_SUIT)
        if self.eol_marker is None:
            require_single_bytes(self.encoding)

    @property
    def by_streams(self) -> bool:
        """True if messages are in a format of IBM Streams."""
        return self.format in (*LINES, "block", "bin")

    @property
    def skips_comments(self) -> bool:
        """True if empty messages and those that begin with `#` are not tuples."""
        return self.format in SPL_FORMATS

    @property
    def line_split(self) -> Framing | Split:
        """The framing of lines, by `eolMarker` if it is given."""
        return "lines" if self.eol_marker is None else split_at(self.eol_marker.encode(self.encoding))

    def trimmed(self, message: bytes) -> bytes:
        """Return a message that came alone, without the end of its line; unchanged in the formats block and bin."""
        if self.format in ("block", "bin"):
            return message
        if self.eol_marker is not None:
            return message.removesuffix(self.eol_marker.encode(self.encoding))
        return message.removesuffix(b"\n").removesuffix(b"\r")

    def row_options(self, schema: pa.Schema, context: OperatorContext) -> RowOptions:
        """Return the options for reading messages as tuples of a schema.

        Raises:
            ValueError: `defaultTuple` has a wrong attribute or value.
        """
        defaults = constants(self.default_tuple, schema, "defaultTuple", context.zone)
        return RowOptions(
            encoding=self.encoding,
            defaults={name: plain_constant(value) for name, value in defaults.items()},
            required=tuple(name for name in context.required_at() if name in schema.names),
            types=self.types,
            ignore_extra=self.ignore_extra,
        )


class NetworkSource(JournalSource):
    """Base class of `TCPSource` and `UDPSource`."""

    @classmethod
    def check_format(cls, context: OperatorContext, schema: pa.Schema, parameters: Any) -> None:
        """Raise ValueError if the format cannot represent the decoded attributes."""
        settings: NetworkParameters = parameters
        if not settings.by_streams:
            super().check_format(context, schema, parameters)
            return
        check_types(settings.types, schema.names)
        kinds = [field.type for field in schema]
        if settings.format == "bin":
            check_binary(binary_tuple(schema, settings.types))
        elif settings.format == "block" and kinds != [pa.binary()]:
            message = "format block: exactly one binary attribute gets the bytes; others come from metadata"
            raise ValueError(message)
        elif settings.format == "line" and kinds != [pa.string()]:
            message = "format line: exactly one string attribute gets the line; others come from metadata"
            raise ValueError(message)
        elif settings.format in SPL_FORMATS:
            options = settings.row_options(schema, context)
            spl_tuple(schema, options.required, settings.format, options.types)

    def setup(self) -> None:
        """Prepare decoding and reading as `JournalSource` does."""
        super().setup()
        settings: NetworkParameters = self.parameters
        self.options = settings.row_options(self.decoded, self.context) if settings.by_streams else RowOptions()
        if settings.format in LINES:
            self.lines = LineReader(
                "", settings.format, self.decoded, settings.dialect(), self.options, permissive=True
            )
        elif settings.format == "bin":
            self.type = self.tuple_type()

    def tuple_type(self) -> Tuple:
        """Return the type of the tuples in the format bin; the receiver needs it without `setup`.

        Raises:
            ValueError: an attribute has a type that SPL does not have, or `types` does not fit.
        """
        settings: NetworkParameters = self.parameters
        return binary_tuple(decoded_schema(self.context.output_schema(), settings.metadata), settings.types)

    def decode_messages(self, values: Sequence[bytes]) -> Decoded:
        """Decode messages to tuples, and return the others with the reason.

        Raises:
            DataError: in the format bin, a value does not fit the column of its attribute.
        """
        settings: NetworkParameters = self.parameters
        if settings.format in LINES:
            return self._lines(values)
        if settings.format == "bin":
            return self._tuples(values)
        if settings.format == "block":
            return Decoded(pa.record_batch([pa.array(values, pa.binary())], schema=self.decoded), ())
        return super().decode_messages(values)

    def _lines(self, values: Sequence[bytes]) -> Decoded:
        rows = self.lines.read(values, FilePosition(line=1))
        bad = [Bad(row.line - 1, reason_of_column(row.column, row.reason)) for row in rows.malformed]
        return Decoded(rows.batch, tuple(bad))

    def _tuples(self, values: Sequence[bytes]) -> Decoded:
        from streams_orchestration.spl.programs.columns import array_of
        from streams_orchestration.spl.programs.errors import RunError

        decode = decoder(self.type)
        rows: list[dict[str, Any]] = []
        bad: list[Bad] = []
        for number, content in enumerate(values):
            try:
                row, end = decode(content, 0)
            except ValueError as error:
                bad.append(Bad(number, str(error) or "the bytes end within the tuple"))
                continue
            if end < len(content):
                bad.append(Bad(number, f"{len(content) - end} bytes follow the tuple"))
                continue
            rows.append(row)
        try:
            columns = [
                array_of([row[each.name] for row in rows], each.type).cast(self.decoded.field(each.name).type)
                for each in self.type.attributes
            ]
        except (RunError, pa.ArrowInvalid) as error:
            raise DataError(str(error)) from error
        return Decoded(pa.RecordBatch.from_arrays(columns, schema=self.decoded), tuple(bad))
