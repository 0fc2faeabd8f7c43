"""DeltaSink: writes tuples to a table of Delta Lake, each exactly once."""

from __future__ import annotations

from pydantic import Field

from streams_orchestration.operators.contract import OperatorContext
from streams_orchestration.operators.lakes.sink import LakeSink, LakeSinkParameters, LakeTable, key_columns
from streams_orchestration.operators.lakes.sink import written_schema as schema_of


class DeltaSinkParameters(LakeSinkParameters):
    """Parameters of `DeltaSink`."""

    table: str = Field(min_length=1, description="directory of the table; a relative one is among the results")


class DeltaSink(LakeSink):
    """Every epoch is one version of the table, whose transaction names application, operator and epoch."""

    Parameters = DeltaSinkParameters
    module = "deltalake"
    extra = "delta"

    @classmethod
    def destination(cls, context: OperatorContext, parameters: DeltaSinkParameters) -> str:
        """The table."""
        return str(context.results / parameters.table)

    def table(self) -> LakeTable:
        """At the place that `table` names."""
        from streams_orchestration.operators.lakes.delta_table import DeltaTarget

        parameters: DeltaSinkParameters = self.parameters
        return DeltaTarget(
            self.destination(self.context, parameters), schema_of(self.context, parameters),
            partition_by=parameters.partition_by, key=key_columns(self.context, parameters),
            create=parameters.create_table, add_columns=parameters.add_columns,
        )  # fmt: skip
