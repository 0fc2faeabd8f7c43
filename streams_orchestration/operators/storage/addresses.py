"""Addresses of files in object stores, such as `s3://bucket/directory`."""

from __future__ import annotations

import re
from typing import NamedTuple

from streams_orchestration.model.names import nearest
from streams_orchestration.model.secrets import masked

SCHEMES = {"s3": "s3", "gs": "gs", "abfs": "abfs", "abfss": "abfs", "hdfs": "hdfs"}
"""Maps each scheme as written to pyarrow's scheme."""


class Address(NamedTuple):
    """The address of a file, a directory or a pattern in an object store."""

    scheme: str
    """`s3`, `gs`, `abfs` or `hdfs`."""
    root: str
    """The part before the path, as written, such as `s3://bucket`."""
    store: str
    """The bucket or container; empty in HDFS."""
    host: str
    """The account (`abfs`) or the name node (`hdfs`); empty otherwise."""
    key: str
    """The path within the store, without slashes around it."""

    @property
    def path(self) -> str:
        """The path as pyarrow takes it."""
        return f"{self.store}/{self.key}"

    def __str__(self) -> str:
        return f"{self.root}/{self.key}"


def parse_address(text: str) -> Address:
    """Parse an address.

    Raises:
        ValueError: the address cannot be used, or contains credentials, which the message does not repeat.
    """
    written, _, rest = text.partition("://")
    scheme = SCHEMES.get(written.lower())
    if scheme is None:
        message = (
            f"{written}://: this kind of storage is not known{nearest(written, SCHEMES)}; {', '.join(SCHEMES)} are"
        )
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
        message = f"{text}: this is not an address of {scheme}; write {wanted}"
        raise ValueError(message)
    return Address(scheme, f"{written}://{authority}", store, host, key.strip("/"))
