"""Typing of names that denote values, of calls, and of assignment targets."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import cast

from streams_orchestration.spl.functions.overloads import choose
from streams_orchestration.spl.functions.signatures import Parameter, Signature, builtin
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.types.types import (
    UNKNOWN,
    VOID,
    Enumeration,
    Optional,
    Primitive,
    Tuple,
    Type,
    is_settled,
    is_string,
)
from streams_orchestration.spl.typing.conversions import converted
from streams_orchestration.spl.typing.naming import DEEPEST, Naming, attribute_at, tuple_at, type_of_values, word_of
from streams_orchestration.spl.typing.scopes import (
    Actual,
    EnumWord,
    FunctionName,
    OutputName,
    PortAttributeName,
    PortName,
    Scope,
    Unclear,
    VariableName,
    is_unclear,
)
from streams_orchestration.spl.typing.typed import (
    Call,
    Constant,
    Expression,
    Index,
    Member,
    OutputCall,
    PortAttribute,
    PortTuple,
    Submit,
    Typed,
    Variable,
)

_UINT32 = Primitive("uint32")


class CallTyping(Naming):
    """The typing of names and calls. Methods that type parts raise NoCastError for a cast that is another operation."""

    caller: Signature | None = None
    """The function whose body is being typed; None outside of functions."""

    @abstractmethod
    def value(self, written: tree.Expression, expected: Type | None = None) -> Expression:
        """Return the typed tree of an expression of perhaps an expected type; report mistakes. Raises NoCastError."""

    @abstractmethod
    def expression(self, written: tree.Expression, expected: Type | None = None) -> Expression:
        """Return the typed tree of a whole expression, converted to the expected type; report mistakes in it."""

    def wrong(self, written: tree.Node) -> Typed:
        """Return the typed node for an expression with a mistake, whose type is `UNKNOWN`."""
        return Typed(self.span(written), UNKNOWN)

    # --- names

    def named(self, written: tree.Name, expected: Type | None) -> Expression:
        """Return the value of a name, or `wrong`; report a name that is not a value, or unknown in a scope not open."""
        meaning = self.find(written)
        span = self.span(written)
        match meaning:
            case VariableName(type=type_, kind=kind):
                return Variable(span, type_, written.name, kind)
            case PortAttributeName():
                return self._attribute(written, meaning)
            case PortName():
                return self._port(written, meaning)
            case EnumWord():
                return word_of(meaning, written.name, span, expected)
            case Actual() if meaning.mode in ("expression", "attribute"):
                return self._actual(written, meaning, expected)
            case Unclear():
                return self.wrong(written)
            case None:
                wanted = expected.content if isinstance(expected, Optional) else expected
                if isinstance(wanted, Enumeration) and written.name in wanted.words and not written.namespace:
                    return Constant(span, wanted, written.name)
                if not self.scope.is_open or written.name.startswith("$"):
                    self.report("CDISP0053E", f"there is no {written} here", written)
                return self.wrong(written)
            case _:
                self.report("CDISP0302E", f"{written} is not a value", written)
                return self.wrong(written)

    def port_attribute(self, written: tree.Member) -> Expression | None:
        """Return the typed `Port.attribute`, or None if the expression is something else.

        Report an attribute that the port lacks. If an attribute and a port have the same name, the attribute is meant
        if it is a tuple with such a member.
        """
        operand = written.operand
        if not isinstance(operand, tree.Name) or operand.namespace:
            return None
        meaning = self.scope.find(operand.name)
        if isinstance(meaning, PortAttributeName):
            type_ = meaning.type
            if isinstance(type_, Tuple) and type_.type_of(written.name.name) is not None:
                return None
            meaning = next((each for each in self.scope.meanings(operand.name) if isinstance(each, PortName)), None)
        if not isinstance(meaning, PortName):
            return None
        name = written.name.name
        type_ = meaning.port.type.type_of(name)
        if type_ is None:
            if meaning.port.is_known:
                self.report("CDISP0051E", f"{name} is not an attribute of {operand}, {meaning.port.type}", written.name)
            return self.wrong(written)
        return self._attribute(written, PortAttributeName(meaning.port, name, type_))

    def _attribute(self, written: tree.Expression, meaning: PortAttributeName) -> Expression:
        if self.site is not None:
            found = attribute_at(self.site, meaning.name, meaning.type)
            if found is None:
                message = f"{meaning.name} is {meaning.type} where the composite is invoked; no input port has it"
                self.report("CDISP0053E", message, written)
                return self.wrong(written)
            meaning = found
        return PortAttribute(self.span(written), meaning.type, meaning.port.label, meaning.name)

    def _port(self, written: tree.Name, meaning: PortName) -> Expression:
        found = meaning if self.site is None else tuple_at(self.site, meaning)
        if found is None:
            self.report("CDISP0053E", f"no input port here has the tuples of {written}", written)
            return self.wrong(written)
        type_ = found.port.type if found.port.is_known else UNKNOWN
        return PortTuple(self.span(written), type_, found.port.label)

    def _actual(self, written: tree.Name, actual: Actual, expected: Type | None) -> Expression:
        """Return the typed value of an actual parameter, resolved in the invocation's scope; report mistakes."""
        if self.is_too_deep(written):
            return self.wrong(written)
        values = actual.values
        if not isinstance(values, tuple):
            named = values
            if not isinstance(named, tree.NamedType) or named.member:
                self.report("CDISP0302E", f"{written} is a type here, not a value", written)
                return self.wrong(written)
            values = (named.name,)
        if len(values) != 1:
            self.report("CDISP0030E", f"{written} has {len(values)} values here, but one is needed", written)
            return self.wrong(written)
        inner = cast("CallTyping", self.within(actual))
        value = inner.expression(values[0]) if actual.type is None else inner.initialiser(values[0], actual.type)
        wanted = actual.type or expected
        return value if wanted is None else converted(value, wanted) or value

    @abstractmethod
    def initialiser(self, written: tree.Expression, target: Type) -> Expression:
        """Return the typed initial value of a declared variable; report mistakes in it."""

    # --- calls

    def call(self, written: tree.Call, expected: Type | None = None) -> Expression:
        """Return the typed tree of a call; report mistakes, record native calls. An untyped function has `expected`."""
        function = written.function
        if not isinstance(function, tree.Name):
            self.report("CDISP0052E", "only a function can be called", function)
            return self.wrong(written)
        found = self._functions(function, self.scope)
        if not found:
            values = tuple(self._argument(each, None) for each in written.arguments)
            if is_unclear(self.find(function)):
                return self.wrong(written)
            assumed = self._assumed(function, self.scope)
            if assumed is not None:
                return self._assume(written, assumed, values, expected)
            self.report("CDISP0052E", f"there is no function {function}", function)
            return self.wrong(written)
        if found[0].kind == "logic" and function.name == "submit" and len(written.arguments) == 2:
            return self._submit(written)
        if found[0].kind == "output" and not found[0].overloads:
            values = tuple(self._argument(each, None) for each in written.arguments)
            return OutputCall(self.span(written), expected or UNKNOWN, function.name, values)
        hints = self._hints(found, len(written.arguments))
        arguments = [self._argument(each, hint) for each, hint in zip(written.arguments, hints, strict=True)]
        types = [each.type for each in arguments]
        for name in found:
            match = choose(name.overloads, types)
            if match is None:
                continue
            if UNKNOWN in types:
                results = {str(each.result) for each in name.overloads if len(each.parameters) == len(types)}
                return Typed(self.span(written), match.result if len(results) == 1 else UNKNOWN)
            parts = tuple(
                converted(value, parameter) or value
                for value, parameter in zip(arguments, match.parameters, strict=True)
            )
            if name.kind == "output":
                return OutputCall(self.span(written), match.result, function.name, parts)
            return self._called(written, match.signature, match.result, parts)
        self._refuse(function, found, types)
        return self.wrong(written)

    def _called(
        self, written: tree.Call, signature: Signature, result: Type, arguments: tuple[Expression, ...]
    ) -> Expression:
        for parameter, argument, each in zip(signature.parameters, arguments, written.arguments, strict=True):
            if parameter.mutable and not self.is_mutable(each, argument, signature.name, "CDISP0379E"):
                return Typed(self.span(written), result)
        if signature.stateful and self.caller is not None and not self.caller.stateful:
            message = f"{self.caller.name} calls {signature.name}, so it must be declared stateful"
            self.report("CDISP0466E", message, written.function)
        call = Call(self.span(written), result, signature, arguments)
        if signature.is_builtin and signature.name in ("inputPort", "outputPort"):
            [port] = written.arguments
            for meaning in self.scope.meanings(port.name) if isinstance(port, tree.Name) else ():
                if isinstance(meaning, OutputName | PortName):
                    return Constant(call.span, result, meaning.number)
            return call
        return self.scope.definitions.known(call) or call

    def _assumed(self, function: tree.Name, scope: Scope, depth: int = 0) -> Signature | None:
        """Return the function of a missing toolkit that a name or formal parameter may mean; None without one."""
        meaning = scope.find(function.name) if function.name.startswith("$") else None
        if isinstance(meaning, Actual) and meaning.mode in ("function", "expression") and depth < DEEPEST:
            named = type_of_values(meaning.values)
            if not isinstance(named, tree.NamedType):
                return None
            return self._assumed(named.name, meaning.scope, depth + 1)
        return scope.definitions.assumed_function(function)

    def _assume(
        self, written: tree.Call, assumed: Signature, values: tuple[Expression, ...], expected: Type | None
    ) -> Expression:
        """Record a call of a function without known types, and return a node of the expected type, else `UNKNOWN`."""
        parameters = tuple(Parameter(each.type) for each in values)
        call = Call(self.span(written), UNKNOWN, replace(assumed, parameters=parameters), values)
        self.scope.definitions.known(call)
        known = expected is not None and (expected == VOID or is_settled(expected))
        return Typed(call.span, expected if expected is not None and known else UNKNOWN)

    def _functions(self, function: tree.Name, scope: Scope, depth: int = 0) -> list[FunctionName]:
        """Return the functions that a name may mean, in the order of preference, built-in ones last; perhaps none."""
        found: list[FunctionName] = []
        meanings = () if function.namespace else scope.meanings(function.name)
        defined = scope.definitions.find(function)
        for meaning in [*meanings, *([] if defined is None else [defined])]:
            if isinstance(meaning, FunctionName):
                found.append(meaning)
            elif isinstance(meaning, Actual) and meaning.mode in ("function", "expression") and depth < DEEPEST:
                name = meaning.values[0] if isinstance(meaning.values, tuple) else None
                if isinstance(meaning.values, tree.NamedType) and not meaning.values.member:
                    name = meaning.values.name
                if isinstance(name, tree.Name):
                    found += self._functions(name, meaning.scope, depth + 1)
        known = builtin(function.name, function.namespace)
        if known and all(each.overloads != known for each in found):
            found.append(FunctionName(known))
        return found

    def _hints(self, found: list[FunctionName], count: int) -> list[Type | None]:
        """Return the type to expect of each argument, which resolves a bare word of an enumeration.

        It is the only enumeration among the parameters of the possible functions, or else their common type, or else
        None.
        """
        fitting = [each for name in found for each in name.overloads if len(each.parameters) == count]
        hints: list[Type | None] = []
        for number in range(count):
            types = {each.parameters[number].type for each in fitting}
            enumerations = [each for each in types if isinstance(each, Enumeration)]
            hints.append(enumerations[0] if len(enumerations) == 1 else next(iter(types)) if len(types) == 1 else None)
        return hints

    def _argument(self, written: tree.Expression, hint: Type | None) -> Expression:
        """Return the typed tree of an argument, which may also be the name of an output port; report mistakes in it."""
        if isinstance(written, tree.Name) and not written.namespace:
            meaning = self.scope.find(written.name)
            if isinstance(meaning, OutputName):
                return PortTuple(self.span(written), meaning.port.type, meaning.port.label)
        return self.value(written, hint)

    def _submit(self, written: tree.Call) -> Expression:
        """Return the typed tree of a call of `submit`, which names or numbers the output port; report mistakes."""
        what, where = written.arguments
        span = self.span(written)
        meaning = self.scope.find(where.name) if isinstance(where, tree.Name) else None
        if not isinstance(meaning, OutputName):
            meaning = next(
                (each for each in self.scope.meanings(str(where)) if isinstance(each, OutputName)),
                None,
            )
        wanted = meaning.port.type if meaning is not None else None
        marker = self.static(what)
        value = self.value(what, None if isinstance(marker, EnumWord) else wanted)
        is_marker = isinstance(value.type, Enumeration) and value.type.words == ("WindowMarker", "FinalMarker")
        if meaning is not None and not meaning.port.is_known:
            return Typed(span, VOID)
        if meaning is not None and wanted is not None:
            sent = value if is_marker else converted(value, wanted)
            if sent is None:
                message = f"the tuples of {where} are {wanted}, but this is {value.type}"
                self.report("CDISP9272E", message, what)
                return Typed(span, VOID)
            return Typed(span, VOID) if sent.type == UNKNOWN else Submit(span, VOID, sent, meaning.number, str(where))
        port = self.expression(where)
        if port.type not in (_UINT32, UNKNOWN):
            self.report("CDISP9272E", f"this is {port.type}, but an output port or a uint32 is needed", where)
            return Typed(span, VOID)
        if UNKNOWN in (port.type, value.type):
            return Typed(span, VOID)
        if not is_marker and not isinstance(value.type, Tuple):
            self.report("CDISP9272E", f"only a tuple or a marker can be submitted, but this is {value.type}", what)
            return Typed(span, VOID)
        if isinstance(port, Constant):
            self._check_number(written, value, port, is_marker=is_marker)
        return Submit(span, VOID, value, port, "")

    def _check_number(self, written: tree.Call, value: Expression, port: Constant, *, is_marker: bool) -> None:
        """Report an output port number that does not exist, or whose port has another tuple type than the value."""
        what, where = written.arguments
        ports = {each.number: each.port for each in self.scope.all_of(OutputName)}
        found = ports.get(int(str(port.value)))
        if ports and found is None:
            self.report("CDISP9272E", f"there is no output port {port.value}", where)
        elif found is not None and found.is_known and not is_marker and converted(value, found.type) is None:
            message = f"the tuples of output port {port.value} are {found.type}, but this is {value.type}"
            self.report("CDISP9272E", message, what)

    def _refuse(self, function: tree.Name, found: list[FunctionName], types: list[Type]) -> None:
        given = ", ".join(map(str, types)) or "no arguments"
        signatures = list(dict.fromkeys(str(each) for name in found for each in name.overloads))
        known = "; ".join(signatures[:4]) + ("; ..." if len(signatures) > 4 else "")
        self.report("CDISP0504E", f"{function} does not take ({given}); it is declared as {known}", function)

    # --- what may be changed

    def is_mutable(self, written: tree.Expression, target: Expression, operator: str, code: str = "CDISP0378E") -> bool:
        """Return True if an expression may be assigned to, or has an unknown type; else report the constant name."""
        if target.type == UNKNOWN or self._changes(written, target):
            return True
        if isinstance(target, Index) and is_string(target.operand.type):
            self.report("CDISP0431E", "a character of a string cannot be assigned", written)
            return False
        root = written
        while isinstance(root, tree.Member | tree.Index | tree.Slice):
            root = root.operand
        shown = str(root) if isinstance(root, tree.Name) else "this"
        what = "is not a variable" if not isinstance(root, tree.Name) else "is constant"
        way = f"'{operator}' cannot change it" if code == "CDISP0378E" else f"{operator} cannot change it"
        self.report(code, f"{shown} {what}, so {way}", root)
        return False

    def _changes(self, written: tree.Expression, target: Expression) -> bool:
        match target:
            case Variable():
                meaning = self.scope.find(target.name)
                return isinstance(meaning, VariableName) and meaning.mutable
            case PortAttribute() | PortTuple():
                ports = self.scope.all_of(PortName)
                return any(each.port.label == target.port and each.port.mutable for each in ports)
            case Member(operand=operand):
                return isinstance(written, tree.Member) and self._changes(written.operand, operand)
            case Index(operand=operand):
                inner = isinstance(written, tree.Index) and self._changes(written.operand, operand)
                return inner and not is_string(operand.type)
            case _:
                return False
