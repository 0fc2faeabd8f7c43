"""The functions of expressions over columns, and the output functions of `Aggregate`.

`make docs` writes this module from the tables of functions; edit those.
"""

# ruff: noqa: E501

from __future__ import annotations

from streams_orchestration.builder.columns import MISSING, Column, Summary, Value, call


def div(*arguments: Value) -> Column:
    """Return the quotient without its fraction (rounded towards zero).

    `-7 DIV 2` is `-3`.
    """
    return call("div", *arguments)


def mod(*arguments: Value) -> Column:
    """Return the remainder, which has the sign of the dividend.

    `mod(7, 3)` is `1`.
    """
    return call("mod", *arguments)


def pmod(*arguments: Value) -> Column:
    """Return the remainder; it is not negative for a positive divisor.

    `pmod(-7, 3)` is `2`.
    """
    return call("pmod", *arguments)


def try_add(*arguments: Value) -> Column:
    """Return the same as `+`, or null if `+` fails.

    `try_add(2147483647, 2147483647)` is `NULL`.
    """
    return call("try_add", *arguments)


def try_subtract(*arguments: Value) -> Column:
    """Return the same as `-`, or null if `-` fails.

    `try_subtract(2147483647, 2147483647)` is `0`.
    """
    return call("try_subtract", *arguments)


def try_multiply(*arguments: Value) -> Column:
    """Return the same as `*`, or null if `*` fails.

    `try_multiply(2147483647, 2147483647)` is `NULL`.
    """
    return call("try_multiply", *arguments)


def try_divide(*arguments: Value) -> Column:
    """Return the same as `/`, or null for a division by zero.

    `try_divide(1, 0)` is `NULL`.
    """
    return call("try_divide", *arguments)


def try_mod(*arguments: Value) -> Column:
    """Return the same as `%`, or null for a division by zero.

    `try_mod(1, 0)` is `NULL`.
    """
    return call("try_mod", *arguments)


def negative(*arguments: Value) -> Column:
    """Return the number with the opposite sign.

    `negative(1.5)` is `-1.5`.
    """
    return call("negative", *arguments)


def positive(*arguments: Value) -> Column:
    """Return the number itself.

    `positive(1.5)` is `1.5`.
    """
    return call("positive", *arguments)


def abs(*arguments: Value) -> Column:
    """Return the absolute value.

    `abs(-1.5)` is `1.5`.
    """
    return call("abs", *arguments)


def isnull(value: Value, /) -> Column:
    """Return true if the value is null, as `IS NULL`.

    `isnull(value any) -> boolean`
    `isnull(NULL)` is `true`.
    """
    return call("isnull", value)


def isnotnull(value: Value, /) -> Column:
    """Return true if the value is not null, as `IS NOT NULL`.

    `isnotnull(value any) -> boolean`
    `isnotnull(1)` is `true`.
    """
    return call("isnotnull", value)


def isnan(value: Value, /) -> Column:
    """Return true if the value is NaN; false for null.

    `isnan(value double) -> boolean`
    `isnan(double('NaN'))` is `true`.
    """
    return call("isnan", value)


def greatest(*arguments: Value) -> Column:
    """Return the largest value that is not null.

    `greatest(1, NULL, 2.5)` is `2.5`.
    """
    return call("greatest", *arguments)


def least(*arguments: Value) -> Column:
    """Return the smallest value that is not null.

    `least(1, NULL, 2.5)` is `1.0`.
    """
    return call("least", *arguments)


def round(*arguments: Value) -> Column:
    """Round to a constant number of digits after the decimal point; halves are rounded away from zero.

    `round(2.5)` is `3`.
    """
    return call("round", *arguments)


def bround(*arguments: Value) -> Column:
    """Round to a constant number of digits after the decimal point; halves are rounded to the even neighbour.

    `bround(2.5)` is `2`.
    """
    return call("bround", *arguments)


def ceil(*arguments: Value) -> Column:
    """Return the smallest whole number that is not below the value.

    `ceil(2.5)` is `3`.
    """
    return call("ceil", *arguments)


def ceiling(*arguments: Value) -> Column:
    """Return the smallest whole number that is not below the value.

    `ceiling(2.5)` is `3`.
    """
    return call("ceiling", *arguments)


def floor(*arguments: Value) -> Column:
    """Return the largest whole number that is not above the value.

    `floor(2.5)` is `2`.
    """
    return call("floor", *arguments)


def sqrt(value: Value, /) -> Column:
    """Return the square root.

    `sqrt(value double) -> double`
    `sqrt(4)` is `2.0`.
    """
    return call("sqrt", value)


def cbrt(value: Value, /) -> Column:
    """Return the cube root.

    `cbrt(value double) -> double`
    `cbrt(27)` is `3.0`.
    """
    return call("cbrt", value)


def exp(value: Value, /) -> Column:
    """Return e to the power of the number.

    `exp(value double) -> double`
    `exp(0)` is `1.0`.
    """
    return call("exp", value)


def expm1(value: Value, /) -> Column:
    """Return e to the power of the number, minus one.

    `expm1(value double) -> double`
    `expm1(0)` is `0.0`.
    """
    return call("expm1", value)


def sin(value: Value, /) -> Column:
    """Return the sine of an angle in radians.

    `sin(value double) -> double`
    `sin(0)` is `0.0`.
    """
    return call("sin", value)


def cos(value: Value, /) -> Column:
    """Return the cosine of an angle in radians.

    `cos(value double) -> double`
    `cos(0)` is `1.0`.
    """
    return call("cos", value)


def tan(value: Value, /) -> Column:
    """Return the tangent of an angle in radians.

    `tan(value double) -> double`
    `tan(0)` is `0.0`.
    """
    return call("tan", value)


def asin(value: Value, /) -> Column:
    """Return the angle in radians that has this sine.

    `asin(value double) -> double`
    `asin(0)` is `0.0`.
    """
    return call("asin", value)


def acos(value: Value, /) -> Column:
    """Return the angle in radians that has this cosine.

    `acos(value double) -> double`
    `acos(1)` is `0.0`.
    """
    return call("acos", value)


def atan(value: Value, /) -> Column:
    """Return the angle in radians that has this tangent.

    `atan(value double) -> double`
    `atan(0)` is `0.0`.
    """
    return call("atan", value)


def sinh(value: Value, /) -> Column:
    """Return the hyperbolic sine.

    `sinh(value double) -> double`
    `sinh(0)` is `0.0`.
    """
    return call("sinh", value)


def cosh(value: Value, /) -> Column:
    """Return the hyperbolic cosine.

    `cosh(value double) -> double`
    `cosh(0)` is `1.0`.
    """
    return call("cosh", value)


def tanh(value: Value, /) -> Column:
    """Return the hyperbolic tangent.

    `tanh(value double) -> double`
    `tanh(0)` is `0.0`.
    """
    return call("tanh", value)


def degrees(value: Value, /) -> Column:
    """Convert radians to degrees.

    `degrees(value double) -> double`
    `degrees(0)` is `0.0`.
    """
    return call("degrees", value)


def radians(value: Value, /) -> Column:
    """Convert degrees to radians.

    `radians(value double) -> double`
    `radians(0)` is `0.0`.
    """
    return call("radians", value)


def rint(value: Value, /) -> Column:
    """Return the nearest whole number as a double; halves are rounded to the even neighbour.

    `rint(value double) -> double`
    `rint(2.5)` is `2.0`.
    """
    return call("rint", value)


def signum(value: Value, /) -> Column:
    """Return the sign as -1, 0 or 1.

    `signum(value double) -> double`
    `signum(-5)` is `-1.0`.
    """
    return call("signum", value)


def sign(value: Value, /) -> Column:
    """Return the sign as -1, 0 or 1.

    `sign(value double) -> double`
    `sign(-5)` is `-1.0`.
    """
    return call("sign", value)


def ln(value: Value, /) -> Column:
    """Return the logarithm; null for numbers without one.

    `ln(value double) -> double`
    `ln(1)` is `0.0`.
    """
    return call("ln", value)


def log10(value: Value, /) -> Column:
    """Return the logarithm; null for numbers without one.

    `log10(value double) -> double`
    `log10(100)` is `2.0`.
    """
    return call("log10", value)


