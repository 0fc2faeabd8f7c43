"""`DeliveryKey`: what names the tuples of one delivery."""

from __future__ import annotations

from typing import NamedTuple


class DeliveryKey(NamedTuple):
    """Names the tuples of one delivery: as text, `life/operator/channel/epoch`, with the batch where it is one batch.

    A delivery that is repeated, after whatever failure or restart, has the same key and the same tuples. Deliveries of
    one operator and channel come in the order of (`generation`, `number`).
    """

    life: str
    """Life of the application: a new one after every start from nothing."""
    operator: str
    """Physical name."""
    channel: int
    """-1 outside of parallel regions."""
    epoch: int
    generation: int
    """0 for a whole epoch; for a batch (`read_uncommitted`), the generation that wrote it."""
    number: int
    """The epoch, or the batch."""
    application: str = ""
    """Name of the application."""
    installation: str = ""
    """Names the catalog that the application is in: others may have an application of the same name."""

    def __str__(self) -> str:
        whole = f"{self.life}/{self.operator}/{self.channel}/{self.epoch}"
        return f"{whole}/{self.generation}.{self.number}" if self.generation else whole
