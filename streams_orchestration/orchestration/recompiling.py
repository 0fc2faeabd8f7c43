"""The op with which the redeploy job compiles: the compile job as a run of its own, checks and lineage included."""

# Dagster reads the annotations of configs and resources here, so they may not be turned into text.

import dagster as dg

from streams_orchestration.orchestration.instance import LOCATION, run_job_in_process
from streams_orchestration.orchestration.settings import CompileOptions
from streams_orchestration.orchestration.stage_assets import ApplicationSource, first_step


class RedeployOptions(CompileOptions):
    """As `CompileOptions`, but what runs keeps its options unless told otherwise."""

    keep: bool = True


def recompile_op(source: ApplicationSource, defs: dg.Definitions) -> dg.OpDefinition:
    """An op that runs the application's compile job.

    Args:
        source: the application.
        defs: definitions that hold that job.
    """

    @dg.op(name=f"{source.name}__compile_stages", out=dg.Out(dg.Nothing))
    def compile_stages(context: dg.OpExecutionContext, config: RedeployOptions) -> None:
        """Compile every stage and check it."""
        settings = {name: value for name, value in config.model_dump().items() if value is not None}
        origin = context.run.remote_job_origin
        run = run_job_in_process(
            context.instance,
            f"compile_{source.name}",
            defs,
            {"ops": {first_step(source): {"config": settings}}},
            {"streams/requested_by": context.run_id},
            origin.location_name if origin else LOCATION,
        )
        context.log.info("compiled by run %s", run.run_id)

    return compile_stages
