"""Sinks that send tuples over the network: their parameters, and the bytes of their tuples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from streams_orchestration.model.visibility import Visibility
from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.errors import check_attributes
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.files.spl_lines import (
    LINE_FORMATS,
    OWN_FORMATS,
    LineWriting,
    binary_of,
    check_lines,
    encoded,
    lines_of,
)
from streams_orchestration.operators.formats.csv_dialect import CsvParameters
from streams_orchestration.operators.formats.spl_texts import SPL_TYPES, check_types
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.messages.encoders import check_encodable, encode
from streams_orchestration.operators.sinks.epoch_sink import EpochSink


class LineSinkParameters(CsvParameters):
    """The parameters of `TCPSink` and `UDPSink`."""

    format: Literal["json", "csv", "line", "splCsv", "splTxt", "block", "bin"] = Field(
        default="json",
        description=(
            "Format of a tuple, which ends with a line feed. json: an object. line: the only text. splCsv: SPL "
            "literals; splTxt: an SPL tuple; block: the bytes of the only attribute, and bin: SPL's "
            "binary encoding, both without a line feed."
        ),
    )
    quote_strings: bool = Field(default=True, alias="quoteStrings", description="Quote CSV values that require it.")
    suppress: list[str] = Field(default_factory=list, description="Attributes that are not written.")
    encoding: str = Field(default="utf-8", description="Encoding of the texts in splCsv, splTxt and line.")
    eol_marker: str = Field(
        default="\n",
        alias="eolMarker",
        min_length=1,
        max_length=2,
        description="Text that ends a tuple in splCsv, splTxt and line.",
    )
    types: dict[str, str] = Field(default_factory=dict, description=SPL_TYPES)
    visibility: Visibility = Field(
        default="read_committed", description="read_uncommitted: send tuples with their batch."
    )

    def _faults(self) -> Iterator[str]:
        yield from super()._faults()
        types = ("splCsv", "splTxt", "bin")
        yield from self._faults_of_formats({"encoding": LINE_FORMATS, "eolMarker": LINE_FORMATS, "types": types})

    def written(self, schema: pa.Schema) -> pa.Schema:
        """Return the attributes that are written."""
        return pa.schema([field for field in schema if field.name not in self.suppress])

    def writing(self) -> LineWriting:
        """Return the settings by which tuples are written in a format of IBM Streams."""
        return LineWriting(
            *(self.format, self.separator, self.quote_strings, self.encoding, self.eol_marker), types=self.types
        )

    def rows(self, batch: pa.RecordBatch) -> Iterator[bytes]:
        """Yield the bytes of each tuple without the attributes in `suppress`; formats of lines end with the line end.

        A null of the format `block` is empty.

        Raises:
            DataError: the format or the encoding cannot represent a value.
        """
        part = batch.select(self.written(batch.schema).names)
        if self.format == "block":
            yield from (each or b"" for each in part.column(0).to_pylist())
        elif self.format == "bin":
            yield from binary_of(part, self.writing())
        elif self.format in OWN_FORMATS:
            for line in lines_of(part, self.writing()):
                yield encoded(f"{line}{self.eol_marker}", self.encoding)
        else:
            for row in encode(part, "json" if self.format == "json" else "csv", self.dialect()):
                yield (row or b"") + b"\n"


class LineSink(EpochSink):
    """Base class of `TCPSink` and `UDPSink`."""

    naming_parameters = NamingParameters(inputs=("suppress",))

    @classmethod
    def check(cls, context: OperatorContext, parameters: LineSinkParameters) -> None:
        """Raise ValueError if `suppress` or `types` names an unknown attribute, or the format cannot hold tuples."""
        names = context.inputs[0].names
        check_attributes("suppress", parameters.suppress, names)
        check_types(parameters.types, names)
        written = parameters.written(context.inputs[0])
        if parameters.format in OWN_FORMATS:
            check_lines(written, parameters.writing())
        else:
            check_encodable(written, "json" if parameters.format == "json" else "csv")
