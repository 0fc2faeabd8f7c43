"""The flights job as a bare loop over pyarrow: `python -m benchmarks.peers.pyarrow_loop FILE AIRLINES RESULT THREADS`.

No checkpoint, no recovery, no streams: the least that reading and computing can cost in Python. `THREADS` is 1, on
one core, or 0 for as many as pyarrow takes by default.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from benchmarks.peers.answer import LATE, Point, answer

pc: Any = pyarrow.compute
COLUMNS = {"month": pa.int32(), "carrier": pa.string(), "dep_delay": pa.float64()}
KEYS = ["carrier", "airline", "month"]


def batches(file: Path, *, threads: bool) -> Iterator[pa.RecordBatch]:
    """Yield the batches of the three columns of the file."""
    if file.suffix == ".parquet":
        yield from pq.ParquetFile(file).iter_batches(65_536, columns=list(COLUMNS), use_threads=threads)
        return
    convert = pa_csv.ConvertOptions(include_columns=list(COLUMNS), column_types=COLUMNS, strings_can_be_null=True)
    read = pa_csv.ReadOptions(use_threads=threads, block_size=4 << 20)
    yield from pa_csv.open_csv(file, read_options=read, convert_options=convert)


def statistics(file: Path, airlines: Path, *, threads: bool) -> tuple[pa.Table, list[Point]]:
    """Return the result, and when how many tuples were read."""
    names = pa_csv.read_csv(airlines)
    keys, values = names["carrier"].combine_chunks(), names["name"].combine_chunks()
    parts, points, count = [], [], 0
    for batch in batches(file, threads=threads):
        count += batch.num_rows
        batch = batch.filter(pc.is_valid(batch["dep_delay"]))
        delay = batch["dep_delay"]
        table = pa.table(
            {
                "carrier": batch["carrier"],
                "airline": values.take(pc.index_in(batch["carrier"], keys)),
                "month": batch["month"],
                "delay": delay,
                "late": pc.cast(pc.greater(delay, LATE), pa.int64()),
            }
        )
        parts.append(
            table.group_by(KEYS, use_threads=threads).aggregate(
                [("delay", "count"), ("delay", "sum"), ("delay", "max"), ("late", "sum")]
            )
        )
        points.append((time.monotonic(), count))
    whole = (
        pa.concat_tables(parts)
        .group_by(KEYS, use_threads=threads)
        .aggregate([("delay_count", "sum"), ("delay_sum", "sum"), ("delay_max", "max"), ("late_sum", "sum")])
    )
    flights = whole["delay_count_sum"]
    result = {
        **{name: whole[name] for name in KEYS},
        "flights": flights,
        "mean_delay": pc.divide(whole["delay_sum_sum"], flights),
        "max_delay": whole["delay_max_max"],
        "late_share": pc.divide(pc.cast(whole["late_sum_sum"], pa.float64()), flights),
    }
    points[-1] = (time.monotonic(), count)
    return pa.table(result), points


def main(file: str, airlines: str, result: str, threads: str) -> None:
    if threads == "1":
        pa.set_cpu_count(1)
        pa.set_io_thread_count(1)
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # pyarrow's readers have a thread more
    answer(*statistics(Path(file), Path(airlines), threads=threads != "1"), Path(result))


if __name__ == "__main__":
    main(*sys.argv[1:])
