"""Epochs as data versions of assets, and runs that follow after so many new ones.

A materialization of a PE, stream or sink has its last complete epoch as data version, `12@3f2a91bc`: the number of the
epoch, and the life of the application. Numbers only grow within a life: a reset, a redeploy or a stop does not begin
again. `--fresh` begins another life, so a version never stands for two states of the data.
"""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import dagster as dg

VERSION_TAG = "dagster/data_version"  # documented for events of external assets; Dagster exports no name for it
EPOCH = "streams/epoch"
"""Metadata of a materialization and tag of a run: the number of the epoch."""
NEW_EPOCHS = 10
"""Epochs after which a job follows when its author names no number."""
LIFE_DIGITS = 8
NAME = re.compile(r"\W+")

KeyLike = dg.AssetKey | str | Sequence[str]
"""An asset key, its parts, or its parts with slashes between them: `flights/sinks/Delays`."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """A complete epoch in one life of an application."""

    number: int = 0
    """0 before the first one."""
    life: str = ""

    @classmethod
    def of(cls, number: int, life: str) -> Epoch:
        """Return the epoch of an application; a few digits of its life tell it from others."""
        return cls(number, life[:LIFE_DIGITS])

    @classmethod
    def parse(cls, version: str | None) -> Epoch | None:
        """Read an epoch from a data version or a cursor; None if the text is none."""
        number, _, life = (version or "").partition("@")
        return cls(int(number), life) if number.isascii() and number.isdigit() else None

    @property
    def version(self) -> str:
        """The data version of what is visible when this epoch is complete."""
        return f"{self.number}@{self.life}"

    def new_since(self, before: Epoch | None) -> int:
        """Return how many epochs were completed since another one; in another life all of them."""
        return self.number - before.number if before is not None and before.life == self.life else self.number


def epoch_of(event: dg.AssetMaterialization | None) -> Epoch | None:
    """Return the epoch that a materialization shows; None if it shows none."""
    return None if event is None else Epoch.parse((event.tags or {}).get(VERSION_TAG))


def last_materialization(instance: dg.DagsterInstance, key: dg.AssetKey) -> dg.AssetMaterialization | None:
    """Return the latest materialization of an asset; None before the first."""
    entry = instance.get_latest_materialization_event(key)
    return None if entry is None else entry.asset_materialization


@dataclass(frozen=True)
class EpochsSince(dg.AutomationCondition[Any]):
    """A condition that is true once an asset shows so many more epochs than when it was last true."""

    asset: dg.AssetKey
    epochs: int

    @property
    def name(self) -> str:
        """The name in Dagster's list of evaluations, which also tells the condition from others."""
        return f"epochs_since({self.asset.to_user_string()}, {self.epochs})"

    @property
    def description(self) -> str:
        """The condition in words."""
        return f"{self.asset.to_user_string()} has {self.epochs} new epochs"

    def evaluate(self, context: dg.AutomationContext[Any]) -> dg.AutomationResult[Any]:
        """Compare the asset's last materialization with the epoch that is kept since the condition was last true."""
        newest = epoch_of(last_materialization(context.asset_graph_view.instance, self.asset))
        if newest is None or newest.new_since(Epoch.parse(context.cursor)) < self.epochs:
            return dg.AutomationResult(context, context.get_empty_subset(), cursor=context.cursor)
        return dg.AutomationResult(context, context.candidate_subset, cursor=newest.version)


def epochs_since(asset_key: KeyLike, epochs: int = NEW_EPOCHS) -> EpochsSince:
    """Return an automation condition that is true in one evaluation after so many new epochs.

    Epochs are counted by materializations, which come at most once a minute. The first evaluation counts all epochs
    that there are. Dagster evaluates the condition in the code location:
    `AutomationConditionSensorDefinition(..., use_user_code_server=True)`.

    Args:
        asset_key: the PE, stream or sink whose epochs are counted, `flights/sinks/Delays`.
        epochs: number of new epochs, at least 1.

    Raises:
        ValueError: `epochs` is less than 1.
    """
    return EpochsSince(_key(asset_key), _number(epochs))


def epochs_sensor(
    asset_key: KeyLike,
    job: Any,
    epochs: int = NEW_EPOCHS,
    *,
    name: str | None = None,
    minimum_interval_seconds: int = 30,
    default_status: dg.DefaultSensorStatus = dg.DefaultSensorStatus.STOPPED,
) -> dg.SensorDefinition:
    """Return a sensor that requests a run of a job after so many new epochs of an asset.

    The first tick counts all epochs that there are. Each run has the number of the last epoch as its tag
    `streams/epoch`.

    Args:
        asset_key: the PE, stream or sink whose epochs are counted, `flights/sinks/Delays`.
        job: the job, as any sensor of Dagster's takes it.
        epochs: number of new epochs, at least 1.
        name: name of the sensor, by default `epochs_of_` and the asset's key.
        minimum_interval_seconds: time between two ticks.
        default_status: whether the sensor is on before somebody starts or stops it.

    Raises:
        ValueError: `epochs` is less than 1.
    """
    key, wanted = _key(asset_key), _number(epochs)
    shown = key.to_user_string()

    @dg.sensor(
        name=name or f"epochs_of_{NAME.sub('_', shown)}",
        job=job,
        minimum_interval_seconds=minimum_interval_seconds,
        default_status=default_status,
        description=f"Runs after {wanted} new epochs of {shown}.",
    )
    def sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        newest = epoch_of(last_materialization(context.instance, key))
        if newest is None:
            return dg.SkipReason(f"{shown} shows no epoch yet")
        new = newest.new_since(Epoch.parse(context.cursor))
        if new < wanted:
            return dg.SkipReason(f"{shown} has {new} of {wanted} new epochs")
        request = dg.RunRequest(run_key=newest.version, tags={EPOCH: str(newest.number)})
        return dg.SensorResult(run_requests=[request], cursor=newest.version)

    return sensor


def _key(asset_key: KeyLike) -> dg.AssetKey:
    if isinstance(asset_key, dg.AssetKey):
        return asset_key
    return dg.AssetKey.from_user_string(asset_key) if isinstance(asset_key, str) else dg.AssetKey(list(asset_key))


def _number(epochs: int) -> int:
    if epochs < 1:
        message = f"epochs={epochs} of an epochs sensor or condition: it must be 1 or more"
        raise ValueError(message)
    return epochs
