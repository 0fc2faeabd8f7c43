"""Applications whose files are in an object store."""

from __future__ import annotations

import uuid

import pytest

from streams_orchestration_tests.servers.s3 import BUCKET, S3


def options_of(s3: S3) -> str:
    """STREAMS_STORAGE_OPTIONS for a server."""
    return " ".join(f"{name}={value}" for name, value in s3.storage.items())


def store_in(s3: S3, patch: pytest.MonkeyPatch) -> str:
    """Have all files that catalogs name in a new place of the bucket; gives its name there."""
    directory = uuid.uuid4().hex
    patch.setenv("STREAMS_STORAGE", f"s3://{BUCKET}/{directory}")
    patch.setenv("STREAMS_STORAGE_OPTIONS", options_of(s3))
    return directory
