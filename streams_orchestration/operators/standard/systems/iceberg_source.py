"""IcebergSource: reads the tuples of an Iceberg table, replayable from any row of any snapshot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.lakes.iceberg_catalog import IcebergParameters, advice_of, shown_catalog
from streams_orchestration.operators.lakes.source import LakeSource
from streams_orchestration.operators.lakes.source_parameters import LakeSourceParameters

if TYPE_CHECKING:
    from streams_orchestration.operators.lakes.iceberg_history import IcebergHistory


class IcebergSourceParameters(LakeSourceParameters, IcebergParameters):
    """The parameters of `IcebergSource`. A version is a snapshot's id."""

    on_change: Literal["fail", "skip", "rewritten"] = Field(  # type: ignore[assignment]
        default="fail",
        alias="onChange",
        description=(
            "Policy for a snapshot that deletes or updates rows. skip: do not read it. rewritten: read "
            "all rows of the files that it adds, unchanged rows included."
        ),
    )


class IcebergSource(LakeSource):
    """Reads the files that each snapshot of the main branch adds. Snapshots that only rewrite files are not read."""

    Parameters = IcebergSourceParameters
    module = "pyiceberg"
    extra = "iceberg"

    @classmethod
    def advice(cls, parameters: IcebergSourceParameters) -> str | None:
        """Return advice if a SQL catalog has no name, else None."""
        return advice_of(parameters.catalog)

    @classmethod
    def destination(cls, context: OperatorContext, parameters: IcebergSourceParameters) -> str:
        """Return the names of the table and the catalog."""
        return f"{parameters.table} in {shown_catalog(parameters.catalog)}"

    def history(self) -> IcebergHistory:
        """Return the history of the table in the catalog, without connecting."""
        from streams_orchestration.operators.lakes.iceberg_history import IcebergHistory

        return IcebergHistory(self.parameters.catalog, self.parameters.table)
