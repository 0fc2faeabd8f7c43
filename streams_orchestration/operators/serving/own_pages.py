"""Refuses requests that web pages of other addresses make a browser send."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from starlette.datastructures import Headers

LOOPBACK = ("localhost", "127.0.0.1", "::1")
"""The names by which this machine addresses itself."""
FOREIGN = (403, "The request comes from a page of another address.")


def is_loopback(host: str) -> bool:
    """Return True if an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def hosts_of(names: tuple[str, ...], port: int) -> frozenset[str]:
    """Return the valid values of the header Host for names or addresses and a port."""
    return frozenset(f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names)


def foreign_refusal(
    headers: Headers, is_own_host: Callable[[str], bool], title: str, *, may_link: bool
) -> tuple[int, str] | None:
    """Return the status and reason for refusing a request of a foreign page; None for a request of an own page.

    Args:
        headers: the headers of the request.
        is_own_host: returns True if a value of Host is the server's own. This defeats DNS rebinding.
        title: the title of the server, for the reason.
        may_link: True if pages of other addresses may link to the requested page.
    """
    host = headers.get("host", "")
    if not is_own_host(host):
        return 421, f"{host or 'no host'} is not the address of {title}."
    origin = headers.get("origin")
    if origin is not None and _address(origin) != host:
        return FOREIGN
    links = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin") and not (links and may_link):
        return FOREIGN
    return None


def is_json(headers: Headers) -> bool:
    """Return True if the Content-Type is JSON, which a browser sends across origins only after a CORS preflight."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"


def _address(origin: str) -> str:
    try:
        return urlsplit(origin).netloc
    except ValueError:  # brackets that enclose no address
        return ""
