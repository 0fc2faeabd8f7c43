"""Iceberg catalogs as a spec names them, with secrets as references."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pydantic import ConfigDict, Field, field_validator

from streams_orchestration.model.secrets import masked
from streams_orchestration.operators.contract.operator import Parameters
from streams_orchestration.operators.lakes.errors import lake_error
from streams_orchestration.operators.lakes.on_disk import local_path
from streams_orchestration.operators.loading.libraries import import_modules
from streams_orchestration.operators.references import (
    REFERENCE,
    UnresolvedReferenceError,
    exposed_secret,
    is_reference,
    resolved,
    without,
)

_SECRET = re.compile(r"token|secret|password|credential|account-key|access-key|sas", re.IGNORECASE)
_WITH_SECRET = re.compile(r"authorization|connection-string", re.IGNORECASE)
"""Names of properties whose values may contain a secret within other text."""
_PLAIN = frozenset(("oauth2-server-uri", "auth.type"))
DURABLE = "streams_orchestration.operators.lakes.durable_io.DurableFileIO"
"""The class by which pyiceberg accesses the files of tables on this machine's disk."""
DEFAULT_NAME = "default"
"""The name of a catalog to which the spec gives no name."""


class IcebergParameters(Parameters):
    """The location parameters that IcebergSink and IcebergSource share."""

    model_config = ConfigDict(hide_input_in_errors=True)

    catalog: dict[str, str] = Field(
        repr=False, description="Properties of the catalog as pyiceberg takes them: name, type, uri, warehouse."
    )
    table: str = Field(pattern=r"^[^.]+(\.[^.]+)+$", description="Name of the table: namespace.name.")

    _catalog = field_validator("catalog")(lambda value: check_catalog(value) or value)


def check_catalog(properties: Mapping[str, str]) -> None:
    """Check the properties of a catalog without resolving references.

    Raises:
        ValueError: a property is missing, or contains a secret, which the message does not repeat.
    """
    if "uri" not in properties:
        message = (
            "catalog: uri is missing: {type: sql, name: lake, uri: sqlite:////data/lake/catalog.db, warehouse: "
            "file:///data/lake}"
        )
        raise ValueError(message)
    for name, value in properties.items():
        where = f"catalog: {name}"
        safe = REFERENCE.search(value) if _WITH_SECRET.search(name) else is_reference(value)
        if (_SECRET.search(name) or _WITH_SECRET.search(name)) and name not in _PLAIN and not safe:
            raise exposed_secret(where)
        if masked(value) != value:
            message = f"{where}: it contains a password, which plans and logs would show; use ${{env:NAME}}"
            raise ValueError(message)


def advice_of(properties: Mapping[str, str]) -> str | None:
    """Return advice to name a SQL catalog without a name, since one database may hold several catalogs; else None."""
    is_sql = properties.get("type") == "sql" or properties["uri"].startswith(("sqlite", "postgresql"))
    if "name" in properties or not is_sql:
        return None
    return (
        f"catalog: {shown_catalog(properties)} is a SQL catalog without a name, so only readers that call it "
        f"{DEFAULT_NAME} find its tables; set the name that readers use: {{name: {DEFAULT_NAME}}}, or the name of "
        "your lake"
    )


def load_parts(properties: Mapping[str, str]) -> None:
    """Import the modules that pyiceberg would otherwise import on first use; skip those that are not installed."""
    kind = properties.get("type") or ("sql" if properties["uri"].startswith(("sqlite", "postgresql")) else "rest")
    import_modules(
        "pyiceberg.catalog",
        f"pyiceberg.catalog.{kind}",
        "pyiceberg.io.pyarrow",
        "streams_orchestration.operators.lakes.durable_io",
        "pyiceberg.table.upsert_util",
        "pyarrow.acero",
        "pyiceberg.avro.decoder_fast",
    )


def load_catalog(properties: Mapping[str, str]) -> Any:
    """Return pyiceberg's catalog, called `DEFAULT_NAME` if it has no name; mask its secrets from then on.

    Files of a warehouse on this machine are flushed to disk, unless the properties name another file access.

    Raises:
        LakeError: the catalog cannot be used.
        UnresolvedReferenceError: a reference cannot be resolved.
    """
    from pyiceberg import catalog, io

    values = {name: resolved(value, f"catalog: {name}") for name, value in properties.items()}
    if local_path(values.get(io.WAREHOUSE, "s3:")) is not None:
        values.setdefault(io.PY_IO_IMPL, DURABLE)
    try:
        return catalog.load_catalog(values.pop("name", DEFAULT_NAME), **values)
    except Exception as error:
        text = without_secrets(f"{type(error).__name__}: {error}", properties)
        message = (
            f"the catalog {shown_catalog(properties)} cannot be used: {text}; check the address, the rights and the "
            "credentials"
        )
        raise lake_error(message, error) from error


def shown_catalog(properties: Mapping[str, str]) -> str:
    """Return the address of a catalog without user, password and options, for display; empty without an address."""
    uri = properties.get("uri", "")
    return re.sub(r"://[^/@]*@", "://", uri).partition("?")[0]


def without_secrets(text: str, properties: Mapping[str, str]) -> str:
    """Return a message of pyiceberg in one line, without the values of references."""
    for name, value in properties.items():
        for reference in REFERENCE.finditer(value):
            with suppress(UnresolvedReferenceError):
                text = without(text, [resolved(reference[0], f"catalog: {name}")])
    return " ".join(text.split())
