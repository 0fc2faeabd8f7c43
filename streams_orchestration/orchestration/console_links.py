"""Links from Dagster's assets to the console, where its address is known."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

import dagster as dg

from streams_orchestration.runtime.settings import SettingError

CONSOLE_URL = "STREAMS_CONSOLE_URL"
"""The variable that names the console's address."""


def console_metadata(application: str, node: str, facts: Mapping[str, Any]) -> dict[str, dg.MetadataValue]:
    """The link of a deployment or of a PE; nothing for other nodes, and where no address is set.

    Args:
        application: its name.
        node: of the lineage.
        facts: of that node.

    Raises:
        SettingError: the variable holds no address, or one with more than an address: Dagster would store a token.
    """
    address = os.environ.get(CONSOLE_URL, "")
    if not address or facts["kind"] not in ("deployment", "pe"):
        return {}
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.fragment or parts.query or parts.password:
        raise SettingError(CONSOLE_URL, "...", "an address such as http://127.0.0.1:3100/, without a token,")
    shown = {"application": application}
    if facts["kind"] == "pe":
        shown["pe"] = node.rpartition("_")[2]
    return {"console": dg.MetadataValue.url(f"{address.rstrip('/')}/?{urlencode(shown)}")}
