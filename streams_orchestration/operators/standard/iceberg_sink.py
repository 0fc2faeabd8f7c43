"""IcebergSink: writes tuples to a table of Iceberg, each exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streams_orchestration.operators.contract import OperatorContext
from streams_orchestration.operators.lakes.iceberg_catalog import (
    IcebergParameters,
    advice_of,
    load_parts,
    shown_catalog,
)
from streams_orchestration.operators.lakes.sink import LakeSink, LakeSinkParameters

if TYPE_CHECKING:
    from streams_orchestration.operators.lakes.target import LakeTarget


class IcebergSinkParameters(LakeSinkParameters, IcebergParameters):
    """Parameters of `IcebergSink`."""


class IcebergSink(LakeSink):
    """Commits every epoch to the table once. The commit names application, operator and epoch."""

    Parameters = IcebergSinkParameters
    module = "pyiceberg"
    extra = "iceberg"
    whole = True

    @classmethod
    def advice(cls, parameters: IcebergSinkParameters) -> str | None:
        """Return the advice to name a catalog in a SQL database."""
        return advice_of(parameters.catalog)

    @classmethod
    def destination(cls, context: OperatorContext, parameters: IcebergSinkParameters) -> str:
        """Return the table and catalog."""
        return f"{parameters.table} in {shown_catalog(parameters.catalog)}"

    def load(self) -> None:
        """Import the library, and its parts for the kind of the catalog."""
        super().load()
        load_parts(self.parameters.catalog)

    def table(self) -> LakeTarget:
        """Return the table in the catalog."""
        from streams_orchestration.operators.lakes.iceberg_table import IcebergTarget

        parameters: IcebergSinkParameters = self.parameters
        return IcebergTarget(parameters.catalog, parameters.table, self.wanted())
