"""SPL files that have been read, and the roots of their toolkits."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from streams_orchestration.spl.language.definitions import CompilationUnit, Composite, Definition, Function
from streams_orchestration.spl.language.parsing import parse
from streams_orchestration.spl.language.tokens import Finding
from streams_orchestration.spl.language.tree import TypeDefinition
from streams_orchestration.spl.typing.spans import Source


@dataclass(frozen=True, eq=False)
class LoadedUnit:
    """An SPL file that has been read."""

    path: Path
    source: Source
    unit: CompilationUnit
    findings: tuple[Finding, ...]

    @cached_property
    def damaged(self) -> frozenset[str]:
        """The words on lines with syntax errors; each may be a name whose definition could not be read."""
        if not self.findings:
            return frozenset()
        lines = {each.line for each in self.findings}
        texts = self.source.tokens.texts
        return frozenset(text for at, text in enumerate(texts) if self.source.place(at)[0] in lines)

    @property
    def namespace(self) -> str:
        """The dotted namespace of the file; empty if the file has none."""
        return "" if self.unit.namespace is None else self.unit.namespace.name

    def composites(self) -> list[Composite]:
        """Return the composites that the file defines."""
        return [each for each in self.unit.definitions if isinstance(each, Composite)]

    def named(self, name: str) -> list[Definition]:
        """Return the definitions with a name in the file; there may be several functions."""
        return [each for each in self.unit.definitions if each.name.name == name]

    def functions(self, name: str) -> list[Function]:
        """Return the functions with a name in the file."""
        return [each for each in self.named(name) if isinstance(each, Function)]

    def types(self) -> list[TypeDefinition]:
        """Return the types that the file defines outside of composites."""
        return [each for each in self.unit.definitions if isinstance(each, TypeDefinition)]


def load(path: Path, shown: str) -> LoadedUnit:
    """Read and parse an SPL file.

    Args:
        path: the file.
        shown: the name of the file in messages.

    Raises:
        OSError: the file cannot be read.
        UnicodeDecodeError: the file is not UTF-8.
    """
    parsed = parse(path.read_bytes().decode("utf-8-sig"))
    return LoadedUnit(path, Source(shown, parsed.tokens), parsed.unit, tuple(parsed.findings))


def root_of(path: Path, namespace: str) -> Path | None:
    """Return the root of the toolkit that a file is in, or None if its directory does not spell the namespace.

    >>> root_of(Path("/tk/my.sample/Main.spl"), "my.sample"), root_of(Path("/tk/my/sample/Main.spl"), "my.sample")
    (PosixPath('/tk'), PosixPath('/tk'))
    >>> root_of(Path("/tk/other/Main.spl"), "my.sample")
    """
    directory, spelt = path.parent, ""
    if not namespace:
        return directory
    while directory.name:
        spelt = f"{directory.name}.{spelt}" if spelt else directory.name
        directory = directory.parent
        if spelt == namespace:
            return directory
    return None
