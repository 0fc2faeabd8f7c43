"""References to secrets: the list of parameters that have them, and errors that name variable, file and remedy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import streams_orchestration.operators
from streams_orchestration.operators.references import PARAMETERS, unresolved

CALLS = {"resolved": 1, "secret": 0}
"""Functions that resolve references -> which argument names the parameter, as in `headers: NAME`."""
UNSET = "the environment variable NOT_SET is not set in the host's process"
ABSENT = "the file /absent/file cannot be read by the host's process: No such file or directory"
CASES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "none": ({"url": "http://host/path", "file": "${env:NOT_SET}"}, []),
    "within an address": ({"url": "http://host/${env:NOT_SET}/a"}, [f"url: {UNSET}"]),
    "the form of databases": ({"url": "postgresql://u:{env:NOT_SET}@host/d"}, [f"url: {UNSET}"]),
    "one that is set": ({"token": "${env:IS_SET}", "password": "${env:NOT_SET}"}, [f"password: {UNSET}"]),
    "a file": ({"token": "${file:/absent/file}"}, [f"token: {ABSENT}"]),
    "settings": ({"client": {"a.b": "${env:NOT_SET}", "c": 5}}, [f"client: a.b: {UNSET}"]),
    "settings of settings": ({"registry": {"headers": {"X": "${env:NOT_SET}"}}}, [f"registry: headers: X: {UNSET}"]),
    "several": (
        {"url": "http://${env:NOT_SET}", "headers": {"X": "${env:NOT_SET}", "Y": "${file:/absent/file}"}},
        [f"headers: X: {UNSET}", f"headers: Y: {ABSENT}", f"url: {UNSET}"],
    ),
}


def resolving_calls() -> Iterator[tuple[str, str]]:
    """Yield the place of each call that resolves references, and the name of the parameter in it."""
    root = Path(streams_orchestration.operators.__file__).parent
    for file in sorted(root.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        if "operators.references import" not in text and ".secret(" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call):
                continue
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name not in CALLS or len(node.args) <= CALLS[name]:
                continue
            argument = node.args[CALLS[name]]
            first = argument.values[0] if isinstance(argument, ast.JoinedStr) else argument
            if isinstance(first, ast.Constant):
                yield f"{file.relative_to(root)}:{node.lineno}:{node.col_offset}", str(first.value).partition(":")[0]


def test_every_parameter_with_references_is_looked_at_before_a_host_starts():
    calls = dict(resolving_calls())
    assert {place: name for place, name in calls.items() if name not in PARAMETERS} == {}
    assert set(calls.values()) == set(PARAMETERS)


@pytest.mark.parametrize(("parameters", "reasons"), CASES.values(), ids=CASES)
def test_errors_name_the_parameter_and_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, parameters: dict[str, Any], reasons: list[str]
):
    monkeypatch.setenv("IS_SET", "value")
    monkeypatch.delenv("NOT_SET", raising=False)
    errors = list(unresolved(parameters))
    assert [error.reason for error in errors] == reasons
    for error in errors:
        assert str(error) == f"{error.reason}; {error.remedy}"
        assert error.remedy.startswith("hosts ")
