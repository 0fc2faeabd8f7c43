"""Random applications of SPL whose operators keep the order of tuples, with a file for each stream."""

from __future__ import annotations

import random
from collections.abc import Callable

TYPE = "int32 n, rstring k, int64 v, float64 f, list<int32> l"
STATES = [
    ("mutable int32 {x} = 3;", "{x} = ({x} * 31 + n) % 1000;"),
    ("mutable uint8 {x} = 250ub;", "{x} += (uint8) n;"),
    ('mutable rstring {x} = "";', "{x} = {x} + k; if (length({x}) > 6) {x} = substring({x}, 2, 4);"),
    ('mutable ustring {x} = "\u00e4"u;', "{x} = {x} + (ustring) k; if (length({x}) > 4) {x} = substring({x}, 1, 3);"),
    ("mutable list<int32> {x} = [];", "appendM({x}, n); if (size({x}) > 4) removeM({x}, 0);"),
    (
        "mutable list<tuple<int32 a, rstring b>> {x};",
        "appendM({x}, {{a = n, b = k}}); if (size({x}) > 2) removeM({x}, 0);",
    ),
    (
        "mutable map<rstring, int32> {x} = {{}};",
        "if (!(k in {x})) {x}[k] = 0; {x}[k]++; if (n % 7 == 3) removeM({x}, k);",
    ),
    (
        "mutable map<rstring, list<int32>> {x};",
        "if (!(k in {x})) {x}[k] = [n]; else {{ appendM({x}[k], n); if (size({x}[k]) > 3) clearM({x}[k]); }}",
    ),
    (
        "mutable map<int32, map<rstring, int32>> {x};",
        "if (!((n % 3) in {x})) {x}[n % 3] = {{}}; {x}[n % 3][k] = n; if (n % 5 == 4) {x}[n % 3] = {{}};",
    ),
    ("mutable map<list<int32>, tuple<int32 a>> {x};", "{x}[[n % 2, n % 3]] = {{a = n}};"),
    (
        "mutable set<rstring> {x};",
        "insertM({x}, k + (rstring) (n % 4)); if (size({x}) > 5) removeM({x}, k + (rstring) (n % 4));",
    ),
    ("mutable set<list<int32>> {x};", "insertM({x}, [n % 3]);"),
    ("mutable tuple<int32 a, rstring b, list<float64> c> {x};", "{x}.a += n; {x}.b = k; {x}.c = [f, 0.5];"),
    (
        "mutable optional<int32> {x} = null;",
        "if (n % 3 == 0) {x} = n; else if (n % 3 == 1) {x} = null; else {x} = ({x} ?: 5) + 1;",
    ),
    (
        "mutable list<optional<rstring>> {x};",
        "if (n % 2 == 0) appendM({x}, null); else appendM({x}, (optional<rstring>) k); if (size({x}) > 4) clearM({x});",
    ),
    ("mutable enum{{red, green, blue}} {x} = green;", "{x} = n % 3 == 0 ? red : n % 3 == 1 ? {x} : blue;"),
    ("mutable timestamp {x} = createTimestamp(5l, 7u);", "{x} = add({x}, (int64) n);"),
    ("mutable decimal64 {x} = 1.5d;", "{x} = {x} * 1.25d + (decimal64) n;"),
    ("mutable blob {x};", "{x} = convertToBlob(k + (rstring) n);"),
    ("mutable float64 {x} = 0.0;", "{x} = n % 5 == 0 ? f / 0.0 : n % 5 == 1 ? {x} - {x} : {x} / 3.0 + f;"),
    ("mutable float32 {x} = 0.0w;", "{x} = {x} / 3.0w + (float32) f;"),
    ("mutable rstring[4] {x};", "{x} = (rstring[4]) (k + (rstring) n);"),
    ("mutable int64 {x} = 9223372036854775800l;", "{x} += (int64) n;"),
    ("mutable uint64 {x} = 18446744073709551600ul;", "{x} += (uint64) n;"),
    ("mutable map<timestamp, boolean> {x};", "{x}[createTimestamp((int64) (n % 3), 1u)] = n % 2 == 0;"),
]
"""State variables, and statements that change them; `{x}` is the name."""
FUNCTIONS = {
    "n": [
        *("Count()", "CountAll()", "CountGroups()", "Max(n)", "Min(n)", "Last(n)", "First(n)", "CountDistinct(k)"),
        *("Sum(n)", "Any(n)", "Average(n)", "MinCount(n)", "MaxCount(n)", "ArgMax(v, n)", "ArgMin(v, n)"),
    ],
    "k": ["First(k)", "Last(k)", "Max(k)", "Min(k)", "ArgMax(f, k)"],
    "v": ["Sum(v)", "Average(v)", "Max(v)"],
    "f": ["Average(f)", "Sum(f)", "SampleStdDev(f)", "PopulationStdDev(f)", "Min(f)"],
    "l": ["Collect(n)", "CollectDistinct(n)", "CountByDistinct(k)", "CollectArgMax(v, n)"],
}
"""Output functions for each attribute."""
KEYS = ["k", "n % 3", "k, n % 2"]

