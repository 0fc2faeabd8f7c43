"""Annotations in Python that name no stream. `parallel` names streams, so it is in the module of streams."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from streams_orchestration.builder.nodes import Json


def consistent(
    period: float | str | None = None, *, trigger: Literal["periodic", "operatorDriven"] = "periodic", **more: Any
) -> Json:
    """Return the annotation of an operator that starts a consistent region.

    Args:
        period: the seconds between two cuts.
        trigger: `periodic`, or `operatorDriven` if the operator itself decides where an epoch ends.
        more: `drain_timeout` and `reset_timeout` in seconds, `max_consecutive_reset_attempts`, `restart` with the keys
            `pause` and `limit` in seconds.
    """
    return {"trigger": trigger} | ({} if period is None else {"period": period}) | plain_keys(more)


def threading(
    model: Literal["manual", "automatic", "dynamic", "dedicated"],
    *,
    threads: int | str | None = None,
    elastic: bool | str | None = None,
) -> Json:
    """Return the annotation for the threading model of an operator or composite."""
    more = {"threads": threads, "elastic": elastic}
    return {"model": model} | {key: value for key, value in more.items() if value is not None}


_ACRONYMS = frozenset(("csv", "lhs", "rhs"))


def plain_keys(values: Mapping[str, Any]) -> Json:
    """Return the mapping with its keys in camel case: `drain_timeout` becomes `drainTimeout`.

    >>> plain_keys({"drain_timeout": 5, "ignore_extra_csv_values": True})
    {'drainTimeout': 5, 'ignoreExtraCSVValues': True}
    """
    return {_camel(name): value for name, value in values.items()}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(part.upper() if part in _ACRONYMS else part.capitalize() for part in rest)
