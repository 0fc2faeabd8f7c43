"""The list of all stages, which compiling, checks, assets, the plan document and `explain` follow."""

from __future__ import annotations

from streams_orchestration.compiler.copies.stage import COPIES_STAGE
from streams_orchestration.compiler.deployment.stage import DEPLOYMENT_STAGE
from streams_orchestration.compiler.event_time.stage import EVENT_TIME_STAGE
from streams_orchestration.compiler.fusion.stage import FUSION_STAGE
from streams_orchestration.compiler.logical.stage import LOGICAL_STAGE
from streams_orchestration.compiler.parallel.stage import PARALLEL_STAGE
from streams_orchestration.compiler.regions.stage import REGIONS_STAGE
from streams_orchestration.compiler.stage import DEPLOYMENT
from streams_orchestration.compiler.threads.stage import THREADS_STAGE

STAGES = (
    *(LOGICAL_STAGE, PARALLEL_STAGE, REGIONS_STAGE, EVENT_TIME_STAGE),
    *(FUSION_STAGE, THREADS_STAGE, COPIES_STAGE, DEPLOYMENT_STAGE),
)
"""All stages, in an order in which each stage comes after the stages whose results it reads."""

WITHOUT_DEPLOYMENT = tuple(stage for stage in STAGES if stage.name != DEPLOYMENT)
"""The stages that import no operator of the application."""

BY_NAME = {stage.name: stage for stage in STAGES}
