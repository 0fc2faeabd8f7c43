"""Submission-time values, and channel functions in parameters."""

from __future__ import annotations

import pytest

from streams_orchestration.compiler.parallel.intrinsics import substitute_channels
from streams_orchestration_tests.compiler.invocations import SOURCE, SUBMISSION, built, call
from streams_orchestration_tests.specs import codes, graph, logical, physical


def test_submission_values_keep_their_type() -> None:
    parameters = {
        "a": "${n}",
        "b": "n=${n} x=${x} b=${b}",
        "c": ["${s}", {"d": "${ must }"}],
        "e": "${b}",
        "f": 5,
        "g": "$n",
    }
    parameters["h"] = "c${getChannel()} ${getLocalMaxChannels( )}"
    actual = built(graph({**SOURCE, "parameters": parameters}, submission=SUBMISSION), submission={"must": "-7"})
    assert actual.submission == {"n": 3, "x": 2.0, "s": "text", "b": True, "must": -7}
    assert actual.operators[0].parameters == {
        "a": 3,
        "b": "n=3 x=2.0 b=true",
        "c": ["text", {"d": -7}],
        "e": True,
        "f": 5,
        "g": "$n",
        "h": "c${getChannel()} ${getLocalMaxChannels()}",
    }


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, ["SO0202"]),
        ({"must": "x"}, ["SO0203"]),
        ({"must": "9223372036854775808"}, ["SO0203"]),
        ({"must": "1", "n": "3000000000"}, ["SO0203"]),
        ({"must": "1", "x": "nan"}, ["SO0203"]),
        ({"must": "1", "b": "yes"}, ["SO0203"]),
        ({"must": "1", "musst": "2"}, ["SO0204"]),
        ({"must": "1", "x": "1e3", "b": "FALSE", "s": "", "n": " 4 "}, []),
    ],
)
def test_given_submission_values_are_checked(given: dict[str, str], expected: list[str]) -> None:
    _, diagnostics = logical(graph(SOURCE, submission=SUBMISSION), submission=given)
    assert codes(diagnostics) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${m}", "SO0201"),
        ("a ${m} b", "SO0201"),
        ("${getChanel()}", "SO0206"),
        ("${byChannel()}", "CDISP0116E"),
        ("byChannel()", "CDISP0116E"),
        ("byReplica()", "CDISP0116E"),
        ("a == byChannel() + ${n}", "CDISP0116E"),
    ],
)
def test_references_in_parameters(text: str, expected: str) -> None:
    _, diagnostics = logical(graph({**SOURCE, "parameters": {"p": [text]}}, submission={"n": SUBMISSION["n"]}))
    assert codes(diagnostics) == [expected]


def test_channel_functions_in_replicas() -> None:
    parameters = {
        "a": "${getChannel()}",
        "b": "${getLocalChannel()} of ${getLocalMaxChannels()}",
        "c": "${getAllChannels()}",
    }
    parameters["d"] = "${getAllMaxChannels()} ${getMaxChannels()}"
    inner = {
        "inputs": ["In"],
        "graph": [call("W", "Sink", ["In"], parameters=parameters, annotations={"parallel": {"width": 3}})],
    }
    application = graph(
        {**SOURCE, "parameters": parameters},
        call("C", "Comp", annotations={"parallel": {"width": 2}}),
        composites={"Comp": inner},
    )
    logical_graph = built(application)
    replicas = {operator.name: operator for operator in physical(application).operators}
    texts = {
        name: substitute_channels(logical_graph.operators[each.logical].parameters, each)
        for name, each in replicas.items()
    }
    assert texts["C[1].W[4]"] == {"a": 4, "b": "1 of 3", "c": [4, 1], "d": "[6,2] 6"}
    assert texts["Src"] == {"a": -1, "b": "-1 of 0", "c": [-1], "d": "[0] 0"}


@pytest.mark.parametrize(
    ("size", "given", "expected"),
    [
        ("${n}", {}, 3),
        ("${n}", {"n": "70"}, 70),
        ("${n}", {"n": "0"}, "CDISP0090E"),
        ("${x}", {}, "CDISP0090E"),
        ("${none}", {}, "SO0201"),
    ],
)
def test_sizes_of_queues(size: str, given: dict[str, str], expected: int | str) -> None:
    """Rule 64: at least 1, also when it is given at submission."""
    queue = {"threadedPort": [{"port": 0, "queueSize": size}]}
    values = {name: SUBMISSION[name] for name in ("n", "x")}
    source = {**SOURCE, "parameters": {"used": "${n} ${x}"}}
    actual, diagnostics = logical(graph(source, call("W", config=queue), submission=values), submission=given)
    if isinstance(expected, int):
        assert [port.queue_size for port in actual.operators[1].threaded_ports] == [expected]
    else:
        assert codes(diagnostics) == [expected]
