"""All stages in the order of work: what compiles, checks, stores, shows or explains an application goes by it."""

from __future__ import annotations

from streams_orchestration.compiler.copies.stage import COPIES_STAGE
from streams_orchestration.compiler.deployment.stage import DEPLOYMENT_STAGE
from streams_orchestration.compiler.fusion.stage import FUSION_STAGE
from streams_orchestration.compiler.logical.stage import LOGICAL_STAGE
from streams_orchestration.compiler.parallel.stage import PARALLEL_STAGE
from streams_orchestration.compiler.regions.stage import REGIONS_STAGE
from streams_orchestration.compiler.stage import DEPLOYMENT
from streams_orchestration.compiler.threads.stage import THREADS_STAGE

STAGES = (LOGICAL_STAGE, PARALLEL_STAGE, REGIONS_STAGE, FUSION_STAGE, THREADS_STAGE, COPIES_STAGE, DEPLOYMENT_STAGE)
"""A stage stands behind those that it reads."""

WITHOUT_DEPLOYMENT = tuple(stage for stage in STAGES if stage.name != DEPLOYMENT)
"""Those that import no operator of the application."""

BY_NAME = {stage.name: stage for stage in STAGES}
