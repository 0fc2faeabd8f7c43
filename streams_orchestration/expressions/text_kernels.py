"""Kernels of functions of texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from streams_orchestration.expressions.kernel import Kernel, Maker, Unsuitable, always, constant, pc
from streams_orchestration.expressions.table import Binding
from streams_orchestration.expressions.types import STRING


def _of_ascii(kernel: Kernel) -> Maker:
    def evaluate(value: Any) -> Any:
        if isinstance(value, pa.Scalar) or not pc.all(pc.string_is_ascii(value)).as_py():
            raise Unsuitable
        return kernel(value)

    return always(evaluate)


def _of_texts(binding: Binding, kernel: Kernel) -> Kernel | None:
    return kernel if binding.arguments[0] == STRING else None


def _substring(binding: Binding) -> Kernel | None:
    start, length = constant(binding, 1), constant(binding, 2)
    if start is None or start < 1 or (len(binding.arguments) > 2 and (length is None or length < 0)):
        return None
    stop = None if length is None else min(start - 1 + length, 2**31 - 1)
    return _of_texts(binding, lambda value, *_: pc.utf8_slice_codeunits(value, start - 1, stop))


def _left(binding: Binding) -> Kernel | None:
    length = constant(binding, 1)
    if length is None or length < 1:
        return None
    return _of_texts(binding, lambda value, _length: pc.utf8_slice_codeunits(value, 0, length))


def _joined(binding: Binding) -> Kernel | None:
    if binding.result != STRING:
        return None
    return lambda *parts: pc.binary_join_element_wise(*parts, "", null_handling="emit_null")


def _with_part(kernel: Kernel) -> Maker:
    def make(binding: Binding) -> Kernel | None:
        part = constant(binding, 1)
        if part is None:
            return None
        return _of_texts(binding, lambda value, _part: kernel(value, part))

    return make


def _like(binding: Binding) -> Kernel | None:
    pattern = constant(binding, 1)
    if pattern is None or "\\" in pattern or len(binding.arguments) > 2:
        return None
    return lambda value, _pattern: pc.match_like(value, pattern)


def _trimmed(kernel: Kernel) -> Maker:
    def make(binding: Binding) -> Kernel | None:
        return (lambda value: kernel(value, characters=" ")) if len(binding.arguments) == 1 else None

    return make


def _replace(binding: Binding) -> Kernel | None:
    search, by = constant(binding, 1), constant(binding, 2)
    if not search or (by is None and len(binding.arguments) > 2):
        return None
    return lambda value, *_: pc.replace_substring(value, search, by or "")


TEXT_KERNELS: Mapping[str, Maker] = {
    "||": _joined,
    "concat": _joined,
    "length": lambda binding: _of_texts(binding, pc.utf8_length),
    "char_length": lambda binding: _of_texts(binding, pc.utf8_length),
    "octet_length": always(pc.binary_length),
    "upper": _of_ascii(pc.ascii_upper),
    "lower": _of_ascii(pc.ascii_lower),
    "substring": _substring,
    "substr": _substring,
    "left": _left,
    "contains": _with_part(pc.match_substring),
    "startswith": _with_part(pc.starts_with),
    "endswith": _with_part(pc.ends_with),
    "like": _like,
    "trim": _trimmed(pc.utf8_trim),
    "btrim": _trimmed(pc.utf8_trim),
    "ltrim": _trimmed(pc.utf8_ltrim),
    "rtrim": _trimmed(pc.utf8_rtrim),
    "replace": _replace,
}
"""Kernel factories by function name."""
