"""The rules for wording, each a row of one table, and the faults of all texts, which are read once."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from streams_orchestration_tests.sources import PACKAGES, ROOT, modules_in, source_of
from streams_orchestration_tests.texts import Text, comments

TESTS = "streams_orchestration_tests"
DOCSTRINGS = ("docstring", "function", "property", "exception")
SHOWN = ("help", "summary")
COMMENTS = ("comment", "comment of tests", "comment of the page")

FRAGMENT = re.compile(
    r"(What|Of|That|In which|Where|Those|How|Whether|Why|Which|When|As|With|Without|Is|Are"
    r"|Do(?! nothing| something| the)|Does|May|Has|Can)\b"
)
"""Openings of relative clauses, fragments and questions."""
UNCOUNTED = re.compile(r"(Most|Into)\b")
"""Openings of a description that name neither the value nor its unit."""
NOUN = re.compile(r"(The|A|An|All|Both|Each|Every|Everything|Its|None|Nothing|One|Some|True|False)\b")
"""Openings of a function's docstring that name a value and leave out the verb."""
VERB = re.compile(
    r"(Returns?|Gives?|Gets?|Yields?|Computes?|Makes?|Finds?|Reads?|Loads?|Lists?|Counts?|Raises?|Opens?|Writes?)\b"
)
"""Openings of a property's docstring that say what it does, and not what its value is."""
KIND_OF_ERROR = re.compile(r"(Errors?\b|(The|An|Any|A) errors?\b|(The|An?) [\w-]+ (that|which)\b|The end of\b)")
"""Openings of an exception's docstring that describe the exception, and not the fault."""
WITHOUT_SUBJECT = re.compile(r"(What|Of|That|In which|Where|Those|Which|Who|Whose|Whether)\b", re.IGNORECASE)
"""Openings of a comment that leave out its subject."""
RIDDLES = re.compile(
    r"\b(?:stood|stands?(?! for\b)|(?:goes|go) (?:with|together)|(?:is|are) wanted|nothing says|what comes|what it goes"
    r"|anew|brings? (?:it|them) back|(?:is|are) none that|that there is not|behind (?:an?|it|them|partitioned)"
    r"|the plan before)\b",
    re.IGNORECASE,
)
"""Constructions that no message may have, since they name neither the fault nor the remedy."""
VAGUE = re.compile(
    r"\b(?:stands?|stood|(?:is|are|was|were) there|(?:goes|go|went) by|(?:brings?|brought)(?: \w+)? back"
    r"|what (?:is|are|was|were|has|have)|that of|those of|of it|anew|(?:the )?plan before)\b",
    re.IGNORECASE,
)
"""Constructions that leave out the noun or the act."""
UNIDIOMATIC = re.compile(
    r"(?<!here )\b(?:is|are|was|were) no (?!longer\b|\w+er than\b)|(?<!here )\b(?:is|are) none\b|\bany more\b"
    r"|\b(?:those|that) of\b|\bwhat (?:is|are|was|were|has|have)\b|\b[Gg]o(?:es)? on\b|\bwent on\b|\bso many\b"
    r"|, and th(?:is|ese) (?:is|are)\b"
)
"""Constructions that no text may have, since English says them in other words: "is not a", "no longer"."""
LOOK = re.compile(
    r"\bnews\b|\b(?:an?|one|the|two|each|every|last|next|first|second|between) looks?\b(?!-)|\b(?:is|are) looked at\b",
    re.IGNORECASE,
)
"""Words for a check of a state, and for its changes, that have a standard term."""
IDIOM = re.compile(r"\blook(?:s|ed|ing)? at\b|\bturn(?:s|ed)? down\b|\bbehind the (?:trial|reset|redeploy|cut)\b", re.I)
"""Idioms for "read", "check", "reject" and "after"."""
POINTER = re.compile(r"^    [A-Z][\w., ]*: (?:see|as (?:for|in|of)) `[^`]+`(?:(?:,| and) `[^`]+`)*\.$", re.MULTILINE)
"""An entry of a section `Raises` that names another function in place of the condition."""
SENTENCE_POINTER = re.compile(
    r"\b[Rr]aises?\b[^.;]*?\b(?:as|like|what|errors of)\s+(?:the base class\b|`[^`]+`)"
    r"|\berrors as of `|\bfor another reason of `|\b[Ee]rrors of `[^`]+`[^.]* raised\b"
)
"""A sentence that names another function in place of an error and its condition."""
CHAIN = re.compile(
    r"\b(?:\w*[Ee]rrors?|[Cc]auses?|[Rr]easons?|[Rr]aises?|Failure)\b[^.]*?\b(?:see|of) `[^`]+`"
    r"(?:, (?:and )?| and | or )(?:of )?`[^`]+`|\bsee `[^`]+`(?:, (?:and )?| and | or )`[^`]+`[^.]* errors?\b"
)
"""A sentence that sends the reader to several functions for errors."""
SENTENCE = re.compile(r"[A-Z].*[.)\]]", re.DOTALL)
HELPER = re.compile(
    r"((?:^ *@[^\n]*\n)*)^( *)(?:async )?def (?!test_)\w+\((?:[^\n]*|\n(?:\2    [^\n]*\n)+\2\)[^\n]*):\n"
    r'\2    "{3}([^\n"]*)',
    re.MULTILINE,
)
"""A function of the tests that is not a test: its decorators, and the first line of its docstring."""

PAGE_COMMENT = re.compile(r"/\*\*(?P<block>.*?)\*/|^ *(?P<lines>// [^\n]*(?:\n *// [^\n]*)*)", re.DOTALL | re.MULTILINE)
"""A comment in TypeScript."""

Faults = Callable[[Text], Iterable[str]]


