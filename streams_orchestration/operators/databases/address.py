"""Database addresses: SQLAlchemy URLs with secrets as references such as `${env:NAME}`, resolved only on use."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from streams_orchestration.model.secrets import remember
from streams_orchestration.operators.errors.errors import RefusedError
from streams_orchestration.operators.references import UnresolvedReferenceError, is_reference, resolved

if TYPE_CHECKING:
    from sqlalchemy import URL

DatabaseUrl = Annotated[
    str,
    Field(
        min_length=1,
        repr=False,
        description=(
            "SQLAlchemy URL of SQLite, PostgreSQL, MariaDB or MySQL. ${env:NAME} means an environment variable."
        ),
    ),
]
DRIVERS = {
    "sqlite": "sqlite+pysqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
    "mariadb+pymysql": "mysql+pymysql",
}
"""Map each URL scheme that users write to SQLAlchemy's dialect and driver."""
PACKAGES = {
    "sqlite+pysqlite": ("sqlite3", ""),
    "postgresql+psycopg": ("psycopg", "pip install 'psycopg[binary]'"),
    "mysql+pymysql": ("pymysql", "pip install 'streams-orchestration[mariadb]'"),
}
"""Map each dialect and driver to its Python package and the command that installs it."""


class DatabaseUrlError(RefusedError):
    """An address cannot be used. The message never contains the address, which may hold a secret."""


def check_url(url: str) -> None:
    """Check an address without resolving references. An address that is one reference passes.

    Raises:
        DatabaseUrlError: it is not an address, the database has no driver here, or it contains a literal password.
    """
    if is_reference(url):
        return
    parsed = _parse(url)
    if not all(is_reference(secret) for secret in secrets_of(parsed)):
        message = (
            "url: it contains a password, which plans and logs would show; "
            "use an environment variable instead: ${env:NAME}"
        )
        raise DatabaseUrlError(message)
    _check_driver(parsed)


def resolve_url(url: str) -> URL:
    """Return the address with all references resolved. Its passwords are masked in all output from then on.

    Raises:
        DatabaseUrlError: a variable is not set, or the address cannot be used.
    """
    if is_reference(url):
        return _known(_parse(_value(url)))
    parsed = _known(_parse(url))
    return _known(
        parsed.set(
            username=_resolved(parsed.username),
            password=_resolved(parsed.password),
            host=_resolved(parsed.host),
            database=_resolved(parsed.database),
            query={key: _resolved(value) if isinstance(value, str) else value for key, value in parsed.query.items()},
        )
    )


def _known(url: URL) -> URL:
    """Register the address's passwords so that they are masked in all texts from now on, and return the address."""
    _check_driver(url)
    for secret in secrets_of(url):
        if not is_reference(secret):
            remember(secret)
    return url


def secrets_of(url: URL) -> tuple[str, ...]:
    """Return the passwords in an address, also those in options whose name contains `pass`."""
    options = [value for key, value in url.query.items() if "pass" in key.lower()]
    values = [each for value in options for each in ([value] if isinstance(value, str) else value)]
    return (*(() if url.password is None else (str(url.password),)), *values)


def shown_url(url: str) -> str:
    """Return the address without user, password and options, for display; unchanged if it is one reference.

    Raises:
        DatabaseUrlError: it is not an address, or the database is not supported.
    """
    if is_reference(url):
        return url
    parsed = _parse(url)
    port = f":{parsed.port}" if parsed.port else ""
    kind = "mariadb" if url.startswith("mariadb") else parsed.get_backend_name()
    return f"{kind}://{parsed.host or ''}{port}/{parsed.database or ''}"


def _parse(url: str) -> URL:
    from sqlalchemy import make_url
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        message = (
            "url: this is not an SQLAlchemy URL, as postgresql://user:${env:PASSWORD}@host/database or sqlite:///file"
        )
        raise DatabaseUrlError(message) from None
    parsed = parsed.set(drivername=DRIVERS.get(parsed.drivername, parsed.drivername))
    if parsed.drivername not in PACKAGES:
        message = f"url: {parsed.drivername} is not supported; sqlite, postgresql, mariadb and mysql are"
        raise DatabaseUrlError(message)
    return parsed


def _check_driver(url: URL) -> None:
    package, remedy = PACKAGES[url.drivername]
    if importlib.util.find_spec(package) is None:
        message = f"url: {url.get_backend_name()} needs the Python package {package}, which is not installed: {remedy}"
        raise DatabaseUrlError(message)


def _resolved(text: str | None) -> Any:
    return None if text is None else _value(str(text))


def _value(text: str) -> str:
    try:
        return resolved(text, "url")
    except UnresolvedReferenceError as error:
        raise DatabaseUrlError(str(error)) from error
