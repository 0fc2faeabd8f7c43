"""When others see what an operator or a sink has made."""

from __future__ import annotations

from typing import Literal

Visibility = Literal["read_committed", "read_uncommitted"]
"""With its epoch, so that no reset takes it back, or with its batch (B33)."""
