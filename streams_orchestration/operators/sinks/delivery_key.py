"""`DeliveryKey`: the identity of one delivery to a sink's target."""

from __future__ import annotations

from typing import NamedTuple


class DeliveryKey(NamedTuple):
    """The identity of one delivery; as text `life/operator/channel/epoch`, plus the batch if it is a single batch.

    A repeated delivery has the same key and the same tuples, after any failure or restart. The deliveries of one
    operator and channel come in the order of (`generation`, `number`).
    """

    life: str
    """Identifier of the application's life; every start from nothing gets a new one."""
    operator: str
    """Physical name of the operator."""
    channel: int
    """Channel number; -1 outside of parallel regions."""
    epoch: int
    generation: int
    """0 for a whole epoch; for a single batch (`read_uncommitted`), the generation that wrote it."""
    number: int
    """Number of the epoch, or of the batch."""
    application: str = ""
    """The name of the application."""
    installation: str = ""
    """Identifier of the catalog, since another catalog may have an application of the same name."""
    watermark: int | None = None
    """The event time, in microseconds since 1970, up to which the deliveries of this channel are now complete (EV67).

    It is 2**63 - 1 at the end of the streams, and None without event time. Late tuples may follow.
    """

    def __str__(self) -> str:
        whole = f"{self.life}/{self.operator}/{self.channel}/{self.epoch}"
        return f"{whole}/{self.generation}.{self.number}" if self.generation else whole


def delivery_properties(key: DeliveryKey) -> dict[str, str | int]:
    """Return the facts about a delivery that the history of a lake table records, the watermark only if known."""
    facts: dict[str, str | int] = {
        "streams.application": key.application,
        "streams.operator": key.operator,
        "streams.epoch": key.epoch,
    }
    return facts if key.watermark is None else facts | {"streams.watermark": key.watermark}
