"""Addresses of databases: SQLAlchemy URLs whose secrets are named, `{env:NAME}`, and read where they are used only."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy import URL

REFERENCE = re.compile(r"\{env:([A-Za-z_]\w*)\}")
DRIVERS = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
SUPPORTED = ("sqlite+pysqlite", "postgresql+psycopg")


class DatabaseUrlError(ValueError):
    """An address cannot be used; the message never has it, since it may hold a secret."""


def check_url(url: str) -> None:
    """Find what is wrong with an address without reading any variable.

    Raises:
        DatabaseUrlError: it is no address, of another database, or a password stands in it.
    """
    if REFERENCE.fullmatch(url):
        return
    parsed = _parse(url)
    if parsed.password is not None and not REFERENCE.fullmatch(str(parsed.password)):
        message = (
            "url: a password stands in it, and would stand in plans and logs, too; "
            "name an environment variable in its place: {env:NAME}"
        )
        raise DatabaseUrlError(message)


def resolve_url(url: str) -> URL:
    """The address with the values of the environment variables that it names.

    Raises:
        DatabaseUrlError: a variable is not set, or the address cannot be used.
    """
    if match := REFERENCE.fullmatch(url):
        return _parse(_value(match[1]))
    parsed = _parse(url)
    return parsed.set(
        username=_resolved(parsed.username),
        password=_resolved(parsed.password),
        host=_resolved(parsed.host),
        database=_resolved(parsed.database),
        query={key: _resolved(value) if isinstance(value, str) else value for key, value in parsed.query.items()},
    )


def shown_url(url: str) -> str:
    """The address for people: without user, password and options."""
    if REFERENCE.fullmatch(url):
        return url
    parsed = _parse(url)
    port = f":{parsed.port}" if parsed.port else ""
    return f"{parsed.get_backend_name()}://{parsed.host or ''}{port}/{parsed.database or ''}"


def _parse(url: str) -> URL:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        message = "url: this is no SQLAlchemy URL, as postgresql://user:{env:PASSWORD}@host/database or sqlite:///file"
        raise DatabaseUrlError(message) from None
    parsed = parsed.set(drivername=DRIVERS.get(parsed.drivername, parsed.drivername))
    if parsed.drivername not in SUPPORTED:
        message = f"url: {parsed.drivername} is not supported; sqlite and postgresql are"
        raise DatabaseUrlError(message)
    return parsed


def _resolved(text: str | None) -> Any:
    return None if text is None else REFERENCE.sub(lambda match: _value(match[1]), str(text))


def _value(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        message = (
            f"url: the environment variable {name} is not set in the host's process; hosts have the environment of the "
            "command, or the Dagster daemon, that starts them: set it there, then reset or run it again"
        )
        raise DatabaseUrlError(message)
    return value
