"""Parser of expressions.

Precedence follows the grammar of SPL, not the table in its manual: `in` binds tighter than `&&` and looser than `|`,
all comparisons are equal, `?:` binds tightest.

>>> str_of = lambda text: type(expression_of(text)).__name__
>>> str_of("a = b"), str_of("(int32) x"), str_of("a.b::f(x)[1:]")
('Binary', 'Cast', 'Slice')
"""

from __future__ import annotations

from streams_orchestration.spl.language.recovery import FaultError
from streams_orchestration.spl.language.tokens import Tokens, string_value, tokenize
from streams_orchestration.spl.language.tree import (
    Binary,
    BraceLiteral,
    Call,
    Cast,
    Choice,
    Entry,
    Expression,
    Index,
    ListLiteral,
    Member,
    Name,
    Number,
    Postfix,
    Prefix,
    Slice,
    Text,
    Type,
    Word,
)
from streams_orchestration.spl.language.type_expressions import TYPE_WORDS, TypeReader

ASSIGNMENT, CHOICE, OR_ELSE = 1, 2, 13
_BINARY = (
    *("= += -= *= /= %= <<= >>= &= ^= |=", "?", "||", "&&", "in", "| .|", "^ .^", "& .&"),
    *("< <= > >= == != .< .<= .> .>= .== .!=", "<< >> .<< .>>", "+ - .+ .-", "* / % .* ./ .%", "?:"),
)
LEVELS = {operator: level for level, each in enumerate(_BINARY, 1) for operator in each.split()}
"""Binary operator, or `?` of a choice -> its precedence; a higher one binds tighter."""
PREFIXES = frozenset({"!", "-", "~", "++", "--"})
POSTFIXES = frozenset({"++", "--", "!", "??"})
_WORDS = frozenset({"true", "false", "null"})
_STRING_KINDS = {"u": "ustring", "x": "xml"}
_OPERAND_KINDS = frozenset({"word", "number", "string"})
_MERGED = {">": (">",), ">=": (">", "="), ">>": (">", ">"), ">>=": (">", ">", "=")}


def expression_of(text: str) -> Expression:
    """Parse a text that is one expression, such as a canonical text.

    Raises:
        FaultError: the text is not an expression, or a mark is missing in it.
        NestingError: the expression is nested too deeply.
    """
    tokens = tokenize(text)
    for each in tokens.findings:
        raise FaultError(each.code, each.message, 0)
    reader = _WholeReader(tokens, patient=True)
    expression = reader.expression()
    if reader.kinds[reader.at] != "end":
        reader.refuse("an operator")
    return expression


def expression_at(tokens: Tokens, first: int, values: frozenset[int]) -> Expression:
    """Parse an expression again, knowing which of its names are values.

    `(x)-y`, `(x)(y)` and `(x)[y]` are first parsed as casts, but are casts only if x is a type.

    Args:
        tokens: the tokens of the file.
        first: the expression's first token.
        values: the first tokens of those apparent casts whose x is a value.

    Raises:
        FaultError: the tokens are not an expression.
        NestingError: the expression is nested too deeply.
    """
    reader = ExpressionReader(tokens, first)
    reader.values = values
    return reader.expression()


