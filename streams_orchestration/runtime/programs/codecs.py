"""Encodes the plans and results of batches as JSON, to send them between processes."""

from __future__ import annotations

from pydantic import TypeAdapter

from streams_orchestration.runtime.programs.batches import BatchPlan, TaskResult

plan_codec: TypeAdapter[BatchPlan] = TypeAdapter(BatchPlan)
result_codec: TypeAdapter[TaskResult] = TypeAdapter(TaskResult)
