"""Metrics in the catalog: the total counts of every PE, and a ring of its last totals for rates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.catalog.upserts import upsert
from streams_orchestration.runtime.programs.batches import BatchPlan, TaskResult
from streams_orchestration.runtime.programs.counts import Counts, add

SAMPLE_SECONDS = 5.0
"""Least seconds between two totals in the ring."""
SAMPLES = 16
"""The number of totals in the ring of a PE, which cover a little more than the window of the rates."""

_m = tables.pe_metrics


def batch_counts(plan: BatchPlan, results: Sequence[TaskResult], spark: float, commit: float) -> Counts:
    """Return the counts that a batch adds to the total of its PE; empty if measuring is off.

    Args:
        plan: the plan of the batch.
        results: the results of all its tasks.
        spark: the wall seconds from the plan to the results.
        commit: the wall seconds of the previous commit, which could not count itself.
    """
    if not any(result.metrics for result in results):
        return {}
    work: dict[int, int] = defaultdict(int)
    counts: Counts = {}
    for result in results:
        add(counts, result.metrics)
        work[result.level] = max(work[result.level], result.metrics["tasks"]["wall_ns"])
        for state in result.states:
            size = sum(file.size for file in state.files)
            stored = {"gauges": {"bytes": size}, "written_bytes": state.files[-1].size, "checkpoints": 1}
            add(counts, {"operators": {state.operator: {"state": stored}}})
    counts["batches"] = {
        "count": 1,
        "rows_in": sum(result.rows_in for result in results),
        "rows_out": sum(result.rows_out for result in results),
        "plan_ns": int(plan.plan_seconds * 1e9),
        "spark_ns": int(spark * 1e9),
        "work_ns": sum(work.values()),
        "commit_ns": int(commit * 1e9),
    }
    return counts


def nothing_yet(program: PeProgram) -> Counts:
    """Return the total of a PE before its first batch: every operator and port with 0."""
    flow = {"tuples": 0, "batches": 0, "bytes": 0, "marks": 0}
    return {
        "operators": {
            operator.name: {
                side: {str(port): dict(flow) for port in range(len(ports))}
                for side, ports in (("inputs", operator.inputs), ("outputs", operator.outputs))
            }
            for operator in program.operators.values()
        }
    }


@dataclass(frozen=True, slots=True)
class Total:
    """The counts of a PE over all batches before the current one."""

    since: float
    """The time at which counting began, in unix seconds."""
    sampled_at: float
    """Unix seconds of the newest total in the ring."""
    counts: Counts


def record(
    connection: Connection, program: PeProgram, total: Total | None, counts: Counts, began: float, now: float
) -> None:
    """Add the counts of a batch to the total of its PE, in the transaction of its commit.

    The total also goes into the ring, if the newest one there is at least `SAMPLE_SECONDS` old or is in the future.

    Args:
        connection: connection of the transaction.
        program: the PE.
        total: total before the batch; None before the first batch.
        counts: counts of the batch.
        began: unix seconds at which the batch began. The total was 0 then if this is the first batch.
        now: unix seconds.
    """
    key = {"application": program.application, "pe": program.pe}
    if total is None:
        total = Total(began, began, nothing_yet(program))
        _sample(connection, key, began, {})
    after, sampled = add(total.counts, counts), total.sampled_at
    if not 0 <= now - sampled < SAMPLE_SECONDS:  # the sample is ahead if the clock was set back
        _sample(connection, key, now, after)
        sampled = now
    values = {"since": total.since, "at": now, "sampled_at": sampled, "counts": after}
    connection.execute(upsert(connection, _m), key | values)


def begin_total(connection: Connection, program: PeProgram, counts: Counts, since: float, now: float) -> None:
    """Write the first total of a PE that replaces others; its rates are computed from there.

    Args:
        connection: a connection in a write transaction.
        program: the program of the PE.
        counts: the counts of the former PEs.
        since: the time since which they were counted, in unix seconds.
        now: unix seconds.
    """
    key = {"application": program.application, "pe": program.pe}
    values = {"since": since, "at": now, "sampled_at": now, "counts": counts}
    connection.execute(upsert(connection, _m), key | values)
    _sample(connection, key, now, counts)


def _sample(connection: Connection, key: dict[str, Any], at: float, counts: Counts) -> None:
    slot = int(at / SAMPLE_SECONDS) % SAMPLES
    connection.execute(upsert(connection, tables.metrics_sample), {**key, "slot": slot, "at": at, "counts": counts})
