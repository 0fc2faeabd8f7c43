"""The parts that all ops share: their names, their application, their errors and retries."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import dagster as dg

from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG
from streams_orchestration.orchestration.containers import explain_own_container
from streams_orchestration.orchestration.readable_errors import readable_errors
from streams_orchestration.orchestration.resource import RESOURCE_KEY, streams_in
from streams_orchestration.runtime import api

AFTER = {"after": dg.In(dg.Nothing)}
NOTHING = dg.Out(dg.Nothing)
STEP_RETRY_SECONDS = 2.0
NamedOp = dg.PendingNodeInvocation[dg.OpDefinition]
"""An op under its name in a job."""


class Step(NamedTuple):
    """The application that a step serves, and its state directory."""

    application: str
    home: api.Home
    """The state directory, in which a step with a container of its own starts hosts by agents only."""


def retry_later() -> dg.RetryRequested:
    """Return the request to retry a step twice, `STEP_RETRY_SECONDS` apart, since its failure may pass by itself."""
    return dg.RetryRequested(max_retries=2, seconds_to_wait=STEP_RETRY_SECONDS)


@contextmanager
def step_without_retry(context: dg.OpExecutionContext, key: str) -> Generator[Step]:
    """Give the block its application and the state directory of a resource, and rewrite its errors.

    Raises:
        Failure: the run names no application, or the remedy of the block's error is a job or its run config.
    """
    application = application_of(context)
    with readable_errors(application):
        home = streams_in(context, key).directory()
        yield Step(application, replace(home, short_lived=explain_own_container(context)))


@contextmanager
def application_step(context: dg.OpExecutionContext, key: str) -> Generator[Step]:
    """Give the block all that `step_without_retry` gives, and retry the step if the catalog is unavailable.

    For other errors see `step_without_retry`.

    Raises:
        RetryRequested: the block raised CatalogUnavailableError; see `retry_later`.
    """
    try:
        with step_without_retry(context, key) as step:
            yield step
    except api.CatalogUnavailableError as error:
        raise retry_later() from error


def op_name(name: str, key: str, application: str = "") -> str:
    """Return a name for an op that no other op of a code location has.

    `key` is the key of the resource that the op requires. `application` is empty if the tag of each run names it.
    """
    return "__".join(each for each in (application, "" if key == RESOURCE_KEY else key, name) if each)


def application_of(context: dg.OpExecutionContext) -> str:
    """Return the name of the application that a step serves, from the tag of its asset, or else of the run.

    Raises:
        Failure: the step computes no asset, and the run was launched by hand without the tag.
    """
    if context.has_assets_def:
        (asset,) = context.assets_def.specs
        return asset.tags[APPLICATION_TAG]
    if APPLICATION_TAG not in context.run.tags:
        message = f"the run names no application: launch it with the tag {APPLICATION_TAG}=NAME"
        raise dg.Failure(description=message, allow_retries=False)
    return context.run.tags[APPLICATION_TAG]


def named_op(op: dg.OpDefinition, name: str) -> NamedOp:
    """Return the op under the name that it has in jobs, and so in their run configs."""
    return op.alias(name)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
