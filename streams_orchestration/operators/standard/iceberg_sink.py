"""IcebergSink: writes tuples to a table of Iceberg, each exactly once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ConfigDict, Field, field_validator

from streams_orchestration.operators.contract import OperatorContext
from streams_orchestration.operators.lakes.iceberg_catalog import check_catalog, shown_catalog
from streams_orchestration.operators.lakes.sink import LakeSink, LakeSinkParameters

if TYPE_CHECKING:
    from streams_orchestration.operators.lakes.target import LakeTarget


class IcebergSinkParameters(LakeSinkParameters):
    """Parameters of `IcebergSink`."""

    model_config = ConfigDict(hide_input_in_errors=True)

    catalog: dict[str, str] = Field(
        repr=False, description="properties of the catalog, as pyiceberg has them: name, type, uri, warehouse"
    )
    table: str = Field(pattern=r"^[^.]+(\.[^.]+)+$", description="namespace.name")

    _catalog = field_validator("catalog")(lambda value: check_catalog(value) or value)


class IcebergSink(LakeSink):
    """Every epoch is one commit of the table, which names application, operator and epoch."""

    Parameters = IcebergSinkParameters
    module = "pyiceberg"
    extra = "iceberg"
    whole = True

    @classmethod
    def destination(cls, context: OperatorContext, parameters: IcebergSinkParameters) -> str:
        """Table and catalog."""
        return f"{parameters.table} in {shown_catalog(parameters.catalog)}"

    def table(self) -> LakeTarget:
        """In the catalog."""
        from streams_orchestration.operators.lakes.iceberg_table import IcebergTarget

        parameters: IcebergSinkParameters = self.parameters
        return IcebergTarget(parameters.catalog, parameters.table, self.wanted())
