"""The results and states of an application that nothing disturbs: its PEs, stepped in one process."""

from __future__ import annotations

import multiprocessing
import tempfile
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from streams_orchestration.builder.testing import spark_engine
from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.operators.states.dict_state import DictState
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.runtime.catalog.catalog import Catalog
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration.runtime.tasks.state_files import read_state
from streams_orchestration.runtime.tasks.stored_states import newest_states
from streams_orchestration_tests.chaos.shapes import Shape, Tuples
from streams_orchestration_tests.runtime.local import LocalApplication


class Outcome(NamedTuple):
    """The outcome of a run."""

    results: dict[str, Tuples]
    """Sink -> its tuples, in the order of its parts."""
    states: dict[str, Any]
    """Logical name of an operator -> the states of its replicas together."""


def undisturbed(shape: Shape) -> Outcome:
    """Run it without faults, and without waiting; in a process of its own where that starts a JVM."""
    if not shape.needs_spark:
        return _undisturbed(shape)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(_undisturbed, shape).result()


def _undisturbed(shape: Shape) -> Outcome:
    with tempfile.TemporaryDirectory() as directory:
        home = Home(Path(directory))
        hurry = Path(directory, "hurry")
        hurry.touch()
        shape = shape.apart()
        with LocalApplication(home, shape.compiled(hurry), source_limit=5_000, engine=spark_engine) as local:
            local.run()
            return outcome(shape, home, local.programs)


def outcome(shape: Shape, home: Home, programs: Iterable[PeProgram]) -> Outcome:
    """Return the results and states that a complete application has left in its directories and its catalog."""
    states = {}
    with Catalog(home).read() as connection:
        for program in programs:
            for operator, stored in newest_states(connection, shape.name, program.pe).items():
                if any(file.place for file in stored.files):
                    continue  # Spark's, which shows in results only
                logical = operator.partition("[")[0]
                states[logical] = together(states.get(logical), plain(read_state(home.store, stored)))
    return Outcome(shape.results(home), states)


def together(one: Any, other: Any) -> Any:
    """Return the union of the states of several replicas, however their keys lie; each in the form of `plain`."""
    match one, other:
        case None, _:
            return other
        case dict(), dict():
            return {key: together(one.get(key), other.get(key)) for key in sorted({*one, *other})}
        case list(), list():
            return sorted([*one, *other])
        case _:
            return one if other is None else f"{one} {other}"


def plain(state: Any) -> Any:
    """Return a state in terms that can be compared."""
    match state:
        case DictState():
            return {"dict": sorted((repr(key), repr(value)) for key, value in state.items())}
        case KeyedState():
            return {"keyed": sorted(repr(row) for row in state.table().to_pylist())}
        case pa.Table():
            return sorted(repr(row) for row in state.to_pylist())
        case dict():
            return {
                key: plain(_watermark(value) if key == "@watermark" else value) for key, value in sorted(state.items())
            }
        case _:
            return repr(state)


def _watermark(state: dict[str, Any]) -> dict[str, Any]:
    """Return a stored watermark without the counts that a redeploy restarts (EV45): of tuples and decisions."""
    partitions = {name: [each[0], *each[2:]] for name, each in state.get("partitions", {}).items()}
    known = {"entries": {}, "idle": [], "rests": False, "sent": None, "threshold": None}
    return {**known, **state, "partitions": partitions, "decided": 0}


def differences(actual: Outcome, wanted: Outcome, ordered: Iterable[str], *, by_key: bool = False) -> list[str]:
    """Return the tuples and states that a run has lost, doubled or mixed up; nothing if it is correct.

    Args:
        actual: of the run.
        wanted: of an undisturbed one.
        ordered: sinks whose tuples come in one order only.
        by_key: this holds for the tuples of each key: they went by several channels at times.
    """
    reported = []
    for sink in sorted({*actual.results, *wanted.results}):
        is_, should = actual.results.get(sink, []), wanted.results.get(sink, [])
        lost, extra = Counter(should) - Counter(is_), Counter(is_) - Counter(should)
        if lost or extra:
            reported.append(
                f"{sink}: {lost.total()} of {len(should)} tuples are lost (as {_some(lost)}), "
                f"{extra.total()} are doubled or wrong (as {_some(extra)})"
            )
        elif sink in ordered and (first := _first_other(is_, should, by_key=by_key)) is not None:
            reported.append(f"{sink}: out of order {first}")
    for operator in sorted({*actual.states, *wanted.states}):
        # an operator whose state is empty may never have stored one
        if (actual.states.get(operator) or {}) != (wanted.states.get(operator) or {}):
            reported.append(f"{operator}: its state is not that of an undisturbed run")
    return reported


def _first_other(actual: Tuples, wanted: Tuples, *, by_key: bool) -> str | None:
    """Return the first tuple that has another one's place, in words; None when there is none."""
    places: defaultdict[Any, deque[tuple[Any, ...]]] = defaultdict(deque)
    for each in wanted:
        places[each[0] if by_key else None].append(each)
    for number, each in enumerate(actual):
        if (should := places[each[0] if by_key else None].popleft()) != each:
            return f"from tuple {number} on: {each} in place of {should}"
    return None


def _some(tuples: Counter[tuple[Any, ...]]) -> str:
    return ", ".join(str(each) for each in list(tuples)[:3]) or "none"
