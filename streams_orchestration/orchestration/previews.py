"""The outcome of a redeploy or its preview in Dagster, as metadata of the run and as a check of the deployment."""

from __future__ import annotations

from collections.abc import Callable, Collection

import dagster as dg

from streams_orchestration.compiler.redeployment.outcome import OperatorAction, Redeployment
from streams_orchestration.orchestration.metadata import Metadata, table
from streams_orchestration.orchestration.remedies import in_dagster
from streams_orchestration.runtime import api

KEEPS_STATE = "redeploy_keeps_state"
"""The check of a deployment that tells whether a redeploy with the current spec would lose state."""
VERDICT_TAG = "streams/verdict"
"""Run tag of a redeploy: its verdict, or `reverted`."""
MAX_TABLE_ROWS = 100
"""The most rows in the table of a redeploy."""
_COLUMNS = {"what": "string", "name": "string", "action": "string", "rows": "int", "bytes": "int", "reason": "string"}


def put_in_place(context: dg.OpExecutionContext, put: Callable[[], api.Deployment]) -> api.Deployment:
    """Deploy a plan, and record in the run what happened to each operator of the plan that it was to replace.

    The run is tagged with the verdict. A refused redeploy is also recorded as a failed check of the deployment. The
    function `put` deploys; its result is returned.

    Raises:
        Failure: the redeploy was refused, since state would be lost, and nothing has changed; or the new plan did not
            work, and the previous plan was restored. Other errors of `put` pass unchanged.
    """
    try:
        deployment = put()
    except api.RedeployRefusedError as error:
        _record(context, error.redeployment)
        raise dg.Failure(
            description=in_dagster(str(error), error.redeployment.application),
            metadata=redeploy_metadata(error.redeployment),
            allow_retries=False,
        ) from error
    except api.RevertedError as error:
        metadata = redeploy_metadata(error.redeployment) | {"streams/reverted": error.cause}
        context.instance.add_run_tags(context.run_id, {VERDICT_TAG: "reverted"})
        raise dg.Failure(
            description=in_dagster(str(error), error.redeployment.application), metadata=metadata, allow_retries=False
        ) from error
    if deployment.redeployment is not None:
        context.add_output_metadata(redeploy_metadata(deployment.redeployment))
        _record(context, deployment.redeployment)
        for each in deployment.redeployment.operators:
            if each.action != "kept":
                context.log.info("%s: %s, %s", each.operator, each.action, each.text)
    return deployment


def _record(context: dg.OpExecutionContext, outcome: Redeployment) -> None:
    """Tag the run with the verdict of a redeploy, and record a failed check of the deployment if it is unacceptable."""
    context.instance.add_run_tags(context.run_id, {VERDICT_TAG: outcome.verdict})
    if outcome.acceptable:
        return  # the step after the materialization evaluates the check; an evaluation here would hide its result
    context.instance.report_runless_asset_event(
        dg.AssetCheckEvaluation(
            asset_key=context.assets_def.key,
            check_name=KEEPS_STATE,
            passed=False,
            severity=severity(outcome),
            description=problems(outcome),
            metadata=redeploy_metadata(outcome),
        )
    )


def redeploy_metadata(outcome: Redeployment) -> Metadata:
    """Return the metadata of a redeploy: its verdict, a table of its actions, the whole document, and the pause."""
    metadata: Metadata = {
        "streams/verdict": f"{outcome.verdict}: {outcome.sentence}",
        "streams/actions": _table(outcome),
        "streams/redeploy": outcome.document(),
    }
    if outcome.measured_seconds is not None:
        metadata["streams/pause_seconds"] = round(outcome.measured_seconds, 3)
    return metadata


def severity(outcome: Redeployment) -> dg.AssetCheckSeverity:
    """Return the severity of the check: ERROR if the redeploy is refused, WARN if the user can allow the loss."""
    return dg.AssetCheckSeverity.ERROR if outcome.verdict == "refused" else dg.AssetCheckSeverity.WARN


def problems(outcome: Redeployment) -> str:
    """Describe each reason for which state would be lost, with an operator that it concerns and the remedy."""
    reasons = {each.text: each.operator for each in outcome.operators if _is_lost(each, outcome.drop_state)}
    lost = "; ".join(f"{operator}: {reason}" for reason, operator in reasons.items())
    return in_dagster(f"{lost}.", outcome.application)


def _is_lost(action: OperatorAction, drop_state: Collection[str]) -> bool:
    return (action.lossy or action.action == "refused") and action.operator not in drop_state


def _table(outcome: Redeployment) -> dg.TableMetadataValue:
    """Return a table of the operators that lose state, then the units, then the other operators that change.

    Rows beyond `MAX_TABLE_ROWS` are only counted.
    """
    lost = [each for each in outcome.operators if _is_lost(each, ())]
    others = [each for each in outcome.operators if each not in lost and each.action != "kept"]
    rows = [
        *map(_operator_row, lost),
        *(("unit", each.unit, each.action, None, None, "") for each in outcome.units),
        *map(_operator_row, others),
    ]
    if len(rows) > MAX_TABLE_ROWS:
        rows = [*rows[:MAX_TABLE_ROWS], ("others", f"{len(rows) - MAX_TABLE_ROWS} more", "", None, None, "")]
    return table(_COLUMNS, rows)


def _operator_row(action: OperatorAction) -> tuple[str | int | None, ...]:
    return "operator", action.operator, action.action, action.rows, action.bytes, action.text
