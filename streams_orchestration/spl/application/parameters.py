"""Translation of the parameters of primitive operators to parameters of a document."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from streams_orchestration.model.programs import runs_logic
from streams_orchestration.spl.application.format_rows import ROW, is_row, with_rows, without_row_parameters
from streams_orchestration.spl.application.logic_texts import function_text, logic_texts
from streams_orchestration.spl.application.names import FileNames
from streams_orchestration.spl.application.operator_checks import check_operator, nested_calls
from streams_orchestration.spl.application.output_calls import output_calls
from streams_orchestration.spl.application.own_forms import attributes_of, in_order, own_call, own_parameters
from streams_orchestration.spl.application.parameter_kinds import (
    ATTRIBUTES,
    CONDITIONS,
    LISTS,
    OF_SEVERAL_PORTS,
    WORDS,
    is_plain_key,
    port_of,
)
from streams_orchestration.spl.application.rewriting import by_attributes
from streams_orchestration.spl.application.state_reading import (
    StateReading,
    before_tuples,
    beyond_columns,
    reads,
    reads_whole,
)
from streams_orchestration.spl.application.subscriptions import subscription_text
from streams_orchestration.spl.application.values import (
    CHANNELS,
    SUBMISSION,
    SUBMISSION_LIST,
    UnknownValue,
    constant,
    submission_name,
    submission_type,
)
from streams_orchestration.spl.functions.signatures import Signature
from streams_orchestration.spl.language import tree
from streams_orchestration.spl.language.definitions import Argument, Invocation, OutputClause
from streams_orchestration.spl.language.printing import text_of
from streams_orchestration.spl.language.walking import nodes_in
from streams_orchestration.spl.models.assigned_outputs import check_outputs, with_assumed_functions
from streams_orchestration.spl.models.invocations import check_parameters, check_ports, check_windows
from streams_orchestration.spl.models.operators import SplOperatorModel, is_single
from streams_orchestration.spl.types.columns import beyond_column
from streams_orchestration.spl.types.types import Tuple
from streams_orchestration.spl.typing.canonical import canonical_function, canonical_text
from streams_orchestration.spl.typing.checking import check_expression
from streams_orchestration.spl.typing.scopes import Actual, Meaning, Port, Scope, TypeName, port_scope
from streams_orchestration.spl.typing.spans import Mistake, Source, Span
from streams_orchestration.spl.typing.statements import check_function, check_logic
from streams_orchestration.spl.typing.typed import (
    Call,
    Constant,
    Expression,
    Function,
    Node,
    OutputCall,
    PortAttribute,
    TupleOf,
)


@dataclass(eq=False)
class ParameterWriter:
    """A writer of the document's parameters for one invocation of a primitive operator."""

    names: FileNames
    source: Source
    scope: Scope
    kind: str
    model: SplOperatorModel | None
    """The model of the operator; None if there is no model, so that parameters cannot be checked."""
    native: bool
    """True for a native operator of a toolkit, whose Python class reads the parameters."""
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    mistakes: list[Mistake]
    _untyped: int = 0
    """The number of calls with unknown types that were recorded before this invocation."""
    submission: dict[str, str] = field(default_factory=dict[str, str])
    """The submission-time values that the parameters use, with their types."""
    ordered: bool = False
    """True if tuples of several output ports meet in one operator, so that their order must be kept."""
    with_logic: bool = False
    """True if expressions are evaluated with the logic, which then holds their functions and submission-time values."""
    state: StateReading = field(default_factory=lambda: StateReading({}))
    """The state variables of the logic, if expressions are evaluated apart from the logic."""
    fixed: StateReading = field(default_factory=lambda: StateReading({}))
    """The state variables of the logic, for parameters that are evaluated before the first tuple."""

    def parameters(self, invocation: Invocation) -> dict[str, Any]:
        """Return the document's parameters, with `output` and `spl` (without logic after mistakes); report mistakes."""
        typed: list[Node] = []
        self._untyped = len(self.names.files.natives.untyped)
        self.with_logic = bool(invocation.logic) and not self.native and runs_logic(self.kind)
        logic, known = check_logic(
            invocation.logic,
            self.scope,
            self.source,
            self.mistakes,
            self.inputs,
            self.outputs,
            submits=self.kind == "Custom",
        )
        self.fixed = StateReading({each.name: each for each in logic.state})
        paired = self.kind in OF_SEVERAL_PORTS and not self.native
        self.state = StateReading({} if self.with_logic else self.fixed.variables, self.inputs, paired=paired)
        model = self.model
        if model is None:
            parameters = self._without_model(invocation, port_scope(known, self.inputs), typed)
        else:
            parameters = self._by_model(invocation, model, known, typed)
        program: dict[str, Any] = {}
        if invocation.logic and not self.mistakes:
            try:
                program = logic_texts(logic)
                typed.append(logic)
            except ValueError:  # a part has an unknown type: something else is wrong, or a native function
                program = {"functions": self._untyped_natives()}
        if program:
            functions, constants, called = self._used(typed)
            texts = [*map(function_text, functions.values()), *program.get("functions", [])]
            program |= {
                "columns": list(self.state.columns),
                "functions": [*texts, *self._entries([*_natives(logic), *called])],
                "constants": constants,
            }
        program = {key: value for key, value in program.items() if value}
        if program or (self.kind == "Custom" and not self.native):
            if self.ordered:
                program["ordered"] = True
            first = invocation.logic[0] if invocation.logic else invocation
            parameters["spl"] = program | self._ports() | {"at": self._place(first)}
        return parameters

    def _ports(self) -> dict[str, Any]:
        """Return ports with SPL types that columns do not determine; for several output ports, always their names."""
        found: dict[str, Any] = {}
        for side, ports, least in (("inputs", self.inputs, 0), ("outputs", self.outputs, 2)):
            types = {port.label: beyond_column(port.type) for port in ports}
            if any(each.attributes for each in types.values()) or (least and len(ports) >= least):
                found[side] = {label: str(each) if each.attributes else "" for label, each in types.items()}
        return found

    def _by_model(
        self, invocation: Invocation, model: SplOperatorModel, known: Scope, typed: list[Node]
    ) -> dict[str, Any]:
        """Return the parameters of an operator; report where they contradict its model; add their trees to `typed`."""
        check_ports(invocation, model, self._report)
        if self.native:
            check_windows(invocation, model, self._report)
        parameters: dict[str, Any] = {}
        given = check_parameters(invocation, model, known, self.source, self.mistakes, self.inputs)
        if not self.native:
            operator = Span(self.source, invocation.operator.first, invocation.operator.last)
            given = own_parameters(self.kind, given, self.inputs, operator)
        check_operator(invocation, model.name, given, (self.inputs, self.outputs), self._report)
        for each in invocation.arguments:
            parameter = model.parameters.get(each.label.name)
            if parameter is not None and parameter.mode == "Text" and isinstance(each.values, tuple):
                parameters[parameter.name] = subscription_text(each.values[0], parameter.name, self._report)
        given = before_tuples(model, given, self.fixed, self.mistakes)
        for name, values in given.items():
            if self.kind == "Export" and name == "properties" and isinstance(values[0], TupleOf):
                parameters[name] = {each: self.expression(value, typed) for each, value in values[0].attributes}
                continue
            if name.startswith("defaultTuple") and isinstance(values[0].type, Tuple):
                parameters[name] = {each: self.program(value, typed) for each, value in attributes_of(values[0])}
                continue
            mode = model.parameters[name].mode if name in model.parameters else ""
            self.state.port = None if self.native else port_of(self.kind, name)
            written = [
                each.name
                if isinstance(each, PortAttribute)
                and (mode == "Attribute" or (not self.native and is_plain_key(self.kind, name, each.type)))
                else self._listed(name if mode != "CustomLiteral" else "", each, typed)
                for each in values
            ]
            is_list = name in LISTS and mode != "CustomLiteral" and not self.native and not is_single(model, name)
            parameters[name] = written[0] if len(written) == 1 and not is_list else written
        self.state.port = None
        assigned = check_outputs(invocation, model, known, self.source, self.mistakes, self.inputs, self.outputs)
        parameters = without_row_parameters(self.kind, given, parameters)
        maps: list[dict[str, Any]] = []
        label = self.inputs[0].label if self.inputs else ""
        own_calls = output_calls("" if self.native else self.kind, label, self.mistakes)
        for number in range(len(self.outputs)):
            kind = model.output(number)
            # Our operators copy attributes by name if there is one input port, and no output function for them.
            implied = kind is not None and kind.default in ("", "AsIs") and len(self.inputs) == 1
            implied = implied or self.native or (kind is not None and kind.mode == "Nonexistent")
            values = [each for each in assigned.get(number, ()) if each.written or not implied]
            values = with_rows(self.kind, values, self.inputs, given)
            calls = [] if self.native else [call for each in values for call in nested_calls(self.kind, each.value)]
            for call in calls:
                message = (
                    f"{call.name} is called within another expression, but an output function must be called alone"
                )
                self.mistakes.append(Mistake("CDISP0533E", message, call.span))
            if own_calls is not None:
                values = own_calls.without_calls(values)
            maps.append({each.attribute: self.program(each.value, typed) for each in values})
        parameters |= {} if own_calls is None else own_calls.parameters()
        if any(maps):
            each_port = len(maps) > 1 and (self.native or self.kind in ("Functor", "XMLParse"))
            parameters["output"] = maps if each_port else maps[0]
        return parameters

    def _without_model(self, invocation: Invocation, scope: Scope, typed: list[Node]) -> dict[str, Any]:
        """Return parameters without a model: words, constants, expressions; report mistakes; add trees to `typed`."""
        assumed = with_assumed_functions(scope, *(each.values for each in invocation.arguments))
        parameters = {each.label.name: self._argument(each, assumed, typed) for each in invocation.arguments}
        outputs = self._outputs(invocation.assignments, scope, typed)
        return parameters if outputs is None else parameters | {"output": outputs}

    def _argument(self, argument: Argument, scope: Scope, typed: list[Node]) -> Any:
        label = argument.label.name
        if not isinstance(argument.values, tuple):
            return text_of(argument.values)
        values = [self._value(label, each, scope, typed) for each in argument.values]
        return values[0] if len(values) == 1 else values

    def _value(self, label: str, written: tree.Expression, scope: Scope, typed: list[Node]) -> Any:
        if isinstance(written, tree.Name):
            actual = scope.find(written.name) if written.name.startswith("$") else None
            if isinstance(actual, Actual) and isinstance(actual.values, tuple) and len(actual.values) == 1:
                inner = actual.values[0]
                if label in WORDS or (isinstance(inner, tree.Name) and actual.scope.find(inner.name) is None):
                    return text_of(inner)
            elif not written.name.startswith("$") and (
                label in WORDS or label in ATTRIBUTES or _is_no_value(scope.find(written.name, written.namespace))
            ):
                return str(written)
        if label in WORDS and isinstance(written, tree.Member):
            return text_of(written)
        checked = check_expression(written, scope, self.source, self.mistakes)
        return self.expression(checked, typed)

    def _listed(self, name: str, checked: Expression, typed: list[Node]) -> Any:
        """Return one value of a parameter; conditions and values of list parameters are programs even if constant."""
        if name not in LISTS and name not in CONDITIONS:
            return self.expression(checked, typed)
        return self.program(in_order(checked) if name == "sortBy" else checked, typed)

    def expression(self, checked: Expression, typed: list[Node]) -> Any:
        """Return an expression as a value if it is constant, else as a program; note submission-time values."""
        checked = self.state.without(checked)
        if submission_name(checked) is None and not _calls_submission(checked):
            with contextlib.suppress(UnknownValue):
                return constant(checked)
        name = submission_name(checked)
        if name is not None:
            self.submission[name] = submission_type(checked)
            return f"${{{name}}}"
        return self.program(checked, typed)

    def program(self, checked: Expression, typed: list[Node]) -> Any:
        """Return an expression's program, None after a mistake; add its tree to `typed`; report wrong reads.

        A program with a native function of unknown types has the source's text.
        """
        if self.kind == "Format" and is_row(checked):
            return ROW
        self.mistakes += self.state.mistakes(checked)
        checked = self.state.without(checked)
        if self.kind in OF_SEVERAL_PORTS and not self.native:
            checked = by_attributes(checked)
        typed.append(checked)
        if isinstance(checked, OutputCall) and not self.native:
            checked = own_call(checked)
        try:
            text = canonical_text(checked)
        except ValueError:
            untyped = self._untyped_natives()
            return {"spl": checked.span.text, "at": str(checked.span), "functions": untyped} if untyped else None
        ports = list(map(self.state.with_columns, self.inputs))
        types = {port.label: str(type_) for port in ports if (type_ := beyond_columns(checked, port)).attributes}
        if (variables := self.state.beyond_columns(checked)).attributes:
            types[""] = str(variables)
        needs_label = reads if self.native else reads_whole
        types |= {port.label: types.get(port.label, "") for port in ports if needs_label(checked, port)}
        functions, constants, called = ({}, {}, []) if self.with_logic else self._used([checked])
        program = {
            "spl": text,
            "at": str(checked.span),
            "types": types,
            "functions": [*functions, *self._entries([*_natives(checked), *called])],
            "constants": constants,
            "call": checked.name if self.native and isinstance(checked, OutputCall) else "",
        }
        return {key: value for key, value in program.items() if value or key == "spl"}

    def _outputs(self, clauses: tuple[OutputClause, ...], scope: Scope, typed: list[Node]) -> Any:
        """Return the entry `output`, a list for several output ports, None without clauses; report mistakes.

        The trees of the assignments are added to `typed`.
        """
        if not clauses:
            return None
        maps: list[dict[str, Any]] = [{} for _ in self.outputs]
        for clause in clauses:
            inner = with_assumed_functions(scope, *(each.value for each in clause.assignments))
            number = next(
                (n for n, port in enumerate(self.outputs) if clause.port.name in (port.label, *port.names)), None
            )
            if number is None:
                self._report("CDISP0362E", f"there is no output port {clause.port}", clause.port)
                continue
            for assignment in clause.assignments:
                name = assignment.attribute
                expected = self.outputs[number].type.type_of(name.name)
                if expected is None:
                    self._report("CDISP0076E", f"{self.outputs[number].label} has no attribute {name}", name)
                checked = check_expression(assignment.value, inner, self.source, self.mistakes, expected)
                maps[number][name.name] = self.program(checked, typed)
        return maps[0] if len(maps) == 1 else maps

    def _entries(self, natives: Iterable[Signature]) -> list[dict[str, Any]]:
        """Return native functions as entries of `functions`, each once, sorted by name."""
        entry = self.names.files.natives.entry
        return [entry(each) for each in sorted(dict.fromkeys(natives), key=lambda each: (each.full_name, each.text))]

    def _untyped_natives(self) -> list[dict[str, Any]]:
        """Return the native functions with unknown types that this invocation calls."""
        natives = self.names.files.natives
        return [natives.entry(signature, span) for span, signature in natives.untyped[self._untyped :]]

    def _used(self, typed: list[Node]) -> tuple[dict[str, Function], dict[str, str], list[Signature]]:
        """Return what the typed trees need: SPL functions by text, constants, and native functions.

        The constants are submission-time values, by name, and calls of the functions `CHANNELS`; each has its reference
        `${...}` in place of its value. The native functions are the ones that the SPL functions call. Note the
        submission-time values in `submission`, and report mistakes in the SPL functions; a function that has mistakes
        is left out.
        """
        texts: dict[str, Function] = {}
        natives: list[Signature] = []
        constants: dict[str, str] = {}
        waiting: list[Node] = [*typed]
        seen: set[object] = set()
        while waiting:
            for node in nodes_in(waiting.pop(), Call):
                if node.signature.name in CHANNELS and node.signature.is_standard:
                    constants[f"{node.signature.name}()"] = f"${{{node.signature.name}()}}"
                match node.arguments:
                    case (Constant(value=str(name)), *_) if node.signature.name in (SUBMISSION, SUBMISSION_LIST):
                        self.submission.setdefault(name, "rstring")
                        constants[name] = f"${{{name}}}"
                    case _:
                        pass
                found = self.names.files.functions.get(node.signature)
                if found is None or node.signature in seen:
                    continue
                seen.add(node.signature)
                names, function = found
                checked = check_function(function, names.scope, names.unit.source, self.mistakes, node.signature)
                with contextlib.suppress(ValueError):
                    texts[canonical_function(checked)] = checked
                natives += _natives(checked)
                waiting.append(checked)
        return dict(sorted(texts.items())), dict(sorted(constants.items())), natives

    def _place(self, node: tree.Node) -> str:
        return ":".join(map(str, (self.source.file, *self.source.place(node.first))))

    def _report(self, code: str, message: str, node: tree.Node) -> None:
        self.mistakes.append(Mistake(code, message, Span(self.source, node.first, node.last)))


def _is_no_value(meaning: Meaning | None) -> bool:
    """Return True for an unknown name or a type; a composite of a missing toolkit may accept both as parameters."""
    return meaning is None or isinstance(meaning, TypeName)


def _natives(node: Node) -> list[Signature]:
    """Return the native functions that a tree calls."""
    return [each.signature for each in nodes_in(node, Call) if each.signature.native]


def _calls_submission(checked: Expression) -> bool:
    return any(each.signature.name in (SUBMISSION, SUBMISSION_LIST) for each in nodes_in(checked, Call))
