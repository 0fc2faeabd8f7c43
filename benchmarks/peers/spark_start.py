"""Bare PySpark from its start to the end of the first batch of a rate source: `python -m benchmarks.peers.spark_start`.

The last line printed is JSON with the unix time of that.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession

TIMEOUT_SECONDS = 180.0


def session(scratch: Path) -> SparkSession:
    """Return a session as a script makes one for this machine, without the web interface, as the product does."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(f"local[{os.cpu_count() or 1}]").appName("start")  # type: ignore[attr-defined]
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main() -> None:
    done = threading.Event()

    def first(_batch: DataFrame, _number: int) -> None:
        done.set()

    with TemporaryDirectory(prefix="bench-") as scratch:
        spark = session(Path(scratch))
        spark.sparkContext.setLogLevel("OFF")
        query = (
            spark.readStream.format("rate").option("rowsPerSecond", 1000).load().writeStream.foreachBatch(first).start()
        )
        done.wait(TIMEOUT_SECONDS)
        at = time.time()
        query.stop()
        spark.stop()
    print(json.dumps({"at": at}))


if __name__ == "__main__":
    main()
