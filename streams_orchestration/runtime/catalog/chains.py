"""Chains of stored states as the catalog's rows have them: lists of `StateFile` in JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def files_of(chains: Iterable[Iterable[Mapping[str, Any]]]) -> set[str]:
    """Return the addresses of all files of chains, without the small ones, which are in the catalog itself."""
    return {file["path"] for chain in chains for file in chain if file["path"]}
