"""Parser of statements in functions and in the logic of invocations."""

from __future__ import annotations

from streams_orchestration.spl.language.expressions import ExpressionReader
from streams_orchestration.spl.language.recovery import BEYOND, CLAUSES, FaultError
from streams_orchestration.spl.language.tree import (
    Block,
    Break,
    Continue,
    Expression,
    ExpressionStatement,
    For,
    If,
    LocalDeclaration,
    Return,
    Statement,
    TypeDefinition,
    Variable,
    While,
)
from streams_orchestration.spl.language.type_expressions import TYPE_WORDS

_ENDS = CLAUSES | {"}"}
_STOPS = CLAUSES | BEYOND


class StatementReader(ExpressionReader):
    """A parser of statements; `Reader` describes the errors of its methods."""

    def statement(self) -> Statement:
        """Read a statement, or a type definition within a block."""
        self.deeper()
        first, text = self.at, self.texts[self.at]
        match text:
            case "{":
                read: Statement = self.block()
            case "if":
                read = self._if()
            case "while":
                read = self._while()
            case "for":
                read = self._for()
            case "break" | "continue":
                self.at += 1
                self.expect(";")
                read = Break(first, self.at - 1) if text == "break" else Continue(first, self.at - 1)
            case "return":
                self.at += 1
                value = None if self.texts[self.at] == ";" else self.expression()
                self.expect(";")
                read = Return(first, self.at - 1, value)
            case "type":
                read = self.type_definition()
            case _:
                read = self.local_declaration() if self._begins_declaration() else self._expression_statement()
        self.depth -= 1
        return read

    def block(self) -> Block:
        """Read statements in braces."""
        first = self.at
        self.expect("{")
        statements = self.elements(self.statement, self.at_clause_or_brace, _STOPS)
        self.expect("}")
        return Block(first, self.at - 1, statements)

    def local_declaration(self) -> LocalDeclaration:
        """Read the declaration of variables."""
        first = self.at
        mutable = self.accept("mutable")
        written = self.type()
        variables = [self._variable()]
        while self.accept(","):
            variables.append(self._variable())
        self.expect(";")
        return LocalDeclaration(first, self.at - 1, mutable, written, tuple(variables))

    def type_definition(self) -> TypeDefinition:
        """Read a type definition, which begins with the word `type`."""
        first = self.at
        self.expect("type")
        return self.named_type(first, static=False)

    def named_type(self, first: int, *, static: bool) -> TypeDefinition:
        """Read the rest of a type definition, from the name on."""
        name = self.declared("the name of a type")
        self.expect("=")
        written = self.type_tail()
        self.expect(";")
        return TypeDefinition(first, self.at - 1, static, name, written)

    def at_clause_or_brace(self) -> bool:
        """Return True at the keyword of a clause, at a closing brace, and beyond the definition."""
        return self.texts[self.at] in _ENDS or self.is_beyond

    def _begins_declaration(self) -> bool:
        text = self.texts[self.at]
        if text == "mutable" or text in TYPE_WORDS:
            return True
        end = self.end_of_type_name(self.at)
        return end is not None and self.kinds[end] == "word"

    def _variable(self) -> Variable:
        name = self.declared("the name of a variable")
        value = self.expression() if self.accept("=") else None
        return Variable(name.first, self.at - 1, name, value)

    def _condition(self) -> Expression:
        self.expect("(")
        condition = self.expression()
        self.expect(")")
        return condition

    def _if(self) -> If:
        first = self.at
        self.at += 1
        condition = self._condition()
        positive = self.statement()
        negative = self.statement() if self.accept("else") else None
        return If(first, self.at - 1, condition, positive, negative)

    def _while(self) -> While:
        first = self.at
        self.at += 1
        condition = self._condition()
        body = self.statement()
        return While(first, self.at - 1, condition, body)

    def _for(self) -> For | Block:
        """Read a loop. Report a faulty head, as in `for (int32 i = 0; i < 3; i++)`, and return an empty block then."""
        first = self.at
        self.at += 1
        self.expect("(")
        closing, depth = self._closing(self.at), self.depth
        try:
            written = self.type()
            name = self.declared("the name of a variable")
            self.expect("in")
            collection = self.expression()
            self.expect(")")
        except FaultError as fault:
            if closing is None:
                raise
            self.caught(fault)
            self.at, self.depth = closing + 1, depth
            self.statement()
            return Block(first, self.at - 1, ())
        body = self.statement()
        return For(first, self.at - 1, written, name, collection, body)

    def _closing(self, at: int) -> int | None:
        """Return the index of the mark that closes a parenthesis; None if a brace or the end of the file comes first.

        Args:
            at: the index of the first token in the parenthesis.
        """
        depth = 1
        for index in range(at, len(self.texts)):
            text = self.texts[index]
            depth += (text == "(") - (text == ")")
            if not depth:
                return index
            if text in ("", "{", "}"):
                return None
        return None

    def _expression_statement(self) -> ExpressionStatement:
        first = self.at
        if self.texts[first] in (")", "]", ";", "else"):
            self.refuse("a statement")
        expression = self.expression()
        self.expect(";")
        return ExpressionStatement(first, self.at - 1, expression)
