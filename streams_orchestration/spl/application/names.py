"""The definitions visible in a file: from the file, its `use` directives, its namespace, and SPL itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from streams_orchestration.spl.application.found_operators import CompositeOperator, PrimitiveOperator
from streams_orchestration.spl.application.natives import Natives
from streams_orchestration.spl.application.stream_names import StreamNames
from streams_orchestration.spl.functions.signatures import TOOLKITS, Signature
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.definitions import Composite, Definition, Function
from streams_orchestration.spl.language.walking import nodes_in
from streams_orchestration.spl.models.operators import IMPLICIT_NAMESPACES
from streams_orchestration.spl.toolkits.search import Toolkits
from streams_orchestration.spl.toolkits.standard import COMPILED_ONLY, is_standard
from streams_orchestration.spl.toolkits.units import LoadedUnit
from streams_orchestration.spl.types.types import UNKNOWN, Enumeration, Type
from streams_orchestration.spl.typing.checking import type_of
from streams_orchestration.spl.typing.naming import type_of_meaning
from streams_orchestration.spl.typing.scopes import (
    BUILTINS,
    EnumWord,
    FunctionName,
    Meaning,
    OtherName,
    Scope,
    TypeName,
    Unclear,
    composite_name,
    member_of,
)
from streams_orchestration.spl.typing.spans import Mistake, Span
from streams_orchestration.spl.typing.statements import signature_of
from streams_orchestration.spl.typing.typed import Call, Expression

Known = Callable[[Call], Expression | None]
Operator = CompositeOperator | PrimitiveOperator


class FileNames:
    """The meanings of the names that are visible in one file, outside of the scopes of its composites.

    This is the file's implementation of `typing.scopes.Definitions`.
    """

    def __init__(self, files: Files, unit: LoadedUnit) -> None:
        self.files = files
        self.unit = unit
        self.scope = Scope(definitions=self)
        self._types: dict[int, Type] = {}
        self._signatures: dict[int, Signature] = {}
        self._static: dict[int, StreamNames] = {}

    # --- meanings

    def find(self, name: tree.Name) -> Meaning | None:
        """Return a name's meaning, by the first `use` with it; `Unclear` for several; or None. Report mistakes once."""
        if name.namespace:
            return self._of_namespace(name.namespace, name) or BUILTINS.find(name)
        own = self._meaning([(self.unit, each) for each in self.unit.named(name.name)]) or self._word([self.unit], name)
        if own is not None:
            return own
        for use in self.unit.unit.uses:
            if use.name == name.name and (found := self._of_namespace(use.namespace, name)) is not None:
                return found
        named = dict.fromkeys((use.namespace, use.name) for use in self.unit.unit.uses if use.name != "*")
        for namespace, used in named:
            for unit, definition in self.files.toolkits.definitions(namespace, used):
                if isinstance(definition, tree.TypeDefinition) and name.name in _words(definition):
                    return self._word_of(unit, definition)
        others = self.files.toolkits.units_of(self.unit.namespace)
        found = self._of_namespace(self.unit.namespace, name) or self._word(others, name)
        return found if found is not None else self._of_wildcards(name)

    def known(self, call: Call) -> Expression | None:
        """Return the value of a call that is known at compile time, or None; record calls of native functions."""
        if call.signature.native:
            self.files.natives.note(call)
            return None
        return self.files.known(call)

    def assumed_function(self, name: tree.Name) -> Signature | None:
        """Return a function of unknown types (of a missing toolkit, in Java, or with an unreadable model), or None."""
        uses = self.unit.unit.uses
        named = [name.namespace] if name.namespace else [each.namespace for each in uses if each.name == name.name]
        wild = [] if name.namespace else [each.namespace for each in uses if each.name == "*"]
        own = [] if name.namespace else [self.unit.namespace]
        for namespace in (*named, *own, *wild):
            given = self.files.natives.given.get(f"{namespace}::{name.name}") if namespace else None
            prototypes = self.files.toolkits.native_functions(namespace, name.name)
            java = self.files.toolkits.has_java(namespace, name.name)
            if java or given is not None or any(each.public or namespace == self.unit.namespace for each in prototypes):
                return Signature(namespace, name.name, (), UNKNOWN, native=True, pure=given is not None and given.pure)
        for namespace in (*named, *wild):
            if namespace not in IMPLICIT_NAMESPACES and not self.files.toolkits.lists_natives(namespace):
                return Signature(namespace, name.name, (), UNKNOWN, native=True)
        return None

    def _of_wildcards(self, name: tree.Name) -> Meaning | None:
        meanings: dict[str, Meaning] = {}
        for use in self.unit.unit.uses:
            if use.name == "*" and use.namespace not in IMPLICIT_NAMESPACES:
                found = self._of_namespace(use.namespace, name)
                found = found or self._word(self.files.toolkits.units_of(use.namespace), name)
                if found is not None:
                    meanings[use.namespace] = found
        builtin = BUILTINS.find(name)
        if builtin is not None and not meanings:
            return builtin
        if isinstance(builtin, FunctionName) and all(isinstance(each, FunctionName) for each in meanings.values()):
            own = (
                signature
                for each in meanings.values()
                if isinstance(each, FunctionName)
                for signature in each.overloads
            )
            return FunctionName((*builtin.overloads, *own))
        if len(meanings) > 1 and not all(isinstance(each, FunctionName) for each in meanings.values()):
            return Unclear("CDISP0017E", f"{name} is defined in several namespaces: {', '.join(sorted(meanings))}")
        return next(iter(meanings.values()), builtin)

    def _of_namespace(self, namespace: str, name: tree.Name) -> Meaning | None:
        found = self.files.toolkits.definitions(namespace, name.name)
        hidden = namespace != self.unit.namespace
        visible = [(unit, each) for unit, each in found if not (hidden and _is_private(each))]
        if not found and (provided := self._provided(namespace, name)) is not None:
            return provided
        prototypes = self.files.toolkits.native_functions(namespace, name.name)
        natives = self.files.natives.overloads(
            namespace, name.name, tuple(each for each in prototypes if each.public or not hidden), self._type
        )
        if (found or prototypes) and not (visible or natives):
            if prototypes and any(each.public for each in prototypes):
                return None  # their types cannot be read, so nothing is known of calls
            return Unclear("CDISP0468E", f"{name} of the namespace {namespace} is not public")
        meaning = self._meaning(visible)
        if natives and (meaning is None or isinstance(meaning, FunctionName)):
            return FunctionName((*natives, *(() if meaning is None else meaning.overloads)))
        return meaning

    def _provided(self, namespace: str, name: tree.Name) -> FunctionName | None:
        """Return the built-in native function of a toolkit; None without one, or if the companion gives a function."""
        if namespace not in TOOLKITS or f"{namespace}::{name.name}" in self.files.natives.given:
            return None
        found = BUILTINS.find(tree.Name(name.first, name.last, namespace, name.name))
        return found if isinstance(found, FunctionName) else None

    def _type(self, namespace: str, name: str, member: str) -> Type | None:
        """Return the type `name` of a namespace, or the type `member` of the composite `name`.

        The result is None if there is no such type.
        """
        meaning = self._meaning(self.files.toolkits.definitions(namespace, name))
        return type_of_meaning(member_of(meaning, member) if member else meaning)

    def _meaning(self, found: Iterable[tuple[LoadedUnit, Definition]]) -> Meaning | None:
        found = list(found)
        functions = [(unit, each) for unit, each in found if isinstance(each, Function)]
        if functions:
            return FunctionName(tuple(self.files.names(unit).signature(each) for unit, each in functions))
        for unit, each in found:
            if isinstance(each, tree.TypeDefinition):
                return TypeName(self.files.names(unit).type(each))
            if isinstance(each, Composite):
                names = self.files.names(unit)
                static = names.static_types(each)
                return composite_name(static) if static else OtherName("a composite")
        return None

    def _word(self, units: Iterable[LoadedUnit], name: tree.Name) -> Meaning | None:
        for unit in units:
            for definition in unit.types():
                if name.name in _words(definition):
                    return self._word_of(unit, definition)
        return None

    def _word_of(self, unit: LoadedUnit, definition: tree.TypeDefinition) -> Meaning | None:
        type_ = self.files.names(unit).type(definition)
        return EnumWord((type_,)) if isinstance(type_, Enumeration) else None

    # --- definitions of this file

    def type(self, definition: tree.TypeDefinition) -> Type:
        """Return the type of a definition in the file; report its mistakes once, and a cycle (then `UNKNOWN`)."""
        key, pending = id(definition), self.files.pending
        if any(each is definition for _, each in pending):
            self._report_cycle(definition.name.name)
            return UNKNOWN
        if key not in self._types:
            pending.append((self, definition))
            self._types[key] = type_of(definition.type, self.scope, self.unit.source, self.files.mistakes)
            pending.pop()
        return self._types[key]

    def static_types(self, composite: Composite) -> dict[str, Type]:
        """Return the types of a composite that are visible outside. The first call reports their mistakes."""
        known = self._static.get(id(composite))
        if known is None:
            known = self._static[id(composite)] = StreamNames()
            scope = Scope(self.scope, known, self)
            known.declare_types(
                composite.types, lambda written: type_of(written, scope, self.unit.source, self.files.mistakes)
            )
        names = [each.name.name for each in composite.types if each.static]
        return {name: type_of_meaning(known.get(name)) or UNKNOWN for name in names}

    def _report_cycle(self, name: str) -> None:
        """Report that a type contains itself, at the place where the type being read names it."""
        names, reading = self.files.pending[-1]
        for each in nodes_in(reading.type, tree.NamedType):
            if each.name.name == name and not each.member:
                span = Span(names.unit.source, each.name.first, each.name.last)
                self.files.mistakes.append(Mistake("CDISP0050E", f"the type {name} contains itself", span))

    def is_damaged(self, function: Function) -> bool:
        """Return True if a finding of the file's parser is in the lines of a function, so parts may be missing."""
        first, last = (self.unit.source.place(at)[0] for at in (function.first, function.last))
        return any(first <= each.line <= last for each in self.unit.findings)

    def signature(self, function: Function) -> Signature:
        """Return the signature of a function of the file; the first call registers it, and reports mistakes in it."""
        key = id(function)
        if key not in self._signatures:
            made = signature_of(function, self.unit.namespace, self.scope, self.unit.source, self.files.mistakes)
            self._signatures[key] = made
            self.files.functions[made] = (self, function)
        return self._signatures[key]

    # --- operators

    def operator(self, name: tree.Name) -> Operator | None:
        """Return the operator with a name, None for none or several; a missing toolkit is assumed to have it."""
        own = next((each for each in self.unit.named(name.name) if isinstance(each, Composite)), None)
        if own is not None and name.namespace in ("", self.unit.namespace):
            return CompositeOperator(self.unit, own)
        if len(self._homes(name)) > 1:
            return None
        for namespace, only in self._places(name):
            for unit, definition in self.files.toolkits.definitions(namespace, name.name):
                if isinstance(definition, Composite):
                    return CompositeOperator(unit, definition)
            if is_standard(namespace, name.name) and namespace:
                return PrimitiveOperator(namespace, name.name, standard=True)
            if only and namespace in IMPLICIT_NAMESPACES and COMPILED_ONLY.get(name.name) != namespace:
                return None
            if only and (namespace or name.namespace):
                native = self.files.toolkits.native_operator(namespace, name.name)
                if native is not None or not self.files.toolkits.lists_natives(namespace):
                    return PrimitiveOperator(namespace, name.name, standard=False, model=native)
            native = self.files.toolkits.native_operator(namespace, name.name)
            if native is not None:
                return PrimitiveOperator(namespace, name.name, standard=False, model=native)
        for use in self.unit.unit.uses:
            missing = not self.files.toolkits.lists_natives(use.namespace) and use.namespace not in IMPLICIT_NAMESPACES
            if use.name == "*" and missing and not name.namespace:
                return PrimitiveOperator(use.namespace, name.name, standard=False)
        if not name.namespace and self.files.toolkits.has_java(self.unit.namespace, name.name):
            return PrimitiveOperator(self.unit.namespace, name.name, standard=False)
        home = COMPILED_ONLY.get(name.name)
        if home is not None and name.namespace in ("", home):
            return PrimitiveOperator(home, name.name, standard=False)
        return None

    def without_operator(self, name: tree.Name) -> tuple[str, str]:
        """Return the code and the message for a name that is not an operator."""
        homes = self._homes(name)
        if len(homes) > 1:
            return "CDISP0017E", f"{name} is defined in several namespaces: {', '.join(sorted(homes))}"
        found = (self.files.toolkits.mixed(namespace, name.name) for namespace, _ in self._places(name))
        mixed = next((path.name for path in found if path is not None), "")
        if mixed:
            return "SO0704", f"{name} is defined in mixed mode, in {mixed}; expand that file first"
        return "CDISP0053E", f"there is no operator {name}"

    def _homes(self, name: tree.Name) -> list[str]:
        """Return the namespaces used with `*`, or always, that define an operator; none if a closer scope does."""
        if name.namespace or any(use.name == name.name for use in self.unit.unit.uses):
            return []
        if self._defines(self.unit.namespace, name.name):
            return []
        wild = [use.namespace for use in self.unit.unit.uses if use.name == "*"]
        return [each for each in dict.fromkeys([*wild, *IMPLICIT_NAMESPACES]) if self._defines(each, name.name)]

    def _defines(self, namespace: str, name: str) -> bool:
        """Return True if a namespace has an operator that the file may name."""
        toolkits, own = self.files.toolkits, namespace == self.unit.namespace
        if namespace and is_standard(namespace, name):
            return True
        found = [each for _, each in toolkits.definitions(namespace, name) if isinstance(each, Composite)]
        return any(own or each.public for each in found) or toolkits.native_operator(namespace, name) is not None

    def _places(self, name: tree.Name) -> Iterator[tuple[str, bool]]:
        """Yield each namespace to which an operator may belong, and True if the program names it explicitly."""
        if name.namespace:
            yield name.namespace, True
            return
        uses = self.unit.unit.uses
        yield from ((use.namespace, True) for use in uses if use.name == name.name)
        yield self.unit.namespace, False
        yield from ((use.namespace, False) for use in uses if use.name == "*")
        yield from ((namespace, False) for namespace in IMPLICIT_NAMESPACES)


