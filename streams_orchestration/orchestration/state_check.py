"""The check that a redeploy with the current spec would lose no state."""

# Dagster reads the annotations of resources here, so they may not be turned into text.
import dagster as dg

from streams_orchestration.compiler.compiling import compile_read
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.compiler.redeployment.kept_options import fit
from streams_orchestration.model.diagnostics import ApplicationError, errors_of
from streams_orchestration.orchestration.asset_keys import AssetKeys
from streams_orchestration.orchestration.deployments import deployed_or_compiled_options, preview_compiled
from streams_orchestration.orchestration.previews import KEEPS_STATE, problems, redeploy_metadata, severity
from streams_orchestration.orchestration.remedies import in_dagster
from streams_orchestration.orchestration.resource import streams_in
from streams_orchestration.orchestration.spec_state import in_time
from streams_orchestration.orchestration.stage_assets import ApplicationSource
from streams_orchestration.runtime import api


def state_check(source: ApplicationSource, keys: AssetKeys) -> dg.AssetChecksDefinition:
    """Return the check of the deployment that compiles the spec and previews a redeploy, without changing anything.

    It fails if the redeploy would lose state, as a warning if the user can allow that, or if the spec has errors. It
    passes if the application is not deployed, and warns if the preview fails. A redeploy by one of the jobs evaluates
    the check too.
    """

    @dg.asset_check(
        asset=keys.of(source.name, "deployment"),
        name=KEEPS_STATE,
        description="A redeploy with the present spec and the deployed options would lose no state.",
        required_resource_keys={source.resource},
    )
    def check(context: dg.AssetCheckExecutionContext) -> dg.AssetCheckResult:
        streams = streams_in(context, source.resource)
        try:
            spec = in_time(source.spec, lambda: read_application(source.spec))
            catalog = api.Catalog(streams.directory())
            kept = deployed_or_compiled_options(catalog, source.name, streams.artifacts, source.defaults)
            fitted = fit(spec, kept)
            outcome = preview_compiled(catalog, compile_read(spec, fitted.options))
        except api.NotDeployedError:
            return dg.AssetCheckResult(passed=True, description=f"{source.name} is not deployed")
        except ApplicationError as error:
            errors = [str(each) for each in errors_of(error.diagnostics)]
            return dg.AssetCheckResult(passed=False, description="; ".join(["the spec has errors", *errors[:5]]))
        except api.StreamsRuntimeError as error:  # the check of a run that has deployed must not fail that run
            return dg.AssetCheckResult(
                passed=False, severity=dg.AssetCheckSeverity.WARN, description=in_dagster(str(error), source.name)
            )
        return dg.AssetCheckResult(
            passed=outcome.acceptable,
            severity=severity(outcome),
            description=outcome.sentence if outcome.acceptable else problems(outcome),
            metadata=redeploy_metadata(outcome),
        )

    return check
