"""A test suite with Spark sessions of its own beside applications with queries, in one process: see `test_session`."""

from __future__ import annotations

from pyspark import SparkContext
from pyspark.sql import SparkSession

import streams_orchestration.builder.operators as op
from streams_orchestration.builder import Application
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError


def tried() -> list[int]:
    """Return the numbers that come out of an application with a query."""
    app = Application("numbers")
    numbers = app.stream(op.FileSource(file="numbers.csv", format="csv"), schema="n bigint", name="Numbers")
    more = app.stream(op.Sql(query="SELECT n + 1 AS n FROM Numbers"), numbers, schema="n bigint", name="More")
    more.to_files("more")
    return next(iter(app.test({"Numbers": [(1,), (2,)]}).values()))["n"].to_pylist()


def main() -> None:
    """Print a line for each of three tries: at first, after the session was stopped, beside another session."""
    print(tried())
    session = SparkSession.getActiveSession()
    assert session is not None
    session.stop()
    print(tried())
    SparkSession.builder.getOrCreate().stop()  # type: ignore[attr-defined]
    with SparkContext("local[1]", "its own"):
        try:
            print(tried())
        except StreamsRuntimeError as error:
            print(error)


if __name__ == "__main__":
    main()