@dataclass(frozen=True)
class Rule:
    """A rule for some kinds of texts."""

    kinds: tuple[str, ...]
    faults: Faults
    """Gives the words of a text, or its beginning, that break the rule."""
    remedy: str


def opening(pattern: re.Pattern[str]) -> Faults:
    """Return a function that gives the beginning of a text that opens with a pattern."""
    return lambda text: [text.text[:60]] if pattern.match(text.text) else []


def words(pattern: re.Pattern[str]) -> Faults:
    """Return a function that gives the words of a text that a pattern matches."""
    return lambda text: pattern.findall(text.text)


def repeated(text: Text) -> list[str]:
    """Return the sentences that a text has twice, without its examples."""
    prose = re.sub(r"(?ms)^\s*>>>.*?(?:\n\s*\n|\Z)", "", text.text)
    found = Counter(
        " ".join(each.split()).lower() for each in re.split(r"(?<=[.:;])\s+", prose) if len(each.split()) > 3
    )
    return [sentence for sentence, count in found.items() if count > 1]


def pointers(text: Text) -> list[str]:
    """Return the entries and sentences that name other functions in place of an error and its condition."""
    entries = (entry.strip() for entry in POINTER.findall(text.text))
    joined = " ".join(text.text.split())
    return [*entries, *SENTENCE_POINTER.findall(joined), *CHAIN.findall(joined)]


def unfinished(text: Text) -> list[str]:
    """Return the first paragraph of a text if it is not a sentence."""
    first = text.text.partition("\n\n")[0].strip()
    return [] if SENTENCE.fullmatch(first) else [first]


RULES = {
    "fragment": Rule(
        (*DOCSTRINGS, "description", "helper", *SHOWN, "comment of the page"),
        opening(FRAGMENT),
        "name the subject first",
    ),
    "noun": Rule(("function", "helper", *SHOWN), opening(NOUN), "begin with a verb"),
    "verb": Rule(("property",), opening(VERB), "begin with a noun"),
    "kind of error": Rule(("exception",), opening(KIND_OF_ERROR), "say what is wrong"),
    "uncounted": Rule(("description",), opening(UNCOUNTED), "name the value and its unit"),
    "no subject": Rule(COMMENTS, opening(WITHOUT_SUBJECT), "name the noun, and say why"),
    "no sentence": Rule(SHOWN, unfinished, "write a sentence"),
    "said twice": Rule(DOCSTRINGS, repeated, "say it once"),
    "vague": Rule((*DOCSTRINGS, "description", *SHOWN, *COMMENTS), words(VAGUE), "name the noun or the act"),
    "unidiomatic": Rule(
        (*DOCSTRINGS, "message", "comment", "comment of the page"), words(UNIDIOMATIC), "use the common words"
    ),
    "riddle": Rule(("message",), words(RIDDLES), "name the thing, its place and the remedy"),
    "look": Rule(
        (*DOCSTRINGS, "description", "helper", "message", *COMMENTS),
        words(LOOK),
        "a process polls or checks; a thing changes",
    ),
    "idiom": Rule((*DOCSTRINGS, "message", "comment"), words(IDIOM), "write read, check, reject or after"),
    "pointer": Rule(
        (*DOCSTRINGS, "message"),
        pointers,
        "say the condition in a clause, or leave out an error that every function of the kind has",
    ),
    "silent": Rule(
        ("docstring", "function", "property"),
        lambda text: [text.text[:60]] if text.silent else [],
        "say when the result or the field is None",
    ),
    "hidden act": Rule(
        ("function", "property"),
        lambda text: [text.hidden_act] if text.hidden_act else [],
        "name the act, it changes more than the result",
    ),
}


def texts_of_tests(place: str, source: str) -> Iterator[Text]:
    """Yield the comments of a module of tests, and the docstrings of its helpers, of no fixture or property."""
    yield from (Text("comment of tests", f"{place}:{line}", text) for line, text in comments(source))
    yield from (
        Text("helper", place, text)
        for decorators, _, text in HELPER.findall(source)
        if "fixture" not in decorators and "property" not in decorators
    )


def texts_of_page(place: str, source: str) -> Iterator[Text]:
    """Yield the comments of a module of the console's page."""
    for match in PAGE_COMMENT.finditer(source):
        text = re.sub(r"^ *(?://|\*(?: @param \w+)?) ?", "", match["block"] or match["lines"], flags=re.MULTILINE)
        yield Text("comment of the page", f"{place}:{source.count(chr(10), 0, match.start()) + 1}", text.strip())


def faults_in(texts: Iterable[Text]) -> Iterator[tuple[str, str]]:
    """Yield each fault of some texts, with its place: the name of the rule, and what breaks it."""
    for text in texts:
        for name, rule in RULES.items():
            if text.kind in rule.kinds:
                yield from ((name, f"{text.place}: {fault}") for fault in rule.faults(text))


@functools.cache
def all_faults() -> Mapping[str, list[str]]:
    """Return the faults of the product, the benchmarks and the tests: rule -> faults with their places."""
    found: dict[str, list[str]] = {name: [] for name in RULES}
    for package in (*PACKAGES, TESTS):
        for path in modules_in(package):
            place = path.relative_to(ROOT.parent).as_posix()
            is_test = package == TESTS
            texts = texts_of_tests(place, path.read_text(encoding="utf-8")) if is_test else source_of(path).texts
            for name, fault in faults_in(texts):
                found[name].append(fault)
    for path in sorted((ROOT / "console" / "page" / "src").rglob("*.ts")):
        for name, fault in faults_in(texts_of_page(path.name, path.read_text(encoding="utf-8"))):
            found[name].append(fault)
    return found
