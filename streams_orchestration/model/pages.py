"""Command lines of the modules that write a page of the documentation, or a source file, from tables and docstrings."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path


def write_page(page: Path, make: Callable[[Path], str], arguments: Sequence[str] | None = None) -> None:
    """Write a page to the file that the command line names, by default to its place in the repository.

    Args:
        page: the default file.
        make: returns the text for a file; it may read the file.
        arguments: the arguments of the command line; None for the arguments of this process.

    Raises:
        SystemExit: the command line is wrong, or asks for help.
        OSError: the file cannot be written.
    """
    parser = argparse.ArgumentParser(description=f"Write {page.name} from the product's tables and docstrings.")
    parser.add_argument("file", nargs="?", type=Path, default=page, help="file to write; by default %(default)s")
    file: Path = parser.parse_args(arguments).file
    file.write_text(make(file), encoding="utf-8")
