"""The standard operators and the table of codes."""

from __future__ import annotations

import re

import pytest

from streams_orchestration.model.diagnostics import CODES, Diagnostic
from streams_orchestration.model.standard import STANDARD

MODELS = """
XMLParse Always F T,T | DirectoryScan Always - F | Export Always F - | FileSink Always F T | FileSource Always F T,T
Import Always - F | MetricsSink Always F - | TCPSink Always F - | TCPSource Always - T | UDPSink Always F -
UDPSource Always - T | V1TCPSink Always F - | V1TCPSource Always - T | Demux Always F T,T | KeyedAggregate Always F T
KeyedDelay Always F T | KeyedJoin Always F T | Normalize Always F T | PunctMerger Always F,F F
Aggregate WindowTriggerBound F T | Filter Always F F,F | Functor Always F T,T | Join WindowEvictionBound F T,T
Punctor Always F T | Sort WindowEvictionBound F T | Barrier Always F,F T | Beacon Always - F | Buffer Never F F
CharacterTransform Always F T | Compress Always F T | Custom Always T T | DeDuplicate Always F T,F
Decompress Always T T | Delay Never F F | DynamicFilter Always F,F,F F,F | Format Always F T | Gate Always F,F F
JavaOp Never F T | Marker Never F F | Pair Always F,F T | Parse Always T T | Selector Never T F | Split Always F F,F
Switch Always F,F F | ThreadedSplit Never F T,T | Throttle Always F F | Union Always F,F T
ReplayableStart Always F F
"""
"""Rule 92: single-threaded mode, mutability of the input and output port sets."""


def models() -> list[list[str]]:
    return [entry.split() for entry in re.split(r"[|\n]", MODELS) if entry.strip()]


@pytest.mark.parametrize(("name", "mode", "inputs", "outputs"), models())
def test_threading_and_mutability_are_as_in_the_models_of_streams(
    name: str, mode: str, inputs: str, outputs: str
) -> None:
    signature = STANDARD[name]
    assert signature.single_threaded == mode
    for text, ports in ((inputs, signature.inputs), (outputs, signature.outputs)):
        expected = [] if text == "-" else [letter == "T" for letter in text.split(",")]
        actual = [bool(port.mutable) for port in ports]
        # A set may describe several ports, so the table has more words than the model has sets.
        assert [value for i, value in enumerate(actual) if i == 0 or i < len(expected) or value != actual[i - 1]][
            : len(expected)
        ] == expected
        assert bool(expected) == bool(ports)


def test_all_standard_operators_are_in_the_table() -> None:
    own = {"DeltaSink", "DeltaSource", "IcebergSink", "IcebergSource", "KafkaSink", "KafkaSource", "SqlSink"}
    own |= {"DataFrame", "Lookup", "Merge", "PostgresChangeSource", "Sql"}
    own |= {"HttpSink", "HttpSource", "MQTTSource", "NATSSource", "RedisSource", "SqlSource"}
    assert {name for name, *_ in models()} | own | {"JobControlPlane"} == set(STANDARD)


@pytest.mark.parametrize(
    ("name", "inputs", "outputs"),
    [
        ("FileSource", (0, 1), (1, 2)),
        ("FileSink", (1, 1), (0, 1)),
        ("Filter", (1, 1), (1, 2)),
        ("Functor", (1, 1), (1, None)),
        ("Join", (2, 2), (1, 3)),
        ("Union", (1, None), (1, 1)),
        ("Custom", (0, None), (0, None)),
        ("DynamicFilter", (2, 3), (1, 2)),
        ("Beacon", (0, 0), (1, 1)),
        ("Selector", (1, None), (1, 1)),
        ("XMLParse", (1, 1), (1, None)),
    ],
)
def test_standard_operators_have_the_port_counts_of_streams(
    name: str, inputs: tuple[int, int | None], outputs: tuple[int, int | None]
) -> None:
    signature = STANDARD[name]
    assert (signature.least_inputs, signature.most_inputs) == inputs
    assert (signature.least_outputs, signature.most_outputs) == outputs


def test_regions_and_control_ports() -> None:
    assert [port.control for port in STANDARD["Gate"].inputs] == [False, True]
    assert [port.control for port in STANDARD["Switch"].inputs] == [False, True]
    assert not STANDARD["TCPSink"].consistent.member
    assert STANDARD["Filter"].consistent.member
    assert not STANDARD["Filter"].consistent.start
    for name in ("Beacon", "DirectoryScan", "FileSource"):
        assert STANDARD[name].consistent.start
    assert STANDARD["PunctMerger"].input(5).expects_window_punctuation


def test_codes_have_a_form_a_cause_and_a_remedy() -> None:
    for code, (severity, cause, remedy) in CODES.items():
        assert re.fullmatch(r"(CDIS[PR]\d{4}[EWD]|SO\d{4})", code)
        assert cause
        assert remedy
        if code.startswith("CDIS") and code != "CDISP9254W":
            # This code ends with the letter of a warning, but Streams stops the build.
            assert (severity == "error") == code.endswith("E")
    with pytest.raises(KeyError):
        Diagnostic.of("SO9999", "?")
    assert str(Diagnostic.of("SO0001", "gone", operator="A", location="f:1")) == "f:1: A: error SO0001: gone"
    assert Diagnostic.of("SO0001", "gone").remedy == CODES["SO0001"].remedy
