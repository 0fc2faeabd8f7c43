"""Visibility of outputs to operators outside of a region."""

from __future__ import annotations

from typing import Literal

Visibility = Literal["read_committed", "read_uncommitted"]
"""The time at which readers outside of the region see output: `read_committed` after its epoch, so that no reset undoes
it, or `read_uncommitted` after its batch (B33)."""
