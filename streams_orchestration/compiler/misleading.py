"""Findings that an error in a spec makes doubtful. Only these are held back until the error is corrected."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from streams_orchestration.model.diagnostics import Diagnostic, errors_of

Subject = Literal["values", "types", "parallel", "regions", "time", "placement", "threads"]
"""The subject of findings: values, tuple types, parallel regions and punctuation, consistent regions, event time, PEs,
or threads."""

Subjects = frozenset[Subject]

ALL: Subjects = frozenset(("values", "types", "parallel", "regions", "time", "placement", "threads"))
_NOTHING: Subjects = frozenset()
_TYPES: Subjects = frozenset(("types", "time"))
_PARALLEL: Subjects = frozenset(("parallel",))
_REGIONS: Subjects = frozenset(("regions",))
_TIME: Subjects = frozenset(("time",))
_THREADS: Subjects = frozenset(("threads",))
_PLACEMENT: Subjects = frozenset(("placement",))
_GRAPH: Subjects = frozenset(("types", "parallel", "regions", "time"))

_BY_CODE: dict[str, Subjects] = {
    # Checkpoints, periods, routing: the graph is the one that was meant.
    **dict.fromkeys(("CDISP0407E", "CDISP0408E", "CDISP0410E", "CDISP0840E", "CDISP0841E"), _NOTHING),
    **dict.fromkeys(("CDISP0848E", "CDISP0849E", "SO0109", "SO0307", "SO0405", "SO0407", "SO0408"), _NOTHING),
    **dict.fromkeys(("CDISP0090E", "CDISP0489E", "CDISP0851E", "SO0305", "SO0402", "SO0403"), _THREADS),
    # Streams and ports are missing or are others.
    **dict.fromkeys(("SO0101", "SO0102", "SO0104", "SO0107", "SO0108", "SO0303"), _GRAPH),
    "SO0103": _GRAPH | _PLACEMENT,
    **dict.fromkeys(("SO0301", "SO0302"), _TYPES),
    # An annotation that was meant for something else.
    **dict.fromkeys(("CDISP0812E", "CDISP0815E"), _GRAPH),
    "CDISP0694E": _REGIONS,
    "CDISP0876E": _TIME,
    "SO0404": _PLACEMENT,
}
_HARMLESS_KEYS = frozenset(
    (
        *("partitionBy", "broadcast", "replicateHostTags", "period", "drainTimeout", "resetTimeout"),
        *("maxConsecutiveResetAttempts", "restart", "atomic", "checkpoint", "description"),
    )
)
"""Keys of an invocation; an error below one of them makes no other finding doubtful."""
_HARMLESS_WHEN_UNKNOWN = frozenset(("parallel", "consistent", "eventTime"))
_NEED_TYPES = frozenset(("CDISP0824E", "SO0304", "SO0306"))
"""Findings on values that also depend on tuple types."""
_NEED_ALL = frozenset(("CDISR3035W", "SO0620", "SO0621", "SO0622", "SO0623", "SO0624", "SO0625"))
"""Findings on the number of PEs and on a decoupling decision: any error of the application makes them doubtful."""
_NEED_PORTS = frozenset(("CDISP0823E", "SO0111", "SO0207", "CDISP0838E", "CDISP0839W", "CDISR1359E"))
"""Findings that also depend on the streams, ports and parallel regions, or on which elements of the spec are used."""
_LEAVE_TYPES_UNKNOWN = frozenset(("SO0101", "SO0102"))
"""Errors that leave the type of a stream unknown; no stream gets a wrong type through them."""
_LEAVE_PARAMETERS_WRONG = frozenset(("SO0201", "CDISP0116E"))
"""Errors after which a parameter in the logical graph may differ from the spec."""
_NEED_PARAMETERS = frozenset(("SO5003", "SO5004"))
"""Findings of operators that depend on their parameters."""
_NEED_SCHEMAS = frozenset(("SO5004", "SO5005", "SO5006"))
"""Findings of operators that depend on the types of their streams."""


def misled(errors: Iterable[Diagnostic]) -> Subjects:
    """Return the subjects that cannot be judged in the presence of some errors; warnings make none doubtful.

    Findings on these subjects could be mere effects of the errors. An error without a path in the spec, and with a
    code that `_BY_CODE` lacks, makes all subjects doubtful.
    """
    subjects: Subjects = _NOTHING
    for error in errors:
        if error.severity == "error":
            subjects |= _of_path(error) if error.path is not None else _BY_CODE.get(error.code, ALL)
    return subjects


def in_doubt(subject: Subject | None, wrong: Subjects, *, errors: bool) -> bool:
    """Return True if findings on a subject could be mere effects of the errors so far.

    Threads depend on everything else. A stage without findings runs only if there are no errors.

    Args:
        subject: the subject of the findings; None for a stage without findings.
        wrong: the subjects that errors make impossible to judge.
        errors: True if there are errors.
    """
    if subject is None:
        return errors
    return bool(wrong) if subject == "threads" else subject in wrong


def trusted(findings: Iterable[Diagnostic], subject: Subject | None, wrong: Subjects) -> list[Diagnostic]:
    """Return the findings of one stage that earlier errors do not make doubtful."""
    if subject in wrong:
        return []
    doubtful = set(_NEED_ALL) if wrong else set[str]()
    if "types" in wrong:
        doubtful |= _NEED_TYPES
    if "parallel" in wrong:
        doubtful |= _NEED_PORTS
    return [finding for finding in findings if finding.code not in doubtful]


def trusted_of_operators(findings: Iterable[Diagnostic], errors: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return the findings of operators that errors of the application do not make doubtful.

    Wrong submission-time values, and an application that is too large, make all of them doubtful.

    Args:
        findings: the findings of the operators, in an application with errors.
        errors: the errors of the application's text and of its stages.
    """
    errors = errors_of(errors)
    wrong = misled(each for each in errors if not each.stage and each.code not in _LEAVE_TYPES_UNKNOWN)
    undeclared = {_own_name(each) for each in errors if each.code == "SO0101"}
    written_wrong = {_own_name(each) for each in errors if _leaves_parameters_wrong(each)}
    if "values" in wrong or any(each.code == "SO0501" for each in errors):
        return []
    return [
        each
        for each in findings
        if not (each.code in _NEED_SCHEMAS and "types" in wrong)
        and not (each.code in _NEED_PARAMETERS and _own_name(each) in written_wrong)
        and not (each.code == "SO5001" and _own_name(each) in undeclared)
    ]