def log2(value: Value, /) -> Column:
    """Return the logarithm; null for numbers without one.

    `log2(value double) -> double`
    `log2(8)` is `3.0`.
    """
    return call("log2", value)


def log1p(value: Value, /) -> Column:
    """Return the logarithm; null for numbers without one.

    `log1p(value double) -> double`
    `log1p(0)` is `0.0`.
    """
    return call("log1p", value)


def log(*arguments: Value) -> Column:
    """Return the natural logarithm, or the logarithm to a base; null outside of its domain.

    `log(value double) -> double`
    `log(base double, value double) -> double`
    `log(2, 8)` is `3.0`.
    """
    return call("log", *arguments)


def power(base: Value, exponent: Value, /) -> Column:
    """Return the first number to the power of the second.

    `power(base double, exponent double) -> double`
    `power(2, 3)` is `8.0`.
    """
    return call("power", base, exponent)


def pow(base: Value, exponent: Value, /) -> Column:
    """Return the first number to the power of the second.

    `pow(base double, exponent double) -> double`
    `pow(2, 3)` is `8.0`.
    """
    return call("pow", base, exponent)


def atan2(y: Value, x: Value, /) -> Column:
    """Return the angle in radians between the x axis and the point (x, y).

    `atan2(y double, x double) -> double`
    `atan2(0, 1)` is `0.0`.
    """
    return call("atan2", y, x)


def hypot(x: Value, y: Value, /) -> Column:
    """Return the distance of the point (x, y) from the origin.

    `hypot(x double, y double) -> double`
    `hypot(3, 4)` is `5.0`.
    """
    return call("hypot", x, y)


def pi() -> Column:
    """Return the number pi.

    `pi() -> double`
    `pi()` is `3.141592653589793`.
    """
    return call("pi")


def e() -> Column:
    """Return Euler's number.

    `e() -> double`
    `e()` is `2.718281828459045`.
    """
    return call("e")


def factorial(value: Value, /) -> Column:
    """Return the factorial of a number from 0 to 20; null for any other number.

    `factorial(value int) -> bigint`
    `factorial(5)` is `120`.
    """
    return call("factorial", value)


def width_bucket(value: Value, low: Value, high: Value, buckets: Value, /) -> Column:
    """Return the number of the equal-width bucket that holds the value, from 1; 0 below all buckets, their number plus one above.

    `width_bucket(value double, low double, high double, buckets bigint) -> bigint`
    `width_bucket(5, 0, 10, 5)` is `3`.
    """
    return call("width_bucket", value, low, high, buckets)


def conv(number: Value, from_: Value, to: Value, /) -> Column:
    """Convert the digits of a whole number from one base to another.

    `conv(number string, from int, to int) -> string`
    `conv('ff', 16, 10)` is `255`.
    """
    return call("conv", number, from_, to)


def format_number(value: Value, digits: Value, /) -> Column:
    """Return the number as text with commas between thousands, rounded half to even to these decimal places.

    `format_number(value number, digits int) -> string`
    `format_number(12332.123456, 4)` is `12,332.1235`.
    """
    return call("format_number", value, digits)


def concat(*arguments: Value) -> Column:
    """Concatenate the arguments: texts, binaries or arrays; null if one is null.

    `concat('a', 1, true)` is `a1true`.
    """
    return call("concat", *arguments)


def concat_ws(*arguments: Value) -> Column:
    """Concatenate the arguments that are not null, with a separator between them.

    `concat_ws(separator string, values string...) -> string`
    `concat_ws('-', 'a', NULL, 'b')` is `a-b`.
    """
    return call("concat_ws", *arguments)


def length(value: Value, /) -> Column:
    """Count the characters of a text, or the bytes of a binary.

    `length(value string) -> int`
    `length(value binary) -> int`
    `length('Zoë')` is `3`.
    """
    return call("length", value)


def len(value: Value, /) -> Column:
    """Count the characters of a text, or the bytes of a binary.

    `len(value string) -> int`
    `len(value binary) -> int`
    `len('Zoë')` is `3`.
    """
    return call("len", value)


def char_length(value: Value, /) -> Column:
    """Count the characters of a text, or the bytes of a binary.

    `char_length(value string) -> int`
    `char_length(value binary) -> int`
    `char_length('Zoë')` is `3`.
    """
    return call("char_length", value)


def character_length(value: Value, /) -> Column:
    """Count the characters of a text, or the bytes of a binary.

    `character_length(value string) -> int`
    `character_length(value binary) -> int`
    `character_length('Zoë')` is `3`.
    """
    return call("character_length", value)


def octet_length(value: Value, /) -> Column:
    """Count the bytes of a text in UTF-8, or of a binary.

    `octet_length(value string) -> int`
    `octet_length(value binary) -> int`
    `octet_length('Zoë')` is `4`.
    """
    return call("octet_length", value)


def bit_length(value: Value, /) -> Column:
    """Count the bits of a text in UTF-8, or of a binary.

    `bit_length(value string) -> int`
    `bit_length(value binary) -> int`
    `bit_length('Zoë')` is `32`.
    """
    return call("bit_length", value)


def upper(value: Value, /) -> Column:
    """Convert to upper case.

    `upper(value string) -> string`
    `upper('Spark')` is `SPARK`.
    """
    return call("upper", value)


def ucase(value: Value, /) -> Column:
    """Convert to upper case.

    `ucase(value string) -> string`
    `ucase('Spark')` is `SPARK`.
    """
    return call("ucase", value)


def lower(value: Value, /) -> Column:
    """Convert to lower case.

    `lower(value string) -> string`
    `lower('Spark')` is `spark`.
    """
    return call("lower", value)


def lcase(value: Value, /) -> Column:
    """Convert to lower case.

    `lcase(value string) -> string`
    `lcase('Spark')` is `spark`.
    """
    return call("lcase", value)


def initcap(value: Value, /) -> Column:
    """Convert each word's first letter to upper case, the rest to lower case; words are divided by blanks.

    `initcap(value string) -> string`
    `initcap('sPark sql')` is `Spark Sql`.
    """
    return call("initcap", value)


def reverse(value: Value, /) -> Column:
    """Reverse the characters of a text, or the elements of an array.

    `reverse(value string) -> string`
    `reverse(values array<T>) -> array<T>`
    `reverse('Spark')` is `krapS`.
    """
    return call("reverse", value)


def substring(value: Value, start: Value, length: Value = MISSING, /) -> Column:
    """Return the part from a position on; a negative position counts from the end. Also `(value FROM start FOR length)`.

    `substring(value string, start int, [length int]) -> string`
    `substring(value binary, start int, [length int]) -> binary`
    `substring('Spark SQL', -3)` is `SQL`.
    """
    return call("substring", value, start, length)


def substr(value: Value, start: Value, length: Value = MISSING, /) -> Column:
    """Return the part from a position on; a negative position counts from the end. Also `(value FROM start FOR length)`.

    `substr(value string, start int, [length int]) -> string`
    `substr(value binary, start int, [length int]) -> binary`
    `substr('Spark SQL', -3)` is `SQL`.
    """
    return call("substr", value, start, length)


def left(value: Value, length: Value, /) -> Column:
    """Return the first `length` characters.

    `left(value string, length int) -> string`
    `left(value binary, length int) -> binary`
    `left('Spark', 2)` is `Sp`.
    """
    return call("left", value, length)


def right(value: Value, length: Value, /) -> Column:
    """Return the last `length` characters.

    `right(value string, length int) -> string`
    `right('Spark', 2)` is `rk`.
    """
    return call("right", value, length)


def btrim(value: Value, characters: Value = MISSING, /) -> Column:
    """Strip blanks, or the characters of a set, from both ends.

    `btrim(value string, [characters string]) -> string`
    `btrim('_Spark_', '_')` is `Spark`.
    """
    return call("btrim", value, characters)


def trim(*arguments: Value) -> Column:
    """Strip blanks, or the characters of a set, from both ends. Also `TRIM(BOTH characters FROM value)`.

    `trim(value string) -> string`
    `trim(characters string, value string) -> string`
    `trim('_', '_Spark_')` is `Spark`.
    """
    return call("trim", *arguments)


