"""Connections to databases, with the session settings that keep databases from altering values."""

from __future__ import annotations

from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import URL, Engine, event

from streams_orchestration.operators.databases.address import resolve_url

CONNECT_SECONDS = 10
_MYSQL_MODES = (
    "STRICT_ALL_TABLES",  # values that do not fit are refused, and not cut
    *("NO_ZERO_DATE", "NO_ZERO_IN_DATE", "NO_ENGINE_SUBSTITUTION"),
    "NO_AUTO_VALUE_ON_ZERO",  # a 0 is a 0 in a column that is counted up, too
)
_OPTIONS: dict[str, dict[str, Any]] = {
    "sqlite": {"timeout": CONNECT_SECONDS},
    "postgresql": {"connect_timeout": CONNECT_SECONDS, "application_name": "streams"},
    "mysql": {
        "connect_timeout": CONNECT_SECONDS,
        "charset": "utf8mb4",
        "program_name": "streams",
        "init_command": f"SET SESSION sql_mode = '{','.join(_MYSQL_MODES)}', time_zone = '+00:00'",
    },
}


def engine_of(url: URL) -> Engine:
    """Return an engine without connecting yet. Options of the address replace the defaults of this module.

    A connection to SQLite returns texts that are not UTF-8 as bytes, one to PostgreSQL times beyond the years 1 to 9999
    as texts. Both are values that do not fit, instead of errors of a whole query.

    Args:
        url: the address with resolved references.
    """
    options = {name: value for name, value in _OPTIONS[url.get_backend_name()].items() if name not in url.query}
    engine = sa.create_engine(url, connect_args=options, hide_parameters=True, pool_pre_ping=True)
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _keep_bytes)
    if url.get_backend_name() == "postgresql":
        event.listen(engine, "connect", _keep_times)
    return engine


def load_driver(url: str) -> None:
    """Import the driver of a database. `url` may contain references.

    Raises:
        DatabaseUrlError: the address cannot be used.
    """
    resolve_url(url).get_dialect().import_dbapi()


def _keep_bytes(connection: Any, _record: object) -> None:
    """Make a connection return texts that are not UTF-8 as bytes, which are misfit values but fail no query."""

    def text(value: bytes) -> str | bytes:
        try:
            return value.decode()
        except UnicodeDecodeError:
            return value

    connection.text_factory = text


def _keep_times(connection: Any, _record: object) -> None:
    """Make a connection return times that Python lacks as texts, such as `infinity` and `0044-03-15 BC`."""
    for name, loader in _lenient_loaders().items():
        connection.adapters.register_loader(name, loader)


@cache
def _lenient_loaders() -> dict[str, type]:
    """Return a loader for each type of times, by its name in PostgreSQL."""
    from psycopg import DataError
    from psycopg.types import datetime as types

    def lenient(base: Any) -> type:
        class Lenient(base):
            def load(self, data: Any) -> Any:
                try:
                    return super().load(data)
                except DataError:
                    return bytes(data).decode()

        return Lenient

    known = {
        "date": types.DateLoader,
        "time": types.TimeLoader,
        "timetz": types.TimetzLoader,
        "timestamp": types.TimestampLoader,
        "timestamptz": types.TimestamptzLoader,
        "interval": types.IntervalLoader,
    }
    return {name: lenient(base) for name, base in known.items()}
