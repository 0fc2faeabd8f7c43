"""Search of definitions: finds the files of toolkits that define a name in a namespace."""

from __future__ import annotations

import contextlib
import functools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from streams_orchestration.spl.language.definitions import Definition
from streams_orchestration.spl.language.tree import qualified
from streams_orchestration.spl.models.operators import SplOperatorModel, toolkit_operator
from streams_orchestration.spl.models.reading import ModelError, Prototype, read_functions, read_model, read_toolkit
from streams_orchestration.spl.toolkits.units import LoadedUnit, load

BUNDLED = Path(__file__).parent / "bundled"
"""The directory with the SPL files of toolkits that come with this product; it is searched last."""
_JAVA = Path("impl", "java", "src")
_ANNOTATION = re.compile(
    r"@(?:PrimitiveOperator|Function)\b(?:\s*\((?P<keys>(?:[^()\"]|\"(?:[^\"\\]|\\.)*\")*)\))?"
    r"[^;{}]*?(?:\bclass\s+(?P<type>\w+)|\b(?P<method>\w+)\s*\()"
)
_NAME = re.compile(r'\bname\s*=\s*"(\w+)"')


_P = ParamSpec("_P")
_R = TypeVar("_R")


def _once(
    method: Callable[Concatenate[Toolkits, _P], _R],
) -> Callable[Concatenate[Toolkits, _P], _R]:
    """Let a method keep its results, which depend on its positional arguments."""

    @functools.wraps(method)
    def kept(toolkits: Toolkits, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        key = (method.__name__, *args)
        if key not in toolkits.found:
            toolkits.found[key] = method(toolkits, *args, **kwargs)
        return toolkits.found[key]

    return kept


class Toolkits:
    """The toolkits of an application, in the order of search; the application's own toolkit comes first."""

    def __init__(self, roots: Sequence[Path], shown: Path) -> None:
        """Keep the roots; files are read on demand.

        Args:
            roots: the directories of the toolkits.
            shown: the directory to which file names in messages are relative; files outside have full paths.
        """
        self.roots = tuple(dict.fromkeys(roots))
        self.shown = shown
        self._units: dict[Path, LoadedUnit | None] = {}
        self.found: dict[tuple[Any, ...], Any] = {}
        """Results of methods by their names and arguments."""

    def add(self, unit: LoadedUnit) -> None:
        """Add a file that has already been read."""
        self._units[unit.path.resolve()] = unit

    @property
    def loaded(self) -> tuple[LoadedUnit, ...]:
        """The files that were read so far."""
        return tuple(each for each in self._units.values() if each is not None)

    def has_directory(self, namespace: str) -> bool:
        """Return True if a toolkit has a directory of a namespace."""
        return any(each.is_dir() for root in self.roots for each in _directories(root, namespace))

    def mixed(self, namespace: str, name: str) -> Path | None:
        """Return the mixed-mode file (`.splmm`) that seems to define a composite or type of a namespace, or None."""
        for root in self.roots:
            for directory in _directories(root, namespace):
                for path in sorted(directory.glob("*.splmm")) if directory.is_dir() else ():
                    if re.search(rf"\b(composite|type)\s+{re.escape(name)}\b", _text_of(path)):
                        return path
        return None

    @_once
    def units_of(self, namespace: str) -> tuple[LoadedUnit, ...]:
        """Return the readable files of a namespace, from directories with nested (`a/b`) or dotted (`a.b`) names."""
        found = (self._unit(path) for root in self.roots for path in _files(root, namespace))
        return tuple(dict.fromkeys(each for each in found if each is not None and each.namespace == namespace))

    def native_functions(self, namespace: str, name: str) -> tuple[Prototype, ...]:
        """Return the native functions with a name in a namespace, from the first toolkit that has any; else none."""
        for root in self.roots:
            for directory in _directories(root, namespace):
                found = tuple(each for each in self._functions_in(directory) if each.name == name)
                if found:
                    return found
        return ()

    @_once
    def _functions_in(self, directory: Path) -> tuple[Prototype, ...]:
        """Return the functions in the models of a directory: `function.xml` by hand, others from sources in Java.

        Models that cannot be read are left out.
        """
        models = directory / "native.function"
        found: list[Prototype] = []
        for path in sorted(models.glob("*.xml")) if models.is_dir() else ():
            with contextlib.suppress(ModelError):
                found += read_functions(path)
        return tuple(found)

    def lists_natives(self, namespace: str) -> bool:
        """Return True if the models of all native operators and functions of a namespace are available.

        They are not if no toolkit has a directory for the namespace, or if a toolkit with such a directory has Java
        sources and is not built, since the build generates the models of operators and functions in Java. Toolkits
        that come with this product list only a part of their operators.
        """
        roots = [root for root in self.roots if root != BUNDLED]
        having = [root for root in roots if any(each.is_dir() for each in _directories(root, namespace))]
        return bool(having) and not any(_is_unbuilt(root) for root in having)

    def has_java(self, namespace: str, name: str) -> bool:
        """Return True if the Java sources of a toolkit define an operator or a function with a name in a namespace.

        Only toolkits that are not built are searched, since a built toolkit has models.
        """
        having = (root for root in self.roots if any(each.is_dir() for each in _directories(root, namespace)))
        return any(name in self._java_names(root) for root in having if _is_unbuilt(root))

    @_once
    def _java_names(self, root: Path) -> frozenset[str]:
        texts = map(_text_of, sorted((root / _JAVA).rglob("*.java")))
        return frozenset(name for text in texts for name in _annotated(text))

    @_once
    def definitions(self, namespace: str, name: str) -> list[tuple[LoadedUnit, Definition]]:
        """Return the definitions of a name in a namespace, from the first toolkit that defines it; none without one."""
        found = [(unit, each) for unit in self.units_of(namespace) for each in unit.named(name)]
        first = next((self._root(unit) for unit, _ in found), None)
        return [(unit, each) for unit, each in found if self._root(unit) == first]

    @_once
    def native_operator(self, namespace: str, name: str) -> SplOperatorModel | None:
        """Return the model of a native operator from the first toolkit that has it; None if none has.

        Operators that are implemented here have a model without their toolkit.
        """
        kind = qualified(namespace, name)
        for root in self.roots:
            for directory in _directories(root, namespace):
                model = directory / name / f"{name}.xml"
                if model.is_file():
                    with contextlib.suppress(ModelError):
                        return read_model(model, kind)
            if kind in (index := self._index(root / "toolkit.xml")):
                return index[kind]
        return toolkit_operator(kind)

    @_once
    def _index(self, path: Path) -> dict[str, SplOperatorModel]:
        with contextlib.suppress(ModelError):
            return read_toolkit(path) if path.is_file() else {}
        return {}

    def _root(self, unit: LoadedUnit) -> Path | None:
        return next((root for root in self.roots if unit.path.is_relative_to(root)), None)

    def _unit(self, path: Path) -> LoadedUnit | None:
        key = path.resolve()
        if key not in self._units:
            shown = path.relative_to(self.shown) if path.is_relative_to(self.shown) else path
            try:
                self._units[key] = load(path, str(shown))
            except (OSError, UnicodeDecodeError):
                self._units[key] = None
        return self._units[key]


def _directories(root: Path, namespace: str) -> list[Path]:
    return list(dict.fromkeys((root / namespace.replace(".", os.sep), root / namespace))) if namespace else [root]


def _text_of(path: Path) -> str:
    """Return the text of a file; empty if the file cannot be read."""
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _annotated(text: str) -> Iterator[str]:
    """Yield the names of the operators and functions that a file of Java defines.

    >>> list(_annotated('@PrimitiveOperator(name="Join2", namespace="a") public class B { @Function() int c(int d) {'))
    ['Join2', 'c']
    """
    for match in _ANNOTATION.finditer(text):
        named = _NAME.search(match["keys"] or "")
        yield named[1] if named is not None else match["type"] or match["method"]


def _is_unbuilt(root: Path) -> bool:
    return (root / _JAVA).is_dir() and not (root / "toolkit.xml").is_file()


def _files(root: Path, namespace: str) -> Iterator[Path]:
    for directory in _directories(root, namespace):
        if directory.is_dir():
            yield from sorted(directory.glob("*.spl"))