def ltrim(*arguments: Value) -> Column:
    """Strip blanks, or the characters of a set, from the beginning. Also `TRIM(LEADING characters FROM value)`.

    `ltrim(value string) -> string`
    `ltrim(characters string, value string) -> string`
    `ltrim('_', '_Spark_')` is `Spark_`.
    """
    return call("ltrim", *arguments)


def rtrim(*arguments: Value) -> Column:
    """Strip blanks, or the characters of a set, from the end. Also `TRIM(TRAILING characters FROM value)`.

    `rtrim(value string) -> string`
    `rtrim(characters string, value string) -> string`
    `rtrim('_', '_Spark_')` is `_Spark`.
    """
    return call("rtrim", *arguments)


def lpad(value: Value, length: Value, pad: Value = MISSING, /) -> Column:
    """Pad on the left to a length; a longer text is cut off on the right.

    `lpad(value string, length int, [pad string]) -> string`
    `lpad('hi', 4, '?')` is `??hi`.
    """
    return call("lpad", value, length, pad)


def rpad(value: Value, length: Value, pad: Value = MISSING, /) -> Column:
    """Pad on the right to a length; a longer text is cut off on the right.

    `rpad(value string, length int, [pad string]) -> string`
    `rpad('hi', 4, '?')` is `hi??`.
    """
    return call("rpad", value, length, pad)


def repeat(value: Value, times: Value, /) -> Column:
    """Repeat a text this number of times.

    `repeat(value string, times int) -> string`
    `repeat('ab', 2)` is `abab`.
    """
    return call("repeat", value, times)


def space(count: Value, /) -> Column:
    """Return a text of `count` blanks.

    `space(count int) -> string`
    `length(space(3))` is `3`.
    """
    return call("space", count)


def replace(value: Value, search: Value, replacement: Value = MISSING, /) -> Column:
    """Replace every occurrence of a text by another one.

    `replace(value string, search string, [replacement string]) -> string`
    `replace('aba', 'a', 'x')` is `xbx`.
    """
    return call("replace", value, search, replacement)


def translate(value: Value, from_: Value, to: Value, /) -> Column:
    """Replace each character of one set by the character at the same place in another, or remove it if the other set is shorter.

    `translate(value string, from string, to string) -> string`
    `translate('AaBb', 'abA', '12')` is `1B2`.
    """
    return call("translate", value, from_, to)


def overlay(*arguments: Value) -> Column:
    """Replace the part at a position by a text. Also `(value PLACING replacement FROM start FOR length)`.

    `overlay('Spark', '_', 3)` is `Sp_rk`.
    """
    return call("overlay", *arguments)


def instr(value: Value, search: Value, /) -> Column:
    """Return the first position of a text within another, from 1, or 0.

    `instr(value string, search string) -> int`
    `instr('Spark', 'ar')` is `3`.
    """
    return call("instr", value, search)


def position(search: Value, value: Value, start: Value = MISSING, /) -> Column:
    """Return the first position of a text within another, at or after a start, or 0. Also `(search IN value)`.

    `position(search string, value string, [start int]) -> int`
    `position('a', 'banana', 3)` is `4`.
    """
    return call("position", search, value, start)


def locate(search: Value, value: Value, start: Value = MISSING, /) -> Column:
    """Return the first position of a text within another, at or after a start, or 0. Also `(search IN value)`.

    `locate(search string, value string, [start int]) -> int`
    `locate('a', 'banana', 3)` is `4`.
    """
    return call("locate", search, value, start)


def contains(value: Value, part: Value, /) -> Column:
    """Return true if the value contains the part.

    `contains(value string, part string) -> boolean`
    `contains(value binary, part binary) -> boolean`
    `contains('Spark', 'ar')` is `true`.
    """
    return call("contains", value, part)


def startswith(value: Value, part: Value, /) -> Column:
    """Return true if the value begins with the part.

    `startswith(value string, part string) -> boolean`
    `startswith(value binary, part binary) -> boolean`
    `startswith('Spark', 'Sp')` is `true`.
    """
    return call("startswith", value, part)


def endswith(value: Value, part: Value, /) -> Column:
    """Return true if the value ends with the part.

    `endswith(value string, part string) -> boolean`
    `endswith(value binary, part binary) -> boolean`
    `endswith('Spark', 'rk')` is `true`.
    """
    return call("endswith", value, part)


def split_part(value: Value, separator: Value, part: Value, /) -> Column:
    """Split at a separator and return one part, counted from 1, or from the end if negative; empty if there is no such part.

    `split_part(value string, separator string, part int) -> string`
    `split_part('11.12.13', '.', 3)` is `13`.
    """
    return call("split_part", value, separator, part)


def substring_index(value: Value, separator: Value, count: Value, /) -> Column:
    """Return the text before the separator with number `count`; for a negative count, the text after it, counted from the end.

    `substring_index(value string, separator string, count int) -> string`
    `substring_index('a.b.c', '.', 2)` is `a.b`.
    """
    return call("substring_index", value, separator, count)


def ascii(value: Value, /) -> Column:
    """Return the code point of the first character; 0 for an empty text.

    `ascii(value string) -> int`
    `ascii('A')` is `65`.
    """
    return call("ascii", value)


def chr(code: Value, /) -> Column:
    """Return the character with this code modulo 256; empty for a negative code.

    `chr(code bigint) -> string`
    `chr(65)` is `A`.
    """
    return call("chr", code)


def char(code: Value, /) -> Column:
    """Return the character with this code modulo 256; empty for a negative code.

    `char(code bigint) -> string`
    `char(65)` is `A`.
    """
    return call("char", code)


def find_in_set(value: Value, list: Value, /) -> Column:
    """Return the place of a text in a comma-separated list, from 1, or 0.

    `find_in_set(value string, list string) -> int`
    `find_in_set('ab', 'abc,b,ab')` is `3`.
    """
    return call("find_in_set", value, list)


def levenshtein(one: Value, other: Value, /) -> Column:
    """Return the edit distance: how many characters must be changed, added or removed to turn one text into the other.

    `levenshtein(one string, other string) -> int`
    `levenshtein('kitten', 'sitting')` is `3`.
    """
    return call("levenshtein", one, other)


def soundex(value: Value, /) -> Column:
    """Return the Soundex code of a word, which depends on how it sounds.

    `soundex(value string) -> string`
    `soundex('Miller')` is `M460`.
    """
    return call("soundex", value)


def luhn_check(value: Value, /) -> Column:
    """Return true if the last digit is a valid check digit by the Luhn algorithm.

    `luhn_check(value string) -> boolean`
    `luhn_check('8112189876')` is `true`.
    """
    return call("luhn_check", value)


def mask(
    value: Value, upper: Value = MISSING, lower: Value = MISSING, digit: Value = MISSING, other: Value = MISSING, /
) -> Column:
    """Replace upper-case letters, lower-case letters and digits by mask characters; a null mask keeps the characters.

    `mask(value string, [upper constant string], [lower constant string], [digit constant string], [other constant string]) -> string`
    `mask('Ab1-')` is `Xxn-`.
    """
    return call("mask", value, upper, lower, digit, other)


def url_encode(value: Value, /) -> Column:
    """Encode a text for use in a URL.

    `url_encode(value string) -> string`
    `url_encode('a b&c')` is `a+b%26c`.
    """
    return call("url_encode", value)


def url_decode(value: Value, /) -> Column:
    """Decode a text from a URL.

    `url_decode(value string) -> string`
    `url_decode('a+b%26c')` is `a b&c`.
    """
    return call("url_decode", value)


def like(*arguments: Value) -> Column:
    """Return true if the whole text matches: `_` is any character, `%` any text. A backslash, or the character after ESCAPE, makes the next character literal.

    `'Spark' LIKE 'S%k'` is `true`.
    """
    return call("like", *arguments)


def ilike(*arguments: Value) -> Column:
    """Return the same as LIKE, ignoring case.

    `'Spark' ILIKE 's%K'` is `true`.
    """
    return call("ilike", *arguments)


def rlike(value: Value, pattern: Value, /) -> Column:
    """Return true if a part of the text matches a regular expression.

    `rlike(value string, pattern string) -> boolean`
    `'Spark' RLIKE 'a.k$'` is `true`.
    """
    return call("rlike", value, pattern)


