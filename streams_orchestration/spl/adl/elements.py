"""Elements of an XML text, with their lines. A text with a document type, which may define entities, is refused.

>>> root = element_of(b'<a:x xmlns:a="urn:a" n="1"><a:y>text</a:y></a:x>')
>>> root.name, root.namespace, root.attributes, [(each.name, each.text) for each in root.children]
('x', 'urn:a', {'n': '1'}, [('y', 'text')])
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from streams_orchestration.spl.adl.errors import AdlError

_MOST_ELEMENTS = 2_000_000
_DEEPEST = 500


@dataclass(slots=True)
class XmlElement:
    """An XML element: its local name, its attributes by local name, its direct text, and its line."""

    name: str
    namespace: str
    attributes: dict[str, str]
    line: int
    text: str = ""
    children: list[XmlElement] = field(default_factory=list["XmlElement"])

    def all(self, *path: str) -> Iterator[XmlElement]:
        """Yield the elements at a path of element names below this one, in order; without a path, this element."""
        if not path:
            yield self
            return
        for child in self.children:
            if child.name == path[0]:
                yield from child.all(*path[1:])

    def tree(self) -> Iterator[XmlElement]:
        """Yield this element and all elements below it."""
        yield self
        for child in self.children:
            yield from child.tree()

    def first(self, *path: str) -> XmlElement | None:
        """Return the first element at a path of element names below this one, or None."""
        return next(self.all(*path), None)

    def required(self, attribute: str) -> str:
        """Return the value of an attribute.

        Raises:
            AdlError: the element lacks the attribute.
        """
        if attribute not in self.attributes:
            message = f"<{self.name}> has no attribute {attribute}"
            raise AdlError(message, self.line)
        return self.attributes[attribute]

    def number(self, attribute: str) -> int:
        """Return the value of an attribute, which is a non-negative integer of at most 18 digits.

        Raises:
            AdlError: the element lacks the attribute, or its value is not such a number.
        """
        written = self.required(attribute)
        if not (written.isascii() and written.isdigit() and len(written) < 19):
            message = f"{attribute} of <{self.name}> is an integer of at least 0, not {written!r}"
            raise AdlError(message, self.line)
        return int(written)

    def flag(self, attribute: str) -> bool:
        """Return True if an attribute is present and true."""
        return self.attributes.get(attribute) in ("true", "1")


def element_of(text: bytes) -> XmlElement:
    """Return the root of an XML text.

    Raises:
        AdlError: the text is not well-formed XML, has a document type, or is larger or nested more deeply than any
            application.
    """
    parser = expat.ParserCreate(namespace_separator="\n")
    parser.buffer_text = True
    open_elements: list[XmlElement] = []
    roots: list[XmlElement] = []
    count = 0

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > _MOST_ELEMENTS or len(open_elements) >= _DEEPEST:
            message = "the XML is larger, or nested more deeply, than a compiled application"
            raise AdlError(message, _line())
        namespace, _, local = name.rpartition("\n")
        known = {key.rpartition("\n")[2]: value for key, value in attributes.items()}
        element = XmlElement(local, namespace, known, _line())
        (open_elements[-1].children if open_elements else roots).append(element)
        open_elements.append(element)

    def end(_name: str) -> None:
        open_elements.pop()

    def characters(data: str) -> None:
        open_elements[-1].text += data

    def document_type(*_: object) -> None:
        message = "the XML has a document type, which no compiled application needs"
        raise AdlError(message, _line())

    def _line() -> int:
        return parser.CurrentLineNumber

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = document_type
    try:
        parser.Parse(text, True)  # noqa: FBT003  expat takes no keywords
    except expat.ExpatError as error:
        reason = expat.errors.messages[error.code]
        message = f"the XML is not well-formed: {reason}"
        raise AdlError(message, error.lineno) from error
    return roots[0]
