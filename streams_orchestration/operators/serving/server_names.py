"""Names under which servers of one state directory are reached, as in the name service of IBM Streams.

>>> import tempfile
>>> directory = Path(tempfile.mkdtemp())
>>> entry = register(directory, "my server", "127.0.0.1", 4711)
>>> found(directory, "my server")
('127.0.0.1', 4711)
>>> unregister(directory, "my server", entry)
>>> found(directory, "my server")
Traceback (most recent call last):
    ...
ConnectionError: no server of this state directory has the name my server now
"""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from urllib.parse import quote

from streams_orchestration import world

_EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104  compared with, not listened at
NAME = "Name of the server in the state directory, in place of a port: a server is registered, a client looks it up."
"""The description of the parameter `name`."""


def register(directory: Path, name: str, address: str, port: int) -> str:
    """Register the place where a server listens, in place of the name's former server, and return the entry.

    The directory is created if it is missing.

    Args:
        directory: the directory of names.
        name: the name.
        address: the address at which the server listens. If it listens everywhere, its machine is registered.
        port: its port.

    Raises:
        OSError: the entry cannot be written.
    """
    entry = f"{_machine() if address in _EVERYWHERE else address} {port}"
    directory.mkdir(parents=True, exist_ok=True)
    part = directory / f"{world.new_id()}.part"
    part.write_text(entry, encoding="utf-8")
    part.replace(_path(directory, name))
    return entry


def unregister(directory: Path, name: str, entry: str) -> None:
    """Remove a name, unless another server has registered it since, or the entry cannot be read or removed."""
    path = _path(directory, name)
    with contextlib.suppress(OSError):
        if path.read_text(encoding="utf-8") == entry:
            path.unlink()


def found(directory: Path, name: str) -> tuple[str, int]:
    """Return the address and the port of the server with a name.

    Raises:
        ConnectionError: no server has the name now, or its entry cannot be read.
    """
    try:
        address, _, port = _path(directory, name).read_text(encoding="utf-8").rpartition(" ")
        return address, int(port)
    except (OSError, ValueError):
        message = f"no server of this state directory has the name {name} now"
        raise ConnectionError(message) from None


def check_port(name: str | None, port: int | None, *, server: bool) -> None:
    """Raise ValueError if `name` and `port` are both missing, or both given to a client."""
    if name is None and port is None:
        message = "the parameter port is missing; name a port, or give the server a name"
        raise ValueError(message)
    if not server and name is not None and port is not None:
        message = "name and port exclude each other in a client, which looks the port up; leave one out"
        raise ValueError(message)


def shown(scheme: str, address: str, port: int | None, name: str | None) -> str:
    """Return the place of a server as a URL, with its name if it has no fixed port."""
    return f"{scheme}://{name}" if name is not None and not port else f"{scheme}://{address}:{port}"


def _path(directory: Path, name: str) -> Path:
    return directory / quote(name, safe="")


def _machine() -> str:
    """Return the name of this machine if it leads anywhere, else the loopback address."""
    name = socket.gethostname()
    try:
        socket.getaddrinfo(name, None)
    except OSError:
        return "127.0.0.1"
    return name
