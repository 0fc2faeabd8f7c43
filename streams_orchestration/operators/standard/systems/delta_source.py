"""DeltaSource: reads the tuples of a Delta Lake table, replayable from any row of any version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from streams_orchestration.operators.contract.operator import OperatorContext
from streams_orchestration.operators.lakes.delta_store import DeltaParameters
from streams_orchestration.operators.lakes.source import LakeSource
from streams_orchestration.operators.lakes.source_parameters import LakeSourceParameters

if TYPE_CHECKING:
    from streams_orchestration.operators.lakes.delta_history import DeltaHistory


class DeltaSourceParameters(LakeSourceParameters, DeltaParameters):
    """The parameters of `DeltaSource`."""


class DeltaSource(LakeSource):
    """Reads the files that each version of the log adds. Versions that only move rows (OPTIMIZE) are not read."""

    Parameters = DeltaSourceParameters
    module = "deltalake"
    extra = "delta"

    @classmethod
    def check(cls, context: OperatorContext, parameters: Any) -> None:
        """Raise ValueError if the table's location or a storage option cannot be used, or `LakeSource.check` does."""
        parameters.check_location()
        super().check(context, parameters)

    @classmethod
    def destination(cls, context: OperatorContext, parameters: DeltaSourceParameters) -> str:
        """Return the path or address of the table."""
        return parameters.location(context.base)

    def history(self) -> DeltaHistory:
        """Return the history of the table at the directory or address of `table`, without connecting."""
        from streams_orchestration.operators.lakes.delta_history import DeltaHistory

        parameters: DeltaSourceParameters = self.parameters
        return DeltaHistory(parameters.store(self.context.base))
