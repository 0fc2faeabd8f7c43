"""What the queries of Nexmark give, worked out by DuckDB over the same events."""

from __future__ import annotations

import duckdb
import pyarrow as pa

from benchmarks.nexmark.events import Events

SQL = {
    "q0": "SELECT auction, bidder, price, moment, extra FROM bids",
    "q1": "SELECT auction, bidder, price * CAST(0.908 AS DOUBLE) AS price, moment FROM bids",
    "q2": "SELECT auction, price FROM bids WHERE auction % 123 = 0",
    "q3": """SELECT p.name, p.city, p.state, a.id FROM auctions a JOIN people p ON a.seller = p.id
             WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')""",
    "q4": """SELECT category, avg(final) AS average FROM (
                 SELECT a.id, a.category, max(b.price) AS final FROM auctions a JOIN bids b ON a.id = b.auction
                 WHERE b.moment BETWEEN a.moment AND a.expires GROUP BY a.id, a.category) GROUP BY category""",
    "q5": """WITH panes AS (SELECT auction, epoch_us(moment) // 2000000 AS pane FROM bids),
             counts AS (SELECT pane - step AS win, auction, count(*) AS n FROM panes, range(5) AS steps(step)
                        GROUP BY pane - step, auction)
             SELECT win, auction, n FROM counts
             WHERE win + 5 < (SELECT max(pane) FROM panes)
             QUALIFY n = max(n) OVER (PARTITION BY win)""",
    "q7": """WITH panes AS (SELECT *, epoch_us(moment) // 10000000 AS pane FROM bids)
             SELECT auction, bidder, price, moment FROM panes WHERE pane < (SELECT max(pane) FROM panes)
             QUALIFY price = max(price) OVER (PARTITION BY pane)""",
    "q8": """SELECT DISTINCT p.id, p.name, epoch_us(p.moment) // 10000000 AS win FROM people p
             JOIN auctions a ON p.id = a.seller AND epoch_us(p.moment) // 10000000 = epoch_us(a.moment) // 10000000""",
}
"""Windows that nothing has come behind are left out, as the queries do."""


def expected(query: str, events: Events) -> pa.Table:
    """The result of a query, in no order."""
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for name, batch in events._asdict().items():
            connection.register(name, pa.Table.from_batches([batch]))
        return connection.sql(SQL[query]).to_arrow_table()