def regexp_like(value: Value, pattern: Value, /) -> Column:
    """Return true if a part of the text matches a regular expression.

    `regexp_like(value string, pattern string) -> boolean`
    `regexp_like('Spark', 'a.k$')` is `true`.
    """
    return call("regexp_like", value, pattern)


def regexp(value: Value, pattern: Value, /) -> Column:
    """Return true if a part of the text matches a regular expression.

    `regexp(value string, pattern string) -> boolean`
    `regexp('Spark', 'a.k$')` is `true`.
    """
    return call("regexp", value, pattern)


def regexp_extract(value: Value, pattern: Value, group: Value = MISSING, /) -> Column:
    r"""Return a group (the first by default) of the first match of a regular expression; empty if nothing matches.

    `regexp_extract(value string, pattern string, [group int]) -> string`
    `regexp_extract('100-200', '(\\d+)-(\\d+)', 2)` is `200`.
    """
    return call("regexp_extract", value, pattern, group)


def regexp_extract_all(value: Value, pattern: Value, group: Value = MISSING, /) -> Column:
    r"""Return a group (the first by default) of every match of a regular expression.

    `regexp_extract_all(value string, pattern string, [group int]) -> array<string>`
    `regexp_extract_all('a1b22', '(\\d+)')` is `[1, 22]`.
    """
    return call("regexp_extract_all", value, pattern, group)


def regexp_replace(value: Value, pattern: Value, replacement: Value, position: Value = MISSING, /) -> Column:
    r"""Replace every match at or after a position by a text, in which `$1` is the first group.

    `regexp_replace(value string, pattern string, replacement string, [position int]) -> string`
    `regexp_replace('100-200', '(\\d+)', '<$1>')` is `<100>-<200>`.
    """
    return call("regexp_replace", value, pattern, replacement, position)


def regexp_count(value: Value, pattern: Value, /) -> Column:
    r"""Count the matches of a regular expression.

    `regexp_count(value string, pattern string) -> int`
    `regexp_count('a1b22', '\\d+')` is `2`.
    """
    return call("regexp_count", value, pattern)


def regexp_substr(value: Value, pattern: Value, /) -> Column:
    r"""Return the first match of a regular expression, or null.

    `regexp_substr(value string, pattern string) -> string`
    `regexp_substr('a1b22', '\\d+')` is `1`.
    """
    return call("regexp_substr", value, pattern)


def regexp_instr(value: Value, pattern: Value, /) -> Column:
    r"""Return the position of the first match of a regular expression, or 0.

    `regexp_instr(value string, pattern string) -> int`
    `regexp_instr('a1b22', '\\d+')` is `2`.
    """
    return call("regexp_instr", value, pattern)


def split(value: Value, pattern: Value, limit: Value = MISSING, /) -> Column:
    """Split at the matches of a regular expression, into at most `limit` parts.

    `split(value string, pattern string, [limit int]) -> array<string>`
    `split('a1b2c', '[0-9]')` is `[a, b, c]`.
    """
    return call("split", value, pattern, limit)


def year(value: Value, /) -> Column:
    """Return the year.

    `year(value date) -> int`
    `year(DATE '2024-05-03')` is `2024`.
    """
    return call("year", value)


def quarter(value: Value, /) -> Column:
    """Return the quarter, from 1.

    `quarter(value date) -> int`
    `quarter(DATE '2024-05-03')` is `2`.
    """
    return call("quarter", value)


def month(value: Value, /) -> Column:
    """Return the month, from 1.

    `month(value date) -> int`
    `month(DATE '2024-05-03')` is `5`.
    """
    return call("month", value)


def day(value: Value, /) -> Column:
    """Return the day of the month.

    `day(value date) -> int`
    `day(DATE '2024-05-03')` is `3`.
    """
    return call("day", value)


def dayofyear(value: Value, /) -> Column:
    """Return the day of the year, from 1.

    `dayofyear(value date) -> int`
    `dayofyear(DATE '2024-05-03')` is `124`.
    """
    return call("dayofyear", value)


def dayofweek(value: Value, /) -> Column:
    """Return the day of the week; 1 is Sunday.

    `dayofweek(value date) -> int`
    `dayofweek(DATE '2024-05-03')` is `6`.
    """
    return call("dayofweek", value)


def weekday(value: Value, /) -> Column:
    """Return the day of the week; 0 is Monday.

    `weekday(value date) -> int`
    `weekday(DATE '2024-05-03')` is `4`.
    """
    return call("weekday", value)


def weekofyear(value: Value, /) -> Column:
    """Return the week of ISO 8601.

    `weekofyear(value date) -> int`
    `weekofyear(DATE '2024-05-03')` is `18`.
    """
    return call("weekofyear", value)


def dayofmonth(value: Value, /) -> Column:
    """Return the day of the month.

    `dayofmonth(value date) -> int`
    `dayofmonth(DATE '2024-05-03')` is `3`.
    """
    return call("dayofmonth", value)


def dayname(value: Value, /) -> Column:
    """Return the short name of the day.

    `dayname(value date) -> string`
    `dayname(DATE '2024-05-03')` is `Fri`.
    """
    return call("dayname", value)


def monthname(value: Value, /) -> Column:
    """Return the short name of the month.

    `monthname(value date) -> string`
    `monthname(DATE '2024-05-03')` is `May`.
    """
    return call("monthname", value)


def hour(*arguments: Value) -> Column:
    """Return the hour.

    `hour(TIMESTAMP '2024-05-03 10:11:12.5')` is `10`.
    """
    return call("hour", *arguments)


def minute(*arguments: Value) -> Column:
    """Return the minute.

    `minute(TIMESTAMP '2024-05-03 10:11:12.5')` is `11`.
    """
    return call("minute", *arguments)


def second(*arguments: Value) -> Column:
    """Return the second.

    `second(TIMESTAMP '2024-05-03 10:11:12.5')` is `12`.
    """
    return call("second", *arguments)


def date_part(*arguments: Value) -> Column:
    """Return a part of a point in time, as `EXTRACT(part FROM value)`: year, quarter, month, day, dayofyear, dayofweek, dayofweek_iso, week, yearofweek, hour, minute, second.

    `date_part('doy', DATE '2024-12-30')` is `365`.
    """
    return call("date_part", *arguments)


def datepart(*arguments: Value) -> Column:
    """Return a part of a point in time, as `EXTRACT(part FROM value)`: year, quarter, month, day, dayofyear, dayofweek, dayofweek_iso, week, yearofweek, hour, minute, second.

    `datepart('doy', DATE '2024-12-30')` is `365`.
    """
    return call("datepart", *arguments)


def last_day(value: Value, /) -> Column:
    """Return the last day of the month.

    `last_day(value date) -> date`
    `last_day(DATE '2024-02-03')` is `2024-02-29`.
    """
    return call("last_day", value)


def next_day(value: Value, day: Value, /) -> Column:
    """Return the first date after this one that is the named day of the week.

    `next_day(value date, day string) -> date`
    `next_day(DATE '2024-02-03', 'tue')` is `2024-02-06`.
    """
    return call("next_day", value, day)


def add_months(value: Value, months: Value, /) -> Column:
    """Add months to a date; a day that the month does not have becomes its last day.

    `add_months(value date, months int) -> date`
    `add_months(DATE '2024-01-31', 1)` is `2024-02-29`.
    """
    return call("add_months", value, months)


def months_between(one: Value, other: Value, rounded: Value = MISSING, /) -> Column:
    """Return the months from the second time to the first. A fraction counts 31 days a month, rounded to 8 digits.

    `months_between(one timestamp, other timestamp, [rounded boolean]) -> double`
    `months_between(DATE '2024-02-29', DATE '2024-01-31')` is `1.0`.
    """
    return call("months_between", one, other, rounded)


def date_add(*arguments: Value) -> Column:
    """Add days to a date.

    `date_add(DATE '2024-01-31', 1)` is `2024-02-01`.
    """
    return call("date_add", *arguments)


def dateadd(*arguments: Value) -> Column:
    """Add days to a date.

    `dateadd(DATE '2024-01-31', 1)` is `2024-02-01`.
    """
    return call("dateadd", *arguments)


