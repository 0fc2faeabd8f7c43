"""The parent of a host's Python workers, which imports once what every task needs, so that workers are mere forks.

Spark runs it with `python -m` and the name of a worker module; its setting is `spark.python.daemon.module`.
"""

from __future__ import annotations

import gc
import os

import pandas  # noqa: F401  # pyright: ignore[reportUnusedImport, reportMissingTypeStubs] (pyarrow looks for it when it first makes an array)
from pyspark.daemon import manager

from streams_orchestration.runtime.engine.spark import stages
from streams_orchestration.runtime.logs.secret_redaction import hide_secrets
from streams_orchestration.runtime.processes.forks import keep_sockets_from_forks


def freeze() -> None:
    """Collect garbage, and exempt all other objects in memory from the collection that a worker runs after every task.

    These are mostly imported modules; checking them takes longer than many a task.
    """
    gc.unfreeze()  # so that garbage from a reset is collected
    gc.collect()
    gc.freeze()


stages.freeze = freeze

if __name__ == "__main__":
    hide_secrets()
    os.register_at_fork(after_in_child=keep_sockets_from_forks)  # a worker keeps only its socket to Spark
    freeze()
    manager()
