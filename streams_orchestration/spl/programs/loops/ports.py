"""The generated function of a port: a loop over the tuples of a batch that runs logic and evaluates expressions."""

from __future__ import annotations

# pyright: standard
import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import CodeType, TracebackType
from typing import Any

from streams_orchestration.spl.language.walking import nodes_in
from streams_orchestration.spl.programs.errors import RunError
from streams_orchestration.spl.programs.loops.code_scope import CodeScope
from streams_orchestration.spl.programs.loops.names import Names
from streams_orchestration.spl.programs.loops.statements import ReturnedError, Statements, returns
from streams_orchestration.spl.programs.loops.writer import Writer
from streams_orchestration.spl.programs.natives import NativeFunction
from streams_orchestration.spl.programs.outcome import FailedError, PortOutput
from streams_orchestration.spl.programs.run import Run
from streams_orchestration.spl.types.types import Enumeration, Tuple
from streams_orchestration.spl.typing import typed

State = dict[str, Any]
"""The values of state variables by name."""


@dataclass(frozen=True)
class ExpressionValue:
    """An expression that is evaluated for every tuple of a batch.

    Attributes:
        guard: the index of another expression that is a condition; for tuples where it is false, the value is None.
    """

    expression: typed.Expression
    guard: int | None = None


@dataclass(frozen=True)
class Environment:
    """The ports, variables and functions that all programs of an operator share.

    Attributes:
        inputs: names and types of the input ports.
        outputs: types of the output ports.
        state: the state variables.
        functions: the SPL functions that the programs call.
        natives: the native functions that the programs call.
        ordered: True if the order of tuples is kept over all output ports.
        pausing: True if the program is a generator that yields after each submission and for each pause.
    """

    inputs: Sequence[tuple[str, Tuple]] = ()
    outputs: Sequence[Tuple] = ()
    state: Sequence[typed.Declare] = ()
    functions: Sequence[typed.Function] = ()
    natives: Sequence[NativeFunction] = ()
    ordered: bool = False
    pausing: bool = False


class PortProgram:
    """The generated program for the tuples of an input port, or for its punctuation marks."""

    def __init__(
        self,
        environment: Environment,
        run: Run,
        port: int,
        body: typed.Statement | None = None,
        values: Sequence[ExpressionValue] = (),
    ) -> None:
        """Generate and compile the program.

        Raises:
            ProgramError: the program cannot be run here.
        """
        source = next((each.span.source for each in [body, *(each.expression for each in values)] if each), None)
        self.file: str = "" if source is None else source.file
        self._code_file = self.file or "<SPL>"
        writing = _PortWriting(environment, run, port)
        module = writing.module(body, values)
        self.attributes = writing.attributes
        space: dict[str, Any] = dict(writing.writer.objects)
        exec(compile(module, self._code_file, "exec"), space)  # noqa: S102 (a tree of ours)
        self._function = space["program"]

    def __call__(
        self,
        state: State,
        columns: Mapping[str, Sequence[Any]],
        count: int,
        outputs: Sequence[PortOutput] = (),
        mark: str = "",
    ) -> list[list[Any]]:
        """Run the program for a batch, which changes `state` and adds to `outputs`; return the values of expressions.

        Raises:
            FailedError: an operation fails for a tuple.
        """
        try:
            return self._function(state, [columns[name] for name in self.attributes], count, outputs, mark)
        except (RunError, KeyError, IndexError, ArithmeticError, RecursionError, ValueError) as error:
            raise self._failed(error) from error

    def steps(self, state: State, outputs: Sequence[PortOutput]) -> Iterator[float | None]:
        """Run a pausing program, which adds to `outputs`; yield None after each submission, and each pause in seconds.

        Raises:
            FailedError: an operation fails.
        """
        try:
            yield from self._function(state, [], 1, outputs, "")
        except (RunError, KeyError, IndexError, ArithmeticError, RecursionError, ValueError) as error:
            raise self._failed(error) from error

    def _failed(self, error: Exception) -> FailedError:
        line, position = 0, 0
        trace: TracebackType | None = error.__traceback__
        while trace is not None:
            code: CodeType = trace.tb_frame.f_code
            if code.co_filename == self._code_file:
                line = trace.tb_lineno
                if code.co_name == "program":
                    position = trace.tb_frame.f_locals.get("row", 0)
            trace = trace.tb_next
        return FailedError(_message(error), f"{self.file}:{line}" if self.file else "", position)