def date_sub(*arguments: Value) -> Column:
    """Subtract days from a date.

    `date_sub(DATE '2024-01-31', 1)` is `2024-01-30`.
    """
    return call("date_sub", *arguments)


def datediff(end: Value, start: Value, /) -> Column:
    """Return the number of days from the second date to the first.

    `datediff(end date, start date) -> int`
    `datediff(DATE '2024-03-01', DATE '2024-02-01')` is `29`.
    """
    return call("datediff", end, start)


def date_diff(end: Value, start: Value, /) -> Column:
    """Return the number of days from the second date to the first.

    `date_diff(end date, start date) -> int`
    `date_diff(DATE '2024-03-01', DATE '2024-02-01')` is `29`.
    """
    return call("date_diff", end, start)


def date_trunc(unit: Value, value: Value, /) -> Column:
    """Truncate a time to the year, quarter, month, week, day, hour, minute, second or millisecond; null for another unit.

    `date_trunc(unit string, value timestamp) -> timestamp`
    `date_trunc('hour', TIMESTAMP '2024-05-03 10:11:12.5')` is `2024-05-03 10:00:00`.
    """
    return call("date_trunc", unit, value)


def trunc(value: Value, unit: Value, /) -> Column:
    """Return the first day of the date's year, quarter, month or week; null for another unit.

    `trunc(value date, unit string) -> date`
    `trunc(DATE '2024-05-03', 'month')` is `2024-05-01`.
    """
    return call("trunc", value, unit)


def make_date(year: Value, month: Value, day: Value, /) -> Column:
    """Make a date from its parts.

    `make_date(year int, month int, day int) -> date`
    `make_date(2024, 2, 29)` is `2024-02-29`.
    """
    return call("make_date", year, month, day)


def make_timestamp(year: Value, month: Value, day: Value, hour: Value, minute: Value, second: Value, /) -> Column:
    """Make a time from its parts.

    `make_timestamp(year int, month int, day int, hour int, minute int, second decimal(16, 6)) -> timestamp`
    `make_timestamp(2024, 2, 29, 10, 11, 12.5)` is `2024-02-29 10:11:12.5`.
    """
    return call("make_timestamp", year, month, day, hour, minute, second)


def make_timestamp_ntz(year: Value, month: Value, day: Value, hour: Value, minute: Value, second: Value, /) -> Column:
    """Make a time from its parts.

    `make_timestamp_ntz(year int, month int, day int, hour int, minute int, second decimal(16, 6)) -> timestamp_ntz`
    `make_timestamp_ntz(2024, 2, 29, 10, 11, 12.5)` is `2024-02-29 10:11:12.5`.
    """
    return call("make_timestamp_ntz", year, month, day, hour, minute, second)


def to_date(*arguments: Value) -> Column:
    """Convert a text, read by a pattern if one is given, or the digits of a number to a date; any other value fails.

    `to_date('29.02.2024', 'dd.MM.yyyy')` is `2024-02-29`.
    """
    return call("to_date", *arguments)


def to_timestamp(*arguments: Value) -> Column:
    """Convert a text, read by a pattern if one is given, or seconds since 1970 to a timestamp; any other value fails.

    `to_timestamp('2024-02-29 10:00:00')` is `2024-02-29 10:00:00`.
    """
    return call("to_timestamp", *arguments)


def to_timestamp_ntz(*arguments: Value) -> Column:
    """Convert a text, read by a pattern if one is given, or the digits of a number to a timestamp_ntz; any other value fails.

    `to_timestamp_ntz('2024-02-29 10:00:00')` is `2024-02-29 10:00:00`.
    """
    return call("to_timestamp_ntz", *arguments)


def to_timestamp_ltz(*arguments: Value) -> Column:
    """Convert a text, read by a pattern if one is given, or seconds since 1970 to a timestamp; any other value fails.

    `to_timestamp_ltz('2024-02-29 10:00:00')` is `2024-02-29 10:00:00`.
    """
    return call("to_timestamp_ltz", *arguments)


def try_to_timestamp(*arguments: Value) -> Column:
    """Convert a text, read by a pattern if one is given, or seconds since 1970 to a timestamp; any other value is null.

    `try_to_timestamp('x')` is `NULL`.
    """
    return call("try_to_timestamp", *arguments)


def try_to_date(*arguments: Value) -> Column:
    """Convert a text, read by a pattern if one is given, or the digits of a number to a date; any other value is null.

    `try_to_date('x')` is `NULL`.
    """
    return call("try_to_date", *arguments)


def date_format(value: Value, pattern: Value, /) -> Column:
    """Format a time by a pattern such as `yyyy-MM-dd HH:mm:ss`.

    `date_format(value timestamp, pattern string) -> string`
    `date_format(TIMESTAMP '2024-05-03 10:11:12.5', 'EEE, d MMM yyyy')` is `Fri, 3 May 2024`.
    """
    return call("date_format", value, pattern)


def from_unixtime(seconds: Value, pattern: Value = MISSING, /) -> Column:
    """Format seconds since 1970 as a time.

    `from_unixtime(seconds bigint, [pattern string]) -> string`
    `from_unixtime(0)` is `1970-01-01 00:00:00`.
    """
    return call("from_unixtime", seconds, pattern)


def unix_timestamp(*arguments: Value) -> Column:
    """Return the whole seconds since 1970 of a time, or of a text that a pattern reads (default: `yyyy-MM-dd HH:mm:ss`).

    `unix_timestamp('2024-02-09 13:05:06')` is `1707483906`.
    """
    return call("unix_timestamp", *arguments)


def to_unix_timestamp(*arguments: Value) -> Column:
    """Return the whole seconds since 1970 of a time, or of a text that a pattern reads (default: `yyyy-MM-dd HH:mm:ss`).

    `to_unix_timestamp('2024-02-09 13:05:06')` is `1707483906`.
    """
    return call("to_unix_timestamp", *arguments)


def unix_seconds(value: Value, /) -> Column:
    """Return the whole seconds since 1970, rounded down.

    `unix_seconds(value timestamp) -> bigint`
    `unix_seconds(value timestamp_ntz) -> bigint`
    `unix_seconds(TIMESTAMP '1970-01-01 00:00:01.5')` is `1`.
    """
    return call("unix_seconds", value)


def unix_millis(value: Value, /) -> Column:
    """Return the whole milliseconds since 1970, rounded down.

    `unix_millis(value timestamp) -> bigint`
    `unix_millis(value timestamp_ntz) -> bigint`
    `unix_millis(TIMESTAMP '1970-01-01 00:00:01.5')` is `1500`.
    """
    return call("unix_millis", value)


def unix_micros(value: Value, /) -> Column:
    """Return the whole microseconds since 1970, rounded down.

    `unix_micros(value timestamp) -> bigint`
    `unix_micros(value timestamp_ntz) -> bigint`
    `unix_micros(TIMESTAMP '1970-01-01 00:00:01.5')` is `1500000`.
    """
    return call("unix_micros", value)


def unix_date(value: Value, /) -> Column:
    """Return the number of days since 1970-01-01.

    `unix_date(value date) -> int`
    `unix_date(DATE '1970-01-06')` is `5`.
    """
    return call("unix_date", value)


def date_from_unix_date(days: Value, /) -> Column:
    """Return the date that is this number of days after 1970-01-01.

    `date_from_unix_date(days int) -> date`
    `date_from_unix_date(5)` is `1970-01-06`.
    """
    return call("date_from_unix_date", days)


def timestamp_seconds(*arguments: Value) -> Column:
    """Return the time that is this number of seconds after 1970 began; the number may have a fraction.

    `timestamp_seconds(1.5)` is `1970-01-01 00:00:01.5`.
    """
    return call("timestamp_seconds", *arguments)


def timestamp_millis(value: Value, /) -> Column:
    """Return the time that is this number of milliseconds after 1970 began.

    `timestamp_millis(value whole) -> timestamp`
    `timestamp_millis(1500)` is `1970-01-01 00:00:01.5`.
    """
    return call("timestamp_millis", value)


def timestamp_micros(value: Value, /) -> Column:
    """Return the time that is this number of microseconds after 1970 began.

    `timestamp_micros(value whole) -> timestamp`
    `timestamp_micros(1500)` is `1970-01-01 00:00:00.0015`.
    """
    return call("timestamp_micros", value)


