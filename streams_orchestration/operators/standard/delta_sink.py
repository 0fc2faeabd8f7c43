"""DeltaSink: writes each tuple exactly once to a Delta Lake table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from streams_orchestration.operators.contract import OperatorContext
from streams_orchestration.operators.lakes.delta_store import DeltaStore, check_place
from streams_orchestration.operators.lakes.sink import LakeSink, LakeSinkParameters
from streams_orchestration.operators.storage.options import StorageOptions
from streams_orchestration.operators.storage.port import is_address

if TYPE_CHECKING:
    from streams_orchestration.operators.lakes.target import LakeTarget


class DeltaSinkParameters(LakeSinkParameters):
    """The parameters of `DeltaSink`."""

    table: str = Field(
        min_length=1, description="Directory or address of the table. A relative directory is among the results."
    )
    storage: StorageOptions | None = Field(
        default=None, repr=False, description="Options of the object store that holds the table."
    )


class DeltaSink(LakeSink):
    """Commits every epoch as one version of the table. The transaction names application, operator and epoch."""

    Parameters = DeltaSinkParameters
    module = "deltalake"
    extra = "delta"

    @classmethod
    def check(cls, context: OperatorContext, parameters: Any) -> None:
        """Raise ValueError also if the address or a storage option cannot be used."""
        check_place(parameters.table, parameters.storage)
        super().check(context, parameters)

    @classmethod
    def destination(cls, context: OperatorContext, parameters: DeltaSinkParameters) -> str:
        """Return the path or address of the table."""
        place = parameters.table
        return place if is_address(place) else str(context.results / place)

    def table(self) -> LakeTarget:
        """Return the table at the directory or address of `table`, without connecting."""
        from streams_orchestration.operators.lakes.delta_table import DeltaTarget

        parameters: DeltaSinkParameters = self.parameters
        store = DeltaStore(self.destination(self.context, parameters), parameters.storage)
        return DeltaTarget(store, self.wanted())