def _leaves_parameters_wrong(error: Diagnostic) -> bool:
    """Return True if an error may leave its operator with parameters or ports that differ from the spec."""
    if error.stage or error.code in _LEAVE_TYPES_UNKNOWN:
        return error.code in _LEAVE_PARAMETERS_WRONG
    return not misled((error,)).isdisjoint(("types", "values"))


def _own_name(error: Diagnostic) -> str:
    """Return the name of the operator without the names of the composites around it."""
    return error.operator.rpartition(".")[2]


def _of_path(error: Diagnostic) -> Subjects:
    """Return the subjects that an error makes doubtful, judged by the error's path in the spec."""
    keys = [step for step in error.path or () if isinstance(step, str)]
    if error.code == "SO0008" and not keys:
        return _NOTHING  # specVersion or application
    if "graph" in keys:
        keys = keys[len(keys) - keys[::-1].index("graph") :]
        if not keys:
            return _GRAPH  # the invocation as a whole
    elif keys[:1] == ["composites"]:
        keys = keys[2:]
        if keys[:1] not in (["config"], ["annotations"]):
            return ALL
    elif keys[:1] == ["hostPools"]:
        return _PLACEMENT
    elif keys[:1] not in (["config"], ["annotations"]):
        return ALL
    if not _HARMLESS_KEYS.isdisjoint(keys) or (
        error.code in ("CDISP0796E", "CDISP0797E") and keys[-2:-1] and keys[-2] in _HARMLESS_WHEN_UNKNOWN
    ):
        return _NOTHING
    if "threading" in keys or "threadedPort" in keys:
        return _THREADS
    match keys:
        case ["annotations", ("consistent" | "autonomous" | "eventTime" | "parallel") as annotation, *_]:
            return {"parallel": _PARALLEL, "eventTime": _TIME}.get(annotation, _REGIONS)
        case ["annotations", *_] | ["name" | "operator" | "inputs" | "outputs" | "parameters", *_]:
            return _GRAPH
        case ["config", *_]:
            return _PLACEMENT
        case _:
            return _GRAPH | _PLACEMENT
