"""The resource that all definitions share: a state directory with its settings."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# Dagster reads the annotations of resources here, so they may not be turned into text.
import hashlib
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import dagster as dg
from pydantic import ConfigDict, Field, field_validator

from streams_orchestration.orchestration.artifacts import ArtifactStore
from streams_orchestration.runtime import api

RESOURCE_KEY = "streams"
"""The key of the usual state directory's resource."""
VARIABLES = {
    "catalog": api.CATALOG,
    "storage": api.STORAGE,
    "storage_options": api.STORAGE_OPTIONS,
    "master": api.MASTER,
    "driver_memory": api.MEMORY,
    "spark_conf": api.SPARK_CONF,
}
"""Setting of the resource -> the environment variable that it replaces."""


class VariableMissingError(api.StreamsRuntimeError):
    """A setting of a resource is an environment variable that is not set."""

    def __init__(self, setting: str, variable: str) -> None:
        super().__init__(
            f"{setting} of the resource: the environment variable {variable} is not set. Set it in the processes of "
            f"Dagster, or give {setting} another value."
        )


class StreamsResource(dg.ConfigurableResource[Any]):
    """A state directory with its compiled and its deployed applications.

    Each setting may be a `dg.EnvVar`. If it is left out, its environment variable in `docs/operations.md` counts.

    Example:
        ```python
        orders = StreamsResource(home=dg.EnvVar("ORDERS_HOME"), catalog=dg.EnvVar("ORDERS_CATALOG"))
        defs = build_application_definitions("orders.yaml", orders, resource_key="orders")
        ```
    """

    model_config = ConfigDict(extra="forbid")  # Dagster ignores a name that is misspelt

    home: str | None = Field(default=None, description="State directory (STREAMS_HOME).")
    catalog: str | None = Field(default=None, description="Address of the catalog (STREAMS_CATALOG).")
    storage: str | None = Field(default=None, description="Storage that all machines share (STREAMS_STORAGE).")
    storage_options: str | None = Field(
        default=None, description="Options of an object store as NAME=VALUE words (STREAMS_STORAGE_OPTIONS)."
    )
    master: str | None = Field(default=None, description="Master of Spark (STREAMS_MASTER).")
    driver_memory: str | None = Field(default=None, description="Heap of a host's JVM (STREAMS_DRIVER_MEMORY).")
    spark_conf: str | None = Field(default=None, description="File with Spark's properties (STREAMS_SPARK_CONF).")

    @field_validator("home", "spark_conf", mode="before")
    @classmethod
    def _path_as_text(cls, value: object) -> object:
        return str(value) if isinstance(value, Path) else value

    @property
    def artifacts(self) -> ArtifactStore:
        """The store of compiled stages.

        Raises:
            VariableMissingError: a setting is a variable that is not set.
            StateDirectoryError: a file is where the directory is, or would be.
        """
        return ArtifactStore(self.directory())

    def directory(self) -> api.Home:
        """Return the state directory with the resource's settings, even before Dagster has read their variables.

        Raises:
            VariableMissingError: a setting is a variable that is not set.
            StateDirectoryError: a file is where the directory is, or would be.
        """
        root = self._value("home")
        home = api.Home(Path(root).absolute()) if root else api.Home.default()
        values = {variable: self._value(setting) for setting, variable in VARIABLES.items()}
        return replace(home, variables=tuple((name, value) for name, value in values.items() if value is not None))

    def _value(self, setting: str) -> str | None:
        value = getattr(self, setting)
        if not isinstance(value, dg.EnvVar):
            return value
        text = value.get_value()
        if text is None:
            raise VariableMissingError(setting, value.env_var_name)
        return text

    def key(self) -> str:
        """Return the resource's default key: `streams` for the usual state directory, else a name made from `home`.

        The key is the same in all processes of Dagster, and differs between directories.
        """
        if self.home is None:
            return RESOURCE_KEY
        if isinstance(self.home, dg.EnvVar):
            return _name(self.home.env_var_name)
        path = Path(self.home).absolute()
        if path == Path(os.environ.get("STREAMS_HOME") or ".streams").absolute():
            return RESOURCE_KEY
        return f"{_name(path.name)}_{hashlib.sha256(str(path).encode()).hexdigest()[:6]}"


HomeLike = StreamsResource | api.Home | Path | str | None
"""The types by which definitions name a state directory. A `str` may be a `dg.EnvVar`; None is the usual directory."""
_KNOWN: dict[tuple[Any, ...], StreamsResource] = {}


def resource_of(place: HomeLike) -> StreamsResource:
    """Return the resource of a state directory, and remember it.

    Equal settings give the same object, since definitions that use one key can be merged only if they share the object.

    Raises:
        StateDirectoryError: a file is where the usual directory is, or would be.
    """
    if place is None:
        place = api.Home.default()
    if isinstance(place, api.Home):
        settings = {setting: dict(place.variables).get(variable) for setting, variable in VARIABLES.items()}
        place = StreamsResource(home=str(place.root), **settings)
    elif not isinstance(place, StreamsResource):
        place = StreamsResource(home=place if isinstance(place, dg.EnvVar) else str(Path(place).absolute()))
    values = [getattr(place, name) for name in type(place).model_fields]
    identity: tuple[Any, ...] = (type(place), *((type(value), repr(value)) for value in values))
    return _KNOWN.setdefault(identity, place)


class _WithResources(Protocol):
    """A context in which Dagster runs an op, an asset, a check, a sensor or a schedule."""

    @property
    def resources(self) -> object: ...


def streams_in(context: _WithResources, key: str) -> StreamsResource:
    """Return the resource of a key; the definition must have the key in its `required_resource_keys`."""
    resource = getattr(context.resources, key)
    assert isinstance(resource, StreamsResource)
    return resource


def _name(text: str) -> str:
    return f"{RESOURCE_KEY}_{re.sub(r'[^A-Za-z0-9]+', '_', text).strip('_').lower()}"
