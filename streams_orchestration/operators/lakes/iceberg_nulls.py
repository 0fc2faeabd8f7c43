"""Keeps a list, or a map, that is null when pyiceberg writes or rewrites rows: it would make an empty one of it.

The library builds lists and maps of structs anew without their nulls (apache/iceberg-python#3833). Its result gets them
back, and is left alone by versions that keep them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from pyiceberg.io.pyarrow import ArrowProjectionVisitor

_MARK = "_keeps_nulls"


def keep_nulls() -> None:
    """Have the library keep null lists and maps, from now on in this process."""
    for name in ("list", "map"):
        method = getattr(ArrowProjectionVisitor, name)
        if not hasattr(method, _MARK):
            setattr(ArrowProjectionVisitor, name, _keeping_nulls(method))


def _keeping_nulls(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def keeping(self: Any, kind: Any, values: Any, *parts: Any) -> Any:
        made = method(self, kind, values, *parts)
        if made is None or values is None or made.null_count == values.null_count:
            return made
        rows = pa.array(np.arange(len(made)), mask=np.asarray(values.is_null()))
        return made.take(rows)

    setattr(keeping, _MARK, True)
    return keeping
