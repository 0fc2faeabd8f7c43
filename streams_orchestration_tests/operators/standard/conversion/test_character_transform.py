"""CharacterTransform gives the text in the other encoding, however its bytes are cut and with restarts between them."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.errors.errors import DataError
from streams_orchestration.operators.standard.conversion.character_transform import CharacterTransform
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench

TEXT = "häuser, \U0001f600 und \u6f22\u5b57"
ENCODINGS = ["utf-8", "utf-16", "utf-16-be", "utf-32-le", "gb18030"]


def transforming(*encodings: str, **more: Any) -> Bench:
    given_: dict[str, Any] = {"convert": {"b": list(encodings)}} | more
    return Bench(CharacterTransform, ["b binary, n int"], ["b binary, n int"], **given_)


@given(st.sampled_from(ENCODINGS), st.sampled_from(ENCODINGS), st.lists(st.integers(0, 80), max_size=5), st.booleans())
@examples(40)
def test_a_text_is_converted_however_its_bytes_are_cut(source: str, target: str, cuts: list[int], restarts: bool):
    content, bench = TEXT.encode(source), transforming(source, target)
    bounds = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    for number, (begin, end) in enumerate(itertools.pairwise(bounds)):
        bench.send([(content[begin:end], number)])
        if restarts:
            bench.restart()
    assert b"".join(data for data, _ in bench.rows()).decode(target) == TEXT
    assert [number for _, number in bench.rows()] == list(range(len(bounds) - 1))


def test_other_attributes_keep_their_values_and_null_stays_null():
    bench = transforming("utf-8", "latin-1", output={"n": "n + 1"})
    assert bench.send([("ä".encode(), 1), (None, 2)]).rows() == [(b"\xe4", 2), (None, 3)]


@pytest.mark.parametrize(
    ("encodings", "data"), [(("utf-8", "utf-16"), b"\xff"), (("utf-8", "latin-1"), "\u6f22".encode())]
)
def test_bytes_without_a_counterpart_are_an_error(encodings: tuple[str, str], data: bytes):
    with pytest.raises(DataError, match=r"convert: b: .*codec can't"):
        transforming(*encodings).send([(data, 1)])


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"convert": {"b": ["utf-8", "klingon"]}}, "convert: b: 'klingon' is not an encoding of texts"),
    ({"convert": {"b": ["base64", "utf-8"]}}, "'base64' is not an encoding of texts"),
    ({"convert": {"n": ["utf-8", "utf-16"]}}, "convert: n is int, but binary is expected"),
    ({"convert": {"c": ["utf-8", "utf-16"]}}, "convert: the output stream has no attribute c"),
]


@pytest.mark.parametrize(("parameters", "message"), WRONG)
def test_wrong_encodings_and_attributes_are_refused(parameters: dict[str, Any], message: str):
    kind: type[Operator] = CharacterTransform
    with pytest.raises(ValueError, match=message):
        Bench(kind, ["b binary, n int"], ["b binary, n int"], **parameters)
