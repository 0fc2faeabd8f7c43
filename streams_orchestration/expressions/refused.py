"""The table of Spark's functions that expressions refuse, with reasons."""

from __future__ import annotations

from collections.abc import Mapping

from streams_orchestration.expressions.hints import FUNCTIONS as SIMILAR

CLOCK = "is another value after a replay; take the time from an attribute"
_CHANCE = "is another value after a replay; take a hash of an attribute, such as crc32(CAST(id AS STRING))"
_OF_TUPLES = """
    any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
    approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg bitmap_or_agg
    bool_and bool_or collect_list collect_set collect_union corr count count_if count_min_sketch counter_diff
    covar_pop covar_samp cume_dist dense_rank every first first_value grouping grouping_id histogram_numeric
    hll_sketch_agg hll_union_agg kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float
    kll_sketch_agg_bigint kll_sketch_agg_double kll_sketch_agg_float kurtosis lag last last_value lead listagg
    max max_by mean measure median min min_by mode nth_value ntile percent_rank percentile percentile_approx
    percentile_cont percentile_disc quantile quantile_cont quantile_disc rank regr_avgx regr_avgy regr_count
    regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy row_number schema_of_variant_agg session_window
    skewness some std stddev stddev_pop stddev_samp string_agg sum sum_distinct theta_intersection_agg
    theta_sketch_agg theta_union_agg try_avg try_sum tuple_intersection_agg_double
    tuple_intersection_agg_integer tuple_sketch_agg_double tuple_sketch_agg_integer tuple_union_agg_double
    tuple_union_agg_integer var_pop var_samp variance vector_avg vector_sum window window_time
"""
_OF_SEVERAL = """
    collations explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer
    python_worker_logs range sql_keywords stack variant_explode variant_explode_outer
"""
_OF_DIVISION = """
    monotonically_increasing_id spark_partition_id
"""
_OF_CLOCKS = """
    curdate current_date current_time current_timestamp localtime localtimestamp now
"""
_OF_CHANCE = """
    rand randn random randstr shuffle uniform uuid
"""
_OF_SURROUNDINGS = """
    current_catalog current_database current_path current_schema current_timezone current_user
    input_file_block_length input_file_block_start input_file_name session_user user version
"""
_OF_JVM = """
    java_method reflect try_reflect
"""
_OF_FUNCTIONS = """
    aggregate exists filter forall map_filter map_zip_with reduce transform transform_keys transform_values
    zip_with
"""
_OF_FAILING = """
    assert_true raise_error
"""
_OF_SKETCHES = """
    approx_top_k_estimate hll_sketch_estimate hll_union kll_sketch_get_n_bigint kll_sketch_get_n_double
    kll_sketch_get_n_float kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double
    kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double
    kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float
    kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float theta_difference
    theta_intersection theta_sketch_estimate theta_union tuple_difference_double tuple_difference_integer
    tuple_difference_theta_double tuple_difference_theta_integer tuple_intersection_double
    tuple_intersection_integer tuple_intersection_theta_double tuple_intersection_theta_integer
    tuple_sketch_estimate_double tuple_sketch_estimate_integer tuple_sketch_summary_double
    tuple_sketch_summary_integer tuple_sketch_theta_double tuple_sketch_theta_integer tuple_union_double
    tuple_union_integer tuple_union_theta_double tuple_union_theta_integer
"""
_OF_TIMES = """
    make_time time time_diff time_from_micros time_from_millis time_from_seconds time_to_micros time_to_millis
    time_to_seconds time_trunc to_time try_to_time
"""
_OF_VARIANTS = """
    is_valid_variant is_variant_null parse_json schema_of_variant to_variant_object try_parse_json
    try_variant_array_append try_variant_get try_variant_insert try_variant_set variant_array_append
    variant_delete variant_get variant_insert variant_set variant_strip_nulls
"""
_OF_SHAPES = """
    st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid
"""
_OF_COLLATIONS = """
    collate collation
"""
_LATER = """
    acosh aes_decrypt aes_encrypt array_insert arrays_zip asinh atanh bit_get bitmap_bit_position
    bitmap_bucket_number bitmap_count cot csc elt equal_null format_string from_avro from_base32 from_csv
    from_protobuf from_xml getbit hash hmac is_valid_utf8 jaro_winkler_similarity make_dt_interval make_interval
    make_timestamp_ltz make_valid_utf8 make_ym_interval map_from_entries nullifzero parse_url printf quote
    schema_of_avro schema_of_csv schema_of_json schema_of_xml sec sentences time_bucket timestamp_nanos to_avro
    to_base32 to_binary to_char to_csv to_number to_protobuf to_varchar to_xml try_aes_decrypt try_make_interval
    try_make_timestamp try_make_timestamp_ltz try_make_timestamp_ntz try_parse_url try_to_binary try_to_number
    try_url_decode try_validate_utf8 typeof unix_nanos validate_utf8 vector_cosine_similarity
    vector_inner_product vector_l2_distance vector_norm vector_normalize xpath xpath_boolean xpath_double
    xpath_float xpath_int xpath_long xpath_number xpath_short xpath_string xxhash64 zeroifnull
"""


def _not_yet(name: str) -> str:
    """Return the reason for a function that is not implemented yet, with an equivalent if there is one."""
    here = f"write {SIMILAR[name]}" if name in SIMILAR else "use a Sql operator"
    return f"is a function of Spark that is not supported in expressions; {here}"


REFUSED: Mapping[str, str] = {
    name: reason
    for names, reason in (
        (_OF_TUPLES, "reads more than one tuple; use an Aggregate"),
        (_OF_SEVERAL, "makes several tuples of one; use a Custom operator"),
        (_OF_DIVISION, "depends on how tuples are divided"),
        (_OF_CLOCKS, CLOCK),
        (_OF_CHANCE, _CHANCE),
        (_OF_SURROUNDINGS, "depends on where the application runs; give it as a submission-time value"),
        (_OF_JVM, "calls code of the JVM; use a Custom operator"),
        (_OF_FUNCTIONS, "takes a function; use a Custom operator"),
        (_OF_FAILING, "fails instead of having a value; use a Filter"),
        (_OF_SKETCHES, "works on sketches, which only a Sql operator makes"),
        (_OF_TIMES, "needs the type time, which attributes cannot have; use a timestamp"),
        (_OF_VARIANTS, "needs the type variant, which attributes cannot have; use get_json_object or from_json"),
        (_OF_SHAPES, "needs a type of geography, which attributes cannot have"),
        (_OF_COLLATIONS, "needs collations, which are not supported; compare lower(value)"),
    )
    for name in names.split()
} | {name: _not_yet(name) for name in _LATER.split()}
"""Name of a refused function -> the reason."""
