"""Two hosts on two machines against the same two hosts on one: what the network between them costs.

The machines are namespaces of Linux with process tables and networks of their own, and share the cores of this one. A
source and an operator are on one host, an operator and a sink on the other, in one region. The catalog is in PostgreSQL
and reached over the network; the state directory is a mounted one that all machines share. Results are checked.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow.parquet as pq

from benchmarks import graphs
from benchmarks.application import run
from benchmarks.harness import Row
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.machines.register import read_machines
from streams_orchestration.runtime.observing.reading import read_status
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.machines.namespaces import address_of_servers, machines, why_not
from streams_orchestration_tests.postgresql import server
from streams_orchestration_tests.postgresql import why_not as why_no_server
from streams_orchestration_tests.servers.jars import free_port

NAME = "hosts_apart"
TUPLES = 24_000_000
ROUNDS = 3
AT_LEAST = 0.9
START_SECONDS = 60.0
VARIANTS = {"two machines": ("a", "b"), "one machine": ("a",)}


def spec(directory: Path, tuples: int) -> Path:
    """Write the spec of two PEs on two hosts."""
    sides = {side: {"partitionColocation": [side]} for side in ("left", "right")}
    apart = {"hostExlocation": ["apart"]}
    graph: list[dict[str, Any]] = [
        graphs.beacon("Made", tuples) | {"config": {"placement": sides["left"] | apart}},
        graphs.node("Passed", "Add", "Made") | {"config": {"placement": sides["left"]}},
        graphs.node("Added", "Add", "Passed") | {"config": {"placement": sides["right"] | apart}},
        graphs.sink("Result", "Added") | {"config": {"placement": sides["right"]}},
    ]
    return graphs.write(directory, NAME, graph)


def throughput(names: tuple[str, ...], tuples: int) -> float:
    """Return the tuples a second from the first commit of the source to the last one of the sink.

    Args:
        names: the names of the machines.
        tuples: the number of tuples that the source makes.
    """
    with TemporaryDirectory(prefix="bench-") as scratch, agents(Path(scratch), *names) as home:
        done = run(spec(Path(scratch), tuples), home, ["Made", "Result"])
        on = {host.machine for host in read_status(Catalog(home), NAME).hosts}
        assert on == {*names}, f"hosts were to be on {', '.join(names)}, and are on {on}"
        numbers = np.concatenate([pq.read_table(file)["n"].to_numpy() for file in home.results(NAME).glob("*/part-*")])
    numbers.sort()
    assert np.array_equal(numbers, np.arange(2, tuples + 2)), "tuples were lost, doubled or changed"
    return done.through("Made", "Result")


@contextmanager
def agents(place: Path, *names: str) -> Iterator[Home]:
    """Yield the state directory that machines share, while their agents run."""
    home = Home(place / "home")
    with ExitStack() as stack:
        address = stack.enter_context(address_of_servers())
        served = stack.enter_context(server(address, free_port(address)))
        settings = {"STREAMS_HOME": str(home.root), "STREAMS_CATALOG": served.url_of_network("streams")}
        stack.enter_context(patch.dict(os.environ, settings))
        stack.enter_context(machines(os.environ, place, **dict.fromkeys(names, "")))
        until = time.monotonic() + START_SECONDS
        while len(read_machines(Catalog(home))) < len(names):
            assert time.monotonic() < until, "the agents do not register"
            time.sleep(0.1)
        yield home


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratio of throughputs; none where no machines can be made."""
    if reason := why_not() or why_no_server():
        print(f"  left out: {reason}", file=sys.stderr)
        return []
    tuples, best = TUPLES // 3 if quick else TUPLES, dict.fromkeys(VARIANTS, 0.0)
    for _ in range(1 if quick else ROUNDS):
        for name, there in VARIANTS.items():
            speed = throughput(there, tuples)
            best[name] = max(best[name], speed)
            print(f"  {name}: {speed:,.0f} tuples/s", file=sys.stderr, flush=True)
    two, one = best.values()
    return [Row("hosts_apart: two hosts on two machines / on one, same cores", two, "/s", one, AT_LEAST, at_least=True)]
