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

CLOCK = "is another value after a replay; take the time from an attribute"
_CHANCE = "is another value after a replay; take a hash of an attribute, such as xxhash64(id)"
_SURROUNDINGS = "depends on where the application runs; give it as a submission-time value"
_DIVISION = "depends on how tuples are divided"
_SEVERAL = "makes several tuples of one; use a Custom operator"
_TUPLES = "looks at more than one tuple; use an Aggregate"
_OF_TUPLES = """
    any any_value approx_count_distinct approx_percentile array_agg avg bit_and bit_or bit_xor bool_and bool_or
    collect_list collect_set corr count count_if covar_pop covar_samp cume_dist dense_rank every first first_value
    grouping grouping_id histogram_numeric kurtosis lag last last_value lead listagg max max_by mean median min min_by
    mode nth_value ntile percent_rank percentile percentile_approx quantile quantile_cont quantile_disc rank regr_r2
    regr_slope row_number skewness some std stddev stddev_pop stddev_samp string_agg sum sum_distinct var_pop var_samp
    variance
"""
_OF_SEVERAL = """
    explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer stack
"""
_OF_DIVISION = """
    monotonically_increasing_id spark_partition_id
"""
_OF_CLOCKS = """
    curdate current_date current_time current_timestamp localtimestamp now
"""
_OF_CHANCE = """
    rand randn random randstr shuffle uniform uuid
"""
_OF_SURROUNDINGS = """
    current_catalog current_database current_schema current_timezone current_user input_file_block_length
    input_file_block_start input_file_name session_user user version
"""
REFUSED: Mapping[str, str] = {
    name: reason
    for names, reason in (
        (_OF_TUPLES, _TUPLES),
        (_OF_SEVERAL, _SEVERAL),
        (_OF_DIVISION, _DIVISION),
        (_OF_CLOCKS, CLOCK),
        (_OF_CHANCE, _CHANCE),
        (_OF_SURROUNDINGS, _SURROUNDINGS),
    )
    for name in names.split()
}
"""Functions of Spark that are no functions of one tuple alone, with the reason why they are refused."""
