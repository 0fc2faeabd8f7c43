"""Visibility of outputs to operators outside of a region."""

from __future__ import annotations

from typing import Literal

Visibility = Literal["read_committed", "read_uncommitted"]
"""`read_committed` shows output after its epoch, so no reset undoes it; `read_uncommitted` after its batch (B33)."""
