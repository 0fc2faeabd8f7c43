"""Options for reading an SPL file, from the command line or a companion file."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class SplOptions:
    """Options for reading an SPL file.

    Attributes:
        main: the main composite, `ns::Name`; None chooses the only one, or `Main`.
        toolkits: directories of toolkits, searched after the application's own directory.
        define: the values that the SPL function `getCompileTimeValue` returns, by name.
        data: the directory of relative input files.
    """

    main: str | None = None
    toolkits: tuple[Path, ...] = ()
    define: Mapping[str, str] = field(default_factory=dict[str, str])
    data: Path | None = None


# SplOptions are frozen
spl_options: ContextVar[SplOptions] = ContextVar("spl_options", default=SplOptions())  # noqa: B039
"""The options for reading SPL files that the running command was given."""
