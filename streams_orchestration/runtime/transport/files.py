"""Removing files that no commit names any more."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

log = logging.getLogger("streams.files")


def remove_files(paths: Iterable[str | Path]) -> int:
    """Remove files. Their names are never used again, so this may happen at any time after they were forgotten.

    What cannot be removed holds nobody up: it is looked for again when its PE starts anew.

    Returns:
        How many are gone.
    """
    count = 0
    for path in paths:
        try:
            Path(path).unlink(missing_ok=True)
        except OSError as error:
            log.warning("%s, which nobody needs any more, cannot be removed: %s", path, error.strerror)
        else:
            count += 1
    return count
