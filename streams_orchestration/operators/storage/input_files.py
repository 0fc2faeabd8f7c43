"""Input files: resolving the paths of a spec, and decompression."""

from __future__ import annotations

import glob
import gzip
import importlib.util
import io
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.storage.port import File

PACKAGE = "package://"

_DAMAGE = (EOFError, zlib.error, zipfile.BadZipFile, gzip.BadGzipFile)


def resolve_input(path: str, base: Path) -> Path:
    """Resolve an input path of a spec to a file.

    The path is absolute, relative to the spec's directory, or `package://<package>/<path in it>`.

    Raises:
        ValueError: the file or package does not exist, is a directory or cannot be read; the message gives the remedy.
    """
    if path.startswith(PACKAGE):
        package, _, inner = path.removeprefix(PACKAGE).partition("/")
        spec = importlib.util.find_spec(package) if package.isidentifier() else None
        if spec is None or not spec.submodule_search_locations:
            message = f"{path}: the Python package {package} is not installed; install it with `pip install {package}`"
            raise ValueError(message)
        file = Path(next(iter(spec.submodule_search_locations))) / inner
    else:
        file = base / path
    try:
        there, directory = file.exists(), file.is_dir()
        if there and not directory:
            file.open("rb").close()
    except OSError as error:
        raise _unreadable(file, error) from error
    if not there:
        message = f"{file}: no such file; relative paths start from the directory of the spec, {base.absolute()}"
        raise ValueError(message)
    if directory:
        message = f"{file}: this is a directory, but a file is expected"
        raise ValueError(message)
    return file


def _unreadable(place: Path, error: OSError) -> ValueError:
    """Return the error of a file or directory that cannot be read."""
    advice = "; check its permissions" if isinstance(error, PermissionError) else ""
    return ValueError(f"{place}: cannot be read: {error.strerror}{advice}")


def resolve_inputs(path: str, base: Path) -> list[Path]:
    """Return the files that an input path names, sorted: a file, files of a directory, or the matches of a pattern.

    In a directory, names that begin with a dot or an underscore are left out, and so are subdirectories. A pattern
    contains `*`, `?` or `[...]`, and `**` for any directories.

    Raises:
        ValueError: there are none, the first one or the directory cannot be read, or a name is not UTF-8 text; the
            message gives the remedy.
    """
    try:
        return _found(path, base)
    except OSError as error:
        raise _unreadable(base / path, error) from error


def _found(path: str, base: Path) -> list[Path]:
    """Find the files of `resolve_inputs`. A directory that cannot be listed is an OSError here."""
    place = base / path
    if path.startswith(PACKAGE) or place.is_file():
        return [resolve_input(path, base)]
    if place.is_dir():
        files = [file for file in place.iterdir() if file.is_file() and not file.name.startswith((".", "_"))]
    elif any(mark in path for mark in "*?["):
        names = glob.glob(str(place), recursive=True)  # noqa: PTH207 - the pattern may be absolute
        files = [Path(name) for name in names if Path(name).is_file()]
    else:
        return [resolve_input(path, base)]
    if not files:
        message = f"{place}: no files match; relative paths start from the directory of the spec, {base.absolute()}"
        raise ValueError(message)
    ordered = sorted(files, key=str)
    unfit = next((file for file in ordered if not is_text(file.name)), None)
    if unfit is not None:
        message = f"{place}: the name {unfit.name!a} of a file is not UTF-8 text; rename the file"
        raise ValueError(message)
    return [resolve_input(str(ordered[0].absolute()), base), *ordered[1:]]


def is_text(name: str) -> bool:
    """Return True if the name of a file is UTF-8 text, which the operating system does not require."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


@contextmanager
def open_decompressed(path: File) -> Iterator[IO[bytes]]:
    """Open a file for reading bytes. `.gz` files and `.zip` files with one member are decompressed on the fly.

    Raises:
        DataError: the file is damaged, or an archive does not have exactly one member, or needs a password.
        OSError, StorageError: the file cannot be opened.
    """
    try:
        if path.suffix == ".gz":
            with path.open("rb") as packed, gzip.open(packed, "rb") as unpacked:
                yield io.BufferedReader(unpacked)  # type: ignore[arg-type]
        elif path.suffix == ".zip":
            with path.open("rb") as packed, zipfile.ZipFile(packed) as archive, _only_member(archive, path) as member:
                yield member
        else:
            with path.open("rb") as file:
                yield file
    except _DAMAGE as error:
        message = f"{path}: cannot be read to its end, it is damaged, or it is not a {path.suffix} file: {error}"
        raise DataError(message) from error


def go_to(file: IO[bytes], path: File, place: int) -> None:
    """Seek to a byte of a file that was opened with `open_decompressed`.

    Raises:
        DataError: the file ends before it.
    """
    reached = file.seek(place)
    if path.suffix not in (".gz", ".zip"):
        reached = min(reached, path.stat().st_size)
    if reached != place:
        message = f"{path}: {reached} bytes, but {place} were read before; was the file cut?"
        raise DataError(message)


def _only_member(archive: zipfile.ZipFile, path: File) -> IO[bytes]:
    members = [name for name in archive.namelist() if not name.endswith("/")]
    if len(members) != 1:
        message = f"{path}: the archive has {len(members)} files, but must have one"
        raise DataError(message)
    try:
        return archive.open(members[0])
    except (RuntimeError, NotImplementedError) as error:
        message = f"{path}: cannot be unpacked: {error}"
        raise DataError(message) from error