class ExpressionReader(TypeReader):
    """A parser of types and expressions; `Reader` describes the errors of its methods."""

    values: frozenset[int] = frozenset()
    """Positions that begin no cast, though they seem to: a name in parentheses is a value; see `expression_at`."""

    def expression(self, least: int = ASSIGNMENT) -> Expression:
        """Read an expression whose operators have at least the precedence `least`.

        Raises:
            FaultError: the expression is wrong.
            NestingError: the expression is nested too deeply.
        """
        self.deeper()
        first = self.at
        left = self._operand()
        while True:
            operator = self._infix()
            level = LEVELS.get(operator, 0)
            if level < least:
                break
            self.at += len(_MERGED.get(operator, (operator,)))
            height = self.height
            if level == CHOICE:
                left = self._choice(first, left)
            else:
                right = self.expression(level + 1)
                left = Binary(first, self.at - 1, operator, left, right)
                if level == OR_ELSE and self.texts[self.at] == "?:":
                    self.refuse("parentheses around one of two '?:'")
            self.grow(height)
        self.depth -= 1
        return left

    def expressions(self) -> tuple[Expression, ...]:
        """Read one or more expressions with commas between them."""
        each = [self.expression()]
        height = self.height
        while self.accept(","):
            each.append(self.expression())
            height = max(height, self.height)
        self.height = height
        return tuple(each)

    def entries(self) -> tuple[Entry, ...]:
        """Read one or more entries in braces: values, or keys with their values."""
        entries: list[Entry] = []
        tallest = 0
        while not entries or self.accept(","):
            first, value = self.at, None
            key = self.expression()
            if self.accept(":"):
                height = self.height
                value = self.expression()
                self.grow(height)
            entries.append(Entry(first, self.at - 1, key, value))
            tallest = max(tallest, self.height)
        self.height = tallest
        return tuple(entries)

    def _choice(self, first: int, condition: Expression) -> Choice:
        positive = self.expression(CHOICE)
        height = self.height
        self.expect(":")
        negative = self.expression(CHOICE)
        self.height = max(height, self.height)
        return Choice(first, self.at - 1, condition, positive, negative)

    def _infix(self) -> str:
        """Return the next binary operator without reading it; adjacent tokens such as `>` and `=` are joined.

        Any other token is returned as it is.
        """
        text, at = self.texts[self.at], self.at
        if text != ">":
            return text
        operator = ">"
        while self.texts[at + 1] in (">", "=") and self.tokens.adjoin(at) and operator + self.texts[at + 1] in _MERGED:
            at += 1
            operator += self.texts[at]
        return operator

    def _operand(self) -> Expression:
        """Read prefix operators and casts, a primary expression, and its postfix operators."""
        before: list[tuple[int, str, Type | None]] = []
        while True:
            first, text = self.at, self.texts[self.at]
            if text in PREFIXES:
                self.at += 1
                before.append((first, text, None))
            elif text == "(" and (cast := self._cast()) is not None:
                before.append((first, text, cast))
            else:
                break
            self.refuse_depth(len(before))
        operand = self._behind(first, self._primary())
        for start, operator, cast in reversed(before):
            self.grow(0)
            if cast is None:
                operand = Prefix(start, self.at - 1, operator, operand)
            else:
                operand = Cast(start, self.at - 1, cast, operand)
        return operand

    def _cast(self) -> Type | None:
        """Read a type in parentheses, the beginning of a cast; return None, and read nothing, if there is no type."""
        start = self.at
        if self.texts[start + 1] in TYPE_WORDS:
            self.at += 1
            self.deeper()
            written = self.type()
            self.depth -= 1
            self.expect(")")
            return written
        end = self.end_of_type_name(start + 1)
        if end is None or self.texts[end] != ")" or start in self.values or not self._begins_operand(end + 1):
            return None
        self.at += 1
        written = self.type_name_up_to(end)
        self.at += 1
        return written

    def _begins_operand(self, at: int) -> bool:
        """Return True if the token after `(name)` can begin an operand, so that `(name)` is read as a cast."""
        text, kind = self.texts[at], self.kinds[at]
        if kind in _OPERAND_KINDS or text in _WORDS or text in ("-", "~", "{"):
            return True
        match text:
            case "(":
                return self.texts[at + 1] != ")"
            case "[":
                return not self._is_slice(at)
            case "!" | "++" | "--":
                return self._begins_operand(at + 1)
            case _:
                return False

    def _is_slice(self, at: int) -> bool:
        """Return True if the brackets at a token contain a colon outside of inner brackets and of choices (`? :`)."""
        level, choices = 0, 0
        for index in range(at, len(self.texts)):
            text = self.texts[index]
            level += (text in ("[", "(", "{")) - (text in ("]", ")", "}"))
            choices += level == 1 and text == "?"
            if level == 1 and text == ":":
                if not choices:
                    return True
                choices -= 1
            if level == 0 or text == ";":
                break
        return False

    def _primary(self) -> Expression:
        at = self.at
        self.height = 0
        kind, text = self.kinds[at], self.texts[at]
        self.at = at + 1
        if kind == "word":
            return Name(at, at, "", text)
        if kind == "number":
            return Number(at, at, text)
        if kind == "string":
            suffix = text[text.rfind(text[0]) + 1 :] if text.rfind(text[0]) else ""
            return Text(at, at, string_value(text), _STRING_KINDS.get(suffix, "rstring"))
        if text in _WORDS:
            return Word(at, at, text)
        if text == "(":
            inner = self.expression()
            self.expect(")")
            return inner
        if text == "[":
            elements = () if self.texts[self.at] == "]" else self.expressions()
            self.grow(0)
            self.expect("]")
            return ListLiteral(at, self.at - 1, elements)
        if text == "{":
            entries = () if self.texts[self.at] == "}" else self.entries()
            self.grow(0)
            self.expect("}")
            return BraceLiteral(at, self.at - 1, entries)
        self.at = at
        return self.refuse("an expression")

    def _behind(self, first: int, operand: Expression) -> Expression:
        """Read the calls, attributes, indexes and postfix operators that follow an operand."""
        while True:
            text, height = self.texts[self.at], self.height
            if text == "(":
                self.at += 1
                arguments = () if self.texts[self.at] == ")" else self.expressions()
                self.expect(")")
                operand = Call(first, self.at - 1, operand, arguments)
            elif text == ".":
                self.at += 1
                name = self.identifier("the name of an attribute")
                operand = Member(first, name.last, operand, name)
            elif text == "[":
                self.at += 1
                operand = self._subscript(first, operand)
            elif text == "::":
                operand = self._qualified(first, operand)
            elif text in POSTFIXES:
                operand = Postfix(first, self.at, text, operand)
                self.at += 1
            else:
                return operand
            self.grow(height)

    def _subscript(self, first: int, operand: Expression) -> Expression:
        lower = None if self.texts[self.at] == ":" else self.expression()
        if lower is not None and not self.accept(":"):
            self.expect("]")
            return Index(first, self.at - 1, operand, lower)
        if lower is None:
            self.at += 1
        height = self.height
        upper = None if self.texts[self.at] == "]" else self.expression()
        self.height = max(height, self.height)
        self.expect("]")
        return Slice(first, self.at - 1, operand, lower, upper)

    def _qualified(self, first: int, operand: Expression) -> Name:
        namespace = _dotted(operand)
        if not namespace:
            self.refuse("an operator, since the text before '::' is not a namespace")
        self.at += 1
        name = self.identifier("a name of the namespace")
        return Name(first, name.last, namespace, name.name)


class _WholeReader(ExpressionReader):
    """A parser of a text that is one expression, which has no list of findings."""

    def report(self, code: str, message: str, index: int) -> None:
        """Raise FaultError for a missing mark. A keyword is taken for a name, since a column may have this name."""
        if code == "CDISP0008E":
            raise FaultError(code, message, index)


def _dotted(expression: Expression) -> str:
    """Return a chain of names separated by dots as text; empty for any other expression."""
    match expression:
        case Name(namespace="", name=name):
            return name
        case Member(operand=operand, name=name):
            inner = _dotted(operand)
            return inner and f"{inner}.{name.name}"
        case _:
            return ""
