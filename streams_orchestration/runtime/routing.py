"""Routing at splitters: which channel every tuple goes to (rules 20, 21)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

_HASH_KEY = "streams-routing-"
"""16 characters; part of the contract between runs: another key would send keys to other channels."""


def hash_channels(batch: pa.RecordBatch, attributes: tuple[str, ...], width: int) -> np.ndarray:
    """The channel of every tuple by hash (rule 20): `hash(a) % width`, several attributes folded with 17 and 37.

    The hash of a value does not depend on process, batch or platform, so that a key always meets the same channel.
    """
    hashes = [_hash(batch.column(name)) for name in attributes]
    if len(hashes) == 1:
        combined = hashes[0]
    else:
        combined = np.full(batch.num_rows, 17, np.uint64)
        for part in hashes:
            combined = combined * np.uint64(37) + part
    return (combined % np.uint64(width)).astype(np.int64)


def round_robin_channels(count: int, position: int, width: int) -> np.ndarray:
    """The channels of the next `count` tuples, the first at `position` (rule 21)."""
    return (position + np.arange(count)) % width


def split(batch: pa.RecordBatch, channels: np.ndarray, width: int) -> list[pa.RecordBatch | None]:
    """The tuples of every channel, in order; None where a channel gets none."""
    if width == 1:
        return [batch if batch.num_rows else None]
    order = np.argsort(channels, kind="stable")
    bounds = np.searchsorted(channels[order], np.arange(width + 1))
    sorted_batch = batch.take(pa.array(order))
    return [
        sorted_batch.slice(start, end - start) if end > start else None
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]


def _hash(array: pa.Array) -> np.ndarray:
    """A stable 64-bit hash of every value; distinct values are hashed once."""
    encoded = pc.dictionary_encode(array, null_encoding="encode")
    values = encoded.dictionary
    if pa.types.is_temporal(values.type) or pa.types.is_boolean(values.type):
        values = values.cast(pa.int64()) if values.type.bit_width in (1, 64) else values.cast(pa.int32())
    if pa.types.is_integer(values.type):
        plain = values.fill_null(0).cast(pa.int64()).to_numpy(zero_copy_only=False)
    elif pa.types.is_floating(values.type):
        plain = values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0
    elif pa.types.is_nested(values.type):
        plain = np.array([repr(value) for value in values.to_pylist()], dtype=object)
    else:
        plain = np.array([_text(value) for value in values.to_pylist()], dtype=object)
    hashes = pd.util.hash_array(plain, hash_key=_HASH_KEY, categorize=False)
    return hashes[encoded.indices.to_numpy(zero_copy_only=False)]


def _text(value: object) -> str:
    return "" if value is None else value.hex() if isinstance(value, bytes) else str(value)
