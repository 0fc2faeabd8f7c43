"""Routing at splitters: finds the channel of every tuple (rules 20, 21)."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from streams_orchestration.compiler.pe_program import SplitDelivery
from streams_orchestration.operators.keys.comparison import hashable, mixed
from streams_orchestration.operators.keys.nested import map_entries
from streams_orchestration.operators.loading.libraries import compute as pc
from streams_orchestration.operators.tuples.batch import TupleBatch

_ROWS, _TEXTS = 1 << 16, 1 << 14
"""The number of tuples, and of texts, that are hashed at once, so that the work fits into the processor's caches."""
_SHORT = 256
"""The most bytes of a short text; a multiple of eight."""
_PAIRED = 32
"""The number of first bytes of a text that are looked up in pairs, with a table of half a megabyte for each pair."""
_MASKS = np.array([(1 << 8 * count) - 1 for count in range(9)], "<u8")
"""The masks of a word: the mask at index n keeps n bytes."""
_SAMPLE = 1 << 10
"""The number of values that are sampled to see whether most values are different."""
_SEED = np.uint64(0x5EED5EED5EED5EED)
"""The seed of the hash. It must never change, like the rest of the hash: keys would go to other channels."""


def hash_channels(batch: pa.RecordBatch, attributes: tuple[str, ...], width: int) -> np.ndarray:
    """Return the channel of every tuple by hash (rule 20): `hash(a) % width`, several attributes folded with 17 and 37.

    The hash of a value does not depend on process, batch or platform, so that a key always meets the same channel.
    """
    slices = [batch.slice(start, _ROWS) for start in range(0, batch.num_rows or 1, _ROWS)]
    return np.concatenate([_channels(each, attributes, width) for each in slices])


def nested_channels(batch: pa.RecordBatch, levels: Iterable[tuple[int, tuple[str, ...]]]) -> np.ndarray:
    """Return the number of every tuple's channel among all channels of parallel regions within each other.

    `levels` has the number of channels and the attributes of the splitter for each region, from the outermost one on.
    """
    channels: Any = np.zeros(batch.num_rows, np.int64)
    for width, attributes in levels:
        channels = channels * width + hash_channels(batch, attributes, width)
    return channels


def _channels(batch: pa.RecordBatch, attributes: tuple[str, ...], width: int) -> np.ndarray:
    if len(attributes) == 1:
        hashes, values = _hash(batch.column(attributes[0]))
        return _number(hashes % np.uint64(width), width)[values]
    combined = np.full(batch.num_rows, 17, np.uint64)
    for name in attributes:
        hashes, values = _hash(batch.column(name))
        combined = combined * np.uint64(37) + hashes[values]
    return _number(combined % np.uint64(width), width)


def round_robin_channels(count: int, position: int, width: int) -> np.ndarray:
    """Return the channels of the next `count` tuples, in turn from channel `position` on (rule 21)."""
    return _number((position + np.arange(count)) % width, width)


def _number(channels: np.ndarray, width: int) -> np.ndarray:
    """Return channels as 16-bit numbers if possible, since 16-bit numbers are sorted faster."""
    return channels.astype(np.uint16 if width <= 1 << 16 else np.int64)


def split(batch: pa.RecordBatch, channels: np.ndarray, width: int) -> list[pa.RecordBatch | None]:
    """Return the tuples of every channel, in order; None for a channel without tuples."""
    if width == 1:
        return [batch if batch.num_rows else None]
    order = np.argsort(channels, kind="stable")
    bounds = np.searchsorted(channels[order], np.arange(width + 1))
    sorted_batch = batch.take(pa.array(order))
    return [
        sorted_batch.slice(start, end - start) if end > start else None
        for start, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]


