"""The stored documents of profiling, and the compiler options that apply a stored decoupling decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from streams_orchestration.compiler.compilation import Compilation
from streams_orchestration.compiler.options import Options
from streams_orchestration.model.assignment_document import assignment_from_mapping
from streams_orchestration.orchestration.artifacts import ArtifactStore
from streams_orchestration.orchestration.definition_names import job_name
from streams_orchestration.runtime import api

PROFILE = "operator_profile"
DECISION = "decoupling_decision"
OUTCOME = "decoupling_outcome"
APPLIED = "decoupling_applied"
"""The decision that was deployed last, stored beside the assets' documents."""


class NotDecoupledError(api.StreamsRuntimeError):
    """A decision cannot be applied: there is none, it promises too little, or it splits no PE."""


def promised_gain(document: Mapping[str, Any]) -> float:
    """Return the predicted throughput as a multiple of the throughput of another plan.

    The other plan is the one that ran at the decision, or else the plan with fused PEs.
    """
    decision = document["decision"]
    return float(decision.get("gain", decision["predictedSpeedup"]))


def decided_options(store: ArtifactStore, application: str, options: Options, gain: float) -> Options:
    """Return the options with the application's stored decision as their decoupling.

    The decision must promise at least `gain` over the running plan.

    Raises:
        NotDecoupledError: there is no decision, it promises less, or it splits no PE.
        StageMissingError, ApplicationError: the stored decision cannot be read, or is not valid.
    """
    document = store.get(application, DECISION)
    if document is None:
        message = (
            f"{application}: there is no decoupling decision yet. Run job {job_name(application, 'profile')} while "
            "the application works."
        )
        raise NotDecoupledError(message)
    if len(document["decision"]["parts"]) < 2:
        message = f"{application}: the last decision splits no PE, so there is nothing to apply."
        raise NotDecoupledError(message)
    promised = promised_gain(document)
    if promised < gain:
        message = (
            f"{application}: the last decision promises {promised:.2f} times the present throughput, less than the "
            f"{gain:g} times at which it is applied. Lower `decision_gain`, or profile again under another load."
        )
        raise NotDecoupledError(message)
    return replace(options, decoupling=assignment_from_mapping(document))


def keep_applied(store: ArtifactStore, compilation: Compilation) -> None:
    """Store the current decision as the applied one if the deployed compilation was made with it.

    Raises:
        StageMissingError, ApplicationError: the stored decision cannot be read, or is not valid.
        StateDirectoryError, OSError: the state directory cannot be written.
    """
    application = compilation.logical.application
    document = store.get(application, DECISION)
    if document is not None and assignment_from_mapping(document) == compilation.options.decoupling:
        store.put(application, APPLIED, document)
