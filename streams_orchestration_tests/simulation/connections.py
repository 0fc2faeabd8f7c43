"""Connections to the catalog of a simulation, which run SQLAlchemy's compiled statements with little around them.

Statements are compiled once for all runs of a process. A statement costs a quarter of what it costs by SQLAlchemy's own
connections, which would take most of a simulation's time.
"""

from __future__ import annotations

import sqlite3
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

from sqlalchemy import JSON, Executable
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.exc import DBAPIError, ResourceClosedError
from sqlalchemy.util import LRUCache

from streams_orchestration_tests.simulation.rows import Result

Process = Callable[[Any], Any]
UNSENT = "a statement that was not sent"
FORGOTTEN = 4_000
"""Statements that were compiled, after which those that are gone are forgotten."""


class Expanded(NamedTuple):
    """A compiled statement with lists of a certain length as parameters."""

    text: str
    names: tuple[str, ...]
    """Parameters, in their order."""
    processors: Mapping[str, Process]
    members: Mapping[str, Sequence[str]]
    """List -> the parameters for its values."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A compiled statement."""

    compiled: Any
    names: tuple[str, ...]
    """Parameters, in their order."""
    processors: Mapping[str, Process]
    """Parameter -> its conversion for the driver."""
    conversions: tuple[tuple[int, Process], ...]
    """The conversions, each with the place of its parameter."""
    text: str
    """The statement; empty if it depends on the values of its parameters."""
    keys: tuple[str, ...] | None
    """Columns of the result; None if only the driver knows them."""
    columns: tuple[tuple[int, Process], ...]
    """Columns of the result that are converted."""
    table: str
    """The table that is written; empty for a statement that reads."""
    lists: tuple[str, ...]
    """Parameters that are lists of values; none if the text also depends on values."""
    texts: dict[tuple[int, ...], Expanded]
    """The statement for some lengths of its lists."""


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement with its own values of parameters."""

    element: weakref.ref[Any]
    plan: Plan
    values: Mapping[str, Any]


class Statements:
    """Compiles statements for SQLite, each once.

    Args:
        load: decodes JSON.
    """

    def __init__(self, load: Callable[[str], Any]) -> None:
        self._load = load
        self.dialect: Any = SQLiteDialect_pysqlite(json_deserializer=load, dbapi=sqlite3)
        self.dialect.server_version_info = sqlite3.sqlite_version_info
        self._compiled: LRUCache[Any, Any] = LRUCache(2_000)
        self._plans: dict[int, Plan] = {}
        self._known: dict[tuple[int, tuple[str, ...]], Statement] = {}

    def of(self, element: Any, keys: tuple[str, ...]) -> Statement:
        """Return a statement, compiled for some parameters."""
        known = self._known.get((id(element), keys))
        if known is not None and known.element() is element:
            return known
        compiled, extracted, collected, _ = element._compile_w_cache(
            self.dialect, compiled_cache=self._compiled, column_keys=sorted(keys), for_executemany=False,
            schema_translate_map=None,
        )  # fmt: skip
        plan = self._plans.get(id(compiled))
        if plan is None:
            plan = self._plans[id(compiled)] = self._plan(compiled)
        values = compiled.construct_params(
            None, extracted_parameters=extracted, escape_names=False, _collected_params=collected, _check=False
        )
        values |= {column.key: column.default.arg for column in compiled.insert_prefetch}
        if len(self._known) > FORGOTTEN:
            self._known = {key: each for key, each in self._known.items() if each.element() is not None}
        statement = self._known[id(element), keys] = Statement(weakref.ref(element), plan, values)
        return statement

    def _plan(self, compiled: Any) -> Plan:
        assert not compiled.update_prefetch, "no column has a value that each update sets"
        columns = compiled._result_columns
        found = ((at, self._processor(each.type)) for at, each in enumerate(columns))
        lists = [compiled.bind_names[each] for each in compiled.post_compile_params]
        if compiled.literal_execute_params or any(each.type._is_tuple_type for each in compiled.post_compile_params):
            lists = []
        names, processors = tuple(compiled.positiontup or ()), dict(compiled._bind_processors)
        depends = compiled.literal_execute_params or compiled.post_compile_params
        return Plan(
            compiled, names, processors,
            tuple((at, processors[name]) for at, name in enumerate(names) if name in processors),
            "" if depends else compiled.string, tuple(each.keyname for each in columns) if columns else None,
            tuple((at, process) for at, process in found if process is not None),
            compiled.statement.table.name if compiled.isinsert or compiled.isupdate or compiled.isdelete else "",
            tuple(lists), {},
        )  # fmt: skip

    def _processor(self, kind: Any) -> Process | None:
        """Return the conversion of a column of the result; JSON is decoded without the four functions around it."""
        return self._decoded if type(kind) is JSON else kind._cached_result_processor(self.dialect, None)

    def _decoded(self, value: Any) -> Any:
        return self._load(value) if type(value) is str else value


class Transactions(Protocol):
    """The database, as its connections see it."""

    statements: Statements

    def take(self) -> sqlite3.Connection:
        """Return an idle connection of the driver."""
        ...

    def give_back(self, raw: sqlite3.Connection) -> None:
        """Keep an idle connection of the driver."""
        ...

    def begin(self, raw: sqlite3.Connection, mode: str) -> None:
        """Begin a transaction."""
        ...

    def execute(self, raw: sqlite3.Connection) -> None:
        """Called before each statement."""
        ...

    def wrote(self, raw: sqlite3.Connection, table: str) -> None:
        """Called after each statement that writes."""
        ...

    def commit(self, raw: sqlite3.Connection) -> None:
        """Commit the transaction."""
        ...

    def roll_back(self, raw: sqlite3.Connection) -> None:
        """Roll the transaction back."""
        ...


class LightConnection:
    """Stands for SQLAlchemy's `Connection`, and for its one transaction."""

    def __init__(self, database: Transactions, mode: str) -> None:
        self._database, self._mode = database, mode
        self._raw: sqlite3.Connection | None = database.take()
        self._open = False
        self.dialect = database.statements.dialect

    def begin(self) -> Self:
        """Begin a transaction."""
        assert self._raw is not None
        try:
            self._database.begin(self._raw, self._mode)
        except sqlite3.Error as error:
            msg = "BEGIN"
            raise self._error(msg, error) from error
        self._open = True
        return self

    def commit(self) -> None:
        """Commit the transaction."""
        assert self._raw is not None
        try:
            self._database.commit(self._raw)
        except sqlite3.Error as error:
            msg = "COMMIT"
            raise self._error(msg, error) from error
        self._open = False

    def rollback(self) -> None:
        """Roll the transaction back."""
        if self._open and self._raw is not None:
            self._open = False
            self._database.roll_back(self._raw)

    def close(self) -> None:
        """Roll back what was not committed, and give the connection back."""
        self.rollback()
        if self._raw is not None:
            self._database.give_back(self._raw)
            self._raw = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def execute(
        self, element: Executable, parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None = None
    ) -> Result:
        """Run a statement."""
        if self._raw is None:
            msg = "This Connection is closed"
            raise ResourceClosedError(msg)
        database, raw = self._database, self._raw
        try:
            database.execute(raw)
        except sqlite3.Error as error:
            raise self._error(UNSENT, error) from error
        several = [parameters] if isinstance(parameters, (dict, Mapping)) else list(parameters or ({},))
        statement = database.statements.of(element, tuple(several[0]))
        plan = statement.plan
        sql = plan.compiled.string
        try:
            cursor = raw.cursor()
            if len(several) == 1:
                sql, values = _bound(statement, several[0])
                cursor.execute(sql, values)
            else:
                cursor.executemany(sql, [_bound(statement, each)[1] for each in several])
            rows = cursor.fetchall()
            if plan.table:
                database.wrote(raw, plan.table)
        except sqlite3.Error as error:
            raise self._error(sql, error) from error
        keys = plan.keys
        if keys is None:
            keys = tuple(each[0] for each in cursor.description or ())
        elif plan.columns and rows:
            rows = [_converted(row, plan.columns) for row in rows]
        return Result(keys, rows, cursor.rowcount)

    def scalars(self, element: Executable, parameters: Any = None) -> Any:
        """Run a statement; return its first column."""
        return self.execute(element, parameters).scalars()

    def scalar(self, element: Executable, parameters: Any = None) -> Any:
        """Run a statement; return the first value of its first row."""
        return self.execute(element, parameters).scalar()

    def _error(self, sql: str, error: sqlite3.Error) -> Exception:
        dialect = self._database.statements.dialect
        return DBAPIError.instance(sql, {}, error, sqlite3.Error, hide_parameters=True, dialect=dialect)


