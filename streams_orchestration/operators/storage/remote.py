"""`RemoteStorage`: files in S3, Google Cloud Storage, Azure Data Lake and HDFS, accessed with `pyarrow.fs`."""

from __future__ import annotations

import fnmatch
import functools
import io
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import IO, Any, Literal, TypeVar

from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.references import UnresolvedReferenceError
from streams_orchestration.operators.storage.addresses import Address, parse_address
from streams_orchestration.operators.storage.options import StorageOptions
from streams_orchestration.operators.storage.port import File, ListedFile, StorageAwayError, StorageRefusedError

T = TypeVar("T")

BUFFER_BYTES = 4 << 20
"""Bytes per request when a file is read or sent."""
CONNECT_SECONDS = 5.0
ATTEMPTS = 3
"""Attempts of the library of S3 at a request, with pauses between them."""
RETRY_SECONDS = 10.0
"""Seconds for which Google's library retries by itself, instead of its default of a quarter of an hour."""
_NATIVE = re.compile(r"Unable to load (libjvm|libhdfs)")
"""Matches the beginning of a message that lists hundreds of searched places."""
_HADOOP = (
    "hdfs:// needs Java and Hadoop's native library here; set JAVA_HOME, HADOOP_HOME (or ARROW_LIBHDFS_DIR) and "
    "CLASSPATH, as `hadoop classpath --glob` prints it, for the process that starts the hosts"
)
_REFUSED = re.compile(
    r"ACCESS_DENIED|NO_SUCH_BUCKET|NO_SUCH_KEY|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|UNRECOGNIZED_CLIENT"
    r"|INVALID_CLIENT_TOKEN_ID|MISSING_AUTHENTICATION_TOKEN|ExpiredToken|InvalidToken|InvalidBucketName"
    r"|HTTP status (301|400|401|403|404|405)\b|PERMISSION_DENIED|UNAUTHENTICATED|INVALID_ARGUMENT|\bNOT_FOUND"
    r"|AuthenticationFailed|AuthorizationFailure|AuthorizationPermissionMismatch|InvalidAuthenticationInfo"
    r"|ContainerNotFound|AccountIsDisabled|HDFS connection failed"
)
"""Matches library messages about permanent errors. All other errors count as temporary."""


