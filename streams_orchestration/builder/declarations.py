"""Declarations of an application in Python: everything but its graphs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streams_orchestration.builder.annotations import plain_keys
from streams_orchestration.builder.nodes import Json
from streams_orchestration.builder.places import calling_place, located
from streams_orchestration.builder.references import Reference, TextReference
from streams_orchestration.builder.schemas import SchemaLike, ddl_of
from streams_orchestration.builder.values import Use, import_path, plain
from streams_orchestration.model import application as model
from streams_orchestration.model.standard import STANDARD
from streams_orchestration.model.values import SubmissionType


class Declarations:
    """Submission values, tuple types, operators, host pools, and annotations and configs of the main graph."""

    def __init__(self) -> None:
        self._submission: dict[str, Json] = {}
        self._schemas: dict[str, str] = {}
        self._operators: dict[str, Json] = {}
        self._pools: list[Json] = []
        self._annotations: Json = {}
        self._config: Json = {}

    def submission(self, name: str, of: type | SubmissionType, default: Any = None) -> Reference:
        """Declare a value that is given at submission.

        Return a reference to the value, for use in parameters and widths.

        Args:
            name: the name of the value.
            of: its type: `int`, `float`, `bool`, `str`, or a type name of a spec.
            default: the value if none is given; without a default, submission requires one.
        """
        names: dict[type, str] = {int: "int32", float: "float64", bool: "boolean", str: "rstring"}
        declared: Json = {"type": of if isinstance(of, str) else names.get(of, of.__name__)}
        self._submission[name] = located(declared | ({} if default is None else {"default": default}), calling_place())
        return (TextReference if declared["type"] == "rstring" else Reference)(f"${{{name}}}")

    def schema(self, name: str, schema: SchemaLike) -> str:
        """Declare a tuple type, and return its name, which can be used in place of the type.

        Raises:
            TypeError, ValueError: the schema is not a tuple type.
        """
        self._schemas[name] = ddl_of(schema)
        return name

    def declare(self, name: str, implementation: str | type | None = None, **model_: Any) -> str:
        """Declare an operator by the keys of a spec (class, ports, properties). Return its name, for `use`.

        Raises:
            ValueError: the class is local, so hosts cannot import it.
        """
        declared = plain_keys(model_)
        if implementation is not None:
            declared["implementation"] = (
                implementation if isinstance(implementation, str) else import_path(implementation)
            )
        self._operators[name] = located(plain(declared), calling_place())
        return name

    def host_pool(self, name: str, *, tags: Sequence[str] = (), size: int | None = None) -> str:
        """Declare a host pool and return its name; a pool without a size has as many hosts as are needed."""
        self._pools.append(
            located(
                {"name": name} | ({"tags": list(tags)} if tags else {}) | ({"size": size} if size is not None else {}),
                calling_place(),
            )
        )
        return name

    def annotate(self, **annotations: Any) -> None:
        """Set annotations of the main graph: `threading`."""
        self._annotations.update(plain_keys(annotations))

    def configure(self, **config: Any) -> None:
        """Set the configs of operators that have none of their own."""
        self._config.update(plain_keys(config))

    def _declared(self, operator: Use) -> str:
        """Return the operator's name in the spec; declare the operator first if its class describes its ports.

        If the name already belongs to another operator, a number is appended.
        """
        if operator.declaration is None:
            return operator.operator
        name, number = operator.operator, 1
        while name in STANDARD or self._operators.get(name, operator.declaration) != operator.declaration:
            number += 1
            name = f"{operator.operator}_{number}"
        self._operators.setdefault(name, located(dict(operator.declaration), calling_place()))
        return name

    def _ddl(self, schema: SchemaLike | None) -> str | None:
        """Return a schema as text for the spec. Declare a class under its name, which plans and pages then show.

        The result is None without a schema, and DDL if the name of the class belongs to another tuple type.
        """
        if schema is None or isinstance(schema, str):
            return schema
        ddl = ddl_of(schema)
        name = schema.__name__ if isinstance(schema, type) else ""
        if not name or self._schemas.get(name, ddl) != ddl:
            return ddl
        self._schemas[name] = ddl
        return name

    def _take_over(self, read: model.Application) -> Json:
        """Replace all declarations by the declarations of a spec. Return the spec as a mapping."""
        dump = read.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        self._submission, self._schemas = dump.get("submission", {}), dict(read.schemas)
        self._operators, self._pools = dump.get("operators", {}), list(dump.get("hostPools", []))
        self._annotations, self._config = dump.get("annotations", {}), dump.get("config", {})
        return dump
