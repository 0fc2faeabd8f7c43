"""Tools shared by all kernels. A kernel evaluates a function for a whole batch at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from streams_orchestration.expressions.table import Binding

pc: Any = pyarrow.compute
"""The module `pyarrow.compute` without types, since its functions are made when it is imported."""

Kernel = Callable[..., Any]
Maker = Callable[[Binding], Kernel | None]


class Unsuitable(Exception):  # noqa: N818  # no error: another way is taken
    """The kernel cannot evaluate a batch, so the batch must be evaluated tuple by tuple."""


def numbers(vector: Any) -> Any:
    """Return a vector of dates or timestamps as the whole numbers that Arrow stores; other vectors are unchanged."""
    if pa.types.is_date32(vector.type):
        return vector.cast(pa.int32())
    return vector.cast(pa.int64()) if pa.types.is_timestamp(vector.type) else vector


def always(kernel: Kernel) -> Maker:
    """Return a kernel factory that returns the given kernel for all types."""
    return lambda _binding: kernel


def filled(array: pa.Array, value: int) -> np.ndarray:
    """Return an array of numbers with every null replaced by `value`."""
    return pc.fill_null(array, value).to_numpy(zero_copy_only=False)


def unmasked(array: pa.Array) -> pa.Array:
    """Return an array of numbers without its null mask: positions of nulls hold arbitrary numbers."""
    return pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], offset=array.offset)


def bounds(vector: Any) -> tuple[int, int]:
    """Return a lower and an upper bound of a vector's whole numbers, zeros for an empty vector or a null scalar.

    In an array, the arbitrary numbers that are stored for nulls count, too.
    """
    if isinstance(vector, pa.Scalar):
        value = vector.as_py() or 0
        return value, value
    ends = pc.min_max(unmasked(vector)).as_py()
    return ends["min"] or 0, ends["max"] or 0


def constant(binding: Binding, argument: int) -> Any:
    """Return the value of a constant argument; None if it is null, not constant or not given."""
    given = binding.constants[argument] if argument < len(binding.constants) else None
    return None if given is None else given[0]
