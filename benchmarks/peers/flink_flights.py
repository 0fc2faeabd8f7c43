"""The flights job in Flink: `python -m benchmarks.peers.flink_flights FLIGHTS AIRLINES RESULT`, where PyFlink is.

SQL of the Table API in batch mode, since the sink of files takes no results that change. A header is a row whose month
is not a number, so it has no delay either. No benchmark runs it: `benchmarks.program_lines` counts its lines.
"""

# pyright: reportMissingImports=false
# (PyFlink is in an environment of its own)

from __future__ import annotations

import sys

from pyflink.table import EnvironmentSettings, TableEnvironment

FLIGHTS = """
    CREATE TABLE flights (
        `year` INT, `month` INT, `day` INT, dep_time INT, sched_dep_time INT, dep_delay DOUBLE, arr_time INT,
        sched_arr_time INT, arr_delay DOUBLE, carrier STRING, flight INT, tailnum STRING, origin STRING, dest STRING,
        air_time DOUBLE, distance DOUBLE, `hour` INT, `minute` INT, time_hour STRING
    ) WITH ('connector' = 'filesystem', 'path' = '{0}', 'format' = 'csv', 'csv.null-literal' = 'NA',
            'csv.ignore-parse-errors' = 'true')
"""
AIRLINES = """
    CREATE TABLE airlines (carrier STRING, name STRING)
    WITH ('connector' = 'filesystem', 'path' = '{0}', 'format' = 'csv')
"""
DELAYS = """
    CREATE TABLE delays (
        carrier STRING, airline STRING, `month` INT, flights BIGINT, mean_delay DOUBLE, max_delay DOUBLE,
        late_share DOUBLE
    ) WITH ('connector' = 'filesystem', 'path' = '{0}', 'format' = 'csv')
"""
STATISTICS = """
    INSERT INTO delays
    SELECT flights.carrier, name, `month`, COUNT(*), AVG(dep_delay), MAX(dep_delay),
           AVG(CASE WHEN dep_delay > 15 THEN 1E0 ELSE 0E0 END)
    FROM flights JOIN airlines ON flights.carrier = airlines.carrier
    WHERE dep_delay IS NOT NULL
    GROUP BY flights.carrier, name, `month`
"""


def main(flights: str, airlines: str, result: str) -> None:
    """Run it."""
    environment = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    for table, path in ((FLIGHTS, flights), (AIRLINES, airlines), (DELAYS, result)):
        environment.execute_sql(table.format(path))
    environment.execute_sql(STATISTICS).wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
