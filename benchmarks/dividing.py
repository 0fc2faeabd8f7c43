"""The time of dividing states of a million keys when a width changes, against reading and writing their files bare."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pyarrow as pa

from benchmarks import graphs
from benchmarks.state_size import filled
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.redeployment.numbered import at_run_time
from streams_orchestration.compiler.redeployment.preview import preview
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.storage.durable_files import write_durably
from streams_orchestration.runtime.programs.batches import StoredState
from streams_orchestration.runtime.redeployment.state_migration import Carrier, CommonCut
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.routing import hash_channels
from streams_orchestration.runtime.tasks.state_files import state_data, store_dump

BEFORE, AFTER = 2, 3
"""The widths before and after the redeploy."""
REPEAT = 5


class Times(NamedTuple):
    """The seconds of dividing states, and of the bare files."""

    divided: float
    """States are read, proved, divided, proved again and written, as a redeploy does it."""
    bare: float
    """The same tables are read from Arrow files and written to such, durably."""


def spec(directory: Path, kind: str, width: int) -> Path:
    """Write the spec of an application that counts the keys of a type in parallel channels."""
    parallel = {"parallel": {"width": width, "partitionBy": [{"port": "Made", "attributes": ["k"]}]}}
    counted = graphs.node("Counted", "Keyed", "Made", annotations=parallel)
    made = graphs.beacon("Made")
    made["parameters"]["output"]["k"] = f"CAST(IterationCount() AS {kind})"
    path = graphs.write(directory, "dividing", [made, counted, graphs.sink("Result", "Counted")])
    path.write_text(path.read_text().replace("k string", f"k {kind}"))
    return path


def dividing(kind: str, keys: int) -> Times:
    """Return the least of some times of dividing and of the bare files, which take turns."""
    with TemporaryDirectory(prefix="bench-") as scratch:
        directory = Path(scratch)
        deployed, wanted = (compile_spec(spec(directory, kind, width), Options()) for width in (BEFORE, AFTER))
        redeployment = preview(deployed, wanted)
        after = at_run_time(wanted, redeployment.numbering)
        before, then = (each.deployment.programs for each in (deployed, after))
        whole = filled(kind, keys).table()
        states = {each.operator: each for each in _stored(directory, whole)}
        files = [_arrow_file(directory / f"before-{i}", table) for i, table in enumerate(_parts(whole, BEFORE))]
        targets = _parts(whole, AFTER)
        times: list[Times] = []
        for number in range(REPEAT):
            begin = time.perf_counter()
            home = Home(directory / f"home-{number}")
            carried = Carrier(home, directory, before, then, CommonCut(states=states)).carry(redeployment)
            middle = time.perf_counter()
            for file in files:
                pa.ipc.open_stream(file.read_bytes()).read_all()
            for i, table in enumerate(targets):
                _arrow_file(directory / f"after-{number}-{i}", table)
            times.append(Times(middle - begin, time.perf_counter() - middle))
            assert len(carried.states) == AFTER, carried
    return Times(*map(min, zip(*times, strict=True)))


def _parts(whole: pa.Table, width: int) -> list[pa.Table]:
    """Return the rows of a table for each channel, by their keys."""
    keys = whole.select(["k"]).combine_chunks().to_batches()[0]
    channels = hash_channels(keys, ("k",), width)
    return [whole.filter(pa.array(channels == channel)).combine_chunks() for channel in range(width)]


def _stored(directory: Path, whole: pa.Table) -> Iterator[StoredState]:
    """Yield the state of each channel, stored in one file."""
    for channel, part in enumerate(_parts(whole, BEFORE)):
        state = KeyedState(part.select(["k"]).schema, part.drop(["k"]).schema)
        state.put_many(part, part.drop(["k"]))
        dump = state_data({"totals": state}, 0, None, b"")
        file = store_dump(Home(directory).store, str(directory), 0, 0, channel, dump, 0)
        yield StoredState(f"Counted[{channel}]", (file,))


def _arrow_file(path: Path, table: pa.Table) -> Path:
    body = pa.BufferOutputStream()
    with pa.ipc.new_stream(body, table.schema) as writer:
        writer.write_table(table)
    write_durably(path, body.getvalue())
    return path
