"""The parameters and options of operators that read rows from files or bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, WrapValidator

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.expressions.constant_attributes import constants
from streams_orchestration.operators.expressions.spl.text import text_or_program
from streams_orchestration.operators.files.row_options import RowOptions
from streams_orchestration.operators.files.spl_rows import SPL_FORMATS
from streams_orchestration.operators.formats.csv_dialect import CsvParameters
from streams_orchestration.operators.formats.spl_texts import SPL_TYPES
from streams_orchestration.operators.loading.libraries import pa

LINES = ("line", "splCsv", "splTxt")
_SUIT: dict[str, tuple[str, ...]] = {
    "eolMarker": LINES,
    "defaultTuple": ("splCsv",),
    "ignoreExtraCSVValues": ("splCsv",),
    "hasDelayField": SPL_FORMATS,
    "types": (*SPL_FORMATS, "bin"),
    "blockSize": ("block",),
}
"""Maps each parameter to the formats that have it."""
RowFunction = Literal["FileName()", "TupleNumber()"]
RowOutput = Annotated[RowFunction, WrapValidator(text_or_program)]
"""An output function, or an expression of SPL over output functions."""


class RowReadingParameters(CsvParameters):
    """The parameters of operators that read rows. Subclasses have a parameter `format`."""

    has_header_line: bool | int | None = Field(
        default=None,
        alias="hasHeaderLine",
        description=(
            "The first line of a CSV file names the columns; true by default. With splCsv, lines to skip; false by "
            "default."
        ),
    )
    quote_strings: bool = Field(
        default=True,
        alias="quoteStrings",
        description="CSV values may be quoted. If false, a quote is an ordinary character.",
    )
    parsing: Literal["strict", "permissive", "fast"] = Field(
        default="strict", description="permissive: drop and count malformed rows. strict and fast: stop at one."
    )
    eol_marker: str | None = Field(
        default=None,
        alias="eolMarker",
        min_length=1,
        max_length=2,
        description="Text that ends a line; a line feed, with or without a carriage return, by default.",
    )
    default_tuple: dict[str, Any] = Field(
        default_factory=dict,
        alias="defaultTuple",
        description="Maps attributes to constant expressions for values that are missing in a row of splCsv.",
    )
    ignore_extra: bool = Field(
        default=False,
        alias="ignoreExtraCSVValues",
        description="Ignore values after the last attribute in a row of splCsv.",
    )
    has_delay_field: bool = Field(
        default=False,
        alias="hasDelayField",
        description=(
            "A row of splCsv or splTxt begins with the seconds to wait before its tuple, and a comma. Delays are "
            "ignored if there is an input port."
        ),
    )
    types: dict[str, str] = Field(default_factory=dict, description=SPL_TYPES)
    block_size: int | None = Field(
        default=None, alias="blockSize", gt=0, description="Bytes of a block; the whole file by default."
    )
    output: dict[str, RowOutput] = Field(
        default_factory=dict,
        description="Maps attributes that are not in the rows to FileName() or TupleNumber(), or expressions of SPL.",
    )

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        own = getattr(self, "format", "csv")
        yield from self._faults_of_formats(_SUIT)
        if type(self.has_header_line) is int and (own != "splCsv" or self.has_header_line < 0):
            yield "hasHeaderLine is true or false; with format splCsv it may be a number of lines"

    @property
    def header_lines(self) -> int:
        """The number of lines in front of the rows of `splCsv`; 0 for every other format."""
        return int(self.has_header_line or 0) if getattr(self, "format", "csv") == "splCsv" else 0

    def row_options(self, schema: pa.Schema, context: OperatorContext) -> RowOptions:
        """Return the options for reading rows as tuples of a schema.

        Raises:
            ValueError: `defaultTuple` has a wrong attribute or value.
        """
        spl = getattr(self, "format", "csv") in SPL_FORMATS
        defaults = constants(self.default_tuple, schema, "defaultTuple", context.zone)
        return RowOptions(
            eol=self.eol_marker,
            header_lines=self.header_lines,
            defaults={name: plain_constant(value) for name, value in defaults.items()},
            required=tuple(context.required_at()) if spl else (),
            types=self.types,
            ignore_extra=self.ignore_extra,
            has_delay=self.has_delay_field,
            block_size=self.block_size,
        )


def plain_constant(value: pa.Array) -> object:
    """Return a constant as rows of SPL use it: a time as nanoseconds since 1970."""
    kind = value.type
    if pa.types.is_timestamp(kind):
        value = value.cast(pa.timestamp("ns", kind.tz)).cast(pa.int64())
    return value[0].as_py()