def split_tuples(batch: TupleBatch, channels: np.ndarray, width: int) -> list[TupleBatch | None]:
    """Return the tuples of every channel, in order, with all watermarks (EV26); None for a channel without either."""
    parts = split(batch.arrow, channels, width)
    marks = batch.watermarks
    if marks is None:
        return [None if part is None else TupleBatch(part) for part in parts]
    nothing = batch.arrow.slice(0, 0)
    return [
        TupleBatch(nothing if part is None else part, watermarks=marks.taken(np.flatnonzero(channels == channel)))
        for channel, part in enumerate(parts)
    ]


def split_by(splitter: SplitDelivery, batch: TupleBatch, positions: dict[str, int]) -> list[TupleBatch | None]:
    """Return the tuples of every channel of a splitter with all watermarks; None for a channel without either.

    Advance `positions`, which has the next channel of each round-robin splitter (rules 20, 21).
    """
    width = len(splitter.channels)
    if splitter.policy == "hash":
        return split_tuples(batch, hash_channels(batch.arrow, splitter.attributes, width), width)
    position = positions.get(splitter.id, splitter.start)
    positions[splitter.id] = (position + len(batch)) % width
    return split_tuples(batch, round_robin_channels(len(batch), position, width), width)


def _hash(array: pa.Array) -> tuple[np.ndarray, np.ndarray | slice]:
    """Return the hashes of the different values, and the index of each value's hash; frequent values are hashed once.

    A hash has 64 bits and depends on nothing but the value.
    """
    if pa.types.is_nested(array.type):
        return _hash_nested(array), slice(None)
    if _mostly_differ(array):
        return _hash_values(array), slice(None)
    encoded = pc.dictionary_encode(array, null_encoding="encode")
    return _hash_values(encoded.dictionary), encoded.indices.to_numpy(zero_copy_only=False)


def _mostly_differ(array: pa.Array) -> bool:
    if len(array) <= _SAMPLE or pa.types.is_dictionary(array.type) or pa.types.is_null(array.type):
        return False
    return 2 * pc.count_distinct(array.slice(0, _SAMPLE), mode="all").as_py() > _SAMPLE


def _hash_values(values: pa.Array) -> np.ndarray:
    """Return the 64-bit hashes of values; values that are equal as keys have the same hash.

    The hash of null is the one of 0 or of an empty text.
    """
    values = hashable(values)
    if pa.types.is_integer(values.type):
        return _mix(values.fill_null(0).to_numpy(zero_copy_only=False).view(np.uint64))
    if pa.types.is_floating(values.type):
        return _mix(values.fill_null(0.0).to_numpy(zero_copy_only=False).view(np.uint64))
    if pa.types.is_decimal(values.type):
        return _hash_decimals(values)
    texts = values.fill_null(b"")
    slices = [texts.slice(start, _TEXTS) for start in range(0, len(texts) or 1, _TEXTS)]
    return np.concatenate([_hash_bytes(each) for each in slices])


def _hash_decimals(values: pa.Array) -> np.ndarray:
    """Return the hashes of 256-bit decimals, folded from their four words."""
    values = values.fill_null(pa.scalar(Decimal(0), values.type))
    words = np.frombuffer(values.buffers()[1], "<u8").reshape(-1, 4)[values.offset : values.offset + len(values)]
    hashes = np.full(len(values), 17, np.uint64)
    for word in words.T:
        hashes = hashes * np.uint64(37) + _mix(word)
    return _mix(hashes)


def _hash_nested(values: pa.Array) -> np.ndarray:
    """Return the hashes of arrays, maps and structs from their parts.

    The order of a map's entries and of an array's elements is ignored, since an array may hold a set of SPL.
    """
    if pa.types.is_struct(values.type):
        hashes = np.full(len(values), 17, np.uint64)
        for part in values.flatten():
            hashes = hashes * np.uint64(37) + _hash_part(part)
    else:
        if pa.types.is_map(values.type):
            lengths, keys, items = map_entries(values)
            counts = lengths.astype(np.int64)
            owners = np.repeat(np.arange(len(values)), counts)
            parts = _mix(_hash_part(keys) * np.uint64(37) + _hash_part(items))
        else:
            counts = pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            owners = np.repeat(np.arange(len(values)), counts)
            parts = _mix(_hash_part(values.flatten()))
        hashes = _mix(counts.view(np.uint64))
        np.add.at(hashes, owners, parts)
    missing = values.is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, _mix(np.zeros(1, np.uint64)), _mix(hashes))


