"""Chooses the storage for a path of a spec."""

from __future__ import annotations

import functools
from pathlib import Path

from streams_orchestration.operators.storage.addresses import parse_address
from streams_orchestration.operators.storage.local import LocalStorage
from streams_orchestration.operators.storage.options import StorageOptions
from streams_orchestration.operators.storage.port import is_address
from streams_orchestration.operators.storage.remote import RemoteStorage

Storage = LocalStorage | RemoteStorage
"""A place with files. Its methods mean the same on this machine and in an object store."""


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
    return remote_storage(place, options or StorageOptions())


def remote_storage(place: str, options: StorageOptions) -> RemoteStorage:
    """Return the storage of an address, without connecting.

    Raises:
        ValueError: the address cannot be used, or an option is not known for it.
    """
    address = parse_address(place)
    options.check(address.scheme)
    return _remote(address.root, options.model_dump_json(by_alias=True))


@functools.lru_cache(maxsize=64)
def _remote(root: str, options: str) -> RemoteStorage:
    """Return the storage object of a root and its options; equal arguments share one object while it is cached."""
    return RemoteStorage(root, StorageOptions.model_validate_json(options))
