"""Arrow and numpy, imported when something of them is first used.

Compiling reads the parameters of standard operators, and must not wait for what only their tuples need: importing Arrow
takes half as long as a whole compilation. So the modules that compiling loads have these from here.
"""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as pa_csv
    import pyarrow.json as pa_json
    import pyarrow.parquet as pq


class _Library:
    """A stand-in for a module that is imported at its first use."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        attribute = getattr(import_module(self._module), name)
        setattr(self, name, attribute)  # the next access is as quick as in the module
        return attribute


if not TYPE_CHECKING:
    np = _Library("numpy")
    pa = _Library("pyarrow")
    pa_csv = _Library("pyarrow.csv")
    pa_json = _Library("pyarrow.json")
    pq = _Library("pyarrow.parquet")


def import_modules(*names: str) -> None:
    """Import modules that threads would be the first to import.

    Two threads that are the first to import a package with circles in it may each find half of it. So an operator
    names here what its threads need, in `load`, which the main thread calls before it starts them. A module that is
    not installed is left out: what needs it says so.
    """
    for name in names:
        with suppress(ImportError):
            import_module(name)


compute: Any = _Library("pyarrow.compute")
"""Arrow makes these functions when it is imported, so that type checkers do not know them."""

__all__ = ["compute", "import_modules", "np", "pa", "pa_csv", "pa_json", "pq"]
