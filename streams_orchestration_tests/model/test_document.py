"""Reading YAML: positions, the core schema, and everything that is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from streams_orchestration.model.document import MAX_DEPTH, LocatedMapping, parse_document, read_document
from streams_orchestration_tests.specs import codes


def test_values_are_those_of_the_core_schema() -> None:
    text = (
        "{a: no, b: 1e3, c: 2013-01-01, d: 0x1F, e: 0o17, f: 010, g: ~, h: .5, i: '5', j: true, k: !!str 5, l: 1_000}"
    )
    tree, diagnostics = parse_document(text, "spec")
    assert not diagnostics
    assert tree == {
        "a": "no",
        "b": 1000.0,
        "c": "2013-01-01",
        "d": 31,
        "e": 15,
        "f": 10,
        "g": None,
        "h": 0.5,
        "i": "5",
        "j": True,
        "k": "5",
        "l": "1_000",
    }


def test_values_know_their_lines() -> None:
    tree, _ = parse_document("a: 1\nb:\n  - x\n  - c: 1\n    d: {e: 5}\n", "spec")
    assert isinstance(tree, LocatedMapping)
    assert str(tree.location("b", 1, "d", "e")) == "spec:5"
    assert str(tree.location("b", 0)) == "spec:3"
    assert str(tree.location("b", 7, "x")) == "spec:2", "the last thing on the way that exists"
    assert str(tree.location("nothing")) == "spec:1"


def test_aliases_repeat_what_they_name() -> None:
    tree, diagnostics = parse_document("a: &x {b: [1, &y 2]}\nc:\n  - *x\n  - *y\n  - *y : *x\n", "spec")
    assert not diagnostics
    assert tree == {"a": {"b": [1, 2]}, "c": [{"b": [1, 2]}, 2, {"2": {"b": [1, 2]}}]}
    assert tree["c"][0] is not tree["a"]
    assert str(tree.location("c", 1)) == "spec:4"
    assert str(tree.location("c", 0, "b", 1)) == "spec:1"


_TENFOLD = [f"\na{level}: &a{level} [" + ", ".join([f"*a{level - 1}"] * 10) + "]" for level in range(1, 9)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: b: c", ["SO0003"]),
        ("a: [1, 2", ["SO0003"]),
        ("a: 'x", ["SO0003"]),
        ("a: \x07", ["SO0003"]),
        ("a: 1\n---\nb: 2", ["SO0003"]),
        ("? [a]\n: 5", ["SO0003"]),
        ("? {a: {b: c}}\n: 5", ["SO0003"]),
        ("a: *x", ["SO0003"]),
        ("a: &x [*x]", ["SO0005"]),
        ("a: &x {b: [{c: *x}]}", ["SO0005"]),
        ("a0: &a0 []" + "".join(_TENFOLD), ["SO0006"]),
        ("a0: &a0 []\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, MAX_DEPTH + 9)), ["SO0006"]),
        ("<<: {a: 1}", ["SO0005"]),
        ("a: !!python/object:os.system 1", ["SO0005"]),
        ("a: !mine 1", ["SO0005"]),
        ("[" * 5000, ["SO0006"]),
        ("{a: " * (MAX_DEPTH + 1) + "}" * (MAX_DEPTH + 1), ["SO0006"]),
        ("a: 1\na: 2", ["SO0004"]),
        ("annotations: {parallel: {width: 1, width: 2}}", ["CDISP0798E"]),
        ("annotations: {parallel: {width: 1}, parallel: {width: 2}}", ["CDISP0798E"]),
        ("a: .inf", ["SO0401"]),
        ("a: .nan", ["SO0401"]),
        ("a: 1e999", ["SO0401"]),
        ("a: 9223372036854775808", ["SO0401"]),
        ("a: " + "9" * 5000, ["SO0401"]),
    ],
)
def test_documents_with_faults_are_refused_with_their_place(text: str, expected: list[str]) -> None:
    _, diagnostics = parse_document(text, "spec")
    assert set(codes(diagnostics)) <= set(expected)
    assert diagnostics
    assert all(each.location.startswith("spec:") for each in diagnostics)


def test_the_first_of_two_equal_keys_counts() -> None:
    tree, diagnostics = parse_document("a: 1\nb: 2\na: {c: [3]}\n", "spec")
    assert tree == {"a": 1, "b": 2}
    assert (diagnostics[0].location, "line 1" in diagnostics[0].message) == ("spec:3", True)


def test_files_that_cannot_be_read_are_diagnosed(tmp_path: Path) -> None:
    (tmp_path / "latin1").write_bytes(b"a: 1\nb: \xe4\n")
    (tmp_path / "bom").write_bytes(b"\xef\xbb\xbfa: 1\n")
    assert codes(read_document(tmp_path)[1]) == ["SO0001"]
    assert codes(read_document(tmp_path / "nothing")[1]) == ["SO0001"]
    assert codes(read_document(Path("a\0b"))[1]) == ["SO0001"]
    assert codes(read_document(tmp_path / "bom" / "below")[1]) == ["SO0001"]
    diagnostics = read_document(tmp_path / "latin1")[1]
    assert (codes(diagnostics), diagnostics[0].location) == (["SO0002"], f"{tmp_path / 'latin1'}:2")
    assert read_document(tmp_path / "bom") == ({"a": 1}, [])
