"""The parameters of sources that read tables of lakes."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from streams_orchestration.operators.contract.operator import (
    Parameters,
)
from streams_orchestration.operators.lakes.history import (
    ChangePolicy,
    Start,
)


class LakeSourceParameters(Parameters):
    """The parameters of all sources of lake tables."""

    start_at: Start = Field(
        default="snapshot",
        alias="startAt",
        description=(
            "snapshot: read all existing rows, then the added ones. latest: read only rows that are added "
            "from now on. earliest: read the rows that were added since the oldest readable version. "
            "{version: n} or {time: t}: read the rows that were added from there on."
        ),
    )
    until: Literal["latest"] | None = Field(
        default=None, description="latest: end with the version that is the newest one at the start."
    )
    on_change: ChangePolicy = Field(
        default="fail",
        alias="onChange",
        description=(
            "Policy for a version that deletes or updates rows. skip: do not read it. rewritten: read all "
            "rows of the files that it adds, unchanged rows included. feed: read the changes themselves."
        ),
    )
    on_lost_data: Literal["fail", "skip"] = Field(
        default="fail",
        alias="onLostData",
        description="Policy for versions and files that were deleted before they were read.",
    )
    poll_period: float = Field(
        default=1.0, alias="pollPeriod", ge=0.01, description="Seconds between two checks for new versions."
    )
