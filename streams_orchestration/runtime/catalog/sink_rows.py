"""The dataclasses for the rows of the catalog's tables about sinks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from streams_orchestration.model.visibility import Visibility
from streams_orchestration.runtime.catalog.columns import Cause, Count, Default, Flag, Key, NullableJson
from streams_orchestration.runtime.catalog.reading import CatalogRow


@dataclass(frozen=True, slots=True)
class SinkRow(CatalogRow):
    """The row of a sink."""

    application: Key[str]
    operator: Key[str]
    pe: int
    kind: str
    place: str  # its directory, or a description of its target
    format: str | None  # the format of its files; null for a sink without files
    read_with: NullableJson[dict[str, Any]]  # parameters of a FileSource for its files, and their schema
    visibility: Visibility
    pending: str | None  # directory of the files that wait
    outputs: Annotated[Count, Default(0)]  # files or deliveries that no reset takes back
    rows: Annotated[Count, Default(0)]  # rows in these outputs
    undeliverable: Annotated[Count, Default(0)]  # rows that were set aside
    routed: Annotated[Count, Default(0)]  # last epoch whose undeliverable rows are set aside on request
    error: Cause  # the reason why waiting outputs cannot become visible
    failures: Annotated[int, Default(0)]  # failed attempts in a row
    failed_at: float | None
    delivered_at: float | None  # time at which an output last became visible
    gatherer: str | None  # token of the only gatherer that may name merged files
    marks: Flag  # it marks complete directories (table sink_directory)


@dataclass(frozen=True, slots=True)
class SinkFileRow(CatalogRow):
    """A file or other output of a sink that a reset may still delete, or that is not published yet."""

    application: Key[str]
    pending: Key[str]
    # the place at which it becomes visible; null for an output that is delivered to another system
    final: str | None
    operator: str
    pe: int
    generation: int
    batch: Count
    epoch: Count
    rows: Count
    size: Count
    checksum: Count  # CRC-32
    published: Flag
    retracted: Flag  # to be removed, then forgotten
