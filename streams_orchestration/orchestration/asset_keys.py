"""Names of the assets of an application."""

from __future__ import annotations

import dagster as dg


def asset_key(application: str, name: str) -> dg.AssetKey:
    """The asset of a stage, or of a node of the lineage: `pes/pe_0` of `flights` is `flights/pes/pe_0`."""
    return dg.AssetKey([application, *name.split("/", 1)])
