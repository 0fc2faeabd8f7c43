"""The results of a simulation's statements, whose rows cost less than those of SQLAlchemy.

>>> result = Result(("name", "batch"), [("A", 7), ("B", 9)])
>>> [row.batch for row in result], result.scalars().all(), result.mappings().first()
([7, 9], ['A', 'B'], {'name': 'A', 'batch': 7})
>>> Result(("name",), []).one()
Traceback (most recent call last):
    ...
sqlalchemy.exc.NoResultFound: No row was found when one was required
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from operator import itemgetter
from typing import Any, Self

from sqlalchemy.exc import MultipleResultsFound, NoResultFound


@cache
def _maker(keys: tuple[str, ...]) -> Callable[[Sequence[Any]], Any]:
    """Return a function that makes of a tuple one whose values have names, at a tenth of the cost of a `namedtuple`."""
    named = type("Row", (tuple,), {"__slots__": (), **{key: property(itemgetter(at)) for at, key in enumerate(keys)}})
    return partial(tuple.__new__, named)


class Values:
    """Values of a result, in their order."""

    __slots__ = ("_values",)

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __iter__(self) -> Iterator[Any]:
        return iter(self._values)

    def all(self) -> list[Any]:
        """Return all values."""
        return self._values

    def first(self) -> Any:
        """Return the first value; None if there is none."""
        return self._values[0] if self._values else None

    def one(self) -> Any:
        """Return the only value.

        Raises:
            NoResultFound, MultipleResultsFound: there is none, or there are several.
        """
        if not self._values:
            msg = "No row was found when one was required"
            raise NoResultFound(msg)
        return self.one_or_none()

    def one_or_none(self) -> Any:
        """Return the only value; None if there is none.

        Raises:
            MultipleResultsFound: there are several.
        """
        if len(self._values) > 1:
            msg = "Multiple rows were found when one was required"
            raise MultipleResultsFound(msg)
        return self.first()


class Result(Values):
    """The rows of a statement.

    Args:
        keys: names of the columns.
        rows: the rows.
        rowcount: number of rows that the statement has changed.
    """

    __slots__ = ("_keys", "rowcount")

    def __init__(self, keys: tuple[str, ...], rows: Sequence[Sequence[Any]], rowcount: int = -1) -> None:
        super().__init__([*map(_maker(keys), rows)] if rows else [])
        self._keys, self.rowcount = keys, rowcount

    def keys(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return self._keys

    def tuples(self) -> Self:
        """Return the rows as they are."""
        return self

    def mappings(self) -> Values:
        """Return the rows as dictionaries."""
        return Values([dict(zip(self._keys, row, strict=True)) for row in self._values])

    def scalars(self) -> Values:
        """Return the values of the first column."""
        return Values([row[0] for row in self._values])

    def scalar(self) -> Any:
        """Return the first value of the first row; None if there is no row."""
        return self._values[0][0] if self._values else None

    def scalar_one(self) -> Any:
        """Return the only value of the only row.

        Raises:
            NoResultFound, MultipleResultsFound: there is no row, or there are several.
        """
        return self.one()[0]
