"""The parser of Spark SQL's scalar expressions, from a text to a syntax tree.

>>> parse("a + 2 * b").function
'+'
"""

from __future__ import annotations

import functools
from collections.abc import Callable

from streams_orchestration.expressions.errors import ExpressionError
from streams_orchestration.expressions.junctions import between, joined
from streams_orchestration.expressions.literals import (
    binary_constant,
    interval_constant,
    number_constant,
    typed_constant,
)
from streams_orchestration.expressions.reading import LEVELS, RESERVED, UNITS, TokenReader
from streams_orchestration.expressions.syntax import Apply, Choice, Constant, Convert, Member, Name, Syntax, is_higher
from streams_orchestration.expressions.tokens import tokenize
from streams_orchestration.expressions.types import (
    BOOLEAN,
    STRING,
    VOID,
)

_SAME = {"==": "=", "!=": "<>"}
_DEPTH = 50
"""The most nested brackets, signs and NOTs; each takes several levels of Python's stack."""
_HEIGHT = 150
"""The most levels of a syntax tree, to which chains of operators add, too."""
_NULL, _FIELD, _UNIT = "NULL, TRUE, FALSE or DISTINCT FROM", "the name of a field", "a unit of time"
"""The names of expected syntax in messages about its absence."""


@functools.lru_cache(maxsize=8192)
def parse(text: str) -> Syntax:
    """Parse an expression.

    Raises:
        ExpressionError: the text is not a scalar expression; its `offset` is the place.
    """
    parser = _Parser(tokenize(text))
    if parser.next.kind == "end":
        message = "the text is empty, but an expression is expected"
        raise ExpressionError(message, 0)
    tree = parser.expression()
    if parser.next.kind != "end":
        raise parser.unexpected()
    if is_higher(tree, _HEIGHT):
        message = f"the expression is nested more than {_HEIGHT} levels deep"
        raise ExpressionError(message, 0)
    return tree


