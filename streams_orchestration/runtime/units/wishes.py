"""The machines on which a host may run, as stored in the catalog."""

from __future__ import annotations

from typing import Any

from streams_orchestration.compiler.deployment_plan import HostWish


def stored_wish(wish: HostWish) -> dict[str, Any] | None:
    """A wish as JSON; None when any machine will do."""
    return {"machine": wish.machine, "tags": list(wish.tags)} if wish.machine or wish.tags else None


def read_wish(host: int, stored: dict[str, Any] | None) -> HostWish:
    """Read the wish of a host that `stored_wish` has made."""
    return HostWish(host, stored["machine"], tuple(stored["tags"])) if stored else HostWish(host, None, ())