def timestampadd(unit: Value, count: Value, value: Value, /) -> Column:
    """Add units to a time. The unit is a word: MICROSECOND, MILLISECOND, SECOND, MINUTE, HOUR, DAY, WEEK, MONTH, QUARTER or YEAR.

    `timestampadd(unit constant string, count bigint, value timestamp) -> timestamp`
    `timestampadd(MONTH, 1, TIMESTAMP '2024-01-31 00:00:00')` is `2024-02-29 00:00:00`.
    """
    return call("timestampadd", unit, count, value)


def timestampdiff(unit: Value, start: Value, end: Value, /) -> Column:
    """Return the number of whole units between two times, in a unit of timestampadd.

    `timestampdiff(unit constant string, start timestamp, end timestamp) -> bigint`
    `timestampdiff(HOUR, TIMESTAMP '2024-01-01 00:00:00', TIMESTAMP '2024-01-02 00:00:00')` is `24`.
    """
    return call("timestampdiff", unit, start, end)


def from_utc_timestamp(value: Value, zone: Value, /) -> Column:
    """Convert a time in UTC to the local time of a zone.

    `from_utc_timestamp(value timestamp, zone string) -> timestamp`
    `from_utc_timestamp(TIMESTAMP '2024-07-01 10:00:00', 'Europe/Berlin')` is `2024-07-01 12:00:00`.
    """
    return call("from_utc_timestamp", value, zone)


def to_utc_timestamp(value: Value, zone: Value, /) -> Column:
    """Convert the local time of a zone to UTC.

    `to_utc_timestamp(value timestamp, zone string) -> timestamp`
    `to_utc_timestamp(TIMESTAMP '2024-07-01 10:00:00', 'Europe/Berlin')` is `2024-07-01 08:00:00`.
    """
    return call("to_utc_timestamp", value, zone)


def convert_timezone(*arguments: Value) -> Column:
    """Convert the local time of one zone to the local time of another.

    `convert_timezone(to string, value timestamp_ntz) -> timestamp_ntz`
    `convert_timezone(from string, to string, value timestamp_ntz) -> timestamp_ntz`
    `convert_timezone('Europe/Berlin', 'UTC', TIMESTAMP_NTZ '2024-07-01 10:00:00')` is `2024-07-01 08:00:00`.
    """
    return call("convert_timezone", *arguments)


def array(*arguments: Value) -> Column:
    """Make an array of the arguments.

    `array(1, NULL, 2)` is `[1, null, 2]`.
    """
    return call("array", *arguments)


def map(*arguments: Value) -> Column:
    """Make a map of alternating keys and values.

    `map('a', 1, 'b', 2)` is `{a -> 1, b -> 2}`.
    """
    return call("map", *arguments)


def struct(*arguments: Value) -> Column:
    """Make a struct; fields are named after the attributes, or col1, col2 and so on.

    `struct(1, 'x').col2` is `x`.
    """
    return call("struct", *arguments)


def named_struct(*arguments: Value) -> Column:
    """Make a struct of alternating constant names and values.

    `named_struct('a', 1, 'b', 'x')` is `{1, x}`.
    """
    return call("named_struct", *arguments)


def element_at(*arguments: Value) -> Column:
    """Return an element of an array, counted from 1 (or from the end if negative), or the value of a map's key.

    `element_at(array(1, 2), -1)` is `2`.
    """
    return call("element_at", *arguments)


def try_element_at(*arguments: Value) -> Column:
    """Return the same as element_at, or null where there is no element.

    `try_element_at(array(1, 2), 5)` is `NULL`.
    """
    return call("try_element_at", *arguments)


def get(values: Value, index: Value, /) -> Column:
    """Return an element of an array, counted from 0; null if the index is out of range.

    `get(values array<T>, index int) -> T`
    `get(array(1, 2), 5)` is `NULL`.
    """
    return call("get", values, index)


def size(values: Value, /) -> Column:
    """Count the elements of an array or the keys of a map.

    `size(values array<T>) -> int`
    `size(values map<K, V>) -> int`
    `size(array(1, 2))` is `2`.
    """
    return call("size", values)


def cardinality(values: Value, /) -> Column:
    """Count the elements of an array or the keys of a map.

    `cardinality(values array<T>) -> int`
    `cardinality(values map<K, V>) -> int`
    `cardinality(array(1, 2))` is `2`.
    """
    return call("cardinality", values)


def array_size(values: Value, /) -> Column:
    """Count the elements of an array.

    `array_size(values array<T>) -> int`
    `array_size(array(1, 2))` is `2`.
    """
    return call("array_size", values)


def map_keys(values: Value, /) -> Column:
    """Return the keys of a map as an array.

    `map_keys(values map<K, V>) -> array<K>`
    `map_keys(map('a', 1))` is `[a]`.
    """
    return call("map_keys", values)


def map_values(values: Value, /) -> Column:
    """Return the values of a map as an array.

    `map_values(values map<K, V>) -> array<V>`
    `map_values(map('a', 1))` is `[1]`.
    """
    return call("map_values", values)


def map_entries(*arguments: Value) -> Column:
    """Return the entries of a map as an array of structs of key and value.

    `map_entries(map('a', 1))` is `[{a, 1}]`.
    """
    return call("map_entries", *arguments)


def map_contains_key(*arguments: Value) -> Column:
    """Return true if the map has the key.

    `map_contains_key(map('a', 1), 'a')` is `true`.
    """
    return call("map_contains_key", *arguments)


def map_from_arrays(keys: Value, values: Value, /) -> Column:
    """Make a map of an array of keys and an array of as many values.

    `map_from_arrays(keys array<K>, values array<V>) -> map<K, V>`
    `map_from_arrays(array('a'), array(1))` is `{a -> 1}`.
    """
    return call("map_from_arrays", keys, values)


def map_concat(*arguments: Value) -> Column:
    """Merge maps; a key must not be in two of them.

    `map_concat(first map<K, V>, more map<K, V>...) -> map<K, V>`
    `map_concat(map('a', 1), map('b', 2))` is `{a -> 1, b -> 2}`.
    """
    return call("map_concat", *arguments)


def str_to_map(value: Value, pairs: Value = MISSING, values: Value = MISSING, /) -> Column:
    """Make a map of a text by splitting it at two regular expressions: between pairs (default `,`), and between key and value (`:`).

    `str_to_map(value string, [pairs string], [values string]) -> map<string, string>`
    `str_to_map('a:1,b:2')` is `{a -> 1, b -> 2}`.
    """
    return call("str_to_map", value, pairs, values)


def array_contains(*arguments: Value) -> Column:
    """Return true if an element equals a value; null if none does and one of them is null.

    `array_contains(array(1, 2), 2)` is `true`.
    """
    return call("array_contains", *arguments)


def array_position(*arguments: Value) -> Column:
    """Return the place of the first element that equals a value, counted from 1, or 0.

    `array_position(array(1, 2), 2)` is `2`.
    """
    return call("array_position", *arguments)


def array_remove(*arguments: Value) -> Column:
    """Remove the elements that equal a value.

    `array_remove(array(1, 2, 1), 1)` is `[2]`.
    """
    return call("array_remove", *arguments)


def array_append(*arguments: Value) -> Column:
    """Append an element.

    `array_append(array(1), 2)` is `[1, 2]`.
    """
    return call("array_append", *arguments)


def array_prepend(*arguments: Value) -> Column:
    """Prepend an element.

    `array_prepend(array(1), 2)` is `[2, 1]`.
    """
    return call("array_prepend", *arguments)


def array_min(values: Value, /) -> Column:
    """Return the smallest element that is not null.

    `array_min(values array<T>) -> T`
    `array_min(array(3, 1, NULL))` is `1`.
    """
    return call("array_min", values)


def array_max(values: Value, /) -> Column:
    """Return the largest element that is not null.

    `array_max(values array<T>) -> T`
    `array_max(array(3, 1, NULL))` is `3`.
    """
    return call("array_max", values)


def array_distinct(values: Value, /) -> Column:
    """Remove duplicates.

    `array_distinct(values array<T>) -> array<T>`
    `array_distinct(array(1, 2, 1))` is `[1, 2]`.
    """
    return call("array_distinct", values)


