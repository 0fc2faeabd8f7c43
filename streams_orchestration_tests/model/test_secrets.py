"""Secrets are hidden in values and texts, references to them are not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.model.diagnostics import Diagnostic
from streams_orchestration.model.secrets import HIDDEN, hidden_in, masked, without_secrets
from streams_orchestration.runtime.errors.errors import StreamsRuntimeError, explained
from streams_orchestration_tests.examples import examples


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
        ({"addKey": "carrier", "removeKey": ["n + 1"]}, {"addKey": "carrier", "removeKey": ["n + 1"]}),
        ({"apiKey": 4711}, {"apiKey": HIDDEN}),
        ({"passwords": ["a", "b"]}, {"passwords": HIDDEN}),
        ({"token": {"value": "x"}}, {"token": HIDDEN}),
        ({"tokens": {"x": "alice"}}, {"tokens": HIDDEN}),
        ({"tokens": ["${env:ONE}", "{file:/run/two}"]}, {"tokens": ["${env:ONE}", "{file:/run/two}"]}),
        ({"password": None}, {"password": None}),
        ({"url": "amqp://user:p/a@ss@host/vhost"}, {"url": f"amqp://user:{HIDDEN}@host/vhost"}),
    ],
)
def test_parameters_are_shown_without_secrets(parameters: object, shown: object):
    assert without_secrets(parameters) == shown


TEXTS = [
    ("postgresql://user:p/a@ss@host/db", f"postgresql://user:{HIDDEN}@host/db"),
    ("redis://:p@host and redis://:p@other", f"redis://:{HIDDEN}@host and redis://:{HIDDEN}@other"),
    ("https://ghp_planted@example.org/a", f"https://{HIDDEN}@example.org/a"),
    ("postgresql://user:${env:P}@host/db", "postgresql://user:${env:P}@host/db"),
    ("'http://host/?page=2&token=x', not y", f"'http://host/?page=2&token={HIDDEN}', not y"),
    ("http://host/?key=x&sig=y#access_token=z", f"http://host/?key={HIDDEN}&sig={HIDDEN}#access_token={HIDDEN}"),
    ("http://host/?token=${env:T}&a=b", "http://host/?token=${env:T}&a=b"),
    ("host=db password='a b' port=1", f"host=db password={HIDDEN} port=1"),
    ("--set=token=x", f"--set=token={HIDDEN}"),
    ("AccountKey=a+b==;EndpointSuffix=c", f"AccountKey={HIDDEN};EndpointSuffix=c"),
    ("key=carrier, monkeys=2", "key=carrier, monkeys=2"),
    ("asset_key=AssetKey(['a']), run_key=a:1", "asset_key=AssetKey(['a']), run_key=a:1"),
    ("s3://bucket/a abfs://container@account.dfs/a", "s3://bucket/a abfs://container@account.dfs/a"),
    ("http://host:80/a me@example.org", "http://host:80/a me@example.org"),
]


@pytest.mark.parametrize(("text", "shown"), TEXTS)
def test_secrets_of_addresses_and_settings_are_hidden_in_a_text(text: str, shown: str):
    assert masked(text) == masked(shown) == shown


@examples(50)
@given(st.text(min_size=1).filter(lambda text: not re.search(r"[\s{}•]", text)), st.sampled_from(["", "/db", "/?a=b"]))
def test_no_password_is_seen_in_an_address(password: str, behind: str):
    assert masked(f"amqp://me:{password}@host{behind}") == f"amqp://me:{HIDDEN}@host{behind}"


LONG = ["://a:" * 60_000 + "@", "token" * 60_000, "a.-" * 99_999 + "=", "token=" + ")" * 300_000 + "x"]


@pytest.mark.parametrize("text", LONG, ids=["addresses", "words", "no name", "no value"])
def test_long_texts_are_looked_through_once(text: str):
    assert len(masked(text)) <= len(text)


def test_values_of_secret_parameters_are_hidden_wherever_a_text_has_them():
    parameters = {"token": "planted", "passwords": ["pin", "${env:X}"], "file": "pinned"}
    assert hidden_in("planted: pin of pinned, ${env:X}", parameters) == f"{HIDDEN}: {HIDDEN} of pinned, ${{env:X}}"


def test_messages_of_errors_are_without_the_secrets_of_addresses():
    text = "amqp://user:p/a@ss@host: it is away"
    assert str(StreamsRuntimeError(text)) == f"amqp://user:{HIDDEN}@host: it is away"
    assert Diagnostic.of("SO5004", text).message == f"amqp://user:{HIDDEN}@host: it is away"
    assert "p/a" not in explained(OSError(text))


NAMES = st.sampled_from(["password", "apiToken", "client_secret", "Authorization", "connectionString", "accessKey"])


@examples(30)
@given(NAMES, st.lists(st.sampled_from(["list", "headers", "options"]), max_size=4))
def test_a_secret_is_shown_at_no_depth(name: str, around: list[str]):
    parameters: object = {name: "planted"}
    for each in around:
        parameters = [parameters] if each == "list" else {each: parameters, "plain": 1}
    assert "planted" not in str(without_secrets(parameters))
