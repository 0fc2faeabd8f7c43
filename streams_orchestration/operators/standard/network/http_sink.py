"""HttpSink: posts tuples to an HTTP address at least once, or exactly once if the receiver knows idempotency keys."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Literal

from pydantic import Field

from streams_orchestration.model.secrets import masked
from streams_orchestration.model.visibility import Visibility
from streams_orchestration.operators.clients.http_client import (
    HttpAwayError,
    HttpContentError,
    HttpParameters,
    HttpTarget,
    RetryAfter,
)
from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.errors.errors import RefusedError, check_attributes
from streams_orchestration.operators.expressions.mentioned_attributes import NamingParameters
from streams_orchestration.operators.formats.csv_writing import csv_header
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.loading.packages import require_package
from streams_orchestration.operators.messages.decoders import PLAIN
from streams_orchestration.operators.messages.encoders import check_encodable, encode
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.sinks.epoch_sink import EpochSink
from streams_orchestration.operators.sinks.undeliverable import REMEDY, OnUndeliverable, Undeliverable
from streams_orchestration.operators.tuples.batch import TupleBatch

BodyFormat = Literal["jsonl", "json", "csv"]
KINDS: dict[BodyFormat, str] = {
    "jsonl": "application/x-ndjson",
    "json": "application/json",
    "csv": "text/csv; header=present",
}
"""Map each format to its media type."""


class HttpSinkParameters(HttpParameters):
    """The parameters of `HttpSink`."""

    format: BodyFormat = Field(
        default="jsonl", description="jsonl: one object per line. json: an array of objects. csv: names, then rows."
    )
    batch_size: int = Field(
        default=1000, ge=1, alias="batchSize", description="Largest number of tuples in one request."
    )
    suppress: list[str] = Field(default_factory=list, description="Attributes that are left out.")
    on_undeliverable: OnUndeliverable = "fail"
    visibility: Visibility = Field(
        default="read_committed", description="read_uncommitted: post tuples with their batch."
    )


class HttpSink(EpochSink):
    """Posts every epoch in one or more requests, in order, each with an `Idempotency-Key`.

    The key is application/life/operator/channel/epoch/part. Tuples that are posted again, after a crash or a lost
    response, have the same key. So a receiver that remembers keys gets each tuple once, any other at least once. With
    `visibility: read_uncommitted` the key names the batch, and a reset posts the replayed tuples under other keys.
    """

    Parameters = HttpSinkParameters
    loaded_modules = ("requests",)
    naming_parameters = NamingParameters(inputs=("suppress",))
    target: HttpTarget | None = None
    taken: tuple[str, int] = ("", 0)
    """The last delivery that was started, and the number of its requests that were accepted or set aside."""
    refused: list[Undeliverable]
    """The tuples that the receiver refused in the requests that `taken` counts."""

    @cached_property
    def patience(self) -> RetryAfter:
        """The pause that the receiver has asked for, which outlasts connections."""
        return RetryAfter()

    @classmethod
    def check(cls, context: OperatorContext, parameters: HttpSinkParameters) -> None:
        """Raise ValueError if the format cannot represent the attributes, or a package is missing. Do not connect."""
        names = context.inputs[0].names
        check_attributes("suppress", parameters.suppress, names)
        check_encodable(_written(context.inputs[0], parameters), "csv" if parameters.format == "csv" else "json")
        require_package("HttpSink", "requests", "http")

    @classmethod
    def destination(cls, context: OperatorContext, parameters: HttpSinkParameters) -> str:
        """Return the address for messages.

        References such as `${env:NAME}` are not resolved, and secrets in the address are masked.
        """
        return masked(parameters.url)

    def open(self) -> None:
        """Resolve references. The first request connects.

        Raises:
            RefusedError: a reference cannot be resolved, or a header contains a line break.
        """
        self.target = HttpTarget(self.parameters)

    def deliver(self, key: DeliveryKey, batches: Iterator[TupleBatch]) -> None:
        """Post the delivery, and set refused tuples aside if `onUndeliverable` allows that.

        Requests that an earlier attempt of this object completed are not posted again.
        """
        assert self.target is not None
        self.patience.check(self.target.place)
        name = f"{key.application}/{key}"
        if self.taken[0] != name:
            self.taken, self.refused = (name, 0), []
        done = self.taken[1]
        names = _written(self.context.inputs[0], self.parameters).names
        for number, part in enumerate(parts((batch.arrow for batch in batches), self.parameters.batch_size)):
            if number < done:
                continue
            refused: list[Undeliverable] = []
            try:
                self._post(part, names, f"{name}/{number}", number * self.parameters.batch_size + 1, refused)
            except HttpAwayError as error:
                self.patience.wait(error)
                raise HttpAwayError(error.args[0]) from None
            self.refused += refused
            self.taken = (name, number + 1)
        if self.sets_aside:
            self.set_aside(key, self.refused)

    def _post(self, part: pa.RecordBatch, names: list[str], key: str, first: int, refused: list[Undeliverable]) -> None:
        """Post tuples. If refused tuples may be set aside, find them by bisection.

        Args:
            part: the tuples.
            names: the attributes to post.
            key: the key of the request.
            first: the number of the first tuple in the delivery.
            refused: the list that refused tuples are added to.
        """
        assert self.target is not None
        last = first + part.num_rows - 1
        try:
            self.target.post(body(part.select(names), self.parameters.format), KINDS[self.parameters.format], key)
        except HttpContentError as error:
            if not self.sets_aside:
                rows = f"row {first}" if first == last else f"rows {first} to {last}"
                message = f"{error}; the request holds {rows} of the delivery; {REMEDY}"
                raise RefusedError(message) from None
            if first == last:
                refused.append(Undeliverable(first, "", str(error), part.to_pylist()[0]))
                return
            middle = part.num_rows // 2
            base = key.partition(":")[0]
            for piece, begin in ((part.slice(0, middle), first), (part.slice(middle), first + middle)):
                self._post(piece, names, f"{base}:{begin}-{begin + piece.num_rows - 1}", begin, refused)

    def close(self) -> None:
        """Disconnect."""
        target, self.target = self.target, None
        if target is not None:
            target.close()


def parts(batches: Iterable[pa.RecordBatch], size: int) -> Iterator[pa.RecordBatch]:
    """Yield the tuples in batches of `size` tuples, except for the last one.

    Batches of the input are split and joined.
    """
    waiting: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        begin = 0
        while count + batch.num_rows - begin >= size:
            end = begin + size - count
            yield _joined([*waiting, batch.slice(begin, size - count)])
            waiting = []
            count = 0
            begin = end
        if begin < batch.num_rows:
            waiting.append(batch.slice(begin))
            count += batch.num_rows - begin
    if waiting:
        yield _joined(waiting)


def body(batch: pa.RecordBatch, format: BodyFormat) -> bytes:
    """Return the body of a request in the given format.

    Raises:
        DataError: the format cannot represent a value.
    """
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