class Files:
    """All files of an application, each with its visible definitions and its scope."""

    def __init__(self, toolkits: Toolkits, known: Known, mistakes: list[Mistake], natives: Natives) -> None:
        """Make an empty collection; a file is added when its names are requested.

        Args:
            toolkits: the toolkits.
            known: returns the value of a call that is known when the application is compiled.
            mistakes: the list that gets the mistakes in all files.
            natives: the native functions.
        """
        self.toolkits = toolkits
        self.known = known
        self.mistakes = mistakes
        self.natives = natives
        self.functions: dict[Signature, tuple[FileNames, Function]] = {}
        """The functions of all files whose signatures were requested, by signature."""
        self.pending: list[tuple[FileNames, tree.TypeDefinition]] = []
        """The type definitions that are being read; each one was requested by the one before it."""
        self._names: dict[int, FileNames] = {}

    def names(self, unit: LoadedUnit) -> FileNames:
        """Return the definitions that are visible in a file."""
        if id(unit) not in self._names:
            self._names[id(unit)] = FileNames(self, unit)
        return self._names[id(unit)]


def _is_private(definition: Definition) -> bool:
    return isinstance(definition, Composite | Function) and not definition.public


def _words(definition: tree.TypeDefinition) -> frozenset[str]:
    written = definition.type
    return frozenset(word.name for word in written.words) if isinstance(written, tree.EnumType) else frozenset()
