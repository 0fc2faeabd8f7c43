"""Chooses the storage for a path of a spec."""

from __future__ import annotations

import functools
from pathlib import Path

from streams_orchestration.operators.storage.addresses import parse_address
from streams_orchestration.operators.storage.local import LocalStorage
from streams_orchestration.operators.storage.options import StorageOptions
from streams_orchestration.operators.storage.port import Storage, is_address
from streams_orchestration.operators.storage.remote import RemoteStorage


def storage_of(place: str, base: Path = Path(), options: StorageOptions | None = None) -> Storage:
    """Return the storage of a path, without connecting.

    Args:
        place: a local path or an address.
        base: the directory against which relative paths are resolved.
        options: the options of the object store.

    Raises:
        ValueError: the address cannot be used, an option is not known for it, or options are given for a local path.
    """
    if not is_address(place):
        if options is not None:
            message = (
                "storage is for addresses such as s3://bucket/directory, not for paths of this machine; leave it out"
            )
            raise ValueError(message)
        return LocalStorage(base)
    address = parse_address(place)
    wanted = options or StorageOptions()
    wanted.check(address.scheme)
    return _remote(address.root, wanted.model_dump_json(by_alias=True))


@functools.lru_cache(maxsize=64)
def _remote(root: str, options: str) -> Storage:
    """Return the storage object of a root and its options; equal arguments share one object while it is cached."""
    return RemoteStorage(root, StorageOptions.model_validate_json(options))
