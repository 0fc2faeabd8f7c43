"""Errors of a run, rewritten for users of Dagster."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import dagster as dg

from streams_orchestration.model.printable import printable
from streams_orchestration.orchestration.remedies import in_dagster
from streams_orchestration.runtime import api


@contextmanager
def readable_errors(application: str) -> Generator[None]:
    """Rewrite the errors of the block for users of Dagster.

    Control characters in messages are made visible, since Dagster's log goes to terminals. An error whose remedy is a
    command or an option becomes a Failure that names the job or the run config instead; the error is its cause. A
    CatalogUnavailableError stays, since the step is retried.
    """
    try:
        yield
    except Exception as error:
        each: BaseException | None = error
        while each is not None:
            each.args = tuple(printable(part) if isinstance(part, str) else part for part in each.args)
            if isinstance(each, dg.Failure):
                each.description = printable(each.description or "")
            each = each.__cause__ or each.__context__
        if isinstance(error, api.StreamsRuntimeError) and not isinstance(error, api.CatalogUnavailableError):
            remedied = in_dagster(str(error), application)
            if remedied != str(error):
                raise dg.Failure(description=remedied) from error
        raise
