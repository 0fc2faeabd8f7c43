"""Hints for syntax, functions and types of other languages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from streams_orchestration.model.names import close_name
from streams_orchestration.model.short_texts import first_names

MARKS: Mapping[str, str] = {
    "&&": "AND joins conditions",
    "**": "powers are written power(a, b)",
    "//": "whole quotients are written a DIV b",
    "=>": "write >=",
    "=<": "write <=",
    "=~": "write RLIKE",
    "~": "write RLIKE for a regular expression",
    ":=": "write =",
    "++": "write + 1",
    "?": "write IF(condition, value, otherwise), or CASE WHEN condition THEN value ELSE otherwise END",
    ";": "one expression is expected",
    "->": "functions of functions are not supported; use a Custom operator",
    "[": "an array is written array(1, 2)",
    "{": "a map is written map('key', 1), a struct named_struct('field', 1), a submission-time value ${name}",
    "$": "an attribute with such a character in its name is written in backticks, a submission-time value as ${name}",
    "@": "an attribute with such a character in its name is written in backticks",
    "#": "an attribute with such a character in its name is written in backticks; a comment begins with --",
    "\\": "a backslash has a meaning in texts only",
    **dict.fromkeys(
        "\u201c\u201d\u2018\u2019\u201e\u00b4\u00ab\u00bb", "texts are written in straight quotes, as in 'UA'"
    ),
    **dict.fromkeys("\u2264\u2265\u2260", "write <=, >= or <>"),
    **dict.fromkeys("\u2212\u2013\u00d7\u00f7", "write -, * or /"),
}
"""Signs of other languages, alone or in pairs -> the equivalent here."""

WORDS: Mapping[str, str] = {
    "mod": "remainders are written a % b or mod(a, b)",
    "contains": "it is called as contains(value, part)",
    "starts": "it is called as startswith(value, part)",
    "startswith": "it is called as startswith(value, part)",
    "ends": "it is called as endswith(value, part)",
    "endswith": "it is called as endswith(value, part)",
    "matches": "write RLIKE for a regular expression",
    "similar": "write RLIKE for a regular expression",
    "xor": "write <> between conditions",
    "equals": "write =",
    "as": "an expression has no name of its own",
    "from": "an expression has no FROM; use a Sql operator for a query",
    "where": "an expression has no WHERE; use a Sql operator for a query",
    "collate": "collations are not supported; compare lower(value)",
    "at": "write from_utc_timestamp(value, zone)",
}
"""Words that other languages use as operators -> the equivalent here."""

FUNCTIONS: Mapping[str, str] = {
    "strlen": "length",
    "toupper": "upper",
    "tolower": "lower",
    "charindex": "locate",
    "strpos": "instr",
    "indexof": "instr",
    "iif": "if",
    "isblank": "isnull",
    "to_str": "string",
    "str": "string",
    "to_string": "string",
    "tostring": "string",
    "varchar": "string",
    "to_int": "int",
    "integer": "int",
    "toint": "int",
    "long": "bigint",
    "bool": "boolean",
    "number": "double",
    "strftime": "date_format",
    "format_date": "date_format",
    "to_char": "date_format",
    "strptime": "to_timestamp",
    "parse_date": "to_date",
    "regexp_matches": "regexp_like",
    "regexp_contains": "regexp_like",
    "string_split": "split",
    "list_contains": "array_contains",
    "array_length": "size",
    "len_array": "size",
    "json_extract": "get_json_object",
    "json_value": "get_json_object",
    "epoch": "unix_seconds",
    "epoch_ms": "unix_millis",
    "to_epoch": "unix_seconds",
    "safe_cast": "try_cast",
    "safe_divide": "try_divide",
    "is_null": "isnull",
    "zeroifnull": "coalesce",
}
"""Functions of other systems -> the equivalent here."""
CHANNELS = frozenset(("getchannel", "getmaxchannels", "getlocalchannel", "getlocalmaxchannels"))

TYPES: Mapping[str, str] = {
    **dict.fromkeys(("varchar", "char", "text", "rstring", "ustring", "str", "utf8", "nvarchar", "varchar2"), "string"),
    **dict.fromkeys(("number", "money", "dec", "bignumeric"), "decimal"),
    **dict.fromkeys(("datetime", "timestamptz", "timestamp_tz"), "timestamp"),
    **dict.fromkeys(("int64", "uint32", "signed", "int8"), "bigint"),
    **dict.fromkeys(("int32", "int4"), "int"),
    **dict.fromkeys(("float64", "float8"), "double"),
    **dict.fromkeys(("float32", "float4"), "float"),
    **dict.fromkeys(("bytes", "blob", "bytea", "varbinary"), "binary"),
    "bool": "boolean",
}
"""Types of other systems -> the equivalent here."""
_KINDS = (
    *("boolean", "tinyint", "smallint", "int", "integer", "bigint", "float", "double", "decimal", "string", "binary"),
    *("date", "timestamp", "timestamp_ntz", "array", "map", "struct"),
)
_MOST = 8
"""The most names that a message lists."""


def function_hint(name: str, known: Iterable[str]) -> str:
    """Return a hint for an unknown function, as the end of the message."""
    if name in CHANNELS:
        return "; the channel is a number in ${getChannel()} and so on"
    if name == "iterationcount":
        return "; only a Beacon has it"
    near = FUNCTIONS.get(name) or close_name(name, known)
    return f"; the nearest is {near}" if near else "; docs/functions.md lists all"


def type_hint(word: str) -> str:
    """Return a hint for an unknown type, as the end of the message."""
    name = word.lower()
    near = TYPES.get(name) or close_name(name, _KINDS)
    return f"; the nearest is {near}" if near else f"; the types are {', '.join(_KINDS)}"


def attribute_hint(name: str, known: Collection[str]) -> str:
    """Return a hint for an unknown attribute, as the end of the message; empty if no attribute is known.

    It is the nearest name, or else a list of at most `_MOST` names.
    """
    near = close_name(name, known)
    if near:
        return f"; the nearest is {near}"
    if not known:
        return ""
    return f"; it has {first_names(known, _MOST)}. A text is written in quotes: '{name}'"
