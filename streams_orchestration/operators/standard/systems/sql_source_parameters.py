"""The parameters of SqlSource, and the columns that its attributes come from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.databases.address import DatabaseUrl
from streams_orchestration.operators.databases.row_tuples import RowParameters, check_outputs
from streams_orchestration.operators.errors.errors import check_attributes


class SqlSourceParameters(RowParameters):
    """The parameters of `SqlSource`."""

    url: DatabaseUrl
    table: str | None = Field(default=None, pattern=r"^[^.]+(\.[^.]+)?$", description="Table as name or schema.name.")
    query: str | None = Field(default=None, min_length=1, description="SELECT statement instead of a table.")
    column: str = Field(min_length=1, description="Column whose values grow from row to row.")
    start_at: int | str = Field(
        default="earliest",
        alias="startAt",
        description="earliest, latest, or a value; rows with larger values are read.",
    )
    until: Literal["latest"] | None = Field(
        default=None, description="latest: end after the rows that exist when the run begins."
    )
    poll_period: float = Field(
        default=1.0, alias="pollPeriod", ge=0.01, le=3600, description="Seconds between two checks for new rows."
    )
    settle: float = Field(
        default=2.0,
        ge=0,
        le=3600,
        description=(
            "Longest time in seconds between an insert and its commit; rows that become visible later count as lost "
            "data."
        ),
    )
    on_lost_data: Literal["fail", "skip"] = Field(
        default="fail",
        alias="onLostData",
        description=("Policy for rows that become visible with a value below the position."),
    )

    def _faults(self) -> Iterator[str]:
        if (self.table is None) == (self.query is None):
            yield "SqlSource reads either a table or a query: set one of the two"


def source_columns(context: OperatorContext, parameters: SqlSourceParameters) -> dict[str, str]:
    """Map attributes to the columns that are read.

    Raises:
        UnknownAttributeError: `columns` names an attribute that the stream does not have.
        ValueError: an output stream has no schema, or a type that no column can have, or the second output port does
            not suit `onBadTuple`.
    """
    schema = context.output_schema()
    check_attributes("columns", parameters.columns, schema.names, "the output stream")
    check_outputs(context, parameters.on_bad_tuple)
    return {str(name): parameters.columns.get(str(name), str(name)) for name in schema.names}