def _message(error: Exception) -> str:
    match error:
        case RunError():
            return str(error)
        case KeyError():
            return f"the map has no key {error.args[0]!r:.60}"
        case IndexError():
            at = f" {error.args[0]}" if error.args and isinstance(error.args[0], int) else ""
            return f"the index{at} is outside of the list or string"
        case RecursionError():
            return "functions call each other too deeply"
        case _:
            return str(error)


class _PortWriting(Statements):
    def __init__(self, environment: Environment, run: Run, port: int) -> None:
        writer = Writer()
        scope = CodeScope(writer, run, Names(), tuples=dict(environment.inputs))
        scope.natives = {each.signature: each for each in environment.natives}
        for function in environment.functions:
            name = re.sub(r"\W", "_", function.signature.name)
            scope.functions[function.signature] = f"f{len(scope.functions)}_{name}"
        super().__init__(scope)
        self.environment = environment
        self.port = environment.inputs[port][0] if environment.inputs else ""
        self.attributes: list[str] = []
        self._pausing = False
        """True while the body of a pausing program is generated; False for its functions, which never yield."""
        self._submitting: dict[str, ast.expr] = {}
        """Name of a local variable -> its value, for the assignments at the beginning of the function."""

    def module(self, body: typed.Statement | None, values: Sequence[ExpressionValue]) -> ast.Module:
        """Return the Python module that defines the program's functions, and the port's own function as `program`.

        Set `attributes` to the attributes of the port that the program reads.
        """
        self.scope.special["currentPunct"] = lambda: self.writer.name("mark")
        state = [self.scope.names.declare(each.name, each.type, mutable=True) for each in self.environment.state]
        definitions = [self.definition(each) for each in self.environment.functions]
        self._pausing = self.environment.pausing
        inner = self._logic(body, follows=bool(values))
        inner += self._values(values)
        (program,) = self.writer.statements("def program(state, columns, count, outputs, mark): pass")
        assert isinstance(program, ast.FunctionDef)
        beginning: list[ast.stmt] = []
        for declared, slot in zip(self.environment.state, state, strict=True):
            key = self.writer.constant(declared.name)
            beginning.append(self.writer.assign(slot.name, self.writer.expression("state[k]", k=key)))
        beginning += [self.writer.assign(name, value) for name, value in self._submitting.items()]
        ending: list[ast.stmt] = []
        for declared, slot in zip(self.environment.state, state, strict=True):
            key, read = self.writer.constant(declared.name), self.writer.name(slot.name)
            ending += self.writer.statements("state[k] = v", k=key, v=read)
        results = [self.writer.name(f"values{at}") for at in range(len(values))]
        ending.append(self.writer.placed(ast.Return(self.writer.placed(ast.List(results, ast.Load())))))
        program.body = [*beginning, self._loop(inner), *ending]
        return ast.Module([*definitions, program], [])

    def _loop(self, inner: list[ast.stmt]) -> ast.stmt:
        slots = [(name, slot) for (port, name), slot in self.scope.ports.items() if port == self.port]
        self.attributes = [name for name, _ in slots]
        (loop,) = self.writer.statements("for row in range(count): pass")
        assert isinstance(loop, ast.For)
        if slots:
            columns = [self.writer.expression("columns[k]", k=self.writer.constant(at)) for at in range(len(slots))]
            loop.iter = self.writer.placed(
                ast.Call(self.writer.name("zip"), [self.writer.expression("range(count)"), *columns], [])
            )
            targets = ["row", *(slot.name for _, slot in slots)]
            stores: list[ast.expr] = [self.writer.placed(ast.Name(name, ast.Store())) for name in targets]
            loop.target = self.writer.placed(ast.Tuple(stores, ast.Store()))
        loop.body = inner or [self.writer.placed(ast.Pass())]
        return loop

    def _logic(self, body: typed.Statement | None, *, follows: bool) -> list[ast.stmt]:
        if body is None:
            return []
        self.raises = returns(body) and (follows or _returns_in_loop(body))
        written = self.block(body)
        if not self.raises:
            return written
        (guarded,) = self.writer.statements("try: pass\nexcept e: pass", e=self.writer.known(ReturnedError, "returned"))
        assert isinstance(guarded, ast.Try)
        guarded.body = written
        return [guarded]

    def _values(self, values: Sequence[ExpressionValue]) -> list[ast.stmt]:
        """Return the Python statements that append the value of each expression to its list; note the lists to make."""
        written: list[ast.stmt] = []
        guards = {each.guard for each in values}
        for at, each in enumerate(values):
            self._submitting[f"values{at}"] = self.writer.expression("[]")
            self._submitting[f"value{at}"] = self.writer.expression(f"values{at}.append")
            node = self.stored(each.expression, each.expression.type)
            name = self.writer.name(f"value{at}")
            if at in guards:
                written.append(self.writer.assign(f"guard{at}", node))
                node = self.writer.name(f"guard{at}")
            if each.guard is not None:
                test = self.writer.name(f"guard{each.guard}")
                node = self.writer.expression("x if g else None", x=node, g=test)
            written.append(self.writer.placed(ast.Expr(self.writer.call(name, node))))
        return written

    # --- submitting

    def evaluated(self, expression: typed.Expression) -> list[ast.stmt]:
        """Return the Python statements for an expression that is evaluated for its effect.

        In a pausing program, a call of `block` yields its seconds instead.
        """
        match expression:
            case typed.Call(signature=signature, arguments=(seconds,)) if self._pausing and signature.name == "block":
                return [self._pause(self.node(seconds))]
            case _:
                return super().evaluated(expression)

    def _pause(self, value: ast.expr) -> ast.stmt:
        return self.writer.placed(ast.Expr(self.writer.placed(ast.Yield(value))))

    def submit(self, expression: typed.Submit) -> ast.expr:
        """Return the Python expression that submits a tuple or a punctuation mark to an output port."""
        writer = self.writer
        output = self._output(expression.port)
        if isinstance(expression.value.type, Enumeration):
            return writer.expression("o.mark(x)", o=output, x=self.node(expression.value))
        return writer.expression("o.add(x)", o=output, x=self.stored(expression.value, expression.value.type))

    def _output(self, port: int | typed.Expression) -> ast.expr:
        writer = self.writer
        if not isinstance(port, int):
            return writer.expression("outputs[k]", k=self.node(port))
        self._submitting[f"output{port}"] = writer.expression(f"outputs[{port}]")
        return writer.name(f"output{port}")

    def submitted(self, expression: typed.Submit) -> list[ast.stmt]:
        """Return the Python statements for a submission.

        If the order over all ports does not matter, they may append each attribute of a tuple to its column. In a
        pausing program, they yield None afterwards.
        """
        if self._pausing:
            return [*super().submitted(expression), self._pause(self.writer.constant(None))]
        value, port = expression.value, expression.port
        while isinstance(value, typed.Convert) and isinstance(value.operand, typed.TupleOf):
            value = value.operand
        if self.environment.ordered or not isinstance(port, int) or not isinstance(expression.value.type, Tuple):
            return super().submitted(expression)
        attributes = self.environment.outputs[port].attributes
        match value:
            case typed.TupleOf(attributes=written) if written:
                parts = {name: self.stored(each, each.type) for name, each in written}
            case typed.PortTuple(port=name):
                parts = {
                    each.name: self.stored(typed.PortAttribute(value.span, each.type, name, each.name), each.type)
                    for each in attributes
                }
            case typed.Variable(name=name):
                parts = {
                    each.name: self.stored(typed.Member(value.span, each.type, value, each.name), each.type)
                    for each in attributes
                }
            case _:
                return super().submitted(expression)
        return [self._appended(port, at, parts[each.name]) for at, each in enumerate(attributes)]

    def _appended(self, port: int, column: int, value: ast.expr) -> ast.stmt:
        name = f"output{port}_{column}"
        self._submitting[name] = self.writer.expression(f"outputs[{port}].columns[{column}].append")
        return self.writer.placed(ast.Expr(self.writer.call(self.writer.name(name), value)))


def _returns_in_loop(statement: typed.Statement) -> bool:
    return any(returns(each.body) for each in nodes_in(statement, typed.While, typed.For))
