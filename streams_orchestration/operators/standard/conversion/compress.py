"""Compress: compresses the bytes of its tuples as one stream."""

from __future__ import annotations

from pydantic import Field

from streams_orchestration.operators.contract.operator import Parameters, Punctuation
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.formats.compression import Compression, Compressor
from streams_orchestration.operators.standard.conversion.byte_input import parts_of_bytes
from streams_orchestration.operators.standard.conversion.byte_stream import ByteStream
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.tuples.batch import TupleBatch


class CompressParameters(Parameters):
    """The parameters of `Compress`."""

    compression: Compression = Field(description="Format of the compressed bytes.")
    compression_input: ExpressionText | None = Field(
        default=None,
        alias="compressionInput",
        description="Attribute with the bytes or text, or an expression. May be omitted if there is only one.",
    )
    flush_on_punct: bool = Field(
        default=False,
        alias="flushOnPunct",
        description="A window marker ends the compressed stream, and is forwarded. By default only the end does so.",
    )


class Compress(ByteStream):
    """Compresses the bytes of all tuples as one stream, and submits a tuple with compressed bytes for each batch.

    The stream ends with the input, or with each window marker if `flushOnPunct` is true. A window marker follows it,
    except at the end of the input if `flushOnPunct` is true.
    """

    Parameters = CompressParameters
    naming_parameters = NamingParameters(inputs=("compression_input",))
    source = ("compression_input", "compressionInput")

    def setup(self) -> None:
        """Prepare the reading of the bytes and a compressor; no stream has begun."""
        super().setup()
        self.compressor = Compressor(self.parameters.compression)

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit the compressed bytes of a batch; nothing if it has no bytes."""
        data = b"".join(parts_of_bytes(self.content, batch.arrow))
        if data:
            self.submit_bytes([self.compressor.part(data)])

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """End the stream at the end of the input, and with `flushOnPunct` at a window marker too.

        A window marker follows: with `flushOnPunct` after each window marker only, else after the end.
        """
        if self.parameters.flush_on_punct or mark is Punctuation.FINAL:
            self.submit_bytes([self.compressor.end()])
        if self.parameters.flush_on_punct is (mark is Punctuation.WINDOW):
            self.punctuate(Punctuation.WINDOW)

    def checkpoint(self) -> State:
        """Return the mark that a stream has begun, and the checksum and the size of its bytes, for the stream's end."""
        return {"begun": self.compressor.begun, "check": self.compressor.check, "size": self.compressor.size}

    def restore(self, state: State) -> None:
        """Restore what `checkpoint` returned."""
        self.compressor.begun, self.compressor.check = state["begun"], state["check"]
        self.compressor.size = state["size"]
