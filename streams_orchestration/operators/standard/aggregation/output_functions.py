"""The table of Aggregate's output functions: forms, documentation and examples, as data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OutputFunction:
    """The documentation of a function over the tuples of a group.

    Attributes:
        name: the name in the spec.
        arguments: the names of the arguments.
        forms: the types of arguments and result, as the documentation shows them.
        summary: one sentence for the documentation.
        nulls: which tuples are left out, and the result for a group without others.
        examples: calls over `EXAMPLE_ROWS` with their results.
        optional: how many of the last arguments may be omitted.
    """

    name: str
    arguments: tuple[str, ...]
    forms: tuple[str, ...]
    summary: str
    nulls: str
    examples: tuple[tuple[str, object], ...]
    optional: int = 0

    @property
    def call(self) -> str:
        """The call with argument names, such as `Sum(e)`."""
        return f"{self.name}({', '.join(self.arguments)})"


EXAMPLE_SCHEMA = "n bigint, x double, s string"
EXAMPLE_ROWS: tuple[tuple[int | None, float | None, str | None], ...] = (
    (3, 1.5, "b"),
    (None, None, None),
    (1, 2.5, "a"),
    (3, 5.0, "c"),
)
"""The tuples that the examples are computed over."""

_LEFT_OUT = "Null is left out; null without a value."
_TAKEN = "Null is a value; null without a tuple."

OUTPUT_FUNCTIONS: tuple[OutputFunction, ...] = (
    OutputFunction("Count", (), ("Count() -> bigint",), "Count the tuples.", "Every tuple counts.", (("Count()", 4),)),
    OutputFunction(
        "CountDistinct",
        ("e",),
        ("CountDistinct(e any) -> bigint",),
        "Count the different values exactly; all of them are kept as state.",
        "Null is left out; 0 without a value.",
        (("CountDistinct(n)", 2),),
    ),
    OutputFunction(
        "ApproxCountDistinct",
        ("e", "rsd"),
        ("ApproxCountDistinct(e ordered) -> bigint", "ApproxCountDistinct(e ordered, rsd) -> bigint"),
        "Estimate the number of different values with a relative standard deviation of `rsd`, a number from 0.001 to "
        "0.39, 0.05 by default; a sketch is kept as state, of 512 bytes for 0.05 and 16 kB for 0.01. It needs the "
        "extra `sketches`.",
        "Null is left out; 0 without a value.",
        (("ApproxCountDistinct(n)", 2), ("ApproxCountDistinct(n, 0.01)", 2)),
        optional=1,
    ),
    OutputFunction(
        "Sum",
        ("e",),
        (
            "Sum(e whole or boolean) -> bigint",
            "Sum(e float or double) -> double",
            "Sum(e decimal(p, s)) -> decimal(p + 10, s)",
        ),
        "Return the sum; true counts as 1. A sum that overflows its type is a failure.",
        _LEFT_OUT,
        (("Sum(n)", 7), ("Sum(n > 1)", 2)),
    ),
    OutputFunction(
        "Average",
        ("e",),
        ("Average(e number or boolean) -> double", "Average(e decimal(p, s)) -> decimal(p + 4, s + 4)"),
        "Return the mean; true counts as 1, so the mean of a condition is the share of tuples for which it is true.",
        _LEFT_OUT,
        (("Average(x)", 3.0),),
    ),
    OutputFunction(
        "Min",
        ("e",),
        ("Min(e ordered) -> type of e",),
        "Return the smallest value.",
        _LEFT_OUT,
        (("Min(n)", 1), ("Min(s)", "a")),
    ),
    OutputFunction(
        "Max",
        ("e",),
        ("Max(e ordered) -> type of e",),
        "Return the largest value; NaN is larger than all numbers.",
        _LEFT_OUT,
        (("Max(n)", 3),),
    ),
    OutputFunction(
        "First",
        ("e",),
        ("First(e any) -> type of e",),
        "Return the value of the first tuple.",
        _TAKEN,
        (("First(s)", "b"),),
    ),
    OutputFunction(
        "Last",
        ("e",),
        ("Last(e any) -> type of e",),
        "Return the value of the last tuple.",
        _TAKEN,
        (("Last(s)", "c"),),
    ),
    OutputFunction(
        "ArgMin",
        ("e", "by"),
        ("ArgMin(e any, by ordered) -> type of e",),
        "Return the first argument's value in the tuple with the smallest `by`; of several such tuples, "
        "in the last one.",
        "Null in `by` is left out; null without a value.",
        (("ArgMin(s, n)", "a"),),
    ),
    OutputFunction(
        "ArgMax",
        ("e", "by"),
        ("ArgMax(e any, by ordered) -> type of e",),
        "Return the first argument's value in the tuple with the largest `by`; of several such tuples, "
        "in the last one.",
        "Null in `by` is left out; null without a value.",
        (("ArgMax(s, n)", "c"),),
    ),
    OutputFunction(
        "StdDev",
        ("e",),
        ("StdDev(e number) -> double",),
        "Return the standard deviation of a sample.",
        "Null is left out; null for fewer than two values.",
        (("StdDev(n)", 1.1547005383792517),),
    ),
    OutputFunction(
        "StdDevPop",
        ("e",),
        ("StdDevPop(e number) -> double",),
        "Return the standard deviation of a population.",
        _LEFT_OUT,
        (("StdDevPop(n)", 0.9428090415820634),),
    ),
    OutputFunction(
        "CollectList",
        ("e", "n"),
        ("CollectList(e any, n) -> array<type of e>",),
        "Return the first n values in order of arrival; n is at least 1.",
        "Null is left out; empty without a value.",
        (("CollectList(s, 2)", ["b", "a"]),),
    ),
)
"""The output functions apart from `STREAMS_FUNCTIONS`, in the order of the documentation."""

_EMPTY = "Null is left out; empty without a value."
_NONE = "Null is left out; 0 without a value."

STREAMS_FUNCTIONS: tuple[OutputFunction, ...] = (
    OutputFunction(
        "CountAll",
        (),
        ("CountAll() -> bigint",),
        "Count the tuples of all groups of the window.",
        "Every tuple counts.",
        (("CountAll()", 4),),
    ),
    OutputFunction(
        "CountGroups",
        (),
        ("CountGroups() -> bigint",),
        "Count the groups of the window.",
        "Null makes a group of its own.",
        (("CountGroups()", 1),),
    ),
    OutputFunction(
        "CountByGroup",
        (),
        ("CountByGroup() -> array<bigint>",),
        "Return the number of tuples in each group of the window, in the order of the groups.",
        "Every tuple counts.",
        (("CountByGroup()", [4]),),
    ),
    OutputFunction(
        "Any",
        ("e",),
        ("Any(e any) -> type of e",),
        "Return the value of some tuple, which is the last one.",
        _TAKEN,
        (("Any(s)", "c"),),
    ),
    OutputFunction(
        "Collect",
        ("e",),
        ("Collect(e any) -> array<type of e>",),
        "Return all values in order of arrival; all of them are kept as state.",
        "Null is a value; empty without a tuple.",
        (("Collect(n)", [3, None, 1, 3]),),
    ),
    OutputFunction(
        "CollectDistinct",
        ("e",),
        ("CollectDistinct(e any) -> array<type of e>",),
        "Return the different values, in the order of their first arrival.",
        _EMPTY,
        (("CollectDistinct(n)", [3, 1]),),
    ),
    OutputFunction(
        "CountByDistinct",
        ("e",),
        ("CountByDistinct(e any) -> array<bigint>",),
        "Return how often each different value came, in the order of `CollectDistinct`.",
        _EMPTY,
        (("CountByDistinct(n)", [2, 1]),),
    ),
    OutputFunction(
        "MinCount",
        ("e",),
        ("MinCount(e ordered) -> bigint",),
        "Count the tuples with the smallest value.",
        _NONE,
        (("MinCount(n)", 1),),
    ),
    OutputFunction(
        "MaxCount",
        ("e",),
        ("MaxCount(e ordered) -> bigint",),
        "Count the tuples with the largest value.",
        _NONE,
        (("MaxCount(n)", 2),),
    ),
    OutputFunction(
        "CollectArgMin",
        ("e", "by"),
        ("CollectArgMin(e any, by ordered) -> array<type of e>",),
        "Return the different values of the first argument in the tuples with the smallest `by`.",
        "Null in `by` is left out; empty without a value.",
        (("CollectArgMin(s, n)", ["a"]),),
    ),
    OutputFunction(
        "CollectArgMax",
        ("e", "by"),
        ("CollectArgMax(e any, by ordered) -> array<type of e>",),
        "Return the different values of the first argument in the tuples with the largest `by`.",
        "Null in `by` is left out; empty without a value.",
        (("CollectArgMax(s, n)", ["b", "c"]),),
    ),
    OutputFunction(
        "SampleStdDev",
        ("e",),
        ("SampleStdDev(e number) -> double",),
        "Return the standard deviation of a sample, as `StdDev` does.",
        "Null is left out; null for fewer than two values.",
        (("SampleStdDev(n)", 1.1547005383792517),),
    ),
    OutputFunction(
        "PopulationStdDev",
        ("e",),
        ("PopulationStdDev(e number) -> double",),
        "Return the standard deviation of a population, as `StdDevPop` does.",
        _LEFT_OUT,
        (("PopulationStdDev(n)", 0.9428090415820634),),
    ),
)
"""The functions of IBM Streams that Spark lacks, in the order of the documentation."""
