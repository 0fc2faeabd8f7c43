"""Makes the store that the environment names."""

from __future__ import annotations

import functools
from pathlib import Path

from streams_orchestration.operators.storage.port import is_address
from streams_orchestration.runtime.errors.errors import StorageSettingError
from streams_orchestration.runtime.storage.store import Store

STORAGE, STORAGE_OPTIONS = "STREAMS_STORAGE", "STREAMS_STORAGE_OPTIONS"
"""The variables for the place of the store, and for the access to an object store as `NAME=VALUE` words."""


@functools.lru_cache(maxsize=64)
def store_at(home: Path, place: str, options: str) -> Store:
    """Return the store of a state directory; nothing is read, written or connected.

    Args:
        home: the state directory.
        place: an address or an absolute path; empty for the state directory itself.
        options: words for `StorageOptions`, as in `endpoint=http://host:9000 accessKey=${env:KEY}`.

    Raises:
        StorageSettingError: the place or an option cannot be used, or there are options without a place.
    """
    here = str(home)
    if not is_address(place):
        if options and not place:
            message = f"{STORAGE_OPTIONS} is set and {STORAGE} is not"
            raise StorageSettingError(message, f"Name the storage with {STORAGE}, or unset {STORAGE_OPTIONS}.")
        if options or (place and not Path(place).is_absolute()):
            wanted = "an absolute path, without options, or an address such as s3://bucket/prefix, is expected"
            message = f"{STORAGE}={place}: {wanted}"
            raise StorageSettingError(message)
        return Store(place.rstrip("/") or here, here)
    return _remote(here, place, options)


def _remote(here: str, place: str, options: str) -> Store:
    """Return a store in object storage; its modules are loaded only here."""
    from pydantic import ValidationError

    from streams_orchestration.operators.storage.addresses import parse_address
    from streams_orchestration.operators.storage.options import StorageOptions
    from streams_orchestration.runtime.storage.remote_store import RemoteStore

    try:
        address = parse_address(place)
        parsed = StorageOptions.model_validate(_words(options))
        parsed.check(address.scheme)
    except (ValidationError, ValueError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        message = f"{STORAGE}, {STORAGE_OPTIONS}: {reason.removeprefix('Value error, ')}"
        raise StorageSettingError(message) from None  # the text may hold a secret
    return RemoteStore(str(address).rstrip("/"), here, parsed.model_dump_json(by_alias=True, exclude_none=True))


def _words(text: str) -> dict[str, str]:
    pairs = [word.partition("=") for word in text.split()]
    if any(not (name and mark and value) for name, mark, value in pairs):
        message = "options are written like endpoint=http://host:9000 accessKey=${env:NAME}"
        raise ValueError(message)
    return {name: value for name, _, value in pairs}
