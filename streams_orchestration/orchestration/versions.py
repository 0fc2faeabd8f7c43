"""Versions of code and of data, from which Dagster decides which assets are out of date."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import streams_orchestration

STAGE_PACKAGES = ("compiler", "expressions", "model", "operators", "spl")
"""The packages with the code that computes stages."""


@cache
def code_version() -> str:
    """Return the package's version with a hash of the code that computes stages; a change makes stages out of date.

    The version is 0 if the package is not installed. The sources are read once in a process.
    """
    digest = hashlib.sha256()
    for package in STAGE_PACKAGES:
        for source in sorted((Path(streams_orchestration.__path__[0]) / package).rglob("*.py")):
            digest.update(source.name.encode() + b"\0" + source.read_bytes())
    try:
        release = version("streams-orchestration")
    except PackageNotFoundError:
        release = "0"
    return f"{release}-{digest.hexdigest()[:12]}"


def content_version(content: bytes) -> str:
    """Return the data version of stored bytes: their hash."""
    return hashlib.sha256(content).hexdigest()
