"""Avro schemas that are derived from the attributes of a stream."""

from __future__ import annotations

import json
import re
from typing import Any

from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.messages.avro import Avro, AvroSchema
from streams_orchestration.operators.messages.registry import RegisteredSchema
from streams_orchestration.operators.tuples.arrow_types import type_name, without_unsigned


def derived(schema: pa.Schema, name: str, before: RegisteredSchema | None = None) -> str:
    """Return an Avro schema for the attributes; each attribute may be null.

    Args:
        schema: the schema of the attributes.
        name: the name of the record.
        before: the schema to replace. Its record name is kept, since readers match records by name.

    Raises:
        ValueError: Avro cannot represent an attribute, or `before` is not the schema of a record.
    """
    name = name if before is None else AvroSchema(before).parsed["name"]
    return json.dumps(_record(schema, name, "", set()), separators=(",", ":"))


def _record(fields: Any, name: str, path: str, used: set[str]) -> Avro:
    """Return a record schema with a name that no other record of the schema has.

    Args:
        fields: the fields of the record.
        name: the preferred name of the record.
        path: the path of the attribute whose type this is; empty for the whole message.
        used: the names of other records; the chosen name is added.
    """
    while name in used:
        name += "_"
    used.add(name)
    parts: list[Avro] = []
    for field in fields:
        place = f"{path}.{field.name}" if path else field.name
        if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", field.name):
            message = f"format avro: {place} is not a name of Avro, which has letters, digits and _ only"
            raise ValueError(message)
        kind = _derived(field.type, f"{name}_{field.name}", place, used)
        parts.append({"name": field.name, "type": ["null", kind], "default": None})
    return {"type": "record", "name": name, "fields": parts}


def _derived(kind: pa.DataType, name: str, path: str, used: set[str]) -> Avro:
    types, kind = pa.types, without_unsigned(kind)
    if types.is_struct(kind):
        return _record([kind.field(i) for i in range(kind.num_fields)], name, path, used)
    if types.is_list(kind):
        return {"type": "array", "items": ["null", _derived(kind.value_type, name, path, used)]}
    if types.is_map(kind) and types.is_string(kind.key_type):
        return {"type": "map", "values": ["null", _derived(kind.item_type, name, path, used)]}
    if types.is_decimal(kind):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if types.is_timestamp(kind):
        return {"type": "long", "logicalType": "timestamp-micros" if kind.tz else "local-timestamp-micros"}
    if types.is_date(kind):
        return {"type": "int", "logicalType": "date"}
    if types.is_integer(kind):
        return "long" if kind.bit_width == 64 else "int"
    if types.is_floating(kind):
        return "double" if kind.bit_width == 64 else "float"
    for check, simple in ((types.is_boolean, "boolean"), (types.is_string, "string"), (types.is_binary, "bytes")):
        if check(kind):
            return simple
    remedy = "; keys of its maps are texts" if types.is_map(kind) else ""
    message = f"format avro: {path} is {type_name(kind)}, which avro cannot hold{remedy}"
    raise ValueError(message)
