"""DeltaSource: the tuples of a table of Delta Lake, replayable from any row of any version."""

from __future__ import annotations

from pydantic import Field

from streams_orchestration.operators.lakes.history import TableHistory
from streams_orchestration.operators.lakes.source import LakeSource, LakeSourceParameters


class DeltaSourceParameters(LakeSourceParameters):
    """Parameters of `DeltaSource`."""

    table: str = Field(min_length=1, description="directory of the table; relative to the spec")


class DeltaSource(LakeSource):
    """Reads the files that each version of the log adds; those that only move rows, as OPTIMIZE does, add nothing."""

    Parameters = DeltaSourceParameters
    module = "deltalake"
    extra = "delta"

    def history(self) -> TableHistory:
        """At the place that `table` names."""
        from streams_orchestration.operators.lakes.delta_history import DeltaHistory

        return DeltaHistory(str(self.context.base / self.parameters.table))
