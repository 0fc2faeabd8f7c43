"""XMLParse gives the same tuples however documents are cut, and names what it cannot read."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streams_orchestration.operators.contract.operator import Punctuation
from streams_orchestration.operators.errors.errors import DataError, TupleError
from streams_orchestration.operators.formats.xml_paths import ParsedElement, XmlReader, path_finder
from streams_orchestration.operators.standard.conversion.xml_parse import XMLParse
from streams_orchestration_tests.examples import examples
from streams_orchestration_tests.operators.harness import Bench

DOCUMENTS = (
    "<?xml version='1.0' encoding='UTF-8'?><c><b p='1'>x</b><o><b p='9'/></o></c>\n",
    "<c><!-- a comment --><b p='2'><t>\xe4 &lt;</t></b></c>  ",
    "<c><b p='3'/><b p='4'><t>y</t><t>z</t></b></c>",
)
EXPECTED = [("1", "x", [], 1), Punctuation.WINDOW, ("2", "\xe4 <", ["\xe4 <"], 2), Punctuation.WINDOW]
EXPECTED += [("3", "", [], 3), ("4", "yz", ["y", "z"], 4), Punctuation.WINDOW]


def bench(content: str, **more: Any) -> Bench:
    parameters: dict[str, Any] = {
        "trigger": "/c/b",
        "paths": {"p": "@p", "whole": "."},
        "pathLists": {"ts": "t/text()"},
        "output": {"id": "p", "whole": "whole", "ts": "ts", "n": "CAST(p AS INT)"},
    }
    made = "id string, whole string, ts array<string>, n int"
    return Bench(XMLParse, [f"d {content}"], [made], **(parameters | more))


@given(st.lists(st.integers(0, 250), max_size=6), st.sampled_from(["string", "binary"]), st.booleans())
@example(cuts=[111], content="string", restarts=False)
@examples(60)
def test_documents_may_be_cut_anywhere(cuts: list[int], content: str, restarts: bool):
    whole: Any = "".join(DOCUMENTS)
    whole = whole.encode() if content == "binary" else whole
    bounds = [0, *sorted(min(cut, len(whole)) for cut in cuts), len(whole)]
    made = bench(content)
    for begin, end in itertools.pairwise(bounds):
        made.send([(whole[begin:end],)])
        if restarts:
            made.restart()
    assert made.end().items() == EXPECTED


PATHS = [
    ("b/text()", ["x", "z"]),
    ("b[2]/text()", ["z"]),
    ("b[@k='1']/@k", ["1"]),
    ('b[c="y"]', ["xy"]),
    ("*/c/text()", ["y"]),
    (".", ["xyz"]),
    ("@a", ["v"]),
    ("d/text()", []),
    ("n:b/@n:k", []),
]


@pytest.mark.parametrize(("path", "expected"), PATHS)
def test_a_path_finds_texts(path: str, expected: list[str]):
    first = ParsedElement("b", {"k": "1"}, ["x", ParsedElement("c", {}, ["y"])])
    assert path_finder(path)(ParsedElement("a", {"a": "v"}, [first, ParsedElement("b", {}, ["z"])])) == expected


BROKEN = [
    ("<c><b p='1'/></d>", "not well-formed: mismatched tag"),
    ("<!DOCTYPE c [<!ENTITY e 'x'>]><c/>", "declares the entity e"),
    ("<c><b p='x'/></c>", "output.n"),
]


@pytest.mark.parametrize(("document", "message"), BROKEN)
def test_a_broken_document_fails_or_is_dropped(document: str, message: str):
    with pytest.raises((TupleError, DataError)) as raised:
        bench("string").send([(document,)])
    error = raised.value.__cause__ if isinstance(raised.value, TupleError) else raised.value
    assert message in str(error)
    made = bench("string", parsing="permissive").send([(document,), ("<c><b p='2'/></c>",)])
    assert made.rows()[-1] == ("2", "", [], 2)


WRONG = [
    ({"trigger": "c/b"}, "'c/b' is not an absolute path of names"),
    ({"trigger": ["/c/b", "/c"]}, "one for each of the 1 output ports"),
    ({"paths": {"p": "//b"}}, "'//b' is not a path such as"),
    ({"xmlInput": "x"}, "no attribute x"),
    ({"output": {"id": "p"}}, "n has no value"),
]


@pytest.mark.parametrize(("parameters", "message"), WRONG)
def test_wrong_parameters_are_refused(parameters: dict[str, Any], message: str):
    with pytest.raises(ValueError, match=message):
        bench("string", **parameters)


@pytest.mark.parametrize(
    ("documents", "encoding", "texts"),
    [
        (b"<c a='>'/><c b=\"x>y\"/>  <c>t</c >\n<?xml version='1.0'?><c/>", None, ["", "", "t", ""]),
        (b"<c>a</c><!-- a comment --><c>b</c> <?p q?> <c/>", "utf-8", ["a", "b", ""]),
        ("<c>\xe4</c>".encode("utf-16") + "<c>b</c>".encode("utf-16"), None, ["\xe4", "b"]),
    ],
    ids=["empty elements", "comments between", "UTF-16"],
)
def test_a_document_ends_with_its_last_tag_wherever_the_bytes_are_cut(
    documents: bytes, encoding: str | None, texts: list[str]
):
    for cut in range(len(documents) + 1):
        reader = XmlReader([("c",)], encoding)
        found = [each for part in (documents[:cut], documents[cut:]) for each in reader.read(part)]
        assert [each and each[1].text for each in found] == [each for text in texts for each in (text, None)], cut
