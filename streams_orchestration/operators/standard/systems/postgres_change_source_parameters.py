"""The parameters of PostgresChangeSource, and the columns that its attributes come from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.databases.row_tuples import RowParameters, check_outputs
from streams_orchestration.operators.errors.errors import check_attributes
from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.tuples.arrow_types import type_name

Kind = Literal["insert", "update", "delete", "truncate"]
SNAPSHOT = "snapshot"
"""The kind of change reported for a row that existed at the start."""
METADATA: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "change": ("a string", pa.types.is_string),
    "committed": ("a timestamp", pa.types.is_timestamp),
    "position": ("a bigint", pa.types.is_int64),
    "transaction": ("a bigint", pa.types.is_int64),
}


class PostgresChangeSourceParameters(RowParameters):
    """The parameters of `PostgresChangeSource`."""

    url: str = Field(
        min_length=1,
        repr=False,
        description="SQLAlchemy URL of a PostgreSQL server. ${env:NAME} means an environment variable.",
    )
    table: str = Field(pattern=r"^[^.]+(\.[^.]+)?$", description="Table as name or schema.name.")
    slot: str = Field(
        pattern=r"^[a-z0-9_]{1,63}$", description="Replication slot for this source alone, created if it is missing."
    )
    publication: str = Field(min_length=1, description="Publication that contains the table.")
    metadata: dict[str, str] = Field(
        default_factory=dict, description="Maps an attribute to change, committed, position or transaction."
    )
    changes: tuple[Kind, ...] = Field(
        default=("insert", "update", "delete", "truncate"),
        min_length=1,
        description="Kinds of changes that become tuples.",
    )
    start_at: Literal["snapshot", "slot"] = Field(
        default="snapshot",
        alias="startAt",
        description=(
            "snapshot: read all existing rows, then the changes. slot: read the changes that the slot has kept."
        ),
    )
    until: Literal["latest"] | None = Field(
        default=None, description="latest: end after the changes that exist when the run begins."
    )
    poll_period: float = Field(
        default=0.2, alias="pollPeriod", ge=0.01, le=3600, description="Seconds between two checks for new changes."
    )
    on_lost_data: Literal["fail", "skip"] = Field(
        default="fail", alias="onLostData", description="Policy for changes that were deleted before they were read."
    )

    def _faults(self) -> Iterator[str]:
        for attribute, kind in self.metadata.items():
            if kind not in METADATA:
                yield f"metadata: {attribute}: {kind} is not one of {', '.join(METADATA)}"
        if set(self.changes) != {"insert"} and "change" not in self.metadata.values():
            yield (
                "without an attribute for the kind of a change an insert looks like a delete: name one with metadata: "
                "{attribute: change}, or set changes: [insert]"
            )


def changed_columns(context: OperatorContext, parameters: PostgresChangeSourceParameters) -> dict[str, str]:
    """Map attributes to the columns that are read from the table.

    Raises:
        UnknownAttributeError: `columns` or `metadata` names an attribute that the stream does not have.
        ValueError: an output stream has no schema, an attribute has a type that its column or metadata cannot have, or
            the second output port does not suit `onBadTuple`.
    """
    schema = context.output_schema()
    for parameter, names in (("columns", parameters.columns), ("metadata", parameters.metadata)):
        check_attributes(parameter, names, schema.names, "the output stream")
    for attribute, kind in parameters.metadata.items():
        wanted, fits = METADATA[kind]
        if not fits(schema.field(attribute).type):
            message = f"metadata: {attribute} is {type_name(schema.field(attribute).type)}; {kind} is {wanted}"
            raise ValueError(message)
    check_outputs(context, parameters.on_bad_tuple)
    names = [str(name) for name in schema.names if name not in parameters.metadata]
    return {name: parameters.columns.get(name, name) for name in names}
