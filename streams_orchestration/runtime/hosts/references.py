"""References of standard operators to variables and files, which the environment of a host has to resolve."""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, select

from streams_orchestration.compiler.pe_program import PeProgram
from streams_orchestration.model.secrets import REFERENCE
from streams_orchestration.operators.references import unresolved
from streams_orchestration.runtime.catalog import tables
from streams_orchestration.runtime.errors.errors import HostLaunchError
from streams_orchestration.runtime.hosts.launcher import HostStart
from streams_orchestration.runtime.programs.deployed_pes import read_program

STANDARD = "streams_orchestration.operators."
"""Prefix of the import paths of implementations that come with the product."""


def require_references(connection: Connection, start: HostStart) -> None:
    """Check that a child of this process could resolve the references of a host's operators.

    On a Spark cluster, operators have the environment and the files of executors, which this process does not know.

    Raises:
        HostLaunchError: a reference could not be resolved.
        OtherVersionError: another version of the product wrote the program of a PE.
    """
    if start.engine.cluster:
        return
    p = tables.pe
    of_host = (p.c.application == start.application, p.c.host == start.host)
    texts = connection.scalars(select(p.c.program).where(*of_host).order_by(p.c.id))
    found = (text for text in texts if text is not None and REFERENCE.search(text.decode()))
    programs = (read_program(start.application, text) for text in found)
    if reason := unresolved_references(programs):
        message = f"host {start.host} of {start.application} is not started: {reason}"
        raise HostLaunchError(message)


def unresolved_references(programs: Iterable[PeProgram]) -> str | None:
    """Return a message about references of standard operators that a child of this process cannot resolve.

    The message ends with the remedy. Return None if all references resolve.
    """
    errors = [
        (operator.name, error)
        for program in programs
        for operator in program.operators.values()
        if operator.implementation.startswith(STANDARD)
        for error in unresolved(operator.parameters)
    ]
    if not errors:
        return None
    reasons = "; ".join(dict.fromkeys(f"operator {name}: {error.reason}" for name, error in errors))
    remedies = "; ".join(dict.fromkeys(error.remedy for _, error in errors))
    return f"{reasons}. {remedies[:1].upper()}{remedies[1:]}"
