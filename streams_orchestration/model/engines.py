"""What runs an operator."""

from __future__ import annotations

from typing import Literal

EngineKind = Literal["tuples", "dataframe"]
"""Our tasks, batch of tuples by batch, or Spark itself as a DataFrame."""
