from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.orchestration import console_links
from streams_orchestration.orchestration.console_links import CONSOLE_URL
from streams_orchestration.orchestration.lineage_assets import external_assets
from streams_orchestration.runtime.lineage.graph import build_lineage_graph

FLIGHTS = Path(__file__).parents[2] / "specs" / "flights.yaml"


def links() -> dict[str, Any]:
    assets = external_assets(build_lineage_graph(compile_spec(FLIGHTS)))
    return {asset.key.to_user_string(): each.value for asset in assets if (each := asset.metadata.get("console"))}


def test_a_deployment_and_its_pes_link_to_the_console(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(CONSOLE_URL, "http://localhost:3100/")
    assert links() == {
        "flights/deployment": "http://localhost:3100/?application=flights",
        "flights/pes/pe_0": "http://localhost:3100/?application=flights&pe=0",
        "flights/pes/pe_1": "http://localhost:3100/?application=flights&pe=1",
    }


def test_without_an_address_nothing_links(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv(CONSOLE_URL, raising=False)
    assert links() == {}


@pytest.mark.parametrize(
    "address",
    [
        "localhost:3100",
        "javascript:alert(1)",
        "http://",
        "http://a:3100/#token=secret",
        "http://me:secret@a:3100/",
        "http://secret@a:3100/",
    ],
)
def test_an_address_that_is_none_or_holds_a_token_is_left_out_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, address: str
):
    monkeypatch.setenv(CONSOLE_URL, address)
    console_links.shown_address.cache_clear()
    assert links() == {}
    (warning,) = caplog.messages
    assert CONSOLE_URL in warning
    assert "secret" not in warning
