"""Encodes the plans, results and failures of batches as JSON, to send them between processes."""

from __future__ import annotations

from pydantic import TypeAdapter

from streams_orchestration.runtime.programs.batches import BatchPlan, TaskResult
from streams_orchestration.runtime.programs.failure import Failure

plan_codec: TypeAdapter[BatchPlan] = TypeAdapter(BatchPlan)
result_codec: TypeAdapter[TaskResult] = TypeAdapter(TaskResult)
failure_codec: TypeAdapter[Failure] = TypeAdapter(Failure)
