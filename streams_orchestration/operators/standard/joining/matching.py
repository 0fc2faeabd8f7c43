"""Matching of tuples of several ports: for each key, the n-th tuples of all ports belong together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import Field

from streams_orchestration.operators.contract.operator import Operator, Parameters
from streams_orchestration.operators.errors.errors import check_attributes
from streams_orchestration.operators.expressions.spl.text import ExpressionText, SplText
from streams_orchestration.operators.inputs.key_columns import KeyColumns, has_expressions
from streams_orchestration.operators.keys.comparison import distinct, key_batch, key_schema
from streams_orchestration.operators.loading.libraries import np, pa
from streams_orchestration.operators.states.keyed_state import KeyedState
from streams_orchestration.operators.states.state import State
from streams_orchestration.operators.states.tuple_log import TupleLog
from streams_orchestration.operators.tuples.arrow_types import type_name
from streams_orchestration.operators.tuples.batch import TupleBatch

_RANK = "@rank"
"""The name of the column with a waiting tuple's rank: the number of earlier tuples with its key on its port."""


class MatchingParameters(Parameters):
    """The parameters of operators that match the tuples of their ports."""

    partition_by: list[ExpressionText] | list[list[ExpressionText]] = Field(
        default_factory=list[str],
        alias="partitionBy",
        description="Attributes whose values match tuples: one list for all ports, or a list for each port.",
    )

    def keyed(self, columns: KeyColumns) -> Self:
        """Add columns for the key expressions of all ports, and return the parameters with names in their place.

        Raises FaultyExpressionError if an expression is faulty, and errors are not being gathered.
        """
        nested = [names for names in self.partition_by if not isinstance(names, str)]
        if not has_expressions(*nested):
            return self
        names = [columns.names(port, "partitionBy", keys) for port, keys in enumerate(nested)]
        return self.model_copy(update={"partition_by": names})

    def keys_of(self, schemas: Sequence[pa.Schema]) -> list[list[str]]:
        """Return the key attributes of each port.

        Raises:
            UnknownAttributeError: a port does not have one of its attributes.
            ValueError: the ports have different numbers or types of key attributes.
        """
        nested = [names for names in self.partition_by if not isinstance(names, str)]
        plain = [name for name in self.partition_by if isinstance(name, str)]
        keys = nested or [plain] * len(schemas)
        if len(keys) != len(schemas) or len({len(names) for names in keys}) > 1:
            message = f"partitionBy: each of the {len(schemas)} input ports needs the same number of attributes"
            raise ValueError(message)
        for port, (names, schema) in enumerate(zip(keys, schemas, strict=True)):
            for name, first in zip(names, keys[0], strict=True):
                check_attributes("partitionBy", [name], schema.names, f"input port {port}")
                kind, wanted = schema.field(name).type, schemas[0].field(first).type
                if kind != wanted:
                    message = (
                        f"partitionBy: {name} of input port {port} is {type_name(kind)}, "
                        f"but {first} of input port 0 is {type_name(wanted)}"
                    )
                    raise ValueError(message)
        return keys

    @property
    def common(self) -> list[str]:
        """The attributes that every port must have."""
        return [name for name in self.partition_by if isinstance(name, str) and not isinstance(name, SplText)]


class MatchingOperator(Operator):
    """Base class of operators that match the tuples of their ports; unmatched tuples are dropped at the end."""

    stateful = True
    indivisible = "is tuples of one channel that wait for tuples of other ports"

    def setup(self) -> None:
        """Add the columns of keys to the context's inputs, compile the outputs, and begin without waiting tuples."""
        self.columns = KeyColumns(self.context)
        self.parameters = self.parameters.keyed(self.columns)
        self.context.inputs = self.columns.inputs
        self.compile_outputs()
        self.matching = Matching(self.context.inputs, self.parameters.keys_of(self.context.inputs))

    def process(self, port: int, batch: TupleBatch) -> None:
        """Submit the matches that the tuples complete, and keep the other tuples unless their key equals no key.

        Raises DataError if a key has no value.
        """
        tuples = self.columns.extended(port, batch).arrow
        unequal = self.columns.unequal(port, tuples)
        matched = self.matching.arrive(port, tuples if unequal is None else tuples.filter(pa.array(~unequal)))
        if matched[0].num_rows:
            self.submit_matched(port, matched)

    def compile_outputs(self) -> None:
        """Compile the output expressions for matched tuples."""
        raise NotImplementedError

    def submit_matched(self, port: int, matched: Sequence[pa.RecordBatch]) -> None:
        """Submit matched tuples.

        Args:
            port: the input port whose tuples complete the matches.
            matched: a batch for each port, in which tuples at equal positions match each other.
        """
        raise NotImplementedError

    def checkpoint(self) -> State:
        """Return the waiting tuples."""
        return self.matching.dump()

    def restore(self, state: State) -> None:
        """Restore the waiting tuples."""
        self.matching.load(state)