def array_union(one: Value, other: Value, /) -> Column:
    """Return the elements of either array, each once.

    `array_union(one array<T>, other array<T>) -> array<T>`
    `array_union(array(1, 2), array(2, 3))` is `[1, 2, 3]`.
    """
    return call("array_union", one, other)


def array_intersect(one: Value, other: Value, /) -> Column:
    """Return the elements that are in both arrays, each once.

    `array_intersect(one array<T>, other array<T>) -> array<T>`
    `array_intersect(array(1, 2), array(2, 3))` is `[2]`.
    """
    return call("array_intersect", one, other)


def array_except(one: Value, other: Value, /) -> Column:
    """Return the elements of the first array that the second one lacks, each once.

    `array_except(one array<T>, other array<T>) -> array<T>`
    `array_except(array(1, 2), array(2, 3))` is `[1]`.
    """
    return call("array_except", one, other)


def arrays_overlap(one: Value, other: Value, /) -> Column:
    """Return true if the arrays have an element in common; null if not and one of them has a null.

    `arrays_overlap(one array<T>, other array<T>) -> boolean`
    `arrays_overlap(array(1, 2), array(2, 3))` is `true`.
    """
    return call("arrays_overlap", one, other)


def array_join(values: Value, separator: Value, missing: Value = MISSING, /) -> Column:
    """Join the elements into one text; nulls are left out, or replaced by a text.

    `array_join(values array<string>, separator string, [missing string]) -> string`
    `array_join(array('a', NULL, 'b'), ',', '?')` is `a,?,b`.
    """
    return call("array_join", values, separator, missing)


def slice(values: Value, start: Value, length: Value, /) -> Column:
    """Return `length` elements from a place on, counted from 1 (or from the end if negative).

    `slice(values array<T>, start int, length int) -> array<T>`
    `slice(array(1, 2, 3), -2, 2)` is `[2, 3]`.
    """
    return call("slice", values, start, length)


def sort_array(values: Value, ascending: Value = MISSING, /) -> Column:
    """Sort the elements; nulls come first, or last in descending order.

    `sort_array(values array<T>, [ascending constant boolean]) -> array<T>`
    `sort_array(array(3, NULL, 1))` is `[null, 1, 3]`.
    """
    return call("sort_array", values, ascending)


def array_sort(values: Value, /) -> Column:
    """Sort the elements; nulls come last.

    `array_sort(values array<T>) -> array<T>`
    `array_sort(array(3, NULL, 1))` is `[1, 3, null]`.
    """
    return call("array_sort", values)


def flatten(values: Value, /) -> Column:
    """Concatenate the arrays in an array.

    `flatten(values array<array<T>>) -> array<T>`
    `flatten(array(array(1), array(2, 3)))` is `[1, 2, 3]`.
    """
    return call("flatten", values)


def array_repeat(value: Value, times: Value, /) -> Column:
    """Make an array that repeats a value, at most 1,000,000 times.

    `array_repeat(value T, times int) -> array<T>`
    `array_repeat('a', 2)` is `[a, a]`.
    """
    return call("array_repeat", value, times)


def array_compact(values: Value, /) -> Column:
    """Remove nulls.

    `array_compact(values array<T>) -> array<T>`
    `array_compact(array(1, NULL))` is `[1]`.
    """
    return call("array_compact", values)


def sequence(*arguments: Value) -> Column:
    """Return the whole numbers from one to another, by steps; at most 1,000,000.

    `sequence(5, 1, -2)` is `[5, 3, 1]`.
    """
    return call("sequence", *arguments)


def get_json_object(json: Value, path: Value, /) -> Column:
    """Return the part of a JSON text that a path such as `$.a.b[0]` leads to; null if it does not exist.

    `get_json_object(json string, path string) -> string`
    `get_json_object('{"a": {"b": [1, 2]}}', '$.a.b[1]')` is `2`.
    """
    return call("get_json_object", json, path)


def json_array_length(json: Value, /) -> Column:
    """Count the elements of a JSON array; null if the text is not an array.

    `json_array_length(json string) -> int`
    `json_array_length('[1, 2]')` is `2`.
    """
    return call("json_array_length", json)


def json_object_keys(json: Value, /) -> Column:
    """Return the outermost keys of a JSON object; null if the text is not an object.

    `json_object_keys(json string) -> array<string>`
    `json_object_keys('{"a": 1, "b": 2}')` is `[a, b]`.
    """
    return call("json_object_keys", json)


def to_json(*arguments: Value) -> Column:
    """Write an array, map or struct as JSON; fields that are null are left out.

    `to_json(named_struct('a', 1, 'b', NULL))` is `{"a":1}`.
    """
    return call("to_json", *arguments)


def from_json(*arguments: Value) -> Column:
    """Parse a JSON text as a type, which is a constant text such as 'a int, b string'. A field that does not fit is null; an array or a map with a part that does not fit is null as a whole.

    `from_json('{"a": 1}', 'a int').a` is `1`.
    """
    return call("from_json", *arguments)


def shiftleft(*arguments: Value) -> Column:
    """Shift the bits to the left.

    `shiftleft(1, 3)` is `8`.
    """
    return call("shiftleft", *arguments)


def shiftright(*arguments: Value) -> Column:
    """Shift the bits to the right; the sign is kept.

    `shiftright(1, 3)` is `0`.
    """
    return call("shiftright", *arguments)


def shiftrightunsigned(*arguments: Value) -> Column:
    """Shift the bits to the right, filling with zeros.

    `shiftrightunsigned(1, 3)` is `0`.
    """
    return call("shiftrightunsigned", *arguments)


def bit_count(value: Value, /) -> Column:
    """Count the bits that are set.

    `bit_count(value whole) -> int`
    `bit_count(value boolean) -> int`
    `bit_count(7)` is `3`.
    """
    return call("bit_count", value)


def md5(value: Value, /) -> Column:
    """Return the MD5 hash, in hexadecimal digits.

    `md5(value binary) -> string`
    `md5('Spark')` is `8cde774d6f7333752ed72cacddb05126`.
    """
    return call("md5", value)


def sha1(value: Value, /) -> Column:
    """Return the SHA-1 hash, in hexadecimal digits.

    `sha1(value binary) -> string`
    `sha1('Spark')` is `85f5955f4b27a9a4c2aab6ffe5d7189fc298b92c`.
    """
    return call("sha1", value)


def sha(value: Value, /) -> Column:
    """Return the SHA-1 hash, in hexadecimal digits.

    `sha(value binary) -> string`
    `sha('Spark')` is `85f5955f4b27a9a4c2aab6ffe5d7189fc298b92c`.
    """
    return call("sha", value)


def sha2(value: Value, bits: Value, /) -> Column:
    """Return the SHA-2 hash of 224, 256 (or 0), 384 or 512 bits, in hexadecimal digits; null for another length.

    `sha2(value binary, bits int) -> string`
    `substring(sha2('Spark', 256), 1, 8)` is `529bc3b0`.
    """
    return call("sha2", value, bits)


def crc32(value: Value, /) -> Column:
    """Return the CRC-32 checksum.

    `crc32(value binary) -> bigint`
    `crc32('Spark')` is `1557323817`.
    """
    return call("crc32", value)


def base64(value: Value, /) -> Column:
    """Encode bytes in base 64.

    `base64(value binary) -> string`
    `base64('Spark SQL')` is `U3BhcmsgU1FM`.
    """
    return call("base64", value)


def unbase64(value: Value, /) -> Column:
    """Decode bytes from base 64.

    `unbase64(value string) -> binary`
    `string(unbase64('U3BhcmsgU1FM'))` is `Spark SQL`.
    """
    return call("unbase64", value)


def hex(value: Value, /) -> Column:
    """Convert a number, text or binary to hexadecimal digits.

    `hex(value bigint) -> string`
    `hex(value string) -> string`
    `hex(value binary) -> string`
    `hex(17)` is `11`.
    """
    return call("hex", value)


def unhex(value: Value, /) -> Column:
    """Decode bytes from hexadecimal digits; null if the text has other characters.

    `unhex(value string) -> binary`
    `string(unhex('537061726B'))` is `Spark`.
    """
    return call("unhex", value)


