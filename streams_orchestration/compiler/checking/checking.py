"""Checks that need the operators' classes: of parameters, expressions, attributes and files.

The tables below have the checks in their order. A check of one operator takes a `CheckedOperator`. Its class is loaded
and its parameters are validated, so no check asks for them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from streams_orchestration.compiler.checking.checked_operator import (
    Check,
    CheckedOperator,
    checked_operators,
)
from streams_orchestration.compiler.checking.class_checks import (
    advice,
    compile_only,
    foreign_logic,
    missing_file,
    not_importable,
    other_model,
    own_faults,
    shared_directory,
    wrong_methods,
    wrong_parameters,
)
from streams_orchestration.compiler.checking.external_streams import faulty_external_streams
from streams_orchestration.compiler.checking.natives import faulty_natives, without_python
from streams_orchestration.compiler.checking.not_yet import inner_watermarks, refused_queries
from streams_orchestration.compiler.checking.spl_calls import refused_calls
from streams_orchestration.compiler.compilation import Progress
from streams_orchestration.compiler.implementations import is_standard
from streams_orchestration.compiler.logical_graph import LogicalGraph
from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.operators.expressions.expression import Noted, noted


def waiting_queues(done: Progress) -> Iterator[Diagnostic]:
    """Yield a warning for each queue whose policy would drop tuples in IBM Streams, but makes producers wait here."""
    for operator in done[LogicalGraph].operators:
        for queue in operator.threaded_ports:
            if queue.congestion_policy != "Sys.Wait":
                policy = f"the queue of input port {queue.port} has the policy {queue.congestion_policy}"
                message = f"{policy}, but no tuples are dropped here: while the queue is full, its producers wait"
                yield Diagnostic.of("SO5007", message, operator=operator.name, location=operator.location)


GRAPH_CHECKS: tuple[Callable[[Progress], Iterable[Diagnostic]], ...] = (
    waiting_queues,
    faulty_external_streams,
    refused_queries,
    inner_watermarks,
)
"""The checks of an application as a whole."""
CLASS_CHECKS: tuple[tuple[Check, ...], ...] = (
    (not_importable,),
    (foreign_logic,),
    (wrong_parameters,),
    (missing_file,),
    (wrong_methods,),
    (other_model, own_faults),
    (shared_directory,),
)
"""The checks of an operator that need its class, in groups: after a decisive fault, no later group runs."""
OPERATOR_CHECKS: tuple[tuple[Check, ...], ...] = (
    (without_python,),
    (compile_only,),
    (refused_calls, faulty_natives),
    *CLASS_CHECKS,
)
"""All checks of an operator that is to run here, in groups: after a decisive fault, no later group runs."""


def check_parameters(done: Progress) -> list[Diagnostic]:
    """Return the faults of operators that do not depend on where the application runs, and advice on parameters.

    These are unknown parameters and values, values of a wrong type, attributes that a stream does not have, and wrong
    calls and native functions. Faults of standard operators that only matter when the application runs here, such as
    missing required parameters, are left to `check_operators`, since an application may be compiled only. Of native
    operators all faults are returned. A missing input file is a warning.
    """
    operators = checked_operators(done, deploys=False)
    standard = [each for each in operators if is_standard(each.operator)]
    native = [each for each in operators if each.operator.is_native and not is_standard(each.operator)]
    return [
        *(fault.diagnostic for check in (faulty_natives, refused_calls) for each in operators for fault in check(each)),
        *(fault.diagnostic for each in standard for fault in each.faults(CLASS_CHECKS) if fault.anywhere),
        *(fault.diagnostic for each in native for fault in each.faults(CLASS_CHECKS)),
        *_advice(standard),
    ]


def check_operators(done: Progress, notes: dict[int, list[Noted]] | None = None) -> list[Diagnostic]:
    """Return all errors that keep an application from running here, and the warnings on operators and their queues.

    Args:
        done: the stages so far, at least the logical graph; the expanded graph is missing after errors in earlier
            stages.
        notes: receives the expressions of each operator that has any, by its number.
    """
    operators = checked_operators(done, deploys=True)
    diagnostics = [finding for check in GRAPH_CHECKS for finding in check(done)]
    for each in operators:
        with noted() as found:
            diagnostics += (fault.diagnostic for fault in each.faults(OPERATOR_CHECKS))
        if notes is not None and found:
            notes[each.operator.index] = found
    return [*diagnostics, *_advice(operators)]


def _advice(operators: Iterable[CheckedOperator]) -> Iterator[Diagnostic]:
    """Yield the advice on the parameters of operators, each advice once."""
    found: dict[str, Diagnostic] = {}
    for each in operators:
        if (diagnostic := advice(each)) is not None:
            found.setdefault(diagnostic.message, diagnostic)
    yield from found.values()