class Matching:
    """The tuples that wait for partners from other ports.

    Args:
        schemas: the schemas of the input ports.
        keys: the attributes of each port whose values match tuples; without any, all tuples match by order.
    """

    def __init__(self, schemas: Sequence[pa.Schema], keys: Sequence[Sequence[str]]) -> None:
        self._keys = keys
        self._schemas = schemas
        types = [schemas[0].field(name).type for name in keys[0]]
        names = [(f"port {port}", pa.int64()) for port in range(len(schemas))]
        self._counts = KeyedState(key_schema(types), pa.schema(names))
        """Map each key with waiting tuples to the number of tuples that arrived on each port.

        A key is removed when none of its tuples waits.
        """
        self._waiting = [TupleLog(pa.schema([*schema, pa.field(_RANK, pa.int64())])) for schema in schemas]

    def arrive(self, port: int, tuples: pa.RecordBatch) -> list[pa.RecordBatch]:
        """Add tuples of a port, and return the matches that they complete.

        Returns:
            The matched tuples of each port, in order of completion. Tuples at equal positions match each other.
        """
        columns = [tuples.column(name) for name in self._keys[port]]
        heads, codes = distinct(columns, tuples.num_rows)
        rows = self._counts.rows_of(key_batch(columns, heads))
        came = [self._counts.column(f"port {each}")[rows] for each in range(len(self._schemas))]
        order = np.argsort(codes, kind="stable")
        begins = np.searchsorted(codes[order], np.arange(len(heads)))
        ranks = np.empty(tuples.num_rows, np.int64)
        ranks[order] = np.arange(tuples.num_rows) - begins[codes[order]]
        ranks += came[port][codes]
        others = np.min([each for number, each in enumerate(came) if number != port], axis=0)
        complete = ranks < others[codes]
        done, done_ranks = tuples.filter(pa.array(complete)), ranks[complete]
        result = [
            done if number == port else self._take(number, [done.column(n) for n in self._keys[port]], done_ranks)
            for number in range(len(self._schemas))
        ]
        left = tuples.filter(pa.array(~complete))
        if left.num_rows:
            rest = pa.array(ranks[~complete])
            self._waiting[port].append(left.append_column(self._waiting[port].schema.field(_RANK), rest))
        self._counts.column(f"port {port}")[rows] += np.bincount(codes, minlength=len(rows))
        counts = np.array([self._counts.column(f"port {each}")[rows] for each in range(len(self._schemas))])
        self._counts.delete_rows(rows[(counts == counts[0]).all(axis=0)])
        return result

    def _take(self, port: int, keys: Sequence[pa.Array], ranks: np.ndarray) -> pa.RecordBatch:
        """Remove the waiting tuples of a port with these keys and ranks, and return them in this order."""
        log = self._waiting[port]
        places = log.places()
        waiting = log.take(places)
        if not len(ranks):
            return waiting.slice(0, 0).select(self._schemas[port].names)
        theirs = [waiting.column(name) for name in self._keys[port]]
        together = [pa.concat_arrays(pair) for pair in zip(theirs, keys, strict=True)]
        together.append(pa.concat_arrays([waiting.column(_RANK), pa.array(ranks)]))
        codes = distinct(together, len(places) + len(ranks))[1]
        order = np.argsort(codes[: len(places)], kind="stable")
        positions = order[np.searchsorted(codes[: len(places)], codes[len(places) :], sorter=order)]
        log.remove(places[positions])
        return waiting.take(pa.array(positions)).select(self._schemas[port].names)

    def dump(self) -> State:
        """Return the waiting tuples, for a checkpoint."""
        return {"counts": self._counts} | {f"port {port}": log for port, log in enumerate(self._waiting)}

    def load(self, state: State) -> None:
        """Restore a state that `dump` returned."""
        self._counts = state["counts"]
        self._waiting = [state[f"port {port}"] for port in range(len(self._schemas))]
