"""Tuples that a target permanently refuses: reported by row and column, or set aside so that others are delivered."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from streams_orchestration.operators.contract.context import OperatorContext
from streams_orchestration.operators.errors.errors import LOGGED
from streams_orchestration.operators.sinks.delivery_key import DeliveryKey
from streams_orchestration.operators.storage.durable_files import sync_removals, write_whole

OnUndeliverable = Annotated[
    Literal["fail", "route"],
    Field(
        alias="onUndeliverable",
        description="Policy for a tuple that the target can never take. route: set it aside and deliver the others.",
    ),
]
DIRECTORY = "undeliverable"
"""The directory for tuples that were set aside, relative to the results."""
REMEDY = "onUndeliverable: route sets such tuples aside and delivers the others"


class Undeliverable(NamedTuple):
    """A tuple that a target permanently refuses."""

    row: int
    """Number of the tuple in its delivery, from 1."""
    column: str
    """The column or attribute at fault; empty if the tuple is refused as a whole."""
    reason: str
    """The target's reason, without values of the tuple."""
    values: Mapping[str, Any]

    @property
    def place(self) -> str:
        """The row, and the column if it is known, for messages."""
        return f"row {self.row}" + (f", column {self.column}" if self.column else "")


SetAside = Callable[[Sequence[Undeliverable]], None]
"""Receives the tuples that a delivery leaves out, before the delivery is committed."""


def set_aside(context: OperatorContext, key: DeliveryKey, tuples: Sequence[Undeliverable]) -> None:
    """Write exactly the tuples that a delivery leaves out to its file, and log the first `LOGGED` of them.

    Without any, remove the file.

    Call this before the delivery is committed: a repetition of the delivery then writes the same file again.

    Raises:
        OSError: the file cannot be written.
    """
    path = file_of(context, key)
    if not tuples:
        with suppress(FileNotFoundError):
            path.unlink()
            sync_removals([path])
        return
    for each in tuples[:LOGGED]:
        context.logger.warning("delivery %s, %s: %s; set aside in %s", key, each.place, each.reason, path)
    lines = [
        json.dumps(
            {
                "operator": key.operator,
                "epoch": key.epoch,
                "row": each.row,
                "column": each.column or None,
                "reason": each.reason,
                "tuple": {name: _plain(value) for name, value in each.values.items()},
            },
            ensure_ascii=False,
            default=str,
        )
        for each in tuples
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, "".join(f"{line}\n" for line in lines))


def count_set_aside(context: OperatorContext, key: DeliveryKey) -> int:
    """Return the number of tuples that a finished delivery has set aside; 0 without a file."""
    try:
        with file_of(context, key).open("rb") as file:
            return sum(1 for _ in file)
    except FileNotFoundError:
        return 0


def file_of(context: OperatorContext, key: DeliveryKey) -> Path:
    """Return the file for the tuples that a delivery sets aside. Every delivery has its own."""
    part = f"-{key.generation}-{key.number:06d}" if key.generation else ""
    operator = context.name.replace("[", "(").replace("]", ")")
    return context.results / DIRECTORY / operator / f"{key.life[:8]}-{key.epoch:06d}{part}.jsonl"


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
