"""Names of the data that operators read and write, in OpenLineage's scheme, so that events of other jobs match them.

https://openlineage.io/docs/spec/naming has the names: `kafka://host:port` and the topic, `s3://bucket` and the key,
`postgres://host:port` and `database.schema.table`, `file` and the path. A name never holds a user, a password or
options.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from streams_orchestration.model.secrets import masked
from streams_orchestration.operators.contract.operator import Operator, OperatorContext
from streams_orchestration.operators.databases.address import resolve_url, shown_url
from streams_orchestration.operators.lakes.iceberg_catalog import shown_catalog
from streams_orchestration.operators.references import UnresolvedReferenceError, resolved
from streams_orchestration.operators.storage.port import is_address

_AUTHORITY = re.compile(r"(?P<host>[\w.-]+|\[[\da-fA-F:.]+\])(?::(?P<port>\d+))?")
"""Pattern for host and port. A text that does not match may hold secrets, and is not shown."""
_DATABASES = {"postgresql": ("postgres", 5432), "mysql": ("mysql", 3306), "mariadb": ("mysql", 3306)}
"""SQLAlchemy's name of a database -> OpenLineage's name of the database, and its default port."""
KAFKA_PORT = 9092
_PATTERN = re.compile(r"[*?\[{]")
"""Pattern for the first wildcard in a path."""


class DatasetName(NamedTuple):
    """A dataset of OpenLineage."""

    namespace: str
    name: str


def dataset_names(operator: type[Operator], context: OperatorContext, parameters: Any) -> tuple[DatasetName, ...]:
    """Return the datasets that a source reads or a sink writes; empty if their place is unknown or not permanent."""
    names = _NAMES.get(operator.__name__) if operator.__module__.startswith("streams_orchestration.") else None
    if names is not None:
        return names(parameters)
    return names_of_place(operator.destination(context, parameters), context.base)


def names_of_place(place: str, base: Path) -> tuple[DatasetName, ...]:
    """Return the dataset of a path or an address; empty for an empty text, or a description, as some operators have.

    A text with the word `at` or `in` counts as a description. A path is taken relative to `base`. With wildcards, it
    gives the directory before the first of them.
    """
    if is_address(place):
        return (_of_address(place),)
    if not place or " at " in place or " in " in place:
        return ()
    return (DatasetName("file", _directory_before_pattern(str(base / place))),)


def _of_address(address: str) -> DatasetName:
    parts = urlsplit(masked(_directory_before_pattern(address.partition("?")[0])))
    return DatasetName(f"{parts.scheme}://{_authority(parts.netloc)}", parts.path.strip("/") or "/")


def _directory_before_pattern(path: str) -> str:
    """Return the directory before the first wildcard; the path itself if it has none."""
    before, *after = _PATTERN.split(path, maxsplit=1)
    return before.rpartition("/")[0] if after else before


def _authority(netloc: str, port: int | None = None) -> str:
    """Return host and port of an address without the user; `?` if they do not match the pattern.

    `netloc` is the part between `//` and the path, and `port` is the default port.
    """
    match = _AUTHORITY.fullmatch(netloc.rpartition("@")[2])
    if match is None:
        return "?"
    number = match["port"] or port
    return f"{match['host']}:{number}" if number else match["host"]


def _resolved(text: str) -> str:
    """Resolve the references in a text; if this process cannot, return the text unchanged."""
    try:
        return resolved(text, "url")
    except UnresolvedReferenceError:
        return text


def _kafka(parameters: Any) -> tuple[DatasetName, ...]:
    first = _resolved(parameters.brokers).split(",")[0].strip()
    topics = (*parameters.topics, parameters.pattern) if hasattr(parameters, "topics") else (parameters.topic,)
    namespace = f"kafka://{_authority(first.rpartition('://')[2], KAFKA_PORT)}"
    return tuple(DatasetName(namespace, topic) for topic in topics if topic)


def _broker(*attributes: str) -> Callable[[Any], tuple[DatasetName, ...]]:
    """Return a function that names the streams or topics in these parameters, at the broker in the parameter `url`."""

    def names(parameters: Any) -> tuple[DatasetName, ...]:
        parts = urlsplit(_resolved(parameters.url))
        values = [getattr(parameters, each) for each in attributes]
        topics = [topic for value in values for topic in ([value] if isinstance(value, str) else value)]
        return tuple(DatasetName(f"{parts.scheme}://{_authority(parts.netloc)}", topic) for topic in topics)

    return names


def _http(parameters: Any) -> tuple[DatasetName, ...]:
    return (_of_address(_resolved(parameters.url)),)


def _table(parameters: Any) -> tuple[DatasetName, ...]:
    """Name a table of a database. Return nothing for a query, which may read any tables.

    A database in a file is named by its path. If the address cannot be resolved here, its text without secrets is the
    namespace.
    """
    if parameters.table is None:
        return ()
    try:
        url = resolve_url(parameters.url)
    except Exception:  # noqa: BLE001  a reference that this process does not have, or a driver that is not there
        return (DatasetName(shown_url(parameters.url), parameters.table),)
    kind = url.get_backend_name()
    if kind not in _DATABASES:
        return (DatasetName("file", f"{url.database}/{parameters.table}"),)
    scheme, port = _DATABASES[kind]
    schema, _, table = parameters.table.rpartition(".")
    within = [url.database or "", schema or "public"] if scheme == "postgres" else [schema or url.database or ""]
    authority = _authority(url.host or "localhost", url.port or port)
    return (DatasetName(f"{scheme}://{authority}", ".".join((*within, table))),)


def _iceberg(parameters: Any) -> tuple[DatasetName, ...]:
    """Name a table by the address of its Iceberg catalog, which alone knows its location; by `iceberg` without one."""
    shown = shown_catalog({key: _resolved(str(value)) for key, value in parameters.catalog.items()})
    return (DatasetName(masked(shown) or "iceberg", parameters.table),)


_NAMES: dict[str, Callable[[Any], tuple[DatasetName, ...]]] = {
    "HttpSink": _http,
    "IcebergSink": _iceberg,
    "IcebergSource": _iceberg,
    "KafkaSink": _kafka,
    "KafkaSource": _kafka,
    "MQTTSource": _broker("topics"),
    "NATSSource": _broker("stream"),
    "PostgresChangeSource": _table,
    "RedisSource": _broker("stream"),
    "SqlSink": _table,
    "SqlSource": _table,
}
"""Class of a standard operator whose data are not at a path or an address -> function that names its datasets."""
