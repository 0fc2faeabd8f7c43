from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.console.access import Access
from streams_orchestration.console.server import ConsoleError, access_to, address, serve
from streams_orchestration.operators.serving.own_pages import is_loopback
from streams_orchestration.runtime.observing.masking import HIDDEN, without_secrets
from streams_orchestration.runtime.storage.home import Home
from streams_orchestration_tests.examples import examples

TOKEN = "a-token-of-some-length"


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_loopback_needs_no_token(host: str):
    assert is_loopback(host)
    assert access_to(host, 3100, None).token is None


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.example.org"])
def test_elsewhere_a_token_is_made(host: str):
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


@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        ({"password": "x"}, {"password": HIDDEN}),
        ({"headers": {"Authorization": "Bearer x"}}, {"headers": {"Authorization": HIDDEN}}),
        ({"token": "${env:TOKEN}"}, {"token": "${env:TOKEN}"}),
        ({"token": "${env:TOKEN} and more"}, {"token": HIDDEN}),
        ({"url": "https://me:secret@example.org/a"}, {"url": f"https://me:{HIDDEN}@example.org/a"}),
        ({"options": [{"secretKey": "x", "region": "eu"}]}, {"options": [{"secretKey": HIDDEN, "region": "eu"}]}),
        ({"key": "carrier", "groupBy": ["month"]}, {"key": "carrier", "groupBy": ["month"]}),
        ({"apiKey": 4711}, {"apiKey": HIDDEN}),
    ],
)
def test_parameters_are_shown_without_secrets(parameters: object, shown: object):
    assert without_secrets(parameters) == shown


NAMES = st.sampled_from(["password", "apiToken", "client_secret", "Authorization", "connectionString", "accessKey"])


@examples(30)
@given(NAMES, st.lists(st.sampled_from(["list", "headers", "options"]), max_size=4))
def test_a_secret_is_shown_at_no_depth(name: str, around: list[str]):
    parameters: object = {name: "planted"}
    for each in around:
        parameters = [parameters] if each == "list" else {each: parameters, "plain": 1}
    assert "planted" not in str(without_secrets(parameters))
