"""Arrow and numpy, imported on first use.

The compiler reads the parameters of standard operators, which needs neither. Importing Arrow takes half as long as a
whole compilation, so modules that the compiler loads get these libraries from here.
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
    """A placeholder for a module that is imported on first use."""

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
    """Import modules before threads would import them. Modules that are not installed are skipped.

    If two threads are the first to import a package with circular imports, each may see it half initialised. So an
    operator's `load`, which the main thread calls, names here what its threads need.
    """
    for name in names:
        with suppress(ImportError):
            import_module(name)


compute: Any = _Library("pyarrow.compute")
"""The module `pyarrow.compute`. Its type is `Any`, since Arrow creates its functions on import, unseen by type
checkers.
"""

__all__ = ["compute", "import_modules", "np", "pa", "pa_csv", "pa_json", "pq"]
