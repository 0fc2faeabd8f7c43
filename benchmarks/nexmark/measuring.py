"""Events a second of the queries here: `python -m benchmarks.nexmark.measuring WAY FILES EVENTS RESULTS QUERY...`.

Every query runs with standard operators (`WAY` is `operators`), with windows of event time (`event_time`), or as one of
Spark's (`sql`), one after another in the session of one host, over the slices of `FILES`, one a batch. The last line
printed is JSON, query -> events a second after start-up.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

from benchmarks.batch_durations import session
from benchmarks.in_process import commits
from benchmarks.nexmark.application import STREAMED, Way, document, sources_of
from benchmarks.peers.answer import steady
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.runtime.settings.settings import LIMIT
from streams_orchestration.runtime.storage.home import Home


def main(way: Way, files: str, events: str, results: str, *queries: str) -> None:
    """Measure."""
    os.environ[LIMIT] = "1"  # a batch is one slice
    rates: dict[str, float] = {}
    with TemporaryDirectory(prefix="bench-") as scratch:
        spark = session(Path(scratch), queries=way == "sql")
        for query in queries:
            if way == "sql" and query not in STREAMED:
                continue
            home = Home(Path(scratch, query)).prepare()
            application = application_from_mapping(document(query, int(events), how=way, files=files))
            compilation = compile_application(application, Options(fusion="manual", pes=1))
            # a source counts the tuples that it gives, a query those that come in
            reader = "Result" if way == "sql" else next(iter(sources_of(query, way)))
            points = commits(spark, home, compilation, reader)
            rates[query] = steady(points) * int(events) / points[-1][1]
            print(f"  {query} with {way}: {rates[query]:,.0f} events/s", file=sys.stderr, flush=True)
            shutil.copytree(home.results(f"nexmark_{query}") / "result", Path(results, f"{query}-{way}"))
    print(json.dumps(rates))


if __name__ == "__main__":
    main(cast(Way, sys.argv[1]), *sys.argv[2:])
