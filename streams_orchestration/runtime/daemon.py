"""The parent of a host's Python workers: imports what every task needs once, so that workers start by a mere fork.

Spark runs it as `python -m streams_orchestration.runtime.daemon <worker module>` (`spark.python.daemon.module`).
"""

from __future__ import annotations

import gc

import pandas as pd  # noqa: F401 (pyarrow looks for it when it first makes an array)
from pyspark.daemon import manager

import streams_orchestration.runtime.stages  # noqa: F401

if __name__ == "__main__":
    gc.freeze()  # a worker collects garbage after every task, and would look at all that is imported each time
    manager()
