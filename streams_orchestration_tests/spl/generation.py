"""Random syntax trees of SPL, without places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from streams_orchestration.spl.language import definitions as d
from streams_orchestration.spl.language import tree as t
from streams_orchestration.spl.language.expressions import LEVELS, POSTFIXES, PREFIXES

Strategy = SearchStrategy[Any]


def node(kind: Callable[..., Any], *parts: Strategy) -> Strategy:
    """Nodes of a class, with random parts."""
    return st.builds(kind, st.just(0), st.just(0), *parts)


def some(part: Strategy, least: int = 0) -> Strategy:
    return st.lists(part, min_size=least, max_size=3).map(tuple)


def maybe(part: Strategy) -> Strategy:
    return st.none() | part


BOOLEANS = st.booleans()
WORDS = st.sampled_from(("a", "b", "Src", "count", "state", "onProcess", "sliding", "T_1", "x9"))
NAMES = node(t.Name, st.just(""), WORDS)
FORMALS = node(t.Name, st.just(""), WORDS.map("${}".format))
QUALIFIED = node(t.Name, st.sampled_from(["", "my.ns", "spl"]), WORDS)
NUMBERS = node(t.Number, st.sampled_from(("0", "7", "5ul", "1.0", "1.", ".5", "2e9", "1.5e-3w", "0x1F", "5f", "3lu")))
TEXTS = node(t.Text, st.text(max_size=5), st.sampled_from(["rstring", "ustring", "xml"]))
LITERALS = NUMBERS | TEXTS | node(t.Word, st.sampled_from(["true", "false", "null"]))
NAMED_TYPES = node(t.NamedType, QUALIFIED, st.sampled_from(["", "T"]))
OPERATORS = sorted(LEVELS.keys() - {"?"})


def _larger(inner: Strategy) -> Strategy:
    entries = some(node(t.Entry, inner, maybe(inner)))
    return (
        node(t.Binary, st.sampled_from(OPERATORS), inner, inner)
        | node(t.Prefix, st.sampled_from(sorted(PREFIXES)), inner)
        | node(t.Postfix, st.sampled_from(sorted(POSTFIXES)), inner)
        | node(t.Choice, inner, inner, inner)
        | node(t.Call, QUALIFIED | inner, some(inner))
        | node(t.Member, inner, NAMES)
        | node(t.Index, inner, inner)
        | node(t.Slice, inner, maybe(inner), maybe(inner))
        | node(t.ListLiteral, some(inner))
        | node(t.BraceLiteral, entries)
        | node(t.Cast, NAMED_TYPES | st.deferred(lambda: TYPES), inner)
    )


EXPRESSIONS = st.recursive(QUALIFIED | LITERALS, _larger, max_leaves=12)
SMALL = st.recursive(QUALIFIED | LITERALS, _larger, max_leaves=3)


def _larger_type(inner: Strategy) -> Strategy:
    attributes = some(node(t.AttributeDeclaration, inner, NAMES), 1)
    bounds = maybe(QUALIFIED | NUMBERS)
    return (
        node(t.TupleType, attributes, st.just(()))
        | node(t.TupleType, st.just(()), some(NAMED_TYPES, 1))
        | node(t.CollectionType, st.sampled_from(["list", "set"]), st.tuples(inner), bounds)
        | node(t.CollectionType, st.just("map"), st.tuples(inner, inner), bounds)
        | node(t.OptionalType, inner)
    )


SIMPLE_TYPES = (
    node(t.PrimitiveType, st.sampled_from(["int32", "boolean", "timestamp", "ustring"]), st.none(), st.none())
    | node(t.PrimitiveType, st.just("rstring"), maybe(NUMBERS), st.none())
    | node(t.PrimitiveType, st.just("xml"), st.none(), maybe(st.text(max_size=3)))
    | node(t.EnumType, some(NAMES, 1))
)
TYPES = st.recursive(SIMPLE_TYPES | NAMED_TYPES, _larger_type, max_leaves=5)
TUPLES = node(t.TupleType, some(node(t.AttributeDeclaration, TYPES, NAMES), 1), st.just(()))
DECLARATIONS = node(t.LocalDeclaration, BOOLEANS, TYPES, some(node(t.Variable, NAMES, maybe(SMALL)), 1))
SIMPLE_STATEMENTS = (
    DECLARATIONS
    | node(t.ExpressionStatement, SMALL)
    | node(t.Break)
    | node(t.Continue)
    | node(t.Return, maybe(SMALL))
    | node(t.TypeDefinition, st.just(False), NAMES, TYPES)
)


def _larger_statement(inner: Strategy) -> Strategy:
    blocks = node(t.Block, some(inner))
    return (
        blocks
        | node(t.If, SMALL, blocks, maybe(inner))
        | node(t.While, SMALL, inner)
        | node(t.For, TYPES, NAMES, SMALL, inner)
    )


STATEMENTS = st.recursive(SIMPLE_STATEMENTS, _larger_statement, max_leaves=5)
BLOCKS = node(t.Block, some(STATEMENTS))


def labelled(kind: Callable[..., Any], *parts: Strategy) -> Strategy:
    """Elements of a clause whose labels are different."""
    each = node(kind, *parts)
    return st.lists(each, max_size=2, unique_by=lambda element: str(element.label)).map(tuple)


PORTS = labelled(d.Labelled, NAMES, some(SMALL, 1))
ACTUALS = some(SMALL, 1) | TYPES.filter(lambda each: not isinstance(each, t.NamedType))
ANNOTATIONS = some(node(d.Annotation, NAMES, some(node(t.Entry, SMALL, maybe(SMALL)))))
OUTPUT_PORTS = node(d.InvocationOutput, TUPLES, NAMES, maybe(NAMES))
HANDLERS = node(d.Handler, st.just("onProcess"), st.none(), STATEMENTS)
LOGIC = st.tuples(node(d.StateVariables, some(DECLARATIONS, 1))) | st.tuples(HANDLERS) | st.just(())
LOGIC |= st.tuples(node(d.Handler, st.sampled_from(["onTuple", "onPunct"]), NAMES, STATEMENTS))
HEADS = st.tuples(some(OUTPUT_PORTS, 1), maybe(NAMES)) | st.tuples(st.just(()), NAMES)
INVOCATIONS = HEADS.flatmap(
    lambda heads: node(
        d.Invocation,
        *(ANNOTATIONS, st.just(heads[0]), st.just(heads[1]), QUALIFIED),
        *(some(node(d.InvocationInput, maybe(TUPLES), some(NAMES, 1), maybe(NAMES))), LOGIC, PORTS),
        *(labelled(d.Argument, NAMES, ACTUALS), st.just(()), PORTS),
    )
)
MODES = st.sampled_from(["attribute", "function", "operator", "type"])
COMPOSITE_FORMALS = node(d.Formal, st.just("expression"), maybe(TYPES), FORMALS, maybe(some(SMALL, 1)))
COMPOSITE_FORMALS |= node(d.Formal, MODES, st.none(), FORMALS, maybe(ACTUALS))
COMPOSITE_PORTS = some(node(d.CompositePort, maybe(TUPLES), NAMES))
COMPOSITES = node(
    d.Composite,
    *(ANNOTATIONS, BOOLEANS, NAMES, COMPOSITE_PORTS, COMPOSITE_PORTS, some(COMPOSITE_FORMALS)),
    *(some(node(t.TypeDefinition, BOOLEANS, NAMES, TYPES)), some(INVOCATIONS), PORTS),
)
FUNCTIONS = node(
    d.Function,
    *(BOOLEANS, BOOLEANS, maybe(TYPES), NAMES, some(node(d.FormalParameter, BOOLEANS, TYPES, NAMES)), BLOCKS),
)
UNITS = node(
    d.CompilationUnit,
    maybe(node(d.Namespace, st.sampled_from(["a", "my.ns"]))),
    some(node(d.UseDirective, st.sampled_from(["a", "my.ns"]), st.just("*") | WORDS)),
    some(COMPOSITES | FUNCTIONS | node(t.TypeDefinition, st.just(False), NAMES, TYPES)),
)
