from __future__ import annotations

import pytest

from streams_orchestration.console.access import Access
from streams_orchestration.console.server import ConsoleError, access_to, address, serve
from streams_orchestration.operators.serving.own_pages import is_loopback
from streams_orchestration.runtime.storage.home import Home

TOKEN = "a-token-of-some-length"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_loopback_needs_no_token(host: str):
    assert is_loopback(host)
    assert access_to(host, 3100, None).token is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.example.org"])
def test_a_token_is_made_for_an_address_beyond_this_machine(host: str):
    first, second = access_to(host, 3100, None), access_to(host, 3100, None)
    assert first.token
    assert first.token != second.token
    assert address(first).endswith(f"#token={first.token}")


@pytest.mark.parametrize(
    ("host", "own"),
    [
        ("127.0.0.1:3100", True),
        ("localhost:3100", True),
        ("[::1]:3100", True),
        ("127.0.0.1:3101", False),
        ("127.0.0.1", False),
        ("example.org:3100", False),
        ("localhost.example.org:3100", False),
        ("", False),
    ],
)
def test_without_a_token_only_names_of_this_machine_are_served(host: str, own: bool):
    assert Access("127.0.0.1", 3100).is_own_host(host) is own


def test_with_a_token_a_session_or_the_header_is_wanted():
    access = Access("10.0.0.1", 3100, TOKEN)
    assert not access.may_read(None, "")
    assert not access.may_read("guessed", "")
    assert not access.may_read(None, f"Basic {TOKEN}")
    assert not access.may_read(None, f"Bearer {TOKEN}x")
    assert access.may_read(None, f"Bearer {TOKEN}")
    assert access.may_read(access.begin_session(), "")


def test_a_token_that_can_be_guessed_is_refused():
    with pytest.raises(ConsoleError, match="shorter than 16"):
        serve(Home.default(), Access("127.0.0.1", 3100, "short"), None, lambda _address: None)
