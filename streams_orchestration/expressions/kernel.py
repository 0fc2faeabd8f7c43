"""A kernel: a function that is evaluated for a batch at once. The tools that all kernels share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute

from streams_orchestration.expressions.table import Binding

pc: Any = pyarrow.compute
"""Arrow makes these functions when it is imported, so that type checkers do not know them."""

Kernel = Callable[..., Any]
Maker = Callable[[Binding], Kernel | None]


class Unsuitable(Exception):  # noqa: N818  # no error: another way is taken
    """A kernel does not evaluate this batch."""


def numbers(vector: Any) -> Any:
    """Return dates and timestamps as the whole numbers that they are."""
    if pa.types.is_date32(vector.type):
        return vector.cast(pa.int32())
    return vector.cast(pa.int64()) if pa.types.is_timestamp(vector.type) else vector


def always(kernel: Kernel) -> Maker:
    """Return the maker of a kernel that suits all types."""
    return lambda _binding: kernel


def filled(array: pa.Array, value: int) -> np.ndarray:
    """Return the numbers of an array, with a number in the place of null."""
    return pc.fill_null(array, value).to_numpy(zero_copy_only=False)


def unmasked(array: pa.Array) -> pa.Array:
    """Return numbers with those that stand in memory where the array is null; they may be any."""
    return pa.Array.from_buffers(array.type, len(array), [None, array.buffers()[1]], offset=array.offset)


def bounds(vector: Any) -> tuple[int, int]:
    """Return two whole numbers between which all of a vector are, and those in memory where it is null."""
    if isinstance(vector, pa.Scalar):
        value = vector.as_py() or 0
        return value, value
    ends = pc.min_max(unmasked(vector)).as_py()
    return ends["min"] or 0, ends["max"] or 0


def constant(binding: Binding, argument: int) -> Any:
    """Return the value of a constant argument; None if it is null or not constant."""
    given = binding.constants[argument] if argument < len(binding.constants) else None
    return None if given is None else given[0]
