"""A mutation fuzzer: whatever a spec says, compiling it gives a plan or diagnostics, never a traceback."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from streams_orchestration.compiler.checking.checked import with_findings_of_operators
from streams_orchestration.compiler.checking.checking import check_parameters
from streams_orchestration.compiler.checking.deployable import deployable
from streams_orchestration.compiler.compilation import CompileError
from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.options import Options
from streams_orchestration.compiler.plan import plan_document
from streams_orchestration.model.diagnostics import ApplicationError

HERE = Path(__file__).parent
EDITS = 500
"""Edits of a batch."""
BATCHES, DEEP_BATCHES = 2, 10
VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 3, 2**40, 0.0, 1.5, float("nan"), "", " ", "x", "é", "a.b", "${width}", "${nosuch}"),
    *("${getChannel()}", "byChannel()", "byReplica()", "carrier", "Flights", "Departed", "Filter", "Import", "Export"),
    *("a int", "a int, b string", "sliding, count(3)", "tumbling, punct()", "package.module:Class", "*", "[", "{"),
    *([], [[]], {}, [1, 2], {"a": 1}, {"port": 0}, {"width": 2}, ["Flights", "Departed"], {"trigger": "periodic"}),
]
HEAD = {"specVersion": 1, "application": "worked"}
OPTIONS = (
    Options(),
    Options(fusion="legacy"),
    Options(fusion="manual", pes=3, channel_fusion="channelIsolation"),
    Options(threading="dynamic", faithful=True),
    Options(threading="manual", widths=(("*", 3),)),
)


def bases() -> list[str]:
    """Whole specs to start from: the examples, those of the worked cases, and one for each standard operator."""
    examples = [path.read_text() for path in sorted((HERE.parent / "specs").glob("*.yaml"))]
    worked = yaml.safe_load_all((HERE / "cases" / "parallel_specs.yaml").read_text())
    standard = yaml.safe_load((HERE.parent / "docs" / "standard-operators.yaml").read_text())
    graphs = [each["spec"] for each in worked] + [{"graph": _graph(each)} for each in standard.values()]
    return examples + [yaml.safe_dump(HEAD | graph) for graph in graphs]


def _graph(example: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the graph of an example of a standard operator, with sources for the streams that it reads."""
    sources = [
        {"name": stream, "operator": "Beacon", "outputs": [{"stream": stream, "schema": schema}]}
        for stream, schema in example["streams"].items()
    ]
    return [*sources, *yaml.safe_load(example["graph"])]


def places(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every (container, key) below a node."""
    if isinstance(node, dict | list):
        for key in list(node) if isinstance(node, dict) else range(len(node)):
            yield node, key
            yield from places(node[key])


def edited(node: Any, draw: random.Random) -> Any:
    """Return the document with a few of its nodes dropped, doubled, moved, renamed or replaced."""
    document = copy.deepcopy(node)
    for _ in range(draw.randint(1, 3)):
        choices = list(places(document))
        if not choices:
            break
        container, key = draw.choice(choices)
        other, other_key = draw.choice(choices)
        match draw.randrange(6):
            case 0:
                del container[key]
            case 1:
                container[key] = copy.deepcopy(draw.choice(VALUES))
            case 2:
                container[key] = copy.deepcopy(other[other_key]) if other_key in other or isinstance(other, list) else 1
            case 3 if isinstance(container, list):
                container.insert(draw.randint(0, len(container)), copy.deepcopy(container[key]))
            case 4 if isinstance(container, dict) and isinstance(key, str):
                container[draw.choice([key[1:], key + "s", key.upper(), "graph", "inputs"])] = container.pop(key)
            case _ if isinstance(container, list):
                draw.shuffle(container)
    return document


def garbled(text: str, draw: random.Random) -> str:
    """Return the text with characters dropped, doubled, moved or replaced."""
    for _ in range(draw.randint(1, 4)):
        start = draw.randrange(len(text) + 1)
        end = min(len(text), start + draw.choice([0, 1, 1, 2, 8, 40]))
        piece = draw.choice(
            ["", " ", "\n", "\t", ":", "- ", "#", "'", '"', "{", "]", "&a", "*a", "!!x", "\0", "é", "0"]
        )
        text = text[:start] + piece + draw.choice([text[end:], text[start:]])
    return text


@pytest.mark.parametrize(
    "batch",
    [pytest.param(batch, marks=pytest.mark.slow) for batch in range(BATCHES)]
    + [pytest.param(batch, marks=pytest.mark.deep) for batch in range(BATCHES, DEEP_BATCHES)],
)
def test_a_mutated_spec_compiles_or_is_refused(batch: int, tmp_path: Path) -> None:
    draw = random.Random(batch)
    texts = bases()
    documents = [yaml.safe_load(text) for text in texts]
    path = tmp_path / "mutated.yaml"
    refused = 0
    for edit in range(EDITS):
        number = draw.randrange(len(texts))
        if edit % 2:
            text = garbled(texts[number], draw)
        else:
            text = yaml.safe_dump(edited(documents[number], draw), sort_keys=False)
        path.write_text(text)
        try:
            compilation = compile_spec(path, draw.choice(OPTIONS))
        except ApplicationError as error:
            refused += 1
            if isinstance(error, CompileError) and edit % 5 == 0:
                assert set(error.diagnostics) <= set(with_findings_of_operators(error, deploys=True).diagnostics)
            assert any(diagnostic.severity == "error" and diagnostic.message for diagnostic in error.diagnostics)
        else:
            plan_document(compilation)
            check_parameters(compilation.progress)
    assert 0 < refused < EDITS, "the edits are neither all harmless nor all fatal"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_an_error_at_one_operator_has_no_other_one_blamed(seed: int, tmp_path: Path) -> None:
    """Findings of operators come with errors of the graph; none may be a mere effect of these."""
    draw = random.Random(seed)
    documents = [each for each in map(yaml.safe_load, bases()) if _is_sound(each, tmp_path)]
    assert len(documents) > 30
    for _ in range(200):
        document = copy.deepcopy(draw.choice(documents))
        invocation = draw.choice(document["graph"])
        name, (container, key) = invocation["name"], draw.choice(list(places(invocation)))
        if draw.randrange(2) and isinstance(key, str):
            container[key + "s"] = container.pop(key)
        else:
            container[key] = copy.deepcopy(draw.choice(VALUES))
        path = tmp_path / "edited.yaml"
        path.write_text(yaml.safe_dump(document, sort_keys=False))
        try:
            compile_spec(path)
        except CompileError as error:
            blamed = [
                each
                for each in with_findings_of_operators(error, deploys=True).diagnostics
                if each.code.startswith("SO500")
            ]
            assert {each.operator for each in blamed if each.severity == "error"} <= {name}


def _is_sound(document: dict[str, Any], directory: Path) -> bool:
    path = directory / "sound.yaml"
    path.write_text(yaml.safe_dump(document))
    try:
        deployable(compile_spec(path))
    except ApplicationError:
        return False
    return True
