"""DeltaSource: reads the tuples of a Delta Lake table, replayable from any row of any version."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from streams_orchestration.operators.contract import OperatorContext
from streams_orchestration.operators.lakes.delta_store import DeltaStore, check_place
from streams_orchestration.operators.lakes.history import TableHistory
from streams_orchestration.operators.lakes.source import LakeSource, LakeSourceParameters
from streams_orchestration.operators.storage.options import StorageOptions
from streams_orchestration.operators.storage.port import is_address


class DeltaSourceParameters(LakeSourceParameters):
    """The parameters of `DeltaSource`."""

    table: str = Field(
        min_length=1, description="Directory or address of the table. A relative directory starts at the spec's."
    )
    storage: StorageOptions | None = Field(
        default=None, repr=False, description="Options of the object store that holds the table."
    )


class DeltaSource(LakeSource):
    """Reads the files that each version of the log adds. Versions that only move rows (OPTIMIZE) add none."""

    Parameters = DeltaSourceParameters
    module = "deltalake"
    extra = "delta"

    @classmethod
    def check(cls, context: OperatorContext, parameters: Any) -> None:
        """Raise ValueError also if the address or a storage option cannot be used."""
        check_place(parameters.table, parameters.storage)
        super().check(context, parameters)

    @classmethod
    def destination(cls, context: OperatorContext, parameters: DeltaSourceParameters) -> str:
        """Return the path or address of the table."""
        place = parameters.table
        return place if is_address(place) else str(context.base / place)

    def history(self) -> TableHistory:
        """Return the history of the table at the directory or address of `table`."""
        from streams_orchestration.operators.lakes.delta_history import DeltaHistory

        return DeltaHistory(DeltaStore(self.destination(self.context, self.parameters), self.parameters.storage))
