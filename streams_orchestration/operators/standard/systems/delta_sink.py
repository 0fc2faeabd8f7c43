"""DeltaSink: writes each tuple exactly once to a Delta Lake table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.lakes.delta_store import DeltaParameters
from streams_orchestration.operators.lakes.sink import LakeSink, LakeSinkParameters
from streams_orchestration.operators.storage.port import check_among_results

if TYPE_CHECKING:
    from streams_orchestration.operators.lakes.target import LakeTarget


class DeltaSinkParameters(LakeSinkParameters, DeltaParameters):
    """The parameters of `DeltaSink`."""


class DeltaSink(LakeSink):
    """Commits every epoch as one version of the table. The transaction names application, operator and epoch."""

    Parameters = DeltaSinkParameters
    module = "deltalake"
    extra = "delta"

    @classmethod
    def check(cls, context: OperatorContext, parameters: Any) -> None:
        """Raise ValueError if the table's location or a storage option cannot be used, or `LakeSink.check` does."""
        parameters.check_location()
        check_among_results("table", parameters.table)
        super().check(context, parameters)

    @classmethod
    def destination(cls, context: OperatorContext, parameters: DeltaSinkParameters) -> str:
        """Return the path or address of the table."""
        return parameters.location(context.results)

    def table(self) -> LakeTarget:
        """Return the table at the directory or address of `table`, without connecting."""
        from streams_orchestration.operators.lakes.delta_table import DeltaTarget

        parameters: DeltaSinkParameters = self.parameters
        return DeltaTarget(parameters.store(self.context.results), self.wanted())