MOST_JOINS = 2
"""The most Joins of an application: each may multiply the tuples of those before it."""


class ProgramGenerator:
    """Makes the operators of one application; each method adds an operator and returns its first output stream."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.operators: list[str] = []
        self.streams: list[str] = []

    def stream(self, type_: str = "Row") -> str:
        self.streams.append(f"S{len(self.streams)}")
        return f"stream<{type_}> {self.streams[-1]}"

    def add(self, heads: list[str], invocation: str) -> str:
        names = [each.rpartition(" ")[2] for each in heads]
        written = heads[0] if len(heads) == 1 else f"({'; '.join(heads)})"
        for number, name in enumerate(names):
            invocation = invocation.replace(f"@{number}", name)
        self.operators.append(f"{written} = {invocation}")
        return names[0]

    def source(self, tuples: int) -> str:
        step = self.random.choice([7, 5, 3])
        return self.add(
            [self.stream()],
            f"Beacon() {{ param iterations : {tuples}; output @0 : n = (int32) (IterationCount() * {step}ul % 17ul),"
            ' k = IterationCount() % 4ul == 0ul ? "a" : IterationCount() % 3ul == 0ul ? "b" : "cc",'
            " v = (int64) IterationCount(), f = (float64) (IterationCount() % 6ul) / 2.0,"
            " l = [(int32) (IterationCount() % 3ul)]; }",
        )

    def custom(self, of: str) -> str:
        chosen = self.random.sample(STATES, self.random.randint(1, 5))
        state = " ".join(declared.format(x=f"x{at}") for at, (declared, _) in enumerate(chosen))
        changes = " ".join(changed.format(x=f"x{at}") for at, (_, changed) in enumerate(chosen))
        texts = ' + "|" + '.join(f"(rstring) x{at}" for at in range(len(chosen)))
        mark = self.random.choice(
            ["", 'if (k == "a") submit(Sys.WindowMarker, @0);', "if (n % 3 == 1) submit(Sys.WindowMarker, @0);"]
        )
        twice = self.random.choice(["", "if (n % 5 == 2) submit({n = n, k = k + k, v = v, f = f, l = [n]}, @0);"])
        marks = self.random.choice(
            ["", f"onPunct {of} : submit({{t = (rstring) currentPunct() + {texts}}}, @1);"]
        )  # fmt: skip
        return self.add(
            [self.stream(), self.stream("rstring t")],
            f"Custom({of}) {{ logic state : {{ {state} }} onTuple {of} : {{ {changes} submit({{t = {texts}}}, @1);"
            f" submit({{n = n, k = k, v = v + 1l, f = f, l = l}}, @0); {twice} {mark} }} {marks} }}",
        )

    def functor(self, of: str) -> str:
        declared, changed = self.random.choice(STATES)
        state, changes = declared.format(x="x"), changed.format(x="x")
        return self.add(
            [self.stream(), self.stream()],
            f"Functor({of}) {{ logic state : {{ mutable int32 c = 0; {state} }} onTuple {of} : {{ c++; {changes} }}"
            f" param filter : c % {self.random.randint(3, 6)} != 0 || n % 2 == 1;"
            " output @0 : n = n + c % 3, k = length((rstring) x) % 2 == 0 ? k : \"z\"; @1 : n = -n; }",
        )  # fmt: skip

    def window(self, *, sort: bool = False) -> tuple[str, bool]:
        """Return a window, and whether it has partitions."""
        count, further = self.random.randint(1, 6), self.random.randint(1, 4)
        delta = self.random.choice(["n, {}", "v, {}l", "f, {}.5"]).format(self.random.randint(0, 5))
        kinds = [f"tumbling, count({count})", f"tumbling, delta({delta})", "tumbling, punct()"]
        kinds += [f"sliding, count({count})"]
        if not sort:
            kinds += [f"sliding, delta({delta})", f"sliding, count({count}), delta({delta})"]
            kinds += [f"sliding, delta({delta}), count({further})", f"sliding, count({count}), count({further})"]
        text, parts = self.random.choice(kinds), self.random.random() < 0.5
        evicted = [f", partitionCount({self.random.randint(1, 3)})", f", tupleCount({self.random.randint(1, 8)})"]
        more = ["", "", *([] if sort else evicted)]
        return (f"{text}, partitioned{self.random.choice(more)}", True) if parts else (text, False)

    def aggregate(self, of: str) -> str:
        window, parts = self.window()
        parameters = [f"partitionBy : {self.random.choice(KEYS)};"] if parts else []
        if self.random.random() < 0.4:
            parameters.append(f"groupBy : {self.random.choice(['n % 2', 'k', 'v % 2l, k'])};")
        if window.startswith("sliding") and self.random.random() < 0.5:
            parameters.append("aggregateIncompleteWindows : true;")
        outputs = ", ".join(f"{name} = {self.random.choice(each)}" for name, each in FUNCTIONS.items())
        return self.add(
            [self.stream()],
            f"Aggregate({of}) {{ window {of} : {window}; {' '.join(['param', *parameters]) if parameters else ''}"
            f" output @0 : {outputs}; }}",
        )

    def sort(self, of: str) -> str:
        window, parts = self.window(sort=True)
        keys = self.random.choice(["n, v, f, k, size(l)", "k, n, v, f, size(l)", "-n, v, k, f, size(l)"])
        by = "partitionBy : k;" if parts else ""
        return self.add([self.stream()], f"Sort({of}) {{ window {of} : {window}; param sortBy : {keys}; {by} }}")

    def duplicates(self, of: str) -> str:
        within = ["", "count : {}ul;", "deltaAttribute : n; delta : {};", "deltaAttribute : v; delta : {}l;"]
        limit = self.random.choice(within).format(self.random.randint(1, 5))
        more = self.random.choice(["", "resetOnDuplicate : false;", "flushOnPunctuation : true;"])
        parameters = f"key : {self.random.choice([*KEYS, 'f'])}; {limit or 'timeOut : 1e6;'} {more}"
        return self.add([self.stream(), self.stream()], f"DeDuplicate({of}) {{ param {parameters} }}")

    def punctor(self, of: str) -> str:
        when, position = self.random.choice(["n % 3 == 0", "c % 3 == 1"]), self.random.choice(["before", "after"])
        return self.add(
            [self.stream()],
            f"Punctor({of}) {{ logic state : mutable int32 c = 0; onTuple {of} : c++;"
            f" param punctuate : {when}; position : {position}; }}",
        )

    def filter(self, of: str) -> str:
        return self.add(
            [self.stream(), self.stream()],
            f"Filter({of}) {{ logic state : mutable int32 c = 0; onTuple {of} : c += n; param filter : c % 4 != 1; }}",
        )

    def two(self, of: str) -> tuple[str, str]:
        """Add a Custom whose two output streams keep their common order."""
        when = self.random.choice(["n % 2 == 0", "n % 3 == 0", "v % 4l < 2l"])
        both = self.random.choice(["", f"if (n % 4 == 3) {{ submit({of}, @1); submit({of}, @0); }}"])
        mark = self.random.choice(["", "if (n % 5 == 3) submit(Sys.WindowMarker, @0);"])
        one = self.add(
            [self.stream(), self.stream()],
            f"Custom({of}) {{ logic onTuple {of} : {{ if ({when}) submit({of}, @0); else submit({of}, @1);"
            f" {both} {mark} }} }}",
        )
        return one, self.streams[-1]

    def join(self, of: str) -> str:
        one, other = self.two(of)
        windows, parameters = [], []
        for name, side in ((one, "LHS"), (other, "RHS")):
            policy = self.random.choice(
                [f"count({self.random.randint(0, 5)})", f"delta(n, {self.random.randint(0, 5)})"]
            )
            parts = self.random.random() < 0.3
            windows.append(f"{name} : sliding, {policy}{', partitioned' if parts else ''};")
            parameters += [f"partitionBy{side} : {name}.k;"] if parts else []
        matches = [f"match : {one}.n < {other}.n + 3;", f"equalityLHS : {one}.k; equalityRHS : {other}.k;"]
        algorithm = self.random.choice(["inner", "leftOuter", "rightOuter", "outer"])
        return self.add(
            [self.stream()],
            f"Join({one}; {other}) {{ window {' '.join(windows)} param {self.random.choice(matches)}"
            f" algorithm : {algorithm}; {' '.join(parameters)}"
            f" output @0 : n = {one}.n, k = {one}.k + {other}.k, v = {other}.v, f = {one}.f + {other}.f,"
            f" l = [{one}.n, {other}.n]; }}",
        )  # fmt: skip

    def barrier(self, of: str) -> str:
        one, other = self.two(of)
        keys = self.random.choice(["", f"param partitionByLHS : {one}.k; partitionByRHS : {other}.k;"])
        return self.add(
            [self.stream()],
            f"Barrier({one}; {other}) {{ {keys} output @0 : n = {one}.n, k = {other}.k, v = {one}.v + {other}.v,"
            f" f = {other}.f, l = [{one}.n, {other}.n]; }}",
        )

    def pair(self, of: str) -> str:
        one, other = self.two(of)
        keys = self.random.choice(["", f"param partitionByLHS : {one}.k; partitionByRHS : {other}.k;"])
        return self.add([self.stream()], f"Pair({one}; {other}) {{ {keys} }}")

    def gate(self, of: str) -> str:
        one, other = self.two(of)
        most = self.random.randint(1, 4)
        return self.add([self.stream()], f"Gate({one}; {other}) {{ param maxUnackedTupleCount : {most}u; }}")

    def switch(self, of: str) -> str:
        one, other = self.two(of)
        first = self.random.choice(["true", "false"])
        return self.add(
            [self.stream()], f"Switch({one}; {other}) {{ param status : {other}.n % 3 != 0; initialStatus : {first}; }}"
        )

    def known_keys(self, of: str) -> str:
        one, other = self.two(of)
        key = self.random.choice(["{}.k", "{}.n % 4"])
        return self.add(
            [self.stream()],
            f"DynamicFilter({one}; {other}) {{ param key : {key.format(one)}; addKey : {key.format(other)}; }}",
        )

    def merged(self, of: str) -> str:
        one, other = self.two(of)
        kinds = [
            f"Union({one}; {other}) {{ }}",
            f"Functor({one}, {other} as Both) {{ logic state : mutable int32 c = 0; onTuple Both : c++;"
            " output @0 : v = v + (int64) c; }",
            f"Custom({one}; {other}) {{ logic state : mutable int32 c = 0;"
            f" onTuple {one} : {{ c++; submit({one}, @0); }}"
            f' onTuple {other} : submit({{n = c, k = "B", v = v, f = f, l = l}}, @0);'
            f" onPunct {other} : if (currentPunct() == Sys.WindowMarker) submit(Sys.WindowMarker, @0); }}",
        ]
        return self.add([self.stream()], self.random.choice(kinds))


def program(seed: int, *, stages: int = 7, tuples: int = 40, pes: bool = False) -> str:
    """Return a random application.

    Args:
        seed: the seed of all choices.
        stages: the number of operators behind the source, without those that only divide a stream.
        tuples: the number of tuples of the source.
        pes: True if the order of tuples on different streams is not kept, since operators run in PEs of their own.
    """
    made = ProgramGenerator(seed)
    kinds: list[Callable[[str], str]] = [made.custom, made.custom, made.functor, made.aggregate, made.aggregate]
    kinds += [made.sort, made.duplicates, made.punctor, made.filter]
    if not pes:
        kinds += [made.join, made.join, made.barrier, made.pair, made.gate, made.switch, made.known_keys, made.merged]
    streams, joins = [made.source(tuples)], 0
    for _ in range(stages):
        of = streams[-1] if made.random.random() < 0.6 else made.random.choice(streams)
        kind = made.random.choice(kinds)
        joins += kind == made.join
        streams.append(made.barrier(of) if kind == made.join and joins > MOST_JOINS else kind(of))
    sinks = [
        f'() as Out{each} = FileSink({each}) {{ param file : "{each}"; format : txt; writePunctuations : true; }}'
        for each in made.streams
    ]
    graph = "\n    ".join([*made.operators, *sinks])
    return f"type Row = {TYPE};\ncomposite Main {{\n  graph\n    {graph}\n}}\n"