class RemoteStorage:
    """A bucket or container, connected on first use. An object becomes visible atomically.

    Methods raise `StorageAwayError` and `StorageRefusedError`, FileNotFoundError for a missing object, and ValueError
    for an address that cannot be used.
    """

    def __init__(self, root: str, options: StorageOptions) -> None:
        self.root = root
        self.options = options

    @functools.cached_property
    def _system(self) -> Any:
        """The library's file system, connected on first use. Errors pass unchanged; see `call`."""
        return connect(parse_address(f"{self.root}/"), self.options.resolved())

    def call(self, address: str, action: Callable[[Any], T]) -> T:
        """Run an action with the library's file system, and translate its errors to ones that name the address.

        Raises:
            StorageAwayError, StorageRefusedError, FileNotFoundError: the action fails.
        """
        with self.translated(address):
            return action(self._system)

    @contextmanager
    def translated(self, address: str) -> Iterator[None]:
        """Translate the library's errors within the block to messages that name the address.

        Raises:
            FileNotFoundError: the block raised it; it passes unchanged.
            StorageAwayError: the storage cannot be reached.
            StorageRefusedError: the storage refuses the request, or a library or setting that it needs is missing.
        """
        try:
            yield
        except FileNotFoundError:
            raise
        except UnresolvedReferenceError as error:
            raise StorageRefusedError(str(error)) from None
        except (OSError, ValueError, NotImplementedError) as error:
            text = self.options.without_secrets(" ".join(str(error).split()))
            if missing := _NATIVE.search(text):
                reason = f"{missing[1]} cannot be loaded: {_HADOOP}"
                raise StorageRefusedError(reason, address) from None
            if _REFUSED.search(text) or not isinstance(error, OSError):
                reason = f"refused: {text}; check that the place exists, and the rights and credentials"
                raise StorageRefusedError(reason, address) from None
            reason = f"cannot be reached: {text}"
            raise StorageAwayError(reason, address) from None

    def file(self, place: str) -> RemoteFile:
        """Return the object at an address, which need not exist."""
        return RemoteFile(self, parse_address(place))

    def files(self, place: str) -> Sequence[File]:
        """Return the objects that an address names, as `resolve_inputs` does: an object, a directory's, or a pattern's.

        In a directory, names that begin with a dot or an underscore are left out, and so are subdirectories. An address
        with `*`, `?` or `[` is always a pattern.

        Raises:
            ValueError: no object matches the address, or it cannot be used.
        """
        address = parse_address(place)
        if any(mark in address.key for mark in "*?["):
            fixed = re.split(r"[*?\[]", address.key, maxsplit=1)[0].rpartition("/")[0]
            pattern = address.key.split("/")
            below = self._below(address._replace(key=fixed))
            files = [file for file in below if _matches(file.key.split("/"), pattern)]
        elif self._is_file(address):
            return [RemoteFile(self, address)]
        else:
            files = [
                file
                for file in self._below(address, recursive=False)
                if not PurePosixPath(file.key).name.startswith((".", "_"))
            ]
        if not files:
            message = f"{place}: no files match; check the name"
            raise ValueError(message)
        return [RemoteFile(self, each) for each in files]

    def below(self, place: str) -> Sequence[File]:
        """Return all objects below a directory, sorted; none if there is no such directory."""
        return [RemoteFile(self, each) for each in self._below(parse_address(place))]

    def listed(self, place: str) -> Sequence[ListedFile]:
        """Return the objects directly in a directory, none without one; a time that the store does not give is 0."""
        infos = self._infos(parse_address(place), recursive=False)
        return [ListedFile(info.base_name, info.size, info.mtime_ns or 0) for info in infos]

    def sizes(self, place: str) -> dict[str, int]:
        """Return the sizes in bytes of all objects below a directory, by their addresses."""
        address = parse_address(place)
        infos = self._infos(address, recursive=True)
        keys = {info.path.removeprefix(f"{address.store}/").lstrip("/"): info.size for info in infos}
        return {str(address._replace(key=key)): size for key, size in keys.items()}

    def get(self, place: str) -> bytes:
        """Return the whole content of an object: one request for the size, one for the bytes."""
        path = parse_address(place).path

        def whole(system: Any) -> bytes:
            with system.open_input_file(path) as file:
                return file.read()

        return self.call(place, whole)

    def put(self, place: str, data: Any) -> None:
        """Write an object, atomically, from bytes or an Arrow buffer. May be repeated with the same bytes."""
        path = parse_address(place).path
        self.call(place, lambda system: self._send(system, pa.BufferReader(data), path))

    def copy(self, place: str, other: str) -> None:
        """Copy an object, within the store if the library supports that, else by reading and writing its bytes.

        May be repeated.
        """
        try:
            self.call(place, lambda system: system.copy_file(parse_address(place).path, parse_address(other).path))
        except StorageRefusedError as error:
            if not isinstance(error.__context__, NotImplementedError):
                raise
            self.put(other, self.get(place))

    def _is_file(self, address: Address) -> bool:
        if not address.key:
            return False
        info = self.call(str(address), lambda system: system.get_file_info(address.path))
        return info.is_file

    def _below(self, address: Address, *, recursive: bool = True) -> list[Address]:
        infos = self._infos(address, recursive=recursive)
        keys = sorted(info.path.removeprefix(f"{address.store}/").lstrip("/") for info in infos)
        return [address._replace(key=key) for key in keys]

    def _infos(self, address: Address, *, recursive: bool) -> list[Any]:
        """Return the library's information about the objects in a directory."""
        from pyarrow.fs import FileSelector, FileType

        selector = FileSelector(address.path.rstrip("/"), recursive=recursive, allow_not_found=True)
        infos = self.call(str(address), lambda system: system.get_file_info(selector))
        if not infos and address.store:
            store = self.call(str(address), lambda system: system.get_file_info(address.store))
            if store.type == FileType.NotFound:
                reason = f"refused: there is no bucket or container {address.store}, or no right to see it"
                raise StorageRefusedError(reason, str(address))
        return [info for info in infos if info.is_file]

    def publish(self, pending: Path, final: str) -> None:
        """Send a file, and replace an object of its name. Names are unique, so a repetition writes the same bytes.

        Raises:
            FileNotFoundError: the pending file is gone, since another process published it or a reset removed it.
        """
        path = parse_address(final).path
        with pa.memory_map(str(pending)) as source:
            self.call(final, lambda system: self._send(system, source, path))

    def _send(self, system: Any, source: Any, path: str) -> None:
        aside = path
        if self.root.startswith("hdfs"):  # readers of HDFS see a file while it is written
            directory, _, name = path.rpartition("/")
            aside = f"{directory}/_pending-{name}"
            system.create_dir(directory, recursive=True)
        # the library completes an upload even if an exception leaves this block, so nothing in it may raise except
        # `write`
        with system.open_output_stream(aside, compression=None) as sink:
            while block := source.read_buffer(BUFFER_BYTES):
                sink.write(block)
        if aside != path:
            system.move(aside, path)


