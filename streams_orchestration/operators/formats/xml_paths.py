"""Elements of XML documents as they are read, and paths within them: a subset of XPath."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

_NAME = r"[A-Za-z_][\w.\-]*(?::[A-Za-z_][\w.\-]*)?"
_STEP = re.compile(
    rf"(?P<name>{_NAME}|\*|\.)(?P<condition>\[(?:\d+|@?{_NAME}\s*=\s*(?:'[^']*'|\"[^\"]*\"))\])?"
    rf"|(?P<attribute>@{_NAME})|(?P<text>text\(\))"
)
_END_TAG = re.compile(rb"</[^>]*>|<\0/\0[^>]*>\0|\0<\0/[^>]*>")
"""Matches the bytes of an end tag, in an encoding of bytes and in both orders of UTF-16."""
_EQUALS = re.compile(rf"(@?{_NAME})\s*=\s*['\"](.*)['\"]")


@dataclass
class ParsedElement:
    """An element with its attributes, and its content: texts and elements in order."""

    name: str
    attributes: dict[str, str]
    content: list[str | ParsedElement] = field(default_factory=list["str | ParsedElement"])

    @property
    def text(self) -> str:
        """All texts within the element."""
        return "".join(each if isinstance(each, str) else each.text for each in self.content)

    def elements(self, name: str) -> list[ParsedElement]:
        """Return the elements directly within this one that have a name; all of them for `*`."""
        return [each for each in self.content if isinstance(each, ParsedElement) and name in ("*", each.name)]


Find = Callable[[ParsedElement], list[str]]
"""A function from an element to the texts that a path finds in it."""


def path_finder(path: str) -> Find:
    """Return the function that finds a path, such as `name/text()`, `item[2]/@id` or `a[@k="v"]`, in an element.

    >>> find = path_finder('b[@k="1"]/text()')
    >>> find(ParsedElement("a", {}, [ParsedElement("b", {"k": "1"}, ["x"]), ParsedElement("b", {}, ["y"])]))
    ['x']

    Raises:
        ValueError: the path does not have this form.
    """
    steps = [_STEP.fullmatch(each) for each in re.split(r"/(?![^\[]*\])", path.removeprefix("./").strip())]
    last = steps[-1]
    if None in steps or last is None or any(each is None or each["attribute"] or each["text"] for each in steps[:-1]):
        message = f"{path!r} is not a path such as name/text(), a/@id, a[1]/b or a[@k='v']"
        raise ValueError(message)

    def find(element: ParsedElement) -> list[str]:
        found = [element]
        for step in steps:
            assert step is not None
            if step["attribute"]:
                key = step["attribute"][1:]
                return [each.attributes[key] for each in found if key in each.attributes]
            if step["text"]:
                return [part for each in found for part in each.content if isinstance(part, str)]
            if step["name"] != ".":
                found = [inner for each in found for inner in _chosen(each.elements(step["name"]), step["condition"])]
        return [each.text for each in found]

    return find


def _chosen(elements: list[ParsedElement], condition: str | None) -> list[ParsedElement]:
    if not condition:
        return elements
    inner = condition[1:-1]
    if inner.isdecimal():
        return elements[int(inner) - 1 : int(inner)]
    match = _EQUALS.fullmatch(inner)
    assert match is not None
    key, wanted = match[1], match[2]
    if key.startswith("@"):
        return [each for each in elements if each.attributes.get(key[1:]) == wanted]
    return [each for each in elements if any(inside.text == wanted for inside in each.elements(key))]


def trigger_path(path: str) -> tuple[str, ...]:
    """Return the names of the elements that lead to a trigger, such as `/a/b`.

    Raises:
        ValueError: the path does not have this form.
    """
    if not re.fullmatch(rf"(?:/{_NAME})+", path):
        message = f"trigger: {path!r} is not an absolute path of names such as /a/b"
        raise ValueError(message)
    return tuple(path.split("/")[1:])


class XmlError(ValueError):
    """The document is not well-formed, or declares an entity."""


class XmlReader:
    """A reader of documents that arrive in pieces. It yields each element that a trigger names when it is complete."""

    def __init__(self, triggers: Sequence[tuple[str, ...]], encoding: str | None) -> None:
        """Make a reader.

        Args:
            triggers: the names that lead to the elements, for each trigger.
            encoding: the encoding of all bytes; None if the documents say it.
        """
        self._triggers = list(triggers)
        self._encoding = encoding
        self.rest = b""
        """The bytes of the document that has begun."""
        self._begin()

    def _begin(self) -> None:
        self.rest = b""
        self._names: list[str] = []
        self._open: list[ParsedElement] = []
        self._found: list[tuple[int, ParsedElement]] = []
        self._ended = False
        self._end_at = 0
        parser = expat.ParserCreate(self._encoding)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.EntityDeclHandler = self._refuse
        self._parser: Any = parser

    def read(self, data: bytes) -> Iterator[tuple[int, ParsedElement] | None]:
        """Yield every complete element with the number of its trigger, and None at the end of a document.

        Raises:
            XmlError: a document is not well-formed, or declares an entity. The data after the fault is dropped, and
                the next call begins a new document. Elements found before a declared entity are dropped as well.
        """
        while data := data if self.rest else data.lstrip():
            self.rest += data
            try:
                self._parser.Parse(data, False)  # noqa: FBT003 - the interface of expat
            except expat.ExpatError as error:
                if not self._ended:
                    found = self._found
                    self._begin()
                    yield from found
                    message = f"the document is not well-formed: {error}"
                    raise XmlError(message) from None
            except XmlError:
                self._begin()
                raise
            found, self._found = self._found, []
            yield from found
            data = b""
            if self._ended:
                data = self.rest[self._end_at :]
                self._begin()
                yield None

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._names.append(name)
        element = ParsedElement(name, attributes)
        if self._open:
            self._open[-1].content.append(element)
        elif tuple(self._names) not in self._triggers:
            return
        self._open.append(element)

    def _text(self, text: str) -> None:
        if not self._open:
            return
        content = self._open[-1].content
        if content and isinstance(content[-1], str):
            content[-1] += text  # a text that arrives in pieces is one text
        else:
            content.append(text)

    def _end(self, _name: str) -> None:
        if self._open:
            element = self._open.pop()
            names = tuple(self._names)
            self._found += [(number, element) for number, each in enumerate(self._triggers) if each == names]
        self._names.pop()
        self._ended = not self._names
        if self._ended:
            self._end_at = self._end_of_tag()

    def _end_of_tag(self) -> int:
        """Return the position after the tag that ends the document; the next document follows it."""
        place = self._parser.CurrentByteIndex
        tag = _END_TAG.match(self.rest, place)
        return place if tag is None else tag.end()  # expat places the end of an empty element after its tag

    def _refuse(self, name: str, *_: object) -> None:
        message = f"the document declares the entity {name}, which is not read"
        raise XmlError(message)
