"""Keys of the assets of an application: its own keys, or those that a user's function gives its assets.

An asset's own key has the application and the node of its lineage, `flights/sinks/Delays`. Definitions may give it
another one. Each set of definitions holds its own keys, so two sets may give one application different keys. Events
are recorded under the keys of the definitions that record them. A command builds no definitions, so it uses the keys
that the state directory keeps.
"""

# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import dagster as dg

from streams_orchestration.runtime import api

APPLICATION_TAG = "streams/application"
NODE = "streams/node"
"""Metadata of every asset: its node in the lineage of its application, `sinks/Delays`."""
LINEAGE = "dagster/column_lineage"
KEYS = "asset_keys"
"""Name of the document in which the state directory keeps the keys that differ from an application's own."""

SpecChange = Callable[[dg.AssetSpec], dg.AssetSpec]


class SharedKeyError(api.StreamsRuntimeError):
    """A user's function gives two assets of an application one key."""

    def __init__(self, first: dg.AssetKey, second: dg.AssetKey, key: dg.AssetKey) -> None:
        super().__init__(
            f"{first.to_user_string()} and {second.to_user_string()} are both given the key {key.to_user_string()}. "
            "Let `change`, `get_asset_spec` or `translation` give each asset a key of its own, such as its key with a "
            "prefix."
        )


def unchanged(asset: dg.AssetSpec) -> dg.AssetSpec:
    """Return the asset unchanged; the default where a user's function may change assets."""
    return asset


def own_key(application: str, node: str) -> dg.AssetKey:
    """Return the key that an asset has unless definitions give it another one.

    The node is the name of a stage, or a node of the lineage: `pes/pe_0` of `flights` has the key `flights/pes/pe_0`.
    """
    return dg.AssetKey([application, *node.split("/", 1)])


class AssetKeys:
    """The keys of the assets of one set of definitions.

    Sensors and jobs are made before the keys of all their applications are known, so they hold this object, and read a
    key when they record an event.

    >>> keys = AssetKeys()
    >>> keys.use("flights", {"sinks/Delays": ["lake", "Delays"]})
    >>> keys.of("flights", "sinks/Delays").to_user_string(), keys.of("flights", "spec").to_user_string()
    ('lake/Delays', 'flights/spec')
    """

    def __init__(self) -> None:
        self._given: dict[str, Mapping[str, dg.AssetKey]] = {}

    def of(self, application: str, node: str) -> dg.AssetKey:
        """Return the key of an asset: the key set by `use`, or else its own key."""
        return self._given.get(application, {}).get(node) or own_key(application, node)

    def use(self, application: str, keys: Mapping[str, Iterable[str]]) -> None:
        """Give the assets of an application these keys, by node, in place of the keys of an earlier call.

        A node that is left out has its own key.
        """
        self._given[application] = {node: dg.AssetKey(list(parts)) for node, parts in keys.items()}


def other_keys(application: str, specs: Mapping[str, dg.AssetSpec]) -> dict[str, list[str]]:
    """Return node -> parts of its key, for the assets whose key differs from `own_key`.

    `specs` maps each node to the asset's Dagster spec.
    """
    return {node: list(each.key.path) for node, each in specs.items() if each.key != own_key(application, node)}


def change_specs(application: str, change: SpecChange, own: Iterable[dg.AssetSpec]) -> dict[str, dg.AssetSpec]:
    """Apply a user's function to all assets, let references follow changed keys, and return node -> changed asset.

    Every asset also gets its node as metadata and the application as tag, which the function cannot remove.

    Raises:
        SharedKeyError: the function gives two assets the same key.
    """
    specs: dict[str, dg.AssetSpec] = {}
    keys: dict[dg.AssetKey, dg.AssetKey] = {}
    taken: dict[dg.AssetKey, dg.AssetKey] = {}
    for each in own:
        node = "/".join(each.key.path[1:])
        mark: dict[str, Any] = {"metadata": {NODE: node}, "tags": {APPLICATION_TAG: application}}
        spec = change(each.merge_attributes(**mark)).merge_attributes(**mark)
        if spec.key in taken:
            raise SharedKeyError(taken[spec.key], each.key, spec.key)
        taken[spec.key] = each.key
        keys[each.key] = spec.key
        specs[node] = spec
    if all(before == after for before, after in keys.items()):
        return specs
    return {node: _following(spec, keys) for node, spec in specs.items()}


def _following(spec: dg.AssetSpec, keys: Mapping[dg.AssetKey, dg.AssetKey]) -> dg.AssetSpec:
    """Return the asset with its dependencies and column lineage moved to the changed keys."""
    deps = [dg.AssetDep(keys.get(d.asset_key, d.asset_key), partition_mapping=d.partition_mapping) for d in spec.deps]
    spec = spec.replace_attributes(deps=deps)
    value = spec.metadata.get(LINEAGE)
    lineage = value.column_lineage if isinstance(value, dg.TableColumnLineageMetadataValue) else value
    if not isinstance(lineage, dg.TableColumnLineage):
        return spec
    columns = {
        column: [dg.TableColumnDep(keys.get(each.asset_key, each.asset_key), each.column_name) for each in origins]
        for column, origins in lineage.deps_by_column.items()
    }
    return spec.merge_attributes(metadata={LINEAGE: dg.TableColumnLineage(columns)})
