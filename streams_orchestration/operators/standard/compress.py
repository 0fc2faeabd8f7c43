"""Compress: compresses the bytes of its tuples as one stream."""

from __future__ import annotations

from pydantic import Field

from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import Operator, OperatorContext, Parameters, Punctuation
from streams_orchestration.operators.formats.compression import Compression, Compressor
from streams_orchestration.operators.libraries import pa
from streams_orchestration.operators.mentions import Mentions
from streams_orchestration.operators.spl.text import ExpressionText
from streams_orchestration.operators.standard.byte_input import bytes_read, mentions_of_bytes, parts_of_bytes
from streams_orchestration.operators.states.rescaling import Sharding
from streams_orchestration.operators.states.state import State


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


class Compress(Operator):
    """Compresses the bytes of all tuples as one stream, and submits a tuple with compressed bytes for each batch.

    The stream ends with the input, or with each window marker if `flushOnPunct` is true. A window marker follows it,
    except at the end of the input if `flushOnPunct` is true.
    """

    Parameters = CompressParameters
    stateful = True
    passes_marks = False
    heeds_marks = True

    @classmethod
    def sharding(cls, context: OperatorContext, parameters: CompressParameters) -> Sharding:
        """Return a refusal, since the beginning of a compressed stream belongs with its end."""
        return Sharding(refusal="is the beginning of a compressed stream of one channel")

    @classmethod
    def mentions(cls, parameters: CompressParameters) -> Mentions:
        """Return the attribute with the bytes, or the expression."""
        return mentions_of_bytes(parameters.compression_input)

    @classmethod
    def check(cls, context: OperatorContext, parameters: CompressParameters) -> None:
        """Raise ValueError if the attribute or expression has no bytes, or the output is not one binary attribute."""
        bytes_read(parameters.compression_input, "compressionInput", context.inputs[0], context)
        check_output(context)

    def setup(self) -> None:
        """Prepare the reading of the bytes and a compressor; no stream has begun. Raises ValueError as `check` does."""
        schema = self.context.inputs[0]
        self.content = bytes_read(self.parameters.compression_input, "compressionInput", schema, self.context)
        self.compressor = Compressor(self.parameters.compression)

    def reset_to_initial_state(self) -> None:
        """Forget the stream that has begun."""
        self.compressor.clear()

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit the compressed bytes of a batch; nothing if it has no bytes.

        Raises:
            DataError: the expression with the bytes has no value for a tuple.
        """
        data = b"".join(parts_of_bytes(self.content, batch.arrow))
        if data:
            submit_bytes(self, [self.compressor.part(data)])

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """End the stream at the end of the input, and with `flushOnPunct` at a window marker too.

        A window marker follows: with `flushOnPunct` after each window marker only, else after the end.
        """
        if self.parameters.flush_on_punct or mark is Punctuation.FINAL:
            submit_bytes(self, [self.compressor.end()])
        if self.parameters.flush_on_punct is (mark is Punctuation.WINDOW):
            self.punctuate(Punctuation.WINDOW)

    def checkpoint(self) -> State:
        """Return the mark that a stream has begun, and the checksum and the size of its bytes, for the stream's end."""
        return {"begun": self.compressor.begun, "check": self.compressor.check, "size": self.compressor.size}

    def restore(self, state: State) -> None:
        """Restore what `checkpoint` returned."""
        self.compressor.begun, self.compressor.check = state["begun"], state["check"]
        self.compressor.size = state["size"]


def check_output(context: OperatorContext) -> None:
    """Raise ValueError if the output stream has no schema, or is not one binary attribute."""
    schema = context.output_schema()
    if len(schema) != 1 or not pa.types.is_binary(schema.field(0).type):
        message = "the output stream must have exactly one binary attribute"
        raise ValueError(message)


def submit_bytes(operator: Operator, parts: list[bytes]) -> None:
    """Submit a tuple for each part that is not empty."""
    schema = operator.context.output_schema()
    held = [part for part in parts if part]
    if held:
        operator.submit(TupleBatch.from_columns({schema.names[0]: pa.array(held, pa.binary())}, schema))
