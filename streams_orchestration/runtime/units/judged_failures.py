"""Judges the failure of a query: whether a reset can help, of which kind the cause is, and if it has occurred before.

The functions are pure.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

from streams_orchestration.runtime.catalog.cause_kinds import CauseKind, FilesKind, NamedKind, PeKind
from streams_orchestration.runtime.catalog.pe_transitions import FailedColumns
from streams_orchestration.runtime.catalog.reading import CatalogRow
from streams_orchestration.runtime.catalog.rows import StoredFailures
from streams_orchestration.runtime.errors.operator_errors import OperatorFailure
from streams_orchestration.runtime.programs.failure import Failure

FAILURE_WINDOW_SECONDS = 600.0
"""Seconds for which failures of the same code are counted together."""
MOST_TIMES = 16
"""The most failure times that are kept; more times would not make a pause longer."""


@dataclass(frozen=True, slots=True)
class PeBeforeFailure(CatalogRow):
    """The columns of a PE and its host on which the judgement of a failure depends."""

    id: int
    host: int
    failures: StoredFailures | None
    machine: str | None


def judge_failure(failure: Failure, pe: PeBeforeFailure, now: float, *, lost: bool) -> FailedColumns:
    """Return the columns of a PE whose query has failed.

    The failure is permanent if it comes from the data, or if a file is lost that the last cut of the unit needs. It is
    also permanent if a pure operator has failed again at the same tuples, and the cause is not outside of the
    application. A file that a machine cannot use is a cause of its own for each machine.

    Args:
        failure: the failure of the query.
        pe: the PE before it.
        now: unix seconds.
        lost: True if a file is lost that the last cut of the unit needs.
    """
    error, permanent, failures = str(failure), failure.nature == "data" or lost, pe.failures
    kind: CauseKind = PeKind(pe.id)
    if failure.operator is not None:
        kind, failures = NamedKind(failure.operator.kind), _count(pe.failures, failure.operator, now)
        if failures["repeats"] > 1:
            error += f"; this error occurred {failures['repeats']} times in a row at the same tuples"
            permanent |= failure.operator.pure and not failure.outside
    if failure.nature == "disk" and pe.machine is not None:
        kind = FilesKind(pe.host, pe.machine)
    return {
        "error": error,
        "permanent": permanent,
        "kind": kind,
        "outside": failure.outside,
        "failed_at": now,
        "failures": failures,
    }


def _count(before: StoredFailures | None, failure: OperatorFailure, now: float) -> StoredFailures:
    """Return a failure with its repeats in a row, and with the times of recent failures of the same code.

    At most `MOST_TIMES` times are kept, none older than `FAILURE_WINDOW_SECONDS`.
    """
    if before is None:
        return {"failure": asdict(failure), "repeats": 1, "times": [now]}
    last = OperatorFailure(**before["failure"])
    repeats = before["repeats"] + 1 if failure.is_again(last) else 1
    former = before["times"] if failure.code == last.code else ()
    times = [at for at in former if abs(now - at) < FAILURE_WINDOW_SECONDS]
    return {"failure": asdict(failure), "repeats": repeats, "times": [*times, now][-MOST_TIMES:]}


def times_of_failure(failures: StoredFailures | None, now: float) -> int:
    """Return how often the code that failed last has failed in `FAILURE_WINDOW_SECONDS`; 0 if no code has failed."""
    return 0 if failures is None else sum(abs(now - at) < FAILURE_WINDOW_SECONDS for at in failures["times"])
