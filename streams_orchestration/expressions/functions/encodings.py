"""Functions of bytes: encodings and hashes."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import zlib

from streams_orchestration.expressions.errors import EvaluationError
from streams_orchestration.expressions.functions.texts import bytes_of
from streams_orchestration.expressions.table import FunctionGroup, TupleFunction

BYTES = FunctionGroup("Bytes and hashes")


def _hashed(name: str) -> TupleFunction:
    return lambda value: hashlib.new(name, value, usedforsecurity=False).hexdigest()


BYTES.function(
    "md5(value binary) -> string",
    summary="Return the MD5 hash, in hexadecimal digits.",
    examples=[("md5('Spark')", "8cde774d6f7333752ed72cacddb05126")],
)(_hashed("md5"))
BYTES.function(
    "sha1(value binary) -> string",
    aliases=["sha"],
    summary="Return the SHA-1 hash, in hexadecimal digits.",
    examples=[("sha1('Spark')", "85f5955f4b27a9a4c2aab6ffe5d7189fc298b92c")],
)(_hashed("sha1"))


@BYTES.function(
    "sha2(value binary, bits int) -> string",
    summary=(
        "Return the SHA-2 hash of 224, 256 (or 0), 384 or 512 bits, in hexadecimal digits; null for another length."
    ),
    examples=[("substring(sha2('Spark', 256), 1, 8)", "529bc3b0")],
)
def _sha2(value: bytes, bits: int) -> str | None:
    bits = bits or 256
    return hashlib.new(f"sha{bits}", value).hexdigest() if bits in (224, 256, 384, 512) else None


BYTES.function(
    "crc32(value binary) -> bigint", summary="Return the CRC-32 checksum.", examples=[("crc32('Spark')", "1557323817")]
)(zlib.crc32)
BYTES.function(
    "base64(value binary) -> string",
    summary="Encode bytes in base 64.",
    examples=[("base64('Spark SQL')", "U3BhcmsgU1FM")],
)(lambda value: base64.b64encode(value).decode())


@BYTES.function(
    "unbase64(value string) -> binary",
    summary="Decode bytes from base 64.",
    examples=[("string(unbase64('U3BhcmsgU1FM'))", "Spark SQL")],
    fails=True,
)
def _unbase64(value: str) -> bytes:
    body = re.sub(r"[^A-Za-z0-9+/]", "", value)
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4))
    except binascii.Error as error:
        message = f"{value!r} is not in base 64"
        raise EvaluationError(message) from error


def _hex(value: int | str | bytes) -> str:
    return f"{value % 2**64:X}" if isinstance(value, int) else bytes_of(value).hex().upper()


BYTES.function(
    "hex(value bigint) -> string",
    "hex(value string) -> string",
    "hex(value binary) -> string",
    summary="Convert a number, text or binary to hexadecimal digits.",
    examples=[("hex(17)", "11"), ("hex('Spark')", "537061726B")],
)(_hex)


@BYTES.function(
    "unhex(value string) -> binary",
    summary="Decode bytes from hexadecimal digits; null if the text has other characters.",
    examples=[("string(unhex('537061726B'))", "Spark")],
)
def _unhex(value: str) -> bytes | None:
    digits = value if len(value) % 2 == 0 else "0" + value
    return bytes.fromhex(digits) if re.fullmatch(r"[0-9a-fA-F]*", digits) else None


BYTES.function(
    "bin(value bigint) -> string", summary="Convert a whole number to binary digits.", examples=[("bin(13)", "1101")]
)(lambda value: f"{value % 2**64:b}")
_CHARSETS = {
    "US-ASCII": "ascii",
    "ISO-8859-1": "latin-1",
    "UTF-8": "utf-8",
    "UTF-16BE": "utf-16-be",
    "UTF-16LE": "utf-16-le",
    "UTF-16": "utf-16",
    "UTF-32": "utf-32-be",
}


def _charset(name: str) -> str:
    if name.upper() not in _CHARSETS:
        message = f"there is no character set {name}; the character sets are {', '.join(_CHARSETS)}"
        raise EvaluationError(message)
    return _CHARSETS[name.upper()]


@BYTES.function(
    "encode(value string, charset string) -> binary",
    summary="Encode a text in a character set.",
    examples=[("hex(encode('ä', 'UTF-8'))", "C3A4")],
    fails=True,
)
def _encode(value: str, charset: str) -> bytes:
    name = _charset(charset)
    try:
        return (b"\xfe\xff" + value.encode("utf-16-be")) if name == "utf-16" else value.encode(name)
    except UnicodeEncodeError as error:
        message = f"{value!r} has a character that {charset} lacks"
        raise EvaluationError(message) from error


@BYTES.function(
    "decode(value binary, charset string) -> string",
    summary="Decode bytes in a character set.",
    examples=[("decode(unhex('C3A4'), 'UTF-8')", "ä")],
    fails=True,
)
def _decode(value: bytes, charset: str) -> str:
    try:
        return value.decode(_charset(charset))
    except UnicodeDecodeError as error:
        message = f"{value.hex()} is not text in {charset}"
        raise EvaluationError(message) from error
