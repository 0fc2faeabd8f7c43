"""IcebergSink: writes each tuple exactly once to an Iceberg table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streams_orchestration.operators.contract.operator import OperatorContext
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
    """The parameters of `IcebergSink`."""


class IcebergSink(LakeSink):
    """Adds every epoch to the table in one commit, which stores application, operator and epoch."""

    Parameters = IcebergSinkParameters
    module = "pyiceberg"
    extra = "iceberg"
    whole = True

    @classmethod
    def advice(cls, parameters: IcebergSinkParameters) -> str | None:
        """Return advice if a SQL catalog has no name, else None."""
        return advice_of(parameters.catalog)

    @classmethod
    def destination(cls, context: OperatorContext, parameters: IcebergSinkParameters) -> str:
        """Return a text with the names of the table and the catalog."""
        return f"{parameters.table} in {shown_catalog(parameters.catalog)}"

    def load(self) -> None:
        """Import the library, and its modules for the kind of catalog."""
        super().load()
        load_parts(self.parameters.catalog)

    def table(self) -> LakeTarget:
        """Return the table in the catalog, without connecting."""
        from streams_orchestration.operators.lakes.iceberg_table import IcebergTarget

        parameters: IcebergSinkParameters = self.parameters
        return IcebergTarget(parameters.catalog, parameters.table, self.wanted())
