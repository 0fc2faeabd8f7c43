"""Decompress: decompresses the bytes of its tuples."""

from __future__ import annotations

from pydantic import Field

from streams_orchestration.operators.contract.operator import Parameters, Punctuation
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.expressions.spl.text import ExpressionText
from streams_orchestration.operators.formats.compression import Compression, Decompressor
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.standard.conversion.byte_input import parts_of_bytes
from streams_orchestration.operators.standard.conversion.byte_stream import ByteStream
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.tuples.batch import TupleBatch

_CHUNK = 64 * 1024
"""The number of bytes of a submitted tuple, as in IBM Streams."""
_PARTS = pa.schema([("part", pa.binary())])


class DecompressParameters(Parameters):
    """The parameters of `Decompress`."""

    compression: Compression = Field(description="Format of the compressed bytes.")
    decompression_input: ExpressionText | None = Field(
        default=None,
        alias="decompressionInput",
        description="Attribute with the compressed bytes, or an expression. May be omitted if there is only one.",
    )
    flush_on_punct: bool = Field(
        default=False,
        alias="flushOnPunct",
        description=(
            "A window marker ends the compressed bytes, and is forwarded if tuples came before it. By default only the "
            "end does so."
        ),
    )
    flush_per_tuple: bool = Field(
        default=False,
        alias="flushPerTuple",
        description="Each tuple is compressed for itself, and gives one tuple.",
    )


class Decompress(ByteStream):
    """Decompresses the bytes of all tuples as one stream, and submits them in tuples of 64 KiB.

    The stream ends with the input, or with each window marker if `flushOnPunct` is true. A window marker follows the
    stream, but with `flushOnPunct` only if a tuple came since the last one, and not at the end.
    With `flushPerTuple`, each tuple is a stream of its own. The state has the compressed bytes of a stream that has not
    ended.
    """

    Parameters = DecompressParameters
    naming_parameters = NamingParameters(inputs=("decompression_input",))
    source = ("decompression_input", "decompressionInput")

    @classmethod
    def has_state(cls, parameters: DecompressParameters) -> bool:
        """Return True unless each tuple is a stream of its own."""
        return not parameters.flush_per_tuple

    def setup(self) -> None:
        """Prepare reading of the bytes and a decompressor; no stream has begun."""
        super().setup()
        self.decompressor = Decompressor(self.parameters.compression)
        self.log = TupleLog(_PARTS)
        """The compressed bytes of the stream that has begun."""
        self.rest = b""
        """The decompressed bytes that do not fill a tuple yet."""
        self.came = False
        """True if a tuple came since the last window marker."""

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit the tuples that the decompressed bytes fill."""
        parts = parts_of_bytes(self.content, batch.arrow)
        if self.parameters.flush_per_tuple:
            whole = list(map(self._whole, parts))
            schema = self.context.output_schema()
            self.submit(TupleBatch.from_columns({schema.names[0]: pa.array(whole, pa.binary())}, schema))
            return
        self.came = self.came or bool(parts)
        self.rest += self.decompressor.part(b"".join(parts))
        if self.decompressor.fresh:
            self.log.clear()
        if self.decompressor.tail:
            self.log.append(pa.record_batch([pa.array([self.decompressor.tail], pa.binary())], schema=_PARTS))
        full = len(self.rest) // _CHUNK * _CHUNK
        self.submit_bytes([self.rest[at : at + _CHUNK] for at in range(0, full, _CHUNK)])
        self.rest = self.rest[full:]

    def _whole(self, part: bytes) -> bytes:
        made = self.decompressor.part(part)
        self._end()
        return made

    def _end(self) -> None:
        if self.decompressor.unfinished:
            message = f"the bytes end within a stream that is compressed by {self.parameters.compression}"
            raise DataError(message)

    def on_punctuation(self, port: int, mark: Punctuation) -> None:
        """End the stream at the final mark, and with `flushOnPunct` also at a window marker; else do nothing.

        At the end of a stream the remaining bytes are submitted. The class describes the window marker that follows.
        With `flushPerTuple`, window markers are passed on, or dropped if `flushOnPunct` is true as well.
        """
        flushes = self.parameters.flush_on_punct
        if self.parameters.flush_per_tuple:
            if mark is Punctuation.WINDOW and not flushes:
                self.punctuate(mark)
            return
        if flushes or mark is Punctuation.FINAL:
            self._end()
            self.submit_bytes([self.rest])
            self.rest = b""
        if flushes is (mark is Punctuation.WINDOW) and (self.came or not flushes):
            self.punctuate(Punctuation.WINDOW)
        self.came = self.came and mark is not Punctuation.WINDOW

    def checkpoint(self) -> State:
        """Return the compressed bytes of the stream that has begun, the decompressed bytes that are left and `came`."""
        rest = pa.table({"rest": pa.array([self.rest], pa.binary())})
        return {"parts": self.log, "rest": rest, "came": self.came}

    def restore(self, state: State) -> None:
        """Restore what `checkpoint` returned; the bytes of the stream are decompressed again."""
        self.log, self.rest = state["parts"], state["rest"].column("rest")[0].as_py()
        self.came = state["came"]
        for part in self.log.take(self.log.places()).column("part").to_pylist():
            self.decompressor.part(part)
