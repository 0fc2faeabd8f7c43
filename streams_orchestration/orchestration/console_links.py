"""Links from Dagster's assets to the console, if the console's address is set."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import Any
from urllib.parse import urlencode, urlsplit

import dagster as dg

from streams_orchestration.runtime import api

CONSOLE_URL = "STREAMS_CONSOLE_URL"
"""The variable that names the console's address."""

logger = logging.getLogger(__name__)


def console_metadata(application: str, node: str, facts: Mapping[str, Any]) -> dict[str, dg.MetadataValue]:
    """Return the link from a deployment or a PE to the console; nothing for other nodes, or if no address is set."""
    address = shown_address(os.environ.get(CONSOLE_URL, ""))
    if not address or facts["kind"] not in ("deployment", "pe"):
        return {}
    shown = {"application": application}
    if facts["kind"] == "pe":
        shown["pe"] = node.rpartition("_")[2]
    return {"console": dg.MetadataValue.url(f"{address.rstrip('/')}/?{urlencode(shown)}")}


@cache
def shown_address(value: str) -> str:
    """Return the console's address if it may be shown; else log a warning and return an empty text.

    Dagster stores links, so an address with a user name, a password, a query or a fragment, which may be tokens, is not
    used. The warning is logged once for each value, and not for an empty one.
    """
    if not value:
        return ""
    with suppress(ValueError):
        parts = urlsplit(value)
        more = parts.fragment or parts.query or parts.username or parts.password
        if parts.scheme in ("http", "https") and parts.hostname and not more:
            return value
    wanted = "an address such as http://127.0.0.1:3100/, without a token,"
    logger.warning("%s, so assets have no links to the console", api.SettingError(CONSOLE_URL, "...", wanted))
    return ""
