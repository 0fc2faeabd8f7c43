"""The location of a Delta Lake table, and the options by which the library accesses it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from streams_orchestration.operators.contract.parameters import Parameters
from streams_orchestration.operators.storage.addresses import parse_address
from streams_orchestration.operators.storage.options import StorageOptions
from streams_orchestration.operators.storage.port import is_address
from streams_orchestration.operators.storage.storages import storage_of

_OPTIONS: Mapping[str, Mapping[str, str]] = {
    "s3": {
        "endpoint": "AWS_ENDPOINT_URL",
        "region": "AWS_REGION",
        "accessKey": "AWS_ACCESS_KEY_ID",
        "secretKey": "AWS_SECRET_ACCESS_KEY",
        "sessionToken": "AWS_SESSION_TOKEN",
        "roleArn": "AWS_IAM_ROLE_ARN",
        "anonymous": "AWS_SKIP_SIGNATURE",
    },
    "gs": {"anonymous": "GOOGLE_SKIP_SIGNATURE"},
    "abfs": {
        "endpoint": "AZURE_ENDPOINT",
        "accountKey": "AZURE_STORAGE_ACCOUNT_KEY",
        "sasToken": "AZURE_STORAGE_SAS_KEY",
        "tenantId": "AZURE_STORAGE_TENANT_ID",
        "clientId": "AZURE_STORAGE_CLIENT_ID",
        "clientSecret": "AZURE_STORAGE_CLIENT_SECRET",
    },
}
"""Maps each scheme to a mapping from options of a spec to options of the library."""


class DeltaStore:
    """The directory of a table, on this machine or in an object store."""

    def __init__(self, place: str, storage: StorageOptions | None) -> None:
        """Store the location without connecting.

        Args:
            place: a local path or an address.
            storage: the options of the object store.
        """
        self.place = place
        self.storage = storage or StorageOptions()

    @property
    def is_local(self) -> bool:
        """True if the table is on this machine."""
        return not is_address(self.place)

    def options(self) -> dict[str, str] | None:
        """Return the options for the library, or None for a local table. An endpoint `http://` is allowed by another.

        Raises:
            UnresolvedReferenceError: a reference cannot be resolved.
        """
        if self.is_local:
            return None
        scheme = parse_address(self.place).scheme
        values = self.storage.resolved()
        options = {_OPTIONS[scheme][name]: value for name, value in values.items() if name in _OPTIONS[scheme]}
        if values.get("endpoint", "").startswith("http://"):
            options["allow_http"] = "true"
        return options

    def files(self) -> Any:
        """Return the directory as a pyarrow file system. Raises UnresolvedReferenceError."""
        from pyarrow import fs

        if self.is_local:
            return fs.SubTreeFileSystem(self.place, fs.LocalFileSystem())
        from deltalake.fs import DeltaStorageHandler

        return fs.PyFileSystem(DeltaStorageHandler(self.place, options=self.options()))

    def put(self, file: Path, name: str) -> None:
        """Send a file into the directory in an object store, atomically; replace an object of this name.

        Raises:
            StorageError: the store cannot be reached, or refuses.
        """
        storage_of(self.place, options=self.storage).publish(file, f"{self.place.rstrip('/')}/{name}")

    def text(self, error: Exception) -> str:
        """Return the library's message in one line, without tuples and secrets."""
        words = " ".join(str(error).replace("\x1b[31m↳\x1b[0m", "").split())
        words = words.partition(" Preview of ")[0].rstrip(".: ")
        return self.storage.without_secrets(words)


class DeltaParameters(Parameters):
    """The location parameters that DeltaSink and DeltaSource share."""

    table: str = Field(
        min_length=1,
        description=(
            "Directory or address of the table. A relative directory is among the results (sink), or starts at the "
            "spec's directory (source)."
        ),
    )
    storage: StorageOptions | None = Field(
        default=None, repr=False, description="Options of the object store that holds the table."
    )

    def check_location(self) -> None:
        """Raise ValueError if Delta Lake does not support the location or one of its options. Connects to nothing."""
        storage_of(self.table, options=self.storage)
        if not is_address(self.table):
            return
        scheme = parse_address(self.table).scheme
        if scheme not in _OPTIONS:
            message = f"table: {self.table}: tables of Delta Lake must be on this machine, or in {', '.join(_OPTIONS)}"
            raise ValueError(message)
        options = (self.storage or StorageOptions()).model_dump(by_alias=True, exclude_none=True)
        if unknown := [name for name in options if name not in _OPTIONS[scheme]]:
            message = f"storage: {unknown[0]} is not known for tables of Delta Lake; leave it out"
            raise ValueError(message)

    def location(self, base: Path) -> str:
        """Return the address of the table, or its path. A relative directory is resolved against `base`."""
        return self.table if is_address(self.table) else str(base / self.table)

    def store(self, base: Path) -> DeltaStore:
        """Return the table's directory, without connecting; see `location`."""
        return DeltaStore(self.location(base), self.storage)
