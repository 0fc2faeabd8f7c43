"""Compiled applications of IBM Streams: both generations of ADL, bundles, and files that are damaged."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from pathlib import Path
from typing import Literal

import pytest

from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.plan import plan_document
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.spl.adl.bundles import adl_of
from streams_orchestration.spl.adl.document import document_of
from streams_orchestration.spl.adl.errors import AdlError

ADL = Path(__file__).parents[1] / "cases" / "adl"
NEWER, OLDER = ADL / "newer.adl", ADL / "older.adl"
INFO = '<bundleInfoModel xmlns="urn:x" outputDirectory="out" adlFile="shop.Main.adl"/>'


def bundle(path: Path, adl: Path, *, info: str = INFO, member: str = "out/shop.Main.adl") -> Path:
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name, content in (("../../outside", b"never read"), (member, adl.read_bytes())):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("bundleInfo.xml", info)
        file.writestr("tar/bundle.tar", archive.getvalue())
    return path


def messages(path: Path) -> list[tuple[str, str]]:
    return [(each.code, each.message) for each in read_application(path).diagnostics]


@pytest.mark.parametrize("path", [NEWER, OLDER], ids=["newer", "older"])
def test_operators_connections_and_annotations_are_those_of_the_file(path: Path):
    compilation = compile_spec(path)
    logical = compilation.logical
    assert {each.name: each.kind for each in logical.operators} == {
        "Src": "Beacon",
        "Snk": "Custom",
        "Left.Narrow": "Functor",
        "Left.Placed": "shop.geo::Locate",
        "Right.Narrow": "Functor",
        "Right.Placed": "shop.geo::Locate",
    }
    names = [each.name for each in logical.operators]
    assert {(names[each.source], names[each.target]) for each in logical.connections} == {
        ("Src", "Left.Narrow"),
        ("Src", "Right.Narrow"),
        ("Left.Narrow", "Left.Placed"),
        ("Right.Narrow", "Right.Placed"),
        ("Left.Placed", "Snk"),
        ("Right.Placed", "Snk"),
    }
    [region] = logical.regions
    assert region.width == 2
    kinds = {(each.kind, each.scope): each.values for each in logical.annotations}
    assert kinds[("consistent", "Src")] == {"period": 5.0, "drainTimeout": 60.0}
    assert ("autonomous", "Snk") in kinds
    assert [each.parameters for each in logical.imports] == [{"subscription": 'kind == "shop"', "filter": "n > 3"}]
    assert [each.parameters for each in logical.exports] == [{"properties": {"kind": "places", "size": 3}}]


def test_instances_of_one_composite_with_other_properties_are_two_composites():
    application = read_application(NEWER).application
    assert application is not None
    assert set(application.composites) == {"shop::Work", "shop::Work#2"}
    assert set(application.operators) == {"shop.geo::Locate"}


@pytest.mark.parametrize("scheme", ["legacy", "automatic", "manual"])
def test_an_application_that_is_fused_already_keeps_its_pes(scheme: Literal["legacy", "automatic", "manual"]):
    pes = plan_document(compile_spec(OLDER, Options(fusion=scheme)))["fusionPlan"]["pes"]
    assert sorted(sorted(pe["operators"]) for pe in pes) == [
        ["Left[0].Narrow"],
        ["Left[0].Placed"],
        ["Left[1].Narrow"],
        ["Left[1].Placed"],
        ["Right.Narrow", "Right.Placed"],
        ["Snk", "Src"],
    ]


def test_a_bundle_is_read_in_place_like_its_adl(tmp_path: Path):
    read, expected = read_application(bundle(tmp_path / "shop.Main.sab", NEWER)), read_application(NEWER)
    assert read.application == expected.application


def test_a_compiled_application_does_not_run_and_says_which_source_does():
    with pytest.raises(ApplicationError) as raised:
        deployable(compile_spec(NEWER))
    [error] = [each for each in raised.value.diagnostics if each.severity == "error"]
    assert (error.code, "Main.spl" in error.message) == ("SO0740", True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<a>", "the XML is not well-formed: no element found"),
        ("<a/>", "it is not an ADL document of IBM Streams 3 to 6: an <applicationSet> is expected"),
        (
            '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>',
            "the XML has a document type, which no compiled application needs",
        ),
        ("<a>" * 501, "the XML is larger, or nested more deeply, than a compiled application"),
        ("", "the XML is not well-formed: no element found"),
    ],
)
def test_a_text_that_is_no_adl_is_refused(tmp_path: Path, content: str, message: str):
    path = tmp_path / "x.adl"
    path.write_text(content)
    assert messages(path) == [("SO0741", message)]


def test_a_number_of_too_many_digits_is_refused_or_stays_a_text(tmp_path: Path):
    text, path, digits = NEWER.read_text(), tmp_path / "x.adl", "9" * 5000
    path.write_text(text.replace("IndexForWidth>0<", f"IndexForWidth>{digits}<"))
    [(code, message)] = messages(path)
    assert code == "SO0741"
    assert message.startswith("<submissionTimeParameterIndexForWidth> holds an integer of at least 0, not '99")
    path.write_text(text.replace("<value>3</value>", f"<value>{digits}</value>"))
    assert digits in str(document_of(path))


def test_a_file_that_is_no_bundle_is_refused(tmp_path: Path):
    path = tmp_path / "x.sab"
    path.write_text("no archive")
    [(code, message)] = messages(path)
    assert (code, message.startswith("it is not an application bundle, or it is damaged")) == ("SO0741", True)
    assert messages(bundle(path, NEWER, info="<x/>")) == [
        ("SO0741", "bundleInfo.xml of the bundle does not say which file is the ADL")
    ]
    assert messages(bundle(path, NEWER, member="elsewhere")) == [
        ("SO0741", "the bundle has no out/shop.Main.adl, which its bundleInfo.xml names as the ADL")
    ]
    assert messages(tmp_path / "missing.sab") == [("SO0001", "there is no such file")]


def test_a_bundle_with_any_byte_altered_is_read_or_refused(tmp_path: Path):
    whole = bundle(tmp_path / "whole.sab", NEWER).read_bytes()
    damaged, refused = tmp_path / "damaged.sab", 0
    for at in range(0, len(whole), 3):
        damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        try:
            adl_of(damaged)
        except AdlError:
            refused += 1
    assert refused


@pytest.mark.slow
@pytest.mark.parametrize("path", [NEWER, OLDER], ids=["newer", "older"])
def test_an_adl_file_with_any_part_removed_or_altered_raises_no_error(path: Path, tmp_path: Path):
    text = path.read_text()
    damaged = tmp_path / "damaged.adl"
    for match in re.finditer(r' \w+="[^"]*"|<(\w+)[^<>]*/>', text):
        damaged.write_text(text[: match.start()] + text[match.end() :])
        read_application(damaged)
    for match in re.finditer(r'="(\d+)"', text):
        damaged.write_text(f"{text[: match.start(1)]}99{text[match.end(1) :]}")
        read_application(damaged)
