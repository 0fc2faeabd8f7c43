"""Files of Python where a spec is wanted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from streams_orchestration.compiler.compiling import compile_spec
from streams_orchestration.compiler.reading import read_application
from streams_orchestration.model.diagnostics import ApplicationError
from streams_orchestration.model.python_file import file_of, may_be_spec, specs_in

SHOP = """
import streams_orchestration.builder.operators as op
from streams_orchestration.builder import Application

shop = Application("shop")
orders = shop.stream(op.Beacon(iterations=3, output={"n": "IterationCount()"}), schema="n bigint")
orders.filter("n > 0").to_files("orders")
"""


def written(directory: Path, text: str = SHOP, name: str = "shop_application.py") -> Path:
    path = directory / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["", ":shop"])
def test_the_only_application_of_a_file_or_the_one_that_is_named(name: str, tmp_path: Path):
    compilation = compile_spec(f"{written(tmp_path)}{name}")
    assert [each.name for each in compilation.physical.operators] == ["orders", "orders_Filter", "orders_FileSink"]
    assert file_of(f"{tmp_path}/a.py:shop") == tmp_path / "a.py"


WRONG = {
    "it raises": ("x = 1\nx / 0\n", 2, "ZeroDivisionError: division by zero"),
    "a name is misspelt": (
        "import streams_orchestration.builder.operators as op\nop.Becon\n",
        2,
        "has no attribute 'Becon'; the nearest is Beacon",
    ),
    "a keyword of a method is misspelt": (
        SHOP + "orders.map({'m': 'n'}, outputs='m bigint')\n",
        8,
        "argument 'outputs'; the nearest is output",
    ),
    "a parameter of an operator is misspelt": (
        SHOP.replace("iterations", "iteration"), 6, "argument 'iteration'; the nearest is iterations",
    ),
    "a keyword of a class is misspelt": (
        SHOP.replace('Application("shop")', 'Application("shop", descripton="x")'), 5, "; the nearest is description",
    ),
    "a keyword of a function of its own is misspelt": (
        "def one(*, word): ...\none(wrod=1)\n", 2, "TypeError: one() got an unexpected keyword argument 'wrod'",
    ),
    "it is not a Python": ("x = (\n", 1, "SyntaxError: '(' was never closed"),
    "it ends the process": ("raise SystemExit(3)\n", 1, "SystemExit: 3"),
    "nothing is in it": ("x = 1\n", 1, "it holds no application called app"),
    "two are in it": (SHOP + "other = Application('b')\n", 1, "it holds shop, other: write wrong_application.py:shop"),
    "an error of the builder": (
        SHOP + "with shop.composite('C'):\n    orders.filter('n > 1')\n", 9, "which it reaches by an input port only",
    ),
    "an error in the application": (SHOP.replace("n > 0", "m > 0"), 7, "uses the attribute m"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_fault_of_a_python_file_is_reported_with_its_line(case: str, tmp_path: Path):
    text, line, message = WRONG[case]
    path = written(tmp_path, text, "wrong_application.py")
    with pytest.raises(ApplicationError) as raised:
        _checked(path)
    diagnostic = raised.value.diagnostics[0]
    assert message in diagnostic.message
    assert diagnostic.location == f"{path}:{line}"


def _checked(path: Path) -> None:
    from streams_orchestration.compiler.checking.checking import check_parameters

    if errors := [each for each in check_parameters(compile_spec(path).progress) if each.severity == "error"]:
        raise ApplicationError(errors)


def test_a_name_that_is_not_there_is_named(tmp_path: Path):
    path = written(tmp_path)
    (diagnostic,) = read_application(f"{path}:shopp").diagnostics
    assert diagnostic.message == "it holds no application called shopp; the nearest is shop"
    (diagnostic,) = read_application(tmp_path / "none.py").diagnostics
    assert (diagnostic.code, diagnostic.message) == ("SO0001", "there is no such file")


def test_a_file_that_was_edited_is_run_again(tmp_path: Path):
    path = written(tmp_path)
    assert len(compile_spec(path).physical.operators) == 3
    written(tmp_path, SHOP + "orders.to_files('all')\n")
    assert len(compile_spec(path).physical.operators) == 4


def test_a_module_of_python_is_not_replaced(tmp_path: Path):
    for name in ("sys", "json"):
        (diagnostic,) = read_application(written(tmp_path, name=f"{name}.py")).diagnostics
        assert f"{name} is the name of a module that is loaded already" in diagnostic.message
    assert json.dumps({}) == "{}"


def test_files_of_one_name_in_two_directories(tmp_path: Path):
    for name in ("one", "two", "one"):
        (tmp_path / name).mkdir(exist_ok=True)
        path = written(tmp_path / name, SHOP.replace('"shop"', f'"{name}"'), "of_one_name.py")
        assert compile_spec(path).logical.application == name


def test_the_specs_of_a_directory(tmp_path: Path):
    written(tmp_path)
    written(tmp_path, "def double(batch): ...", "operators.py")
    written(tmp_path, "specVersion: 1", "a.yaml")
    assert [path.name for path in specs_in(tmp_path)] == ["a.yaml", "shop_application.py"]
    assert not may_be_spec(tmp_path / "missing.py")
