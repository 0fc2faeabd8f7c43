"""Protobuf schemas: compiled from text to message types, and derived from attributes."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from streams_orchestration.operators.loading.libraries import pa
from streams_orchestration.operators.messages.registry import RegisteredSchema
from streams_orchestration.operators.tuples.arrow_types import type_name

_FILE = "schema.proto"
_COMPILE_SECONDS = 60


def message_types(registered: RegisteredSchema) -> dict[tuple[int, ...], Any]:
    """Return the classes of all message types of a schema, by their path.

    Raises:
        ValueError: the text is not a schema, or has no message type.
    """
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    try:
        content = _compiled(registered.text, tuple(registered.references.items()))
    except ValueError as error:
        message = f"schema {registered.number} {error}"
        raise ValueError(message) from None
    files: Any = descriptor_pb2.FileDescriptorSet.FromString(content)
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    kinds = pool.FindFileByName(_FILE).message_types_by_name.values()
    types = {path: message_factory.GetMessageClass(kind) for path, kind in _paths(kinds)}
    if not types:
        message = f"schema {registered.number} has no message type"
        raise ValueError(message)
    return types


def _paths(kinds: Any, before: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    for number, kind in enumerate(kinds):
        yield (*before, number), kind
        yield from _paths(kind.nested_types, (*before, number))


@functools.lru_cache(256)
def _compiled(text: str, references: tuple[tuple[str, str], ...]) -> bytes:
    """Compile a schema with all its imports to a serialised `FileDescriptorSet`.

    The compiler runs in a separate process, so that no schema text can crash this one.
    """
    with tempfile.TemporaryDirectory(prefix="schema-") as directory:
        place = Path(directory)
        for name, content in {**dict(references), _FILE: text}.items():
            path = PurePosixPath(name)
            if path.is_absolute() or ".." in path.parts:
                message = f"refers to {name}, which is not a name of a schema"
                raise ValueError(message)
            file = place / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content, encoding="utf-8")
        result = place / ".result"
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{place}", "--include_imports"]
        command += [f"--descriptor_set_out={result}", _FILE]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=_COMPILE_SECONDS)
        except subprocess.TimeoutExpired:
            message = f"could not be compiled in {_COMPILE_SECONDS} s"
            raise ValueError(message) from None
        if done.returncode:
            reason = " ".join(done.stderr.replace(f"{place}/", "").split())[:500]
            message = f"is not a schema of Protobuf: {reason}"
            raise ValueError(message)
        return result.read_bytes()


def derived(schema: pa.Schema, name: str, before: RegisteredSchema | None = None) -> str:
    """Return a Protobuf schema for these attributes, with all fields optional.

    Args:
        schema: the schema of the attributes.
        name: the name of the message type.
        before: the schema to replace. Its first message type keeps name and package, its fields keep their numbers,
            and removed fields are reserved.

    Raises:
        ValueError: Protobuf cannot represent an attribute, or `before` is not a schema with a message type.
    """
    kind = None if before is None else message_types(before)[(0,)].DESCRIPTOR
    lines = _message(schema, name if kind is None else kind.name, kind, "")
    uses_time = any("google.protobuf.Timestamp" in line for line in lines)
    package = kind.file.package if kind is not None else ""
    head = ['syntax = "proto3";', *([f"package {package};"] if package else [])]
    imports = ['import "google/protobuf/timestamp.proto";'] if uses_time else []
    return "\n".join([*head, *imports, *lines, ""])


def _message(fields: Any, name: str, before: Any, path: str) -> list[str]:
    """Return the lines of a message type, with its nested types inside.

    Args:
        fields: the fields of the message.
        name: the name of the type.
        before: the earlier definition of the type; None for a new type.
        path: the path of the attribute whose type this is, with a point at the end; empty for the whole message.
    """
    known = {} if before is None else before.fields_by_name
    names = [field.name for field in fields]
    _check_names(names, path)
    used = {field.message_type.name for field in known.values() if field.message_type is not None}
    gone = _reserved_numbers(before) | {field.number for each, field in known.items() if each not in names}
    next_number = max([*gone, *(field.number for field in known.values()), 0]) + 1
    lines = [f"message {name} {{"]
    if gone:
        lines.append(f"  reserved {', '.join(map(str, sorted(gone)))};")
    if former := sorted(({*known} | set(_proto(before).reserved_name)) - {*names}):
        lines.append(f"  reserved {', '.join(json.dumps(each) for each in former)};")
    for field in fields:
        number = known[field.name].number if field.name in known else next_number
        next_number += field.name not in known
        inner, text = _field(field.type, path + field.name, known.get(field.name), used)
        lines += [f"  {line}" for line in inner]
        lines.append(f"  {text} {field.name} = {number};")
    return [*lines, "}"]


def _check_names(names: Sequence[str], path: str) -> None:
    """Raise ValueError for a name that is not one of a field, or two that are the same in JSON, as a_b and aB are.

    A name begins with a letter, and has letters, digits and `_` only. `path` precedes the names in messages.
    """
    seen: dict[str, str] = {}
    for name in names:
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name):
            message = f"format protobuf: {path}{name} is not a name of Protobuf, which has letters, digits and _ only"
            raise ValueError(message)
        in_json = re.sub("_+(.?)", lambda match: match[1].upper(), name)
        if (other := seen.setdefault(in_json, name)) != name:
            message = (
                f"format protobuf: {path}{other} and {path}{name} are both {in_json} in JSON, which protobuf does not "
                "take; rename one"
            )
            raise ValueError(message)


def _reserved_numbers(before: Any) -> set[int]:
    return {number for each in _proto(before).reserved_range for number in range(each.start, each.end)}


def _proto(descriptor: Any) -> Any:
    """Return the definition of a message type; an empty one for None."""
    from google.protobuf import descriptor_pb2

    proto: Any = descriptor_pb2.DescriptorProto()
    if descriptor is not None:
        descriptor.CopyToProto(proto)
    return proto


def _field(kind: pa.DataType, name: str, before: Any, used: set[str]) -> tuple[list[str], str]:
    """Return the lines of the nested type that a field needs, and its label and type.

    Args:
        kind: the type of the attribute.
        name: the path of the attribute.
        before: the earlier definition of the field; None for a new field.
        used: the names of message types that are taken.
    """
    types = pa.types
    if types.is_list(kind):
        inner, text = _one(kind.value_type, name, before, used)
        return inner, f"repeated {text}"
    if types.is_map(kind):
        if not (types.is_string(kind.key_type) or types.is_integer(kind.key_type)):
            keys = type_name(kind.key_type)
            message = f"format protobuf: the keys of {name} are {keys}; texts and whole numbers can be keys"
            raise ValueError(message)
        values = None if before is None or before.message_type is None else before.message_type.fields_by_name
        inner, text = _one(kind.item_type, name, (values or {}).get("value"), used)
        return inner, f"map<{_one(kind.key_type, name, None, used)[1]}, {text}>"
    inner, text = _one(kind, name, before, used)
    return inner, f"optional {text}"


def _one(kind: pa.DataType, name: str, before: Any, used: set[str]) -> tuple[list[str], str]:
    types = pa.types
    if types.is_struct(kind):
        known = None if before is None else before.message_type
        own = "" if known is None else known.name
        if not own:
            plain = name.rpartition(".")[2]
            own = "".join(part.title() for part in plain.split("_")) + "Value"
            while own in used:
                own += "_"
            used.add(own)
        return _message([kind.field(i) for i in range(kind.num_fields)], own, known, f"{name}."), own
    if types.is_timestamp(kind) and kind.tz:
        return [], "google.protobuf.Timestamp"
    if types.is_integer(kind):
        sign = "u" if types.is_unsigned_integer(kind) else ""
        return [], f"{sign}int64" if kind.bit_width == 64 else f"{sign}int32"
    if types.is_floating(kind):
        return [], "double" if kind.bit_width == 64 else "float"
    simple: Mapping[Any, str] = {pa.bool_(): "bool", pa.string(): "string", pa.binary(): "bytes"}
    if kind in simple:
        return [], simple[kind]
    message = (
        f"format protobuf: {name} is {type_name(kind)}, which protobuf cannot hold; convert it to a text or number"
    )
    raise ValueError(message)
