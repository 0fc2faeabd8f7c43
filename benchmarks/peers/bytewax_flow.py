"""The flights job in Bytewax: `python -m benchmarks.peers.bytewax_flow INPUT AIRLINES RESULT TUPLES PROCESSES`.

`INPUT` is a file, read by Bytewax's own source of CSV as its documentation shows it, or a directory, which the tuned
flow reads: lines parsed a batch at a time without dictionaries. The directory's files are dealt out to the workers, one
in every process, since Python's threads share one core.
"""

# pyright: reportMissingImports=false, reportUntypedFunctionDecorator=false
# (only `make bench` installs Bytewax)

from __future__ import annotations

import csv
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import bytewax.operators as op
import pyarrow as pa
from bytewax.connectors.files import CSVSource, DirSink, DirSource
from bytewax.dataflow import Dataflow
from bytewax.operators import KeyedStream
from bytewax.testing import cluster_main

from benchmarks.peers.answer import LATE, RESULT, answer

MONTH, DELAY, CARRIER = 1, 5, 9
"""Columns of the file."""

STARTED: list[float] = []
"""The time at which the first lines came to a tuned flow."""
Total = tuple[int, float, float, int]
"""Flights, sum of delays, largest delay, late flights."""


def flow(source: Path, airlines: Path, target: Path, files: int) -> Dataflow:
    """Return a flow that reads, filters, looks up, and reduces by key."""
    with airlines.open(newline="") as file:
        names = {row["carrier"]: row["name"] for row in csv.DictReader(file)}
    result = Dataflow("flights")
    flights = tuned(result, source, names) if source.is_dir() else documented(result, source, names)
    totals = op.reduce_final("totals", flights, add)
    texts = op.map("texts", totals, lambda total: (total[0], json.dumps([*total[0].split(","), *total[1]])))
    op.output("statistics", texts, DirSink(target, files))
    return result


def documented(flow: Dataflow, file: Path, names: dict[str, str]) -> KeyedStream[Total]:
    """Return the named rows of a flow that handles one tuple a step, as a dictionary."""

    def named(row: dict[str, str]) -> tuple[str, Total]:
        carrier, delay = row["carrier"], float(row["dep_delay"])
        return f"{carrier},{names[carrier]},{row['month']}", (1, delay, delay, delay > LATE)

    rows = op.input("flights", flow, CSVSource(file))
    departed = op.filter("departed", rows, lambda row: row["dep_delay"] != "NA")
    return op.map("named", departed, named)


def tuned(flow: Dataflow, directory: Path, names: dict[str, str]) -> KeyedStream[Total]:
    """Return the named rows of a flow with rows as lists, whose columns are known by position."""

    def departed(row: list[str]) -> bool:
        return row[DELAY] not in ("NA", "dep_delay")  # the header of a file is a line like others

    def named(row: list[str]) -> tuple[str, Total]:
        carrier, delay = row[CARRIER], float(row[DELAY])
        return f"{carrier},{names[carrier]},{row[MONTH]}", (1, delay, delay, delay > LATE)

    lines = op.input("flights", flow, DirSource(directory, batch_size=1000))
    rows = op.flat_map_batch("rows", lines, parse)
    return op.map("named", op.filter("departed", rows, departed), named)


def parse(lines: list[str]) -> Iterator[list[str]]:
    """Return lines as rows. The first ones come when all processes have started."""
    if not STARTED:
        STARTED.append(time.monotonic())
    return csv.reader(lines)


def add(one: Total, other: Total) -> Total:
    """Return the sum of two summaries."""
    return one[0] + other[0], one[1] + other[1], max(one[2], other[2]), one[3] + other[3]


def table(target: Path) -> pa.Table:
    """Return the table that the sinks wrote."""
    rows = [json.loads(line) for file in sorted(target.iterdir()) for line in file.read_text().splitlines()]
    columns = {name: [row[number] for row in rows] for number, name in enumerate(("carrier", "airline"))}
    count, delay = [row[3] for row in rows], [row[4] for row in rows]
    columns |= {"month": [int(row[2]) for row in rows], "flights": count, "max_delay": [row[5] for row in rows]}
    columns["mean_delay"] = [sum_ / n for sum_, n in zip(delay, count, strict=True)]
    columns["late_share"] = [row[6] / row[3] for row in rows]
    return pa.table({field.name: pa.array(columns[field.name], field.type) for field in RESULT})


def free_addresses(count: int) -> list[str]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return addresses


def lead(source: str, airlines: str, result: str, tuples: str, processes: str) -> None:
    """Start the other processes, be the first one."""
    addresses = free_addresses(int(processes))
    with TemporaryDirectory() as target:
        arguments = (source, airlines, target, " ".join(addresses))
        command = [sys.executable, "-m", "benchmarks.peers.bytewax_flow", "follow"]
        others = [subprocess.Popen([*command, *arguments, str(each)]) for each in range(1, len(addresses))]
        STARTED.clear()
        began = time.monotonic()
        follow(*arguments, "0")
        if any(other.wait() for other in others):
            sys.exit("a Bytewax process failed")
        ended = time.monotonic()
        answer(table(Path(target)), [((STARTED or [began])[0], 0), (ended, int(tuples))], Path(result))


def follow(source: str, airlines: str, target: str, addresses: str, number: str) -> None:
    """Run one process of the cluster."""
    cluster = addresses.split()
    dataflow = flow(Path(source), Path(airlines), Path(target), len(cluster))
    cluster_main(dataflow, cluster if len(cluster) > 1 else [], int(number))


if __name__ == "__main__":
    if sys.argv[1] == "follow":
        follow(*sys.argv[2:])
    else:
        lead(*sys.argv[1:])
