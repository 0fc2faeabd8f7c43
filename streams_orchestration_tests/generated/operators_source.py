"""The generator of `operators.py` from the parameters of the standard operators: `make docs`."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from streams_orchestration.operators.contract.operator import Operator
from streams_orchestration.operators.implementations.implementation import import_operator
from streams_orchestration.operators.standard import NAMED_FILES, STANDARD

_HEAD = '''"""The standard operators with their parameters, to be put into an application.

`make docs` writes this module from the models of the parameters; edit those.
"""

# ruff: noqa: E501, N802, PLR0913

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from streams_orchestration.builder.annotations import plain_keys
from streams_orchestration.builder.columns import Column
from streams_orchestration.builder.references import Reference
from streams_orchestration.builder.values import Use, named_use
'''
_EXPRESSION = re.compile(r"\b(?<!regular )(expressions?|condition)\b")
"""Matches descriptions of parameters that take expressions; these accept columns, too."""


def source() -> str:
    """Return the text of the module."""
    kinds = {kind: import_operator(name) for kind, name in sorted(STANDARD.items())}
    parts = [_function(kind, implementation) for kind, implementation in kinds.items()]
    return "\n\n".join([_HEAD, *parts])


def _function(kind: str, implementation: type[Operator]) -> str:
    fields = _fields(implementation)
    always = _fields(import_operator(NAMED_FILES)) if kind == "FileSource" else fields
    ordered = sorted(fields.items(), key=lambda item: not item[1].is_required())
    arguments = [_argument(name, info, required=info.is_required() and name in always) for name, info in ordered]
    head = f"def {kind}({', '.join(['*', *arguments]) if arguments else ''}) -> Use:"
    first = " ".join(inspect.cleandoc(implementation.__doc__ or f"{kind}.").partition("\n\n")[0].split())
    notes = [f"        {name}: {_note(info)}" for name, info in ordered]
    doc = [f'    """{first}', "", "    Args:", *notes, '    """'] if notes else [f'    """{first}"""']
    return "\n".join([head, *doc, f'    return named_use("{kind}", plain_keys(locals()))', ""])


def _fields(kind: type[Operator]) -> dict[str, FieldInfo]:
    """Map the arguments of the function of an operator to the fields of its parameters."""
    return {snake(info.alias or name): info for name, info in kind.Parameters.model_fields.items()}


def snake(name: str) -> str:
    """Return the name of a parameter in Python, from which `plain_keys` makes the name in a spec again.

    >>> snake("partitionByLHS"), snake("ignoreExtraCSVValues")
    ('partition_by_lhs', 'ignore_extra_csv_values')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def _argument(name: str, info: FieldInfo, *, required: bool) -> str:
    hints = _hints(info.annotation)
    if _EXPRESSION.search(info.description or "") and "str" in hints:
        hints.insert(hints.index("str") + 1, "Column")
    hint = " | ".join(dict.fromkeys(hints))
    if required:
        return f"{name}: {hint}"
    return f"{name}: {hint}{'' if 'None' in hint.split(' | ') else ' | None'} = None"


def _hints(annotation: Any) -> list[str]:
    """Return the alternatives of a parameter's type hint."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return _hints(arguments[0])
    if origin in (typing.Union, types.UnionType):
        hints = [hint for argument in arguments for hint in _hints(argument)]
        return [*(hint for hint in hints if hint != "None"), *(hint for hint in hints if hint == "None")]
    if origin is typing.Literal:
        return [f"Literal[{', '.join(map(_quoted, arguments))}]"]
    if annotation is type(None):
        return ["None"]
    if annotation is str:
        return ["str"]
    if annotation in (bool, int, float):
        return [annotation.__name__, "Reference"]
    kind = origin or annotation
    if isinstance(kind, type) and issubclass(kind, Mapping | dict | BaseModel):
        return ["Mapping[str, Any]"]
    if isinstance(kind, type) and issubclass(kind, Sequence | set | frozenset):
        return ["Sequence[Any]"]
    return ["Any"]


def _quoted(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _note(info: FieldInfo) -> str:
    """Return the description of a parameter with its default, unless that is None, False, blank or a collection."""
    text = f"{info.description.rstrip('.')}." if info.description else ""
    default = None if info.is_required() else info.get_default()
    if not isinstance(default, bool | int | float | str) or default is False or not str(default).strip():
        return text
    shown = f"{default:g}" if isinstance(default, float) else default
    return f"{text} Default: `{shown}`.".strip()
