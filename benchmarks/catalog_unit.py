"""The times of what one unit of many PEs does as a whole on PostgreSQL: `python -m benchmarks.catalog_unit PES...`."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.catalog_load import APPLICATION, DURABLE, Load, SimulatedPe, cut_seconds, deploy, reset_seconds
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.units.garbage import Garbage
from streams_orchestration.runtime.units.watch import advance_units
from streams_orchestration_tests.postgresql import server


def times(pes: int) -> dict[str, float]:
    """Return the seconds of each act of a unit as a whole, without other units, one PE after the other."""
    load = Load(pes=pes, region=pes)
    with server(options=DURABLE) as postgresql, TemporaryDirectory() as directory:
        os.environ["STREAMS_CATALOG"] = postgresql.url("alone")
        home = Home(Path(directory))
        began = time.perf_counter()
        programs = deploy(home, load)
        deployed = time.perf_counter() - began
        catalog = Catalog(home)
        simulated = [SimulatedPe(catalog, program, load) for program in programs]
        for pe in simulated:
            pe.turn()
        with catalog.write() as connection:
            connection.execute(tables.unit.update().values(deadline=0.0))
        advance_units(catalog, APPLICATION)
        began = time.perf_counter()
        closing = [took for pe in simulated if (took := pe.turn()) is not None]
        cut = time.perf_counter() - began
        if len(cut_seconds(home)) != 1:
            message = "the epoch is not complete"
            raise AssertionError(message)
        began = time.perf_counter()
        advance_units(catalog, APPLICATION)
        check = time.perf_counter() - began
        for pe in simulated:
            pe.turn()
        began = time.perf_counter()
        Garbage(catalog, APPLICATION, programs, load.units, 1).collect()
        collected = time.perf_counter() - began
        return {
            "deploy": deployed, "cut": cut, "commit": median(closing), "last commit": closing[-1], "check": check,
            "garbage": collected, "reset": reset_seconds(catalog, load.units[0]),
        }  # fmt: skip


def main() -> None:
    """Print the times of units with the given numbers of PEs."""
    for pes in map(int, sys.argv[1:]):
        print(pes, {name: round(seconds, 4) for name, seconds in times(pes).items()}, flush=True)


if __name__ == "__main__":
    main()