def bin(value: Value, /) -> Column:
    """Convert a whole number to binary digits.

    `bin(value bigint) -> string`
    `bin(13)` is `1101`.
    """
    return call("bin", value)


def encode(value: Value, charset: Value, /) -> Column:
    """Encode a text in a character set.

    `encode(value string, charset string) -> binary`
    `hex(encode('ä', 'UTF-8'))` is `C3A4`.
    """
    return call("encode", value, charset)


def decode(value: Value, charset: Value, /) -> Column:
    """Decode bytes in a character set.

    `decode(value binary, charset string) -> string`
    `decode(unhex('C3A4'), 'UTF-8')` is `ä`.
    """
    return call("decode", value, charset)


def coalesce(*arguments: Value) -> Column:
    """Return the first value that is not null; the values after it are not evaluated.

    `coalesce(values T...) -> T`
    `coalesce(NULL, 2, 1 / 0)` is `2.0`.
    """
    return call("coalesce", *arguments)


def nvl(value: Value, otherwise: Value, /) -> Column:
    """Return the first value that is not null; the values after it are not evaluated.

    `nvl(value T, otherwise T) -> T`
    `nvl(NULL, 'a')` is `a`.
    """
    return call("nvl", value, otherwise)


def ifnull(value: Value, otherwise: Value, /) -> Column:
    """Return the first value that is not null; the values after it are not evaluated.

    `ifnull(value T, otherwise T) -> T`
    `ifnull(NULL, 1)` is `1`.
    """
    return call("ifnull", value, otherwise)


def if_(condition: Value, value: Value, otherwise: Value, /) -> Column:
    """Return the first value if the condition is true, else the second; the other one is not evaluated.

    `if(condition boolean, value T, otherwise T) -> T`
    `if(1 < 2, 'a', 'b')` is `a`.
    """
    return call("if", condition, value, otherwise)


def nvl2(value: Value, present: Value, missing: Value, /) -> Column:
    """Return the second value if the first is not null, else the third.

    `nvl2(value any, present T, missing T) -> T`
    `nvl2(NULL, 1, 2)` is `2`.
    """
    return call("nvl2", value, present, missing)


def nullif(value: Value, other: Value, /) -> Column:
    """Return null if both are equal, else the first value.

    `nullif(value T, other T) -> T`
    `nullif(2, 2)` is `NULL`.
    """
    return call("nullif", value, other)


def nanvl(value: Value, otherwise: Value, /) -> Column:
    """Return the first number, or the second if the first is NaN.

    `nanvl(value double, otherwise double) -> double`
    `nanvl(DOUBLE('NaN'), 1.5e0)` is `1.5`.
    """
    return call("nanvl", value, otherwise)


def count() -> Summary:
    """Count the tuples.

    `Count()` of `Aggregate`.
    """
    return Summary("Count")


def count_distinct(e: Value, /) -> Summary:
    """Count the different values exactly; all of them are kept as state.

    `CountDistinct(e)` of `Aggregate`.
    """
    return Summary("CountDistinct", e)


def approx_count_distinct(e: Value, rsd: Value = MISSING, /) -> Summary:
    """Estimate the number of different values with a relative standard deviation of `rsd`, a number from 0.001 to 0.39, 0.05 by default; a sketch is kept as state, of 512 bytes for 0.05 and 16 kB for 0.01. It needs the extra `sketches`.

    `ApproxCountDistinct(e, rsd)` of `Aggregate`.
    """
    return Summary("ApproxCountDistinct", e, rsd)


def sum(e: Value, /) -> Summary:
    """Return the sum; true counts as 1. A sum that overflows its type is a failure.

    `Sum(e)` of `Aggregate`.
    """
    return Summary("Sum", e)


def average(e: Value, /) -> Summary:
    """Return the mean; true counts as 1, so the mean of a condition is the share of tuples for which it is true.

    `Average(e)` of `Aggregate`.
    """
    return Summary("Average", e)


def min(e: Value, /) -> Summary:
    """Return the smallest value.

    `Min(e)` of `Aggregate`.
    """
    return Summary("Min", e)


def max(e: Value, /) -> Summary:
    """Return the largest value; NaN is larger than all numbers.

    `Max(e)` of `Aggregate`.
    """
    return Summary("Max", e)


def first(e: Value, /) -> Summary:
    """Return the value of the first tuple.

    `First(e)` of `Aggregate`.
    """
    return Summary("First", e)


def last(e: Value, /) -> Summary:
    """Return the value of the last tuple.

    `Last(e)` of `Aggregate`.
    """
    return Summary("Last", e)


def arg_min(e: Value, by: Value, /) -> Summary:
    """Return the first argument's value in the tuple with the smallest `by`; of several such tuples, in the last one.

    `ArgMin(e, by)` of `Aggregate`.
    """
    return Summary("ArgMin", e, by)


def arg_max(e: Value, by: Value, /) -> Summary:
    """Return the first argument's value in the tuple with the largest `by`; of several such tuples, in the last one.

    `ArgMax(e, by)` of `Aggregate`.
    """
    return Summary("ArgMax", e, by)


def std_dev(e: Value, /) -> Summary:
    """Return the standard deviation of a sample.

    `StdDev(e)` of `Aggregate`.
    """
    return Summary("StdDev", e)


def std_dev_pop(e: Value, /) -> Summary:
    """Return the standard deviation of a population.

    `StdDevPop(e)` of `Aggregate`.
    """
    return Summary("StdDevPop", e)


def collect_list(e: Value, n: Value, /) -> Summary:
    """Return the first n values in order of arrival; n is at least 1.

    `CollectList(e, n)` of `Aggregate`.
    """
    return Summary("CollectList", e, n)


def count_all() -> Summary:
    """Count the tuples of all groups of the window.

    `CountAll()` of `Aggregate`.
    """
    return Summary("CountAll")


def count_groups() -> Summary:
    """Count the groups of the window.

    `CountGroups()` of `Aggregate`.
    """
    return Summary("CountGroups")


def count_by_group() -> Summary:
    """Return the number of tuples in each group of the window, in the order of the groups.

    `CountByGroup()` of `Aggregate`.
    """
    return Summary("CountByGroup")


def any(e: Value, /) -> Summary:
    """Return the value of some tuple, which is the last one.

    `Any(e)` of `Aggregate`.
    """
    return Summary("Any", e)


def collect(e: Value, /) -> Summary:
    """Return all values in order of arrival; all of them are kept as state.

    `Collect(e)` of `Aggregate`.
    """
    return Summary("Collect", e)


def collect_distinct(e: Value, /) -> Summary:
    """Return the different values, in the order of their first arrival.

    `CollectDistinct(e)` of `Aggregate`.
    """
    return Summary("CollectDistinct", e)


def count_by_distinct(e: Value, /) -> Summary:
    """Return how often each different value came, in the order of `CollectDistinct`.

    `CountByDistinct(e)` of `Aggregate`.
    """
    return Summary("CountByDistinct", e)


def min_count(e: Value, /) -> Summary:
    """Count the tuples with the smallest value.

    `MinCount(e)` of `Aggregate`.
    """
    return Summary("MinCount", e)


def max_count(e: Value, /) -> Summary:
    """Count the tuples with the largest value.

    `MaxCount(e)` of `Aggregate`.
    """
    return Summary("MaxCount", e)


def collect_arg_min(e: Value, by: Value, /) -> Summary:
    """Return the different values of the first argument in the tuples with the smallest `by`.

    `CollectArgMin(e, by)` of `Aggregate`.
    """
    return Summary("CollectArgMin", e, by)


def collect_arg_max(e: Value, by: Value, /) -> Summary:
    """Return the different values of the first argument in the tuples with the largest `by`.

    `CollectArgMax(e, by)` of `Aggregate`.
    """
    return Summary("CollectArgMax", e, by)


def sample_std_dev(e: Value, /) -> Summary:
    """Return the standard deviation of a sample, as `StdDev` does.

    `SampleStdDev(e)` of `Aggregate`.
    """
    return Summary("SampleStdDev", e)


def population_std_dev(e: Value, /) -> Summary:
    """Return the standard deviation of a population, as `StdDevPop` does.

    `PopulationStdDev(e)` of `Aggregate`.
    """
    return Summary("PopulationStdDev", e)
