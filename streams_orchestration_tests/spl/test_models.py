"""Operator models: those of the standard toolkit, and XML files of others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from streams_orchestration.spl.functions.signatures import builtin, builtin_names
from streams_orchestration.spl.models.operators import (
    InputPorts,
    SplOperatorModel,
    model_of_text,
    standard_operator,
    standard_operators,
)
from streams_orchestration.spl.models.reading import ModelError, read_model, read_toolkit

MODEL = """<?xml version="1.0"?>
<operatorModel xmlns="urn:operator" xmlns:cmn="urn:common"><cppOperatorModel>
<context>
  <description>An operator &amp; its text</description>
  <customLiterals><enumeration><name>Mode</name><value>fast</value><value>exact</value></enumeration></customLiterals>
  <customOutputFunctions><customOutputFunction><name>Of</name>
    <function><prototype><![CDATA[<numeric T>[N] public list<T>[N] Each(list<T>[N] v, int32 w)]]></prototype></function>
    <function><prototype><![CDATA[acme.Type Unknown()]]></prototype></function>
  </customOutputFunction></customOutputFunctions>
</context>
<parameters><allowAny>false</allowAny>
  <parameter><name>mode</name><optional>true</optional><expressionMode>CustomLiteral</expressionMode><type>Mode</type>
    <cardinality>1</cardinality></parameter>
  <parameter><name>key</name><optional>false</optional><expressionMode>Expression</expressionMode>
    <portScope><port>1</port></portScope></parameter>
</parameters>
<inputPorts>
  <inputPortSet><tupleMutationAllowed>true</tupleMutationAllowed><windowingMode>Windowed</windowingMode>
    <cardinality>1</cardinality><optional>false</optional></inputPortSet>
  <inputPortOpenSet><windowingMode>NonWindowed</windowingMode><controlPort>true</controlPort></inputPortOpenSet>
</inputPorts>
<outputPorts><outputPortSet><expressionMode>Expression</expressionMode><autoAssignment>true</autoAssignment>
  <outputFunctions><default>Each</default><type>Of</type></outputFunctions>
  <windowPunctuationOutputMode>Generating</windowPunctuationOutputMode>
  <cardinality>1</cardinality><optional>false</optional></outputPortSet></outputPorts>
</cppOperatorModel></operatorModel>
"""
SAME = """acme::Work
  in 1 window=always mutable
  in * control
  out 1 mode=Expression auto marks=Generating functions default=Each
  function <numeric T> [N] list<T>[N] Each(list<T>[N], int32)
  param mode? CustomLiteral count=1 words=fast,exact
  param key Expression port=1"""


def same() -> SplOperatorModel:
    """Return the model; a function with a type of the toolkit is known by its name only."""
    model = model_of_text(SAME)
    return replace(model, outputs=(replace(model.outputs[0], opaque=("Unknown",)),))


def test_a_model_in_xml_is_read(tmp_path: Path):
    path = tmp_path / "Work.xml"
    path.write_text(MODEL, encoding="utf-8")
    assert read_model(path, "acme::Work") == same()


def test_an_index_of_a_toolkit_is_read(tmp_path: Path):
    path = tmp_path / "toolkit.xml"
    inner = MODEL.partition("?>")[2]
    path.write_text(
        f'<toolkitModel xmlns="urn:toolkit"><toolkit name="t"><namespace name="acme"><primitiveOperator name="Work">'
        f"{inner}</primitiveOperator></namespace></toolkit></toolkitModel>",
        encoding="utf-8",
    )
    assert read_toolkit(path) == {"acme::Work": same()}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<a", "not XML"),
        ("<a/>", "not an operator model"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><operatorModel/>", "entities"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_is_no_operator_model_is_refused(tmp_path: Path, text: str | None, words: str):
    path = tmp_path / "Work.xml"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ModelError, match=words):
        read_model(path, "acme::Work")


def test_the_standard_toolkit_has_its_operators():
    assert len(standard_operators()) == 38
    models = [standard_operator(kind) for kind in standard_operators()]
    assert all(model is not None and model.input_counts[0] <= 2 for model in models)
    assert standard_operator("Functor") == standard_operator("spl.relational::Functor")
    assert standard_operator("spl.utility::Functor") is None
    join, custom = standard_operator("Join"), standard_operator("Custom")
    assert join is not None
    assert custom is not None
    assert (join.input_counts, join.output_counts) == ((2, 2), (1, 3))
    assert (custom.input_counts, custom.output_counts) == ((0, None), (0, None))
    assert (join.input(1), join.input(2)) == (InputPorts(2, "always"), None)
    assert custom.input(7) == InputPorts(None, mutable=True)


def test_every_signature_of_a_built_in_function_is_read():
    names = builtin_names()
    signatures = [signature for name in names for signature in builtin(name)]
    assert (len(names), len(signatures)) == (289, 517)
    assert all(each.namespace.startswith("spl.") for each in signatures)
