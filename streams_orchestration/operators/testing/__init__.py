"""A test kit: runs a single operator without Spark, in the same way as the runtime."""

from __future__ import annotations

from streams_orchestration.operators.testing.harness import OperatorHarness, Row, Watermark, same_at_any_division

__all__ = ["OperatorHarness", "Row", "Watermark", "same_at_any_division"]
