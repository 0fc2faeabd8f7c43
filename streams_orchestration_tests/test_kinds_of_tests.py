"""Every test is of one kind, and the commands of the Makefile run them all."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings

from streams_orchestration_tests.conftest import kind
from streams_orchestration_tests.examples import PERCENT, examples

KINDS = ("quick", "slow", "deep")
ROOT = Path(__file__).parents[1]
WITHOUT_SUBJECT = re.compile(
    r"def (test_(?:what|whatever|where|how|whether|who|whoever|that|of|and|or|but|so|they|then|it|when|in|otherwise"
    r"|elsewhere|one_(?:that|of|whose)|without_(?:one|it|\w+_it))_\w+)"
)
"""Names of tests that leave out their subject: a relative clause, question, conjunction, adverb or pronoun is there."""
RELATIVE = re.compile(
    r'^ *"""(?:What(?:ever)?|When|Where|How|Whether|Who(?:ever)?|Which|Why|That|Those|Of|In which)\b.*', re.MULTILINE
)
"""Openings of docstrings that leave out their subject."""


STRING_PATH = re.compile(r'\b(?:setattr|delattr)\(\s*f?["\']')
"""Patches that name an attribute by a text, which neither pyright nor a search for the name sees."""


def item(*marks: str, fixtures: tuple[str, ...] = (), **parameters: object) -> Any:
    return SimpleNamespace(
        nodeid="a test",
        fixturenames=fixtures,
        callspec=SimpleNamespace(params=parameters),
        get_closest_marker=lambda name: name if name in marks else None,
    )


@pytest.mark.parametrize(
    ("test", "wanted"),
    [
        (item(), "quick"),
        (item(database="sqlite"), "quick"),
        (item("slow"), "slow"),
        (item("java"), "slow"),
        (item(fixtures=("postgresql",)), "slow"),
        (item(database="postgresql"), "slow"),
        (item(fixtures=("mariadb",)), "slow"),
        (item(target="mariadb"), "slow"),
        (item(fixtures=("s3",)), "slow"),
        (item(fixtures=("gs",)), "slow"),
        (item(fixtures=("kafka",)), "slow"),
        (item("deep", database="postgresql"), "deep"),
        (item("deep", "java"), "deep"),
    ],
)
def test_the_kind_follows_from_marks_and_needs(test: Any, wanted: str):
    assert kind(test) == wanted


def test_every_test_of_this_run_is_of_one_kind(request: pytest.FixtureRequest):
    marked = {each.nodeid: [name for name in KINDS if each.get_closest_marker(name)] for each in request.session.items}
    kinds = {test: set(names) - ({"slow"} if "deep" in names else set()) for test, names in marked.items()}
    assert {test: marked[test] for test, names in kinds.items() if len(names) != 1} == {}


def test_a_test_has_the_same_name_in_every_worker(request: pytest.FixtureRequest):
    assert [each.nodeid for each in request.session.items if " at 0x" in each.nodeid] == []


def test_the_names_and_docstrings_of_tests_begin_with_their_subject():
    for name in (
        "test_what_is_left_is_read_on",
        "test_and_by_it",
        "test_one_that_ends_goes",
        "test_without_a_key_it_fails",
    ):
        assert WITHOUT_SUBJECT.findall(f"def {name}(): ...") == [name]
    for name in ("test_items_run", "test_one_state_holds_at_a_time", "test_without_a_key_pairs_fail"):
        assert WITHOUT_SUBJECT.findall(f"def {name}(): ...") == []
    assert RELATIVE.findall('def each():\n    """Who reads what."""') == ['    """Who reads what."""']
    modules = sorted((ROOT / "streams_orchestration_tests").rglob("*.py"))
    texts = {path: path.read_text() for path in modules if path != Path(__file__)}
    assert [f"{path}: {name}" for path, text in texts.items() for name in WITHOUT_SUBJECT.findall(text)] == []
    assert [f"{path}: {line.strip()}" for path, text in texts.items() for line in RELATIVE.findall(text)] == []


def test_patches_name_the_module_and_not_its_path():
    path = '"streams_orchestration.runtime.units.watch.is_on_trial", lambda *_: False)'
    for call in ("monkeypatch.setattr(", "patch.setattr(\n    f", "monkeypatch.delattr("):
        assert STRING_PATH.search(call + path)
    assert not STRING_PATH.search('monkeypatch.setattr(watch, "is_on_trial", lambda *_: False)')
    modules = sorted((ROOT / "streams_orchestration_tests").rglob("*.py"))
    texts = {path: path.read_text() for path in modules if path != Path(__file__)}
    assert [str(path) for path, text in texts.items() if STRING_PATH.search(text)] == [], "give the module itself"


@pytest.mark.parametrize(("profile", "wanted"), [("quick", 2), ("ci", 2), ("deep", 400)])
def test_the_profile_scales_the_examples_of_every_property(profile: str, wanted: int):
    before = settings.get_current_profile_name()
    assert before in PERCENT
    settings.load_profile(profile)
    try:
        assert examples(20).max_examples == wanted
        assert examples(1).max_examples >= 1
    finally:
        settings.load_profile(before)


def test_no_property_has_a_number_of_examples_that_the_profile_does_not_scale():
    modules = (ROOT / "streams_orchestration_tests").rglob("*.py")
    own = {path.name for path in modules if "max_examples" in path.read_text()}
    assert own == {"examples.py", "test_kinds_of_tests.py"}


@pytest.mark.parametrize(
    ("command", "wanted"), [("quick", ["quick"]), ("tested", ["quick", "slow"]), ("deep", ["deep"])]
)
def test_a_command_runs_its_kinds(command: str, wanted: list[str]):
    recipe = (ROOT / "Makefile").read_text().partition(f"\n{command}: ")[2].partition("\n\n")[0]
    marks = re.search(r"-m '?([a-z ]+?)'?(?: -|$| \$)", recipe)
    assert marks
    assert [name for name in KINDS if eval(marks[1], {each: each == name for each in (*KINDS, "hypothesis")})] == wanted
