"""Engines that run operators."""

from __future__ import annotations

from typing import Literal

EngineKind = Literal["tuples", "dataframe"]
"""`tuples` for our own tasks, which process batches of tuples; `dataframe` for a Spark DataFrame."""
