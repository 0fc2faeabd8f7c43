"""Checks of a decoupling problem after parsing: names, kinds, loops and fan-outs."""

from __future__ import annotations

from collections.abc import Iterator

from streams_orchestration.model.decoupling import Operation, Problem
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.names import nearest

ROOTS = ("source", "net_recv")
"""Kinds of operators without parents in the problem."""
LEAVES = ("net_send", "sink")
"""Kinds of operators that no operator of the problem reads."""
RECEIVERS = ("net_recv", "net_self")
"""Kinds of operators that receive from a network, so that they may have `recv_cpu`."""


def check_problem(problem: Problem) -> list[Diagnostic]:
    """Return the diagnostics about a problem, in the order of the checks.

    Loops and fan-outs are checked only if the earlier checks find nothing.
    """
    operations: dict[int | str, Operation] = {}
    diagnostics: list[Diagnostic] = []
    texts: dict[str, Operation] = {}
    for each in problem.ops:
        other = texts.setdefault(str(each.id), each)
        if other is not each:
            alike = "" if each.id == other.id else ", a number and a text, which are one name in the answer"
            diagnostics.append(_of("SO0601", each, f"there are two operators {each.id}{alike}", "id"))
        operations.setdefault(each.id, each)
    for each in problem.ops:
        diagnostics += _parents(each, operations)
        diagnostics += _kind(each)
        if each.pin is not None and each.pin >= problem.params.k:
            last = problem.params.k - 1
            diagnostics.append(
                _of("SO0604", each, f"{each.id} is pinned to machine {each.pin}; the last is {last}", "pin")
            )
    for position, members in enumerate(problem.apart):
        for each in members:
            if each not in operations:
                message = f"apart: {each} is not an operator{nearest(str(each), map(str, operations))}"
                diagnostics.append(Diagnostic.of("SO0602", message, location=problem.location("apart", position)))
    if not diagnostics:
        diagnostics += _not_entered(operations)
        diagnostics += _unequal_tees(operations)
    return diagnostics


def _of(code: str, operation: Operation, message: str, *path: str | int) -> Diagnostic:
    return Diagnostic.of(code, message, operator=str(operation.id), location=operation.location(*path))


def _parents(operation: Operation, operations: dict[int | str, Operation]) -> Iterator[Diagnostic]:
    for position, parent in enumerate(operation.parents):
        if parent not in operations:
            other = next((each for each in operations if str(each) == str(parent)), None)
            known = nearest(str(parent), map(str, operations))
            if other is not None:
                known = "; the nearest is the " + ("number" if isinstance(other, int) else "text") + f" {other}"
            message = f"{operation.id} reads {parent}, which is not an operator{known}"
            yield _of("SO0602", operation, message, "parents", position)
        elif operations[parent].kind in LEAVES:
            message = f"{operation.id} reads {parent}, but a {operations[parent].kind} has no output"
            yield _of("SO0603", operation, message, "parents", position)


def _kind(operation: Operation) -> Iterator[Diagnostic]:
    kind, reads = operation.kind, len(set(operation.parents))
    if kind in ROOTS and reads:
        yield _of("SO0603", operation, f"{operation.id} is a {kind}, which has no parents", "parents")
    elif kind == "tee" and reads != 1:
        yield _of("SO0603", operation, f"{operation.id} is a tee, which has one parent, not {reads}", "parents")
    elif kind not in ROOTS and not reads:
        message = (
            f"{operation.id} has no parents; only a source or a net_recv may have none, but this is of kind {kind}"
        )
        yield _of("SO0603", operation, message)
    if operation.recv_cpu and kind not in RECEIVERS:
        message = f"{operation.id} has recv_cpu, but only a {' or a '.join(RECEIVERS)} receives; this is of kind {kind}"
        yield _of("SO0603", operation, message, "recv_cpu")


def _not_entered(operations: dict[int | str, Operation]) -> Iterator[Diagnostic]:
    """Report the first operator that no source or network feeds: it is in a closed loop, or downstream of one."""
    readers: dict[int | str, list[int | str]] = {}
    for each in operations.values():
        for parent in each.parents:
            readers.setdefault(parent, []).append(each.id)
    waiting = [each.id for each in operations.values() if each.kind in (*ROOTS, "net_self")]
    reached = set(waiting)
    while waiting:
        for reader in readers.get(waiting.pop(), ()):
            if reader not in reached:
                reached.add(reader)
                waiting.append(reader)
    for each in operations.values():
        if each.id not in reached:
            message = (
                f"no source and no network reaches {each.id}: it is in or downstream of a loop that nothing enters"
            )
            yield _of("SO0606", each, message)
            return


def _unequal_tees(operations: dict[int | str, Operation]) -> Iterator[Diagnostic]:
    """Report tees of one stream with different amounts, since all tees of a stream carry the same items (rule Q5).

    A tee without a `card` has the amount of its stream.
    """
    first: dict[int | str, Operation] = {}
    for each in operations.values():
        if each.kind == "tee" and each.card is not None:
            other = first.setdefault(each.parents[0], each)
            if (other.card, other.bytes) != (each.card, each.bytes):
                message = (
                    f"{other.id} and {each.id} are tees of {each.parents[0]}, "
                    f"but one carries {_amount(other)} and the other {_amount(each)}"
                )
                yield _of("SO0605", each, message, "card")


def _amount(tee: Operation) -> str:
    size = f" of {tee.bytes:g} bytes" if tee.bytes else ""
    return f"{tee.card:g} items{size}"
