"""Lineage across applications: an Import depends on the Exports that it connects with."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from typing import Any, cast

import dagster as dg

from streams_orchestration.model.subscription import is_about
from streams_orchestration.orchestration.asset_keys import APPLICATION_TAG, NODE
from streams_orchestration.orchestration.lineage_assets import LINK

logger = logging.getLogger(__name__)


def links(assets: Iterable[object], kind: str) -> list[dg.AssetSpec]:
    """Return the `imports` or the `exports` among the assets of an application."""
    specs = (asset for asset in assets if isinstance(asset, dg.AssetSpec))
    return [spec for spec in specs if LINK in spec.metadata and _kind(spec) == kind]


def connection_of(exports: Collection[dg.AssetSpec]) -> Callable[[dg.AssetSpec], dg.AssetSpec]:
    """Return a function that makes an Import depend on the given Exports that it would connect with.

    Any other asset is returned unchanged. An Import or Export with wrong parameters connects with nothing.
    """

    def connect(spec: dg.AssetSpec) -> dg.AssetSpec:
        if LINK not in spec.metadata or _kind(spec) != "imports":
            return spec
        keys = [export.key for export in exports if _is_about(spec, export)]
        return spec.merge_attributes(deps=keys) if keys else spec

    return connect


def _is_about(wanted: dg.AssetSpec, export: dg.AssetSpec) -> bool:
    try:
        return is_about(_parameters(wanted), _application(wanted), _parameters(export), _application(export))
    except ValueError as error:  # reported when the application is to run
        logger.debug("%s: %s", wanted.key, error)
        return False


def _application(spec: dg.AssetSpec) -> str:
    return spec.tags[APPLICATION_TAG]


def _kind(spec: dg.AssetSpec) -> str:
    """Return the kind of an asset's lineage node, from its metadata, since users may have changed its key."""
    node = spec.metadata[NODE]
    return str(node.value if isinstance(node, dg.TextMetadataValue) else node).partition("/")[0]


def _parameters(spec: dg.AssetSpec) -> dict[str, Any]:
    value = spec.metadata[LINK]
    return cast("dict[str, Any]", value.value if isinstance(value, dg.JsonMetadataValue) else value)
