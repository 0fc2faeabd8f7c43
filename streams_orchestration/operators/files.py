"""Input files: where a path of a spec points to, and how it is read again from a given row."""

from __future__ import annotations

import gzip
import importlib.util
import io
import zipfile
from pathlib import Path
from typing import IO

PACKAGE = "package://"


def resolve_input(path: str, base: Path) -> Path:
    """The file that a spec names: absolute, relative to the spec's directory, or `package://<package>/<path in it>`.

    Raises:
        ValueError: no such file or package, or it cannot be read; says what to do.
    """
    if path.startswith(PACKAGE):
        package, _, inner = path.removeprefix(PACKAGE).partition("/")
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            message = f"{path}: the Python package {package} is not installed; install it with `pip install {package}`"
            raise ValueError(message)
        found = Path(next(iter(spec.submodule_search_locations))) / inner
    else:
        found = base / path
    if not found.exists():
        message = f"{found}: no such file; relative paths start from the directory of the spec, {base.absolute()}"
        raise ValueError(message)
    if found.is_dir():
        message = f"{found}: this is a directory, a file is wanted"
        raise ValueError(message)
    try:
        with found.open("rb"):
            pass
    except OSError as error:
        message = f"{found}: cannot be read: {error.strerror}; check its permissions"
        raise ValueError(message) from error
    return found


def open_decompressed(path: Path) -> IO[bytes]:
    """The file's bytes; `.gz` and one-member `.zip` files are unpacked on the way.

    Raises:
        ValueError: a zip file with no member or several.
    """
    if path.suffix == ".gz":
        return io.BufferedReader(gzip.open(path, "rb"))  # type: ignore[arg-type]
    if path.suffix == ".zip":
        try:
            archive = zipfile.ZipFile(path)
        except zipfile.BadZipFile as error:
            message = f"{path}: not a zip file, or a damaged one"
            raise ValueError(message) from error
        members = [name for name in archive.namelist() if not name.endswith("/")]
        if len(members) != 1:
            message = f"{path}: {len(members)} files in the archive, one is wanted"
            raise ValueError(message)
        return archive.open(members[0])
    return path.open("rb")
