"""The deployment of an application as an asset that Dagster computes, and its spec as an asset that it observes."""

# pyright: reportUnknownMemberType=false

# Dagster reads the annotations of ops here, so they may not be turned into text.

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg

from streams_orchestration.compiler.stage import DEPLOYMENT
from streams_orchestration.orchestration.artifacts import SPEC
from streams_orchestration.orchestration.asset_keys import AssetKeys
from streams_orchestration.orchestration.ops import await_heartbeats_op, launch_hosts_op, write_wanted_state_op
from streams_orchestration.orchestration.spec_state import MISSING, WatchedSpec
from streams_orchestration.orchestration.stage_assets import ApplicationSource


def deployment_asset(source: ApplicationSource, spec: dg.AssetSpec, keys: AssetKeys) -> dg.AssetsDefinition:
    """Return the asset that puts the compiled plan of an application in place, with its state kept.

    It has three steps: write the wanted state, launch the hosts, wait for their heartbeats. A run that is retried from
    the failed step repeats none of the others. The hosts outlive the run.
    """
    key = source.resource

    def write_launch_and_wait(plan: Any) -> Any:
        return await_heartbeats_op(key, keys, source.name)(launch_hosts_op(key)(write_wanted_state_op(key)(plan)))

    description = f"Put the compiled plan of {source.name} in place."
    return asset_of_steps(source.name, write_launch_and_wait, spec, keys, description)


def asset_of_steps(
    application: str,
    steps: Callable[[Any], Any],
    spec: dg.AssetSpec,
    keys: AssetKeys,
    description: str | None = None,
) -> dg.AssetsDefinition:
    """Return the asset of a deployment, which steps after the compilation compute.

    `steps` takes the output with the deployment plan, calls the ops of the steps, and returns the last output.
    """
    asset = dg.AssetsDefinition.from_graph(
        dg.graph(name=f"{application}__deployment", description=description)(steps),
        keys_by_input_name={"plan": keys.of(application, DEPLOYMENT)},
        keys_by_output_name={"result": spec.key},
    )
    return asset.map_asset_specs(lambda _: spec)


def spec_asset(watched: WatchedSpec, spec: dg.AssetSpec) -> dg.AssetsDefinition:
    """Return the observable asset of a spec; an observation records the content's version, or that it is missing."""

    def observe() -> Iterator[dg.ObserveResult]:
        yield dg.ObserveResult(asset_key=spec.key, data_version=dg.DataVersion(watched.version() or MISSING))

    with warnings.catch_warnings():  # Dagster warns once for each application about a choice that is not the user's
        warnings.simplefilter("ignore", dg.BetaWarning)
        return dg.multi_observable_source_asset(name=f"{watched.application}__{SPEC}", specs=[spec])(observe)
