"""Files of the state directory: written durably, and removed when no commit names them."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

log = logging.getLogger("streams.files")


def remove_files(paths: Iterable[str | Path]) -> int:
    """Remove files. Their names are never used again, so this may happen at any time after they were forgotten.

    What cannot be removed stops nothing: it is looked for again when its PE starts anew.

    Returns:
        How many are gone.
    """
    count = 0
    for path in paths:
        try:
            Path(path).unlink(missing_ok=True)
        except OSError as error:
            log.warning("%s, which is no longer needed, cannot be removed: %s", path, error.strerror)
        else:
            count += 1
    return count


def write_durably(path: Path, data: bytes | pa.Buffer) -> None:
    """Write a new file and have it on disk when this returns; nothing of one that cannot be written is left."""
    try:
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        error.filename = error.filename or str(path)
        raise
