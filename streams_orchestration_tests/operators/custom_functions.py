"""Functions for tests of Custom."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from streams_orchestration.operators import Punctuation, TupleBatch, operator


def numbered(batch: TupleBatch, state: dict[str, Any]) -> dict[str, Any]:
    """Return every tuple with its number so far."""
    first = state.get("count", 0)
    state["count"] = first + len(batch)
    return {"k": batch.arrow["k"], "n": list(range(first, first + len(batch)))}


def forget(batch: TupleBatch, state: dict[str, Any]) -> TupleBatch | None:
    """Passes on what comes before it has emptied its state."""
    result = batch if state else None
    state.clear()
    return result


def by_sign(batch: TupleBatch, port: int, arguments: dict[str, Any]) -> Iterator[Any]:
    """Positive numbers to output port 0, others to port 1, and a marker for a certain input port."""
    numbers = batch.column("n")
    yield batch.filter(numbers > 0)
    yield 1, batch.filter(numbers <= 0)
    if port == arguments["marked"]:
        yield 1, Punctuation.WINDOW


def total(mark: Punctuation, state: dict[str, Any]) -> dict[str, Any]:
    """Return a tuple for every mark."""
    return {"k": [mark.value], "n": [state["count"]]}


def double(batch: TupleBatch) -> TupleBatch:
    batch.writable("n")[:] *= 2
    return batch


def wanting(batch: TupleBatch, everything: Any) -> None:
    pass


@operator
def itself(batch: TupleBatch) -> None:
    pass


SOMETHING = 1


def each(values: dict[str, Any], port: int, state: dict[str, Any], arguments: dict[str, Any]) -> Iterator[Any]:
    """Yield every tuple twice, the second time to output port 1 with its number, a marker behind a certain key."""
    yield values
    state["count"] = state.get("count", 0) + 1
    yield 1, {"k": values["k"], "n": state["count"]}
    if values["k"] == arguments.get("marked"):
        yield Punctuation.WINDOW


def given(values: dict[str, Any], arguments: dict[str, Any]) -> Any:
    """Return the value of a key from the parameters, else the tuple."""
    return arguments.get(values["k"], values)


def timing_out(values: dict[str, Any], timers: Any, arguments: dict[str, Any]) -> None:
    """Set the timer of k at every tuple."""
    timers[values["k"]] = values["at"] + arguments["after"]


def fired(key: Any, time: Any) -> dict[str, Any]:
    """Return a tuple for every timer."""
    return {"k": key, "at": time}


def changing(values: dict[str, Any], timers: Any) -> None:
    """Sets the timer of k to at + v, or takes it back where v is below 0; every third time it has a name."""
    mine = timers["third"] if values["at"] % 3 == 0 else timers
    if values["v"] < 0:
        del mine[values["k"]]
    else:
        mine[values["k"]] = values["at"] + values["v"]


def changing_batches(batch: TupleBatch, timers: Any) -> None:
    """Change timers as `changing` does, by batches."""
    for values in batch.to_pylist():
        changing(values, timers)


def chaining(key: str, time: int, name: str, timers: Any) -> Iterator[dict[str, Any]]:
    """Yield a tuple for every timer, of which some set another one or take one back."""
    yield {"k": f"{name} {key}", "at": time}
    if time % 4 == 0:
        timers["again"][key] = time + 1 + time % 5
    elif time % 7 == 0:
        del timers["b"]


def chaining_batches(key: str, time: int, name: str, timers: Any) -> Iterator[dict[str, Any]]:
    """Yield the tuples of `chaining` as columns."""
    for values in chaining(key, time, name, timers):
        yield {attribute: [value] for attribute, value in values.items()}


def noting(values: dict[str, Any], watermark: Any, state: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield a tuple on port 1 with the watermark."""
    state["tuples"] = state.get("tuples", 0) + 1
    yield 1, {"k": values["k"], "seen": watermark}


def at_watermark(watermark: Any, state: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    """Return a tuple on port 1 for each step, with the number of tuples before it."""
    return 1, {"k": str(state.get("tuples", 0)), "seen": watermark}


def timed(values: dict[str, Any], timers: Any, arguments: dict[str, Any]) -> None:
    """Sets a timer as the arguments say."""
    timers[arguments.get("key", values["k"])] = arguments.get("time", values["at"])


def keyed(values: dict[str, Any], timers: Any) -> None:
    """Sets a timer with a key of no allowed type."""
    timers[[values["k"]]] = values["at"]


def named(values: dict[str, Any], timers: Any) -> None:
    """Reads the time of a timer wrongly."""
    timers[7]


def looking(values: dict[str, Any], timers: Any) -> Iterator[dict[str, Any]]:
    """Yield the time of the timer of k, before it is set to at; -1 without one."""
    key = (values["k"], 1)
    yield {"k": str(key in timers), "at": timers.get(key) or -1}
    timers[key] = values["at"]


def nothing(watermark: Any) -> None:
    pass