def _hash_part(values: pa.Array) -> np.ndarray:
    hashes, which = _hash(values)
    return hashes[which]


def _hash_bytes(values: pa.Array) -> np.ndarray:
    """Return the hashes of texts by tabulation hashing.

    The hash is the sum of pseudo-random numbers for each (position, byte), and for the length. M. Patrascu, M. Thorup:
    The Power of Simple Tabulation Hashing, J. ACM 59(3), 2012.
    """
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + len(values) + 1]
    lengths, starts = np.diff(offsets), offsets[:-1].astype(np.int64) - offsets[0]
    longest = lengths.max(initial=0)
    sums = lengths.astype(np.uint64)
    if longest:
        text = np.frombuffer(values.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
        if longest > _SHORT:
            _add_numbers(sums, text, starts, lengths)
        else:
            _add_drawn(sums, text, starts, lengths)
    return _mix(sums)


def _add_numbers(sums: np.ndarray, text: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> None:
    """Add the pseudo-random numbers of all bytes to the sums of their texts, computing each number for its byte."""
    places = (np.arange(len(text)) - np.repeat(starts, lengths)) * 256 + text
    filled = lengths > 0
    sums[filled] += np.add.reduceat(_mix(places.view(np.uint64)), starts[filled])


def _add_drawn(sums: np.ndarray, text: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> None:
    """Add the pseudo-random numbers of all bytes of short texts to the sums, eight bytes of all texts at a time.

    The numbers are looked up in tables.
    """
    padded = np.concatenate([text, np.zeros(8, np.uint8)])
    words = np.ndarray(len(text) + 1, "<u8", padded, 0, (1,))
    for start in range(0, int(lengths.max()), 8):
        rows = np.flatnonzero(lengths > start) if start else slice(None)
        bytes_left = np.minimum(lengths[rows] - start, 8)
        cut = words[starts[rows] + start] & _MASKS.take(bytes_left)
        numbers = _of_nothing(start).take(bytes_left)
        for table, column in zip(_tables(start), _columns(cut, start), strict=True):
            numbers += table.take(column)
        sums[rows] += numbers


def _columns(words: np.ndarray, start: int) -> np.ndarray:
    """Return the bytes of words in pairs, or single bytes after the first `_PAIRED`; one row for each position."""
    return words.astype("<u8", copy=False).view("<u2" if start < _PAIRED else "u1").reshape(len(words), -1).T


@cache
def _tables(start: int) -> list[np.ndarray]:
    """Return a table per column of `_columns`, from its values to pseudo-random numbers."""
    bytes_ = [_drawn()[place : place + 256] for place in range(start * 256, (start + 8) * 256, 256)]
    if start >= _PAIRED:
        return bytes_
    return [(second[:, None] + first).ravel() for first, second in zip(bytes_[::2], bytes_[1::2], strict=True)]


@cache
def _of_nothing(start: int) -> np.ndarray:
    """Return the terms that cancel the zeros after the last byte of a word, by the number of the word's bytes."""
    zeros = _drawn()[start * 256 : (start + 8) * 256 : 256]
    return np.zeros(9, np.uint64) - np.append(np.cumsum(zeros[::-1])[::-1], np.uint64(0))


@cache
def _drawn() -> np.ndarray:
    """Return the pseudo-random number of each (position, byte) of a short text; a look-up is faster than computing."""
    return _mix(np.arange(_SHORT * 256, dtype=np.uint64))


def _mix(values: np.ndarray) -> np.ndarray:
    return mixed(values, _SEED)
