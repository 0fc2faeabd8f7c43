"""The results of Nexmark's queries, computed by DuckDB over the same events with its own SQL."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from benchmarks.disorder import LAG
from benchmarks.nexmark.events import Events

_CLOSING = """SELECT a.id, a.category, a.seller, a.expires, max(b.price) AS final
    FROM auctions a JOIN bids b ON a.id = b.auction WHERE b.moment BETWEEN a.moment AND a.expires GROUP BY ALL"""
_RANKS = {"": "true", "low_": "price < 10000", "middle_": "price BETWEEN 10000 AND 999999", "high_": "price >= 1000000"}
_COUNTED = {"bids": "*", "bidders": "DISTINCT bidder", "auctions": "DISTINCT auction"}
_OF_RANKS = ", ".join(
    f"count({what}) FILTER ({rank}) AS {prefix}{name}"
    for name, what in _COUNTED.items()
    for prefix, rank in _RANKS.items()
)
SQL = {
    "q0": "SELECT auction, bidder, price, moment, extra FROM bids",
    "q1": "SELECT auction, bidder, price * CAST(0.908 AS DOUBLE) AS price, moment FROM bids",
    "q2": "SELECT auction, price FROM bids WHERE auction % 123 = 0",
    "q3": """SELECT p.name, p.city, p.state, a.id FROM auctions a JOIN people p ON a.seller = p.id
             WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "q4": f"SELECT category, avg(final) AS average FROM ({_CLOSING}) GROUP BY category",
    "q5": """WITH panes AS (SELECT auction, epoch_us(moment) // 2000000 AS pane FROM bids),
             counts AS (SELECT pane - step AS win, auction, count(*) AS n FROM panes, range(5) AS steps(step)
                        GROUP BY pane - step, auction)
             SELECT win, auction, n FROM counts QUALIFY n = max(n) OVER (PARTITION BY win)""",
    "q6": f"""SELECT seller, avg(final) OVER (PARTITION BY seller ORDER BY expires, id ROWS 9 PRECEDING) AS average
              FROM ({_CLOSING})""",
    "q7": """WITH panes AS (SELECT *, epoch_us(moment) // 10000000 AS pane FROM bids)
             SELECT auction, bidder, price, moment FROM panes QUALIFY price = max(price) OVER (PARTITION BY pane)""",
    "q8": """SELECT DISTINCT p.id, p.name, epoch_us(p.moment) // 10000000 AS win FROM people p
             JOIN auctions a ON p.id = a.seller AND epoch_us(p.moment) // 10000000 = epoch_us(a.moment) // 10000000""",
    "q11": """WITH marked AS (
                  SELECT bidder, moment, coalesce(moment - lag(moment) OVER bids > INTERVAL 10 SECONDS, true) AS begins
                  FROM bids WINDOW bids AS (PARTITION BY bidder ORDER BY moment)),
              numbered AS (SELECT *, sum(begins::INT) OVER (PARTITION BY bidder ORDER BY moment) AS session FROM marked)
              SELECT bidder, count(*) AS n, min(moment) AS first, max(moment) AS last FROM numbered
              GROUP BY bidder, session""",
    "q12": "SELECT bidder, epoch_us(moment) // 10000000 AS win, count(*) AS n FROM bids GROUP BY ALL",
    "q15": f"SELECT epoch_us(moment) // 86400000000 AS day, {_OF_RANKS} FROM bids GROUP BY day",
}


ON_TIME = f"""SELECT * FROM (
    SELECT *, max(moment) OVER (ORDER BY arrival ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS latest
    FROM $arrived)
    WHERE latest IS NULL OR moment >= latest - INTERVAL {LAG} MICROSECONDS"""
"""The tuples of a stream that are not late at its watermark: the greatest time of all tuples before, minus the lag.

DuckDB and Spark both run this text.
"""


def expected(query: str, events: Events, *, in_order: bool = True) -> pa.Table:
    """Return the result of a query, in no order.

    Args:
        query: as in `queries.yaml`.
        events: the events.
        in_order: False if the events come in this order of arrival, and those that are late do not count.
    """
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, arrived in arrivals(events).items():
            connection.register(f"arrived_{name}", arrived)
            text = "FROM $arrived" if in_order else ON_TIME
            connection.execute(f"CREATE VIEW {name} AS {text.replace('$arrived', f'arrived_{name}')}")
        return connection.sql(SQL[query]).to_arrow_table()


def arrivals(events: Events) -> dict[str, pa.Table]:
    """Return the events by kind, with the attribute `arrival`, which numbers them in their order."""
    tables = {name: pa.Table.from_batches([batch]) for name, batch in events._asdict().items()}
    return {name: table.append_column("arrival", pa.array(range(len(table)))) for name, table in tables.items()}