@dataclass(frozen=True)
class RemoteFile:
    """An object, with those methods of `pathlib.Path` that file readers use.

    Methods raise `StorageAwayError`, `StorageRefusedError` and, for a missing object, FileNotFoundError.
    """

    storage: RemoteStorage
    address: Address

    def __str__(self) -> str:
        return str(self.address)

    @property
    def name(self) -> str:
        """The object's name without its directory."""
        return PurePosixPath(self.address.key).name

    @property
    def suffix(self) -> str:
        """The suffix of the name, as in `pathlib`."""
        return PurePosixPath(self.address.key).suffix

    @property
    def parent(self) -> str:
        """The address of the object's directory."""
        return str(self).rpartition("/")[0]

    def open(self, mode: Literal["rb"], /) -> IO[bytes]:
        """Open the object for reading bytes, seekable, with requests of `BUFFER_BYTES`."""
        raw = self.storage.call(str(self), lambda system: system.open_input_file(self.address.path))
        return io.BufferedReader(_Raw(self, raw), BUFFER_BYTES)

    def stat(self) -> Any:
        """Return an object with the size in bytes as `st_size`, and the time as `st_mtime_ns`.

        The time is in nanoseconds since 1970; 0 if the store does not give it.

        Raises:
            FileNotFoundError: there is no such object.
        """
        info = self.storage.call(str(self), lambda system: system.get_file_info(self.address.path))
        if not info.is_file:
            raise FileNotFoundError(str(self))
        return SimpleNamespace(st_size=info.size, st_mtime_ns=info.mtime_ns or 0)

    def etag(self) -> str:
        """Return the object's ETag, which identifies its content; empty if the store has none."""

        def marked(system: Any) -> str:
            with system.open_input_file(self.address.path) as file:
                known = {key.lower(): value for key, value in (file.metadata() or {}).items()}
            mark = known.get(b"etag") or known.get("etag") or ""
            return mark.decode() if isinstance(mark, bytes) else mark

        return self.storage.call(str(self), marked)

    def unlink(self, missing_ok: bool = False) -> None:  # noqa: FBT001, FBT002 - as in pathlib
        """Remove the object. If the store reports that it is missing, that is an error unless `missing_ok`."""
        try:
            self.storage.call(str(self), lambda system: system.delete_file(self.address.path))
        except FileNotFoundError:
            if not missing_ok:
                raise


class _Raw(io.RawIOBase):
    """A file of the library whose errors are translated to ones that name the address."""

    def __init__(self, file: RemoteFile, raw: Any) -> None:
        self._file = file
        self._raw = raw

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with self._file.storage.translated(str(self._file)):
            return self._raw.readinto(buffer)

    def readall(self) -> bytes:
        """Return the rest of the file with requests of `BUFFER_BYTES`; the base class would make one per 8 KB."""
        return b"".join(iter(lambda: self.read(BUFFER_BYTES), b""))

    def seek(self, offset: int, whence: int = 0) -> int:
        self._raw.seek(offset, whence)
        return self._raw.tell()

    def tell(self) -> int:
        return self._raw.tell()

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


def _matches(key: Sequence[str], pattern: Sequence[str]) -> bool:
    """Return True if a key matches a `glob` pattern. `**` matches directories; wildcards match no leading dot."""
    if not pattern or not key:
        return not pattern and not key
    hidden = key[0].startswith(".") and not pattern[0].startswith(".")
    if pattern[0] == "**" and len(pattern) > 1:
        return _matches(key, pattern[1:]) or (not hidden and _matches(key[1:], pattern))
    return not hidden and fnmatch.fnmatchcase(key[0], pattern[0]) and _matches(key[1:], pattern[1:])


def connect(address: Address, options: dict[str, str]) -> Any:
    """Return the library's file system for an address, with resolved options. The port of HDFS is 8020 by default.

    Errors of the library pass unchanged.
    """
    from pyarrow import fs

    scheme, host = _endpoint(options.get("endpoint"))
    anonymous = options.get("anonymous") == "True"
    match address.scheme:
        case "s3":
            return fs.S3FileSystem(
                access_key=options.get("accessKey"),
                secret_key=options.get("secretKey"),
                session_token=options.get("sessionToken"),
                role_arn=options.get("roleArn"),
                anonymous=anonymous,
                region=options.get("region"),
                scheme=scheme,
                endpoint_override=host,
                connect_timeout=CONNECT_SECONDS,
                allow_delayed_open=True,  # a small file takes one request
                retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
            )
        case "gs":
            return fs.GcsFileSystem(
                anonymous=anonymous,
                endpoint_override=host,
                scheme=scheme,
                project_id=options.get("project"),
                retry_time_limit=timedelta(seconds=RETRY_SECONDS),
            )
        case "abfs":
            return fs.AzureFileSystem(
                address.host,
                account_key=options.get("accountKey"),
                sas_token=options.get("sasToken"),
                tenant_id=options.get("tenantId"),
                client_id=options.get("clientId"),
                client_secret=options.get("clientSecret"),
                blob_storage_authority=host,
                dfs_storage_authority=host,
                blob_storage_scheme=scheme,
                dfs_storage_scheme=scheme,
            )
        case _:
            name, _, port = address.host.partition(":")
            return fs.HadoopFileSystem(name, int(port or 8020), user=options.get("user"))


def _endpoint(text: str | None) -> tuple[str | None, str | None]:
    """Split `http://host:port` into scheme and host; the scheme is https by default. Both are None without a text."""
    if text is None:
        return None, None
    scheme, mark, host = text.rpartition("://")
    return (scheme if mark else "https"), host.rstrip("/")
