"""Helpers for tests of components in a sandbox of Dagster."""

from __future__ import annotations

import traceback
from typing import Any

import dagster as dg


def loading(sandbox: Any) -> str:
    """Return the error, with its causes, that keeps definitions from being loaded; empty when there is none."""
    try:
        with sandbox.build_all_defs() as defs:
            dg.Definitions.validate_loadable(defs)
    except Exception as error:  # noqa: BLE001  Dagster has many
        return "".join(traceback.format_exception(error))
    return ""
