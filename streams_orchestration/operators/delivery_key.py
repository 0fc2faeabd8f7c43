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

    def __str__(self) -> str:
        whole = f"{self.life}/{self.operator}/{self.channel}/{self.epoch}"
        return f"{whole}/{self.generation}.{self.number}" if self.generation else whole
