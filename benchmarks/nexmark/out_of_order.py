"""Queries with windows of event time over events that are out of order, against windows by the order of arrival.

`python -m benchmarks nexmark --out-of-order`. Events are shuffled within 4 s of event time, and one in a hundred is
later than that, so that it is dropped. A ratio to the operators that need events in order is of processor time, in this
process: a million events in ten slices of Parquet, from reading them to the files of the result. Spark streams the same
events that are out of order, with the same lag; see `throughput`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.harness import Row, answer_of
from benchmarks.nexmark.application import ALIKE, EVENT_TIME, Way, document
from benchmarks.nexmark.events import out_of_order, write_events
from benchmarks.nexmark.throughput import SLICE
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.runtime.stepping import SteppedApplication
from streams_orchestration.runtime.storage.home import Home

EVENTS, QUICK_EVENTS = 1_000_000, 200_000
SPARK_EVENTS = 6_000_000
TO_OPERATORS = 0.6
TO_SPARK = {"q5": 4.0, "q7": 15.0, "q8": 8.0, "q11": 5.0}
"""The least ratio of each query."""


def runs(query: str, how: Way, files: Path, events: int, scratch: Path) -> Callable[[], float]:
    """Return what runs a query to its end, and returns the seconds of processor time that it took."""
    made = document(query, events, how=how, files=str(files))
    compilation = compile_application(application_from_mapping(made), Options(fusion="manual", pes=1))

    def run() -> float:
        with TemporaryDirectory(dir=scratch) as home, SteppedApplication(Home(Path(home)), compilation, 1) as stepped:
            begin = time.process_time()
            stepped.run()
            return time.process_time() - begin

    return run


def beside_operators(
    events: int, repeat: int, queries: Iterable[str], how: Way = "operators"
) -> dict[str, tuple[float, float]]:
    """Return events a second by query: those out of order with windows of event time, and those in order without.

    Args:
        events: the number of events.
        repeat: how often each is run; the quickest run counts.
        queries: the queries.
        how: the operators for events in order.
    """
    figures: dict[str, tuple[float, float]] = {}
    with TemporaryDirectory(prefix="bench-") as directory:
        ordered, shuffled = Path(directory, "ordered"), Path(directory, "shuffled")
        write_events(ordered, events, SLICE)
        write_events(shuffled, events, SLICE, numbers=out_of_order(events))
        for query in queries:
            both = (
                runs(query, "event_time", shuffled, events, Path(directory)),
                runs(query, how, ordered, events, Path(directory)),
            )
            taken = [[run() for run in both] for _ in range(repeat)]
            new, today = (events / min(column) for column in zip(*taken, strict=True))
            figures[query] = new, today
    return figures


def beside_spark(events: int) -> dict[str, tuple[float, float]]:
    """Return events a second by query behind the first fifth, with windows of event time here, and in Spark."""
    with TemporaryDirectory(prefix="bench-") as directory:
        files, results = Path(directory, "events"), Path(directory, "results")
        results.mkdir()
        write_events(files, events, SLICE, numbers=out_of_order(events))
        arguments = (str(files), str(events), str(results), *EVENT_TIME)
        theirs = answer_of("benchmarks.peers.nexmark_spark", "--out-of-order", *arguments, quiet=False)
        ours = answer_of("benchmarks.nexmark.measuring", "event_time", *arguments, quiet=False)
    return {query: (ours[query], theirs[query]) for query in EVENT_TIME}


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of every query to the operators for events in order, and to Spark."""
    result: list[Row] = []
    count, repeat = (QUICK_EVENTS, 3) if quick else (EVENTS, 5)
    for query, (new, alike) in beside_operators(count, repeat, ALIKE, "in_order").items():
        result.append(Row(f"Nexmark {query} out of order / the same operators in order", new, "/s", alike))
    for query, (new, today) in beside_operators(count, repeat, EVENT_TIME).items():
        result.append(Row(f"Nexmark {query} out of order / in order", new, "/s", today, TO_OPERATORS, at_least=True))
    for query, (own, spark) in beside_spark(QUICK_EVENTS * 3 if quick else SPARK_EVENTS).items():
        result.append(Row(f"Nexmark {query} out of order / Spark", own, "/s", spark, TO_SPARK[query], at_least=True))
    return result
