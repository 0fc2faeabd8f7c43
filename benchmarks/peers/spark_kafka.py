"""The Kafka job in Spark: `python -m benchmarks.peers.spark_kafka BROKERS SOURCE TARGET`.

Spark's own connector, JSON by `from_json`, a streaming aggregation whose changes are written in update mode. The last
line printed is JSON with the end of every micro-batch and the messages read until then.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession

from benchmarks.peers.spark_query import progress_points, session
from streams_orchestration_tests.servers.jars import jars

CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"
NEEDED = ("spark-sql-kafka", "spark-token-provider-kafka", "kafka-clients", "commons-pool2")
"""The jars of the connector that Spark does not have itself."""
A_TRIGGER = 250_000
"""Messages of a micro-batch at most; larger ones are not faster."""
CLICK = "page string, robot boolean, milliseconds bigint, at bigint"
TOTALS = """
    SELECT page AS key, to_json(named_struct('page', page, 'minute', minute, 'clicks', count(*),
           'seconds', sum(seconds), 'longest', max(milliseconds))) AS value
    FROM (SELECT page, at div 60000 AS minute, milliseconds / 1000.0D AS seconds, milliseconds
          FROM clicks WHERE NOT robot)
    GROUP BY page, minute
"""


def clicks(spark: SparkSession, brokers: str, topic: str) -> DataFrame:
    """Return the topic as a stream of clicks."""
    options = {"kafka.bootstrap.servers": brokers, "subscribe": topic, "startingOffsets": "earliest"}
    reader = spark.readStream.format("kafka").options(**options).option("maxOffsetsPerTrigger", A_TRIGGER)
    return reader.load().selectExpr(f"from_json(CAST(value AS STRING), '{CLICK}') AS click").select("click.*")


def main(brokers: str, source: str, target: str) -> None:
    with TemporaryDirectory() as directory:
        connector = sorted(path for path in jars(CONNECTOR).glob("*.jar") if path.name.startswith(NEEDED))
        spark = session(Path(directory), {"spark.jars": ",".join(map(str, connector))})
        clicks(spark, brokers, source).createOrReplaceTempView("clicks")
        writer = spark.sql(TOTALS).writeStream.outputMode("update").format("kafka")
        writer = writer.option("kafka.bootstrap.servers", brokers).option("topic", target)
        query = writer.option("checkpointLocation", f"{directory}/checkpoint").trigger(availableNow=True).start()
        query.awaitTermination()
        progress = query.recentProgress
        total = sum(batch.numInputRows for batch in progress)
        print(json.dumps(list(progress_points(progress, total))))
        spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