class _Parser(TokenReader):
    """Recursive-descent parser of expressions; its methods raise ExpressionError for wrong syntax."""

    def expression(self) -> Syntax:
        """Read a whole expression. Raises ExpressionError if it is wrong or nested too deeply."""
        self._depth += 1
        self._refuse_depth()
        tree = self._joined("or", self._conjunction)
        self._depth -= 1
        return tree

    def _conjunction(self) -> Syntax:
        return self._joined("and", self._negation)

    def _joined(self, word: str, part: Callable[[], Syntax]) -> Syntax:
        """Read a chain of parts with a word between them, as a balanced tree."""
        parts, offsets = [part()], list[int]()
        while self.at(word):
            offsets.append(self.take().offset)
            parts.append(part())
        return joined(word, parts, offsets)

    def _refuse_depth(self, more: int = 0) -> None:
        if self._depth + more > _DEPTH:
            message = f"the expression is nested more than {_DEPTH} levels deep"
            raise ExpressionError(message, self.next.offset)

    def _negation(self) -> Syntax:
        offsets: list[int] = []
        while self.at("not", "!"):
            offsets.append(self.take().offset)
            self._refuse_depth(len(offsets))
        tree = self._predicate()
        for offset in reversed(offsets):
            tree = Apply("not", (tree,), offset)
        return tree

    def _predicate(self) -> Syntax:
        left = self._value(0)
        start, offset = self._position, self.next.offset
        negated = self.accept("not")
        tree = self._predicate_behind(left, offset)
        if tree is None:
            self._position = start
            return left
        return Apply("not", (tree,), offset) if negated else tree

    def _predicate_behind(self, left: Syntax, offset: int) -> Syntax | None:
        """Read the predicate after a value; return None if there is none."""
        if self.accept("between"):
            low = self._value(0)
            self.expect("and")
            return between(left, low, self._value(0), offset)
        if self.accept("in"):
            self.expect("(")
            self._refuse_query()
            if self.at(")"):
                raise self.unexpected(None)
            return Apply("in", (left, *self._arguments()), offset)
        for word in ("like", "ilike", "rlike", "regexp"):
            if self.accept(word):
                return self._like(left, "rlike" if word == "regexp" else word, offset)
        return self._is_predicate(left, offset) if self.accept("is") else None

    def _like(self, left: Syntax, word: str, offset: int) -> Syntax:
        if word in ("like", "ilike") and self.at("any", "some", "all") and self.at("(", ahead=1):
            joiner = "and" if self.take().text.lower() == "all" else "or"
            self.expect("(")
            each = [Apply(word, (left, pattern), offset) for pattern in self._arguments()]
            return functools.reduce(lambda one, other: Apply(joiner, (one, other), offset), each)
        pattern = self._value(0)
        if word != "rlike" and self.accept("escape"):
            return Apply(word, (left, pattern, self._escape()), offset)
        return Apply(word, (left, pattern), offset)

    def _escape(self) -> Syntax:
        token = self.next
        if token.kind != "string" or len(token.text) != 1:
            message = "ESCAPE takes one character, as in ESCAPE '#'"
            raise ExpressionError(message, token.offset)
        return self._value(0)

    def _is_predicate(self, left: Syntax, offset: int) -> Syntax:
        negated = self.accept("not")
        if self.accept("null", "unknown"):
            tree: Syntax = Apply("isnull", (left,), offset)
        elif self.at("true", "false"):
            tree = Apply("<=>", (left, Constant(self.take().text.lower() == "true", BOOLEAN, offset)), offset)
        elif self.accept("distinct"):
            self.expect("from")
            tree, negated = Apply("<=>", (left, self._value(0)), offset), not negated
        else:
            raise self.unexpected(_NULL)
        return Apply("not", (tree,), offset) if negated else tree

    def _value(self, weakest: int) -> Syntax:
        """Read operands and the binary operators between them whose precedence is at least `weakest`."""
        left = self._signed()
        while self.next.kind in ("mark", "word") and (level := LEVELS.get(self.next.text.lower(), -1)) >= weakest:
            token = self.take()
            sign = _SAME.get(token.text, token.text.lower())
            left = Apply(sign, (left, self._value(level + 1)), token.offset)
        return left

    def _signed(self) -> Syntax:
        if not self.at("-", "+", "~"):
            return self._postfix()
        sign, number = self.take(), self.next
        if sign.text == "-" and number.kind == "number":
            self.take()
            return self._behind(number_constant(number.text, number.offset, negative=True))
        self._depth += 1
        self._refuse_depth()
        argument = self._signed()
        self._depth -= 1
        return Apply({"-": "negative", "+": "positive", "~": "~"}[sign.text], (argument,), sign.offset)

    def _postfix(self) -> Syntax:
        return self._behind(self._primary())

    def _behind(self, tree: Syntax) -> Syntax:
        """Read `.field`, `[index]` and `::type` after a value."""
        while True:
            offset = self.next.offset
            if self.accept("."):
                if self.next.kind not in ("word", "quoted"):
                    raise self.unexpected(_FIELD)
                tree = Member(tree, self.take().text, offset)
            elif self.accept("["):
                tree = Apply("[]", (tree, self.expression()), offset)
                self.expect("]")
            elif self.accept("::"):
                tree = Convert(tree, self.type(), offset)
            else:
                return tree

    def _primary(self) -> Syntax:
        token = self.next
        match token.kind:
            case "number":
                self.take()
                return number_constant(token.text, token.offset)
            case "string":
                return Constant(self._text(), STRING, token.offset)
            case "binary":
                self.take()
                return binary_constant(token.text, token.offset)
            case "quoted":
                self.take()
                return Name(token.text, token.offset)
            case "word":
                return self._word()
            case _ if self.accept("("):
                self._refuse_query()
                tree = self.expression()
                self.expect(")")
                return tree
            case _ if self.at("*") and (self._position == 0 or self._tokens[self._position - 1].text != "*"):
                message = "* stands for several values; name one attribute"
                raise ExpressionError(message, token.offset)
            case _:
                raise self.unexpected(None)

    def _text(self) -> str:
        """Read a text; adjacent texts are concatenated."""
        parts = [self.take().text]
        while self.next.kind == "string":
            parts.append(self.take().text)
        return "".join(parts)

    def _refuse_query(self) -> None:
        if self.at("select", "with"):
            message = "a query within an expression reads more than one tuple; use a Sql operator"
            raise ExpressionError(message, self.next.offset)

    def _word(self) -> Syntax:
        token = self.take()
        word = token.text.lower()
        if self.at("(") and word not in RESERVED:
            self.take()
            self._refuse_query()
            return self._call(word, token.offset)
        if self.next.kind == "string" and word in ("date", "timestamp", "timestamp_ntz", "timestamp_ltz", "interval"):
            if word == "interval":
                return self._interval(token.offset)
            return typed_constant(word, self._text(), token.offset)
        if word == "interval" and (self.next.kind == "number" or self.at("-", "+")):
            return self._interval(token.offset)
        match word:
            case "true" | "false":
                return Constant(word == "true", BOOLEAN, token.offset)
            case "null":
                return Constant(None, VOID, token.offset)
            case "case":
                return self._case(token.offset)
            case "current_date" | "current_timestamp" | "localtimestamp":
                return Apply(word, (), token.offset)
            case _ if word in RESERVED:
                self._position -= 1
                raise self.unexpected(None)
            case _:
                return Name(token.text, token.offset)

    def _case(self, offset: int) -> Syntax:
        if self.next.kind == "end" or (self.next.kind == "mark" and not self.at("(", "-", "+", "~")):
            self._position -= 1
            raise self.unexpected(None)
        subject = None if self.at("when") else self.expression()
        branches: list[tuple[Syntax, Syntax]] = []
        while True:
            self.expect("when")
            condition = self.expression()
            if subject is not None:
                condition = Apply("=", (subject, condition), offset)
            self.expect("then")
            branches.append((condition, self.expression()))
            if not self.at("when"):
                break
        otherwise = self.expression() if self.accept("else") else None
        self.expect("end")
        return Choice(tuple(branches), otherwise, offset)

    def _call(self, word: str, offset: int) -> Syntax:
        """Read the arguments of a function; the special forms of standard SQL become plain arguments."""
        match word:
            case "cast" | "try_cast":
                argument = self.expression()
                if self.at(",", ")"):
                    message = f"{word.upper()} needs a type: {word.upper()}(value AS INT)"
                    raise ExpressionError(message, self.next.offset)
                self.expect("as")
                kind = self.type()
                self.expect(")")
                return Convert(argument, kind, offset, lenient=word == "try_cast")
            case "extract":
                return self._extract(offset)
            case "trim":
                return self._trim(offset)
            case "position" | "locate":
                return self._locate(word, offset)
            case "substring" | "substr" | "overlay":
                return self._with_words(
                    word, ("from", "for") if word != "overlay" else ("placing", "from", "for"), offset
                )
            case "timestampadd" | "timestampdiff" | "dateadd" | "datediff" | "date_add" | "date_diff":
                return self._with_unit(word, offset)
            case _ if self.at("distinct"):
                message = "DISTINCT reads more than one tuple; use an Aggregate"
                raise ExpressionError(message, self.next.offset)
            case _:
                self._refuse_star(word)
                return Apply(word, self._arguments(), offset)

    def _refuse_star(self, word: str) -> None:
        if self.at("*") and self.at(")", ahead=1):
            message = f"{word}(*) reads more than one tuple; use an Aggregate"
            raise ExpressionError(message, self.next.offset)

    def _arguments(self) -> tuple[Syntax, ...]:
        """Read arguments, perhaps none, and the closing bracket."""
        if self.accept(")"):
            return ()
        arguments = [self.expression()]
        while self.accept(","):
            arguments.append(self.expression())
        self.expect(")")
        return tuple(arguments)

    def _extract(self, offset: int) -> Syntax:
        field = self.take()
        if field.kind not in ("word", "string"):
            raise self.unexpected(_UNIT)
        self.expect("from")
        argument = self.expression()
        self.expect(")")
        return Apply("date_part", (Constant(field.text, STRING, field.offset), argument), offset)

    def _trim(self, offset: int) -> Syntax:
        side = self.take().text.lower() if self.at("both", "leading", "trailing") else "both"
        name = {"both": "trim", "leading": "ltrim", "trailing": "rtrim"}[side]
        if self.accept("from"):
            return Apply(name, self._arguments(), offset)
        arguments = [self.expression()]
        if self.accept("from", ","):
            arguments.append(self.expression())
        self.expect(")")
        return Apply(name, tuple(arguments), offset)

    def _locate(self, word: str, offset: int) -> Syntax:
        first = self._value(0)
        if self.accept("in"):
            arguments: tuple[Syntax, ...] = (first, self.expression())
            self.expect(")")
            return Apply(word, arguments, offset)
        if self.accept(","):
            return Apply(word, (first, *self._arguments()), offset)
        self.expect(")")
        return Apply(word, (first,), offset)

    def _with_words(self, word: str, separators: tuple[str, ...], offset: int) -> Syntax:
        arguments = [self.expression()]
        while self.accept(",", *separators):
            arguments.append(self.expression())
        self.expect(")")
        return Apply(word, tuple(arguments), offset)

    def _with_unit(self, word: str, offset: int) -> Syntax:
        if self.next.kind == "word" and self.next.text.lower() in UNITS and self.at(",", ahead=1):
            unit = self.take()
            self.take()
            arguments = self._arguments()
            if len(arguments) == 1 and not word.startswith("timestamp"):
                return Apply(word, (Name(unit.text, unit.offset), *arguments), offset)
            name = "timestampadd" if word.endswith("add") else "timestampdiff"
            return Apply(name, (Constant(unit.text.lower(), STRING, unit.offset), *arguments), offset)
        return Apply(word, self._arguments(), offset)

    def _interval(self, offset: int) -> Syntax:
        """Read `INTERVAL 3 DAYS 2 HOURS`, `INTERVAL '3' DAY`, `INTERVAL '3 02' DAY TO HOUR` or `INTERVAL '3 days'`."""
        parts: list[tuple[str, str]] = []
        while self.at_amount(first=not parts):
            sign = "-" if self.at("-") else ""
            if self.at("-", "+"):
                self.take()
            number = self._text() if self.next.kind == "string" else self.take().text
            if self.next.kind != "word":
                parts.append((sign + number, ""))
                break
            unit = self.take().text.lower()
            if self.accept("to"):
                unit += " to " + self.take().text.lower()
            parts.append((sign + number, unit))
        return interval_constant(parts, offset)
