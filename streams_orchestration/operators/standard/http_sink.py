"""HttpSink: posts tuples to an address, each at least once, and once where the receiver knows idempotency keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from pydantic import Field

from streams_orchestration.model.names import nearest
from streams_orchestration.model.secrets import masked
from streams_orchestration.model.visibility import Visibility
from streams_orchestration.operators.batch import TupleBatch
from streams_orchestration.operators.contract import OperatorContext
from streams_orchestration.operators.epoch_sink import DeliveryKey, EpochSink
from streams_orchestration.operators.errors import UnknownAttributeError
from streams_orchestration.operators.formats.csv_writing import csv_header
from streams_orchestration.operators.http.client import (
    HttpAwayError,
    HttpParameters,
    HttpTarget,
    Patience,
)
from streams_orchestration.operators.libraries import pa
from streams_orchestration.operators.mentions import Mentions
from streams_orchestration.operators.messages.decoders import PLAIN
from streams_orchestration.operators.messages.encoders import check_encodable, encode
from streams_orchestration.operators.packages import require_package

BodyFormat = Literal["jsonl", "json", "csv"]
KINDS: dict[BodyFormat, str] = {
    "jsonl": "application/x-ndjson",
    "json": "application/json",
    "csv": "text/csv; header=present",
}
"""Media types."""


class HttpSinkParameters(HttpParameters):
    """Parameters of `HttpSink`."""

    format: BodyFormat = Field(
        default="jsonl", description="jsonl: an object a line; json: an array of objects; csv: names, then rows"
    )
    batch_size: int = Field(default=1000, ge=1, alias="batchSize", description="most tuples in one request")
    suppress: list[str] = Field(default_factory=list, description="attributes that are left out")
    visibility: Visibility = Field(
        default="read_committed", description="read_uncommitted: tuples are posted with their batch"
    )


class HttpSink(EpochSink):
    """Every epoch is one request or several, in order, each with an `Idempotency-Key`.

    The key is application/life/operator/channel/epoch/part, and the same tuples have the same key whenever they are
    posted again: after a crash before the catalog knew of an answer, or an answer that got lost. So a receiver that
    remembers keys has each tuple once, another one at least once. With `visibility: read_uncommitted` the key names the
    batch, and a reset posts the tuples of its replay under other keys.
    """

    Parameters = HttpSinkParameters

    @classmethod
    def mentions(cls, parameters: HttpSinkParameters) -> Mentions:
        """Those that are left out."""
        return Mentions(inputs=parameters.suppress)

    @classmethod
    def check(cls, context: OperatorContext, parameters: HttpSinkParameters) -> None:
        """Raises ValueError when the format cannot hold the attributes; connects to nothing."""
        names = context.inputs[0].names
        for name in parameters.suppress:
            if name not in names:
                message = f"suppress: the input stream has no attribute {name}{nearest(name, names)}"
                raise UnknownAttributeError(message)
        check_encodable(_written(context.inputs[0], parameters), "csv" if parameters.format == "csv" else "json")
        require_package("HttpSink", "requests", "http")

    @classmethod
    def destination(cls, context: OperatorContext, parameters: HttpSinkParameters) -> str:
        """The address, with references as they are written, and without other secrets."""
        return masked(parameters.url)

    def open(self) -> None:
        """Resolve references; nothing is connected before the first request."""
        self.target: HttpTarget | None = HttpTarget(self.parameters)
        self.patience: Patience = self.__dict__.get("patience") or Patience()
        self.taken: tuple[str, int] = self.__dict__.get("taken") or ("", 0)
        """The delivery that was under way last, and how many of its requests were taken."""

    def deliver(self, key: DeliveryKey, batches: Iterator[TupleBatch]) -> None:
        """Post them; what was taken before an earlier try failed is not posted again by this object."""
        assert self.target is not None
        self.patience.check(self.target.place)
        name = f"{key.application}/{key}"
        done = self.taken[1] if self.taken[0] == name else 0
        names = _written(self.context.inputs[0], self.parameters).names
        for number, part in enumerate(parts((batch.arrow for batch in batches), self.parameters.batch_size)):
            if number < done:
                continue
            try:
                self.target.post(
                    body(part.select(names), self.parameters.format), KINDS[self.parameters.format], f"{name}/{number}"
                )
            except HttpAwayError as error:
                self.patience.wait(error)
                raise HttpAwayError(error.args[0]) from None
            self.taken = (name, number + 1)

    def close(self) -> None:
        """Disconnect."""
        target: HttpTarget | None = getattr(self, "target", None)
        if target is not None:
            self.target = None
            target.close()


def parts(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """The same tuples in parts of one size, but for the last: however they were divided before."""
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        begin = 0
        while count + batch.num_rows - begin >= size:
            end = begin + size - count
            yield _joined([*waiting, batch.slice(begin, size - count)])
            waiting, count, begin = [], 0, end
        if begin < batch.num_rows:
            waiting.append(batch.slice(begin))
            count += batch.num_rows - begin
    if waiting:
        yield _joined(waiting)


def body(batch: pa.RecordBatch, format: BodyFormat) -> bytes:
    """What a request holds."""
    match format:
        case "jsonl":
            return b"".join(value + b"\n" for value in encode(batch, "json") if value is not None)
        case "json":
            return b"[" + b",\n".join(value for value in encode(batch, "json") if value is not None) + b"]\n"
        case _:
            rows = (csv_header(batch.schema.names, PLAIN).encode(), *encode(batch, "csv"))
            return b"".join(row + b"\r\n" for row in rows if row is not None)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _written(schema: pa.Schema, parameters: HttpSinkParameters) -> pa.Schema:
    return pa.schema([field for field in schema if field.name not in parameters.suppress])