def _bound(statement: Statement, given: Mapping[str, Any]) -> tuple[str, list[Any]]:
    """Return the text and the parameters for the driver."""
    plan, own = statement.plan, statement.values
    if plan.text:
        row = [given[name] if name in given else own[name] for name in plan.names]
        for at, process in plan.conversions:
            row[at] = process(row[at])
        return plan.text, row
    compiled, processors = plan.compiled, plan.processors
    values = {**own, **given}
    lengths = tuple(len(values[name]) for name in plan.lists)
    known = plan.texts.get(lengths)
    if known is None:
        expanded = compiled._process_parameters_for_postcompile(dict(values))
        known = Expanded(
            *(expanded.statement, tuple(expanded.positiontup or ()), {**processors, **expanded.processors}),
            expanded.parameter_expansion,
        )
        if not plan.lists:
            values.update(expanded.additional_parameters)
        else:
            plan.texts[lengths] = known
    for name in plan.lists:
        values.update(zip(known.members[name], values[name], strict=True))
    return known.text, [(known.processors.get(name, _same))(values[name]) for name in known.names]


def _same(value: Any) -> Any:
    return value


def _converted(row: Sequence[Any], columns: tuple[tuple[int, Process], ...]) -> tuple[Any, ...]:
    values = list(row)
    for at, process in columns:
        values[at] = process(values[at])
    return tuple(values)
