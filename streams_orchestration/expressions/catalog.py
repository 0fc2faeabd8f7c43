"""The table of all functions by name, and the names that are refused with a reason."""

from __future__ import annotations

from collections.abc import Mapping

from streams_orchestration.expressions.functions.arithmetic import ARITHMETIC
from streams_orchestration.expressions.functions.arrays import ARRAYS
from streams_orchestration.expressions.functions.bits import BITS
from streams_orchestration.expressions.functions.codes import CODES
from streams_orchestration.expressions.functions.comparison import COMPARISON, LOGIC
from streams_orchestration.expressions.functions.conditions import CONDITIONS
from streams_orchestration.expressions.functions.containers import CONTAINERS
from streams_orchestration.expressions.functions.documents import DOCUMENTS
from streams_orchestration.expressions.functions.encodings import BYTES
from streams_orchestration.expressions.functions.instants import INSTANTS
from streams_orchestration.expressions.functions.matching import PATTERNS
from streams_orchestration.expressions.functions.mathematics import MATHEMATICS
from streams_orchestration.expressions.functions.moments import MOMENTS
from streams_orchestration.expressions.functions.texts import TEXTS
from streams_orchestration.expressions.table import Function, Group

GROUPS: tuple[Group, ...] = (
    *(ARITHMETIC, COMPARISON, LOGIC, CONDITIONS, MATHEMATICS, TEXTS, CODES, PATTERNS, MOMENTS),
    *(INSTANTS, CONTAINERS, ARRAYS, DOCUMENTS, BITS, BYTES),
)
"""All headings, in the order of the documentation."""

FUNCTIONS: Mapping[str, Function] = {each.name: each for group in GROUPS for each in group.functions}
"""Every function and operator by its name."""

OTHER_TUPLES = frozenset(
    (
        "avg",
        "mean",
        "sum",
        "count",
        "min",
        "max",
        "first",
        "last",
        "first_value",
        "last_value",
        "any_value",
        "collect_list",
        "collect_set",
        "array_agg",
        "approx_count_distinct",
        "corr",
        "covar_pop",
        "covar_samp",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "std",
        "variance",
        "var_pop",
        "var_samp",
        "median",
        "mode",
        "percentile",
        "percentile_approx",
        "approx_percentile",
        "quantile",
        "quantile_cont",
        "quantile_disc",
        "skewness",
        "kurtosis",
        "max_by",
        "min_by",
        "count_if",
        "bool_and",
        "bool_or",
        "every",
        "some",
        "any",
        "lag",
        "lead",
        "rank",
        "dense_rank",
        "row_number",
        "ntile",
        "cume_dist",
        "percent_rank",
        "nth_value",
        "grouping",
        "grouping_id",
        "sum_distinct",
        "regr_slope",
        "regr_r2",
        "histogram_numeric",
        "listagg",
        "string_agg",
        "bit_and",
        "bit_or",
        "bit_xor",
        "explode",
        "posexplode",
        "inline",
        "stack",
        "monotonically_increasing_id",
        "spark_partition_id",
    )
)
"""Functions of Spark that look at several tuples, make several, or depend on partitions."""

CLOCKS = frozenset(
    (
        "now",
        "current_timestamp",
        "current_date",
        "current_time",
        "curdate",
        "localtimestamp",
        "unix_timestamp_now",
        "rand",
        "random",
        "randn",
        "uuid",
        "randstr",
        "uniform",
        "shuffle",
        "current_user",
        "user",
        "session_user",
        "current_database",
        "current_catalog",
        "version",
        "input_file_name",
    )
)
"""Functions of Spark whose value depends on a clock, on chance or on the surroundings."""
