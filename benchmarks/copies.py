"""One stream of wide tuples to four consumers of which one writes: copies as planned against copying for everybody.

All run the same task of the same PE, without Spark, and every consumer reads every attribute. The plan that copies
always says so at every connection. `--faithful` keeps the copy that Streams would make for the one who
writes; without it the compiler serves that one last and saves the copy, too.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

from benchmarks.graphs import HERE
from benchmarks.harness import Row, answer_of, seconds
from benchmarks.sample_operators import SEEN, WIDE_ROWS
from streams_orchestration.compiler.compilation import PlannedCompilation
from streams_orchestration.compiler.compiling import compile_application
from streams_orchestration.compiler.deployment.deployment import plan_deployment
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.loading import application_from_mapping
from streams_orchestration.runtime.deployment import opening
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.runtime.local import LocalApplication

ATTRIBUTES, BATCHES, READERS = 100, 2, 3
IN_A_ROW = 5
"""Micro-batches of one variant before the next has its turn, as in a worker that continues."""
NEW = {"MALLOC_MMAP_THRESHOLD_": "131072"}
"""An environment in which the C library gives large memory back at once, so that each copy has to map its pages."""
KEPT = {"MALLOC_MMAP_THRESHOLD_": "33554432", "MALLOC_TRIM_THRESHOLD_": "1073741824"}
"""An environment in which it keeps memory. Without either, it depends on what the process has done before."""


def planned(*, faithful: bool = False) -> PlannedCompilation:
    """Return the application with the copies that the compiler plans."""
    schema = ", ".join(f"a{number} double" for number in range(ATTRIBUTES))
    consumers = {"Write": "Write"} | {f"Look{number}": "Look" for number in range(READERS)}
    document = {
        "specVersion": 1,
        "application": "copies",
        "operators": {
            "Wide": {"implementation": f"{HERE}:Wide", "inputs": []},
            "Look": {"implementation": f"{HERE}:Look", "inputs": [{}], "outputs": []},
            "Write": {"implementation": f"{HERE}:Write", "inputs": [{"mutable": True}], "outputs": []},
        },
        "graph": [
            {"name": "Wide", "operator": "Wide", "outputs": [{"stream": "Wide", "schema": schema}]},
            *({"name": name, "operator": kind, "inputs": ["Wide"], "outputs": []} for name, kind in consumers.items()),
        ],
    }
    options = Options(fusion="manual", pes=1, threading="manual", faithful=faithful)
    return compile_application(application_from_mapping(document), options)


def always(compilation: PlannedCompilation) -> PlannedCompilation:
    """Return the compiled application with a copy of all attributes at every connection, and its deployment plan."""
    everything = tuple(each._replace(passing="copy", attributes=None) for each in compilation.copies.connections)
    changed = replace(compilation, copies=replace(compilation.copies, connections=everything))
    return replace(changed, deployment=plan_deployment(changed))


def batch(home: Path, compilation: PlannedCompilation) -> Callable[[], tuple[int, dict[str, float]]]:
    """Return a function that runs one micro-batch, and returns the copies made and what the consumers saw."""
    with patch.object(opening, "broken_conditions", return_value=None):  # `always` copies what nothing changes
        application = LocalApplication(Home(home), compilation, BATCHES * WIDE_ROWS)
    (program,) = application.programs
    plan = application.plan(program)
    assert plan is not None

    def run() -> tuple[int, dict[str, float]]:
        SEEN.clear()
        results = application.execute(program, plan)
        assert not any(result.failure for result in results), results
        return sum(sum(result.copies.values()) for result in results), dict(SEEN)

    return run


def measured(repeat: int) -> dict[str, tuple[int, float]]:
    """Return variant -> copies in a micro-batch, and its time."""
    variants = {"planned": planned(), "faithful": planned(faithful=True), "always": always(planned())}
    with TemporaryDirectory(prefix="bench-") as directory:
        runs = [batch(Path(directory, name), compilation) for name, compilation in variants.items()]
        (none, expected), (few, actual), (many, too) = (run() for run in runs)
        assert actual == expected == too, f"the consumers saw other tuples: {expected}, {actual}, {too}"
        times = seconds(*(lambda run=run: [run() for _ in range(IN_A_ROW)] for run in runs), repeat=repeat)
    each = zip((none, few, many), (time / IN_A_ROW for time in times), strict=True)
    return dict(zip(variants, each, strict=True))


def rows(*, quick: bool = False) -> list[Row]:
    """Return the ratios of the times of a micro-batch, and of the copies in it."""
    result: list[Row] = []
    what = f"{READERS + 1} consumers of {ATTRIBUTES} attributes, one writes: copying always"
    for memory, environment in ((" in new memory", NEW), (", memory is there", KEPT)):
        answer = answer_of("benchmarks.copies", "3" if quick else "6", environment=environment)
        (none, least), (few, one), (many, most) = answer.values()
        result += [
            Row(f"{what} ({many} copies){memory} / as planned ({none})", most, "s", least, 2.0, at_least=True),
            Row(f"{what}{memory} / as planned with --faithful ({few})", most, "s", one, at_least=True),
        ]
    return result


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]))))
