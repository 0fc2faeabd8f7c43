"""Epochs as data versions of assets, and a sensor and a condition that start runs after new epochs.

A materialization of a PE, stream or sink has its last complete epoch as data version, `12@3f2a91bc`: the number of the
epoch, and the life of the application. Within a life numbers only grow, also over a reset, a redeploy or a stop.
`--fresh` begins another life, so a version never means two states of the data.
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
"""Key of the epoch's number in the metadata of a materialization and in the tags of a run."""
NEW_EPOCHS = 10
"""Default number of new epochs after which a sensor or a condition starts a run."""
LIFE_DIGITS = 8
NAME = re.compile(r"\W+")

KeyLike = dg.AssetKey | str | Sequence[str]
"""An asset key, its parts, or its parts with slashes between them: `flights/sinks/Delays`."""


@dataclass(frozen=True, slots=True)
class Epoch:
    """A complete epoch in one life of an application."""

    number: int = 0
    """The number of the epoch; 0 before the first one is complete."""
    life: str = ""

    @classmethod
    def of(cls, number: int, life: str) -> Epoch:
        """Return the epoch with this number and the first `LIFE_DIGITS` characters of the application's life."""
        return cls(number, life[:LIFE_DIGITS])

    @classmethod
    def parse(cls, version: str | None) -> Epoch | None:
        """Read an epoch from a data version or a cursor, such as `12@3f2a91bc`; return None for any other text."""
        number, _, life = (version or "").partition("@")
        return cls(int(number), life) if number.isascii() and number.isdigit() else None

    @property
    def version(self) -> str:
        """The data version of an asset whose last complete epoch is this one: `12@3f2a91bc`."""
        return f"{self.number}@{self.life}"

    def new_since(self, before: Epoch | None) -> int:
        """Return how many epochs were completed since an earlier epoch.

        If the earlier one is of another life, all epochs of this life count.
        """
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
    """A condition that is true whenever an asset has `epochs` more complete epochs than when it was last true."""

    asset: dg.AssetKey
    epochs: int

    @property
    def name(self) -> str:
        """The name that identifies the condition, also in Dagster's list of evaluations."""
        return f"epochs_since({self.asset.to_user_string()}, {self.epochs})"

    @property
    def description(self) -> str:
        """The condition in words."""
        return f"{self.asset.to_user_string()} has {self.epochs} new epochs"

    def evaluate(self, context: dg.AutomationContext[Any]) -> dg.AutomationResult[Any]:
        """Return all candidates if enough epochs have completed since the condition was last true, else none."""
        newest = epoch_of(last_materialization(context.asset_graph_view.instance, self.asset))
        if newest is None or newest.new_since(Epoch.parse(context.cursor)) < self.epochs:
            return dg.AutomationResult(context, context.get_empty_subset(), cursor=context.cursor)
        return dg.AutomationResult(context, context.candidate_subset, cursor=newest.version)


def epochs_since(asset_key: KeyLike, epochs: int = NEW_EPOCHS) -> EpochsSince:
    """Return an automation condition that is true for one evaluation each time this many new epochs are complete.

    Epochs are read from materializations, which are recorded at most once a minute. The first evaluation counts all
    epochs that are complete. Dagster must evaluate the condition in the code location:
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
    """Return a sensor that requests a run of a job each time an asset has completed this many new epochs.

    The first tick counts all epochs that are complete. The tag `streams/epoch` of a run is the last epoch's number.

    Args:
        asset_key: the PE, stream or sink whose epochs are counted, `flights/sinks/Delays`.
        job: the job to run, in any form that Dagster's sensors accept.
        epochs: number of new epochs, at least 1.
        name: name of the sensor, by default `epochs_of_` and the asset's key.
        minimum_interval_seconds: the least time between two ticks.
        default_status: the status of the sensor until somebody starts or stops it.

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
        message = f"epochs={epochs} of a sensor or condition must be 1 or more"
        raise ValueError(message)
    return epochs
