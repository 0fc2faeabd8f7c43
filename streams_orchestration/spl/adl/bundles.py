"""The ADL of a compiled application: an `.adl` file, or a member of a `.sab` bundle, which is read in place."""

from __future__ import annotations

import errno
import posixpath
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path
from typing import IO

from streams_orchestration.spl.adl.elements import element_of
from streams_orchestration.spl.adl.errors import AdlError

_INFO = "bundleInfo.xml"
_TAR = "tar/bundle.tar"
_DAMAGED = (
    *(zipfile.BadZipFile, tarfile.TarError, zlib.error, struct.error),
    *(EOFError, NotImplementedError, RuntimeError, UnicodeDecodeError),
)
_LARGEST_INFO = 16 * 2**20
_LARGEST_ADL = 512 * 2**20


def adl_of(path: Path) -> bytes:
    """Return the text of the ADL in a file: a member of a `.sab` bundle; any other file is returned whole, unchecked.

    Raises:
        AdlError: a bundle is damaged, has no ADL, or its ADL or `bundleInfo.xml` is too large.
        OSError: the file cannot be read.
    """
    return _of_bundle(path) if path.suffix == ".sab" else path.read_bytes()


def _of_bundle(path: Path) -> bytes:
    try:
        with zipfile.ZipFile(path) as bundle:
            with _member(bundle, _INFO) as file:
                member = _adl_member(_limited(file, _LARGEST_INFO, _INFO))
            with _member(bundle, _TAR) as stream, tarfile.open(fileobj=stream, mode="r|*") as archive:
                for each in archive:
                    if posixpath.normpath(each.name) == member and (file := archive.extractfile(each)) is not None:
                        return _limited(file, _LARGEST_ADL, member)
    except _DAMAGED as error:
        message = f"it is not an application bundle, or it is damaged: {error}"
        raise AdlError(message) from error
    except OSError as error:
        if error.errno != errno.EINVAL:  # positions in a damaged bundle may be negative
            raise
        message = "it is not an application bundle, or it is damaged"
        raise AdlError(message) from error
    message = f"the bundle has no {member}, which its {_INFO} names as the ADL"
    raise AdlError(message)


def _member(bundle: zipfile.ZipFile, name: str) -> IO[bytes]:
    if name not in bundle.namelist():
        message = f"it is not an application bundle, since it has no {name}"
        raise AdlError(message)
    return bundle.open(name)


def _adl_member(info: bytes) -> str:
    """Return the path of the ADL within the archive, as `bundleInfo.xml` says it."""
    root = element_of(info)
    model = next((each for each in root.tree() if "adlFile" in each.attributes), None)
    if model is None:
        message = f"{_INFO} of the bundle does not say which file is the ADL"
        raise AdlError(message)
    return posixpath.normpath(posixpath.join(model.attributes.get("outputDirectory", ""), model.attributes["adlFile"]))


def _limited(file: IO[bytes], most: int, name: str) -> bytes:
    content = file.read(most + 1)
    if len(content) > most:
        message = f"{name} of the bundle has more than {most // 2**20} MiB"
        raise AdlError(message)
    return content
