"""Addresses of files in object stores, as `s3://bucket/directory`."""

from __future__ import annotations

import re
from typing import NamedTuple

from streams_orchestration.model.names import nearest
from streams_orchestration.model.secrets import masked

SCHEMES = {"s3": "s3", "gs": "gs", "abfs": "abfs", "abfss": "abfs", "hdfs": "hdfs"}
"""Scheme as written -> scheme as pyarrow has it."""


class Address(NamedTuple):
    """The address of a file, a directory or a pattern in an object store."""

    scheme: str
    """`s3`, `gs`, `abfs` or `hdfs`."""
    root: str
    """The part before the path, as written: `s3://bucket`."""
    store: str
    """The bucket, the container, or empty in HDFS."""
    host: str
    """The account in `abfs`, the name node in `hdfs`."""
    key: str
    """The path in it, without a slash in front."""

    @property
    def path(self) -> str:
        """Return the path for pyarrow."""
        return f"{self.store}/{self.key}"

    def __str__(self) -> str:
        return f"{self.root}/{self.key}"


def parse_address(text: str) -> Address:
    """Return an address, taken apart.

    Raises:
        ValueError: it is none that can be used, or has credentials in it, which the message does not repeat.
    """
    written, _, rest = text.partition("://")
    scheme = SCHEMES.get(written.lower())
    if scheme is None:
        message = f"{written}://: no such kind of storage is known{nearest(written, SCHEMES)}; {', '.join(SCHEMES)} are"
        raise ValueError(message)
    authority, _, key = rest.partition("/")
    store, host = authority, ""
    if scheme == "abfs":
        store, _, host = authority.partition("@")
        host = host.partition(".")[0]
    elif scheme == "hdfs":
        store, host = "", authority
    login = ":" in store or "@" in store or "@" in host
    login = login or (scheme == "hdfs" and re.fullmatch(r"[^:]*(:\d+)?|\[[^\]]*\](:\d+)?", host) is None)
    _, mark, query = rest.partition("?")
    if login or masked(mark + query) != mark + query:
        message = (
            f"{written}://: the address contains credentials, which plans and logs would show; "
            "give them in storage, as {accessKey: ${env:NAME}}, or in the library's own way"
        )
        raise ValueError(message)
    if not authority or (scheme == "abfs" and not host):
        wanted = (
            "abfs://container@account.dfs.core.windows.net/directory" if scheme == "abfs" else f"{scheme}://name/.."
        )
        message = f"{text}: this is no address of {scheme}; one reads {wanted}"
        raise ValueError(message)
    return Address(scheme, f"{written}://{authority}", store, host, key.strip("/"))
