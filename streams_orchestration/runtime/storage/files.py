"""Files that are written durably."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


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
