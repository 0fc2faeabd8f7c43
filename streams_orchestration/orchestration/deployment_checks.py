"""The checks of a deployment in Dagster. The sensor records those that change, and users can run them."""

# Dagster reads the annotations of resources here, so they may not be turned into text.
from collections.abc import Iterator

import dagster as dg

from streams_orchestration.orchestration.asset_keys import AssetKeys
from streams_orchestration.orchestration.cut_checks import (
    CHECKS,
    COMPLETE,
    FRESH,
    MACHINES,
    PLACED,
    RESTORABLE,
    STORAGE,
    WORKING,
    Judgement,
    evaluate_checks,
)
from streams_orchestration.orchestration.remedies import in_dagster
from streams_orchestration.orchestration.resource import streams_in
from streams_orchestration.orchestration.summaries import check_result
from streams_orchestration.runtime import api


def deployment_checks(application: str, key: str, keys: AssetKeys) -> dg.AssetChecksDefinition:
    """Return the definition that evaluates the checks of a deployment when a user or a run asks for them.

    Before the check of cuts, the files that they need are looked for, and changes are recorded in the catalog.
    """
    deployment = keys.of(application, "deployment")

    @dg.multi_asset_check(
        name=f"{application}__deployment_checks",
        specs=[dg.AssetCheckSpec(name, asset=deployment, description=text) for name, text in CHECKS.items()],
        can_subset=True,
        required_resource_keys={key},
    )
    def checks(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        wanted = {check.name for check in context.selected_asset_check_keys}
        catalog = api.open_catalog(streams_in(context, key).directory(), application)
        if RESTORABLE in wanted:
            api.check_cut_files(catalog, application)
        for judgement in evaluate_checks(api.read_status(catalog, application), api.now(), api.read_machines(catalog)):
            if judgement.name in wanted:
                yield check_result(evaluation(keys, application, judgement))

    return checks


def evaluation(keys: AssetKeys, application: str, judgement: Judgement) -> dg.AssetCheckEvaluation:
    """Return the result of a check as the event that Dagster records.

    A failed check is an error if the application cannot recover or has to be mended (`RESTORABLE`, `MENDED`, `STABLE`),
    and a warning otherwise.
    """
    return dg.AssetCheckEvaluation(
        asset_key=keys.of(application, "deployment"),
        check_name=judgement.name,
        passed=judgement.passed,
        severity=(
            dg.AssetCheckSeverity.WARN
            if judgement.name in (FRESH, MACHINES, STORAGE, PLACED, WORKING, COMPLETE)
            else dg.AssetCheckSeverity.ERROR
        ),
        description=in_dagster("; ".join(judgement.problems), application) or judgement.note or None,
        metadata={f"streams/cut_age_seconds/{unit}": age for unit, age in judgement.ages.items()},
    )
